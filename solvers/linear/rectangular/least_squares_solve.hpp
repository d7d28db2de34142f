#pragma once

#include <type_traits>

#include "solvers/linear/rectangular/around_least_squares.hpp"

namespace whilst {

/// The whole solve of a least-squares problem, min ||b - A x||, by a method: for A of any shape and rank, with products
/// with A and with its transpose A'. Built like linear_solve, and sharing its steps: the method lowers its own
/// recurrence of the residual for a correction d, and the outer loop recomputes r = b - A x and A'r, and judges:
///
///   ||r|| <= max(rtol ||b||, atol)                 the system is solved: converged_rtol, converged_atol
///   ||A'r|| / ||r|| <= rtol ||A'b|| / ||b||        r is orthogonal to the columns of A: converged_normal
///
/// The second is the test of C. C. Paige and M. A. Saunders, "LSQR: an algorithm for sparse linear equations and sparse
/// least squares", ACM Trans. Math. Softw. 8 (1982), section 6, with ||A'b|| / ||b|| for ||A||, which it cannot exceed.
///
/// If x0 is 0, and rtol allows it, x is the solution of least norm.
///
/// A method is made from (A, M, d, r, tolerance, memory), where *tolerance is what ||A'r|| / ||r|| must be below, and A
/// is scaled. M is close to the inverse of A'A.
template <class T, class Operator, class Preconditioner, template <class, class, class> class Method>
struct least_squares_solve {
  using around_type = typename detail::around_least_squares_of<T, Operator, Method>::type;
  using operands = typename around_type::operands;
  using method_type = Method<T, typename around_type::scaled, Preconditioner>;

  around_type around;
  Preconditioner M;
  method_type method;

  least_squares_solve(const Operator& A, const Preconditioner& M_given, const operands& io, control* outer,
                      control* inner, workspace& memory)
      : around(A, io, outer, inner, memory),
        M(M_given.with_memory(around.columns, memory)),
        method(around.sA, M, around.d, around.r, around.tolerance(), memory) {}

  template <class Run>
  void operator()(Run& run) const {
    if constexpr (std::is_base_of_v<recorder, Run>) {
      record<recorder>(run);
    } else {
      record(run);
    }
  }

 private:
  template <class Run>
  void record(Run& run) const {
    around.bring_in(run);
    run.loop(
        "until the true residual agrees", around.outer,
        [&](auto& run) {
          around.judge_start(run, M.made_from_operator());
          M.prepare(run, around.sA);
        },
        [&](auto& run) {
          around.begin_correction(run);
          run.loop(
              method_type::name, around.inner, [&](auto& run) { method.start(run); },
              [&](auto& run) { method.iterate(run); });
          around.add_correction(run);
        });
    around.hand_back(run);
  }
};

}  // namespace whilst

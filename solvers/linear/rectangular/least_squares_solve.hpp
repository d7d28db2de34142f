#pragma once

#include "solvers/linear/rectangular/least_squares_steps.hpp"
#include "whilst/engine/recorder.hpp"
#include "whilst/linear/products.hpp"

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
  using steps = least_squares_steps<T, Operator, Method>;
  using operands = typename steps::operands;
  using scalars = typename steps::scalars;
  using scaled = scaled_operator<T, Operator>;
  using method_type = Method<T, scaled, Preconditioner>;
  static constexpr bool runs_in_kernel = false;

  Operator A;
  scaled sA;
  index_type rows, columns;
  Preconditioner M;
  operands io;
  control *outer, *inner;
  scalars* s;
  T *x, *b, *r, *d, *kept;
  method_type method;

  least_squares_solve(const Operator& A, const Preconditioner& M, const operands& io, control* outer, control* inner,
                      workspace& memory)
      : least_squares_solve(A, M, io, outer, inner, memory.take<scalars>(1), memory) {}

  void operator()(recorder& run) const {
    const auto At = sA.transposed();
    run.step("bring in x", columns, typename steps::bring_in_x{io, x, d}, typename steps::begin{s, inner});
    run.step("bring in b", rows, typename steps::bring_in_b{io, b}, typename steps::note_rhs{s});
    // d, when it is no correction, takes what is made to be measured alone.
    const auto true_residual = [&](recorder& run, const auto& judge) {
      product(run, "r = b - A x", A, x, r, typename steps::residual{b}, typename steps::note_residual{s});
      run.step("scale r", rows, typename steps::scale{&s->to_residual, r, r});
      product(run, "A'r", At, r, d, typename steps::squares_of_product{}, judge);
    };
    run.loop(
        "until the true residual agrees", outer,
        [&](recorder& run) {
          A.prepare(run);
          product(run, "how large A is", A, d, r, typename steps::sizes{},
                  typename steps::choose_factor{s, rows, M.made_from_operator()});
          run.step("scale b", rows, typename steps::scale{&s->to_residual, b, r});
          product(run, "A'b", At, r, d, typename steps::squares_of_product{},
                  typename steps::choose_tolerance{s, outer});
          true_residual(run, typename steps::judge_start{s, outer, inner});
          M.prepare(run, sA);
        },
        [&](recorder& run) {
          run.step("d = 0", columns, typename steps::set_to_zero{d}, typename steps::shared::await_correction{s});
          run.loop(
              method_type::name, inner, [&](recorder& run) { method.start(run); },
              [&](recorder& run) { method.iterate(run); });
          run.step("x += d", columns, typename steps::shared::add_correction{s, d, x, kept},
                   typename steps::shared::measure_x{s, inner});
          true_residual(run, typename steps::judge_restart{s, outer, inner, io.settings.keep_best});
        });
    run.step("hand x back", columns, typename steps::shared::hand_back{s, inner, io, false, x, d, kept},
             typename steps::tell{s, outer, inner, io});
  }

 private:
  least_squares_solve(const Operator& A_given, const Preconditioner& M_given, const operands& io, control* outer,
                      control* inner, scalars* s, workspace& memory)
      : A(A_given.with_memory(memory)),
        sA{A, s ? &s->operator_factor : nullptr},
        rows(A.rows()),
        columns(A.transposed().rows()),
        M(M_given.with_memory(columns, memory)),
        io(io),
        outer(outer),
        inner(inner),
        s(s),
        x(memory.take<T>(columns)),
        b(memory.take<T>(rows)),
        r(memory.take<T>(rows)),
        d(memory.take<T>(columns)),
        kept(memory.take<T>(columns)),
        method(sA, M, d, r, s ? &s->tolerance : nullptr, memory) {}
};

}  // namespace whilst

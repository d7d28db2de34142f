#pragma once

#include <type_traits>

#include "whilst/linear/linear_solve_steps.hpp"
#include "whilst/linear/products.hpp"

namespace whilst {

/// The whole solve of a linear system by a method: read b and x, iterate, check the recomputed residual, write x back.
/// The same code for every executor.
///
/// Two loops. The inner one is the method's, on its own recurrence for r. When it stops, the outer one recomputes r = b
/// - A x: either the solve has truly converged, or the inner loop's reason stands, or the recurrence had drifted and
/// the method restarts from x. If a restart raises the true residual, or several in a row have not halved it, only
/// rounding is left: the reason is then attainable_accuracy.
///
/// The method works on numbers of about 1, whatever the scale of the problem: it solves s A d = 2^-e r for a correction
/// d from zero, where 2^e is about ||r||, and x becomes x + 2^e s d. s is a power of two that makes s A about 1, or 1
/// if M is the caller's own, since M A is about 1 already. s is negative if (v, A v) is for the one v tried, so that a
/// negative definite A works as well as a positive definite one. Powers of two change no digit. Norms are summed
/// without underflow or overflow (whilst/basics/safe_norm.hpp).
///
/// An operator may have methods iterate with another one, B, close to R A C: a scaled matrix, or one whose values are
/// rounded. The method then solves s B y = R r for a multiple of r that has ||r|| again, and d is C y. What it tests is
/// an estimate that is right where a restart begins; the outer loop tests A's residual as ever.
///
/// A method has start(run) and iterate(run), the body of the inner loop, and may have conclude(run), which completes d
/// after the loop, and prepare(run), once a solve, when d is memory that is free. One that restarts by itself stops
/// with reason completed: that may be as slow as it likes, and ends with stagnation where the true residual rises.
///
/// The returned x is finite. With keep_best it is that of the restart with the smallest residual, or the last one for a
/// method that lowers the error in each iteration and merely reached its limit: its residual may rise meanwhile. b = 0
/// gives x = 0 at once. Only the first and the last step touch the caller's b and x.
template <class T, class Operator, class Preconditioner, template <class, class, class> class Method>
struct linear_solve {
  using steps = linear_solve_steps<T, Operator, Method>;
  using operands = typename steps::operands;  ///< what the caller binds
  using scalars = typename steps::scalars;
  using scaled = scaled_operator<T, Operator>;
  using method_type = Method<T, scaled, Preconditioner>;
  using operator_type = Operator;
  template <class Other>
  using with_operator = linear_solve<T, Other, Preconditioner, Method>;
  static constexpr bool runs_in_kernel = method_type::runs_in_kernel && operator_runs_in_kernel<Operator>;

  Operator A;
  scaled sA;
  Preconditioner M;
  operands io;
  control *outer, *inner;
  scalars* s;
  T *x, *b, *r, *d, *kept;
  method_type method;

  WHILST_HD linear_solve(const Operator& A, const Preconditioner& M, const operands& io, control* outer, control* inner,
                         workspace& memory)
      : linear_solve(A, M, io, outer, inner, memory.take<scalars>(1), memory) {}

  template <class Run>
  WHILST_HD void operator()(Run& run) const {
    const index_type n = A.rows();
    const bool may_rise = method_type::lowers_error || !io.settings.keep_best;
    run.step("bring in b and x", n, typename steps::bring_in{io, x, b, d}, typename steps::begin{s, inner});
    run.loop(
        "until the true residual agrees", outer,
        [&](auto& run) {
          prepare(run, A);
          constexpr bool chooses = has_rows<Operator> && !runs_before<std::decay_t<decltype(run)>>;
          const typename steps::residual use{s, b, x, d, chooses, row_factors()};
          const typename steps::judge_start judge{s, outer, inner, n, chooses, M.made_from_operator(), reduction()};
          if constexpr (chooses) {
            product(run, "r = b - A x", A, typename steps::x_or_probe{s, x, d}, r, use, judge);
          } else {
            product(run, "how large A is", sA.unscaled, d, r, typename steps::probe_sums{d},
                    typename steps::note_size{s, n});
            product(run, "r = b - A x", A, x, r, use, judge);
          }
          M.prepare(run, sA);
          prepare(run, method);
        },
        [&](auto& run) {
          run.step("scale r, d = 0", n, typename steps::scale_residual{s, r, d, row_factors()},
                   typename steps::await_correction{s});
          run.loop(
              method_type::name, inner, [&](auto& run) { method.start(run); }, [&](auto& run) { method.iterate(run); });
          conclude(run, method);
          run.step("x += d", n, typename steps::add_correction{s, d, x, kept, column_factors()},
                   typename steps::measure_x{s, inner});
          product(run, "r = b - A x", A, x, r, typename steps::residual{s, b, x, d, false, row_factors()},
                  typename steps::judge_restart{s, outer, inner, io.settings.keep_best, method_type::lowers_error,
                                                reduction()});
        });
    run.step("hand x back", n, typename steps::hand_back{s, inner, io, may_rise, x, d, kept, column_factors()},
             typename steps::tell{s, outer, inner, io, may_rise});
  }

 private:
  WHILST_HD linear_solve(const Operator& A, const Preconditioner& M, const operands& io, control* outer, control* inner,
                         scalars* s, workspace& memory)
      : A(placed(A, memory)),
        sA{for_method(this->A), s ? &s->operator_factor : nullptr},
        M(M.with_memory(A.rows(), memory)),
        io(io),
        outer(outer),
        inner(inner),
        s(s),
        x(memory.vector<T>(A.rows())),
        b(memory.vector<T>(A.rows())),
        r(memory.vector<T>(A.rows())),
        d(memory.vector<T>(A.rows())),
        kept(memory.vector<T>(A.rows())),
        method(made_method(memory)) {}

  /// A method is made from (A, M, d, r, memory), or with the settings before the memory if it has any.
  WHILST_HD method_type made_method(workspace& memory) const {
    if constexpr (std::is_constructible_v<method_type, const scaled&, const Preconditioner&, T*, T*,
                                          const method_settings&, workspace&>) {
      return method_type(sA, M, d, r, io.settings, memory);
    } else {
      return method_type(sA, M, d, r, memory);
    }
  }

  /// Whether the operator runs steps before each product.
  template <class Run>
  static constexpr bool runs_before = requires(const Operator& A, Run& run, const T* x) {
    A.before_apply(run, x);
  };
  // Functions of their own, since nvcc looks into a `requires` of a lambda too early.
  template <class Run, class Parts>
  WHILST_HD static void prepare([[maybe_unused]] Run& run, [[maybe_unused]] const Parts& parts) {
    if constexpr (requires { parts.prepare(run); }) parts.prepare(run);
  }
  template <class Run, class Part>
  WHILST_HD static void conclude([[maybe_unused]] Run& run, [[maybe_unused]] const Part& method) {
    if constexpr (requires { method.conclude(run); }) method.conclude(run);
  }
  WHILST_HD static Operator for_method(const Operator& A) {
    if constexpr (steps::may_substitute) {
      return A.substitute();
    } else {
      return A;
    }
  }
  WHILST_HD double reduction() const {
    if constexpr (steps::may_substitute) {
      return A.reduction();
    } else {
      return 0;
    }
  }
  WHILST_HD typename steps::factors row_factors() const {
    if constexpr (steps::may_substitute) {
      return A.row_factors();
    } else {
      return {};
    }
  }
  WHILST_HD typename steps::factors column_factors() const {
    if constexpr (steps::may_substitute) {
      return A.column_factors();
    } else {
      return {};
    }
  }
  WHILST_HD static Operator placed(const Operator& A, [[maybe_unused]] workspace& memory) {
    if constexpr (requires { A.with_memory(memory); }) {
      return A.with_memory(memory);
    } else {
      return A;
    }
  }
};

}  // namespace whilst

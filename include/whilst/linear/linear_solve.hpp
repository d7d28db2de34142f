#pragma once

#include <type_traits>

#include "whilst/linear/around_method.hpp"

namespace whilst {

// What methods may have, or not. Functions of their own, since nvcc looks into a `requires` of a lambda too early.
namespace detail {
/// A method is made from (A, M, d, r, memory), or with the settings before the memory if it has any.
template <class Method, class Operator, class Preconditioner, class T>
WHILST_HD Method made_method(const Operator& A, const Preconditioner& M, T* d, T* r, const method_settings& settings,
                             workspace& memory) {
  if constexpr (std::is_constructible_v<Method, const Operator&, const Preconditioner&, T*, T*, const method_settings&,
                                        workspace&>) {
    return Method(A, M, d, r, settings, memory);
  } else {
    return Method(A, M, d, r, memory);
  }
}
template <class Run, class Method>
WHILST_HD void prepare_method([[maybe_unused]] Run& run, [[maybe_unused]] const Method& method) {
  if constexpr (requires { method.prepare(run); }) method.prepare(run);
}
template <class Run, class Method>
WHILST_HD void conclude_method([[maybe_unused]] Run& run, [[maybe_unused]] const Method& method) {
  if constexpr (requires { method.conclude(run); }) method.conclude(run);
}
}  // namespace detail

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
  using around_type = typename detail::around_method_of<T, Operator, Method>::type;
  using operands = typename around_type::operands;  ///< what the caller binds
  using scaled = typename around_type::scaled;
  using method_type = Method<T, scaled, Preconditioner>;
  using operator_type = Operator;
  template <class Other>
  using with_operator = linear_solve<T, Other, Preconditioner, Method>;
  static constexpr bool runs_in_kernel = method_type::runs_in_kernel && operator_runs_in_kernel<Operator>;

  around_type around;
  Preconditioner M;
  method_type method;

  WHILST_HD linear_solve(const Operator& A, const Preconditioner& M, const operands& io, control* outer, control* inner,
                         workspace& memory)
      : around(A, io, outer, inner, memory),
        M(M.with_memory(A.rows(), memory)),
        method(detail::made_method<method_type>(around.sA, this->M, around.d, around.r, around.io.settings, memory)) {}

  template <class Run>
  WHILST_HD void operator()(Run& run) const {
    around.bring_in(run);
    run.loop(
        "until the true residual agrees", around.outer,
        [&](auto& run) {
          around.judge_start(run, M.made_from_operator());
          M.prepare(run, around.sA);
          detail::prepare_method(run, method);
        },
        [&](auto& run) {
          around.begin_correction(run);
          run.loop(
              method_type::name, around.inner, [&](auto& run) { method.start(run); },
              [&](auto& run) { method.iterate(run); });
          detail::conclude_method(run, method);
          around.add_correction(run, method_type::lowers_error);
        });
    note_solve(run, M);
    around.hand_back(run, method_type::lowers_error);
  }

 private:
  template <class Run, class Lagged>
  WHILST_HD void note_solve([[maybe_unused]] Run& run, [[maybe_unused]] const Lagged& preconditioner) const {
    if constexpr (requires { preconditioner.note_solve(run, around.inner, around.first_norm()); })
      preconditioner.note_solve(run, around.inner, around.first_norm());
  }
};

}  // namespace whilst

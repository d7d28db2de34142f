#include "whilst/nonlinear/equations/nonlinear_solver.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>

#include "solvers/nonlinear/descent/prepared_descent.hpp"
#include "solvers/nonlinear/equations/recorded_equations.hpp"
#include "whilst/linear/operators.hpp"

namespace whilst {
namespace {

constexpr std::string_view making_nonlinear_solver = "making a nonlinear solver";

/// ||F|| takes the place of ||g||.
descent_tolerances checked(const nonlinear_tolerances& tolerances) {
  check_tolerance(making_nonlinear_solver, "atol", tolerances.atol);
  check_tolerance(making_nonlinear_solver, "rtol", tolerances.rtol);
  check_tolerance(making_nonlinear_solver, "step", tolerances.step);
  return {tolerances.atol, tolerances.rtol, tolerances.step};
}

void check(const nonlinear_solver_options& options) {
  const auto refuse = [](const std::string& what, const std::string& cure) {
    throw error(making_nonlinear_solver, what, cure);
  };
  if (options.max_inner_iterations < 0)
    refuse("max_inner_iterations is " + std::to_string(options.max_inner_iterations),
           "Give 1 or more, or 0 to have it chosen");
  if (options.depth < 1 || options.depth > 10) refuse("depth is " + std::to_string(options.depth), "Give 1 to 10");
  if (!std::isfinite(options.mixing) || options.mixing == 0)
    refuse("mixing is 0 or not finite", "Give another number, as 1");
  descent_options(options).check(making_nonlinear_solver);
}

/// For systems written outside the library.
template <class T>
void check(const jacobian_view<T>& J, index_type n) {
  if (J.n != n)
    throw error(making_nonlinear_solver,
                "the Jacobian has " + std::to_string(J.n) + " rows, and the system " + std::to_string(n),
                "Have jacobian() tell of as many as there are unknowns");
  if (!J.row_offsets || J.nonzeros < 0 || (J.nonzeros > 0 && (!J.column_indices || !J.values)))
    throw error(making_nonlinear_solver,
                "the Jacobian has no row_offsets, column_indices or values, or fewer than 0 of them",
                "Have jacobian() tell where they are, in memory of the system's place");
  if (!offsets_suffice_32(J.nonzeros))
    throw error(making_nonlinear_solver, "the Jacobian has " + std::to_string(J.nonzeros) + " entries",
                "Give it fewer than 2^31 - 256, or use broyden or anderson");
}

/// Twice the unknowns; if a few thousand iterations are not enough, more seldom help.
constexpr index_type usual_inner_limit(index_type n) { return std::clamp<index_type>(2 * n, 20, 2000); }

}  // namespace

std::string nonlinear_report::message() const {
  char numbers[160];
  std::snprintf(numbers, sizeof numbers, " after %lld iterations, ||F|| = %.3g, at the start %.3g",
                static_cast<long long>(iterations()), residual_norm(), rhs_norm());
  const std::string_view why = reason() == reason::converged_rtol ? "the residual fell to rtol times the first one"
                               : reason() == reason::breakdown
                                   ? "BiCGSTAB found no step that leads down (use method newton)"
                                   : sentence(reason());
  return std::string(converged() ? "converged: " : "not converged: ") + std::string(why) + numbers;
}

template <class T>
struct nonlinear_solver<T>::implementation {
  posed_equations<T> posed;
  std::unique_ptr<prepared_descent<T>> prepared;

  implementation(const equations<T>& system, const nonlinear_solver_options& options)
      : posed{&system, options.depth, options.mixing} {
    const auto began = prepared_program::clock::now();
    const descent_tolerances tolerances = checked(options.tolerances);
    check(options);
    const auto method = find_by_name(making_nonlinear_solver, equation_methods<T>, options.method, "method");
    if (method.wants_hessian && !system.has_jacobian())
      throw error(making_nonlinear_solver,
                  "method '" + options.method + "' wants the Jacobian, and the system has none",
                  "Use broyden or anderson");
    const index_type n = system.unknowns();
    if (n < 1)
      throw error(making_nonlinear_solver, "the system has " + std::to_string(n) + " unknowns", "Give it 1 or more");
    if (n > method.most_unknowns)
      throw error(
          making_nonlinear_solver,
          "method '" + options.method + "' holds a dense matrix, and the system has " + std::to_string(n) + " unknowns",
          "Use newton-krylov, or make it " + std::to_string(method.most_unknowns) + " or fewer");
    if (method.wants_hessian) check(system.jacobian(), n);
    const descent_options loop(options);
    const whilst::executor how = loop.executor_on(system.where(), making_nonlinear_solver, "the system");
    const index_type inner = options.max_inner_iterations ? options.max_inner_iterations : usual_inner_limit(n);
    constexpr double no_bound = -HUGE_VAL;  // 1/2 ||F||^2 has its own
    prepared = std::make_unique<prepared_descent<T>>(
        method.record({&posed, options.history_capacity, inner}), how, loop,
        usual_descent_settings(options.method, line_search_kind::backtracking, tolerances, no_bound, sizeof(T) == 4),
        options.method, n, began);
  }
};

template <class T>
nonlinear_solver<T>::nonlinear_solver(const equations<T>& system, nonlinear_solver_options options)
    : implementation_("nonlinear_solver", std::make_unique<implementation>(system, options)) {}
template <class T>
nonlinear_solver<T>::~nonlinear_solver() = default;
template <class T>
nonlinear_solver<T>::nonlinear_solver(nonlinear_solver&&) noexcept = default;
template <class T>
nonlinear_solver<T>& nonlinear_solver<T>::operator=(nonlinear_solver&&) noexcept = default;
template <class T>
prepared_program& nonlinear_solver<T>::prepared() const {
  return *implementation_->prepared;
}

template <class T>
nonlinear_report nonlinear_solver<T>::solve(std::span<T> x) {
  return {implementation_->prepared->solve("solving equations", "they have", x).told};
}
template <class T>
nonlinear_report nonlinear_solver<T>::solve(stream_handle stream, T* x) {
  return {implementation_->prepared->solve("solving equations", stream, x).told};
}
template <class T>
ticket nonlinear_solver<T>::enqueue(stream_handle stream, T* x) {
  return ticket(implementation_->prepared->enqueue(stream, nullptr, x));
}
template <class T>
void nonlinear_solver<T>::set_tolerances(const nonlinear_tolerances& tolerances) {
  implementation_->prepared->set_tolerances(checked(tolerances));
}

template class nonlinear_solver<float>;
template class nonlinear_solver<double>;

}  // namespace whilst

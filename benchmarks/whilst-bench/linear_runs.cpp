#include "benchmarks/whilst-bench/linear_runs.hpp"

#include <chrono>
#include <limits>

#include "solvers/linear/method_table.hpp"
#include "whilst/error.hpp"
#include "whilst/linear_solver.hpp"

namespace whilst_bench {
namespace {

/// Products with A in an iteration.
whilst::index_type products_of(const std::string& method) {
  for (const whilst::method_description& one : whilst::method_table())
    if (one.name == method) return one.products.value({});
  return 1;  // of another library
}

}  // namespace

template <class T>
true_residual residual_of(const linear_system<T>& system, const std::vector<T>& x) {
  using wide = long double;
  const auto columns = system.A.column_indices();
  const auto values = system.A.values();
  wide residual_squares = 0, rhs_squares = 0, rounding_squares = 0;
  for (whilst::index_type i = 0; i < system.A.rows(); ++i) {
    const wide b = system.b[static_cast<std::size_t>(i)];
    const whilst::index_type begin = system.A.row_offset(i), end = system.A.row_offset(i + 1);
    wide residual = b, size = std::abs(b);
    for (whilst::index_type k = begin; k < end; ++k) {
      const auto entry = static_cast<std::size_t>(k);
      const wide product = static_cast<wide>(values[entry]) * x[static_cast<std::size_t>(columns[entry])];
      residual -= product;
      size += std::abs(product);
    }
    // The bound for a sum of that many products, each rounded. N. J. Higham, "Accuracy and Stability of Numerical
    // Algorithms", 2nd edition (2002), section 3.1.
    const wide rounding = static_cast<wide>(end - begin + 1) * std::numeric_limits<T>::epsilon() / 2 * size;
    residual_squares += residual * residual;
    rhs_squares += b * b;
    rounding_squares += rounding * rounding;
  }
  if (residual_squares == 0) return {0, 0};
  const wide rhs = std::sqrt(rhs_squares);
  return {static_cast<double>(std::sqrt(residual_squares) / rhs),
          static_cast<double>(std::sqrt(rounding_squares) / rhs)};
}

template <class T>
linear_run run_whilst(const linear_system<T>& system, const linear_contender& by, const linear_options& options,
                      const whilst::command::interrupt_watch& interrupts) {
  using clock = std::chrono::steady_clock;
  linear_run run{.by = by, .executor = options.executor, .reason = "not_run", .message = "interrupted"};
  if (interrupts.interrupted()) return run;
  try {
    const auto made = clock::now();
    whilst::linear_solver<T> solver(system.A, {.method = by.method,
                                               .preconditioner = by.preconditioner,
                                               .rtol = options.tolerance(),
                                               .max_iterations = options.max_iterations,
                                               .deadline = options.deadline,
                                               .executor = options.executor});
    run.setup_seconds = std::chrono::duration<double>(clock::now() - made).count();
    std::vector<T> x;
    const auto solve = [&] {
      x.assign(system.b.size(), T(0));
      const auto begin = clock::now();
      const whilst::report report = solver.solve(system.b, x);
      const double seconds = std::chrono::duration<double>(clock::now() - begin).count();
      run.executor = report.executor();
      run.reason = name(report.reason());
      run.message = report.message();
      run.iterations = report.iterations();
      run.products = run.iterations * products_of(by.method);
      run.reported_residual = report.relative_residual();
      run.residual = residual_of(system, x);
      run.claims = report.converged();
      run.solved = run.claims && run.residual.within(options.tolerance());
      return seconds;
    };
    whilst::command::cancel_on_interrupt(interrupts, solver, [&] { repeat(run, options.repetitions, solve); });
  } catch (const whilst::error& problem) {
    run.reason = "error";
    run.message = problem.what();
  }
  return run;
}

template true_residual residual_of(const linear_system<float>&, const std::vector<float>&);
template true_residual residual_of(const linear_system<double>&, const std::vector<double>&);
template linear_run run_whilst(const linear_system<float>&, const linear_contender&, const linear_options&,
                               const whilst::command::interrupt_watch&);
template linear_run run_whilst(const linear_system<double>&, const linear_contender&, const linear_options&,
                               const whilst::command::interrupt_watch&);

}  // namespace whilst_bench

#include "benchmarks/whilst-bench/linear_runs.hpp"

#include <chrono>
#include <limits>
#include <numeric>

#include "solvers/linear/method_table.hpp"
#include "whilst/error.hpp"
#include "whilst/linear_solver.hpp"

namespace whilst_bench {
namespace {

/// Products with A in an iteration of a method. Under "auto" it is the last one that ran: others of a solve that went
/// on count as if they were that.
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
  const bool is_square = system.A.rows() == system.A.columns();
  std::vector<wide> of_residual(is_square ? 0 : x.size()), of_rhs(of_residual), of_rounding(of_residual);
  wide residual_squares = 0, rhs_squares = 0, rounding_squares = 0;
  for (whilst::index_type i = 0; i < system.A.rows(); ++i) {
    const wide b = system.b[static_cast<std::size_t>(i)];
    const auto begin = static_cast<std::size_t>(system.A.row_offset(i)),
               end = static_cast<std::size_t>(system.A.row_offset(i + 1));
    wide residual = b, size = std::abs(b);
    for (std::size_t k = begin; k < end; ++k) {
      const wide product = static_cast<wide>(values[k]) * x[static_cast<std::size_t>(columns[k])];
      residual -= product;
      size += std::abs(product);
    }
    // The bound for a sum of that many products, each rounded. N. J. Higham, "Accuracy and Stability of Numerical
    // Algorithms", 2nd edition (2002), section 3.1.
    const wide rounding = static_cast<wide>(end - begin + 1) * std::numeric_limits<T>::epsilon() / 2 * size;
    residual_squares += residual * residual;
    rhs_squares += b * b;
    rounding_squares += rounding * rounding;
    for (std::size_t k = begin; k < end && !is_square; ++k) {
      const auto j = static_cast<std::size_t>(columns[k]);
      of_residual[j] += values[k] * residual;
      of_rhs[j] += values[k] * b;
      of_rounding[j] += std::abs(values[k]) * rounding;
    }
  }
  const wide rhs = std::sqrt(rhs_squares), norm = std::sqrt(residual_squares);
  true_residual found{0, 0};
  if (norm > 0) found = {static_cast<double>(norm / rhs), static_cast<double>(std::sqrt(rounding_squares) / rhs)};
  if (is_square) return found;
  const auto length = [](const std::vector<wide>& v) {
    return std::sqrt(std::inner_product(v.begin(), v.end(), v.begin(), wide(0)));
  };
  const wide unit = norm * (length(of_rhs) / rhs);
  if (unit == 0) return found;
  found.normal = length(of_residual) > 0 ? static_cast<double>(length(of_residual) / unit) : 0;
  found.normal_rounding = norm > 0 ? static_cast<double>(length(of_rounding) / unit) : 0;
  return found;
}

template <class T>
linear_run run_whilst(const linear_system<T>& system, const linear_contender& by, const linear_options& options,
                      const whilst::command::interrupt_watch& interrupts) {
  using clock = std::chrono::steady_clock;
  linear_run run{.by = by, .executor = options.executor, .reason = "not_run", .message = "interrupted"};
  if (interrupts.interrupted()) return run;
  try {
    const auto made = clock::now();
    whilst::amg_options nodes;
    if (by.preconditioner.starts_with("amg") || by.preconditioner == "auto") {
      nodes.unknowns_a_node = system.unknowns_a_node;
      nodes.coordinates = system.coordinates;
    }
    whilst::linear_solver<T> solver(system.A, {.method = by.method,
                                               .preconditioner = by.preconditioner,
                                               .amg = nodes,
                                               .rtol = options.tolerance(),
                                               .max_iterations = options.max_iterations,
                                               .deadline = options.deadline,
                                               .executor = options.executor});
    run.setup_seconds = std::chrono::duration<double>(clock::now() - made).count();
    std::vector<T> x;
    bool is_first = true;
    const auto solve = [&] {
      x.assign(static_cast<std::size_t>(system.A.columns()), T(0));
      const auto begin = clock::now();
      const whilst::report report = solver.solve(system.b, x);
      const double seconds = std::chrono::duration<double>(clock::now() - begin).count();
      const true_residual residual = residual_of(system, x);
      const bool is_solved = report.converged() && residual.within(options.tolerance());
      // Under "auto" later solves begin with what has done most before: what a matrix costs is what the first took.
      if (!is_first && is_solved) return seconds;
      is_first = false;
      run.executor = report.executor();
      run.reason = name(report.reason());
      run.message = report.message();
      run.iterations = report.iterations();
      run.products = run.iterations * products_of(report.method());
      run.reported_residual = report.relative_residual();
      run.residual = residual;
      run.claims = report.converged();
      run.solved = is_solved;
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

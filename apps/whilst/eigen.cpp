#include "eigen.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "apps/common/history.hpp"
#include "apps/common/pictures/plot.hpp"
#include "apps/common/progress.hpp"
#include "apps/common/report_json.hpp"
#include "apps/common/text.hpp"
#include "header.hpp"
#include "input.hpp"
#include "results.hpp"
#include "solve_columns.hpp"
#include "whilst/matrix_market.hpp"

namespace whilst::command {
namespace {

/// What to try after a solve that ended like this; empty if there is no general advice.
std::string advice(const eigen_options& options, reason why) {
  switch (why) {
    case reason::iteration_limit:
      if (options.solver.preconditioner != "none") return "try more --block-columns, or a larger --max-iterations";
      return fmt::format("try more --block-columns, --preconditioner {}, or a larger --max-iterations",
                         options.largest ? "jacobi" : "auto");
    case reason::deadline:
      return "try a longer --deadline";
    case reason::nan_or_infinity:
      return "look for NaN and infinity in the matrix";
    case reason::indefinite_operator:
    case reason::indefinite_preconditioner:
      return "try --preconditioner none, or jacobi";
    case reason::attainable_accuracy:
      return options.about.precision == "float" ? "try --precision double, or a larger --rtol" : "try a larger --rtol";
    default:
      return "";
  }
}

template <class T>
void print_header(std::FILE* out, const linear_system<T>& system, const eigen_options& options,
                  const eigenvalue_solver<T>& solver) {
  const eigenvalue_options& asked = options.solver;
  print_matrix(out, system);
  fmt::print(out, "machine      {}\n", machine_line(describe_machine(asked.device), solver.executor()));
  fmt::print(out, "solver       {}, {}, {}, the {} {}, rtol {:g}, at most {} iterations", asked.method,
             asked.preconditioner == "none" ? "no preconditioner" : asked.preconditioner, options.about.precision,
             asked.count, asked.which, asked.rtol, asked.max_iterations);
  if (std::isfinite(asked.deadline)) fmt::print(out, " and {}", duration(asked.deadline));
  fmt::print(out, "\nexecutor     {}{}\n", solver.executor(),
             solver.executor() == asked.executor ? "" : " (asked for: " + asked.executor + ")");
  std::fflush(out);
}

/// ||A x - lambda x||_2 of each column, computed here in long double, independent of the solver.
template <class T>
std::vector<double> true_residuals(const csr_matrix<T>& A, const std::vector<T>& X,
                                   const std::vector<double>& eigenvalues) {
  const auto columns = A.column_indices();
  const auto values = A.values();
  std::vector<double> norms;
  for (std::size_t c = 0; c < eigenvalues.size(); ++c) {
    const T* const x = X.data() + static_cast<index_type>(c) * A.rows();
    long double squares = 0;
    for (index_type row = 0; row < A.rows(); ++row) {
      long double residual = -static_cast<long double>(eigenvalues[c]) * x[row];
      for (index_type k = A.row_offset(row); k < A.row_offset(row + 1); ++k) {
        const auto entry = static_cast<std::size_t>(k);
        residual += static_cast<long double>(values[entry]) * x[columns[entry]];
      }
      squares += residual * residual;
    }
    norms.push_back(static_cast<double>(std::sqrt(squares)));
  }
  return norms;
}

template <class T>
eigenvalue_report solve_with_progress(eigenvalue_solver<T>& solver, std::vector<T>& X, bool log) {
  const auto line = [](const progress& now) {
    return fmt::format("iteration {}, largest residual {:.3e}", now.iteration, now.residual_norm);
  };
  eigenvalue_report result;
  run_with_progress(
      solver, [&] { result = solver.solve(X); }, line, log);
  return result;
}

template <class T>
int solve_in(const eigen_options& options) {
  const result_files files(options.about);
  std::FILE* const out = files.report.text();
  const linear_system<T> system = load_system<T>(options.about);
  const index_type rows = system.A.rows(), count = options.solver.count;
  eigenvalue_options asked = options.solver;
  asked.amg = with_nodes(system, {.preconditioner = asked.preconditioner}).amg;
  eigenvalue_solver<T> solver(system.A, asked);
  print_header(out, system, options, solver);

  std::vector<T> X(static_cast<std::size_t>(rows * count), T(0));
  const eigenvalue_report result = solve_with_progress(solver, X, options.about.monitor);
  if (options.about.monitor) print_history(out, result);

  const double norm = result.rhs_norm();
  const std::vector<double> residuals = true_residuals(system.A, X, result.eigenvalues);
  const auto relative = [&](double residual) { return residual == 0 ? 0 : residual / norm; };
  const double largest = relative(*std::max_element(residuals.begin(), residuals.end()));
  fmt::print(out, "result       {}: {}\n", name(result.reason()), result.explanation());
  const std::string cure = advice(options, result.reason());
  if (!cure.empty()) fmt::print(out, "             {}\n", cure);
  if (!result.preconditioner_choice().empty()) fmt::print(out, "M            {}\n", result.preconditioner_choice());
  fmt::print(out, "iterations   {}, with a block of {} columns\n", result.iterations(), solver.block_columns());
  fmt::print(out, "residual     at most {:.3e} ||A||, computed here; the solver says {:.3e}; asked for {:.3g}\n",
             largest, result.relative_residual(), options.solver.rtol);
  // Ten times: in float the two may well differ by rounding alone.
  if (result.converged() && !(largest <= 10 * options.solver.rtol))
    fmt::print(out, "warning      the residual computed here is far from what was asked for: do not rely on these\n");
  fmt::print(out, "norm         ||A|| = {:.6g}, the largest sum of the sizes of a row's entries\n", norm);
  fmt::print(out, "time         set-up {}, solve {}, {} an iteration\n", duration(result.setup_seconds()),
             duration(result.solve_seconds()), duration(result.seconds_per_iteration()));

  fmt::print(out, "\n{:<10} {:>20} {:>22} {:>13}\n", "", "eigenvalue", "||A x - lambda x||", "over ||A||");
  for (std::size_t c = 0; c < residuals.size(); ++c)
    fmt::print(out, "pair {:>5} {:>20.12g} {:>22.3e} {:>13.3e}\n", c + 1, result.eigenvalues[c], residuals[c],
               relative(residuals[c]));

  json document = report_json(result);
  document.erase("rhs_norm");
  document["matrix_norm"] = norm;
  document["matrix"] = system.name;
  document["which"] = options.solver.which;
  document["block_columns"] = solver.block_columns();
  document["eigenvalues"] = result.eigenvalues;
  document["residual_norms"] = result.residual_norms;
  document["true_residual_norms"] = residuals;
  document["history"] = history_json(result.history());
  files.report.write(document);
  files.history.write(history_csv(result.history()));
  if (files.plot.wanted()) {
    const std::string title = fmt::format("{}: the {} {} eigenvalues", system.name, count, options.solver.which);
    files.plot.write(convergence_svg(title, {{result.executor(), result.history(), norm}}, options.solver.rtol,
                                     {.quantity = "largest residual over ||A||"}));
  }
  files.output.write_with([&](const std::string& path) {
    if (result.reason() == reason::nan_or_infinity)
      throw error("writing X", fmt::format("the solve ended with {}", name(result.reason())),
                  "Look for NaN and infinity in the matrix");
    write_matrix<T>(path, as_matrix(rows, count, X));
  });
  return result.converged() ? succeeded : not_converged;
}

}  // namespace

int run_eigen(const eigen_options& options) {
  eigen_options full = options;
  if (options.largest) full.solver.which = "largest";
  return full.about.precision == "float" ? solve_in<float>(full) : solve_in<double>(full);
}

}  // namespace whilst::command

#include "solve_columns.hpp"

#include <fmt/format.h>

#include "apps/common/text.hpp"
#include "header.hpp"
#include "whilst/columns_linear_solver.hpp"
#include "whilst/matrix_market.hpp"
#include "whilst/version.hpp"

namespace whilst::command {
namespace {

void require_what_columns_have(const solve_options& options, index_type columns) {
  const auto refuse = [&](const char* what) {
    throw error("solving for several right-hand sides",
                fmt::format("--rhs has {} columns, and there is no {} of them", columns, what),
                "Leave the option out, or give one right-hand side");
  };
  if (options.monitor) refuse("progress");
  if (!options.history.empty()) refuse("history");
  if (!options.plot.empty()) refuse("plot of a history");
}

json columns_json(const columns_report& result) {
  json document;
  document["method"] = result.method();
  document["preconditioner"] = result.preconditioner();
  if (!result.preconditioner_choice().empty()) document["preconditioner_choice"] = result.preconditioner_choice();
  document["executor"] = result.executor();
  document["precision"] = result.precision();
  document["n"] = result.rows();
  document["nnz"] = result.nonzeros();
  document["converged"] = result.all_converged();
  document["setup_seconds"] = result.setup_seconds();
  document["solve_seconds"] = result.solve_seconds();
  document["device"] = result.device();
  document["version"] = version;
  document["message"] = result.message();
  document["note"] = result.note();
  return document;
}

}  // namespace

template <class T>
csr_matrix<T> as_matrix(index_type rows, index_type columns, const std::vector<T>& X) {
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(rows) + 1);
  std::vector<std::int32_t> indices;
  std::vector<T> values;
  for (index_type i = 0; i < rows; ++i) {
    for (index_type k = 0; k < columns; ++k) {
      indices.push_back(static_cast<std::int32_t>(k));
      values.push_back(X[static_cast<std::size_t>(k * rows + i)]);
    }
    offsets[static_cast<std::size_t>(i) + 1] = static_cast<std::int64_t>(values.size());
  }
  return csr_matrix<T>(rows, columns, offsets, indices, values);
}

template <class T>
int solve_columns(const linear_system<T>& system, const solve_options& options, const result_files& files) {
  require_what_columns_have(options, system.columns);
  std::FILE* const out = files.report.text();
  columns_linear_solver<T> solver(system.A, system.columns, with_nodes(system, options.solver));
  print_header(out, system, options, describe_machine(options.solver.device), solver.executor());
  fmt::print(out, "executor     {}{}\n", solver.executor(),
             solver.executor() == options.solver.executor ? "" : " (asked for: " + options.solver.executor + ")");
  std::fflush(out);

  const auto entries = static_cast<std::size_t>(system.A.columns());
  std::vector<T> X(entries * static_cast<std::size_t>(system.columns), T(0));
  const columns_report result = solver.solve(system.b, X);

  json document = columns_json(result);
  document["matrix"] = system.name;
  document["right_side"] = system.rhs_source;
  document["columns"] = json::array();
  fmt::print(out, "result       {}\n", result.message());
  if (!result.preconditioner_choice().empty()) fmt::print(out, "M            {}\n", result.preconditioner_choice());
  if (!result.note().empty()) fmt::print(out, "note         {}\n", result.note());
  fmt::print(out, "\n{:>6}  {:>10}  {:>11}  {:>11}  {}\n", "column", "iterations", "residual", "solver says", "reason");
  for (index_type k = 0; k < system.columns; ++k) {
    const system_outcome& one = result[k];
    const double residual = true_relative_residual(
        system, std::span<const T>(X).subspan(static_cast<std::size_t>(k) * entries, entries), k);
    fmt::print(out, "{:>6}  {:>10}  {:>11.3e}  {:>11.3e}  {}\n", k, one.iterations, residual, one.relative_residual(),
               name(one.reason));
    document["columns"].push_back({{"iterations", one.iterations},
                                   {"reason", name(one.reason)},
                                   {"converged", one.converged()},
                                   {"relative_residual", one.relative_residual()},
                                   {"true_relative_residual", residual},
                                   {"rhs_norm", one.rhs_norm},
                                   {"message", result.message(k)}});
  }
  fmt::print(out, "\ntime         set-up {}, solve {}\n", duration(result.setup_seconds()),
             duration(result.solve_seconds()));
  if (options.explain) fmt::print(out, "\n{}", solver.explain());

  files.report.write(document);
  files.output.write_with(
      [&](const std::string& path) { write_matrix<T>(path, as_matrix(system.A.columns(), system.columns, X)); });
  return result.all_converged() ? succeeded : not_converged;
}

template csr_matrix<float> as_matrix(index_type, index_type, const std::vector<float>&);
template csr_matrix<double> as_matrix(index_type, index_type, const std::vector<double>&);
template int solve_columns(const linear_system<float>&, const solve_options&, const result_files&);
template int solve_columns(const linear_system<double>&, const solve_options&, const result_files&);

}  // namespace whilst::command

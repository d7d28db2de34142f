#include "benchmarks/overheads/several_columns.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>

#include "benchmarks/overheads/linear_runs.hpp"
#include "whilst/columns_linear_solver.hpp"

namespace overheads {
namespace {

/// An iteration of all columns, by the clock of the device.
timing time_columns(problem& given, index_type columns, const std::string& preconditioner, const way& how,
                    run_lengths lengths, double budget) {
  linear_solver_options options = options_for(how);
  options.preconditioner = preconditioner;
  const bool gpu = how.executor != "host";
  const index_type rows = given.A.rows();
  std::vector<double> b, x(static_cast<std::size_t>(rows * columns), 0);
  for (index_type k = 0; k < columns; ++k)
    for (index_type i = 0; i < rows; ++i)
      b.push_back(given.b[static_cast<std::size_t>(i)] + static_cast<double>((i + k) * 7919 % 97) / 97);
  whilst::buffer<double> b_there, x_there;
  if (gpu) {
    b_there = whilst::buffer<double>(whilst::place::gpu(0), rows * columns, b.data());
    x_there = whilst::buffer<double>(whilst::place::gpu(0), rows * columns);
  }
  whilst::columns_linear_solver<double> solver(gpu ? *given.A_on_gpu : given.A, columns, options);
  return time_iterations(lengths, budget, [&](index_type iterations) {
    solver.set_max_iterations(iterations);
    std::fill(x.begin(), x.end(), 0.0);
    if (gpu) x_there.upload(x.data());
    const whilst::columns_report report =
        (gpu ? solver.enqueue(nullptr, b_there.data(), x_there.data()) : solver.enqueue(nullptr, b.data(), x.data()))
            .wait();
    for (const whilst::system_outcome& column : report)
      if (column.iterations != iterations || column.reason != whilst::reason::iteration_limit)
        throw whilst::error("timing several columns",
                            fmt::format("a run of {} iterations ended otherwise: {}", iterations, report.message()));
    return report.solve_seconds();
  });
}

/// The same of one column, by the single solver.
timing time_single(problem& given, const std::string& preconditioner, const way& how, run_lengths lengths,
                   double budget) {
  linear_solver_options options = options_for(how);
  options.preconditioner = preconditioner;
  whilst::linear_solver<double> solver(how.executor == "host" ? given.A : *given.A_on_gpu, options);
  const auto enqueue = [](whilst::replayed_solver& one, const double* b, double* x) {
    return static_cast<whilst::linear_solver<double>&>(one).enqueue(nullptr, b, x);
  };
  return time_runs(given, solver, enqueue, how, lengths, budget, nullptr);
}

}  // namespace

json measure_columns(const settings& asked, bool gpu) {
  constexpr run_lengths lengths{30, 90};
  const way how = gpu ? way{"graph", 16, true} : way{"host"};
  const bool large = gpu && !asked.quick && asked.largest >= 1'000'000;
  const std::vector<std::string> problems =
      large ? std::vector<std::string>{"poisson2d:1000", "poisson3d:100", "elasticity3d:43"}
            : std::vector<std::string>{"poisson2d:64", "elasticity3d:4"};
  fmt::print("\nSeveral right-hand sides by cg, double, {}; microseconds an iteration of all columns\n", name_of(how));
  fmt::print("{:<20}{:<10}{:>8}{:>12}{:>14}{:>9}\n", "", "", "columns", "at once", "single solves", "ratio");
  json entries = json::array();
  for (const std::string& name : problems) {
    problem given(name, gpu);
    for (const std::string preconditioner : {"none", "jacobi"}) {
      const timing single = attempt([&] { return time_single(given, preconditioner, how, lengths, asked.budget()); });
      for (const index_type columns : {2, 4, 8, 16, 32, 64}) {
        const timing measured =
            attempt([&] { return time_columns(given, columns, preconditioner, how, lengths, asked.budget()); });
        const double of_singles = static_cast<double>(columns) * single.seconds_per_iteration;
        const bool known = measured.why_not.empty() && single.why_not.empty();
        const double ratio = known ? measured.seconds_per_iteration / of_singles : 0;
        fmt::print("{:<20}{:<10}{:>8}{:>12}{:>14}{:>9}\n", name, preconditioner, columns, microseconds(measured),
                   known ? fmt::format("{:.4g}", 1e6 * of_singles) : "-", known ? fmt::format("{:.3f}", ratio) : "-");
        std::fflush(stdout);
        json entry = way_json(how);
        entry["problem"] = name;
        entry["preconditioner"] = preconditioner;
        entry["n"] = given.A.rows();
        entry["nonzeros"] = given.A.nonzeros();
        entry["columns"] = columns;
        if (known) {
          entry["microseconds_of_single_solves"] = 1e6 * of_singles;
          entry["ratio"] = ratio;
        }
        entries.push_back(entry_of(measured, std::move(entry)));
      }
    }
  }
  return entries;
}

}  // namespace overheads

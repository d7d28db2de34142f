#pragma once

/// Solves of a model problem, for the suites that time linear solvers.

#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "benchmarks/overheads/timing.hpp"
#include "whilst/engine/memory/cuda.hpp"
#include "whilst/engine/memory/memory.hpp"
#include "whilst/gallery.hpp"
#include "whilst/linear_solver.hpp"

namespace overheads {

using whilst::csr_matrix;
using whilst::linear_solver_options;

/// A model problem on the place where a way needs it.
struct problem {
  csr_matrix<double> A;
  std::vector<double> b;
  whilst::raw_buffer offsets;
  whilst::buffer<std::int32_t> columns;
  whilst::buffer<double> values, b_on_gpu, x_on_gpu;
  std::optional<csr_matrix<double>> A_on_gpu;

  problem(const std::string& name, bool gpu);

  /// The bytes that an iteration of conjugate gradients in two steps must move: the matrix once, and 11 passes over a
  /// vector (r read and w written beside the matrix; x, r, p and q updated, w read).
  double ideal_bytes() const;

 private:
  problem(whilst::gallery_problem<double> made, bool gpu);
};

/// Solves that end at their limit.
linear_solver_options options_for(const way& how);

/// Times iterations of a solver with such options by the clock of the device that ran it. x, unless null, receives the
/// solution of the longer run.
template <class Solver>
timing time_runs(problem& given, Solver& solver, const way& how, run_lengths lengths, double budget,
                 std::vector<double>* wanted) {
  const bool on_host = how.executor == "host";
  if (solver.executor() != how.executor) return {.why_not = "ran as " + solver.executor()};
  const auto rows = static_cast<std::size_t>(given.A.rows());
  std::vector<double> x(on_host || wanted ? rows : 0);
  const auto run = [&](index_type iterations) {
    solver.set_max_iterations(iterations);
    if (on_host) {
      x.assign(rows, 0.0);
#if WHILST_WITH_CUDA
    } else {
      WHILST_CUDA("clearing x", cudaMemset(given.x_on_gpu.data(), 0, rows * sizeof(double)));
#endif
    }
    const whilst::report report = on_host
                                      ? solver.enqueue(nullptr, given.b.data(), x.data()).wait()
                                      : solver.enqueue(nullptr, given.b_on_gpu.data(), given.x_on_gpu.data()).wait();
    if (report.iterations() != iterations || report.reason() != whilst::reason::iteration_limit)
      throw whilst::error("timing " + report.method(),
                          fmt::format("a run of {} iterations ended as '{}'", iterations, report.message()));
    return report.solve_seconds();
  };
  const timing measured = time_iterations(lengths, budget, run);
  if (!wanted) return measured;
  if (!on_host) given.x_on_gpu.download(x.data());
  *wanted = std::move(x);
  return measured;
}
/// The same of the library's solver by a method.
timing time_solver(problem& given, const std::string& method, const way& how, run_lengths lengths, double budget,
                   std::vector<double>* x);

}  // namespace overheads

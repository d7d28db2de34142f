#pragma once

/// Solves of a model problem, for the suites that time linear solvers.

#include <optional>
#include <string>
#include <vector>

#include "benchmarks/overheads/timing.hpp"
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
  whilst::amg_options amg;  ///< what preconditioner amg is to know of it
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
timing time_runs(problem& given, whilst::replayed_solver& solver,
                 whilst::ticket (*enqueue)(whilst::replayed_solver& solver, const double* b, double* x), const way& how,
                 run_lengths lengths, double budget, std::vector<double>* wanted);
/// The same of the library's solver by a method.
timing time_solver(problem& given, const std::string& method, const way& how, run_lengths lengths, double budget,
                   std::vector<double>* x);

}  // namespace overheads

#pragma once

#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "whilst/basics/held.hpp"
#include "whilst/host/place_of_executor.hpp"
#include "whilst/host/replayed_solver.hpp"
#include "whilst/nonlinear/descent/descent_report.hpp"
#include "whilst/nonlinear/functions/equations.hpp"

namespace whilst {

/// When a system of equations counts as solved. A value of 0 turns a test off.
struct nonlinear_tolerances {
  /// Converged where ||F||_2 is no more than this.
  double atol = 1e-10;
  /// Converged where ||F||_2 is no more than this times its value at the start.
  double rtol = 1e-8;
  /// Converged, as converged_step says, where an accepted step was no longer than this times ||x||_2. That may be far
  /// from a solution.
  double step = 0;
};

/// Settings of a nonlinear_solver.
struct nonlinear_solver_options {
  /// "newton" (a dense Jacobian, up to 1000 unknowns), "newton-krylov" (a sparse one, BiCGSTAB); without a Jacobian
  /// "broyden" (the good method, limited memory) and "anderson" (acceleration of x = g(x), where F(x) = x - g(x)).
  std::string method = "newton-krylov";
  nonlinear_tolerances tolerances = {};
  /// Limit on accepted steps.
  index_type max_iterations = 1000;
  /// Limit on evaluations of F; 0 for 20 * (max_iterations + 1).
  index_type max_evaluations = 0;
  /// "newton-krylov" only: BiCGSTAB iterations per step, 0 for twice the unknowns, clamped to 20 to 2000. If cut short,
  /// its step is still taken where it leads down.
  index_type max_inner_iterations = 0;
  /// "anderson" only: how many differences it combines, 1 to 10.
  int depth = 5;
  /// "anderson" only: x goes to x - mixing F from the combination; not 0. Negative if F(x) = g(x) - x, but better flip
  /// the sign of F: a restart after a bad step goes along -F whatever the sign.
  double mixing = 1;
  /// Seconds that the loop may run, counted from its start on the device.
  double deadline = std::numeric_limits<double>::infinity();
  /// "auto", "host", "stream" or "graph". The system's place decides which device runs it.
  std::string executor = "auto";
  /// Evaluations per trip through the graph's WHILE node; 0 chooses.
  int unroll = 0;
  /// Overlap the start of each step with the end of the one before, where the device and the code allow it.
  bool programmatic_launch = true;
  /// Check the pointers passed to enqueue: one driver query each, which detects host memory that the GPU cannot read,
  /// memory of another GPU, and freed memory. Null pointers are refused either way.
  bool check_pointers = true;
  /// Records of the history, an even number; 0 for none.
  index_type history_capacity = 512;
  /// On the host: the most threads that share a step, 1 to 1024; 0 for OpenMP's own setting. Results are bitwise the
  /// same for any number.
  int threads = 0;
};

/// How a solve of equations ended. residual_norm() is ||F||_2, and rhs_norm() its value at the start; value and
/// gradient_norm of a record are 1/2 ||F||_2^2 and ||F||_2.
struct nonlinear_report : descent_report {
  /// A one-line summary.
  std::string message() const;
};

/// Solves one system F(x) = 0 of n equations in n unknowns repeatedly, from different starting points: recorded at
/// construction, replayed by each solve. Threads may share it: see replayed_solver. The residual_norm of progress() is
/// ||F||_2. Solvers that run concurrently need systems of their own, which hold evaluation results.
///
/// The result is a point where ||F|| is small, or the reason why none was found: singular_jacobian ("newton"),
/// breakdown (BiCGSTAB found no step that leads down, restarted once if it broke down: use "newton"),
/// line_search_failed (no step length reduces ||F||: often a local minimum of ||F|| that is no solution),
/// attainable_accuracy (the same where the full step is no longer than 4.5e-8 ||x||, in float 1e-4 ||x||, so that
/// rounding of F may be the cause; or ten steps in a row within the rounding of x: no proof of a solution, check
/// ||F||), nan_or_infinity (F at the start, its derivatives at x, or Newton's step is not finite), iteration_limit and
/// the others of reason.hpp.
template <class T>
class nonlinear_solver : public replayed_solver {
 public:
  /// The system must outlive the solver. Throws whilst::error on options out of range, on a method that needs a
  /// Jacobian the system does not have, and on an executor that does not run on the system's place.
  explicit nonlinear_solver(const equations<T>& system, nonlinear_solver_options options = {});
  ~nonlinear_solver() override;
  nonlinear_solver(nonlinear_solver&&) noexcept;
  nonlinear_solver& operator=(nonlinear_solver&&) noexcept;

  /// x, in host memory, holds the starting point and receives the point reached by the last accepted step; after a
  /// failure, the point with the lowest ||F||. Blocks. If F is not finite at the starting point, x is left unchanged.
  nonlinear_report solve(std::span<T> x);
  /// The same with x in memory of the system's place, after earlier work on `stream`: enqueue, and the wait.
  nonlinear_report solve(stream_handle stream, T* x);

  /// Enqueues a solve on `stream` and returns without waiting; x is a pointer of the system's place. Otherwise as
  /// linear_solver::enqueue, captures included.
  ticket enqueue(stream_handle stream, T* x);

  void set_tolerances(const nonlinear_tolerances& tolerances);

 private:
  prepared_program& prepared() const override;
  struct implementation;
  detail::held<implementation> implementation_;
};

extern template class nonlinear_solver<float>;
extern template class nonlinear_solver<double>;

}  // namespace whilst

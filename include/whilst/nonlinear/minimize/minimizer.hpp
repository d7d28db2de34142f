#pragma once

#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "whilst/basics/held.hpp"
#include "whilst/host/place_of_executor.hpp"
#include "whilst/host/replayed_solver.hpp"
#include "whilst/linear/preconditioners/amg_options.hpp"
#include "whilst/nonlinear/descent/descent_report.hpp"
#include "whilst/nonlinear/functions/objective.hpp"

namespace whilst {

/// Settings of a minimizer.
struct minimizer_options {
  /// "lbfgs", "bfgs" (a dense matrix), "newton" (a dense Hessian), "newton-cg" and "trust-region" (the Hessian, sparse
  /// or as products), "levenberg-marquardt" and "dogleg" (likewise; for sums of squares, whose Hessian is the
  /// Gauss-Newton matrix: partially_separable::add_residuals), "conjugate-gradient-pr" (Polak and Ribiere),
  /// "conjugate-gradient-hz" (Hager and Zhang) or "gradient-descent".
  std::string method = "lbfgs";
  /// "backtracking", "strong-wolfe" (More and Thuente), "approximate-wolfe" (Hager and Zhang), or "parallel": f at 8
  /// step lengths in one pass over memory, and the gradient at the best of them. "parallel" needs a function with
  /// values_along, as every partially_separable has. Ignored by trust-region methods.
  std::string line_search = "strong-wolfe";
  descent_tolerances tolerances = {};
  /// Limit on accepted steps.
  index_type max_iterations = 10'000;
  /// Limit on evaluations of the function and its gradient; 0 for 20 * (max_iterations + 1).
  index_type max_evaluations = 0;
  /// A value below this means that the function is unbounded below: reason unbounded.
  double lower_bound = -1e300;
  /// Seconds that the loop may run, counted from its start on the device.
  double deadline = std::numeric_limits<double>::infinity();
  /// How methods that multiply by the Hessian get it: "assembled", a sparse matrix; "matrix-free", the function's own
  /// products; "auto" takes the matrix if there is one. Ignored by first-order methods.
  std::string hessian = "auto";
  /// Of newton-cg, for its linear systems: "jacobi", the inverse of the Hessian's diagonal, or "amg", algebraic
  /// multigrid of the Hessian as a matrix, with settings after the name, "amg,strength=0.1", or in `amg`. Its levels
  /// are made anew within the recorded loop: from the first Hessian, and from later ones where systems have come to
  /// take more iterations; with refresh=changed from each.
  std::string preconditioner = "jacobi";
  amg_options amg = {};
  /// Where amg looks at the Hessian once, when the minimizer is made, to see which unknowns belong together: an entry
  /// for each unknown; empty for x = 0.
  std::vector<double> typical_point = {};
  /// How levenberg-marquardt damps its steps: "nielsen", by how well the model predicted the gain, or "classic", a
  /// tenth after an accepted step, otherwise ten times. Other methods ignore this and first_damping.
  std::string damping = "nielsen";
  /// Its first damping, in units of the Hessian's diagonal, or absolute where the diagonal is unknown, as for a
  /// called_objective. Choose it large, say 100, if the start may be far off.
  double first_damping = 1e-3;
  /// "auto", "host", "stream" or "graph". The function's place decides which device runs it.
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
  /// Of a distributed_minimizer: by which transport the ranks exchange, as in linear_solver_options. On a
  /// minimizer a known name has no effect.
  std::string transport = "auto";
  /// On the host: the most threads that share a step, 1 to 1024; 0 for OpenMP's own setting. Results are bitwise the
  /// same for any number.
  int threads = 0;
};

/// How a minimization ended. residual_norm() is ||g||_2, and rhs_norm() its value at the start.
struct minimize_report : descent_report {
  /// f at x.
  double value = 0;
  /// Values of the function alone that the parallel line search took, 8 per evaluation after the first; not counted as
  /// evaluations, and not limited.
  index_type trial_values = 0;
  /// How often amg's levels were made anew.
  index_type refreshes = 0;
  /// A one-line summary.
  std::string message() const;
};

/// Minimizes one function repeatedly, from different starting points: recorded at construction, replayed by each solve.
/// Threads may share it: see replayed_solver. The residual_norm of progress() is ||g||_2. Minimizers that run
/// concurrently need functions of their own, since a function holds the results of its evaluations.
template <class T>
class minimizer : public replayed_solver {
 public:
  /// The function must outlive the minimizer. Throws whilst::error on options out of range, on a method that needs a
  /// Hessian the function does not have, on an executor that does not run on the function's place, and on what
  /// make_hessian_preconditioner refuses.
  explicit minimizer(const objective<T>& function, minimizer_options options = {});
  ~minimizer() override;
  minimizer(minimizer&&) noexcept;
  minimizer& operator=(minimizer&&) noexcept;

  /// x, in host memory, holds the starting point and receives the point found: the best one if the method only
  /// descends. Blocks. If f is not finite at the starting point, x is left unchanged.
  minimize_report solve(std::span<T> x);
  /// The same with x in memory of the function's place, after earlier work on `stream`: enqueue, and the wait.
  minimize_report solve(stream_handle stream, T* x);

  /// Enqueues a minimization on `stream` and returns without waiting; x is a pointer of the function's place. Otherwise
  /// as linear_solver::enqueue, captures included.
  ticket enqueue(stream_handle stream, T* x);

  void set_tolerances(const descent_tolerances& tolerances);

  /// The minimizer's memory use, itemised: the program, and the levels of amg.
  memory_table memory() const;

 private:
  prepared_program& prepared() const override;
  struct implementation;
  detail::held<implementation> implementation_;
};

extern template class minimizer<float>;
extern template class minimizer<double>;

}  // namespace whilst

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
#include "whilst/nonlinear/functions/objective.hpp"

namespace whilst {

/// Settings of a minimizer.
struct minimizer_options {
  /// "lbfgs", "bfgs" (a dense matrix), "newton" (dense, and the Hessian), "newton-cg" and "trust-region" (the Hessian,
  /// sparse or as products), "levenberg-marquardt" and "dogleg" (likewise; for sums of squares, whose Hessian is that
  /// of Gauss and Newton: partially_separable::add_residuals), "conjugate-gradient-pr" (Polak and Ribiere),
  /// "conjugate-gradient-hz" (Hager and Zhang) or "gradient-descent".
  std::string method = "lbfgs";
  /// "backtracking", "strong-wolfe" (More and Thuente), "approximate-wolfe" (Hager and Zhang), or "parallel": f at 8
  /// lengths in one pass over memory, and its gradient at the best of them. That one wants a function with
  /// values_along, as all partially_separable ones are. Of no effect with trust regions.
  std::string line_search = "strong-wolfe";
  descent_tolerances tolerances = {};
  /// Accepted steps.
  index_type max_iterations = 10'000;
  /// Evaluations of the function and its gradient; 0 for 20 * (max_iterations + 1).
  index_type max_evaluations = 0;
  /// A value below this means that the function has no minimum: reason unbounded.
  double lower_bound = -1e300;
  /// Seconds that the loop may run, counted from when it starts on its device.
  double deadline = std::numeric_limits<double>::infinity();
  /// How methods that multiply by the Hessian have it: "assembled", a sparse matrix; "matrix-free", products of the
  /// function's own; "auto" is the matrix where there is one. Of no effect with methods of gradients.
  std::string hessian = "auto";
  /// How levenberg-marquardt damps its steps: "nielsen", by how well the model was right, or "classic", a tenth after a
  /// step that was taken, else ten times. Of no effect with other methods, as first_damping.
  std::string damping = "nielsen";
  /// Its first damping, in units of the Hessian's diagonal, or as it is where nobody knows that, as of a
  /// called_objective: large, as 100, for a start that may be far off.
  double first_damping = 1e-3;
  /// "auto", "host", "stream" or "graph". What it runs on is decided by the function's place.
  std::string executor = "auto";
  /// Evaluations a trip through the graph's WHILE node; 0 chooses.
  int unroll = 0;
  /// Overlap the start of each step with the end of the one before, where the device and the code allow it.
  bool programmatic_launch = true;
  /// Look at the pointers that enqueue is given: a question to the driver for each, which knows memory of the host that
  /// a GPU cannot read, memory of another GPU, and what has been freed. Null pointers are refused all the same.
  bool check_pointers = true;
  /// Records of the history, an even number; 0 for none.
  index_type history_capacity = 512;
  /// On the host: most threads that share in a step, 1 to 1024; 0 for what OpenMP's settings say. Results have the same
  /// bits for any number.
  int threads = 0;
};

/// How a minimization ended. residual_norm() is ||g||_2, and rhs_norm() what it was at the start.
struct minimize_report : descent_report {
  /// f at x.
  double value = 0;
  /// Values of the function alone that the parallel line search took, 8 an evaluation after the first; not counted as
  /// evaluations, and in no limit.
  index_type trial_values = 0;
  /// One line for a person.
  std::string message() const;
};

/// Minimizes one function again and again, from other starting points: recorded when it is made, replayed by each
/// solve. Threads may share it: see replayed_solver. The residual_norm of progress() is ||g||_2. Minimizers that run at
/// the same time need functions of their own, which hold what evaluations leave.
template <class T>
class minimizer : public replayed_solver {
 public:
  /// The function must outlive the minimizer. Throws whilst::error on options out of range, on a method that wants a
  /// Hessian where the function has none, and on an executor that does not run on the function's place.
  explicit minimizer(const objective<T>& function, minimizer_options options = {});
  ~minimizer() override;
  minimizer(minimizer&&) noexcept;
  minimizer& operator=(minimizer&&) noexcept;

  /// x, in host memory, holds the starting point and receives the point found: the best one where the method descends
  /// only. Blocks. Where f is not finite at the starting point, x is left as it is.
  minimize_report solve(std::span<T> x);

  /// Enqueues a minimization on `stream` and returns without waiting; x is a pointer of the function's place. As
  /// linear_solver::enqueue in all else, captures included.
  ticket enqueue(stream_handle stream, T* x);

  void set_tolerances(const descent_tolerances& tolerances);

 private:
  prepared_program& prepared() const override;
  struct implementation;
  detail::held<implementation> implementation_;
};

extern template class minimizer<float>;
extern template class minimizer<double>;

}  // namespace whilst

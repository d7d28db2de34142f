#pragma once

/// @file
/// Many small nonlinear least-squares fits in one launch; the residuals are a functor of your own. With CUDA on,
/// compile files that include this with nvcc.

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "whilst/host/batch_outcomes.hpp"
#include "whilst/host/recorded_batch.hpp"
#include "whilst/least_squares/parameter_bounds.hpp"
#include "whilst/least_squares/whole_fits.hpp"

namespace whilst {

struct least_squares_batch_options {
  /// The same for all fits.
  least_squares_tolerances tolerances = {};
  /// Bounds on the unknowns, the same for all fits: one each, infinite for none; or empty. No trial point is outside.
  /// They cost a GPU some of its speed.
  std::vector<double> lower = {}, upper = {};
  /// Trial points of one fit, including rejected ones. A launch lasts as long as its slowest fit.
  index_type max_iterations = 1000;
  /// Seconds from when the batch starts on its device; fits that still run then, or have not started, stop.
  double deadline = std::numeric_limits<double>::infinity();
  /// "auto" (a GPU if there is one; WHILST_EXECUTOR=host counts too), "batch" (likewise) or "host" (the CPU).
  std::string executor = "auto";
  /// The CUDA device; -1 is the current one.
  int device = -1;
  /// GPU threads per fit: 1, 2, 4, 8, 16 or 32, or a block of 64, 96, ... 1024; 0: automatic. On the host each fit has
  /// one thread, whatever this says.
  int lanes = 0;
  /// On the host: the most threads that share the fits, 1 to 1024; 0 uses OpenMP's settings. Results have the same bits
  /// for any number.
  int threads = 0;
  /// Check the pointers passed to enqueue: one driver query each, which detects host memory that a GPU cannot read,
  /// memory of another GPU, and freed memory. Null pointers are refused in any case.
  bool check_pointers = true;
};

/// How the fits of a batch ended.
class least_squares_batch_report : public batch_outcomes<fit_outcome> {
 public:
  using batch_outcomes::batch_outcomes;
  /// One readable line: how many converged, and how the worst ended.
  std::string message() const { return message_about("fit"); }
};

/// What `lanes` = 0 chooses on a GPU; use it to choose a data layout, see least_squares_batch.
int lanes_for_fits(index_type residuals, index_type fits);

namespace detail {

/// The settings of every batch. Throws whilst::error on tolerances out of range.
batch_settings settings_of_fits(const least_squares_batch_options& options, index_type fits);
/// Throws whilst::error if there are none.
void check_residuals(index_type residuals);

}  // namespace detail

/// Fits many problems at once, each with its own loop that stops when it is done: recorded when constructed, replayed
/// by each solve. A thread, a warp or a block runs a whole fit inside one kernel; on the host, threads share the fits.
/// The caller's threads may share it too: solve, enqueue and wait admit one thread at a time, and wait() reports on the
/// fits enqueued last, by any thread. The method is levenberg_marquardt, and on the host its results are those of a
/// least_squares_solver for each problem.
///
/// What a batch does not have: tickets, since its outcomes are those of the launch enqueued last; progress and a
/// monitor, since nobody outside the kernel sees how far a fit is; a history and standard errors, which would be most
/// of a fit's memory; new limits and tolerances, which are part of the kernel's arguments. Use a least_squares_solver
/// for those.
///
/// Problem is trivially copyable; its pointers are to memory of the place. of_problem(k) returns problem k in the form
/// that least_squares_solver takes (unknowns, count(), residual i by operator()(i, x)); count(), called on the host,
/// returns roughly how many residuals a problem has, to choose the number of threads. With one thread per fit,
/// neighbours in memory should be residual i of problems k and k + 1; with more, residuals i and i + 1.
template <class T, class Problem>
class least_squares_batch {
  using fits_type = detail::whole_fits<T, Problem>;
  static constexpr int n = fits_type::n;

 public:
  /// make_problem(place) returns the problems with their data on that place. Throws whilst::error on options out of
  /// range, fewer than one problem, and an executor that is not for batches or that this machine does not have.
  template <class MakeProblem>
  least_squares_batch(const MakeProblem& make_problem, index_type problems,
                      const least_squares_batch_options& options = {})
      : batch_(detail::settings_of_fits(options, problems)),
        bounds_("making a batch of fits", batch_.where(), n, options.lower, options.upper),
        problem_(make_problem(batch_.where())) {
    detail::check_residuals(problem_.count());
    const char* const name = fits_type::method_type::name;
    const int lanes = batch_.desk().lanes_or(lanes_for_fits(problem_.count(), problems));
    batch_.record(name, n, lanes, [&](recorder& record) {
      const fit_settings settings{options.tolerances, bounds_.lower(), bounds_.upper()};
      const fits_type fits{problem_, settings, options.max_iterations, batch_.frame(), batch_.outcomes()};
      if (lanes == 1) {
        record.step(name, problems, problems_by_thread<fits_type>{fits});
      } else {
        detail::record_problems(record, name, problems, fits, lanes);
      }
    });
  }

  /// x in host memory, the unknowns of one problem after another: holds the starting points and receives the best
  /// points found. Blocks. The x of a problem whose residuals are not finite at its start is left unchanged. On a GPU
  /// the first call allocates device memory for x. Throws whilst::error if x has the wrong size or starts out of
  /// bounds.
  least_squares_batch_report solve(std::span<T> x) {
    bounds_.require_inside("solving a batch of fits", x);
    return batch_.solve(x);
  }

  /// Enqueues the fits on `stream` and returns without waiting: x is a device pointer (a host pointer if the batch runs
  /// on the host, and then the fits are done when this returns) that must stay valid until the fits are done. A start
  /// that is out of bounds is moved to the nearest point within. No synchronisation, no allocation; one batch at a
  /// time: another on a second stream waits for the first. If `stream` is being captured, the fits become part of that
  /// graph, with this x, and the object must outlive it. Launches of that graph are not ordered against enqueue(), nor
  /// against one another: let one end before the next begins, since all work in the same memory. Throws whilst::error
  /// on a pointer that linear_solver::enqueue would refuse.
  void enqueue(stream_handle stream, T* x) { batch_.enqueue(stream, x); }

  /// Waits for the fits enqueued last, and reports how each ended: a copy of 16 bytes per fit from a GPU. Does not wait
  /// for the launches of a captured graph.
  least_squares_batch_report wait() { return batch_.wait(); }

  /// Asks the fits of the last 17 launches enqueued to stop, both running and waiting; callable from any thread: each
  /// stops after its next trial, with reason cancelled. Harmless when none is left; later launches are unaffected,
  /// except those of a captured graph, which count as the same launch and are cancelled too.
  void cancel() { batch_.cancel(); }

  /// For later launches. Throws whilst::error on a deadline that is not above 0 seconds.
  void set_deadline(double seconds) { batch_.set_deadline(seconds); }

  /// How each fit ended, one per problem, in the memory of the place that runs them; for later kernels.
  const fit_outcome* outcomes() const { return batch_.outcomes(); }

  index_type problems() const { return batch_.problems(); }
  /// Threads that work on each fit.
  int lanes() const { return batch_.lanes(); }
  /// "host" or "batch".
  const std::string& executor() const { return batch_.executor(); }
  /// The program as a readable tree.
  std::string explain() const { return batch_.explain(); }

 private:
  detail::recorded_batch<T, fit_outcome, least_squares_batch_report> batch_;
  detail::parameter_bounds<T> bounds_;
  Problem problem_;
};

/// Residuals of one curve at the same points for many sets of responses: model(b, x_i) - y_ik, for a model as for
/// curve_fit. Borrows the data, in memory of the place that uses it.
template <class T, class Model>
struct curve_residuals_of_many {
  struct one_set {
    static constexpr int unknowns = Model::parameters;
    Model model;
    index_type points;
    const double* predictors;
    const T* response;
    index_type stride;

    WHILST_HD index_type count() const { return points; }
    template <class S>
    WHILST_HD S operator()(index_type i, const S* b) const {
      return model(b, predictors + i * Model::variables) - response[i * stride];
    }
  };

  Model model;
  index_type points;
  const double* predictors;  ///< Model::variables for each point
  const T* responses;        ///< entry i * point_stride + k * set_stride is that of point i in set k
  index_type point_stride, set_stride;

  WHILST_HD index_type count() const { return points; }
  WHILST_HD one_set of_problem(index_type k) const {
    return {model, points, predictors, responses + k * set_stride, point_stride};
  }
};

}  // namespace whilst

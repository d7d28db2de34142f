#pragma once

/// @file
/// Many small nonlinear least-squares fits in one launch, of residuals that are a functor of your own. Where CUDA is
/// on, compile files that include this by nvcc.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "solvers/whole_fits.hpp"
#include "whilst/linear_solver.hpp"
#include "whilst/machine.hpp"
#include "whilst/recorder.hpp"

namespace whilst {

struct least_squares_batch_options {
  /// The same for all fits.
  least_squares_tolerances tolerances = {};
  /// Trial points of one fit, rejected ones included. A launch lasts as long as its slowest fit.
  index max_iterations = 1000;
  /// Seconds from when the batch starts on its device; fits that still run then, or have not had their turn, stop.
  double deadline = std::numeric_limits<double>::infinity();
  /// "auto" (a GPU where there is one; WHILST_EXECUTOR=host counts, too), "batch" (likewise) or "host" (the CPU).
  std::string executor = "auto";
  /// The CUDA device; -1 is the current one.
  int device = -1;
  /// Threads of a GPU for each fit: 1, 2, 4, 8, 16 or 32, or a block of 64, 96, ... 1024; 0 chooses. On the host each
  /// fit has one thread, whatever this says.
  int lanes = 0;
};

/// How the fits of a batch ended, each for a reason of its own. A value: a fit that fails is no exception.
class least_squares_batch_report {
 public:
  least_squares_batch_report() = default;
  /// What all fits have in common, and how each ended.
  least_squares_batch_report(report_fields common, int lanes, std::vector<fit_outcome> fits);

  /// The number of fits.
  index size() const { return static_cast<index>(fits_.size()); }
  /// Fit k, counted from 0. Throws whilst::error where there is none.
  const fit_outcome& operator[](index k) const;
  /// All of them, for `for (const fit_outcome& fit : report)`.
  auto begin() const { return fits_.begin(); }
  auto end() const { return fits_.end(); }

  index number_converged() const { return number_converged_; }
  bool all_converged() const { return number_converged_ == size(); }
  /// The fit to look at first: one that has not converged before any that has, then the one with the largest value,
  /// where one that is not a number is the largest of all; the first of several.
  index worst() const { return worst_; }
  /// Of all fits.
  double mean_iterations() const;
  index most_iterations() const;
  /// One line for a person: how many converged, and how the worst ended.
  std::string message() const;

  /// Seconds spent on bringing in the data, allocating and recording: once a batch, not once a solve.
  double setup_seconds() const { return common_.setup_seconds; }
  /// Seconds from the first to the last fit, on the clock of the device that ran them, without copies from and to the
  /// host.
  double solve_seconds() const { return common_.solve_seconds; }
  /// "host" or "batch".
  const std::string& executor() const { return common_.executor; }
  const std::string& method() const { return common_.method; }
  /// "float" or "double".
  const std::string& precision() const { return common_.precision; }
  /// Name of the device or processor.
  const std::string& device() const { return common_.device; }
  /// Threads that worked on each fit.
  int lanes() const { return lanes_; }

 private:
  report_fields common_;
  int lanes_ = 1;
  std::vector<fit_outcome> fits_;
  index number_converged_ = 0, worst_ = 0;
};

/// What `lanes` of 0 chooses on a GPU: for who lays data out by it, see least_squares_batch.
int lanes_for_fits(index residuals, index fits);

namespace detail {

/// The part of a batch of fits that knows no scalar and no problem: where it runs, when it began, who stops it.
class fits_desk {
 public:
  /// Throws whilst::error on options out of range and on an executor that is not for batches or not there.
  fits_desk(const least_squares_batch_options& options, index fits);
  place where() const { return where_; }
  const buffer<fits_frame>& frame() const { return frame_; }
  /// Threads a fit on this place, for so many residuals.
  int lanes_for(index residuals) const;
  std::uint64_t deadline_nanoseconds() const;
  /// The number of the launch that comes next.
  std::uint64_t begin_launch() { return latest_.fetch_add(1) + 1; }
  /// Asks the launches so far to stop; from any thread.
  void cancel();

 private:
  least_squares_batch_options options_;
  index fits_;
  place where_;
  buffer<fits_frame> frame_;
  std::atomic<std::uint64_t> latest_ = 0;
#if WHILST_WITH_CUDA
  cuda::stream beside_;         ///< for what must not wait for the fits
  shared_memory_block pinned_;  ///< and for what goes over it
  std::mutex lock_;             ///< of that
#endif
};

}  // namespace detail

/// Fits many problems at once, each with a loop of its own that stops when it is done: recorded when it is made,
/// replayed by each solve. A thread, a warp or a block runs a whole fit inside one kernel; on the host OpenMP's threads
/// share out the fits. The method is levenberg_marquardt, and on the host its results are those of a
/// least_squares_solver for each problem.
///
/// Problem, trivially copyable, pointers in it to memory of the place: of_problem(k) gives problem k as
/// least_squares_solver takes one (unknowns, count(), residual i by operator()(i, x)); count(), asked on the host,
/// how many residuals a problem has about, for the choice of threads. Where each fit has a thread, neighbours in memory
/// had better be residual i of problems k and k + 1; where it has more, residuals i and i + 1.
template <class T, class Problem>
class least_squares_batch {
  using fits_type = detail::whole_fits<T, Problem>;
  static constexpr int n = fits_type::n;

 public:
  /// make_problem(place) gives the problems with their data on that place. Throws whilst::error on options out of
  /// range, fewer than one problem, and an executor that is not for batches or that this machine does not have.
  template <class MakeProblem>
  least_squares_batch(const MakeProblem& make_problem, index problems, const least_squares_batch_options& options = {})
      : began_(std::chrono::steady_clock::now()),
        desk_(std::make_unique<detail::fits_desk>(options, problems)),
        problem_(make_problem(desk_->where())),
        lanes_(desk_->lanes_for(problem_.count())),
        outcomes_(desk_->where(), problems),
        program_(record(options)) {
    const place where = desk_->where();
    program_.prepare({.how = where.on_host() ? whilst::executor::host : whilst::executor::stream});
    const machine_description machine = describe_machine(where.on_host() ? -1 : where.device());
    common_.method = fits_type::method_type::name;
    common_.executor = where.on_host() ? "host" : "batch";
    common_.precision = sizeof(T) == 4 ? "float" : "double";
    common_.device = where.on_host() ? machine.processor : machine.device;
    common_.setup_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
  }

  /// x in host memory, the unknowns of one problem after another: holds the starting points and receives the best
  /// points found. Blocks. The x of a problem whose residuals are not finite at its start are left alone. On a GPU the
  /// first call takes memory there for x.
  least_squares_batch_report solve(std::span<T> x) {
    const index entries = problems() * n;
    if (static_cast<index>(x.size()) != entries)
      throw error("fitting a batch",
                  std::to_string(problems()) + " problems of " + std::to_string(n) + " unknowns have " +
                      std::to_string(entries) + ", and x has " + std::to_string(x.size()) + " entries",
                  "Make both agree");
    if (desk_->where().on_host()) {
      enqueue(nullptr, x.data());
      return wait();
    }
    if (x_on_gpu_.size() != entries) x_on_gpu_ = buffer<T>(desk_->where(), entries);
    x_on_gpu_.upload(x.data());
    enqueue(nullptr, x_on_gpu_.data());
    least_squares_batch_report result = wait();
    x_on_gpu_.download(x.data());
    return result;
  }

  /// Enqueues the fits on `stream` and returns without waiting: x is a device pointer (a host pointer where the batch
  /// runs on the host, and then all has been done when this returns) that must stay valid until the fits are done. No
  /// synchronisation, no allocation; one batch at a time: another on a second stream waits for the first. If `stream`
  /// is being captured, the fits become part of that graph, with this x, and the object must outlive it.
  void enqueue(stream_handle stream, T* x) {
    program_.set(x_, static_cast<void*>(x));
    program_.set(launch_, desk_->begin_launch());
    program_.enqueue(stream);
  }

  /// Waits for the fits enqueued last, and tells how each ended: a copy of 16 bytes a fit from a GPU. What a captured
  /// graph runs is not waited for.
  least_squares_batch_report wait() {
    program_.wait();
    std::vector<fit_outcome> fits(static_cast<std::size_t>(problems()));
    outcomes_.download(fits.data());
    detail::fits_frame frame;
    desk_->frame().download(&frame);
    report_fields common = common_;
    common.solve_seconds = 1e-9 * static_cast<double>(frame.ended - frame.began);
    return {std::move(common), lanes_, std::move(fits)};
  }

  /// Asks the fits enqueued so far to stop, from any thread: each does after its next trial, with reason cancelled.
  void cancel() { desk_->cancel(); }

  /// How each fit ended, in the memory of the place that runs them, one a problem; for kernels that come after.
  const fit_outcome* outcomes() const { return outcomes_.data(); }

  index problems() const { return outcomes_.size(); }
  /// Threads that work on each fit.
  int lanes() const { return lanes_; }
  /// "host" or "batch".
  const std::string& executor() const { return common_.executor; }

 private:
  program record(const least_squares_batch_options& options) {
    detail::fits_frame* const frame = desk_->frame().data();
    recorder record(desk_->where());
    x_ = record.parameter<void*>(&frame->x, nullptr);
    launch_ = record.parameter<std::uint64_t>(&frame->wish.launch, 0);
    record.parameter(&frame->deadline_nanoseconds, desk_->deadline_nanoseconds());
    record.once("the batch begins", detail::fits_begin{frame});
    const fits_type fits{problem_, options.tolerances, options.max_iterations, frame, outcomes_.data()};
    const char* const name = fits_type::method_type::name;
    if (lanes_ == 1) {
      record.step(name, problems(), detail::fits_by_thread<fits_type>{fits});
    } else if (lanes_ <= 32) {
      record.step(name, problems(), detail::fits_by_lanes<fits_type>{fits, lanes_});
    } else {
      record.team(name, problems(), detail::fits_by_block<fits_type>{fits, lanes_});
    }
    record.once("the batch ends", detail::fits_end{frame});
    return std::move(record).finish();
  }

  std::chrono::steady_clock::time_point began_;
  std::unique_ptr<detail::fits_desk> desk_;
  Problem problem_;
  int lanes_;
  buffer<fit_outcome> outcomes_;
  buffer<T> x_on_gpu_;  ///< for solves from host memory
  parameter<void*> x_;
  parameter<std::uint64_t> launch_;
  program program_;  ///< after what it refers to: it waits for its runs
  report_fields common_;
};

/// Residuals of one curve at the same points for many sets of responses: model(b, x_i) - y_ik, for a model as curve_fit
/// takes it. Borrows the data, memory of the place that uses it.
template <class T, class Model>
struct curve_residuals_of_many {
  struct one_set {
    static constexpr int unknowns = Model::parameters;
    Model model;
    index points;
    const double* predictors;
    const T* response;
    index stride;

    WHILST_HD index count() const { return points; }
    template <class S>
    WHILST_HD S operator()(index i, const S* b) const {
      return model(b, predictors + i * Model::variables) - response[i * stride];
    }
  };

  Model model;
  index points;
  const double* predictors;  ///< Model::variables for each point
  const T* responses;        ///< entry i * point_stride + k * set_stride is that of point i in set k
  index point_stride, set_stride;

  WHILST_HD index count() const { return points; }
  WHILST_HD one_set of_problem(index k) const {
    return {model, points, predictors, responses + k * set_stride, point_stride};
  }
};

}  // namespace whilst

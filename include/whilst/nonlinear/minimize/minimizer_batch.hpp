#pragma once

/// @file
/// Many small minimizations in one launch, of functions that are your own functors; or one, in a single block. With
/// CUDA on, compile files that include this with nvcc.

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "whilst/host/batch_outcomes.hpp"
#include "whilst/host/recorded_batch.hpp"
#include "whilst/nonlinear/minimize/bfgs.hpp"
#include "whilst/nonlinear/minimize/limited_memory_bfgs.hpp"
#include "whilst/nonlinear/minimize/newton.hpp"
#include "whilst/nonlinear/minimize/whole_minimizations.hpp"

namespace whilst {

struct minimizer_batch_options {
  /// One of the batch's methods by name: "lbfgs", "bfgs" or "newton" unless it was built with others.
  std::string method = "bfgs";
  /// "backtracking", "strong-wolfe" (More and Thuente) or "approximate-wolfe" (Hager and Zhang). Not "parallel": trips
  /// cost next to nothing inside a kernel, so step lengths are tried one after another.
  std::string line_search = "strong-wolfe";
  /// The same for all problems.
  descent_tolerances tolerances = {};
  /// Limit on accepted steps per problem. A launch lasts as long as its slowest problem.
  index_type max_iterations = 1000;
  /// Limit on evaluations of a function and its gradient; 0 for 20 * (max_iterations + 1).
  index_type max_evaluations = 0;
  /// A value below this means that a function is unbounded below: reason unbounded.
  double lower_bound = -1e300;
  /// Seconds from the batch's start on its device; problems still running or not yet started by then stop.
  double deadline = std::numeric_limits<double>::infinity();
  /// "auto" (a GPU if there is one; honours WHILST_EXECUTOR=host), "batch" (likewise) or "host" (the CPU).
  std::string executor = "auto";
  /// The CUDA device; -1 for the current one.
  int device = -1;
  /// GPU threads per problem: 1, 2, 4, 8, 16 or 32, or a block of 64, 96, ... 1024; 0 chooses. On the host each problem
  /// always has one thread.
  int lanes = 0;
  /// On the host: the most threads that share the problems, 1 to 1024; 0 for OpenMP's own setting. Results are bitwise
  /// the same for any number.
  int threads = 0;
  /// Check the pointers passed to enqueue: one driver query each, which detects host memory that the GPU cannot read,
  /// memory of another GPU, and freed memory. Null pointers are refused either way.
  bool check_pointers = true;
};

/// How a batch's minimizations ended.
class minimizer_batch_report : public batch_outcomes<minimization_outcome> {
 public:
  using batch_outcomes::batch_outcomes;
  double mean_evaluations() const;
  /// A one-line summary: how many converged, and how the worst ended.
  std::string message() const { return message_about("minimization"); }
};

/// The methods a batch is compiled for, selected by name at construction. solvers/ has more: gradient_descent,
/// conjugate_gradient_pr, conjugate_gradient_hz.
template <template <class> class... Direction>
struct method_list {};
using usual_methods = method_list<bfgs, limited_memory_bfgs, newton>;

namespace detail {

/// The settings every batch needs. Throws whilst::error on tolerances out of range.
batch_settings settings_of_minimizations(const minimizer_batch_options& options, index_type problems);
/// The settings of each minimization; `single` if T is float. Throws whilst::error on an unknown line search.
minimization_settings settings_of_each(const minimizer_batch_options& options, bool single);
[[noreturn]] void refuse_method(const std::string& asked, const std::string& known);
/// Throws whilst::error if a method that holds a dense matrix is given more unknowns than it supports.
void check_dense(const char* method, index_type unknowns, index_type most);
/// Bytes of memory that all problems need together. Throws whilst::error if that exceeds any memory.
index_type bytes_of_all(index_type problems, index_type bytes_a_problem);
/// Threads per problem that suit a GPU.
int lanes_for_minimizations(const pattern_view& pattern, bool by_threads);
/// Shared memory available to each problem; 0 on the host.
index_type fast_memory_for_problem(place where, index_type problems);

}  // namespace detail

/// Minimizes many functions at once, each in its own loop that stops when it is done: recorded at construction,
/// replayed by each solve. On a GPU a thread, a warp or a block runs a whole minimization inside one kernel; on the
/// host, the host's threads share out the problems. Threads of the caller may share the object: solve, enqueue and wait
/// are for one thread at a time, and wait() reports on the last enqueue from any thread. The methods are the code that
/// a minimizer records, and on the host the results match those of one minimizer per problem, to the bit up to 2048
/// unknowns (bfgs 512), beyond which a minimizer sums in pieces. A batch of one with a block is a single minimization
/// without a graph, for functions whose vectors fit a multiprocessor's shared memory. Methods that hold a dense matrix
/// take as many unknowns as in a minimizer: newton 1000, bfgs 20 000.
///
/// What a batch does not have: tickets, since its outcomes are those of the launch enqueued last; progress, a monitor
/// and a history, since nobody outside the kernel sees how far a minimization is; new limits and tolerances; methods of
/// trust regions, which have a loop within their loop; the parallel line search. Use a minimizer for those.
///
/// Problem is trivially copyable, its pointers to memory of the place. of_problem(k) returns the terms of function k,
/// as partially_separable takes them. Without a pattern there is one term, the whole function of its few unknowns:
/// @code
///   struct valley {                                                 // one for each height
///     const double* height;
///     struct one {
///       static constexpr int unknowns = 2;                          // 1 to 12 or so
///       double height;
///       template <class S>
///       WHILST_HD S operator()(whilst::index_type, const S* x) const {
///         const S a = x[1] - x[0] * x[0], b = 1.0 - x[0];
///         return height * (a * a) + b * b;
///       }
///     };
///     WHILST_HD one of_problem(whilst::index_type k) const { return {height[k]}; }
///   };
///   whilst::minimizer_batch<double, valley> batch([&](whilst::place) { return valley{height}; }, 1'000'000);
///   const whilst::minimizer_batch_report report = batch.solve(x);   // 2 unknowns a problem
/// @endcode
/// A batch with one thread per problem keeps a problem's working data in that thread's local memory, if it is 4 KiB at
/// most and the function is one term; with one block per problem, in shared memory if it fits; otherwise in device
/// memory, for all problems at once.
template <class T, class Problem, class Methods = usual_methods>
class minimizer_batch {
  using term_type = decltype(std::declval<const Problem&>().of_problem(index_type{}));
  static constexpr const char* making = "making a batch of minimizations";

 public:
  /// make_problem(place) returns the problems with their data on that place. Throws whilst::error on options out of
  /// range, fewer than one problem, more unknowns than a method's dense matrix supports, and an executor that does not
  /// run batches or that this machine does not have.
  template <class MakeProblem>
  minimizer_batch(const MakeProblem& make_problem, index_type problems, const minimizer_batch_options& options = {})
      : minimizer_batch(make_problem, problems, term_type::unknowns, std::span<const std::int32_t>(), options) {}

  /// The same for functions of several terms: `unknowns` per function, and those of its terms, unknowns_of_terms, term
  /// after term, as in partially_separable::add; shared by all functions. Throws whilst::error on indices out of range.
  template <class MakeProblem>
  minimizer_batch(const MakeProblem& make_problem, index_type problems, index_type unknowns,
                  std::span<const std::int32_t> unknowns_of_terms, const minimizer_batch_options& options = {})
      : batch_(detail::settings_of_minimizations(options, problems)), problem_(make_problem(batch_.where())) {
    settings_ = buffer<detail::minimization_settings>(batch_.where(), 1);
    const detail::minimization_settings settings = detail::settings_of_each(options, sizeof(T) == 4);
    settings_.upload(&settings);
    record(options, unknowns, unknowns_of_terms, Methods{});
  }

  /// x, in host memory, holds the starting points, the unknowns of one problem after another, and receives the best
  /// points found. Blocks. A problem whose value is not finite at its start leaves its x unchanged. On a GPU the first
  /// call allocates device memory for x.
  minimizer_batch_report solve(std::span<T> x) { return batch_.solve(x); }

  /// Enqueues the minimizations on `stream` and returns without waiting: x is a device pointer that must stay valid
  /// until they are done (a host pointer if the batch runs on the host; the work is then done on return). No
  /// synchronisation, and at most one allocation: on the first launch with one thread per problem the driver may
  /// enlarge the device's local memory, and may wait for the device to do so. Batches run one at a time: another on a
  /// second stream waits for the first. If `stream` is being captured, the minimizations become part of that graph,
  /// with this x, and the object must outlive it. Launches of that graph are not ordered against enqueue() or each
  /// other: let one end before the next begins, since all work in the same memory. Throws whilst::error on a pointer
  /// that linear_solver::enqueue would refuse.
  void enqueue(stream_handle stream, T* x) { batch_.enqueue(stream, x); }

  /// Waits for the last enqueued minimizations and reports how each ended: from a GPU, a copy of 32 bytes each. Does
  /// not wait for what a captured graph runs.
  minimizer_batch_report wait() { return batch_.wait(); }

  /// Asks the minimizations of the last 17 launches enqueued to stop, running or waiting, from any thread: each stops
  /// after its next evaluation, with reason cancelled. Harmless if none is left, and has no effect on later ones,
  /// except in a captured graph: its later launches count as the same launch and are cancelled, too.
  void cancel() { batch_.cancel(); }

  /// For later launches. Throws whilst::error on a deadline that is not above 0 seconds.
  void set_deadline(double seconds) { batch_.set_deadline(seconds); }

  /// How each ended, one entry per problem, in memory of the place that runs them; for kernels that follow.
  const minimization_outcome* outcomes() const { return batch_.outcomes(); }

  index_type problems() const { return batch_.problems(); }
  /// Threads per minimization.
  int lanes() const { return batch_.lanes(); }
  /// "host" or "batch".
  const std::string& executor() const { return batch_.executor(); }
  /// The program as a readable tree.
  std::string explain() const { return batch_.explain(); }

 private:
  template <template <class> class... Direction>
  void record(const minimizer_batch_options& options, index_type unknowns,
              std::span<const std::int32_t> unknowns_of_terms, method_list<Direction...>) {
    static_assert((!within_radius<Direction<T>> && ...), "a method of trust regions has a loop within its loop");
    bool is_known = false;
    const auto try_one = [&]<template <class> class One>() {
      if (is_known || options.method != One<T>::name) return;
      is_known = true;
      if constexpr (requires { One<T>::most_unknowns; })
        detail::check_dense(One<T>::name, unknowns, One<T>::most_unknowns);
      pattern_ = detail::shared_pattern(making, batch_.where(), unknowns, term_type::unknowns, unknowns_of_terms,
                                        detail::wants_hessian<One<T>>);
      record_by<One>(unknowns_of_terms.empty());
    };
    (try_one.template operator()<Direction>(), ...);
    if (is_known) return;
    std::string known;
    ((known.append(known.empty() ? "" : ", ").append(Direction<T>::name)), ...);
    detail::refuse_method(options.method, known);
  }

  template <template <class> class Direction>
  void record_by(bool has_one_term) {
    using each_type = detail::whole_minimizations<T, Problem, Direction>;
    using by_threads = detail::minimizations_of_threads<each_type>;
    const char* const name = Direction<T>::name;
    const detail::pattern_view& pattern = pattern_.view();
    const bool may_be_threads = has_one_term && by_threads::are_small;
    const int lanes = batch_.desk().lanes_or(detail::lanes_for_minimizations(pattern, may_be_threads));
    const bool is_by_thread = may_be_threads && lanes == 1;
    const index_type bytes = each_type::bytes_of(pattern);
    const bool in_fast_memory = lanes > 32 && bytes <= detail::fast_memory_for_problem(batch_.where(), problems());
    if (!is_by_thread && !in_fast_memory)
      memory_ = raw_buffer(batch_.where(), static_cast<std::size_t>(detail::bytes_of_all(problems(), bytes)));
    const each_type each{
        problem_, pattern, batch_.frame(), settings_.data(), batch_.outcomes(), static_cast<std::byte*>(memory_.data()),
        bytes};
    batch_.record(name, pattern.unknowns, lanes, [&](recorder& record) {
      if (is_by_thread) {
        if constexpr (by_threads::are_small) record.step(name, problems(), problems_by_thread<by_threads>{{each}});
      } else {
        detail::record_problems(record, name, problems(), each, lanes);
      }
    });
  }

  detail::shared_pattern pattern_;
  raw_buffer memory_;
  buffer<detail::minimization_settings> settings_;
  detail::recorded_batch<T, minimization_outcome, minimizer_batch_report> batch_;  ///< after what its runs use
  Problem problem_;
};

}  // namespace whilst

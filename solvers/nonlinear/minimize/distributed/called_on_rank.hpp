#pragma once

#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "whilst/engine/memory/cuda.hpp"
#include "whilst/group/group.hpp"
#include "whilst/linear/distributed/halo_plan.hpp"
#include "whilst/nonlinear/functions/called_objective.hpp"
#include "whilst/nonlinear/minimize/distributed_minimizer.hpp"

namespace whilst {

/// A rank's part of a function, which a callback computes. If that throws in a solve, the others would wait for this
/// rank until it counts as lost. So the exception is kept while this rank cancels the solve, which ends on all ranks
/// alike, and is thrown then.
template <class T>
class called_on_rank {
 public:
  /// Collective. Throws whilst::error on all ranks if a number of unknowns is negative, ghosts are not those of other
  /// ranks, or a rank with unknowns has no callback. `doing` opens the message.
  called_on_rank(const char* doing, const group& ranks, place where, index_type unknowns,
                 std::vector<index_type> ghosts, typename called_objective<T>::callback function) {
    const row_partition split = split_of(doing, ranks, unknowns);
    halo_ = make_halo_plan(ranks, split, std::move(ghosts));
    const auto counts = ranks.all_gather<std::size_t>(doing, [&] {
      if (unknowns == 0) {
        function_ = std::make_unique<empty_objective<T>>(where);
      } else {
        typename called_objective<T>::callback kept;
        if (function) kept = keeping_failures(where, std::move(function));
        function_ = std::make_unique<called_objective<T>>(where, halo_.with_ghosts(), std::move(kept));
      }
      return std::vector{halo_.ghosts.size()};
    });
    for (const std::size_t count : counts.all) reads_others_ = reads_others_ || count > 0;
  }

  const objective<T>& function() const { return *function_; }
  /// Null where no rank reads others' unknowns.
  const halo_plan* halo() const { return reads_others_ ? &halo_ : nullptr; }

  /// From now on exceptions are kept: `cancel` ends the solve that calls the function. Before, while a loop is
  /// recorded, they pass through.
  void keep_failures(std::function<void()> cancel) { failure_->cancel = std::move(cancel); }
  /// After a solve: throws what this rank's callback threw in it.
  void throw_failure() const {
    if (const std::exception_ptr thrown = std::exchange(failure_->thrown, nullptr)) std::rethrow_exception(thrown);
  }

 private:
  struct kept_failure {
    std::function<void()> cancel;  ///< empty while the loop is recorded
    std::exception_ptr thrown;     ///< of this solve
  };

  static row_partition split_of(const char* doing, const group& ranks, index_type unknowns) {
    const auto all = ranks.all_gather<index_type>(doing, [&] {
      if (unknowns < 0)
        throw error(doing, "the rank has " + std::to_string(unknowns) + " unknowns", "Give it 0 or more");
      return std::vector{unknowns};
    });
    std::vector<index_type> first{0};
    for (const index_type one : all.all) first.push_back(first.back() + one);
    return row_partition(std::move(first));
  }

  typename called_objective<T>::callback keeping_failures(place where,
                                                          typename called_objective<T>::callback function) const {
    return [where, call = std::move(function), failure = failure_](stream_handle stream, index_type n, const T* x,
                                                                   double* value, T* gradient) {
      if (!failure->cancel) return call(stream, n, x, value, gradient);
      try {
        if (!failure->thrown) return call(stream, n, x, value, gradient);
      } catch (...) {
        failure->thrown = std::current_exception();
        failure->cancel();
      }
      write_no_number(where, stream, value);  // nothing converges with it
    };
  }
  static void write_no_number([[maybe_unused]] place where, [[maybe_unused]] stream_handle stream, double* value) {
#if WHILST_WITH_CUDA
    if (!where.on_host()) {  // all bits set are no number
      WHILST_CUDA("giving up an evaluation", cudaMemsetAsync(value, 0xff, sizeof *value, stream));
      return;
    }
#endif
    *value = std::numeric_limits<double>::quiet_NaN();
  }

  halo_plan halo_;
  std::unique_ptr<objective<T>> function_;
  bool reads_others_ = false;
  std::shared_ptr<kept_failure> failure_ = std::make_shared<kept_failure>();
};

}  // namespace whilst

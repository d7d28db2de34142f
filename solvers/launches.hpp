#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "kernels/launch/cuda.hpp"
#include "kernels/launch/memory.hpp"
#include "solvers/linear_solve.hpp"
#include "whilst/linear_solver.hpp"

namespace whilst {

/// What the launches of one solver share, beside the recorded loop: where outcomes land, and the way to look at and
/// stop a loop that is running. Knows nothing of the scalar type or the method.
class launch_desk {
 public:
  /// outer, inner: the loops' controls, history: the inner loop's; all on `where`.
  launch_desk(place where, control* outer, control* inner, history_record* history, report_fields common);
  ~launch_desk();

  struct launch {
    std::uint64_t number = 0;
    shared_memory_block outcome;
#if WHILST_WITH_CUDA
    cuda::event done;
#endif
    bool in_capture = false;
  };

  /// A launch to fill in: one of those prepared, unless more are in flight than there are.
  std::shared_ptr<launch> begin();
  /// To be called once everything of the launch is enqueued on `stream`.
  void enqueued(const std::shared_ptr<launch>& which, CUstream_st* stream, bool in_capture);

  bool is_done(const launch& which) const;
  void wait(const launch& which) const;
  report report_of(const launch& which) const;
  whilst::progress progress() const;
  void cancel(std::uint64_t number);
  std::uint64_t latest() const { return latest_; }
  report_fields& common() { return common_; }

 private:
  place where_;
  control *outer_, *inner_;
  history_record* history_;
  report_fields common_;
  std::vector<std::shared_ptr<launch>> prepared_;
  std::atomic<std::uint64_t> latest_ = 0;
  mutable std::mutex lock_;
  struct beside;
  std::unique_ptr<beside> beside_;
};

/// A ticket refers to its launch and to the desk that knows about it.
struct ticket::state {
  launch_desk* desk;
  std::shared_ptr<launch_desk::launch> which;
};

}  // namespace whilst

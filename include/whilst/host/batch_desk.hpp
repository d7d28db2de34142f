#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "whilst/engine/memory/cuda.hpp"
#include "whilst/engine/memory/memory.hpp"
#include "whilst/host/whole_problems.hpp"

namespace whilst::detail {

/// What every batch is asked for; see least_squares_batch_options.
struct batch_settings {
  std::string doing;  ///< opens the message of an exception: "making a batch of fits"
  std::string alone;  ///< what is for one problem: "a least_squares_solver"
  index_type problems = 1;
  index_type max_iterations = 0;
  double deadline = 0;
  std::string executor = "auto";
  int device = -1;
  int lanes = 0;
  int threads = 0;
  bool check_pointers = true;
};

/// The part of a batch that knows no scalar and no problem: where it runs, when it began, who stops it.
class batch_desk {
 public:
  /// Throws whilst::error on options out of range and on an executor that is not for batches or not there.
  explicit batch_desk(const batch_settings& settings);
  place where() const { return where_; }
  const buffer<batch_frame>& frame() const { return frame_; }
  bool checks_pointers() const { return settings_.check_pointers; }
  /// Throws whilst::error where the context that the batch is in has ended, and where another one of its GPU is
  /// current.
  void require_context(std::string_view doing) const;
  /// Threads a problem: one on the host, else what was asked for, or what suits.
  int lanes_or(int suited) const;
  std::uint64_t deadline_nanoseconds() const;
  /// Of the host: see run_settings.
  int threads() const { return settings_.threads; }
  /// The number of the launch that comes next.
  std::uint64_t begin_launch() { return latest_.fetch_add(1) + 1; }
  /// Asks the latest 17 launches to stop (launch_set); from any thread. The request stands, so that it also stops later
  /// launches of a captured graph, which have the number that they were captured with.
  void cancel();

 private:
  batch_settings settings_;
  place where_;
  buffer<batch_frame> frame_;
  std::atomic<std::uint64_t> latest_ = 0;
#if WHILST_WITH_CUDA
  cuda::stream beside_;         ///< for what must not wait for the problems
  shared_memory_block pinned_;  ///< and for what goes over it
  std::mutex lock_;             ///< of that
#endif
};

}  // namespace whilst::detail

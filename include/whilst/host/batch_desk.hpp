#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "whilst/engine/memory/cuda.hpp"
#include "whilst/engine/memory/memory.hpp"
#include "whilst/host/whole_problems.hpp"

namespace whilst::detail {

/// The settings of every batch; see least_squares_batch_options.
struct batch_settings {
  std::string doing;  ///< opens every error message: "making a batch of fits"
  std::string alone;  ///< what solves a single problem: "a least_squares_solver"
  index_type problems = 1;
  index_type max_iterations = 0;
  double deadline = 0;
  std::string executor = "auto";
  int device = -1;
  int lanes = 0;
  int threads = 0;
  bool check_pointers = true;
};

/// The part of a batch that depends on neither scalar nor problem: where it runs, when it began, how it is stopped.
class batch_desk {
 public:
  /// Throws whilst::error on options out of range and on an executor that is not for batches or not available.
  explicit batch_desk(const batch_settings& settings);
  place where() const { return where_; }
  const buffer<batch_frame>& frame() const { return frame_; }
  bool checks_pointers() const { return settings_.check_pointers; }
  /// Throws whilst::error if the batch's CUDA context has ended, or if another context of its GPU is current.
  void require_context(std::string_view doing) const;
  /// Threads per problem: one on the host, else the number requested, else `suited`.
  int lanes_or(int suited) const;
  std::uint64_t deadline_nanoseconds() const;
  /// On the host: see run_settings.
  int threads() const { return settings_.threads; }
  /// Returns the number of the next launch.
  std::uint64_t begin_launch() { return latest_.fetch_add(1) + 1; }
  /// Asks the latest 17 launches to stop (launch_set); callable from any thread. The request stands, so it also stops
  /// later launches of a captured graph, which keep the number they were captured with.
  void cancel();

 private:
  batch_settings settings_;
  place where_;
  buffer<batch_frame> frame_;
  std::atomic<std::uint64_t> latest_ = 0;
#if WHILST_WITH_CUDA
  cuda::stream beside_;         ///< for copies that must not wait for the problems
  shared_memory_block pinned_;  ///< what they copy from
  std::mutex lock_;             ///< guards pinned_
#endif
};

}  // namespace whilst::detail

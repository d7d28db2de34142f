#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>

#include "whilst/engine/memory/cuda.hpp"
#include "whilst/engine/memory/memory.hpp"
#include "whilst/host/batch_frame.hpp"

namespace whilst::detail {

/// The settings of every batch; see least_squares_batch_options.
struct batch_settings {
  template <class Options>
  batch_settings(std::string doing, std::string alone, index_type problems, const Options& options)
      : doing(std::move(doing)),
        alone(std::move(alone)),
        problems(problems),
        max_iterations(options.max_iterations),
        deadline(options.deadline),
        executor(options.executor),
        device(options.device),
        lanes(options.lanes),
        threads(options.threads),
        check_pointers(options.check_pointers) {}

  std::string doing;  ///< opens every error message: "making a batch of fits"
  std::string alone;  ///< what solves a single problem: "a least_squares_solver"
  index_type problems, max_iterations;
  double deadline;
  std::string executor;
  int device, lanes, threads;
  bool check_pointers;
};

/// Throws whilst::error on a deadline that is not above 0. `doing` opens the message.
void check_deadline(const std::string& doing, double seconds);
/// As the control of a batch holds it.
std::uint64_t nanoseconds_of_deadline(double seconds);

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
  double deadline() const { return settings_.deadline; }
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

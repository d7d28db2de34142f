#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "whilst/basics/index_type.hpp"
#include "whilst/engine/control/links.hpp"

namespace whilst {

/// A step's layout and resources on a GPU; fixed when it is recorded.
struct step_frame {
  index_type n = 0;
  int lanes = 1;
  void* partials = nullptr;       ///< one entry per block, for the totals
  unsigned* ticket = nullptr;     ///< counts blocks that have finished, or have read what the finish writes; back to 0
  const int* guard = nullptr;     ///< the running flag that the step obeys; null outside loops
  bool guard_only_falls = false;  ///< it was set before the first step that may overlap this one: in a loop's body
  /// The next step reads ahead only constants, so its kernel may start before the step preceding this one has ended.
  bool next_may_start_early = false;
  unsigned delay_seed = 0;  ///< not 0: blocks wait a random time, to test the ordering between steps
  step_links links;
};

/// The kernels that a step may run as.
enum class step_form {
  large,  ///< any number of blocks, which meet by a ticket
  small,  ///< one block or one cluster, which also runs the step's sequel
  // A step with a sequel, on no more blocks than there are multiprocessors, as two kernels:
  sums,          ///< each block leaves its sums
  finish_sequel  ///< each block adds up the sums, finishes for itself, and runs the sequel
};

/// Launch geometry and attributes of a step.
struct launch_shape {
  unsigned blocks = 1;
  unsigned cluster = 1;  ///< blocks of each cluster
  unsigned threads = 1;
  step_form form = step_form::large;
  std::size_t fast_memory_bytes = 0;
};

/// Offset of the outside_wish that follows the partial sums in the last two forms.
WHILST_HD constexpr std::size_t aligned_for_wish(std::size_t bytes_of_sums) {
  return (bytes_of_sums + alignof(outside_wish) - 1) / alignof(outside_wish) * alignof(outside_wish);
}

/// Most blocks in a cluster; devices may allow fewer.
inline constexpr int largest_cluster = 16;

/// Most threads per block of a map that works by clusters. More would have too few registers each.
inline constexpr int threads_of_cluster_block = 512;

/// Most threads per block of a step with a finish, which runs as one block or one cluster if that suffices.
inline constexpr int threads_alone = 512;

/// The same for a whole-warp finish: each thread then has much to do, and few should share a multiprocessor.
inline constexpr int threads_spread = 128;

#if WHILST_WITH_CUDA
/// What CUDA tells of kernels in one context, and has been told of them there: each is asked about once. For any
/// thread. `step` names the step in messages.
class kernel_table {
 public:
  /// Loads the kernel and sets aside the local memory of its threads. If it needs more than any kernel before, that
  /// waits for whatever the device is doing.
  cudaFuncAttributes attributes(const void* kernel, const std::string& step);
  /// How many of its blocks a multiprocessor runs at once.
  int resident_blocks(const void* kernel, int threads, const std::string& step);
  /// Most of its blocks, of so many threads, that run as one cluster.
  int cluster_blocks(const void* kernel, int threads, const std::string& step);
  /// Lets it have clusters of more than 8 blocks, where the device has room for them.
  void allow_large_clusters(const void* kernel, const std::string& step);
  /// Lets its blocks take so much dynamic shared memory.
  void allow_fast_memory(const void* kernel, int bytes, const std::string& step);

 private:
  struct facts {
    bool has_attributes = false;
    cudaFuncAttributes attributes{};
    std::map<int, int> resident_blocks, cluster_blocks;  ///< by the number of threads
    int fast_memory = 0;
  };
  std::mutex lock_;
  std::map<const void*, facts> known_;
};

/// Properties of a device that decide a launch shape.
struct device_traits {
  int device = 0;
  int multiprocessors = 1;
  int compute_capability = 0;  ///< 90 for 9.0
  std::size_t fast_memory_bytes = 0;
  std::shared_ptr<kernel_table> kernels = std::make_shared<kernel_table>();  ///< of the context that is current
};
/// With a table of kernels that knows none.
device_traits traits_of_device(int device);
/// The device's, which is current, with the table of its context.
device_traits traits_of_current(int device);
/// Most blocks that run as one cluster, each alone on a multiprocessor; 1 where there are no clusters, or where the
/// library was not compiled for a device that has them.
int largest_cluster_of(int device);
#endif
}  // namespace whilst

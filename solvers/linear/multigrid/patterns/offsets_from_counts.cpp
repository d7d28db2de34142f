// compiled by nvcc where CUDA is on
#include "solvers/linear/multigrid/patterns/offsets_from_counts.hpp"

#include <limits>
#include <numeric>

#include "whilst/engine/memory/cuda.hpp"

#if WHILST_WITH_CUDA
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <cub/device/device_scan.cuh>
#endif

namespace whilst::multigrid {
namespace {

struct add_up_to_32_bits {
  WHILST_HD std::int32_t operator()(std::int32_t a, std::int32_t b) const {
    constexpr std::int32_t most = std::numeric_limits<std::int32_t>::max();
    return a > most - b ? most : a + b;
  }
};

/// Nothing behind the last count.
struct count_or_none {
  const std::int32_t* counts;
  index_type n;
  WHILST_HD std::int32_t operator()(index_type i) const { return i < n ? counts[i] : 0; }
};

}  // namespace

void record_offsets(recorder& run, index_type n, const std::int32_t* counts, std::int32_t* offsets,
                    [[maybe_unused]] level_memory& scratch) {
#if WHILST_WITH_CUDA
  if (!run.where().on_host()) {
    const auto add_up = [n, counts, offsets](void* memory, std::size_t& bytes, CUstream_st* stream) {
      const auto all =
          thrust::make_transform_iterator(thrust::make_counting_iterator(index_type{0}), count_or_none{counts, n});
      WHILST_CUDA("adding up counts", cub::DeviceScan::ExclusiveScan(memory, bytes, all, offsets, add_up_to_32_bits(),
                                                                     std::int32_t{0}, static_cast<int>(n + 1), stream));
    };
    std::size_t bytes = 0;
    {
      const cuda::device_guard current(run.where().device());
      add_up(nullptr, bytes, nullptr);
    }
    const piece<std::byte> memory = scratch.take<std::byte>(static_cast<index_type>(bytes));
    run.call("add up counts", [add_up, bytes, memory](CUstream_st* stream) {
      std::size_t same = bytes;
      add_up(memory.data(), same, stream);
    });
    return;
  }
#endif
  run.call("add up counts", [n, counts, offsets](CUstream_st*) {
    offsets[0] = 0;
    std::partial_sum(counts, counts + n, offsets + 1, add_up_to_32_bits());
  });
}

}  // namespace whilst::multigrid

// compiled by nvcc where CUDA is on
#include "solvers/linear/multigrid/patterns/transposed_pattern.hpp"

#include <bit>
#include <numeric>
#include <vector>

#include "whilst/engine/memory/cuda.hpp"

#if WHILST_WITH_CUDA
#include <cub/device/device_radix_sort.cuh>
#endif

namespace whilst::multigrid {
namespace {

/// Row and number of each entry.
struct list_entries {
  pattern_view A;
  std::int32_t *row_of, *numbers;
  int lanes;

  WHILST_HD int lanes_wanted() const { return lanes; }
  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    A.each_entry(i, team, [&](std::int32_t e, std::int32_t) {
      row_of[e] = static_cast<std::int32_t>(i);
      numbers[e] = e;
    });
  }
};
/// Where the entries of each column begin, in the order of columns.
struct begin_of_column {
  const std::int32_t* in_order;
  index_type count;
  std::int32_t* offsets;
  WHILST_HD void operator()(index_type column) const {
    index_type begin = 0, end = count;
    while (begin < end) {
      const index_type middle = begin + (end - begin) / 2;
      if (in_order[middle] < column) {
        begin = middle + 1;
      } else {
        end = middle;
      }
    }
    offsets[column] = static_cast<std::int32_t>(begin);
  }
};
struct gather_rows {
  const std::int32_t *row_of, *sources;
  std::int32_t* indices;
  WHILST_HD void operator()(index_type e) const { indices[e] = row_of[sources[e]]; }
};

/// Numbers of entries, and their columns.
struct sorted_entries {
  std::int32_t *columns, *numbers;
};

void sort_on_host(const pattern_view& A, const std::int32_t* numbers, const sorted_entries& into) {
  const auto count = static_cast<std::size_t>(A.nonzeros);
  std::vector<std::int32_t> next(static_cast<std::size_t>(A.columns) + 1, 0);
  for (std::size_t e = 0; e < count; ++e) ++next[static_cast<std::size_t>(A.indices[e]) + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  for (std::size_t e = 0; e < count; ++e) {
    const std::int32_t to = next[static_cast<std::size_t>(A.indices[e])]++;
    into.columns[to] = A.indices[e];
    into.numbers[to] = numbers[e];
  }
}

/// Records a sort of the entries' numbers by column; those of a column stay as they are.
void record_sort(recorder& run, const pattern_view& A, const std::int32_t* numbers, const sorted_entries& into,
                 [[maybe_unused]] level_memory& scratch) {
  if (A.nonzeros == 0) return;
#if WHILST_WITH_CUDA
  if (!run.where().on_host()) {
    const int bits = std::bit_width(static_cast<std::uint32_t>(A.columns));
    const auto sort = [A, numbers, into, bits](void* memory, std::size_t& bytes, CUstream_st* stream) {
      WHILST_CUDA("sorting entries by column",
                  cub::DeviceRadixSort::SortPairs(memory, bytes, A.indices, into.columns, numbers, into.numbers,
                                                  A.nonzeros, 0, bits, stream));
    };
    std::size_t bytes = 0;
    {
      const cuda::device_guard current(run.where().device());
      sort(nullptr, bytes, nullptr);
    }
    const piece<std::byte> memory = scratch.take<std::byte>(static_cast<index_type>(bytes));
    run.call("sort entries by column", [sort, bytes, memory](CUstream_st* stream) {
      std::size_t same = bytes;
      sort(memory.data(), same, stream);
    });
    return;
  }
#endif
  run.call("sort entries by column", [=](CUstream_st*) { sort_on_host(A, numbers, into); });
}

}  // namespace

transposed_pattern record_transpose(recorder& run, const pattern_view& A, level_memory& kept, level_memory& scratch) {
  const index_type count = A.nonzeros;
  const piece<std::int32_t> offsets = kept.take<std::int32_t>(A.columns + 1), indices = kept.take<std::int32_t>(count),
                            sources = kept.take<std::int32_t>(count);
  std::int32_t *const row_of = scratch.take<std::int32_t>(count).data(),
                      *const numbers = scratch.take<std::int32_t>(count).data(),
                      *const in_order = scratch.take<std::int32_t>(count).data();
  run.step("list entries", A.rows, list_entries{A, row_of, numbers, A.lanes(2)});
  record_sort(run, A, numbers, {in_order, sources.data()}, scratch);
  run.step("where columns begin", A.columns + 1, begin_of_column{in_order, count, offsets.data()});
  run.step("rows of columns", count, gather_rows{row_of, sources.data(), indices.data()});
  return {{A.columns, A.rows, count, offsets.data(), indices.data()}, sources.data()};
}

}  // namespace whilst::multigrid

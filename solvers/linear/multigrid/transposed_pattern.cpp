// compiled by nvcc where CUDA is on
#include "solvers/linear/multigrid/transposed_pattern.hpp"

#include <bit>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include "solvers/host/run_now.hpp"
#include "whilst/engine/memory/cuda.hpp"
#include "whilst/engine/recorder.hpp"

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

/// Sorts the numbers of entries by their columns, those of a column as they were.
void sort_by_column([[maybe_unused]] place where, const pattern_view& A, const std::int32_t* numbers,
                    std::int32_t* sorted_columns, std::int32_t* sorted_numbers) {
  const auto count = static_cast<std::size_t>(A.nonzeros);
  if (count == 0) return;
#if WHILST_WITH_CUDA
  if (!where.on_host()) {
    const cuda::device_guard current(where.device());
    const cuda::stream own = cuda::make_stream();
    const int bits = std::bit_width(static_cast<std::uint32_t>(A.columns));
    constexpr std::string_view sorting = "sorting entries by column";
    std::size_t bytes = 0;
    const auto sort = [&](void* scratch) {
      WHILST_CUDA(sorting, cub::DeviceRadixSort::SortPairs(scratch, bytes, A.indices, sorted_columns, numbers,
                                                           sorted_numbers, A.nonzeros, 0, bits, own.get()));
    };
    sort(nullptr);
    const raw_buffer scratch(where, bytes);
    sort(scratch.data());
    WHILST_CUDA(sorting, cudaStreamSynchronize(own.get()));
    return;
  }
#endif
  std::vector<std::int32_t> next(static_cast<std::size_t>(A.columns) + 1, 0);
  for (std::size_t e = 0; e < count; ++e) ++next[static_cast<std::size_t>(A.indices[e]) + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  for (std::size_t e = 0; e < count; ++e) {
    const auto to = next[static_cast<std::size_t>(A.indices[e])]++;
    sorted_columns[to] = A.indices[e];
    sorted_numbers[to] = numbers[e];
  }
}

}  // namespace

transposed_pattern::transposed_pattern(place where, const pattern_view& A) : sources(where, A.nonzeros) {
  buffer<std::int32_t> row_of(where, A.nonzeros), numbers(where, A.nonzeros), in_order(where, A.nonzeros);
  buffer<std::int32_t> offsets(where, A.columns + 1), indices(where, A.nonzeros);
  program_recorder listing(where);
  listing.step("list entries", A.rows, list_entries{A, row_of.data(), numbers.data(), A.lanes()});
  run_now(std::move(listing).finish(), where);
  sort_by_column(where, A, numbers.data(), in_order.data(), sources.data());
  program_recorder gathering(where);
  gathering.step("where columns begin", A.columns + 1, begin_of_column{in_order.data(), A.nonzeros, offsets.data()});
  gathering.step("rows of columns", A.nonzeros, gather_rows{row_of.data(), sources.data(), indices.data()});
  run_now(std::move(gathering).finish(), where);
  pattern = sparse_pattern(A.columns, A.rows, std::move(offsets), std::move(indices));
}

}  // namespace whilst::multigrid

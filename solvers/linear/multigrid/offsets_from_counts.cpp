// compiled by nvcc where CUDA is on
#include "solvers/linear/multigrid/offsets_from_counts.hpp"

#include <limits>

namespace whilst::multigrid {
namespace {

constexpr index_type entries_a_piece = 32;

index_type pieces_of(index_type n) { return (n + entries_a_piece - 1) / entries_a_piece; }

WHILST_HD std::int32_t added(std::int32_t a, std::int32_t b) {
  constexpr std::int32_t most = std::numeric_limits<std::int32_t>::max();
  return a > most - b ? most : a + b;
}

struct add_up_piece {
  index_type n;
  const std::int32_t* counts;
  std::int32_t* sums;
  WHILST_HD void operator()(index_type k) const {
    const index_type end = (k + 1) * entries_a_piece < n ? (k + 1) * entries_a_piece : n;
    std::int32_t sum = 0;
    for (index_type i = k * entries_a_piece; i < end; ++i) sum = added(sum, counts[i]);
    sums[k] = sum;
  }
};
/// counts and offsets may be the same memory, but for the last offset.
struct offsets_of_piece {
  index_type n;
  const std::int32_t *counts, *before;  ///< of pieces: the sums of those before; null if there is one piece
  std::int32_t* offsets;
  bool ends;  ///< whether there is room for the last offset
  WHILST_HD void operator()(index_type k) const {
    const index_type end = (k + 1) * entries_a_piece < n ? (k + 1) * entries_a_piece : n;
    std::int32_t sum = before ? before[k] : 0;
    for (index_type i = k * entries_a_piece; i < end; ++i) {
      const std::int32_t count = counts[i];
      offsets[i] = sum;
      sum = added(sum, count);
    }
    if (ends && end == n) offsets[n] = sum;
  }
};
struct no_offset {
  std::int32_t* offsets;
  WHILST_HD void operator()() const { offsets[0] = 0; }
};

}  // namespace

void record_offsets(recorder& run, index_type n, const std::int32_t* counts, std::int32_t* offsets,
                    level_memory& scratch) {
  if (n == 0) {
    run.once("no counts", no_offset{offsets});
    return;
  }
  std::vector<piece<std::int32_t>> sums;  // of pieces, of pieces of these, ...
  for (index_type count = n; count > entries_a_piece; count = sums.back().size()) {
    const std::int32_t* const added = sums.empty() ? counts : sums.back().data();
    sums.push_back(scratch.take<std::int32_t>(pieces_of(count)));
    run.step("add up counts", sums.back().size(), add_up_piece{count, added, sums.back().data()});
  }
  for (std::size_t level = sums.size(); level > 0; --level) {
    const piece<std::int32_t>& here = sums[level - 1];
    const std::int32_t* const before = level < sums.size() ? sums[level].data() : nullptr;
    run.step("offsets of pieces", pieces_of(here.size()),
             offsets_of_piece{here.size(), here.data(), before, here.data(), false});
  }
  run.step("offsets", pieces_of(n),
           offsets_of_piece{n, counts, sums.empty() ? nullptr : sums.front().data(), offsets, true});
}

}  // namespace whilst::multigrid

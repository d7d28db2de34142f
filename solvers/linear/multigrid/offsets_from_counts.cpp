// compiled by nvcc where CUDA is on
#include "solvers/linear/multigrid/offsets_from_counts.hpp"

#include <limits>

namespace whilst::multigrid {
namespace {

constexpr index_type piece = 32;

index_type pieces_of(index_type n) { return (n + piece - 1) / piece; }

WHILST_HD std::int32_t added(std::int32_t a, std::int32_t b) {
  constexpr std::int32_t most = std::numeric_limits<std::int32_t>::max();
  return a > most - b ? most : a + b;
}

struct add_up_piece {
  index_type n;
  const std::int32_t* counts;
  std::int32_t* sums;
  WHILST_HD void operator()(index_type k) const {
    const index_type end = (k + 1) * piece < n ? (k + 1) * piece : n;
    std::int32_t sum = 0;
    for (index_type i = k * piece; i < end; ++i) sum = added(sum, counts[i]);
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
    const index_type end = (k + 1) * piece < n ? (k + 1) * piece : n;
    std::int32_t sum = before ? before[k] : 0;
    for (index_type i = k * piece; i < end; ++i) {
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

offsets_from_counts::offsets_from_counts(place where, index_type n) : n_(n) {
  for (index_type pieces = pieces_of(n); n > piece; n = pieces, pieces = pieces_of(n))
    sums_.emplace_back(where, pieces);
}

void offsets_from_counts::record(recorder& run, const std::int32_t* counts, std::int32_t* offsets) const {
  if (n_ == 0) {
    run.once("no counts", no_offset{offsets});
    return;
  }
  const std::int32_t* of_level = counts;
  index_type n = n_;
  for (const auto& sums : sums_) {
    run.step("add up counts", sums.size(), add_up_piece{n, of_level, sums.data()});
    of_level = sums.data();
    n = sums.size();
  }
  for (std::size_t level = sums_.size() + 1; level-- > 0;) {
    const bool is_first = level == 0;
    const std::int32_t* const before = level < sums_.size() ? sums_[level].data() : nullptr;
    std::int32_t* const here = is_first ? nullptr : sums_[level - 1].data();
    const index_type count = is_first ? n_ : sums_[level - 1].size();
    run.step("offsets", pieces_of(count),
             offsets_of_piece{count, is_first ? counts : here, before, is_first ? offsets : here, is_first});
  }
}

}  // namespace whilst::multigrid

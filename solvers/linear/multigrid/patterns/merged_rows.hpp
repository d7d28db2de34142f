#pragma once

#include <cstdint>
#include <limits>

#include "solvers/linear/multigrid/level_memory.hpp"
#include "solvers/linear/multigrid/patterns/record_pattern.hpp"
#include "solvers/linear/multigrid/patterns/row_merge.hpp"
#include "whilst/engine/recorder.hpp"

namespace whilst::multigrid {

/// The most that a row of a product A B has: all entries of the rows of B that it names, or all columns, if B's are
/// known.
struct bound_row {
  pattern_view A, B;
  std::int32_t* bounds;
  int lanes;

  WHILST_HD int lanes_wanted() const { return lanes; }
  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    std::int64_t all = 0;
    A.each_entry(i, team, [&](std::int32_t, std::int32_t j) { all += B.offsets[j + 1] - B.offsets[j]; });
    all = team.sum(all);
    const index_type most = B.columns > 0 ? B.columns : std::numeric_limits<std::int32_t>::max();
    if (team.rank() == 0) bounds[i] = static_cast<std::int32_t>(all < most ? all : most);
  }
};
/// Copies rows that lie apart to where they lie one after another.
template <class C>
struct close_up_rows {
  pattern_view into;
  const std::int32_t *begins, *columns;
  const C* values;
  std::int32_t* indices_into;
  C* values_into;
  int lanes;

  WHILST_HD int lanes_wanted() const { return lanes; }
  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    const std::int32_t begin = into.offsets[i], count = into.offsets[i + 1] - begin, from = begins[i];
    for (std::int32_t k = team.rank(); k < count; k += team.size()) {
      indices_into[begin + k] = columns[from + k];
      values_into[begin + k] = values[from + k];
    }
  }
};

/// A product A B that is made by one merge of its rows, not by one that counts and one that puts, where it has many
/// rows, those of A have many entries in the mean, and there is memory: each row goes where its bound leaves it room,
/// and is copied once all lengths are known. Three programs make it, as the host has to know sizes in between.
template <class C>
class merged_rows {
 public:
  /// Records bounds, where that may pay: the first of the three. Of A and B, offsets and A's columns are needed.
  /// Returns where their sum will be, or null.
  const std::int32_t* record_bounds(recorder& run, const pattern_view& A, const pattern_view& B,
                                    level_memory& scratch) {
    if (A.rows < fewest_rows || A.average() < fewest_entries) return nullptr;
    const auto record_counts = [&](std::int32_t* counts) {
      run.step("the most of a row", A.rows, bound_row{A, B, counts, A.lanes(4)});
    };
    begins_ = record_offsets_by(run, A.rows, record_counts, scratch, scratch).offsets;
    return begins_ + A.rows;
  }
  /// Records the merge, and the offsets of the product, if that many entries find room. False if not: count them.
  bool record_merge(recorder& run, const char* name, std::int32_t bound, const matrix_view<C>& A,
                    const std::int32_t* sources, const matrix_view<C>& B, bool skips_long_rows, pattern_view& product,
                    level_memory& kept, level_memory& scratch) {
    if (!begins_ || bound == std::numeric_limits<std::int32_t>::max()) return false;  // that or more
    if (!scratch.has_room(static_cast<std::size_t>(bound) * (sizeof(std::int32_t) + sizeof(C)))) return false;
    columns_ = scratch.take<std::int32_t>(bound).data();
    values_ = scratch.take<C>(bound).data();
    const auto record_counts = [&](std::int32_t* counts) {
      run.step(name, A.pattern.rows,
               put_product<C>{A, sources, B, begins_, columns_, values_, counts, skips_long_rows,
                              lanes_of_product(A.pattern)});
    };
    product = record_offsets_by(run, A.pattern.rows, record_counts, kept, scratch);
    return true;
  }
  /// Records how the rows are put where the product has them; false if there was no merge.
  bool record_copies(recorder& run, const pattern_view& product, std::int32_t* indices, C* values) const {
    if (!values_) return false;
    run.step("rows close up", product.rows,
             close_up_rows<C>{product, begins_, columns_, values_, indices, values, product.lanes(2)});
    return true;
  }

 private:
  /// Of a smaller product or one of short rows, the count takes less than what replaces it.
  static constexpr index_type fewest_rows = 1 << 8, fewest_entries = 16;
  const std::int32_t* begins_ = nullptr;
  std::int32_t* columns_ = nullptr;
  C* values_ = nullptr;
};

}  // namespace whilst::multigrid

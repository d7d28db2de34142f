#pragma once

#include <cstdint>

#include "solvers/linear/multigrid/level_memory.hpp"
#include "solvers/linear/multigrid/patterns/offsets_from_counts.hpp"
#include "solvers/linear/multigrid/patterns/row_merge.hpp"
#include "whilst/engine/recorder.hpp"
#include "whilst/linear/operators.hpp"

namespace whilst::multigrid {

inline void require_32_bits(index_type nonzeros) {
  if (offsets_suffice_32(nonzeros)) return;
  throw error("making preconditioner amg", "a level has more nonzeros than 32 bits count",
              "Use another preconditioner, or a coarser problem");
}

/// Sizes that one program finds and the next one's memory depends on.
struct tell_sizes {
  static constexpr int most = 3;
  struct places {
    const std::int32_t* of[most];  ///< null for none
  };
  places sizes;
  std::int32_t* told;
  WHILST_HD void operator()() const {
    for (int k = 0; k < most; ++k)
      if (sizes.of[k]) told[k] = *sizes.of[k];
  }
};

/// Records how many columns each row has, by record_counts(counts), and where rows begin; the pattern has its offsets
/// then.
template <class RecordCounts>
pattern_view record_offsets_by(recorder& run, index_type rows, const RecordCounts& record_counts, level_memory& kept,
                               level_memory& scratch) {
  std::int32_t *const counts = scratch.take<std::int32_t>(rows).data(), *const offsets =
                                                                            kept.take<std::int32_t>(rows + 1).data();
  record_counts(counts);
  record_offsets(run, rows, counts, offsets, scratch);
  return {rows, 0, 0, offsets, nullptr};
}
template <class Source>
pattern_view record_offsets_of(recorder& run, index_type rows, int lanes, const Source& source, level_memory& kept,
                               level_memory& scratch) {
  const auto record_counts = [&](std::int32_t* counts) {
    run.step("count a row's columns", rows, count_columns<Source>{source, counts, lanes});
  };
  return record_offsets_by(run, rows, record_counts, kept, scratch);
}
/// Memory for the columns of the same pattern, as soon as their number is known.
inline std::int32_t* take_columns_of(pattern_view& pattern, index_type columns, std::int32_t nonzeros,
                                     level_memory& kept) {
  require_32_bits(nonzeros);
  std::int32_t* const indices = kept.take<std::int32_t>(nonzeros).data();
  pattern.columns = columns;
  pattern.nonzeros = nonzeros;
  pattern.indices = indices;
  return indices;
}
/// The same with its columns.
template <class Source>
void record_columns_of(recorder& run, pattern_view& pattern, index_type columns, std::int32_t nonzeros, int lanes,
                       const Source& source, level_memory& kept) {
  std::int32_t* const indices = take_columns_of(pattern, columns, nonzeros, kept);
  run.step("put a row's columns", pattern.rows, put_columns<Source>{source, pattern.offsets, indices, lanes});
}

/// Threads that share a row of a product A B: no more than remember where they are in all rows of B, since each takes
/// part in every step of the merge. Where some rows of A are much longer than others, those look for their places.
inline int lanes_of_product(const pattern_view& A) {
  int lanes = A.lanes(4);
  if (A.longest > 0 && !A.has_few_rows(lanes))
    while (lanes > 1 && lanes / 2 * row_merge<>::held_on_device >= A.longest) lanes /= 2;
  return lanes;
}
/// The pattern of a product A B, but for its columns.
inline pattern_view record_offsets_of_product(recorder& run, const columns_of_product& source, level_memory& kept,
                                              level_memory& scratch) {
  return record_offsets_of(run, source.A.rows, lanes_of_product(source.A), source, kept, scratch);
}
/// The values of a product A B; sources: where those of A lie, null for in order. `indices` null: the columns are
/// there; else where they are to be put.
template <class C>
void record_product_values(recorder& run, const char* name, const matrix_view<C>& A, const std::int32_t* sources,
                           const matrix_view<C>& B, const pattern_view& product, C* values, std::int32_t* indices,
                           bool skips_long_rows) {
  const int lanes = lanes_of_product(A.pattern);
  if (indices) {
    run.step(name, product.rows,
             put_product<C>{A, sources, B, product.offsets, indices, values, nullptr, skips_long_rows, lanes});
  } else {
    run.step(name, product.rows, product_values<C>{A, sources, B, product, values, lanes});
  }
}

}  // namespace whilst::multigrid

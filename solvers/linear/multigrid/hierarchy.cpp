// compiled for each number type, by nvcc where CUDA is on
#include "solvers/linear/multigrid/hierarchy.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "solvers/linear/multigrid/aggregation.hpp"
#include "solvers/linear/multigrid/classical/hierarchy_of_coarse_unknowns.hpp"
#include "solvers/linear/multigrid/classical/hierarchy_of_two_stages.hpp"
#include "solvers/linear/multigrid/cycles/dense_inverse.hpp"
#include "solvers/linear/multigrid/cycles/hierarchy_of_smoothers.hpp"
#include "solvers/linear/multigrid/hierarchy_of_larger_aggregates.hpp"
#include "solvers/linear/multigrid/hierarchy_of_values.hpp"
#include "solvers/linear/multigrid/level_table.hpp"
#include "solvers/linear/multigrid/level_values.hpp"
#include "solvers/linear/multigrid/patterns/mirrored_pattern.hpp"
#include "solvers/linear/multigrid/patterns/record_pattern.hpp"
#include "solvers/linear/multigrid/systems/hierarchy_of_nodes.hpp"

namespace whilst::multigrid {
namespace {

/// The offsets of those columns of Q, or of W', that are kept.
template <class C>
pattern_view record_offsets_of_kept(recorder& run, index_type rows, const entries_of_Q<C>& all, int lanes,
                                    level_memory& kept, level_memory& scratch) {
  const auto record_counts = [&](std::int32_t* counts) {
    run.step("count a row of Q", rows, count_kept_of_Q<C>{all, counts, lanes});
  };
  return record_offsets_by(run, rows, record_counts, kept, scratch);
}
template <class C>
void record_columns_of_kept(recorder& run, const entries_of_Q<C>& all, int lanes, pattern_view& Q, index_type columns,
                            std::int32_t nonzeros, level_memory& kept) {
  std::int32_t* const indices = take_columns_of(Q, columns, nonzeros, kept);
  run.step("columns of Q", Q.rows, put_kept_of_Q<C>{all, Q.offsets, indices, lanes});
}

}  // namespace

template <class C>
void hierarchy<C>::begin(const pattern_view& A, recorded_stages& stages) {
  // Where a visit may be no contraction, as of convection, a second one may do harm.
  if (!for_symmetric_ && plan_.to_revisit < 0) plan_.to_revisit = 0;
  if (is_system_) return begin_system(A, stages);
  given_ = A;
  given_values_ = kept_.take<C>(A.nonzeros).data();
  levels_.emplace_back();
  level<C>& finest = levels_.front();
  finest.A = A;
  finest.A_values = given_values_;
  if (symmetric_) return;
  level_memory scratch(kept_);
  const int lanes = A.lanes(4);
  recorder& run = stages.steps();
  const columns_of_either of_both{A, record_transpose(run, A, scratch, scratch).view};
  finest.A = record_offsets_of(run, A.rows, lanes, of_both, kept_, scratch);
  record_told(run, {finest.A.offsets + A.rows});
  stages.run();
  record_columns_of(run, finest.A, A.columns, told()[0], lanes, of_both, kept_);
  stages.run();
  finest.A_values = kept_.take<C>(finest.A.nonzeros).data();
}
template <class C>
void hierarchy<C>::record_told(recorder& run, const tell_sizes::places& sizes) const {
  run.once("sizes", tell_sizes{sizes, static_cast<std::int32_t*>(told_.data())});
}
template <class C>
std::array<std::int32_t, 3> hierarchy<C>::told() const {
  std::array<std::int32_t, 3> sizes{};
  std::memcpy(sizes.data(), told_.data(), sizeof sizes);
  return sizes;
}

template <class C>
void hierarchy<C>::build(recorded_stages& stages, level_memory& scratch) {
  while (levels_.back().unknowns() > options_.coarsest_rows && static_cast<int>(levels_.size()) < options_.most_levels)
    if (!coarsen(stages, scratch)) break;
  level<C>& coarsest = levels_.back();
  const index_type n = coarsest.unknowns();
  recorder& run = stages.steps();
  if (n <= options_.coarsest_rows) {
    coarsest_ = coarsest.A;
    if (is_system_) record_unfolded(run, coarsest);
    inverse_ = kept_.take<C>(n * n);
    work_ = kept_.take<double>(dense_elimination::work_size(n));
    // The inverse is a chain of short steps: the host goes on meanwhile, unlike while scratch is in use.
    stages.start();
    record_inverse(stages.steps());
    stages.start();
    stages.wait(/*except_last=*/1);
  } else {
    stages.run();  // colours are found at once, from its pattern
    take_values(run, coarsest);
    record_products(run, coarsest);
    take_cycle_matrices(run, coarsest, scratch);
    record_cycle_matrices(run, coarsest);
    stages.run();
  }
}

template <class C>
const std::int32_t* hierarchy<C>::record_aggregates(recorder& run, level<C>& fine, const C* sizes, double strength,
                                                    std::uint8_t* strong, level_memory& scratch) {
  const index_type n = fine.A.rows;
  const int lanes = fine.A.lanes(4);
  const matrix_view<C> A{fine.A, sizes};
  fine.aggregate = kept_.take<std::int32_t>(n).data();
  C* const largest = scratch.take<C>(n).data();
  std::int8_t* const has_strong = scratch.take<std::int8_t>(n).data();
  std::int32_t* const numbers = scratch.take<std::int32_t>(n + 1).data();
  run.step("the largest neighbour", n, largest_beside_diagonal<C>{A, largest, lanes});
  run.step("strong entries", n, mark_strong<C>{A, largest, strength, strong, has_strong, lanes});
  record_aggregation(run, strong_graph<C>{A, strong}, has_strong, fine.aggregate, numbers, scratch);
  return numbers + n;
}

/// Divides the unknowns into aggregates, or into coarse and fine ones, and finds the offsets of P's pattern: how many
/// unknowns the coarser level has, the pattern's size, and what of_AP bounds, if anything.
template <class C>
std::array<std::int32_t, 3> hierarchy<C>::divide(recorded_stages& stages, level<C>& fine, merged_rows<C>& of_AP,
                                                 level_memory& scratch) {
  const index_type n = fine.A.rows;
  recorder& run = stages.steps();
  const int lanes = fine.A.lanes(4);
  const index_type nonzeros = fine.A.nonzeros;
  if (!symmetric_) {
    fine.mirrored = kept_.take<std::int32_t>(nonzeros).data();
    run.step("where A' has its entries", n, find_mirrored{fine.A, fine.mirrored, lanes});
  }
  if (is_classical_) return split(stages, fine, scratch);
  const level<C> level_before = fine;
  fine.strong = kept_.take<std::uint8_t>(nonzeros).data();
  matrix_view<C> sizes = fine.matrix();
  if (!symmetric_) {
    C* const means = scratch.take<C>(nonzeros).data();
    run.step("sizes of entries", nonzeros, mean_sizes<C>{fine.A_values, fine.mirrored, means});
    sizes.values = means;
  }
  const std::int32_t* count = record_aggregates(run, fine, sizes.values, options_.strength, fine.strong, scratch);
  const columns_of_prolongation<C> of_P{fine.graph(sizes), fine.aggregate};
  if (is_aggressive(fine)) count = join_aggregates(stages, fine, of_P.graph, count, scratch);
  fine.P = record_offsets_of(run, n, lanes, of_P, kept_, scratch);
  record_told(run, {count, fine.P.offsets + n, of_AP.record_bounds(run, fine.A, fine.P, scratch)});
  if (chooses_coarsening(fine)) record_roughness(run, of_P.graph, roughness_told());
  stages.run();
  const std::array<std::int32_t, 3> by_aggregates = told();
  if (!chooses_coarsening(fine) || !*roughness_told() || *longest_told() > longest_row_for_choice) return by_aggregates;
  const level<C> with_aggregates = std::exchange(fine, level_before);
  const merged_rows<C> of_AP_by_aggregates = std::exchange(of_AP, {});
  is_classical_ = true;
  const std::array<std::int32_t, 3> by_classical = split(stages, fine, scratch);
  fine.coarse_rows = by_classical[0];
  if (is_worth_it(fine)) return by_classical;
  fine = with_aggregates;
  of_AP = of_AP_by_aggregates;
  is_classical_ = false;
  return by_aggregates;
}

template <class C>
void hierarchy<C>::record_columns_of_P(recorder& run, level<C>& fine, std::int32_t nonzeros) {
  const index_type coarse_rows = fine.coarse_rows;
  const int lanes = fine.A.lanes(4);
  if (is_system_) {
    record_columns_of(run, fine.P, coarse_rows, nonzeros, lanes, fine.columns_of_AT(), kept_);
  } else if (is_classical_) {
    record_columns_of(run, fine.P, coarse_rows, nonzeros, fine.weights().pattern.lanes(4), columns_of_P(fine), kept_);
  } else {
    const columns_of_prolongation<C> of_P{fine.graph(fine.matrix()), fine.aggregate};
    record_columns_of(run, fine.P, coarse_rows, nonzeros, lanes, of_P, kept_);
  }
}

/// Adds a level, whose last steps remain to be run. False if the coarsest one cannot become coarser.
template <class C>
bool hierarchy<C>::coarsen(recorded_stages& stages, level_memory& scratch) {
  level<C>& fine = levels_.back();
  const index_type n = fine.A.rows;
  if (is_finest(fine)) record_longest(stages.steps(), fine.A, longest_told());
  merged_rows<C> of_AP, of_RAP;  // not of a system, whose blocks may be of several sizes; A P not of coarse unknowns
  const std::array<std::int32_t, 3> divided =
      is_system_ ? divide_nodes(stages, fine, scratch) : divide(stages, fine, of_AP, scratch);
  const std::int32_t coarse_rows = divided[0], of_prolongation = divided[1], bound_of_AP = divided[2];
  fine.coarse_rows = coarse_rows;
  if (!is_worth_it(fine)) {
    fine.coarse_rows = 0;
    return false;
  }

  if (is_finest(fine)) fine.A.longest = *longest_told();
  recorder& run = stages.steps();
  record_columns_of_P(run, fine, of_prolongation);
  take_values(run, fine);
  if (!is_system_) record_prolongation(run, fine, /*has_weights=*/is_classical_);  // to choose P's columns from
  fine.R = record_transpose(run, fine.P, kept_, scratch);
  const columns_of_product columns_of_AP{fine.A, fine.P, skips_long_rows};
  if (!of_AP.record_merge(run, "A P", bound_of_AP, fine.matrix(), nullptr, {fine.P, fine.P_values}, skips_long_rows,
                          fine.AP, kept_, scratch))
    fine.AP = record_offsets_of_product(run, columns_of_AP, kept_, scratch);
  fine.AP.columns = coarse_rows;
  record_told(run,
              {fine.AP.offsets + n, is_system_ ? nullptr : of_RAP.record_bounds(run, fine.R.view, fine.AP, scratch)});
  record_longest(run, fine.R.view, longest_told());
  stages.run();
  fine.R.view.longest = *longest_told();

  const std::int32_t entries_of_AP = told()[0], bound_of_RAP = told()[1];
  if (is_system_) {
    record_columns_of(run, fine.AP, coarse_rows, entries_of_AP, lanes_of_product(fine.A), columns_of_AP, kept_);
    fine.in_double.AP = kept_.take<double>(fine.nodes_of_AP().nonzeros()).data();
    record_node_products(run, fine);
  } else {
    std::int32_t* const indices = take_columns_of(fine.AP, coarse_rows, entries_of_AP, kept_);
    fine.AP_values = kept_.take<C>(fine.AP.nonzeros).data();
    fine.ATRT_values = symmetric_ ? fine.AP_values : kept_.take<C>(fine.AP.nonzeros).data();
    if (!of_AP.record_copies(run, fine.AP, indices, fine.AP_values)) record_AP(run, fine, indices);
    if (!symmetric_) record_transposed_products(run, fine);
  }
  const int lanes_of_Q = fine.AP.lanes(4);
  fine.Q = is_system_ ? fine.AP : record_offsets_of_kept(run, n, fine.up_entries(), lanes_of_Q, kept_, scratch);
  fine.WT = symmetric_ ? fine.Q : record_offsets_of_kept(run, n, fine.down_entries(), lanes_of_Q, kept_, scratch);
  level<C> coarse;
  const columns_of_product of_coarse{fine.R.view, fine.AP};
  const matrix_view<C> R{fine.R.view, fine.RT_values}, AP{fine.AP, fine.AP_values};
  if (!of_RAP.record_merge(run, "R A P", bound_of_RAP, R, fine.R.sources, AP, /*skips_long_rows=*/false, coarse.A,
                           kept_, scratch))
    coarse.A = record_offsets_of_product(run, of_coarse, kept_, scratch);
  record_told(run, {coarse.A.offsets + coarse_rows, fine.Q.offsets + n, fine.WT.offsets + n});
  record_longest(run, coarse.A, longest_told());
  stages.run();
  coarse.A.longest = *longest_told();

  const auto [of_coarse_matrix, kept_of_Q, kept_of_WT] = told();
  if (is_system_) {
    const int lanes_of_coarse = lanes_of_product(fine.R.view);
    record_columns_of(run, coarse.A, coarse_rows, of_coarse_matrix, lanes_of_coarse, of_coarse, kept_);
    coarse.block = coarse.coarse_block = fine.coarse_block;
    coarse.in_double.A = kept_.take<double>(coarse.nodes_of_A().nonzeros()).data();
    record_coarse_matrix(run, fine, coarse);
  } else {
    std::int32_t* const indices = take_columns_of(coarse.A, coarse_rows, of_coarse_matrix, kept_);
    coarse.A_values = kept_.take<C>(coarse.A.nonzeros).data();
    if (!of_RAP.record_copies(run, coarse.A, indices, coarse.A_values))
      record_coarse_matrix(run, fine, coarse, indices);
  }
  if (plan_.goes_by_colours()) stages.run();  // they are found at once, in scratch that recorded steps must not need
  scratch.reuse();                            // by later steps

  if (!is_system_) record_columns_of_kept(run, fine.up_entries(), lanes_of_Q, fine.Q, coarse_rows, kept_of_Q, kept_);
  if (symmetric_) {
    fine.WT = fine.Q;
  } else {
    record_columns_of_kept(run, fine.down_entries(), lanes_of_Q, fine.WT, coarse_rows, kept_of_WT, kept_);
  }
  fine.W = record_transpose(run, fine.WT, kept_, scratch);
  take_cycle_matrices(run, fine, scratch);
  record_cycle_matrices(run, fine);
  coarse.near_null = coarse_near_null_;
  levels_.push_back(coarse);
  return true;
}

template <class C>
std::string hierarchy<C>::description() const {
  std::string rows;
  for (const auto& one : levels_) rows += (rows.empty() ? "" : ", ") + std::to_string(one.unknowns());
  char complexity[32];
  std::snprintf(complexity, sizeof complexity, "%.2f", complexities<C>(*this).of_operators);
  const auto counted = [](int count) { return std::to_string(count) + (count == 1 ? " level" : " levels"); };
  const auto count = static_cast<int>(levels_.size());
  const int aggressive = std::min(options_.aggressive_levels, count - 1);
  return counted(count) + " of " + rows + " rows; operator complexity " + complexity +
         (is_classical_ ? "; classical coarsening" : "") +
         (aggressive > 0 ? "; aggressive on " + counted(aggressive) : "");
}

template class hierarchy<WHILST_NUMBER>;

}  // namespace whilst::multigrid

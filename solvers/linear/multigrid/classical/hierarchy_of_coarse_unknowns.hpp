#pragma once

#include <algorithm>
#include <utility>

#include "solvers/linear/multigrid/classical/extended_interpolation.hpp"
#include "solvers/linear/multigrid/classical/splitting.hpp"
#include "solvers/linear/multigrid/classical/strong_dependence.hpp"
#include "solvers/linear/multigrid/hierarchy.hpp"
#include "solvers/linear/multigrid/patterns/record_pattern.hpp"

/// What a hierarchy by classical coarsening does in another way: unknowns of a coarser level are some of those of the
/// finer one. For hierarchy.cpp, which instantiates it.

namespace whilst::multigrid {

/// Chooses the coarse unknowns, and finds the offsets of P's pattern: how many of these there are, and the pattern's
/// size.
template <class C>
std::array<std::int32_t, 3> hierarchy<C>::split(recorded_stages& stages, level<C>& fine, level_memory& scratch) {
  recorder& run = stages.steps();
  const index_type n = fine.A.rows;
  const int lanes = fine.A.lanes(4);
  extended_interpolation<C>& made = fine.interpolation;
  made.coarse = kept_.take<std::int32_t>(n).data();
  made.diagonal = kept_.take<C>(n).data();
  std::uint8_t* const strong = scratch.take<std::uint8_t>(fine.A.nonzeros).data();
  run.step("diagonal", n, sum_diagonal<C>{fine.matrix(), made.diagonal, lanes});
  run.step("strong entries", n, mark_dependences<C>{fine.matrix(), made.diagonal, options_.strength, strong, lanes});
  const mapped_columns<strong_entries> of_depended{fine.A, {strong}};
  pattern_view depended = record_offsets_of(run, n, lanes, of_depended, scratch, scratch);
  record_told(run, {depended.offsets + n});
  stages.run();

  std::int32_t* const numbers = scratch.take<std::int32_t>(n + 1).data();
  record_columns_of(run, depended, n, told()[0], lanes, of_depended, scratch);
  const transposed_pattern dependents = record_transpose(run, depended, scratch, scratch);
  if (is_aggressive(fine)) {
    extended_interpolation<C>& first = fine.stages.first;
    first.coarse = kept_.take<std::int32_t>(n).data();
    first.diagonal = made.diagonal;
    record_splitting(run, depended, dependents, first.coarse, numbers, scratch);
    return split_twice(stages, fine, depended, numbers, scratch);
  }
  record_splitting(run, depended, dependents, made.coarse, numbers, scratch);
  if (!make_weights(stages, fine, depended, made, nullptr, numbers + n, scratch)) return {};
  fine.P = record_offsets_of(run, n, made.W.lanes(4), columns_of_P(fine), kept_, scratch);
  record_told(run, {fine.P.offsets + n});
  stages.run();
  return {static_cast<std::int32_t>(fine.coarse_rows), told()[0]};
}

template <class C>
bool hierarchy<C>::make_weights(recorded_stages& stages, level<C>& fine, const pattern_view& depended,
                                extended_interpolation<C>& made, const std::int32_t* among, const std::int32_t* count,
                                level_memory& scratch) {
  recorder& run = stages.steps();
  const index_type n = fine.A.rows;
  const int lanes = fine.A.lanes(4), lanes_of_S = depended.lanes(4);
  const mapped_columns<itself_and_fine> of_S{depended, {made.coarse, among}};
  const mapped_columns<numbers_of_coarse> of_A_c{fine.A, {fine.A, made.coarse}},
      of_strong_A_c{depended, {depended, made.coarse}};
  made.S = record_offsets_of(run, n, lanes_of_S, of_S, kept_, scratch);
  made.A_c = record_offsets_of(run, n, lanes, of_A_c, kept_, scratch);
  pattern_view strong_A_c = record_offsets_of(run, n, lanes_of_S, of_strong_A_c, scratch, scratch);
  record_told(run, {count, made.S.offsets + n, made.A_c.offsets + n});
  stages.run();

  const auto [coarse_rows, size_of_S, size_of_A_c] = told();
  fine.coarse_rows = coarse_rows;
  if (!is_worth_it(fine)) return false;
  const index_type columns = &made == &fine.interpolation ? coarse_rows : n;  // see two_stages
  record_columns_of(run, made.S, n, size_of_S, lanes_of_S, of_S, kept_);
  record_columns_of(run, made.A_c, columns, size_of_A_c, lanes, of_A_c, kept_);
  const auto most_of_strong = static_cast<std::int32_t>(std::min<index_type>(size_of_A_c, depended.nonzeros + n));
  record_columns_of(run, strong_A_c, columns, most_of_strong, lanes_of_S, of_strong_A_c, scratch);
  const columns_of_product of_W{made.S, strong_A_c};
  made.W = record_offsets_of_product(run, of_W, kept_, scratch);
  record_told(run, {made.W.offsets + n});
  stages.run();

  const std::int32_t size_of_W = told()[0];
  record_columns_of(run, made.W, columns, size_of_W, lanes_of_product(made.S), of_W, kept_);
  made.S_values = kept_.take<C>(size_of_S).data();
  made.A_c_values = kept_.take<C>(size_of_A_c).data();
  made.W_values = kept_.take<C>(size_of_W).data();
  record_weights_of(run, fine, made);
  return true;
}

/// All weights, of which P keeps some.
template <class C>
void hierarchy<C>::record_weights(recorder& run, const level<C>& here) const {
  const extended_interpolation<C>& of = here.interpolation;
  run.step("diagonal", here.A.rows, sum_diagonal<C>{here.matrix(), of.diagonal, here.A.lanes(4)});
  if (!here.stages.product_values) return record_weights_of(run, here, of);
  record_weights_of(run, here, here.stages.first);
  record_weights_of(run, here, of);
  record_product_of_stages(run, here);
}
template <class C>
void hierarchy<C>::record_weights_of(recorder& run, const level<C>& here, const extended_interpolation<C>& of) const {
  const matrix_view<C> A = here.matrix();
  const index_type n = here.A.rows;
  run.step("entries at coarse unknowns", n, coarse_entries<C>{A, of, of.A_c.lanes(2)});
  run.step("shares of neighbours", n, shares_of_neighbours<C>{A, of, here.A.lanes(2)});
  run.step("weights", n, interpolation_weights<C>{of, lanes_of_product(of.S)});
}

}  // namespace whilst::multigrid

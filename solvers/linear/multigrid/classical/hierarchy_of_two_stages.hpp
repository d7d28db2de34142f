#pragma once

#include <utility>

#include "solvers/linear/multigrid/classical/hierarchy_of_coarse_unknowns.hpp"

/// What a hierarchy by classical coarsening does in another way where it is aggressive. For hierarchy.cpp, which
/// instantiates it.

namespace whilst::multigrid {

/// As split, with a second split of the coarse unknowns. The steps that wait leave in fine.stages.first.coarse
/// which unknowns these are, and their count in numbers[rows].
template <class C>
std::array<std::int32_t, 3> hierarchy<C>::split_twice(recorded_stages& stages, level<C>& fine,
                                                      const pattern_view& depended, std::int32_t* numbers,
                                                      level_memory& scratch) {
  recorder& run = stages.steps();
  const index_type n = fine.A.rows;
  const int lanes = depended.lanes(4);
  two_stages<C>& both = fine.stages;
  extended_interpolation<C>&first = both.first, &second = fine.interpolation;
  const std::int32_t* const in_between = first.coarse;
  const mapped_columns<rows_of_coarse> of_E{depended, {in_between}};
  const mapped_columns<columns_of_coarse> of_K{depended, {in_between}};
  run.step("coarse unknowns keep their numbers", n, keep_own_number{first.coarse});
  if (!make_weights(stages, fine, depended, first, nullptr, numbers + n, scratch)) return {};
  both.P1 = record_offsets_of(run, n, first.W.lanes(4), columns_of_kept(first), kept_, scratch);
  pattern_view E = record_offsets_of(run, n, lanes, of_E, scratch, scratch),
               K = record_offsets_of(run, n, lanes, of_K, scratch, scratch);
  record_told(run, {both.P1.offsets + n, E.offsets + n, K.offsets + n});
  stages.run();

  const auto [size_of_P1, size_of_E, size_of_K] = told();
  record_columns_of(run, both.P1, n, size_of_P1, first.W.lanes(4), columns_of_kept(first), kept_);
  record_columns_of(run, E, n, size_of_E, lanes, of_E, scratch);
  record_columns_of(run, K, n, size_of_K, lanes, of_K, scratch);
  const columns_of_product of_reached{E, K};
  pattern_view reached = record_offsets_of_product(run, of_reached, scratch, scratch);
  record_told(run, {reached.offsets + n});
  stages.run();

  record_columns_of(run, reached, n, told()[0], lanes_of_product(E), of_reached, scratch);
  record_splitting(run, reached, record_transpose(run, reached, scratch, scratch), second.coarse, numbers, scratch);
  if (!make_weights(stages, fine, depended, second, in_between, numbers + n, scratch)) return {};
  both.P2 = record_offsets_of(run, n, second.W.lanes(4), columns_of_kept(second), kept_, scratch);
  record_told(run, {both.P2.offsets + n});
  stages.run();

  const index_type coarse_rows = fine.coarse_rows;
  record_columns_of(run, both.P2, coarse_rows, told()[0], second.W.lanes(4), columns_of_kept(second), kept_);
  const columns_of_product of_both{both.P1, both.P2};
  both.product = record_offsets_of_product(run, of_both, kept_, scratch);
  record_told(run, {both.product.offsets + n});
  stages.run();

  std::int32_t* const indices = take_columns_of(both.product, coarse_rows, told()[0], kept_);
  both.P1_values = kept_.take<C>(both.P1.nonzeros).data();
  both.P2_values = kept_.take<C>(both.P2.nonzeros).data();
  both.product_values = kept_.take<C>(both.product.nonzeros).data();
  record_product_of_stages(run, fine, indices);
  fine.P = record_offsets_of(run, n, both.product.lanes(4), columns_of_P(fine), kept_, scratch);
  record_told(run, {fine.P.offsets + n});
  stages.run();
  return {static_cast<std::int32_t>(coarse_rows), told()[0]};
}

/// P1, P2 and their product, from the weights of both stages. indices: where the product's columns are to be put, if
/// they are not there.
template <class C>
void hierarchy<C>::record_product_of_stages(recorder& run, const level<C>& here, std::int32_t* indices) const {
  const two_stages<C>& of = here.stages;
  const auto keep = [&](const extended_interpolation<C>& from, const pattern_view& P, C* values) {
    run.step("weights that a stage keeps", here.A.rows,
             kept_weights<C>{{from.W, from.W_values}, P, values, from.W.lanes(4)});
  };
  keep(of.first, of.P1, of.P1_values);
  keep(here.interpolation, of.P2, of.P2_values);
  record_product_values<C>(run, "P1 P2", {of.P1, of.P1_values}, nullptr, {of.P2, of.P2_values}, of.product,
                           of.product_values, indices, /*skips_long_rows=*/false);
}

}  // namespace whilst::multigrid

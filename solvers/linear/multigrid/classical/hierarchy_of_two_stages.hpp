#pragma once

#include <utility>

#include "solvers/linear/multigrid/classical/hierarchy_of_coarse_unknowns.hpp"

/// What a hierarchy by classical coarsening does in another way where it is aggressive. For hierarchy.cpp, which
/// instantiates it.

namespace whilst::multigrid {

/// As split, with a second split of the coarse unknowns. splitting: the steps of the first one, which leave in
/// stages.first.coarse which unknowns these are; numbers: where it left their count, at [rows].
template <class C>
std::array<std::int32_t, 3> hierarchy<C>::split_twice(program_recorder&& splitting, level<C>& fine,
                                                      const pattern_view& depended, std::int32_t* numbers,
                                                      level_memory& scratch) {
  const index_type n = fine.A.rows;
  const int lanes = depended.lanes(4);
  two_stages<C>& stages = fine.stages;
  extended_interpolation<C>&first = stages.first, &second = fine.interpolation;
  const std::int32_t* const in_between = first.coarse;
  const mapped_columns<rows_of_coarse> of_E{depended, {in_between}};
  const mapped_columns<columns_of_coarse> of_K{depended, {in_between}};
  pattern_view E, K;
  splitting.step("coarse unknowns keep their numbers", n, keep_own_number{first.coarse});
  if (!make_weights(std::move(splitting), fine, depended, first, nullptr, numbers + n, scratch, [&](recorder& run) {
        stages.P1 = record_offsets_of(run, n, first.W.lanes(4), columns_of_kept(first), kept_, scratch);
        E = record_offsets_of(run, n, lanes, of_E, scratch, scratch);
        K = record_offsets_of(run, n, lanes, of_K, scratch, scratch);
        run.once("sizes", tell_sizes{{stages.P1.offsets + n, E.offsets + n, K.offsets + n}, told_.data()});
      }))
    return {};

  const auto [size_of_P1, size_of_E, size_of_K] = told();
  program_recorder reaching(where_);
  record_columns_of(reaching, stages.P1, n, size_of_P1, first.W.lanes(4), columns_of_kept(first), kept_);
  record_columns_of(reaching, E, n, size_of_E, lanes, of_E, scratch);
  record_columns_of(reaching, K, n, size_of_K, lanes, of_K, scratch);
  const columns_of_product of_reached{E, K};
  pattern_view reached = record_offsets_of_product(reaching, of_reached, scratch, scratch);
  reaching.once("sizes", tell_sizes{{reached.offsets + n}, told_.data()});
  run_now(std::move(reaching).finish(), where_);

  program_recorder again(where_);
  record_columns_of(again, reached, n, told()[0], lanes_of_product(E), of_reached, scratch);
  record_splitting(again, reached, record_transpose(again, reached, scratch, scratch), second.coarse, numbers, scratch);
  if (!make_weights(std::move(again), fine, depended, second, in_between, numbers + n, scratch, [&](recorder& run) {
        stages.P2 = record_offsets_of(run, n, second.W.lanes(4), columns_of_kept(second), kept_, scratch);
        run.once("sizes", tell_sizes{{stages.P2.offsets + n}, told_.data()});
      }))
    return {};

  const index_type coarse_rows = fine.coarse_rows;
  program_recorder composing(where_);
  record_columns_of(composing, stages.P2, coarse_rows, told()[0], second.W.lanes(4), columns_of_kept(second), kept_);
  const columns_of_product of_both{stages.P1, stages.P2};
  stages.product = record_offsets_of_product(composing, of_both, kept_, scratch);
  composing.once("sizes", tell_sizes{{stages.product.offsets + n}, told_.data()});
  run_now(std::move(composing).finish(), where_);

  program_recorder weighing(where_);
  std::int32_t* const indices = take_columns_of(stages.product, coarse_rows, told()[0], kept_);
  stages.P1_values = kept_.take<C>(stages.P1.nonzeros).data();
  stages.P2_values = kept_.take<C>(stages.P2.nonzeros).data();
  stages.product_values = kept_.take<C>(stages.product.nonzeros).data();
  record_product_of_stages(weighing, fine, indices);
  fine.P = record_offsets_of(weighing, n, stages.product.lanes(4), columns_of_P(fine), kept_, scratch);
  weighing.once("sizes", tell_sizes{{fine.P.offsets + n}, told_.data()});
  run_now(std::move(weighing).finish(), where_);
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

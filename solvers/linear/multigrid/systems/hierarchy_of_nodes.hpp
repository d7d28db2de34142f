#pragma once

#include <utility>

#include "solvers/linear/multigrid/hierarchy.hpp"
#include "solvers/linear/multigrid/patterns/record_pattern.hpp"
#include "solvers/linear/multigrid/systems/node_values.hpp"

/// What a hierarchy of a system does in another way: nodes are aggregated as wholes, and vectors given. For
/// hierarchy.cpp, which instantiates it.

namespace whilst::multigrid {
namespace {

/// Iterations for the largest eigenvalue of M A: within a tenth of it, say, where a third is safe.
constexpr int iterations_for_eigenvalue = 12;
/// Of the strength that suits scalar problems: sizes of blocks hide the signs of their entries, so that weaker
/// neighbours count, too.
constexpr double strength_share = 0.4;

template <class Left>
void record_product(recorder& run, const char* name, const Left& A, const node_matrix<double>& B,
                    const node_matrix<double>& product) {
  with_block_size(product.down, [&](auto down) {
    with_block_size(product.across, [&](auto across) {
      // Other pairs do not come in elasticity.
      constexpr bool is_usual = down == across || across == (down == 2 ? 3 : down == 3 ? 6 : 0);
      constexpr int rows = is_usual ? down() : 0, columns = is_usual ? across() : 0;
      run.step(name, product.nodes.rows,
               node_product_values<Left, rows, columns>{A, B, product, product.nodes.lanes(1)});
    });
  });
}

}  // namespace

/// The finest matrix as one of nodes, and its near-null space.
template <class C>
void hierarchy<C>::begin_system(const pattern_view& A, recorded_stages& stages) {
  const near_null_space vectors = make_near_null_space(options_, A.rows);
  const auto of_source = static_cast<index_type>(vectors.source ? vectors.source->size() : 0);
  const buffer<double> source(where_, of_source, of_source ? vectors.source->data() : nullptr);
  near_null_ = buffer<double>(where_, A.rows * vectors.vectors);
  given_nodes_ = {A, kept_.take<double>(A.nonzeros).data(), 1, 1};
  levels_.emplace_back();
  level<C>& finest = levels_.front();
  finest.block = options_.unknowns_a_node;
  finest.coarse_block = vectors.vectors;
  finest.near_null = near_null_.data();
  const index_type n = A.rows / finest.block;
  const columns_of_nodes of_A{A, finest.block};
  const int lanes = A.lanes(8);
  level_memory scratch(kept_);
  recorder& run = stages.steps();
  run.step("near-null space", A.rows,
           put_near_null_space{vectors, source.data(), finest.block, A.rows, near_null_.data()});
  finest.A = record_offsets_of(run, n, lanes, of_A, kept_, scratch);
  record_told(run, {finest.A.offsets + n});
  stages.run();
  options_.near_null_space = {};
  options_.coordinates = {};
  record_columns_of(run, finest.A, n, told()[0], lanes, of_A, kept_);
  stages.run();
  finest.in_double.A = kept_.take<double>(finest.nodes_of_A().nonzeros()).data();
}
template <class C>
void hierarchy<C>::record_finest_nodes(recorder& run) const {
  run.step("blocks of nodes", given_nodes_.nodes.rows,
           fold_values{
               {given_nodes_.nodes, given_nodes_.values}, levels_.front().nodes_of_A(), given_nodes_.nodes.lanes(8)});
}

/// As divide; and the tentative prolongation, which depends on no values and so stays as it is.
template <class C>
std::array<std::int32_t, 3> hierarchy<C>::divide_nodes(recorded_stages& stages, level<C>& fine, level_memory& scratch) {
  const index_type n = fine.A.rows;
  const int b = fine.block, k = fine.coarse_block;
  recorder& run = stages.steps();
  C* const sizes = scratch.take<C>(fine.A.nonzeros).data();
  std::uint8_t* const strong = scratch.take<std::uint8_t>(fine.A.nonzeros).data();
  run.step("sizes of blocks", n, sizes_of_blocks<C>{fine.nodes_of_A(), sizes, fine.A.lanes(2)});
  const std::int32_t* count = record_aggregates(run, fine, sizes, strength_share * options_.strength, strong, scratch);
  if (is_aggressive(fine)) count = join_aggregates(stages, fine, {{fine.A, sizes}, strong}, count, scratch);
  std::int32_t *const counts = scratch.take<std::int32_t>(n).data(), *const offsets =
                                                                         kept_.take<std::int32_t>(n + 1).data();
  run.step("nodes in aggregates", n, count_aggregates{fine.aggregate, counts});
  record_offsets(run, n, counts, offsets, scratch);
  record_told(run, {count, offsets + n});
  stages.run();
  const std::array<std::int32_t, 3> sizes_of_T = told();
  const std::int32_t coarse_rows = sizes_of_T[0], of_T = sizes_of_T[1];
  fine.coarse_rows = coarse_rows;
  if (!is_worth_it(fine)) return {};

  std::int32_t* const indices = kept_.take<std::int32_t>(of_T).data();
  fine.T = {n, coarse_rows, of_T, offsets, indices};
  fine.in_double.T = kept_.take<double>(fine.nodes_of_T().nonzeros()).data();
  coarse_near_null_ = kept_.take<double>(index_type{coarse_rows} * k * k).data();
  run.step("aggregates of nodes", n, put_aggregates{fine.aggregate, offsets, indices});
  const pattern_view nodes_of = record_transpose(run, fine.T, scratch, scratch).view;
  run.step("orthonormal vectors", coarse_rows,
           orthonormal_on_aggregates{nodes_of, b, k, fine.near_null, coarse_near_null_});
  run.step("T", n, tentative_values{fine.near_null, fine.nodes_of_T()});
  fine.P = record_offsets_of(run, n, fine.A.lanes(4), fine.columns_of_AT(), kept_, scratch);
  record_told(run, {count, fine.P.offsets + n});
  stages.run();
  return told();
}

/// The pattern of [A | B] without blocks.
template <class C>
template <class V>
pattern_view hierarchy<C>::unfolded(recorder& run, const node_matrix<V>& A, const pattern_view& B, int across_of_B) {
  const index_type rows = A.nodes.rows * A.down, of_B = B.nonzeros * A.down * across_of_B,
                   nonzeros = A.nonzeros() + of_B;
  require_32_bits(nonzeros);
  std::int32_t *const offsets = kept_.take<std::int32_t>(rows + 1).data(), *const indices =
                                                                               kept_.take<std::int32_t>(nonzeros)
                                                                                   .data();
  run.step("rows of nodes", rows, unfold_rows{A.nodes, B, A.down, A.across, across_of_B, offsets, indices});
  return {rows, A.nodes.columns * A.across + B.columns * across_of_B, nonzeros, offsets, indices};
}

/// The coarsest matrix as one without blocks, to be inverted.
template <class C>
void hierarchy<C>::record_unfolded(recorder& run, level<C>& coarsest) {
  coarsest_ = unfolded(run, coarsest.nodes_of_A(), {coarsest.A.rows, 0, 0, nullptr, nullptr}, 0);
}

template <class C>
void hierarchy<C>::take_node_values(level<C>& fine) {
  const index_type n = fine.unknowns();
  fine.in_double.M = kept_.take<double>(n * fine.block).data();
  fine.iterates = kept_.take<double>(2 * n + 1).data();
  fine.in_double.P = kept_.take<double>(fine.nodes_of_P().nonzeros()).data();
}
template <class C>
void hierarchy<C>::take_node_cycle_matrices(recorder& run, level<C>& fine) {
  const pattern_view up = unfolded(run, fine.nodes_of_A(), fine.AP, fine.coarse_block);
  fine.up_values = kept_.take<C>(up.nonzeros).data();
  fine.up = interleaved(run, up, fine.up_values);
  if (fine.coarse_rows == 0) return;
  fine.W_values = kept_.take<C>(fine.nodes_of_W().nonzeros()).data();
  fine.down =
      interleaved(run, unfolded(run, fine.nodes_of_W(), {fine.coarse_rows, 0, 0, nullptr, nullptr}, 0), fine.W_values);
}

template <class C>
void hierarchy<C>::record_node_products(recorder& run, const level<C>& here) const {
  const index_type n = here.A.rows, unknowns = here.unknowns();
  const int lanes = here.A.lanes(2);
  const node_matrix<double> A = here.nodes_of_A(), T = here.nodes_of_T(), P = here.nodes_of_P();
  double *const M = here.in_double.M, *x = here.iterates, *y = x + unknowns, *const norm = y + unknowns;
  with_block_size(here.block, [&](auto size) {
    run.step("M", n, node_smoother_values<size>{A, M, lanes});
    run.step("numbers without regularity", unknowns, begin_iteration{x}, note_norm{norm});
    for (int k = 0; k < iterations_for_eigenvalue; ++k, std::swap(x, y))
      run.step("the largest eigenvalue of M A", n, iterate<size>{A, M, x, norm, y, lanes}, note_norm{norm});
    run.step("M, damped", unknowns * here.block, damp{norm, M});
  });
  if (here.coarse_rows > 0) {
    record_product(run, "A T", as_it_is{A}, T, P);
    run.step("P", n, node_prolongation_values{M, T, P, here.P.lanes(1)});
    record_product(run, "A P", as_it_is{A}, P, here.nodes_of_AP());
  }
  record_node_smoother(run, here);
}

template <class C>
void hierarchy<C>::record_node_cycle_matrices(recorder& run, const level<C>& here) const {
  with_block_size(here.block, [&](auto size) {
    const node_way_up_values<C, size> up{here.nodes_of_A(), here.nodes_of_P(), here.nodes_of_AP(),
                                         here.in_double.M,  here.up_values,    here.A.lanes(2)};
    run.step("[S | Q]", here.unknowns(), up);
    if (here.coarse_rows > 0)
      run.step("W", here.coarse_unknowns(),
               node_way_down_values<C, size>{up, here.nodes_of_W(), here.W.sources, here.W.view.lanes(2)});
  });
  record_in_order(run, here.up);
  if (here.coarse_rows > 0) record_in_order(run, here.down);
}

template <class C>
void hierarchy<C>::record_coarse_node_matrix(recorder& run, const level<C>& fine, const level<C>& coarse) const {
  record_product(run, "P' A P", transpose_of{fine.nodes_of_P(), fine.R.view, fine.R.sources}, fine.nodes_of_AP(),
                 coarse.nodes_of_A());
}

}  // namespace whilst::multigrid

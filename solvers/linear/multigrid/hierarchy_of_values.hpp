#pragma once

#include "solvers/linear/multigrid/cycles/dense_inverse.hpp"
#include "solvers/linear/multigrid/cycles/interleaved_in_memory.hpp"
#include "solvers/linear/multigrid/hierarchy.hpp"
#include "solvers/linear/multigrid/level_values.hpp"
#include "solvers/linear/multigrid/patterns/mirrored_pattern.hpp"
#include "solvers/linear/multigrid/patterns/record_pattern.hpp"

/// How a hierarchy's values follow from those of the given matrix, at first and anew. For hierarchy.cpp, which
/// instantiates it.

namespace whilst::multigrid {

/// How much of W a prolongation is smoothed by, and a restriction of its own. Where R = P', 3/2 took 14
/// iterations for 15 on poisson3d:100, with four levels, and 21 for 16 on poisson3d:464, with seven.
inline constexpr double smoothing_of_P = 4.0 / 3, smoothing_of_R = 2.0 / 3;

/// Of A, in products A P.
inline constexpr bool skips_long_rows = true;

namespace {

struct no_offsets {
  std::int32_t* offsets;
  WHILST_HD void operator()(index_type i) const { offsets[i] = 0; }
};

}  // namespace

/// Memory for what follows from the level's matrix, up to P.
template <class C>
void hierarchy<C>::take_values(recorder& run, level<C>& fine) {
  const index_type n = fine.A.rows;
  if (fine.coarse_rows == 0) {  // nothing below: patterns without columns
    std::int32_t* const offsets = kept_.take<std::int32_t>(n + 1).data();
    run.step("no coarser level", n + 1, no_offsets{offsets});
    fine.T = fine.P = fine.AP = fine.Q = {n, 0, 0, offsets, nullptr};
  }
  if (plan_.uses_polynomial() && for_symmetric_) fine.lanczos.take(fine.unknowns(), kept_);
  if (is_system_) return take_node_values(fine);
  fine.M = kept_.take<C>(n).data();
  fine.P_values = kept_.take<C>(fine.P.nonzeros).data();
  fine.AT_values = symmetric_ ? fine.A_values : kept_.take<C>(fine.A.nonzeros).data();
  fine.RT_values = symmetric_ || is_classical_ ? fine.P_values : kept_.take<C>(fine.P.nonzeros).data();
}
/// And for what a cycle reads.
template <class C>
void hierarchy<C>::take_cycle_matrices(recorder& run, level<C>& fine, level_memory& scratch) {
  take_whole_matrix(run, fine, scratch);
  if (is_system_) return take_node_cycle_matrices(run, fine);
  const index_type n = fine.A.rows, of_up = fine.A.nonzeros + fine.Q.nonzeros;
  require_32_bits(of_up);
  std::int32_t* const offsets = kept_.take<std::int32_t>(n + 1).data();
  std::int32_t* const indices = memory_of_csr(scratch).template take<std::int32_t>(of_up).data();
  run.step("columns of [S | Q]", n, put_way_up{fine.A, fine.Q, offsets, indices, fine.A.lanes(2)});
  fine.up_values = kept_.take<C>(of_up).data();
  fine.up = interleaved(run, {n, n + fine.coarse_rows, of_up, offsets, indices}, fine.up_values);
  if (fine.coarse_rows == 0) return;
  fine.WT_values = kept_.take<C>(fine.WT.nonzeros).data();
  fine.W_values = kept_.take<C>(fine.WT.nonzeros).data();
  fine.down = interleaved(run, fine.W.view, fine.W_values);
}

/// A matrix of the cycle; on the host that is the one in CSR.
template <class C>
interleaved_rows<C> hierarchy<C>::interleaved(recorder& run, const pattern_view& pattern, const C* values,
                                              bool rounded) {
  return interleaved_in_memory(run, kept_, pattern, values, rounded && options_.precision == "bfloat16");
}
template <class C>
void hierarchy<C>::record_in_order(recorder& run, const interleaved_rows<C>& matrix) const {
  if (!where_.on_host()) matrix.record_values(run);
}

/// M and P.
template <class C>
void hierarchy<C>::record_prolongation(recorder& run, const level<C>& here, bool has_weights) const {
  const index_type n = here.A.rows;
  const matrix_view<C> A = here.matrix();
  const int lanes = here.A.lanes(8);
  run.step("M", n, smoother_values<C>{A, here.M, lanes});
  record_smoother(run, here);
  if (here.coarse_rows == 0) return;
  if (is_classical_) {
    if (!has_weights) record_weights(run, here);
    run.step("weights that are kept", n,
             kept_weights<C>{here.weights(), here.P, here.P_values, here.weights().pattern.lanes(4)});
  } else {
    run.step("P", n,
             prolongation_values<C>{{here.graph(A), here.aggregate}, here.P, here.P_values, smoothing_of_P, lanes});
  }
}
template <class C>
void hierarchy<C>::record_AP(recorder& run, const level<C>& here, std::int32_t* indices) const {
  record_product_values<C>(run, "A P", here.matrix(), nullptr, {here.P, here.P_values}, here.AP, here.AP_values,
                           indices, skips_long_rows);
}
/// M, P and A P, and what of A' goes with them.
template <class C>
void hierarchy<C>::record_products(recorder& run, const level<C>& here) const {
  if (is_system_) return record_node_products(run, here);
  record_prolongation(run, here);
  if (here.coarse_rows == 0) return;
  record_AP(run, here);
  if (!symmetric_) record_transposed_products(run, here);
}
/// R' and A'R', which are P and A P where A counts as symmetric.
template <class C>
void hierarchy<C>::record_transposed_products(recorder& run, const level<C>& here) const {
  const index_type n = here.A.rows;
  const matrix_view<C> AT = here.transposed(), RT{here.P, here.RT_values};
  const int lanes = here.A.lanes(8);
  run.step("A'", here.A.nonzeros, gather_values<C>{here.mirrored, here.A_values, here.AT_values});
  if (!is_classical_)
    run.step("R'", n,
             prolongation_values<C>{{here.graph(AT), here.aggregate}, here.P, here.RT_values, smoothing_of_R, lanes});
  record_product_values<C>(run, "A'R'", AT, nullptr, RT, here.AP, here.ATRT_values, nullptr, skips_long_rows);
}

template <class C>
void hierarchy<C>::record_cycle_matrices(recorder& run, const level<C>& here) const {
  record_whole_matrix(run, here);
  if (is_system_) return record_node_cycle_matrices(run, here);
  const index_type n = here.A.rows;
  const int lanes = here.A.lanes(2);
  C* const Q_values = symmetric_ ? here.WT_values : nullptr;
  run.step("[S | Q]", n, way_up_values<C>{here.matrix(), {here.up_entries(), here.Q}, here.up_values, Q_values, lanes});
  record_in_order(run, here.up);
  if (here.coarse_rows == 0) return;
  if (!symmetric_) run.step("W'", n, way_down_values<C>{{here.down_entries(), here.WT}, here.WT_values, lanes});
  run.step("W", here.WT.nonzeros, gather_values<C>{here.W.sources, here.WT_values, here.W_values});
  record_in_order(run, here.down);
}

template <class C>
void hierarchy<C>::record_coarse_matrix(recorder& run, const level<C>& fine, const level<C>& coarse,
                                        std::int32_t* indices) const {
  if (is_system_) return record_coarse_node_matrix(run, fine, coarse);
  record_product_values<C>(run, "R A P", {fine.R.view, fine.RT_values}, fine.R.sources, {fine.AP, fine.AP_values},
                           coarse.A, coarse.A_values, indices, /*skips_long_rows=*/false);
}

template <class C>
void hierarchy<C>::record_inverse(recorder& run) const {
  // Whether A is symmetric is not known; where it is, the inverse is but for rounding, as the rest of the cycle is.
  const level<C>& coarsest = levels_.back();
  if (is_system_) {
    record_dense_inverse(run, matrix_view<double>{coarsest_, coarsest.in_double.A}, epsilon_, work_.data(),
                         inverse_.data(), /*symmetric=*/false, is_finest(coarsest));
  } else {
    record_dense_inverse(run, coarsest.matrix(), epsilon_, work_.data(), inverse_.data(), /*symmetric=*/false,
                         is_finest(coarsest));
  }
}

template <class C>
void hierarchy<C>::record_finest_level(recorder& run) const {
  const level<C>& finest = levels_.front();
  if (is_system_) return record_finest_nodes(run);
  if (symmetric_) return;
  run.step("values on the pattern of A and A'", given_.rows,
           spread_values<C>{{given_, given_values_}, finest.A, finest.A_values, given_.lanes(4)});
}
template <class C>
void hierarchy<C>::record_values(recorder& run) const {
  record_finest_level(run);
  for (std::size_t k = 0; k < levels_.size(); ++k) {
    const bool is_last = k + 1 == levels_.size();
    if (!is_last || !has_inverse()) {
      record_products(run, levels_[k]);
      record_cycle_matrices(run, levels_[k]);
    }
    if (!is_last) record_coarse_matrix(run, levels_[k], levels_[k + 1]);
  }
  if (has_inverse()) record_inverse(run);
}

}  // namespace whilst::multigrid

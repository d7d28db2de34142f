#pragma once

#include "solvers/linear/multigrid/cycles/gauss_seidel.hpp"
#include "solvers/linear/multigrid/cycles/largest_eigenvalue.hpp"
#include "solvers/linear/multigrid/cycles/smoother_values.hpp"
#include "solvers/linear/multigrid/hierarchy.hpp"

/// What a hierarchy makes for cycles and smoothers other than the default ones. For hierarchy.cpp, which instantiates
/// it; after hierarchy_of_nodes.hpp.

namespace whilst::multigrid {

/// M, where it is not that of spai0.
template <class C>
void hierarchy<C>::record_smoother(recorder& run, const level<C>& here) const {
  const index_type n = here.A.rows;
  const int lanes = here.A.lanes(8);
  if (plan_.smoother == smoother_kind::l1_jacobi)
    run.step("M of l1-Jacobi", n, l1_values<C>{here.matrix(), here.M, lanes});
  const node_matrix<C> A{here.A, here.A_values, 1, 1};
  constexpr double most = 1.9;  // the sums of the sizes in a row of M A: see smoother_values
  record_weight<1>(run, A, here.M, most, here);
  if (is_finest(here)) run.step("rows of zeros", n, unit_for_zero_rows<C>{A, here.M});
}
/// The same of a system, whose M of spai0 has been damped by an estimate of its largest eigenvalue, and is part of P.
template <class C>
void hierarchy<C>::record_node_smoother(recorder& run, const level<C>& here) const {
  double* const M = here.in_double.M;
  if (plan_.smoother == smoother_kind::l1_jacobi)
    with_block_size(here.block, [&](auto size) {
      run.step("M of l1-Jacobi", here.A.rows, node_l1_values<size>{here.nodes_of_A(), M, here.A.lanes(2)});
    });
  constexpr double most = 2 * largest_eigenvalue;
  with_block_size(here.block, [&](auto size) { record_weight<size>(run, here.nodes_of_A(), M, most, here); });
  if (is_finest(here)) run.step("rows of zeros", here.unknowns(), unit_for_zero_rows<double>{here.nodes_of_A(), M});
}
/// M for a polynomial: weighted by the largest eigenvalue of M A, which is no more than `most`, or, under a method for
/// any matrix, by that.
template <class C>
template <int size, class V>
void hierarchy<C>::record_weight(recorder& run, const node_matrix<V>& A, V* M, double most,
                                 const level<C>& here) const {
  if (!plan_.uses_polynomial()) return;
  if (for_symmetric_) {
    record_weighted<size>(run, A, M, plan_.inner_weight, most, here.lanczos);
  } else {
    run.step("M, weighted", here.unknowns() * here.block, scale_smoother<V>{plan_.inner_weight / most, M});
  }
}

/// The matrix of a level for a cycle that has products with it, and colours for a smoother that goes by them.
template <class C>
void hierarchy<C>::take_whole_matrix(recorder& run, level<C>& fine, level_memory& scratch) {
  if (plan_.goes_by_colours())
    fine.colours = colouring::colour_rows("making preconditioner amg", "Use another smoother, as chebyshev", where_,
                                          fine.A, kept_, scratch);
  const auto number = static_cast<std::size_t>(&fine - levels_.data());
  plan_.choose_revisited(number, fine.unknowns(), levels_.front().unknowns());
  if (!plan_.uses_A_on(number)) return;
  // Sweeps by colours read A as it is, and what they leave of b has to be of the same A, for M to be symmetric.
  const bool rounded = !plan_.goes_by_colours();
  if (is_system_) {
    fine.whole_values = kept_.take<C>(fine.nodes_of_A().nonzeros()).data();
    const pattern_view nothing{fine.A.rows, 0, 0, nullptr, nullptr};
    fine.whole = interleaved(run, unfolded(run, fine.nodes_of_A(), nothing, 0), fine.whole_values, rounded);
    if (plan_.goes_by_colours()) fine.inverse_blocks = kept_.take<C>(fine.unknowns() * fine.block).data();
  } else {
    fine.whole_values = fine.A_values;
    fine.whole = interleaved(run, fine.A, fine.whole_values, rounded);
  }
}
template <class C>
void hierarchy<C>::record_whole_matrix(recorder& run, const level<C>& here) const {
  if (!here.whole_values) return;
  if (is_system_)
    run.step("A in the cycle's numbers", here.whole.pattern.nonzeros,
             round_values<C>{here.in_double.A, here.whole_values});
  if (here.inverse_blocks)
    with_block_size(here.block, [&](auto size) {
      run.step("inverse blocks", here.A.rows, invert_diagonal<C, size>{here.nodes_of_A(), here.inverse_blocks});
    });
  record_in_order(run, here.whole);
}

}  // namespace whilst::multigrid

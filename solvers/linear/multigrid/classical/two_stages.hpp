#pragma once

#include <cstdint>

#include "solvers/linear/multigrid/classical/extended_interpolation.hpp"
#include "solvers/linear/multigrid/patterns/row_merge.hpp"

namespace whilst::multigrid {

/// Interpolation in two stages, for aggressive coarsening: of all unknowns from those of a first split, and of these
/// from the ones that a second split has left. Both are extended_interpolation with the matrix of the level, the second
/// one of rows of the first split alone. U. M. Yang, "On long-range interpolation operators for aggressive coarsening",
/// Numer. Linear Algebra Appl. 17 (2010) 453-472.
///
/// The coarse unknowns of the first split keep their own numbers, so the second stage has as many rows as there are
/// unknowns, and the weights are the product P1 P2.
template <class C>
struct two_stages {
  extended_interpolation<C> first;  ///< the second is the level's
  pattern_view P1, P2, product;
  C *P1_values = nullptr, *P2_values = nullptr, *product_values = nullptr;
};

/// Gives coarse unknowns their own numbers.
struct keep_own_number {
  std::int32_t* coarse;
  WHILST_HD void operator()(index_type i) const {
    if (coarse[i] >= 0) coarse[i] = static_cast<std::int32_t>(i);
  }
};

/// The coarse unknowns that are reached from a coarse one by at most two strong dependences are E K, where rows of E
/// are these: an unknown itself and those on which it depends, but none of a fine one;
struct rows_of_coarse {
  const std::int32_t* coarse;
  WHILST_HD std::int32_t own(index_type i) const { return coarse[i] >= 0 ? static_cast<std::int32_t>(i) : no_column; }
  WHILST_HD std::int32_t operator()(index_type i, std::int32_t, std::int32_t j) const {
    return coarse[i] >= 0 ? j : no_column;
  }
};
/// and rows of K the same without fine ones among their columns. An unknown that reaches no other one reaches itself,
/// so the second split does not lose it.
struct columns_of_coarse {
  const std::int32_t* coarse;
  WHILST_HD std::int32_t own(index_type i) const { return column(static_cast<std::int32_t>(i)); }
  WHILST_HD std::int32_t operator()(index_type, std::int32_t, std::int32_t j) const { return column(j); }

 private:
  WHILST_HD std::int32_t column(std::int32_t j) const { return coarse[j] >= 0 ? j : no_column; }
};

}  // namespace whilst::multigrid

#pragma once

#include <cmath>
#include <cstdint>

#include "solvers/linear/multigrid/classical/strong_dependence.hpp"
#include "solvers/linear/multigrid/patterns/row_merge.hpp"

namespace whilst::multigrid {

/// Interpolation "extended+i" of H. De Sterck, R. D. Falgout, J. W. Nolting, U. M. Yang, "Distance-two interpolation
/// for parallel algebraic multigrid", Numer. Linear Algebra Appl. 15 (2008) 115-139, section 4.5: a fine unknown i is
/// interpolated from the coarse ones C_i on which it depends strongly and from those on which its strong fine
/// neighbours F_i do. Of these coarse unknowns, j,
///
///   w_ij = -(a_ij + sum over k in F_i of s_ik a_kj) / d_i,  s_ik = a_ik / (sum of a_kl over all j and i),
///   d_i = a_ii + sum over k in F_i of s_ik a_ki + sum of the a_in that are in neither set.
///
/// Here a counts where its sign is opposite to its row's diagonal; other entries are added to d_i. (The article does so
/// but for an a_ij from j to i itself.) A k whose sum vanishes counts as one that is in neither set.
///
/// So W = S A_c, where row i of S has -1 / d_i at i and -s_ik / d_i at the k, and A_c is A with coarse columns alone,
/// and a row of the identity for a coarse unknown; but W has fewer columns than that product.
template <class C>
struct extended_interpolation {
  std::int32_t* coarse = nullptr;  ///< of each unknown its number on the coarser level, -1 for a fine one
  pattern_view S, A_c, W;
  C *S_values = nullptr, *A_c_values = nullptr, *W_values = nullptr, *diagonal = nullptr;

  WHILST_HD static bool has(const pattern_view& pattern, index_type i, std::int32_t column) {
    const std::int32_t at = pattern.find(i, column);
    return at < pattern.offsets[i + 1] && pattern.indices[at] == column;
  }
  WHILST_HD bool interpolates(index_type i, std::int32_t j) const { return coarse[j] >= 0 && has(W, i, coarse[j]); }
};

/// A_c.
template <class C>
struct coarse_entries {
  matrix_view<C> A;
  extended_interpolation<C> of;
  int lanes;

  WHILST_HD int lanes_wanted() const { return lanes; }
  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    const bool is_coarse = of.coarse[i] >= 0;
    const double own = static_cast<double>(of.diagonal[i]);
    const std::int32_t begin = A.pattern.offsets[i], end = is_coarse ? begin : A.pattern.offsets[i + 1];
    of.A_c.each_entry(i, team, [&](std::int32_t at, std::int32_t column) {
      double sum = is_coarse;
      for (std::int32_t e = begin; e < end; ++e)
        if (of.coarse[A.pattern.indices[e]] == column) sum += opposite(own, static_cast<double>(A.values[e]));
      of.A_c_values[at] = static_cast<C>(sum);
    });
  }
};

/// S.
template <class C>
struct shares_of_neighbours {
  matrix_view<C> A;
  extended_interpolation<C> of;
  int lanes;

  WHILST_HD int lanes_wanted() const { return lanes; }
  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    const bool is_fine = of.coarse[i] < 0 && of.W.offsets[i] < of.W.offsets[i + 1];
    const double d = is_fine ? interpolated_diagonal(i, team) : -1, scale = d != 0 ? -1 / d : 0;
    of.S.each_entry(i, team, [&](std::int32_t s, std::int32_t k) {
      const double share = k == i ? 1 : is_fine ? static_cast<double>(of.S_values[s]) : 0;
      of.S_values[s] = static_cast<C>(scale * share);
    });
  }

 private:
  /// Returns d_i, and leaves s_ik.
  template <class Team>
  WHILST_HD double interpolated_diagonal(index_type i, const Team& team) const {
    const double own = static_cast<double>(of.diagonal[i]);
    double added = 0;
    of.S.each_entry(i, team, [&](std::int32_t s, std::int32_t k) {
      if (k == i) return;
      const double a = entry(i, k);
      const sums<double, 2> of_k = sums_of(k, i);
      const double share = of_k[0] != 0 ? a / of_k[0] : 0;
      of.S_values[s] = static_cast<C>(share);
      added += of_k[0] != 0 ? share * of_k[1] : a;
    });
    A.pattern.each_entry(i, team, [&](std::int32_t e, std::int32_t j) {
      const double a = static_cast<double>(A.values[e]);
      const bool is_used = opposite(own, a) != 0 && (of.interpolates(i, j) || (j != i && of.has(of.S, i, j)));
      if (j != i && !is_used) added += a;
    });
    added = team.sum(added);
    // Neighbours may cancel a diagonal: then they are left out.
    return (own + added) / own > 0 ? own + added : own;
  }
  WHILST_HD double entry(index_type i, std::int32_t column) const {
    const double own = static_cast<double>(of.diagonal[i]);
    double sum = 0;
    for (std::int32_t e = A.pattern.offsets[i]; e < A.pattern.offsets[i + 1]; ++e)
      if (A.pattern.indices[e] == column) sum += opposite(own, static_cast<double>(A.values[e]));
    return sum;
  }
  /// Of row k, what belongs to i and the unknowns that interpolate it, and what to i alone.
  WHILST_HD sums<double, 2> sums_of(std::int32_t k, index_type i) const {
    const double own = static_cast<double>(of.diagonal[k]);
    sums<double, 2> of_k{};
    for (std::int32_t e = A.pattern.offsets[k]; e < A.pattern.offsets[k + 1]; ++e) {
      const std::int32_t l = A.pattern.indices[e];
      const double a = opposite(own, static_cast<double>(A.values[e]));
      if (a == 0 || (l != i && !of.interpolates(i, l))) continue;
      of_k.value[0] += a;
      if (l == i) of_k.value[1] += a;
    }
    return of_k;
  }
};

/// W = S A_c on its pattern.
template <class C>
struct interpolation_weights {
  static constexpr int blocks_wanted = 4;
  extended_interpolation<C> of;
  int lanes;

  WHILST_HD int lanes_wanted() const { return lanes; }
  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    row_merge<C> row({of.S, of.S_values}, nullptr, {of.A_c, of.A_c_values}, i, team);
    std::int32_t q = of.W.offsets[i];
    const std::int32_t end = of.W.offsets[i + 1];
    std::int32_t column = -1;
    while (q < end) {
      column = team.least(row.beyond(column));
      if (column == no_column) return;  // S A_c has all columns of W
      if (of.W.indices[q] != column) continue;
      const double sum = team.sum(row.share(column));
      if (team.rank() == 0) of.W_values[q] = static_cast<C>(sum);
      ++q;
    }
  }
};

/// Which weights a row keeps: so many that are largest, of equal ones the first. Source of columns, as
/// columns_of_product.
template <class C>
struct largest_weights {
  matrix_view<C> W;
  int most;  ///< 0: all

  template <class Team>
  class row {
   public:
    WHILST_HD row(const largest_weights& of, index_type i, const Team& team) : of_(of), i_(i), team_(team) {
      const std::int32_t count = of.W.pattern.offsets[i + 1] - of.W.pattern.offsets[i];
      if (of.most == 0 || count <= of.most) return;
      for (int k = 0; k < of.most; ++k) {
        const C size_before = size_;
        const std::int32_t column_before = column_;
        C largest = -1;
        of.W.pattern.each_entry(i, team, [&](std::int32_t q, std::int32_t column) {
          const C size = fabs(of.W.values[q]);
          if (is_before(size_before, column_before, size, column) && size > largest) largest = size;
        });
        size_ = -team.least(-largest);
        std::int32_t first = no_column;
        of.W.pattern.each_entry(i, team, [&](std::int32_t q, std::int32_t column) {
          const C size = fabs(of.W.values[q]);
          if (size == size_ && is_before(size_before, column_before, size, column) && column < first) first = column;
        });
        column_ = team.least(first);
      }
      is_cut_ = true;
    }
    WHILST_HD std::int32_t beyond(std::int32_t last) const {
      std::int32_t least = no_column;
      of_.W.pattern.each_entry(i_, team_, [&](std::int32_t q, std::int32_t column) {
        const bool is_kept = !is_cut_ || !is_before(size_, column_, fabs(of_.W.values[q]), column);
        if (column > last && column < least && is_kept) least = column;
      });
      return least;
    }

   private:
    /// Whether the first of two comes before the second.
    WHILST_HD static bool is_before(C size, std::int32_t column, C other_size, std::int32_t other_column) {
      return size > other_size || (size == other_size && column < other_column);
    }

    const largest_weights& of_;
    index_type i_;
    const Team& team_;
    C size_ = static_cast<C>(HUGE_VAL);  ///< of the last one that is kept
    std::int32_t column_ = -1;
    bool is_cut_ = false;
  };
  template <class Team>
  WHILST_HD row<Team> begin(index_type i, const Team& team) const {
    return {*this, i, team};
  }
};

/// P: the weights that are kept, scaled so that the row's sum stays; but no larger than 2. Weights are positive, and
/// where the diagonal is at least the sum of the row's other sizes their sum is 1 at most.
template <class C>
struct kept_weights {
  matrix_view<C> W;
  pattern_view P;
  C* values;
  int lanes;

  WHILST_HD int lanes_wanted() const { return lanes; }
  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    sums<double, 2> whole_and_kept{};
    W.pattern.each_entry(
        i, team, [&](std::int32_t q, std::int32_t) { whole_and_kept.value[0] += static_cast<double>(W.values[q]); });
    P.each_entry(i, team, [&](std::int32_t, std::int32_t column) {
      whole_and_kept.value[1] += static_cast<double>(W.values[W.pattern.find(i, column)]);
    });
    whole_and_kept = team.sum(whole_and_kept);
    constexpr double most = 2;
    const double whole = whole_and_kept[0] < most ? whole_and_kept[0] : most;
    const double scale = whole_and_kept[1] > 0 ? whole / whole_and_kept[1] : 0;
    P.each_entry(i, team, [&](std::int32_t at, std::int32_t column) {
      values[at] = static_cast<C>(scale * static_cast<double>(W.values[W.pattern.find(i, column)]));
    });
  }
};

}  // namespace whilst::multigrid

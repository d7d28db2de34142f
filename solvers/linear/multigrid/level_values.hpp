#pragma once

#include <cmath>
#include <cstdint>

#include "solvers/linear/multigrid/patterns/row_merge.hpp"
#include "solvers/linear/multigrid/strength.hpp"
#include "whilst/basics/views.hpp"

namespace whilst::multigrid {

/// How the values of a level are made from those of its matrix, on patterns that are known: the steps that a refresh
/// records. Sums are formed in double.

/// The aggregates that row i of P names: its own and those of the neighbours that it follows; or, by strong entries of
/// another kind, those beside it.
template <class C>
struct columns_of_prolongation {
  strong_graph<C> graph;
  const std::int32_t* aggregate;
  strength counted = for_prolongation;  ///< which entries lead to others' aggregates

  class row {
    static constexpr int held = on_device ? 8 : 64;

   public:
    template <class Team>
    WHILST_HD row(const columns_of_prolongation& of, index_type i, const Team& team)
        : of_(of),
          step_(team.size()),
          begin_(of.graph.A.pattern.offsets[i] + team.rank()),
          end_(of.graph.A.pattern.offsets[i + 1]) {
      own_ = column(of.aggregate[i]);
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (int j = 0; j < held; ++j) column_[j] = of_entry(begin_ + j * step_);
    }
    WHILST_HD std::int32_t beyond(std::int32_t last) const {
      std::int32_t least = own_ > last ? own_ : no_column;
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (int j = 0; j < held; ++j)
        if (column_[j] > last && column_[j] < least) least = column_[j];
      for (std::int32_t e = begin_ + held * step_; e < end_; e += step_) {
        const std::int32_t other = of_entry(e);
        if (other > last && other < least) least = other;
      }
      return least;
    }
    /// Calls use(e) for the strong entries e of A whose neighbours are in that aggregate.
    template <class Use>
    WHILST_HD void take(std::int32_t aggregate, const Use& use) const {
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (int j = 0; j < held; ++j)
        if (column_[j] == aggregate) use(begin_ + j * step_);
      for (std::int32_t e = begin_ + held * step_; e < end_; e += step_)
        if (of_entry(e) == aggregate) use(e);
    }

   private:
    WHILST_HD static std::int32_t column(std::int32_t aggregate) { return aggregate < 0 ? no_column : aggregate; }
    WHILST_HD std::int32_t of_entry(std::int32_t e) const {
      if (e >= end_ || !(of_.graph.strong[e] & of_.counted)) return no_column;
      return column(of_.aggregate[of_.graph.A.pattern.indices[e]]);
    }

    const columns_of_prolongation& of_;
    std::int32_t step_, begin_, end_, own_, column_[held];
  };
  template <class Team>
  WHILST_HD row begin(index_type i, const Team& team) const {
    return {*this, i, team};
  }
};

/// The prolongation of smoothed aggregation: P = (I - W A) T, where T_ig is 1 for the aggregate g of unknown i, A is
/// the matrix without its weak entries, which are added to the diagonal, and W = 4/3 (|D| + L)^-1 for its diagonal D
/// and L_i, the sum of |a_ij| beside it. By rows and not by the spectral radius as in P. Vanek, J. Mandel, M. Brezina,
/// Computing 56 (1996), so that one row far from dominance does not slow down all others.
///
/// An unknown in no aggregate that follows others takes its value from its own equation.
///
/// Of A' and with another factor than 4/3, the transpose of a restriction.
template <class C>
struct prolongation_values {
  columns_of_prolongation<C> of;
  pattern_view P;
  C* values;
  double factor;
  int lanes;

  WHILST_HD int lanes_wanted() const { return lanes; }
  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    const matrix_view<C>& A = of.graph.A;
    sums<double, 3> of_row{};  // diagonal, weak entries, sizes of strong ones
    A.pattern.each_entry(i, team, [&](std::int32_t e, std::int32_t j) {
      const double a = static_cast<double>(A.values[e]);
      // What follows an unknown in no aggregate has nothing to take from it.
      const bool is_strong = of.graph.joins(e) || (of.graph.follows(e) && of.aggregate[j] >= 0);
      of_row.value[is_strong ? 2 : j == i ? 0 : 1] += is_strong ? fabs(a) : a;
    });
    of_row = team.sum(of_row);
    const double lumped = of_row[0] + of_row[1];
    // Weak entries may cancel a diagonal: then they are left out.
    const double diagonal = lumped * of_row[0] > 0 ? lumped : of_row[0];
    const double size = fabs(diagonal) + of_row[2];
    const std::int32_t own = of.aggregate[i], end = P.offsets[i + 1];
    double weight = size > 0 ? (diagonal < 0 ? -factor : factor) / size : 0;
    if (own < 0 && diagonal != 0) weight = 1 / diagonal;  // its equation, solved for it
    const auto row = of.begin(i, team);
    for (std::int32_t q = P.offsets[i]; q < end; ++q) {
      const std::int32_t g = P.indices[q];
      double sum = 0;
      row.take(g, [&](std::int32_t e) { sum -= weight * static_cast<double>(A.values[e]); });
      sum = team.sum(sum);
      if (team.rank() == 0) values[q] = static_cast<C>(own == g ? sum + (1 - weight * diagonal) : sum);
    }
  }
};
/// The smoother, a diagonal M: the sparse approximate inverse on the diagonal's pattern, m_i = a_ii / sum_j a_ij^2, of
/// O. Broeker, M. J. Grote, Appl. Numer. Math. 41 (2002). It damps by itself, as much as a row's neighbours ask for. A
/// row without a diagonal is left as it is: its smoother is 0.
template <class C>
struct smoother_values {
  matrix_view<C> A;
  C* M;
  int lanes;

  WHILST_HD int lanes_wanted() const { return lanes; }
  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    sums<double, 3> of_row{};
    A.pattern.each_entry(i, team, [&](std::int32_t e, std::int32_t j) {
      const double a = static_cast<double>(A.values[e]);
      of_row.value[0] += j == i ? a : 0;
      of_row.value[1] += a * a;
      of_row.value[2] += fabs(a);
    });
    of_row = team.sum(of_row);
    if (team.rank() > 0) return;
    double m = of_row[1] > 0 ? of_row[0] / of_row[1] : 0;
    const double most = 1.9 / of_row[2];
    if (m > most) m = most;
    if (m < -most) m = -most;
    M[i] = static_cast<C>(m);
  }
};

/// The entries of Q = P - M A P, the prolongation with the smoothing that follows, and which of them are kept:
/// smoothing twice leaves many that are hardly more than zero. Those below a share of their row's largest are dropped
/// and the others scaled, so that the row's sum, and with it the constant, stays what it was. The way down is Q', so
/// the cycle stays symmetric; or else, of A' and R', W' = R' - M A'R', whose entries are made and kept likewise.
template <class C>
struct entries_of_Q {
  static constexpr double least_share = 0.02;  // costs no iteration, and saves a fifth to three fifths of the entries
  matrix_view<C> P, AP;
  const C* M;

  /// That of entry q of A P, in row i and column g.
  WHILST_HD double value(index_type i, std::int32_t q, std::int32_t g) const {
    const std::int32_t at = P.pattern.find(i, g);
    const bool is_in_P = at < P.pattern.offsets[i + 1] && P.pattern.indices[at] == g;
    // The same bits in every kernel: one counts what is kept, another puts it where the first left room.
    return fma(-static_cast<double>(M[i]), static_cast<double>(AP.values[q]),
               is_in_P ? static_cast<double>(P.values[at]) : 0.0);
  }

  /// Which entries of a row are kept. A thread remembers its first ones.
  class row {
   public:
    template <class Team>
    WHILST_HD row(const entries_of_Q& of, index_type i, const Team& team)
        : of_(of),
          i_(i),
          step_(team.size()),
          begin_(of.AP.pattern.offsets[i]),
          end_(of.AP.pattern.offsets[i + 1]),
          rank_(team.rank()) {
      double most = 0;
      WHILST_UNROLLED
      for (int j = 0; j < held; ++j) {
        if (!on_device && begin_ + j * step_ >= end_) break;
        column_[j] = column(j);
        size_[j] = size(j, column_[j]);
        most = size_[j] > most ? size_[j] : most;
      }
      for (int j = held; begin_ + j * step_ < end_; ++j) {
        const double other = size(j, column(j));
        most = other > most ? other : most;
      }
      least_ = -least_share * team.least(-most);
    }
    /// Calls use(is_kept, column) on all threads for as many entries each; those beyond the row's end are not kept.
    template <class Use>
    WHILST_HD void each(const Use& use) const {
      WHILST_UNROLLED
      for (int j = 0; j < held; ++j) {
        if (begin_ + j * step_ >= end_) break;
        use(column_[j] != no_column && !(size_[j] < least_), column_[j]);
      }
      for (int j = held; begin_ + j * step_ < end_; ++j) {
        const std::int32_t g = column(j);
        use(g != no_column && !(size(j, g) < least_), g);
      }
    }

   private:
    static constexpr int held = on_device ? 4 : 64;
    /// Of the thread's entry j, or no_column.
    WHILST_HD std::int32_t column(int j) const {
      const std::int32_t q = begin_ + j * step_ + rank_;
      return q < end_ ? of_.AP.pattern.indices[q] : no_column;
    }
    WHILST_HD double size(int j, std::int32_t column) const {
      return column == no_column ? 0 : fabs(of_.value(i_, begin_ + j * step_ + rank_, column));
    }

    const entries_of_Q& of_;
    index_type i_;
    std::int32_t step_, begin_, end_, rank_, column_[held];
    double size_[held], least_;
  };
};
template <class C>
struct count_kept_of_Q {
  entries_of_Q<C> all;
  std::int32_t* counts;
  int lanes;

  WHILST_HD int lanes_wanted() const { return lanes; }
  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    std::int32_t count = 0;
    const typename entries_of_Q<C>::row row(all, i, team);
    row.each([&](bool is_kept, std::int32_t) { count += is_kept; });
    count = team.sum(count);
    if (team.rank() == 0) counts[i] = count;
  }
};
template <class C>
struct put_kept_of_Q {
  entries_of_Q<C> all;
  const std::int32_t* offsets;
  std::int32_t* indices;
  int lanes;

  WHILST_HD int lanes_wanted() const { return lanes; }
  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    std::int32_t to = offsets[i];
    const typename entries_of_Q<C>::row row(all, i, team);
    row.each([&](bool is_kept, std::int32_t column) {
      const std::int32_t before = team.sum_before(static_cast<std::int32_t>(is_kept));
      if (is_kept) indices[to + before] = column;
      to += team.sum(static_cast<std::int32_t>(is_kept));
    });
  }
};

/// What a level does on the way up: [S | Q], with S = 2 M - M A M, which smooths before and after. Columns of Q come
/// after those of S.
struct put_way_up {
  pattern_view A, Q;
  std::int32_t *offsets, *indices;
  int lanes;

  WHILST_HD int lanes_wanted() const { return lanes; }
  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    const std::int32_t before_A = A.offsets[i], before_Q = Q.offsets[i];
    std::int32_t* const of_S = indices + before_Q;  // entry e of A, after the rows of Q before it
    std::int32_t* const of_Q = indices + A.offsets[i + 1];
    const auto n = static_cast<std::int32_t>(A.rows);
    A.each_entry(i, team, [&](std::int32_t e, std::int32_t j) { of_S[e] = j; });
    Q.each_entry(i, team, [&](std::int32_t q, std::int32_t g) { of_Q[q] = n + g; });
    if (team.rank() > 0) return;
    offsets[i] = before_A + before_Q;
    if (i + 1 == A.rows) offsets[i + 1] = A.offsets[i + 1] + Q.offsets[i + 1];
  }
};
/// The values of Q, those that are kept.
template <class C>
struct values_of_Q {
  entries_of_Q<C> all;
  pattern_view Q;

  /// Calls put(at, value) for the entries of row i that the calling thread works on.
  template <class Team, class Put>
  WHILST_HD void each(index_type i, const Team& team, const Put& put) const {
    sums<double, 2> whole_and_kept{};
    each_of_all(i, team, [&](std::int32_t at, double value) {
      whole_and_kept.value[0] += value;
      if (at >= 0) whole_and_kept.value[1] += value;
    });
    whole_and_kept = team.sum(whole_and_kept);
    const double ratio = whole_and_kept[0] / whole_and_kept[1], scale = ratio > 0.5 && ratio < 2 ? ratio : 1;
    each_of_all(i, team, [&](std::int32_t at, double value) {
      if (at >= 0) put(at, static_cast<C>(scale * value));
    });
  }

 private:
  /// Calls use(at, value) for the entries of A P, where `at` is the entry of Q, or -1 for one that is not kept. Twice
  /// the work takes less time than the registers for what the first call has found.
  template <class Team, class Use>
  WHILST_HD void each_of_all(index_type i, const Team& team, const Use& use) const {
    all.AP.pattern.each_entry(i, team, [&](std::int32_t q, std::int32_t g) {
      const std::int32_t at = Q.find(i, g);
      use(at < Q.offsets[i + 1] && Q.indices[at] == g ? at : -1, all.value(i, q, g));
    });
  }
};
/// Q's values are also left in its own order, for those of its transpose, unless Q_values is null.
template <class C>
struct way_up_values {
  matrix_view<C> A;
  values_of_Q<C> of_Q;
  C *up, *Q_values;
  int lanes;

  WHILST_HD int lanes_wanted() const { return lanes; }
  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    C *const S = up + of_Q.Q.offsets[i], *const Q = up + A.pattern.offsets[i + 1];
    const C* const M = of_Q.all.M;
    const double m = static_cast<double>(M[i]);
    int diagonals = 0;  // a row may have its diagonal in parts
    A.pattern.each_entry(i, team, [&](std::int32_t, std::int32_t j) { diagonals += j == i; });
    diagonals = team.sum(diagonals);
    A.pattern.each_entry(i, team, [&](std::int32_t e, std::int32_t j) {
      const double mam = m * static_cast<double>(A.values[e]) * static_cast<double>(M[j]);
      S[e] = static_cast<C>((j == i ? 2 * m / diagonals : 0) - mam);
    });
    of_Q.each(i, team, [&](std::int32_t at, C value) {
      Q[at] = value;
      if (Q_values) Q_values[at] = value;
    });
  }
};
/// What a level of a nonsymmetric matrix does on the way down, as its transpose W'.
template <class C>
struct way_down_values {
  values_of_Q<C> of_WT;
  C* values;
  int lanes;

  WHILST_HD int lanes_wanted() const { return lanes; }
  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    of_WT.each(i, team, [&](std::int32_t at, C value) { values[at] = value; });
  }
};

/// Values in another order.
template <class C>
struct gather_values {
  const std::int32_t* sources;
  const C* values;
  C* gathered;
  WHILST_HD void operator()(index_type e) const { gathered[e] = values[sources[e]]; }
};

}  // namespace whilst::multigrid

#pragma once

#include "solvers/linear/multigrid/cycles/interleaved_product.hpp"
#include "whilst/linear/operators.hpp"

namespace whilst::multigrid {

/// On the finest level, where the cycle has the caller's numbers: the caller's r and, behind it, what the next coarser
/// level answers. They lie apart; one address is chosen without a branch, which would have reads wait for one another.
template <class C>
struct finest_vector {
  const C *r, *e;
  index_type n;
  WHILST_HD C operator[](index_type i) const {
    const C* const from = i < n ? r : e - n;
    return from[i];
  }
};
/// Where the cycle has shorter numbers than the caller: r in these, since rows read each entry several times.
template <class C, class T>
struct round_vector {
  const T* r;
  C* rounded;
  WHILST_HD void operator()(index_type i) const { rounded[i] = static_cast<C>(r[i]); }
  index_type bytes(index_type n) const { return n * static_cast<index_type>(sizeof(T) + sizeof(C)); }
};

/// The coarsest level: A^-1 x by rows of the inverse; x has numbers or tiles of columns.
template <class C, class X, class Put>
struct inverse_product {
  static constexpr bool fetches_constants = false;
  using number = std::remove_cvref_t<decltype(std::declval<const X&>()[0])>;
  index_type n;
  const C* inverse;
  X x;
  Put put;

  /// Entries of a lane, so many at once that few waits suffice for a long row.
  static constexpr int held = is_column_tile<number> ? 4 : 16;
  template <class Number>
  struct entries {
    Number value[held];
  };
  WHILST_HD static int lanes_wanted() { return 32; }
  template <class Team>
  WHILST_HD entries<C> fetch(index_type i, const Team& team) const {
    return load<C>(team.rank(), team, [&](index_type j) { return team.early(inverse + i * n + j); });
  }
  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team, entries<C> e) const {
    number sum[4] = {0, 0, 0, 0};  // chains of additions that overlap
    for (index_type from = team.rank(); from < n; from += held * team.size()) {
      if (from >= held * team.size()) e = load<C>(from, team, [&](index_type j) { return inverse[i * n + j]; });
      const entries<number> of_x = load<number>(from, team, [&](index_type j) { return x[j]; });
      WHILST_UNROLLED
      for (int k = 0; k < held; ++k) sum[k % 4] += static_cast<number>(e.value[k]) * of_x.value[k];
    }
    const number total = total_of(team, (sum[0] + sum[1]) + (sum[2] + sum[3]));
    if (team.rank() == 0) put(i, total);
  }
  index_type bytes(index_type) const { return n * (n + 1) * static_cast<index_type>(sizeof(C)); }

 private:
  template <class Number, class Team, class Read>
  WHILST_HD entries<Number> load(index_type from, const Team& team, const Read& read) const {
    entries<Number> e;
    WHILST_UNROLLED
    for (int k = 0; k < held; ++k) {
      const index_type j = from + k * team.size();
      e.value[k] = j < n ? read(j) : Number(0);
    }
    return e;
  }
};

}  // namespace whilst::multigrid

#pragma once

#include <type_traits>

#include "solvers/linear/multigrid/cycles/interleaved_rows.hpp"

namespace whilst::multigrid {

/// What becomes of a row's product: y = *factor A x; factor is null for 1. Others are in deeper_cycle_steps.hpp.
template <class Y>
struct put_scaled {
  Y* y;
  const double* factor;

  template <class S>
  WHILST_HD void operator()(index_type row, S sum) const {
    y[row] = factor ? static_cast<Y>(*factor * static_cast<double>(sum)) : static_cast<Y>(sum);
  }
  index_type bytes(index_type n) const { return n * static_cast<index_type>(sizeof(Y)); }
};

/// A product A x, and what Put makes of each row's; Put may return sums. On a GPU of the rows of a warp, on the host of
/// one row. Sums of a row are in the numbers of x.
template <class C, class X, class Put>
struct interleaved_product {
  static constexpr bool fetches_constants = false;
  static constexpr int blocks_wanted = sizeof(C) == 4 ? 4 : 3;
  interleaved_rows<C> A;
  X x;
  Put put;

  WHILST_HD int lanes_wanted() const { return A.columns ? interleaved_rows<C>::warp : 1; }
  template <class Team>
  WHILST_HD auto fetch([[maybe_unused]] index_type i, const Team&) const {
    if constexpr (on_device) {
      return A.fetch(i);
    } else {
      return row_of_host{};
    }
  }
  template <class Team, class Fetched>
  WHILST_HD auto operator()([[maybe_unused]] index_type i, [[maybe_unused]] const Team& team,
                            [[maybe_unused]] const Fetched& fetched) const {
    using number = std::remove_cvref_t<decltype(x[0])>;
    using result = decltype(put(i, number()));
    if constexpr (on_device) {
      const number sum = A.times(fetched, x);
      const bool is_own = A.leads() && fetched.row < A.pattern.rows;
      if constexpr (std::is_void_v<result>) {
        if (is_own) put(fetched.row, sum);
      } else {
        result share{};
        if (is_own) share = put(fetched.row, sum);
        return team.sum(share);  // a step takes that of the team's first thread
      }
    } else {
      number sum = 0;
      A.pattern.each_entry(i, team,
                           [&](std::int32_t e, std::int32_t j) { sum += static_cast<number>(A.csr_values[e]) * x[j]; });
      return put(i, sum);
    }
  }
  index_type bytes(index_type) const { return A.bytes() + put.bytes(A.pattern.rows); }

 private:
  struct row_of_host {};
};

}  // namespace whilst::multigrid

#pragma once

#include <type_traits>

#include "solvers/linear/multigrid/interleaved_rows.hpp"

namespace whilst::multigrid {

/// A product y = *factor A x; factor is null for 1. On a GPU of the rows of a warp, on the host of one row. Sums are in
/// the numbers of x.
template <class C, class X, class Y>
struct interleaved_product {
  static constexpr bool fetches_constants = false;
  static constexpr int blocks_wanted = sizeof(C) == 4 ? 4 : 3;
  interleaved_rows<C> A;
  X x;
  Y* y;
  const double* factor;

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
  WHILST_HD void operator()([[maybe_unused]] index_type i, [[maybe_unused]] const Team& team,
                            [[maybe_unused]] const Fetched& fetched) const {
    if constexpr (on_device) {
      const auto sum = A.times(fetched, x);
      if (A.leads() && fetched.row < A.pattern.rows) put(fetched.row, sum);
    } else {
      using S = std::remove_cvref_t<decltype(x[0])>;
      S sum = 0;
      A.pattern.each_entry(i, team,
                           [&](std::int32_t e, std::int32_t j) { sum += static_cast<S>(A.csr_values[e]) * x[j]; });
      put(i, sum);
    }
  }
  index_type bytes(index_type) const { return A.bytes() + A.pattern.rows * static_cast<index_type>(sizeof(Y)); }

 private:
  struct row_of_host {};
  template <class S>
  WHILST_HD void put(index_type row, S sum) const {
    y[row] = factor ? static_cast<Y>(*factor * static_cast<double>(sum)) : static_cast<Y>(sum);
  }
};

}  // namespace whilst::multigrid

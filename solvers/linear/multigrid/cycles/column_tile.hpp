#pragma once

#include "whilst/basics/host_device.hpp"
#include "whilst/basics/views.hpp"

namespace whilst::multigrid {

/// A row's entries in a few columns: 16 bytes, the most that a thread reads at once. It stands for a number where
/// products are formed. Arithmetic is entry by entry, so no number of one column reaches another.
template <class C>
struct alignas(16) column_tile {
  static constexpr int columns = 16 / sizeof(C);
  C value[columns];

  column_tile() = default;
  /// The same in all columns.
  WHILST_HD column_tile(C all) {
    for (int j = 0; j < columns; ++j) value[j] = all;
  }
  WHILST_HD column_tile& operator+=(const column_tile& other) {
    for (int j = 0; j < columns; ++j) value[j] += other.value[j];
    return *this;
  }
  WHILST_HD friend column_tile operator+(column_tile a, const column_tile& b) { return a += b; }
  WHILST_HD friend column_tile operator*(column_tile a, const column_tile& b) {
    for (int j = 0; j < columns; ++j) a.value[j] *= b.value[j];
    return a;
  }
};

template <class Number>
inline constexpr bool is_column_tile = false;
template <class C>
inline constexpr bool is_column_tile<column_tile<C>> = true;

/// A number's total over a team, or those of a tile's columns.
template <class Team, class Number>
WHILST_HD Number total_of(const Team& team, const Number& share) {
  if constexpr (is_column_tile<Number>) {
    using C = std::remove_cvref_t<decltype(share.value[0])>;
    sums<C, Number::columns> shares;
    for (int j = 0; j < Number::columns; ++j) shares.value[j] = share.value[j];
    const sums<C, Number::columns> totals = team.sum(shares);
    Number total;
    for (int j = 0; j < Number::columns; ++j) total.value[j] = totals[j];
    return total;
  } else {
    return team.sum(share);
  }
}

}  // namespace whilst::multigrid

#pragma once

#include "whilst/basics/host_device.hpp"
#include "whilst/basics/index_type.hpp"
#include "whilst/basics/safe_norm.hpp"

namespace whilst {

/// The entries of a row in two neighbouring columns, which one thread works on: of doubles 16 bytes, the most that it
/// reads at once. Arithmetic is entry by entry, so no number of one column reaches the other.
template <class T>
struct alignas(2 * sizeof(T)) column_pair {
  T value[2];

  WHILST_HD T operator[](int j) const { return value[j]; }
  WHILST_HD column_pair& operator+=(const column_pair& other) { return *this = *this + other; }
  WHILST_HD friend column_pair operator+(const column_pair& a, const column_pair& b) {
    return {a[0] + b[0], a[1] + b[1]};
  }
  WHILST_HD friend column_pair operator-(const column_pair& a, const column_pair& b) {
    return {a[0] - b[0], a[1] - b[1]};
  }
  WHILST_HD friend column_pair operator*(const column_pair& a, const column_pair& b) {
    return {a[0] * b[0], a[1] * b[1]};
  }
  WHILST_HD friend column_pair operator*(T factor, const column_pair& a) { return {factor * a[0], factor * a[1]}; }
};

/// In double, and rounded once.
template <class T>
WHILST_HD column_pair<T> scaled(const column_pair<double>& factor, const column_pair<T>& a) {
  return {static_cast<T>(factor[0] * static_cast<double>(a[0])), static_cast<T>(factor[1] * static_cast<double>(a[1]))};
}

/// u = M r at a row, for a pointwise M.
template <class T, class Preconditioner>
WHILST_HD column_pair<T> preconditioned_pair(const Preconditioner& M, index_type i, const column_pair<T>& r) {
  return {M(i, r[0]), M(i, r[1])};
}

/// A row's share of the sums of its two columns.
template <int count>
struct column_sums {
  static constexpr int number = count;
  column_pair<double> value[count];

  WHILST_HD column_sums& operator+=(const column_sums& other) {
    for (int which = 0; which < count; ++which) value[which] += other.value[which];
    return *this;
  }
};
template <class T>
WHILST_HD column_pair<double> product_of(const column_pair<T>& a, const column_pair<T>& b) {
  return {static_cast<double>(a[0]) * static_cast<double>(b[0]), static_cast<double>(a[1]) * static_cast<double>(b[1])};
}
/// Of which norm_of makes norms: see squares.
template <class T>
WHILST_HD column_sums<3> squares_of_pair(const column_pair<T>& a) {
  const squares first = squares_of(a[0]), second = squares_of(a[1]);
  return {{{first.ordinary, second.ordinary}, {first.great, second.great}, {first.small, second.small}}};
}

/// Two columns of a vector of columns, for operators: the entries of row j.
template <class T>
struct pair_of_columns {
  const column_pair<T>* first;
  index_type pairs;  ///< in a row

  WHILST_HD const column_pair<T>& operator[](index_type j) const { return first[j * pairs]; }
};

}  // namespace whilst

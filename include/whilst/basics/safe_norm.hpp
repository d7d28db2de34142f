#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "whilst/basics/host_device.hpp"
#include "whilst/basics/views.hpp"

namespace whilst {

/// 2^exponent, for exponents of normal numbers: -1022 to 1023.
WHILST_HD inline double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

/// The e with 2^e <= |value| < 2^(e + 1), clamped to [-most, most] so that power_of_two accepts e and -e. Zero gives
/// -most; infinity and NaN give most.
WHILST_HD inline int binary_exponent(double value) {
  constexpr int most = 1000;
  const int e = static_cast<int>(std::bit_cast<std::uint64_t>(value) >> 52 & 0x7ff) - 1023;
  return e < -most ? -most : e > most ? most : e;
}

/// A sum of squares without underflow or overflow, in three parts: for medium, large and small numbers. A map returns
/// squares_of(x) as three of its sums; norm_of turns the totals into a Euclidean norm.
///
/// J. L. Blue, "A portable Fortran program to find the Euclidean norm of a vector", ACM Trans. Math. Softw. 4 (1978);
/// thresholds and factors for doubles by E. Anderson, "Algorithm 978: safe scaling in the Level 1 BLAS", ACM Trans.
/// Math. Softw. 44 (2017). If all numbers are medium, the norm equals the root of the plain sum bit for bit.
struct squares {
  double ordinary, great, small;
};

namespace detail {
inline constexpr double least_great = 0x1p486, most_small = 0x1p-511, shrink = 0x1p-538, stretch = 0x1p537;
}  // namespace detail

WHILST_HD inline squares squares_of(double x) {
  const double size = fabs(x);
  const bool great = size > detail::least_great, small = size < detail::most_small;
  const double scaled = great ? size * detail::shrink : small ? size * detail::stretch : size;
  const double square = scaled * scaled;
  return {great || small ? 0 : square, great ? square : 0, small ? square : 0};
}
/// A float's square is an ordinary double.
WHILST_HD inline squares squares_of(float x) { return {static_cast<double>(x) * x, 0, 0}; }

/// The root of the sum. Not finite if a number was not, or if the norm exceeds the range of double.
WHILST_HD inline double norm_of(const squares& total) {
  if (total.great > 0) return sqrt(total.great + total.ordinary * detail::shrink * detail::shrink) / detail::shrink;
  if (!(total.small > 0)) return sqrt(total.ordinary);
  const double ordinary = sqrt(total.ordinary), small = sqrt(total.small) / detail::stretch;
  if (ordinary == 0) return small;
  const double ratio = small < ordinary ? small / ordinary : ordinary / small;
  return (small < ordinary ? ordinary : small) * sqrt(1 + ratio * ratio);
}

/// The length of (one, other). hypot, which takes ten times as long, only where their squares might leave the range.
WHILST_HD inline double length_of(double one, double other) {
  const double square = one * one + other * other;
  return square > 0x1p-900 && square < 0x1p1000 ? sqrt(square) : hypot(one, other);
}

}  // namespace whilst

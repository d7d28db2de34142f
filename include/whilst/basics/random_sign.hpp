#pragma once

#include <cstdint>

#include "whilst/basics/host_device.hpp"
#include "whilst/basics/index_type.hpp"

namespace whilst {

/// 1 or -1, from a hash of i: the entries of a vector that a matrix is unlikely to map to zero, the same on every
/// machine.
WHILST_HD inline int random_sign(index_type i) {
  const std::uint64_t mixed = (static_cast<std::uint64_t>(i) + 1) * 0x9e3779b97f4a7c15u;
  return mixed >> 63 ? 1 : -1;
}

/// From -1 to 1, by a hash of i without patterns: the entries of a vector with a share in every eigenvector. Signs will
/// not do for a few unknowns, where they may be as symmetric as the matrix is. The hash is splitmix64's: G. L. Steele,
/// D. Lea, C. H. Flood, OOPSLA 2014.
WHILST_HD inline double random_entry(index_type i) {
  std::uint64_t mixed = (static_cast<std::uint64_t>(i) + 1) * 0x9e3779b97f4a7c15u;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
  mixed ^= mixed >> 31;
  return static_cast<double>(mixed >> 11) * 0x1p-52 - 1;
}

}  // namespace whilst

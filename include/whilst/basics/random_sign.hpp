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

}  // namespace whilst

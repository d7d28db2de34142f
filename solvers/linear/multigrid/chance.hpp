#pragma once

#include <cstdint>

#include "whilst/basics/host_device.hpp"

namespace whilst::multigrid {

/// A hash without regularity, another for every number: the "lowbias32" of C. Wellons, "Prospecting for hash
/// functions", 2018.
WHILST_HD inline std::uint32_t chance(std::uint32_t x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  return x ^ x >> 16;
}

}  // namespace whilst::multigrid

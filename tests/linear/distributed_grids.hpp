#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "whilst/linear/csr_matrix.hpp"

namespace whilst_test {

/// A cube of n^3 cells, 7-point, with walls half a cell away: conductivities along the axes, and of each cell one by
/// chance, 1 or 10^decades, with harmonic means between cells.
inline whilst::csr_matrix<double> cube(int n, const std::array<double, 3>& along, int decades = 0) {
  const auto of_cell = [&](int i) {
    std::uint32_t x = static_cast<std::uint32_t>(i) * 0x9e3779b9u + 1;
    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return (x ^ x >> 16) % 2 == 0 ? 1 : std::pow(10.0, decades);
  };
  const std::array<int, 3> stride{1, n, n * n};
  std::vector<int> offsets{0}, columns;
  std::vector<double> values;
  for (int i = 0; i < n * n * n; ++i) {
    const std::array<int, 3> at{i % n, i / n % n, i / (n * n)};
    double diagonal = 0;
    std::vector<std::pair<int, double>> before, after;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      for (const int step : {-1, 1}) {
        const int next = at[axis] + step;
        if (next < 0 || next >= n) {
          diagonal += 2 * along[axis] * of_cell(i);
          continue;
        }
        const int j = i + step * stride[axis];
        const double weight = 2 * along[axis] / (1 / of_cell(i) + 1 / of_cell(j));
        diagonal += weight;
        (step < 0 ? before : after).emplace_back(j, -weight);
      }
    }
    const auto add = [&](int column, double value) {
      columns.push_back(column);
      values.push_back(value);
    };
    for (std::size_t k = before.size(); k-- > 0;) add(before[k].first, before[k].second);
    add(i, diagonal);
    for (const auto& [column, value] : after) add(column, value);
    offsets.push_back(static_cast<int>(values.size()));
  }
  return {n * n * n, n * n * n, offsets, columns, values};
}

}  // namespace whilst_test

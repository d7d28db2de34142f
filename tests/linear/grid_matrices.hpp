#pragma once

#include <array>
#include <utility>
#include <vector>

#include "tests/linear/systems.hpp"

namespace whilst_test {

using extents = std::array<int, 3>;

/// The 7-point stencil -axis[d] beside the diagonal on a grid with zero boundary values, x running fastest.
template <class T>
whilst::csr_matrix<T> grid_matrix(const extents& points, const std::array<double, 3>& axis = {1, 1, 1},
                                  double shift = 0) {
  triplets<T> t(whilst::index_type{points[0]} * points[1] * points[2]);
  double diagonal = shift;
  for (int d = 0; d < 3; ++d)
    if (points[d] > 1 || d == 0) diagonal += 2 * axis[d];
  for (int z = 0; z < points[2]; ++z)
    for (int y = 0; y < points[1]; ++y)
      for (int x = 0; x < points[0]; ++x) {
        const auto number = [&](int i, int j, int k) { return (k * points[1] + j) * points[0] + i; };
        std::vector<std::pair<int, double>> row;
        if (z > 0) row.emplace_back(number(x, y, z - 1), -axis[2]);
        if (y > 0) row.emplace_back(number(x, y - 1, z), -axis[1]);
        if (x > 0) row.emplace_back(number(x - 1, y, z), -axis[0]);
        row.emplace_back(number(x, y, z), diagonal);
        if (x < points[0] - 1) row.emplace_back(number(x + 1, y, z), -axis[0]);
        if (y < points[1] - 1) row.emplace_back(number(x, y + 1, z), -axis[1]);
        if (z < points[2] - 1) row.emplace_back(number(x, y, z + 1), -axis[2]);
        t.row(row);
      }
  return t.matrix();
}

}  // namespace whilst_test

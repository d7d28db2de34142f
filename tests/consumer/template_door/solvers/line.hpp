#pragma once

#include <vector>

/// The oracle: -u'' = b on a line of n points with zeros beyond its ends, unscaled, by elimination.
inline std::vector<double> solve_line(std::vector<double> b) {
  const std::size_t n = b.size();
  std::vector<double> pivot(n, 2);
  for (std::size_t i = 1; i < n; ++i) {
    pivot[i] = 2 - 1 / pivot[i - 1];
    b[i] += b[i - 1] / pivot[i - 1];
  }
  b[n - 1] /= pivot[n - 1];
  for (std::size_t i = n - 1; i-- > 0;) b[i] = (b[i] + b[i + 1]) / pivot[i];
  return b;
}

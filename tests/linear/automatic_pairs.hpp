#pragma once

#include <random>
#include <vector>

#include "tests/linear/systems.hpp"

namespace whilst_test {

/// Settings of preconditioner "auto" for factors that are nearly complete, and for its last resort.
inline constexpr const char *complete_ic = "ic,drop=1e-11,fill=0,order=degree",
                            *matched_ilu = "ilu,drop=1e-14,fill=0,pivoting=0.1,order=blocks",
                            *unmatched_ilu = "ilu,drop=1e-12,fill=0,matching=false,pivoting=0.01,order=degree",
                            *last_ic = "ic,drop=1e-10,fill=0,order=degree",
                            *last_ilu = "ilu,drop=1e-10,fill=0,matching=false,pivoting=0.01,order=degree";

/// Points of a line, -1, 2, -1, and more on the diagonal.
template <class T>
whilst::csr_matrix<T> line_with_drift(int n, double more, double drift = 0) {
  triplets<T> t(n);
  for (int i = 0; i < n; ++i) {
    std::vector<std::pair<int, double>> row{{i, 2 + more}};
    if (i > 0) row.emplace_back(i - 1, -1 - drift);
    if (i + 1 < n) row.emplace_back(i + 1, -1 + drift);
    t.row(row);
  }
  return t.matrix();
}

/// Entries anywhere and of both signs: factors fill in, and what an incomplete one leaves out matters. n is no multiple
/// of 7: each column has an entry.
template <class T>
whilst::csr_matrix<T> scattered_entries(int n, unsigned seed, bool symmetric = false) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> value;
  std::vector<std::vector<std::pair<int, double>>> rows(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) {
    for (int k = 0; k < 5; ++k) {
      const int j = static_cast<int>(generator() % static_cast<unsigned>(n));
      const double a = value(generator);
      rows[static_cast<std::size_t>(i)].emplace_back(j, a);
      if (symmetric) rows[static_cast<std::size_t>(j)].emplace_back(i, a);
    }
    rows[static_cast<std::size_t>(i)].emplace_back(symmetric ? i : (7 * i + 3) % n, symmetric ? 0 : 0.3);
  }
  triplets<T> t(n);
  for (const auto& row : rows) t.row(row);
  return t.matrix();
}

}  // namespace whilst_test

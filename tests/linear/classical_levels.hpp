#pragma once

// Levels by classical coarsening on the host, and what the article on extended+i interpolation defines of them, over
// sets of unknowns and in extended precision: for the tests of amg.

#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/linear/hierarchy_there.hpp"
#include "tests/linear/systems.hpp"
#include "whilst/whilst.hpp"

namespace whilst_test::by_article {

using real = long double;
using entries_of_row = std::map<std::int32_t, real>;

template <class C>
constexpr double epsilon_of_number = static_cast<double>(std::numeric_limits<C>::epsilon());

/// The levels of a matrix in memory of the host, in numbers C.
template <class C>
struct classical_levels : hierarchy_there<C> {
  classical_levels(const whilst::csr_matrix<double>& A, bool symmetric, const whilst::amg_options& options)
      : hierarchy_there<C>(whilst::place::host(), A, symmetric, options) {}
};
inline whilst::amg_options classical(int entries, double strength = 0.25, int most_levels = 2) {
  return {.precision = "auto",
          .coarsening = "classical",
          .strength = strength,
          .interpolation_entries = entries,
          .coarsest_rows = 1,
          .most_levels = most_levels};
}

template <class C>
std::vector<entries_of_row> rows_of(const whilst::multigrid::pattern_view& pattern, const C* values) {
  std::vector<entries_of_row> rows(static_cast<std::size_t>(pattern.rows));
  for (whilst::index_type i = 0; i < pattern.rows; ++i)
    for (std::int32_t e = pattern.offsets[i]; e < pattern.offsets[i + 1]; ++e)
      rows[static_cast<std::size_t>(i)][pattern.indices[e]] += static_cast<real>(values[e]);
  return rows;
}

/// What the article defines, of a level as it was split.
struct article {
  std::vector<entries_of_row> A;
  const std::int32_t* coarse;
  std::vector<std::set<std::int32_t>> depends;  ///< S_i

  template <class C>
  article(const whilst::multigrid::level<C>& fine, double strength)
      : article(fine, strength, fine.interpolation.coarse) {}
  template <class C>
  article(const whilst::multigrid::level<C>& fine, double strength, const std::int32_t* numbers)
      : A(rows_of(fine.A, fine.A_values)), coarse(numbers), depends(A.size()) {
    for (std::int32_t i = 0; i < size(); ++i) {
      real most = 0;
      for (const auto& [j, a] : row(i))
        if (j != i && -towards(i, a) > most) most = -towards(i, a);
      for (const auto& [j, a] : row(i))
        if (j != i && -towards(i, a) > 0 && -towards(i, a) >= static_cast<real>(strength) * most)
          depends[static_cast<std::size_t>(i)].insert(j);
    }
  }
  std::int32_t size() const { return static_cast<std::int32_t>(A.size()); }
  const entries_of_row& row(std::int32_t i) const { return A[static_cast<std::size_t>(i)]; }
  const std::set<std::int32_t>& of(std::int32_t i) const { return depends[static_cast<std::size_t>(i)]; }
  real at(std::int32_t i, std::int32_t j) const {
    const auto found = row(i).find(j);
    return found == row(i).end() ? 0 : found->second;
  }
  real towards(std::int32_t i, real a) const { return at(i, i) > 0 ? a : at(i, i) < 0 ? -a : 0; }
  /// a_ij where its sign is opposite to the diagonal's.
  real opposite(std::int32_t i, std::int32_t j) const { return i != j && towards(i, at(i, j)) < 0 ? at(i, j) : 0; }

  entries_of_row weights(std::int32_t i) const {
    if (coarse[i] >= 0) return {{coarse[i], 1}};
    std::set<std::int32_t> interpolating, fine;
    for (const std::int32_t j : of(i)) (coarse[j] >= 0 ? interpolating : fine).insert(j);
    for (const std::int32_t k : fine)
      for (const std::int32_t j : of(k))
        if (coarse[j] >= 0) interpolating.insert(j);
    if (interpolating.empty()) return {};
    real d = at(i, i);
    entries_of_row sums;
    for (const std::int32_t j : interpolating) sums[j] = opposite(i, j);
    for (const auto& [j, a] : row(i))
      if (j != i && !fine.contains(j) && (opposite(i, j) == 0 || !interpolating.contains(j))) d += a;
    for (const std::int32_t k : fine) {
      real sum = opposite(k, i);
      for (const std::int32_t l : interpolating) sum += opposite(k, l);
      if (sum == 0) {
        d += at(i, k);
        continue;
      }
      for (const std::int32_t j : interpolating) sums[j] += at(i, k) * opposite(k, j) / sum;
      d += at(i, k) * opposite(k, i) / sum;
    }
    if (towards(i, d) <= 0) d = at(i, i);
    entries_of_row made;
    for (const auto& [j, sum] : sums) made[coarse[j]] = -sum / d;
    return made;
  }
};

/// A matrix with entries of both signs beside its diagonal, in no order, diagonals in two parts, empty rows, rows that
/// depend on others without any that depends on them, and a negative diagonal here and there.
inline whilst::csr_matrix<double> motley(int n) {
  triplets<double> t(n);
  for (int i = 0; i < n; ++i) {
    std::vector<std::pair<int, double>> row;
    if (i % 31 != 5) {
      const double sign = i % 7 == 3 ? -1 : 1;
      row.emplace_back(i, sign * 2.0);
      for (const int d : {17, 1, 3})
        for (const int j : {i + d, i - d})
          if (j >= 0 && j < n && j % 31 != 5) row.emplace_back(j, sign * ((i + 2 * j) % 5 == 0 ? 0.5 : -1.0 - i % 3));
      row.emplace_back(i, sign * 6.0);
    }
    t.row(row);
  }
  return t.matrix();
}
/// Diffusion and a flow along x, upwind, in a square.
inline whilst::csr_matrix<double> upwind(int size, double v) {
  triplets<double> t(whilst::index_type{size} * size);
  for (int y = 0; y < size; ++y)
    for (int x = 0; x < size; ++x) {
      const int i = y * size + x;
      std::vector<std::pair<int, double>> row{{i, 4 + v}};
      if (x > 0) row.emplace_back(i - 1, -1 - v);
      if (x + 1 < size) row.emplace_back(i + 1, -1);
      if (y > 0) row.emplace_back(i - size, -1);
      if (y + 1 < size) row.emplace_back(i + size, -1);
      t.row(row);
    }
  return t.matrix();
}
struct named_matrix {
  std::string name;
  whilst::csr_matrix<double> A;
  bool symmetric;
};
inline std::vector<named_matrix> matrices_to_split() {
  std::vector<named_matrix> all;
  for (const char* const problem : {"poisson1d:40", "poisson2d:17", "poisson3d:9", "anisotropic2d:20", "neumann2d:12"})
    all.push_back({problem, whilst::make_gallery<double>(problem).matrix, true});
  all.push_back({"motley", motley(300), true});
  all.push_back({"motley, for any method", motley(300), false});
  all.push_back({"upwind", upwind(15, 8), false});
  return all;
}

}  // namespace whilst_test::by_article

#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace whilst_test {

/// A rank's part of chained Rosenbrock in n unknowns, f = sum over i < n - 1 of 100 (x_(i+1) - x_i^2)^2 + (1 - x_i)^2:
/// the unknowns from `first` to before `end`. A pair counts on the rank of its first unknown. The least value is 0, at
/// ones, where no eigenvalue of the Hessian is below 0.399, that of one pair.
struct chain_of_rank {
  std::int64_t n, first, end;

  std::int64_t own() const { return end - first; }
  /// What it reads of other ranks: the unknown before its own and the one behind.
  std::vector<std::int64_t> ghosts() const {
    std::vector<std::int64_t> found;
    if (own() > 0 && first > 0) found.push_back(first - 1);
    if (own() > 0 && end < n) found.push_back(end);
    return found;
  }
  /// x: own unknowns, then ghosts. Writes the own entries of the gradient.
  template <class T>
  void evaluate(const T* x, double* value, T* gradient) const {
    const auto at = [&](std::int64_t i) {
      return static_cast<double>(x[i < first ? own() : i < end ? i - first : own() + (first > 0)]);
    };
    *value = 0;
    for (std::int64_t i = first; i < end; ++i) {
      double slope = 0;
      if (i + 1 < n) {
        const double rise = at(i + 1) - at(i) * at(i);
        *value += 100 * rise * rise + (1 - at(i)) * (1 - at(i));
        slope -= 400 * at(i) * rise + 2 * (1 - at(i));
      }
      if (i > 0) slope += 200 * (at(i) - at(i - 1) * at(i - 1));
      gradient[i - first] = static_cast<T>(slope);
    }
  }
};

/// Where ranks begin, and the end: n unknowns split evenly, but none for rank 1 of three or more.
inline std::vector<std::int64_t> split_of_chain(std::int64_t n, int ranks) {
  std::vector<std::int64_t> begins;
  for (int q = 0; q <= ranks; ++q) begins.push_back((q == 2 && ranks > 2 ? 1 : q) * n / ranks);
  return begins;
}
inline chain_of_rank chain_of(std::int64_t n, int rank, int ranks) {
  const auto begins = split_of_chain(n, ranks);
  return {n, begins[static_cast<std::size_t>(rank)], begins[static_cast<std::size_t>(rank) + 1]};
}

/// The norm of the gradient of all of f, pair by pair.
template <class T>
double gradient_norm_of_chain(const std::vector<T>& x) {
  std::vector<double> gradient(x.size());
  for (std::size_t i = 0; i + 1 < x.size(); ++i) {
    const double here = x[i], rise = x[i + 1] - here * here;
    gradient[i] += -400 * here * rise - 2 * (1 - here);
    gradient[i + 1] += 200 * rise;
  }
  double sum = 0;
  for (const double one : gradient) sum += one * one;
  return std::sqrt(sum);
}

/// How far x is from ones, by the norm.
template <class T>
double distance_from_ones(const std::vector<T>& x) {
  double sum = 0;
  for (const T one : x) sum += std::pow(static_cast<double>(one) - 1, 2);
  return std::sqrt(sum);
}

}  // namespace whilst_test

#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "whilst/basics/host_device.hpp"
#include "whilst/basics/index_type.hpp"

/// What the problems of kernels/problems/test_functions/cutest.hpp share.
namespace whilst::test_functions {

/// The least value of a function, as far as it is known.
struct known_minimum {
  double value;
  /// One unit in the last digit that was published; 0: value is exact but for rounding.
  double last_digit = 0;
};

/// Base of a problem of any number of unknowns that is a multiple of Multiple, from Least on.
template <index_type Least, index_type Multiple = 1>
struct sizes_from {
  static_assert(Least % Multiple == 0);
  static constexpr index_type least = Least, multiple = Multiple;
};

/// A published minimum holds for one number of unknowns.
struct published_at {
  index_type n;
  known_minimum minimum;
};
inline std::optional<known_minimum> find_published(index_type n, const std::vector<published_at>& all) {
  for (const published_at& one : all)
    if (one.n == n) return one.minimum;
  return {};
}

/// The unknowns of a term for each of first, first + step, ... below end: those that of(i), a std::array, names.
template <class Of>
std::vector<std::int32_t> unknowns_of(std::int32_t first, std::int32_t end, const Of& of, std::int32_t step = 1) {
  std::vector<std::int32_t> all;
  for (std::int32_t i = first; i < end; i += step)
    for (const std::int32_t unknown : of(i)) all.push_back(unknown);
  return all;
}
/// The same with Width neighbours, from i on.
template <int Width>
std::vector<std::int32_t> neighbours(std::int32_t first, std::int32_t end, std::int32_t step = 1) {
  std::vector<std::int32_t> all;
  for (std::int32_t i = first; i < end; i += step)
    for (std::int32_t k = 0; k < Width; ++k) all.push_back(i + k);
  return all;
}

/// Problems, in the order of the alphabet.
template <class... F>
struct problem_list {};
/// Calls use(f) with an object of each type.
template <class... F, class Use>
void for_each_problem(problem_list<F...>, const Use& use) {
  (use(F{}), ...);
}

template <class S>
WHILST_HD S squared(const S& x) {
  return S(x * x);
}
template <class S>
WHILST_HD S fourth_power(const S& x) {
  return squared(squared(x));
}

}  // namespace whilst::test_functions

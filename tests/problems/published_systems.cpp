#include "tests/problems/published_systems.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>

#include "tests/catch.hpp"

namespace whilst_test {
namespace {

using std::size_t;
using numbers = std::vector<double>;

/// The paper counts from 1; x_0 and x_(n + 1), which it takes for 0, are there.
numbers with_ends(const numbers& x) {
  numbers wide(x.size() + 2, 0);
  std::copy(x.begin(), x.end(), wide.begin() + 1);
  return wide;
}

numbers pairs_of_rosenbrock(const numbers& x) {
  numbers F;
  for (size_t j = 0; j < x.size(); j += 2) F.insert(F.end(), {10 * (x[j + 1] - x[j] * x[j]), 1 - x[j]});
  return F;
}

numbers fours_of_powell(const numbers& x) {
  numbers F;
  for (size_t j = 0; j < x.size(); j += 4)
    F.insert(F.end(), {x[j] + 10 * x[j + 1], std::sqrt(5) * (x[j + 2] - x[j + 3]), std::pow(x[j + 1] - 2 * x[j + 2], 2),
                       std::sqrt(10) * std::pow(x[j] - x[j + 3], 2)});
  return F;
}

numbers helical_valley(const numbers& x) {
  const double angle = std::atan(x[1] / x[0]) / (2 * std::numbers::pi) + (x[0] < 0 ? 0.5 : 0);
  return {10 * (x[2] - 10 * angle), 10 * (std::hypot(x[0], x[1]) - 1), x[2]};
}

/// Half the gradient of the sum of (x_j - 1)^2 + s^2 + s^4, where s is the sum of j (x_j - 1).
numbers variably_dimensioned(const numbers& x) {
  double s = 0;
  for (size_t j = 1; j <= x.size(); ++j) s += static_cast<double>(j) * (x[j - 1] - 1);
  numbers F;
  for (size_t j = 1; j <= x.size(); ++j) F.push_back(x[j - 1] - 1 + static_cast<double>(j) * (s + 2 * s * s * s));
  return F;
}

numbers trigonometric(const numbers& x) {
  double cosines = 0;
  for (const double entry : x) cosines += std::cos(entry);
  numbers F;
  for (size_t i = 1; i <= x.size(); ++i)
    F.push_back(static_cast<double>(x.size()) - cosines + static_cast<double>(i) * (1 - std::cos(x[i - 1])) -
                std::sin(x[i - 1]));
  return F;
}

numbers brown_almost_linear(const numbers& x) {
  double sum = 0, product = 1;
  for (const double entry : x) sum += entry, product *= entry;
  numbers F;
  for (const double entry : x) F.push_back(entry + sum - static_cast<double>(x.size() + 1));
  F.back() = product - 1;
  return F;
}

numbers discrete_boundary_value(const numbers& inner) {
  const numbers x = with_ends(inner);
  const double h = 1 / static_cast<double>(inner.size() + 1);
  numbers F;
  for (size_t i = 1; i <= inner.size(); ++i)
    F.push_back(2 * x[i] - x[i - 1] - x[i + 1] + h * h * std::pow(x[i] + static_cast<double>(i) * h + 1, 3) / 2);
  return F;
}

numbers discrete_integral_equation(const numbers& inner) {
  const numbers x = with_ends(inner);
  const size_t n = inner.size();
  const double h = 1 / static_cast<double>(n + 1);
  const auto t = [h](size_t j) { return static_cast<double>(j) * h; };
  numbers F;
  for (size_t i = 1; i <= n; ++i) {
    double before = 0, after = 0;
    for (size_t j = 1; j <= i; ++j) before += t(j) * std::pow(x[j] + t(j) + 1, 3);
    for (size_t j = i + 1; j <= n; ++j) after += (1 - t(j)) * std::pow(x[j] + t(j) + 1, 3);
    F.push_back(x[i] + h * ((1 - t(i)) * before + t(i) * after) / 2);
  }
  return F;
}

numbers broyden_tridiagonal(const numbers& inner) {
  const numbers x = with_ends(inner);
  numbers F;
  for (size_t i = 1; i <= inner.size(); ++i) F.push_back((3 - 2 * x[i]) * x[i] - x[i - 1] - 2 * x[i + 1] + 1);
  return F;
}

numbers broyden_banded(const numbers& x) {
  numbers F;
  for (size_t i = 0; i < x.size(); ++i) {
    F.push_back(x[i] * (2 + 5 * x[i] * x[i]) + 1);
    for (size_t j = i < 5 ? 0 : i - 5; j <= std::min(i + 1, x.size() - 1); ++j)
      if (j != i) F.back() -= x[j] * (1 + x[j]);
  }
  return F;
}

/// Polynomials by T_i(cos a) = cos(i a), and by cosh outside of [-1, 1].
numbers chebyquad(const numbers& x) {
  numbers F;
  for (size_t i = 1; i <= x.size(); ++i) {
    const auto degree = static_cast<double>(i);
    double sum = 0;
    for (const double entry : x) {
      const double y = 2 * entry - 1, size = std::abs(y), sign = y < 0 && i % 2 == 1 ? -1 : 1;
      sum += sign * (size <= 1 ? std::cos(degree * std::acos(size)) : std::cosh(degree * std::acosh(size)));
    }
    F.push_back(sum / static_cast<double>(x.size()) + (i % 2 == 0 ? 1 / (degree * degree - 1) : 0));
  }
  return F;
}

numbers bratu(const numbers& u) {
  const auto side = static_cast<size_t>(std::lround(std::sqrt(static_cast<double>(u.size()))));
  const double h = 1 / static_cast<double>(side + 1);
  // With the boundary around it.
  std::vector<numbers> grid(side + 2, numbers(side + 2, 0));
  for (size_t row = 0; row < side; ++row)
    for (size_t column = 0; column < side; ++column) grid[row + 1][column + 1] = u[row * side + column];
  numbers F;
  for (size_t i = 1; i <= side; ++i)
    for (size_t j = 1; j <= side; ++j)
      F.push_back(4 * grid[i][j] - grid[i - 1][j] - grid[i + 1][j] - grid[i][j - 1] - grid[i][j + 1] -
                  5 * h * h * std::exp(grid[i][j]));
  return F;
}

}  // namespace

numbers published_residual(const std::string& name, const numbers& x) {
  if (name == "rosenbrock" || name == "extended-rosenbrock") return pairs_of_rosenbrock(x);
  if (name == "freudenstein-and-roth")
    return {-13 + x[0] + ((5 - x[1]) * x[1] - 2) * x[1], -29 + x[0] + ((x[1] + 1) * x[1] - 14) * x[1]};
  if (name == "powell-badly-scaled") return {1e4 * x[0] * x[1] - 1, std::exp(-x[0]) + std::exp(-x[1]) - 1.0001};
  if (name == "helical-valley") return helical_valley(x);
  if (name == "powell-singular" || name == "extended-powell-singular") return fours_of_powell(x);
  if (name == "variably-dimensioned") return variably_dimensioned(x);
  if (name == "trigonometric") return trigonometric(x);
  if (name == "brown-almost-linear") return brown_almost_linear(x);
  if (name == "discrete-boundary-value") return discrete_boundary_value(x);
  if (name == "discrete-integral-equation") return discrete_integral_equation(x);
  if (name == "broyden-tridiagonal") return broyden_tridiagonal(x);
  if (name == "broyden-banded") return broyden_banded(x);
  if (name == "chebyquad") return chebyquad(x);
  if (name == "bratu") return bratu(x);
  FAIL("there is no formula for " << name);
  return {};
}

}  // namespace whilst_test

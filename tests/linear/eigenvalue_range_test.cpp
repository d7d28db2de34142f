// Ranges of eigenvalues by Lanczos steps, against closed forms and a dense solver.

#include "whilst/eigenvalue_range.hpp"

#include <cmath>
#include <limits>
#include <numbers>

#include <Eigen/Dense>

#include "tests/catch.hpp"
#include "tests/linear/systems.hpp"

namespace whilst_test {

using whilst::csr_matrix;
using whilst::eigenvalue_range;
using whilst::estimate_eigenvalue_range;

namespace {

template <class T>
csr_matrix<T> diagonal(const std::vector<double>& entries) {
  triplets<T> t(static_cast<whilst::index_type>(entries.size()));
  for (std::size_t i = 0; i < entries.size(); ++i) t.row({{static_cast<int>(i), entries[i]}});
  return t.matrix();
}

/// Ritz values are rounded by a few epsilon of ||A||, as their matrix is.
template <class T>
constexpr double rounding = 100 * static_cast<double>(std::numeric_limits<T>::epsilon());

}  // namespace

TEMPLATE_TEST_CASE("the range of a few eigenvalues is exact", "[linear][eigenvalues][sanitizer]", float, double) {
  const bool in_float = sizeof(TestType) == 4;
  for (const std::string& executor : executors_with_steps())
    for (const double factor : {1.0, -1.0, in_float ? 1e-30 : 1e-250, in_float ? 1e30 : 1e250})
      for (const auto& values : std::vector<std::vector<double>>{{2}, {-3, 5}, {1, 1, 1, 4}, {-7, 2, 2, 3, 9}}) {
        INFO(executor << ", times " << factor << ", " << values.size() << " values");
        std::vector<double> scaled = values;
        for (double& value : scaled) value *= factor;
        const auto [least, greatest] = std::minmax_element(scaled.begin(), scaled.end());
        const double norm = std::max(std::abs(*least), std::abs(*greatest));
        const eigenvalue_range found = estimate_eigenvalue_range(diagonal<TestType>(scaled), {.executor = executor});
        CHECK(std::abs(found.least - *least) <= rounding<TestType> * norm);
        CHECK(std::abs(found.greatest - *greatest) <= rounding<TestType> * norm);
        CHECK(std::abs(found.norm - norm) <= rounding<TestType> * norm);
      }
}

TEST_CASE("the range of many eigenvalues is found from within", "[linear][eigenvalues]") {
  const int nx = 50;
  const auto A = whilst::make_gallery<double>("poisson2d:50").matrix;
  const double half = std::sin(std::numbers::pi / (2 * (nx + 1))), least = 8 * half * half, greatest = 8 - least;
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    double before = 8;
    for (const int steps : {1, 5, 20, 64}) {
      const eigenvalue_range found = estimate_eigenvalue_range(A, {.lanczos_steps = steps, .executor = executor});
      CHECK(found.norm == 8);
      CHECK(found.least >= least - rounding<double> * 8);
      CHECK(found.greatest <= greatest + rounding<double> * 8);
      CHECK(found.least <= found.greatest);
      CHECK(before >= found.least);
      before = found.least;
      if (steps == 20) CHECK(found.greatest >= 0.97 * greatest);
    }
  }
}

TEST_CASE("ranges of matrices of zeros and of what is not finite", "[linear][eigenvalues]") {
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    const eigenvalue_range zero = estimate_eigenvalue_range(diagonal<double>({0, 0, 0}), {.executor = executor});
    CHECK(zero.least == 0);
    CHECK(zero.greatest == 0);
    CHECK(zero.norm == 0);
    for (const double value : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
      const eigenvalue_range none = estimate_eigenvalue_range(diagonal<double>({1, value, 2}), {.executor = executor});
      CHECK(std::isnan(none.least));
      CHECK(std::isnan(none.greatest));
      CHECK_FALSE(std::isfinite(none.norm));
    }
  }
}

TEST_CASE("what an estimate of the range refuses", "[linear][eigenvalues]") {
  const auto A = diagonal<double>({1, 2});
  CHECK_THROWS_WITH(estimate_eigenvalue_range(A, {.lanczos_steps = 0}), contains("lanczos_steps is 0. Give 1 to 64"));
  CHECK_THROWS_WITH(estimate_eigenvalue_range(A, {.lanczos_steps = 65}), contains("lanczos_steps is 65"));
  CHECK_THROWS_WITH(estimate_eigenvalue_range(A, {.executor = "gpu"}), contains("gpu"));
  CHECK_THROWS_WITH(estimate_eigenvalue_range(convection_diffusion<double>(4)),
                    contains("the matrix is not symmetric"));
  const csr_matrix<double> flat(1, 2, std::vector<int>{0, 1}, std::vector<int>{1}, std::vector<double>{1});
  CHECK_THROWS_WITH(estimate_eigenvalue_range(flat), contains("the matrix has 1 rows and 2 columns"));
  const csr_matrix<double> empty(0, 0, std::vector<int>{0}, std::vector<int>{}, std::vector<double>{});
  CHECK_THROWS_WITH(estimate_eigenvalue_range(empty), contains("the matrix has no rows"));
}

}  // namespace whilst_test

#include "kernels/problems/test_problems/test_problems.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "whilst/error.hpp"
#include "whilst/minimizer.hpp"

using whilst::place;
using whilst::test_problem;

namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon();

struct value_and_gradient {
  double f, gradient_norm;
};

/// What the objective says at x: the first line of a minimization's history.
value_and_gradient evaluated(const whilst::objective<double>& f, std::vector<double> x) {
  whilst::minimizer<double> minimizer(f, {.max_iterations = 1, .executor = "host"});
  const whilst::minimize_report report = minimizer.solve(x);
  REQUIRE(!report.records.empty());
  return {report.records[0].value, report.records[0].gradient_norm};
}

/// The same from the functions themselves, dense, with duals in N directions.
template <int N, class F>
value_and_gradient expected(const F& f, const std::vector<double>& x) {
  std::vector<whilst::dual<double, N>> variables;
  for (int j = 0; j < N; ++j) variables.push_back(whilst::dual<double, N>::variable(x[static_cast<std::size_t>(j)], j));
  const whilst::dual<double, N> sum = whilst::test_functions::sum_of_squares(f, variables.data());
  double squares = 0;
  for (int j = 0; j < N; ++j) squares += sum.gradient[j] * sum.gradient[j];
  return {sum.value, std::sqrt(squares)};
}

/// The standard start, a bit off it so that nothing vanishes.
std::vector<double> off_start(const test_problem& problem) {
  std::vector<double> x = problem.start;
  for (std::size_t j = 0; j < x.size(); ++j) x[j] += 0.01 * static_cast<double>(1 + j % 3) * (x[j] == 0 ? 1 : x[j]);
  return x;
}

/// Sums in another order: of at most 100 terms, which may cancel to some extent.
constexpr double roundings = 1000 * epsilon;

template <int N, class F>
void check_sparse(const char* name) {
  INFO(name << ":" << N);
  const test_problem problem = whilst::find_test_problem(name, N);
  CHECK(problem.n == N);
  CHECK(problem.residuals == F{N}.count());
  REQUIRE(problem.start.size() == N);
  const auto f = whilst::make_test_problem(place::host(), name, N);
  CHECK(f->unknowns() == N);
  const std::vector<double> x = off_start(problem);
  const auto found = evaluated(*f, x), right = expected<N>(F{N}, x);
  CHECK(found.f == Approx(right.f).epsilon(roundings));
  CHECK(found.gradient_norm == Approx(right.gradient_norm).epsilon(roundings));
}

}  // namespace

TEST_CASE("test problems: as objectives they have the value and the gradient of the functions") {
  namespace functions = whilst::test_functions;
  std::size_t position = 0;
  functions::for_each_test_function(
      [&]<class F, int N>(const functions::problem_of_size<F, N>& function, const functions::published_minima& minima) {
        REQUIRE(position < whilst::test_problems().size());
        const test_problem& problem = whilst::test_problems()[position++];
        INFO(problem.name << ", n " << N);
        CHECK(problem.title == function.name);
        CHECK(problem.number == function.number);
        CHECK(problem.n == N);
        CHECK(problem.residuals == function.count());
        CHECK(problem.minima.global == minima.global);
        for (int j = 0; j < N; ++j) CHECK(problem.start[static_cast<std::size_t>(j)] == function.start(j));
        const auto f = whilst::make_test_problem(place::host(), problem.name, N);
        const std::vector<double> x = off_start(problem);
        const auto found = evaluated(*f, x), right = expected<N>(static_cast<const F&>(function), x);
        CHECK(found.f == Approx(right.f).epsilon(roundings));
        CHECK(found.gradient_norm == Approx(right.gradient_norm).epsilon(roundings));
      });
  CHECK(position == whilst::test_problems().size());
}

TEST_CASE("test problems: the sparse ones are the same functions at other sizes") {
  namespace functions = whilst::test_functions;
  check_sparse<14, functions::extended_rosenbrock>("extended-rosenbrock");
  check_sparse<16, functions::extended_powell_singular>("extended-powell-singular");
  check_sparse<1, functions::discrete_boundary_value>("discrete-boundary-value");
  check_sparse<13, functions::discrete_boundary_value>("discrete-boundary-value");
  check_sparse<13, functions::broyden_tridiagonal>("broyden-tridiagonal");
  check_sparse<3, functions::broyden_banded>("broyden-banded");
  check_sparse<17, functions::broyden_banded>("broyden-banded");
}

TEST_CASE("test problems: names are in lower case with dashes, and sizes that are not there are refused") {
  std::set<std::string> names;
  for (const test_problem& problem : whilst::test_problems()) {
    names.insert(problem.name);
    CHECK(problem.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos);
  }
  CHECK(names.size() == 35);
  CHECK(names.count("linear-rank-1-zero-columns-and-rows") == 1);
  CHECK(whilst::find_test_problem("watson").n == 6);
  CHECK(whilst::find_test_problem("watson", 12).minima.global == 4.72238e-10);
  REQUIRE_THROWS_AS(whilst::find_test_problem("watson", 7), whilst::error);
  REQUIRE_THROWS_AS(whilst::find_test_problem("Watson"), whilst::error);
  REQUIRE_THROWS_AS(whilst::find_test_problem("extended-rosenbrock", 7), whilst::error);
  REQUIRE_THROWS_AS(whilst::find_test_problem("extended-powell-singular", 6), whilst::error);
  REQUIRE_THROWS_AS(whilst::find_test_problem("broyden-banded", -1), whilst::error);
}

TEST_CASE("test problems: a value is a published minimum within a unit of its sixth digit") {
  const whilst::test_functions::published_minima minima{0, {48.9842}};
  CHECK(whilst::is_published_minimum(1e-8, minima));
  CHECK_FALSE(whilst::is_published_minimum(1.1e-8, minima));
  CHECK(whilst::is_published_minimum(48.98425, minima));
  CHECK_FALSE(whilst::is_published_minimum(48.986, minima));
  CHECK_FALSE(whilst::is_published_minimum(NAN, minima));
}

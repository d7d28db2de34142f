#include "kernels/problems/test_problems/cutest_problems.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "whilst/error.hpp"
#include "whilst/minimizer.hpp"

using whilst::cutest_problem;
using whilst::cutest_problems;
using whilst::find_cutest_problem;
using whilst::index_type;
using whilst::place;
using whilst::value_and_gradient;

namespace {

constexpr double pi = std::numbers::pi, e = std::numbers::e;

double norm_of(const std::vector<double>& entries) {
  double norm = 0;
  for (const double entry : entries) norm = std::hypot(norm, entry);
  return norm;
}

std::vector<double> filled(index_type n, double value) {
  return std::vector<double>(static_cast<std::size_t>(n), value);
}

/// Entry j of n, counted from 0.
template <class Entry>
std::vector<double> made_of(index_type n, const Entry& entry) {
  std::vector<double> x;
  for (index_type j = 0; j < n; ++j) x.push_back(entry(static_cast<double>(j)));
  return x;
}

/// The lowest f that these methods find from the standard start.
double lowest_found(const cutest_problem& problem, index_type n) {
  const auto f = problem.make(place::host(), n);
  double lowest = HUGE_VAL;
  for (const char* method : {"newton-cg", "trust-region", "lbfgs"}) {
    std::vector<double> x = problem.start(n);
    whilst::minimizer<double>(*f, {.method = method, .executor = "host"}).solve(x);
    lowest = std::min(lowest, problem.evaluate(x).value);
  }
  return lowest;
}

}  // namespace

TEST_CASE("CUTEst's problems: in order, at the sizes they say, found by name") {
  std::string last;
  int bounded = 0;
  for (const cutest_problem& problem : cutest_problems()) {
    INFO(problem.name);
    CHECK(last < problem.name);
    last = problem.name;
    bounded += !problem.is_unbounded;
    CHECK(problem.least % problem.multiple == 0);
    CHECK(problem.size_from(1) == problem.least);
    for (const index_type n : {problem.least, problem.size_from(100)}) {
      CHECK(problem.make(place::host(), n)->unknowns() == n);
      CHECK(static_cast<index_type>(problem.start(n).size()) == n);
    }
    CHECK(problem.size_from(100) >= 100);
    CHECK(problem.size_from(100) < 100 + problem.multiple);
    REQUIRE_THROWS_AS(problem.make(place::host(), problem.least - 1), whilst::error);
    if (problem.multiple > 1) REQUIRE_THROWS_AS(problem.make(place::host(), problem.size_from(100) + 1), whilst::error);
    CHECK(&find_cutest_problem(problem.name) == &problem);
  }
  CHECK(bounded == 37);
  CHECK(std::string(find_cutest_problem("dixmaanL").name) == "DIXMAANL");
  REQUIRE_THROWS_AS(find_cutest_problem("DIXMAAN"), whilst::error);
}

TEST_CASE("CUTEst's problems: f at the standard starts, by hand") {
  const double s = 1e-4 / 12;  // of CURLY10
  struct value {
    const char* name;
    index_type n;
    double f;
  };
  for (const value& by_hand : std::vector<value>{
           {"ARWHEAD", 10, 3.0 * 9},
           {"BDQRTIC", 10, 6 * (1.0 + 225)},
           {"BROYDN7D", 10, 9 + 5 * std::pow(2, 7.0 / 3)},
           {"BRYBND", 10, 36 + 16 + 4 + 0 + 4 + 4 * 16.0 + 4},
           {"CHAINWOO", 6, 1 + 19192 + 13515.1},
           {"COSINE", 10, 9 * std::cos(0.5)},
           {"CRAGGLVY", 10, std::pow(e - 2, 4) + 2 + 3 * (std::pow(e * e - 2, 4) + 257)},
           {"CURLY10", 11, -20 * s * s * 26818 - 0.1 * s * 506},  // the fourth powers are a billionth of it
           {"DIXMAANA", 12, 1 + 9.5 * 12},
           {"DIXMAAND", 12, 1 + 48 + 0.26 * (11 * 144 + 8 * 64 + 4 * 4)},
           {"DIXMAANI", 12, 1 + 4 * 13 * 25 / 72.0 + 0.125 * (8 * 64 + 4 * 30 / 144.0)},
           {"DIXMAANL", 12, 1 + 4 * 13 * 25 / 72.0 + 0.26 * (11 * 144 + 8 * 64 + 4 * 30 / 144.0)},
           {"DIXON3DQ", 10, 8},
           {"DQDRTIC", 10, 8 * 9 * 201.0},
           {"DQRTIC", 5, 1 + 0 + 1 + 16 + 81},
           {"EDENSCH", 10, 16 + 9 * (1296 + 2304 + 81.0)},
           {"EG2", 10, 9 * std::sin(-1)},
           {"ENGVAL1", 10, 9 * (64 - 8 + 3.0)},
           {"FLETCHCR", 10, 9},
           {"FREUROTH", 10, 400.5 + 1186 + 7 * 1010},
           {"GENROSE", 4, 1 + 12.96 + 0.36 + 19.36 + 0.16 + 19.36 + 0.04},
           {"INDEF", 3, 1.5 + 0.5},
           {"LIARWHD", 10, 10 * (4 * 144 + 9.0)},
           {"MOREBV", 3,
            std::pow(-0.125 + std::pow(1.0625, 3) / 32, 2) + std::pow(-0.125 + std::pow(1.25, 3) / 32, 2) +
                std::pow(-0.125 + std::pow(1.5625, 3) / 32, 2)},
           {"NONCVXU2", 3, 25 + 49 + 36 + 4 * (std::cos(5) + std::cos(7) + std::cos(6))},
           {"NONDIA", 10, 4 + 9 * 400.0},
           {"NONDQUAR", 10, 4 + 4 + 8},
           {"POWELLSG", 12, 3 * (49 + 5 + 1 + 160.0)},
           {"SCHMVETT", 10, -8 * (2 + std::sin(pi / 4 + 0.25))},
           {"SCOSINE", 10, 9 * std::cos(0.5)},
           {"SINQUAD", 10, 0.6561},
           {"SPARSINE", 10, 18 * std::pow(std::sin(0.5), 2) * 55},
           {"SPARSQUR", 10, 2.25 / 8 * 55},
           {"SROSENBR", 10, 5 * (19.36 + 4.84)},
           {"TOINTGSS", 10, 10 + 9 * 8},
           {"TQUARTIC", 10, 0.81},
           {"TRIDIA", 10, 54},
           {"WOODS", 12, 3 * 19192.0},
       }) {
    INFO(by_hand.name);
    const cutest_problem& problem = find_cutest_problem(by_hand.name);
    CHECK(problem.evaluate(problem.start(by_hand.n)).value == Approx(by_hand.f).epsilon(1e-8));
  }
}

TEST_CASE("CUTEst's problems: gradients are those of central differences") {
  for (const cutest_problem& problem : cutest_problems()) {
    const index_type n = problem.size_from(12);
    // Off the start, where some derivatives vanish.
    std::vector<double> x = problem.start(n);
    for (std::size_t j = 0; j < x.size(); ++j) x[j] += 0.01 * static_cast<double>(1 + j % 3) * (x[j] == 0 ? 1 : x[j]);
    const value_and_gradient here = problem.evaluate(x);
    for (std::size_t j = 0; j < x.size(); ++j) {
      const double h = 1e-3 * std::abs(x[j]) / (problem.name == std::string("SCOSINE") ? 10 : 1);
      const auto at = [&](double step) {
        std::vector<double> moved = x;
        moved[j] += step;
        return problem.evaluate(moved).value;
      };
      const double difference = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h);
      INFO(problem.name << ", unknown " << j << ": " << here.gradient[j] << ", by differences " << difference);
      const double rounding = 10 * std::numeric_limits<double>::epsilon() * std::abs(here.value) / h;
      CHECK(std::abs(here.gradient[j] - difference) <= 1e-6 * (norm_of(here.gradient) + 1) + rounding);
    }
  }
}

TEST_CASE("CUTEst's problems: as objectives they have this value and gradient") {
  for (const cutest_problem& problem : cutest_problems()) {
    INFO(problem.name);
    const index_type n = problem.size_from(40);
    const auto f = problem.make(place::host(), n);
    std::vector<double> x = problem.start(n);
    const value_and_gradient right = problem.evaluate(x);
    whilst::minimizer<double> minimizer(*f, {.max_iterations = 1, .executor = "host"});
    const whilst::minimize_report report = minimizer.solve(x);
    REQUIRE(!report.records.empty());
    const double roundings = 1000 * std::numeric_limits<double>::epsilon();
    CHECK(report.records[0].value == Approx(right.value).epsilon(roundings).margin(roundings));
    CHECK(report.records[0].gradient_norm == Approx(norm_of(right.gradient)).epsilon(roundings).margin(roundings));
  }
}

TEST_CASE("CUTEst's problems: the minimizers that are known have the least value and no slope") {
  const index_type n = 12;
  const double well = 1.895494267033981;                 // t = 2 sin t
  const double curl = 3.163526919789791;                 // 4 q^3 - 40 q = 0.1
  const double wave = (1 + std::sqrt(1 + 16 * pi)) / 4;  // x = 2 x^2 - 2 pi
  const double first = (std::sqrt(5 + 6 * pi) - 1) / 2;  // x^2 + x - 1 = 3/2 pi
  const std::map<std::string, std::vector<double>> known{
      {"ARWHEAD", made_of(n, [](double j) { return j < 11 ? 1.0 : 0.0; })},
      {"CHAINWOO", filled(n, 1)},
      {"COSINE", filled(n, wave)},
      {"CURLY10", made_of(n, [&](double j) { return j == 0 || j == 11 ? curl : 0.0; })},
      {"DIXMAANA", filled(n, 0)},
      {"DIXMAAND", filled(n, 0)},
      {"DIXMAANI", filled(n, 0)},
      {"DIXMAANL", filled(n, 0)},
      {"DIXON3DQ", filled(n, 1)},
      {"DQDRTIC", filled(n, 0)},
      {"DQRTIC", made_of(n, [](double j) { return j + 1; })},
      {"EG2", made_of(n, [&](double j) { return j == 0 ? first : std::sqrt(1.5 * pi + (j < 11 ? 1 - first : 0)); })},
      {"FLETCHCR", filled(n, 1)},
      {"GENROSE", filled(n, 1)},
      {"LIARWHD", filled(n, 1)},
      {"NONCVXU2", filled(n, well / 3)},
      {"NONDIA", filled(n, 1)},
      {"NONDQUAR", filled(n, 0)},
      {"POWELLSG", filled(n, 0)},
      {"SCHMVETT", filled(n, pi / (pi + 1))},
      {"SCOSINE", made_of(n, [&](double j) { return wave / std::exp(12 * j / 11); })},
      {"SPARSINE", filled(n, 0)},
      {"SPARSQUR", filled(n, 0)},
      {"SROSENBR", filled(n, 1)},
      {"TOINTGSS", filled(n, 0)},
      {"TQUARTIC", filled(n, 1)},
      {"TRIDIA", made_of(n, [](double j) { return std::exp2(-j); })},
      {"WOODS", filled(n, 1)},
  };
  for (const auto& [name, x] : known) {
    INFO(name);
    const cutest_problem& problem = find_cutest_problem(name);
    const auto minimum = problem.minimum(n);
    REQUIRE(minimum);
    CHECK(minimum->last_digit == 0);
    const value_and_gradient there = problem.evaluate(x);
    CHECK(there.value == Approx(minimum->value).margin(1e-11));
    // SCOSINE's second derivatives are up to 1e11.
    CHECK(norm_of(there.gradient) <= (name == "SCOSINE" ? 1e-8 : 1e-11) * std::max(1.0, norm_of(x)));
  }
}

TEST_CASE("CUTEst's problems: minimizers find what is published") {
  struct size {
    const char* name;
    index_type n;
  };
  for (const size& published : std::vector<size>{{"BDQRTIC", 100},
                                                 {"CRAGGLVY", 4},
                                                 {"CRAGGLVY", 10},
                                                 {"CRAGGLVY", 50},
                                                 {"CRAGGLVY", 100},
                                                 {"EDENSCH", 36},
                                                 {"ENGVAL1", 2},
                                                 {"FREUROTH", 10},
                                                 {"FREUROTH", 50},
                                                 {"FREUROTH", 100},
                                                 {"MOREBV", 10}}) {
    INFO(published.name << ", n " << published.n);
    const cutest_problem& problem = find_cutest_problem(published.name);
    const auto minimum = problem.minimum(published.n);
    REQUIRE(minimum);
    CHECK(std::abs(lowest_found(problem, published.n) - minimum->value) <= minimum->last_digit + 1e-9);
  }
}

TEST_CASE("CUTEst's problems: no minimizer gets below the least value") {
  for (const cutest_problem& problem : cutest_problems()) {
    const index_type n = problem.size_from(24);
    const auto minimum = problem.minimum(n);
    if (!minimum) continue;
    INFO(problem.name);
    CHECK(lowest_found(problem, n) >= minimum->value - 1e-10 * std::max(1.0, std::abs(minimum->value)));
  }
}

// Functions of CUTEst's on which minimizers are tempted to say what is not so.

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "kernels/problems/test_problems/cutest_problems.hpp"
#include "tests/catch.hpp"
#include "tests/nonlinear/minimizer_functions.hpp"
#include "tests/under_sanitizers.hpp"

namespace whilst_test {

using whilst::minimize_report;
using whilst::minimizer_options;
using whilst::reason;

namespace {

minimize_report solve(const std::string& name, std::int32_t n, const minimizer_options& options) {
  const whilst::cutest_problem& problem = whilst::find_cutest_problem(name);
  const auto f = problem.make(whilst::place_of_executor(options.executor), n);
  std::vector<double> x = problem.start(n);
  const minimize_report r = whilst::minimizer<double>(*f, options).solve(x);
  for (const double value : x) REQUIRE(std::isfinite(value));
  return r;
}

const std::vector<std::string> of_many_unknowns{"lbfgs",
                                                "newton-cg",
                                                "trust-region",
                                                "levenberg-marquardt",
                                                "dogleg",
                                                "conjugate-gradient-pr",
                                                "conjugate-gradient-hz"};

}  // namespace

TEST_CASE("a function that falls for ever has no minimum, however large it is", "[minimizer][cutest]") {
  for (const std::string& executor : recorded_executors()) {
    for (const std::string& method : all_methods) {
      for (const std::string& search : all_searches) {
        INFO(executor << ", " << method << ", " << search);
        const minimize_report r =
            solve("indef", 50, {.method = method, .line_search = search, .max_evaluations = 300, .executor = executor});
        CHECK_FALSE(r.converged());
        CHECK(r.value < -50);
      }
    }
  }
}

TEST_CASE("where rounding hides what f gains the gradient falls on", "[minimizer][cutest]") {
  // About -n^2 / 4 where it is least, and its rounding there 2e-9 times as much as a gradient of 1e-8 promises.
  for (const std::string& executor : recorded_executors()) {
    for (const std::string& method : of_many_unknowns) {
      for (const std::string search : {"strong-wolfe", "approximate-wolfe", "backtracking"}) {
        if (search != "strong-wolfe" && method != "lbfgs" && method != "newton-cg") continue;
        if (under_sanitizers && (search != "strong-wolfe" || method != "newton-cg")) continue;
        INFO(executor << ", " << method << ", " << search);
        const minimize_report r =
            solve("sinquad", 5000, {.method = method, .line_search = search, .executor = executor});
        CHECK(r.reason() == reason::converged_gradient);
        CHECK(r.residual_norm() <= 1e-8);
        CHECK(r.value == Approx(-6.757014e6).epsilon(1e-6));  // CUTEst's
      }
    }
  }
}

TEST_CASE("where f is a difference of large numbers the gradient falls on", "[minimizer][cutest]") {
  for (const std::string& executor : recorded_executors()) {
    for (const std::string& method : of_many_unknowns) {
      for (const std::int32_t n : {1000, 10'000}) {
        INFO(executor << ", " << method << ", " << n << " unknowns");
        const minimize_report r = solve("arwhead", n, {.method = method, .executor = executor});
        CHECK(r.reason() == reason::converged_gradient);
        CHECK(r.residual_norm() <= 1e-8);
        CHECK(std::abs(r.value) <= 1e-9);
      }
    }
  }
}

TEST_CASE("cosines of scales from 1 to 1.6e5 are left where the report says", "[minimizer][cutest]") {
  // Where x_i is about 1 and s_i about 1.6e5, the last digit of x_i moves a derivative by 1e5: few x in double have a
  // gradient of 1e-8, and most methods end without one.
  for (const std::string& executor : recorded_executors()) {
    for (const int n : {10, 100}) {
      for (const std::string& method : of_many_unknowns) {
        if (under_sanitizers && n > 10) continue;
        INFO(executor << ", " << method << ", " << n << " unknowns");
        const whilst::cutest_problem& problem = whilst::find_cutest_problem("scosine");
        const auto f = problem.make(whilst::place_of_executor(executor), n);
        std::vector<double> x = problem.start(n);
        const minimize_report r =
            whilst::minimizer<double>(*f, {.method = method, .max_iterations = 2000, .executor = executor}).solve(x);
        const auto scale = [&](int i) { return std::exp(12.0 * i / (n - 1)); };
        std::vector<double> gradient(x.size(), 0.0);
        double value = 0;
        for (int i = 0; i + 1 < n; ++i) {
          const auto k = static_cast<std::size_t>(i);
          const double a = scale(i), b = scale(i + 1), angle = a * a * (x[k] * x[k]) - b / 2 * x[k + 1];
          value += std::cos(angle);
          gradient[k] -= std::sin(angle) * 2 * a * a * x[k];
          gradient[k + 1] += std::sin(angle) * b / 2;
        }
        double norm = 0;
        for (const double g : gradient) norm = std::hypot(norm, g);
        // An angle may be large, and its last digit with it.
        CHECK(r.value == Approx(value).margin(1e-6 * n));
        // The others say that f cannot be told to fall, or that they found no step.
        if (r.reason() == reason::converged_gradient) CHECK(norm <= 1e-7);
      }
    }
  }
}

namespace {

double norm_of(const std::vector<double>& entries) {
  double norm = 0;
  for (const double entry : entries) norm = std::hypot(norm, entry);
  return norm;
}

}  // namespace

TEST_CASE("nonlinear conjugate gradients reach the gradient of ill-conditioned functions", "[minimizer][cutest]") {
  struct run {
    const char *problem, *method;
  };
  for (const std::string& executor : recorded_executors()) {
    for (const run& one : {run{"curly10", "conjugate-gradient-hz"}, run{"sparsine", "conjugate-gradient-hz"},
                           run{"curly10", "conjugate-gradient-pr"}, run{"sparsine", "conjugate-gradient-pr"},
                           run{"morebv", "conjugate-gradient-pr"}}) {
      if (under_sanitizers && one.problem != std::string("sparsine")) continue;  // ten thousands of iterations
      INFO(executor << ", " << one.problem << ", " << one.method);
      const whilst::cutest_problem& problem = whilst::find_cutest_problem(one.problem);
      const auto f = problem.make(whilst::place_of_executor(executor), 100);
      std::vector<double> x = problem.start(100);
      minimizer_options options{.method = one.method, .max_iterations = 200'000, .executor = executor};
      options.tolerances.gradient = 1e-6;
      const minimize_report r = whilst::minimizer<double>(*f, options).solve(x);
      CHECK(r.reason() == reason::converged_gradient);
      CHECK(norm_of(problem.evaluate(x).gradient) <= 1.01e-6);
      if (const auto minimum = problem.minimum(100))
        CHECK(r.value == Approx(minimum->value).epsilon(1e-4).margin(1e-4));
    }
  }
}

TEST_CASE("a Newton step may cross a pole of the tangent in CRAGGLVY, to another minimum", "[minimizer][cutest]") {
  // tan has a branch, and f a minimum, on each side of a pole; a step of the line search cannot see one that it
  // crosses.
  constexpr whilst::index_type n = 100;
  const whilst::cutest_problem& problem = whilst::find_cutest_problem("cragglvy");
  const auto f = problem.make(whilst::place::host(), n);
  std::vector<double> x = problem.start(n);
  const minimize_report r = whilst::minimizer<double>(*f, {.method = "newton-cg", .executor = "host"}).solve(x);
  CHECK(r.converged());
  CHECK(norm_of(problem.evaluate(x).gradient) <= 1e-6);
  double farthest = 0;
  for (std::size_t i = 0; i + 3 < x.size(); i += 2) farthest = std::max(farthest, std::abs(x[i + 2] - x[i + 3]));
  const bool is_elsewhere = r.value > problem.minimum(n)->value + 0.1;
  CHECK(is_elsewhere == (farthest > std::numbers::pi / 2));
  // It is a minimum: second differences of the gradient are positive along every axis and along random directions.
  const double h = 1e-4;
  std::mt19937 random(1);
  std::normal_distribution<double> entry;
  for (std::size_t k = 0; k < 2 * x.size(); ++k) {
    std::vector<double> direction(x.size(), 0.0), there = x, back = x;
    for (std::size_t i = 0; i < x.size(); ++i) direction[i] = k < x.size() ? (i == k ? 1 : 0) : entry(random) / 10;
    for (std::size_t i = 0; i < x.size(); ++i) {
      there[i] += h * direction[i];
      back[i] -= h * direction[i];
    }
    const auto above = problem.evaluate(there).gradient, below = problem.evaluate(back).gradient;
    double curvature = 0;
    for (std::size_t i = 0; i < x.size(); ++i) curvature += direction[i] * (above[i] - below[i]) / (2 * h);
    CHECK(curvature > -1e-6);
  }
}

}  // namespace whilst_test

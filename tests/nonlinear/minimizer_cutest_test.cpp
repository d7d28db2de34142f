// Functions of CUTEst's on which minimizers are tempted to say what is not so.

#include "tests/catch.hpp"
#include "tests/nonlinear/minimizer_functions.hpp"

namespace whilst_test {

using whilst::minimize_report;
using whilst::minimizer_options;
using whilst::reason;

namespace {

minimize_report solve(const std::string& name, std::int32_t n, const minimizer_options& options) {
  const cutest_function made = make_cutest(whilst::place_of_executor(options.executor), name, n);
  std::vector<double> x = made.start;
  const minimize_report r = whilst::minimizer<double>(*made.f, options).solve(x);
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

TEST_CASE("where rounding of x alone moves the gradient more than the tolerance, nothing converges",
          "[minimizer][cutest]") {
  // Cosines of s_i^2 x_i^2 with s_i up to 1.6e5: where x_i is about 1 the last digit of x_i moves a derivative by 1e5.
  // No x in double has a gradient of 1e-8. The least value is -1 for each of the n - 1 cosines.
  for (const std::string& executor : recorded_executors()) {
    for (const std::int32_t n : {10, 100}) {
      for (const std::string& method : of_many_unknowns) {
        INFO(executor << ", " << method << ", " << n << " unknowns");
        const minimize_report r = solve("scosine", n, {.method = method, .max_iterations = 2000, .executor = executor});
        CHECK_FALSE(r.converged());
        CHECK(r.value >= -(n - 1) * (1 + 1e-12));
        // Second derivatives see the scales.
        if (method == "newton-cg") CHECK(r.value <= -0.99 * (n - 1));
      }
    }
  }
}

}  // namespace whilst_test

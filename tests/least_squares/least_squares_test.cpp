// compiled by nvcc where CUDA is on
#define EIGEN_NO_CUDA  // Eigen is an oracle on the host; nvcc warns about its annotations for devices

#include "whilst/least_squares.hpp"

#include <Eigen/LU>
#include <Eigen/QR>

#include "kernels/problems/curves/curve_models.hpp"
#include "tests/catch.hpp"
#include "tests/engine/toy.hpp"
#include "tests/linear/systems.hpp"
#include "whilst/derivative_check.hpp"

namespace whilst_test {

using whilst::curve_fit;
using whilst::least_squares_options;
using whilst::least_squares_report;
using whilst::reason;

namespace {

/// y = b0 + b1 x + b2 x^2: linear in b, so that one undamped step is exact.
struct parabola {
  static constexpr int parameters = 3, variables = 1;
  template <class S>
  WHILST_HD S operator()(const S* b, const double* x) const {
    return b[0] + b[1] * x[0] + b[2] * (x[0] * x[0]);
  }
};
/// y = b0 exp(-b1 x)
struct decay {
  static constexpr int parameters = 2, variables = 1;
  template <class S>
  WHILST_HD S operator()(const S* b, const double* x) const {
    using std::exp;
    return b[0] * exp(b[1] * (-x[0]));
  }
};
/// Two parameters that only their sum counts of: J' J is singular everywhere.
struct only_the_sum {
  static constexpr int parameters = 2, variables = 1;
  template <class S>
  WHILST_HD S operator()(const S* b, const double* x) const {
    return (b[0] + b[1]) * x[0];
  }
};
/// Infinite beyond b = 1.
struct wall {
  static constexpr int parameters = 1, variables = 1;
  template <class S>
  WHILST_HD S operator()(const S* b, const double*) const {
    using std::log;
    return log(1.0 - b[0]);
  }
};

std::vector<double> grid(int points) {
  std::vector<double> x;
  for (int i = 0; i < points; ++i) x.push_back(0.1 * i - 1);
  return x;
}

/// Deterministic noise between -1 and 1.
double noise(int i) { return std::sin(12.9898 * i) * std::cos(78.233 * i); }

const std::vector<double> start_of_decay{1, 1};

}  // namespace

TEST_CASE("a linear model is fitted as Eigen's QR does, standard errors included", "[least_squares][sanitizer]") {
  // A few points, and more than a block's.
  for (const int points : {4, 50, 3000}) {
    const auto x = grid(points);
    std::vector<double> y;
    Eigen::MatrixXd J(points, 3);
    Eigen::VectorXd right(points);
    for (int i = 0; i < points; ++i) {
      const double at = x[static_cast<std::size_t>(i)];
      y.push_back(3 - 2 * at + 0.5 * at * at + 0.1 * noise(i));
      J.row(i) << 1, at, at * at;
      right[i] = y.back();
    }
    const Eigen::VectorXd expected = J.householderQr().solve(right);
    const double variance = (right - J * expected).squaredNorm() / (points - 3);
    const Eigen::MatrixXd covariance = variance * (J.transpose() * J).inverse();
    for (const std::string& executor : executors()) {
      INFO(executor << ", " << points << " points");
      curve_fit<double, parabola> fit({}, x, y, {.executor = executor});
      std::vector<double> b{0, 0, 0};
      const least_squares_report report = fit.solve(b);
      CHECK(report.converged());
      CHECK(report.executor() == executor);
      // J' J squares the condition of J, 1e5 for the widest grid.
      constexpr double tolerance = 1e10 * std::numeric_limits<double>::epsilon();
      for (int j = 0; j < 3; ++j) {
        CHECK(b[static_cast<std::size_t>(j)] == Approx(expected[j]).epsilon(tolerance));
        CHECK(report.standard_errors()[static_cast<std::size_t>(j)] ==
              Approx(std::sqrt(covariance(j, j))).epsilon(1e-4));
      }
      // Again from the solution: nothing is left to do, and nothing of the first fit is remembered.
      const std::vector<double> found = b;
      CHECK(fit.solve(b).converged());
      for (int j = 0; j < 3; ++j)
        CHECK(b[static_cast<std::size_t>(j)] == Approx(found[static_cast<std::size_t>(j)]).epsilon(tolerance));
    }
  }
}

TEMPLATE_TEST_CASE("an exact decay is found to the last digits", "[least_squares]", float, double) {
  const auto x = grid(40);
  std::vector<double> y;
  for (const double at : x) y.push_back(2.5 * std::exp(-1.3 * at));
  for (const std::string& executor : executors()) {
    INFO(executor);
    curve_fit<TestType, decay> fit({}, x, y, {.executor = executor});
    std::vector<TestType> b{1, 0};
    const least_squares_report report = fit.solve(b);
    CHECK(report.converged());
    // Some epsilon of the numbers that residuals are computed in.
    const double tolerance = 100 * static_cast<double>(std::numeric_limits<TestType>::epsilon());
    CHECK(static_cast<double>(b[0]) == Approx(2.5).epsilon(tolerance));
    CHECK(static_cast<double>(b[1]) == Approx(1.3).epsilon(tolerance));
    // The history falls, to the value that is reported.
    REQUIRE_FALSE(report.history().empty());
    for (std::size_t k = 1; k < report.history().size(); ++k)
      CHECK(report.history()[k].residual_norm <= report.history()[k - 1].residual_norm * (1 + 1e-3));
    CHECK(report.residual_norm() == Approx(std::sqrt(2 * report.value)));
  }
}

TEST_CASE("fits that cannot go on say why", "[least_squares][sanitizer]") {
  const auto x = grid(20);
  std::vector<double> y;
  for (const double at : x) y.push_back(2.5 * std::exp(-1.3 * at) + 0.1);
  for (const std::string& executor : executors()) {
    INFO(executor);
    const auto decaying = [&](least_squares_options options, std::vector<double>& b) {
      options.executor = executor;
      return curve_fit<double, decay>({}, x, y, options).solve(b);
    };
    SECTION("the limit, " + executor) {
      for (const whilst::index_type limit : {0, 1, 3}) {
        std::vector<double> b = start_of_decay;
        const auto report = decaying({.max_iterations = limit}, b);
        CHECK(report.reason() == reason::iteration_limit);
        CHECK(report.iterations() == limit);
        for (const double value : b) CHECK(std::isfinite(value));
      }
    }
    SECTION("a start that is not a number, " + executor) {
      std::vector<double> b{std::nan(""), 1};
      CHECK(decaying({}, b).reason() == reason::nan_or_infinity);
    }
    SECTION("a start that overflows, left as it was, " + executor) {
      std::vector<double> b{1, 1e6};
      CHECK(decaying({}, b).reason() == reason::nan_or_infinity);
      CHECK((b == std::vector<double>{1, 1e6}));
    }
    SECTION("a singular Jacobian still gives the sum, and no covariance, " + executor) {
      std::vector<double> b{5, -1};
      curve_fit<double, only_the_sum> fit({}, x, x, {.executor = executor});
      const auto report = fit.solve(b);
      CHECK(report.converged());
      CHECK(b[0] + b[1] == Approx(1).epsilon(1e-12));
      CHECK(report.covariance.empty());
    }
    SECTION("steps into infinity are taken back, " + executor) {
      std::vector<double> b{0.9};
      const std::vector<double> zeros(x.size(), 0.0);
      curve_fit<double, wall> fit({}, x, zeros, {.executor = executor});
      CHECK(fit.solve(b).converged());
      CHECK(std::abs(b[0]) < 1e-12);
    }
  }
}

TEST_CASE("fits that make no sense are refused", "[least_squares]") {
  const std::vector<double> x{0, 1}, y{1, 2};
  using fit = curve_fit<double, decay>;
  CHECK_THROWS_AS(fit({}, std::vector<double>{}, std::vector<double>{}), whilst::error);
  CHECK_THROWS_AS(fit({}, x, std::vector<double>{1}), whilst::error);
  CHECK_THROWS_AS(fit({}, x, std::vector<double>{1, std::nan("")}), whilst::error);
  CHECK_THROWS_AS(fit({}, x, y, {.max_iterations = -1}), whilst::error);
  CHECK_THROWS_AS(fit({}, x, y, {.history_capacity = 3}), whilst::error);
  CHECK_THROWS_AS(fit({}, x, y, {.executor = "nonsense"}), whilst::error);
  CHECK_THROWS_AS(fit({}, x, y, {.tolerances = {.step = -1}}), whilst::error);
  fit two({}, x, y, {.executor = "host"});
  std::vector<double> three(3);
  CHECK_THROWS_AS(two.solve(three), whilst::error);
}

TEST_CASE("stream and graph fit to the same bits, however unrolled", "[least_squares]") {
  if (whilst::cuda::device_count() == 0) {
    WARN("skipped: no GPU");
    return;
  }
  for (const int points : {20, 3000}) {
    const auto x = grid(points);
    std::vector<double> y;
    for (int i = 0; i < points; ++i) y.push_back(0.5 + noise(i));
    std::vector<std::vector<double>> found;
    for (const auto& [executor, unroll] :
         std::vector<std::pair<const char*, int>>{{"stream", 1}, {"graph", 1}, {"graph", 4}, {"graph", 16}}) {
      curve_fit<double, parabola> fit({}, x, y, {.executor = executor, .unroll = unroll});
      found.push_back({1, 2, 3});
      fit.solve(found.back());
      CHECK((found.back() == found.front()));
    }
  }
}

namespace {

/// A model at fixed x, as a function of its parameters.
template <class Model>
struct at_point {
  Model model;
  const double* x;
  template <class S>
  S operator()(const S* b) const {
    return model(b, x);
  }
};

}  // namespace

TEST_CASE("every bundled curve model passes the derivative checker", "[least_squares]") {
  whilst::for_each_curve_model([](std::string_view name, const auto& model) {
    using Model = std::decay_t<decltype(model)>;
    std::vector<double> b, x;
    for (int j = 0; j < Model::parameters; ++j) b.push_back(0.7 + 0.1 * j);
    for (int j = 0; j < Model::variables; ++j) x.push_back(1.3 + 0.2 * j);
    const auto found = whilst::check_derivatives<Model::parameters>(at_point<Model>{model, x.data()}, b.data());
    INFO(name << ": " << found.message);
    CHECK(found.agrees);
  });
}

}  // namespace whilst_test

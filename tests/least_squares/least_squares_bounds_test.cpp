// compiled by nvcc where CUDA is on

// Fits whose parameters have bounds. The oracle is the closed form of what is left where a parameter is held.

#include <cmath>
#include <limits>

#include "tests/catch.hpp"
#include "tests/linear/systems.hpp"
#include "whilst/least_squares.hpp"
#include "whilst/least_squares_batch.hpp"

namespace whilst_test {

using whilst::curve_fit;
using whilst::least_squares_report;

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

/// y = b0 exp(-b1 x)
struct decay {
  static constexpr int parameters = 2, variables = 1;
  template <class S>
  WHILST_HD S operator()(const S* b, const double* x) const {
    using std::exp;
    return b[0] * exp(b[1] * (-x[0]));
  }
};
/// y = log(1 - b): infinite beyond 1
struct wall {
  static constexpr int parameters = 1, variables = 1;
  template <class S>
  WHILST_HD S operator()(const S* b, const double*) const {
    using std::log;
    return log(1.0 - b[0]);
  }
};

/// Points of 2.5 exp(-1.3 x) with some noise, and what is known of their fits.
struct decaying {
  static constexpr int points = 40;
  std::vector<double> x, y;

  decaying() {
    for (int i = 0; i < points; ++i) {
      x.push_back(0.1 * i - 1);
      y.push_back(2.5 * std::exp(-1.3 * x.back()) + 0.05 * std::sin(12.9898 * i) * std::cos(78.233 * i));
    }
  }
  /// The best b0 beside this b1, and its standard error as the only parameter.
  struct best {
    double b0, error;
  };
  best beside(double b1) const {
    long double ye = 0, ee = 0, rr = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const long double e = std::exp(-static_cast<long double>(b1) * x[i]);
      ye += e * y[i];
      ee += e * e;
    }
    const long double b0 = ye / ee;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const long double r = b0 * std::exp(-static_cast<long double>(b1) * x[i]) - y[i];
      rr += r * r;
    }
    return {static_cast<double>(b0), static_cast<double>(std::sqrt(rr / (points - 1) / ee))};
  }
};

template <class T>
constexpr double tolerance = 1000 * static_cast<double>(std::numeric_limits<T>::epsilon());

}  // namespace

TEMPLATE_TEST_CASE("a bound holds a parameter, and the others are fitted beside it", "[least_squares][sanitizer]",
                   float, double) {
  using T = TestType;
  const decaying data;
  const double at_fit = 1.3;
  for (const std::string& executor : executors()) {
    // From above, from below, and from the bound itself; 0.7 and 1.9 are no numbers of either precision.
    for (const auto& [lower, upper, start, bound] :
         {std::tuple(-infinite, 0.7, 0.1, 0.7), std::tuple(1.9, infinite, 3.0, 1.9),
          std::tuple(-infinite, 0.7, 0.7, 0.7)}) {
      INFO(executor << ", from " << lower << " to " << upper);
      curve_fit<T, decay> fit({}, data.x, data.y,
                              {.lower = {-infinite, lower}, .upper = {infinite, upper}, .executor = executor});
      std::vector<T> b{1, static_cast<T>(start)};
      if (static_cast<double>(b[1]) > upper) b[1] = std::nextafter(b[1], T(0));
      const least_squares_report report = fit.solve(b);
      CHECK(report.converged());
      CHECK(report.iterations() < 100);
      const auto held = static_cast<double>(b[1]);
      CHECK(held >= lower);
      CHECK(held <= upper);
      CHECK(held == Approx(bound).epsilon(static_cast<double>(std::numeric_limits<T>::epsilon())));
      const decaying::best expected = data.beside(held);
      CHECK(static_cast<double>(b[0]) == Approx(expected.b0).epsilon(tolerance<T>));
      REQUIRE(report.standard_errors().size() == 2);
      CHECK(report.standard_errors()[0] == Approx(expected.error).epsilon(tolerance<T>));
      CHECK(report.standard_errors()[1] == 0);
      CHECK(report.covariance[1] == 0);
    }
    // Bounds that hold nothing change nothing.
    std::vector<T> b{1, 1}, bounded{1, 1}, from_bound{1, 2};
    const double errors = curve_fit<T, decay>({}, data.x, data.y, {.executor = executor}).solve(b).standard_errors()[1];
    curve_fit<T, decay> wide({}, data.x, data.y,
                             {.lower = {0, -infinite}, .upper = {infinite, 2}, .executor = executor});
    for (std::vector<T>* start : {&bounded, &from_bound}) {
      const least_squares_report report = wide.solve(*start);
      CHECK(report.converged());
      CHECK(static_cast<double>((*start)[1]) == Approx(at_fit).epsilon(0.05));
      for (std::size_t j = 0; j < 2; ++j)
        CHECK(static_cast<double>((*start)[j]) ==
              Approx(static_cast<double>(b[j])).epsilon(std::sqrt(tolerance<T>) / 10));
      CHECK(report.standard_errors()[1] == Approx(errors).epsilon(std::sqrt(tolerance<T>)));
    }
  }
}

TEST_CASE("bounds that leave nothing to fit, or one point, are kept to", "[least_squares]") {
  const decaying data;
  for (const std::string& executor : executors()) {
    INFO(executor);
    std::vector<double> b{1, 0.2};
    curve_fit<double, decay> corner({}, data.x, data.y, {.lower = {0, 0}, .upper = {1, 0.5}, .executor = executor});
    const least_squares_report report = corner.solve(b);
    CHECK(report.reason() == whilst::reason::converged_gradient);
    CHECK((b == std::vector<double>{1, 0.5}));
    CHECK((report.standard_errors() == std::vector<double>{0, 0}));
    // A parameter whose bounds are one number is a constant.
    curve_fit<double, decay> constant({}, data.x, data.y,
                                      {.lower = {-infinite, 1}, .upper = {infinite, 1}, .executor = executor});
    b = {7, 1};
    CHECK(constant.solve(b).converged());
    CHECK(b[1] == 1);
    CHECK(b[0] == Approx(data.beside(1).b0).epsilon(tolerance<double>));
    // No trial is out of bounds, where the function is not a number.
    const std::vector<double> zeros(data.x.size(), 0.0);
    curve_fit<double, wall> at_wall({}, data.x, zeros, {.lower = {-5}, .upper = {0.999}, .executor = executor});
    b = {0.999};
    const least_squares_report walled = at_wall.solve(b);
    CHECK(walled.converged());
    CHECK(std::abs(b[0]) < 1e-12);
    CHECK(walled.iterations() < 30);
  }
}

TEST_CASE("bounds that make no sense are refused, and starts that are outside",
          "[least_squares][least_squares_batch]") {
  const decaying data;
  using fit = curve_fit<double, decay>;
  const auto with = [&](std::vector<double> lower, std::vector<double> upper) {
    return fit({}, data.x, data.y, {.lower = std::move(lower), .upper = std::move(upper), .executor = "host"});
  };
  CHECK_THROWS_WITH(with({0}, {}), contains("2 parameters and 1 lower bounds"));
  CHECK_THROWS_WITH(with({}, {1, 2, 3}), contains("3 upper bounds"));
  CHECK_THROWS_WITH(with({0, 2}, {1, 1}), contains("parameter 1"));
  CHECK_THROWS_WITH(with({0, std::nan("")}, {}), contains("not a number"));
  CHECK_THROWS_AS(with({infinite, 0}, {}), whilst::error);
  std::vector<double> b{1, 3};
  fit bounded = with({0, 0}, {2, 2});
  CHECK_THROWS_WITH(bounded.solve(b), contains("parameter 1") && contains("Start within"));
  CHECK((b == std::vector<double>{1, 3}));
  b = {std::nan(""), 1};
  CHECK(bounded.solve(b).reason() == whilst::reason::nan_or_infinity);
}

TEMPLATE_TEST_CASE("the fits of a batch keep to bounds", "[least_squares_batch]", float, double) {
  using T = TestType;
  const decaying data;
  constexpr int sets = 50;
  using problem = whilst::curve_residuals_of_many<T, decay>;
  whilst::buffer<double> times;
  whilst::buffer<T> responses;
  // Set k decays k / 40 times as fast, if that is within bounds.
  const auto on = [&](whilst::place where) {
    std::vector<T> y;
    for (int k = 0; k < sets; ++k)
      for (std::size_t i = 0; i < data.x.size(); ++i)
        y.push_back(static_cast<T>(2.5 * std::exp(-k / 40.0 * data.x[i])));
    times = whilst::buffer<double>(where, decaying::points);
    responses = whilst::buffer<T>(where, decaying::points * sets);
    times.upload(data.x.data());
    responses.upload(y.data());
    return problem{{}, decaying::points, times.data(), responses.data(), 1, decaying::points};
  };
  const bool has_gpu = executors().size() > 1;
  for (const int lanes : has_gpu ? std::vector<int>{1, 4, 32, 64} : std::vector<int>{0}) {
    whilst::least_squares_batch<T, problem> batch(
        on, sets, {.lower = {0, 0.25}, .upper = {infinite, 1}, .executor = has_gpu ? "batch" : "host", .lanes = lanes});
    std::vector<T> b;
    for (int k = 0; k < sets; ++k) b.insert(b.end(), {T(1), T(0.5)});
    const whilst::least_squares_batch_report report = batch.solve(b);
    for (int k = 0; k < sets; ++k) {
      INFO(lanes << " lanes, set " << k << ", " << whilst::name(report[k].reason));
      REQUIRE(report[k].converged());
      REQUIRE(static_cast<double>(b[static_cast<std::size_t>(2 * k + 1)]) ==
              Approx(std::clamp(k / 40.0, 0.25, 1.0)).epsilon(tolerance<T>));
    }
    b[7] = T(1.5);
    CHECK_THROWS_WITH(batch.solve(b), contains("entry 7"));
  }
}

}  // namespace whilst_test

#pragma once

// What tests of enqueued fits share: data, oracles, memory.

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/host/batches.hpp"
#include "tests/linear/systems.hpp"
#include "whilst/least_squares.hpp"

namespace whilst_test::enqueued_fits {

using whilst::buffer;
using whilst::curve_fit;
using whilst::index_type;
using whilst::least_squares_options;
using whilst::least_squares_report;
using whilst::least_squares_ticket;
using whilst::place;
using whilst::progress;
using whilst::reason;

struct straight_line {
  static constexpr int parameters = 2, variables = 1;
  template <class S>
  WHILST_HD S operator()(const S* b, const double* x) const {
    return b[0] + b[1] * x[0];
  }
};
/// b0 exp(-b1 x), which takes some trials from `far`. On the host, tests can have it call something.
struct minded_decay {
  static constexpr int parameters = 2, variables = 1;
  template <class S>
  WHILST_HD S operator()(const S* b, const double* x) const {
    using std::exp;
    mind_the_next_evaluation();
    return b[0] * exp(b[1] * (-x[0]));
  }
};
inline const std::vector<double> far{1, 5};

/// y = intercept + slope x + noise on a grid, and the regression line with its standard errors by the textbook's sums.
struct line_data {
  std::vector<double> x, y;
  double intercept, slope, error_of_intercept, error_of_slope;

  explicit line_data(int which, int points = 40) {
    double mean_x = 0, mean_y = 0;
    for (int i = 0; i < points; ++i) {
      x.push_back(0.1 * i - 1);
      y.push_back(3 + which - (2 - 0.3 * which) * x.back() + 0.1 * (1 + which) * noise(i + 7 * which));
      mean_x += x.back() / points;
      mean_y += y.back() / points;
    }
    double xx = 0, xy = 0, rr = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      xx += (x[i] - mean_x) * (x[i] - mean_x);
      xy += (x[i] - mean_x) * (y[i] - mean_y);
    }
    slope = xy / xx;
    intercept = mean_y - slope * mean_x;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double r = y[i] - intercept - slope * x[i];
      rr += r * r;
    }
    const double variance = rr / (points - 2);
    error_of_slope = std::sqrt(variance / xx);
    error_of_intercept = std::sqrt(variance * (1.0 / points + mean_x * mean_x / xx));
  }

  void check(const least_squares_report& report, const std::vector<double>& b) const {
    // Sums of some hundred numbers of size 1 to 100, squared by J' J: some 1e5 epsilon.
    constexpr double tolerance = 1e-10;
    CHECK(report.converged());
    CHECK(b[0] == Approx(intercept).epsilon(tolerance));
    CHECK(b[1] == Approx(slope).epsilon(tolerance));
    REQUIRE(report.errors.size() == 2);
    CHECK(report.errors[0] == Approx(error_of_intercept).epsilon(tolerance));
    CHECK(report.errors[1] == Approx(error_of_slope).epsilon(tolerance));
    CHECK(report.covariance[3] == Approx(error_of_slope * error_of_slope).epsilon(tolerance));
    CHECK(report.residual_norm() == Approx(std::sqrt(2 * report.value)));
  }
};

struct decay_data {
  std::vector<double> x, y;
  decay_data() {
    for (int i = 0; i < 40; ++i) {
      x.push_back(0.1 * i);
      y.push_back(3 * std::exp(-0.7 * x.back()) + 0.05 * noise(i));
    }
  }
  curve_fit<double, minded_decay> fit(const least_squares_options& options) const { return {{}, x, y, options}; }
};

inline buffer<double> on_place(const std::string& executor, const std::vector<double>& x) {
  buffer<double> made(executor == "host" ? place::host() : place::gpu(0), static_cast<index_type>(x.size()));
  made.upload(x.data());
  return made;
}
inline std::vector<double> values(const buffer<double>& from) {
  std::vector<double> host(static_cast<std::size_t>(from.size()));
  from.download(host.data());
  return host;
}
/// On the host: what the first evaluation of the next fit calls.
class at_first_evaluation {
 public:
  explicit at_first_evaluation(std::function<void()> call) : call_(std::move(call)) { at_next_evaluation = &call_; }
  ~at_first_evaluation() { at_next_evaluation = nullptr; }

 private:
  std::function<void()> call_;
};

}  // namespace whilst_test::enqueued_fits

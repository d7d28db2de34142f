// compiled by nvcc where CUDA is on
// Data that functors read, exchanged between solves.

#include "whilst/rebindable.hpp"

#include "kernels/problems/curves/curve_models.hpp"
#include "tests/catch.hpp"
#include "tests/engine/toy.hpp"
#include "whilst/least_squares.hpp"
#include "whilst/minimizer.hpp"
#include "whilst/partially_separable.hpp"

namespace whilst_test {

using whilst::buffer;
using whilst::place;
using whilst::rebindable;
using whilst::slot;

namespace {

/// 1/2 (x - target)^2, least where x is the target.
struct pull {
  static constexpr int unknowns = 1;
  slot<const double> target;
  template <class S>
  WHILST_HD S operator()(index_type e, const S* x) const {
    return 0.5 * (x[0] - target.get()[e]) * (x[0] - target.get()[e]);
  }
};

/// A line through points.
struct line_through {
  static constexpr int unknowns = 2;
  index_type points;
  slot<const double> y;
  WHILST_HD index_type count() const { return points; }
  template <class S>
  WHILST_HD S operator()(index_type i, const S* b) const {
    return b[0] + b[1] * static_cast<double>(i) - y.get()[i];
  }
};

struct line {
  static constexpr int parameters = 2, variables = 1;
  template <class S>
  WHILST_HD S operator()(const S* b, const double* x) const {
    return b[0] + b[1] * x[0];
  }
};

buffer<double> line_of(place where, index_type n, double first, double slope) {
  std::vector<double> y;
  for (index_type i = 0; i < n; ++i) y.push_back(first + slope * static_cast<double>(i));
  buffer<double> made(where, n);
  made.upload(y.data());
  return made;
}

// Of sums over a hundred terms or so, solved to a gradient of 1e-12.
constexpr double tolerance = 1e-10;

}  // namespace

TEST_CASE("terms read other data after a bind, in the order of the stream", "[rebindable]") {
  constexpr index_type n = 100;
  for (const way& w : ways()) {
    INFO(w.name);
    const buffer<double> first = line_of(w.where, n, 1, 2), second = line_of(w.where, n, -7, 0.5);
    rebindable<const double> target(w.where, first.data());
    whilst::partially_separable<double> f(w.where, n);
    std::vector<std::int32_t> unknowns(n);
    for (index_type i = 0; i < n; ++i) unknowns[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i);
    f.add("pulls", pull{target.view()}, unknowns);
    whilst::minimizer<double> minimizer(f, {.tolerances = {.gradient = 1e-12}, .executor = w.name});
    buffer<double> x(w.where, n), y(w.where, n);
    const whilst::ticket one = minimizer.enqueue(nullptr, x.data());
    target.bind(nullptr, second.data());
    const whilst::ticket two = minimizer.enqueue(nullptr, y.data());
    CHECK(one.wait().converged());
    CHECK(two.wait().converged());
    const auto check = [](const buffer<double>& found, const buffer<double>& expected) {
      const std::vector<double> a = values(found), b = values(expected);
      for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i] == Approx(b[i]).epsilon(0).margin(tolerance));
    };
    check(x, first);
    check(y, second);
  }
}

TEST_CASE("residuals read other data after a bind", "[rebindable]") {
  constexpr index_type n = 50;
  for (const char* executor : {"host", "stream", "graph", "resident"}) {
    if (std::string(executor) != "host" && whilst::cuda::device_count() == 0) continue;
    INFO(executor);
    std::vector<buffer<double>> data;
    std::vector<rebindable<const double>> y;
    whilst::least_squares_options options;
    options.executor = executor;
    whilst::least_squares_solver<double, line_through> solver(
        [&](place where) {
          data.push_back(line_of(where, n, 4, 3));
          data.push_back(line_of(where, n, -1, 0.25));
          y.emplace_back(where, data[0].data());
          return line_through{n, y[0].view()};
        },
        options);
    std::vector<double> b{0, 0};
    CHECK(solver.solve(b).converged());
    CHECK(b[0] == Approx(4).margin(tolerance));
    CHECK(b[1] == Approx(3).margin(tolerance));
    y[0].bind(nullptr, data[1].data());
    CHECK(solver.solve(b).converged());
    CHECK(b[0] == Approx(-1).margin(tolerance));
    CHECK(b[1] == Approx(0.25).margin(tolerance));
  }
}

TEST_CASE("a curve is fitted to other data of the same shape", "[rebindable]") {
  const std::vector<double> x{0, 1, 2, 3, 4}, other_x{0, 2, 4, 6, 8}, y{2, 5, 8, 11, 14}, other_y{5, 4, 3, 2, 1};
  for (const char* executor : {"host", "graph", "resident"}) {
    if (std::string(executor) != "host" && whilst::cuda::device_count() == 0) continue;
    INFO(executor);
    whilst::least_squares_options options;
    options.executor = executor;
    whilst::curve_fit<double, line> fit({}, x, y, options);
    std::vector<double> b{0, 0};
    fit.solve(b);
    CHECK(b[0] == Approx(2).margin(tolerance));
    CHECK(b[1] == Approx(3).margin(tolerance));
    fit.update_data(other_x, other_y);
    fit.solve(b);
    CHECK(b[0] == Approx(5).margin(tolerance));
    CHECK(b[1] == Approx(-0.5).margin(tolerance));
    CHECK_THROWS_WITH(fit.update_data(std::vector<double>{1}, std::vector<double>{1}),
                      contains("there are 1 points, and there were 5. Give as many"));
    CHECK_THROWS_WITH(fit.update_data(x, std::vector<double>{1, 2, 3, 4, HUGE_VAL}), contains("is not finite"));
  }
}

TEST_CASE("data that is bound to nothing is refused", "[rebindable]") {
  double number = 1;
  CHECK_THROWS_WITH(rebindable<double>(place::host(), nullptr), contains("binding data: the pointer is null"));
  rebindable<double> cell(place::host(), &number);
  CHECK_THROWS_WITH(cell.bind(nullptr, nullptr), contains("the pointer is null"));
  CHECK(*cell.view().get() == 1);
}

}  // namespace whilst_test

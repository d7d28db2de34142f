// compiled by nvcc where CUDA is on
// f at several points of a line in one pass: compared with f at each point alone, in other words.

#include <cmath>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "tests/catch.hpp"
#include "tests/engine/toy.hpp"
#include "whilst/called_objective.hpp"
#include "whilst/partially_separable.hpp"

namespace whilst_test {

using whilst::buffer;
using whilst::partially_separable;
using whilst::place;

namespace {

constexpr int points = whilst::objective<double>::points_of_line;

/// Term e ties unknown e to the next one, which the last term has not.
struct waves {
  static constexpr int unknowns = 2;
  template <class S>
  WHILST_HD S operator()(index_type e, const S* x) const {
    using std::sin;
    return static_cast<double>(1 + e % 3) * sin(x[0] * x[1]) + x[0] * x[0];
  }
};
/// Two residuals of one unknown, the second of which is no number where x < -3.
struct roots {
  static constexpr int unknowns = 1, residuals = 2;
  template <class S>
  WHILST_HD void operator()(index_type e, const S* x, S* r) const {
    using std::sqrt;
    r[0] = x[0] - static_cast<double>(e % 5);
    r[1] = sqrt(x[0] + 3.0);
  }
};

template <class T>
partially_separable<T> make_example(place where, index_type n) {
  std::vector<std::int32_t> pairs, alone;
  for (std::int32_t i = 0; i < n; ++i) {
    pairs.push_back(i);
    pairs.push_back(i + 1 < n ? i + 1 : -1);
    if (i % 2 == 0) alone.push_back(i);
  }
  partially_separable<T> f(where, n);
  f.add("waves", waves{}, pairs);
  f.add_residuals("roots", roots{}, alone);
  return f;
}
double by_hand(const std::vector<double>& x) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double next = i + 1 < x.size() ? x[i + 1] : 0;
    sum += static_cast<double>(1 + i % 3) * std::sin(x[i] * next) + std::pow(x[i], 2);
    if (i % 2 == 0) sum += 0.5 * (std::pow(x[i] - static_cast<double>(i / 2 % 5), 2) + (x[i] + 3));
    if (i % 2 == 0 && x[i] + 3 < 0) sum += std::nan("");
  }
  return sum;
}

template <class T>
buffer<T> on_place(place where, const std::vector<T>& v) {
  buffer<T> made(where, static_cast<index_type>(v.size()));
  made.upload(v.data());
  return made;
}

/// The values, of several launches of one recording with other lengths.
template <class T>
std::vector<std::vector<double>> values_along(const whilst::objective<T>& f, const way& w, const std::vector<T>& x,
                                              const std::vector<T>& d,
                                              const std::vector<std::vector<double>>& lengths) {
  const buffer<T> at = on_place(w.where, x), along = on_place(w.where, d);
  buffer<double> length(w.where, points), found(w.where, points);
  whilst::program_recorder record(w.where);
  f.values_along(record, at.data(), along.data(), length.data(), found.data());
  whilst::program program = std::move(record).finish();
  program.prepare({.how = w.how});
  std::vector<std::vector<double>> all;
  for (const std::vector<double>& of_launch : lengths) {
    length.upload(of_launch.data());
    run(program);
    all.push_back(values(found));
  }
  return all;
}

const std::vector<std::vector<double>> some_lengths{{4, 2, 1, 0.5, 0.25, 0.125, 0.0625, 0.03125},
                                                    {0, 0, 1e-3, -1, 3, 0.75, 10, 0},
                                                    {4, 2, 1, 0.5, 0.25, 0.125, 0.0625, 0.03125}};

}  // namespace

TEMPLATE_TEST_CASE("f at several points of a line is f at each of them", "[separable][parallel_search][sanitizer]",
                   float, double) {
  // A term; less than a block; what a cluster has; more.
  for (const index_type n : {1, 60, 3000, 40'000}) {
    std::vector<TestType> x, d;
    for (index_type i = 0; i < n; ++i) {
      x.push_back(static_cast<TestType>(std::sin(static_cast<double>(i))));
      d.push_back(static_cast<TestType>(0.5 * std::cos(static_cast<double>(3 * i))));
    }
    for (const way& w : ways()) {
      INFO(w.name << ", " << n << " unknowns");
      const partially_separable<TestType> f = make_example<TestType>(w.where, n);
      REQUIRE(f.has_values_along());
      const auto found = values_along<TestType>(f, w, x, d, some_lengths);
      for (std::size_t launch = 0; launch < some_lengths.size(); ++launch)
        for (int p = 0; p < points; ++p) {
          const double t = some_lengths[launch][static_cast<std::size_t>(p)];
          std::vector<double> at;
          for (std::size_t i = 0; i < x.size(); ++i)
            at.push_back(static_cast<double>(x[i]) + t * static_cast<double>(d[i]));
          const double expected = by_hand(at), got = found[launch][static_cast<std::size_t>(p)];
          INFO("length " << t);
          // Squares and products of numbers up to 6 have some roundings each, of either sign; sums are of doubles.
          constexpr double rounding = 40 * static_cast<double>(std::numeric_limits<TestType>::epsilon());
          if (std::isnan(expected)) {
            CHECK(std::isnan(got));
          } else {
            CHECK(std::abs(got - expected) <= rounding * (std::abs(expected) + static_cast<double>(n)));
          }
        }
      CHECK((found[0] == found[2]));
      if (n == 3000) CHECK(std::isnan(found[1][6]));  // at 10 d a root is of what is negative
    }
  }
}

TEST_CASE("a callback gives values along a line", "[minimizer][parallel_search]") {
  const whilst::called_objective<double> without(
      place::host(), 2, [](whilst::stream_handle, index_type, const double*, double*, double*) {});
  CHECK_FALSE(without.has_values_along());
  const whilst::called_objective<double> f(
      place::host(), 2, [](whilst::stream_handle, index_type, const double*, double*, double*) {}, {},
      [](whilst::stream_handle, index_type n, const double* x, const double* d, const double* lengths, double* values) {
        REQUIRE(n == 2);
        for (int p = 0; p < points; ++p) values[p] = x[0] + lengths[p] * d[0] + 100 * (x[1] + lengths[p] * d[1]);
      });
  REQUIRE(f.has_values_along());
  const auto found = values_along<double>(f, {place::host(), whilst::executor::host, "host"}, {1, 2}, {3, -1},
                                          {{0, 1, 2, 3, 4, 5, 6, 7}});
  for (int p = 0; p < points; ++p) CHECK(found[0][static_cast<std::size_t>(p)] == 1 + 3 * p + 100 * (2 - p));
}

}  // namespace whilst_test

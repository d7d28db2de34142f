// compiled by nvcc where CUDA is on
// Minimizers of functions whose unknowns the ranks of a group share. Ranks are threads.
#include "whilst/nonlinear/minimize/distributed_minimizer.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <numbers>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/catch.hpp"
#include "tests/group/executors.hpp"
#include "tests/group/on_ranks.hpp"
#include "tests/nonlinear/minimizer_functions.hpp"
#include "whilst/called_objective.hpp"
#include "whilst/linear/distributed/row_partition.hpp"
#include "whilst/partially_separable.hpp"

namespace {

using whilst::distributed_minimizer;
using whilst::group;
using whilst::halo_plan;
using whilst::index_type;
using whilst::minimize_report;
using whilst::minimizer_options;
using whilst::place;
using whilst::reason;
using whilst::row_partition;
using whilst_test::contains;
using whilst_test::nothing;
using whilst_test::on_ranks;
using splits = std::vector<index_type>;

template <class T>
constexpr double epsilon_on_ranks = static_cast<double>(std::numeric_limits<T>::epsilon());

const std::vector<std::string> methods_on_ranks{"lbfgs", "conjugate-gradient-pr", "conjugate-gradient-hz",
                                                "gradient-descent"};

place place_of_rank(const std::string& executor, int rank) {
  return whilst::place_of_executor(executor, executor == "host" ? -1 : rank % whilst::cuda::device_count());
}
/// Whether so many ranks may wait for one another with this executor.
bool may_run(const std::string& executor, int ranks) {
  return !whilst_test::share_gpus(executor, ranks) || ranks <= whilst_test::ranks_of_gpu;
}
splits equal_parts(index_type n, int size) {
  splits made;
  for (int q = 0; q <= size; ++q) made.push_back(n * q / size);
  return made;
}
index_type first_of(const splits& split, const group& ranks) { return split[static_cast<std::size_t>(ranks.rank())]; }
index_type size_of(const splits& split, const group& ranks) {
  return split[static_cast<std::size_t>(ranks.rank()) + 1] - first_of(split, ranks);
}

/// What each rank's solve said, and the whole x.
template <class T>
struct found_on_ranks {
  std::mutex lock;
  std::map<int, minimize_report> of_rank;
  std::vector<T> x;

  void note(const group& ranks, const minimize_report& told, const std::vector<T>& own = {}, index_type first = 0) {
    const std::lock_guard hold(lock);
    of_rank.insert_or_assign(ranks.rank(), told);
    if (x.size() < static_cast<std::size_t>(first) + own.size()) x.resize(static_cast<std::size_t>(first) + own.size());
    std::copy(own.begin(), own.end(), x.begin() + first);
  }
  const minimize_report& front() const { return of_rank.at(0); }
  /// Checks that all say the same to the last bit, and how many there are.
  void check_all(int size, reason why) const {
    REQUIRE(of_rank.size() == static_cast<std::size_t>(size));
    const auto same = [](double one, double other) { return one == other || (std::isnan(one) && std::isnan(other)); };
    for (const auto& [rank, told] : of_rank) {
      CAPTURE(rank);
      CHECK(told.reason() == why);
      CHECK(told.iterations() == front().iterations());
      CHECK(told.evaluations == front().evaluations);
      CHECK(told.restarts == front().restarts);
      CHECK(same(told.value, front().value));
      CHECK(same(told.residual_norm(), front().residual_norm()));
      CHECK(same(told.rhs_norm(), front().rhs_norm()));
      REQUIRE(told.records.size() == front().records.size());
      for (std::size_t k = 0; k < told.records.size(); ++k) {
        CHECK(same(told.records[k].value, front().records[k].value));
        CHECK(same(told.records[k].step_length, front().records[k].step_length));
      }
    }
  }
};

/// Term e is weight / 2 (x - target)^2 with weight and target by the global number.
struct pull {
  static constexpr int unknowns = 1;
  index_type first;
  WHILST_HD static double weight(index_type i) { return static_cast<double>(1 + i % 3); }
  WHILST_HD static double target(index_type i) { return static_cast<double>(i - 2); }
  template <class S>
  WHILST_HD S operator()(index_type e, const S* x) const {
    const S off = x[0] - target(first + e);
    return weight(first + e) / 2 * (off * off);
  }
};
template <class T>
whilst_test::function<T> make_pulls(place where, index_type first, index_type n) {
  if (n == 0) return std::make_unique<whilst::empty_objective<T>>(where);
  auto made = std::make_unique<whilst::partially_separable<T>>(where, n);
  std::vector<std::int32_t> unknowns;
  for (index_type i = 0; i < n; ++i) unknowns.push_back(static_cast<std::int32_t>(i));
  made->add("pulls", pull{first}, unknowns);
  return made;
}

/// A membrane on m x m points of a square, held at zero around, that e^u presses down and 2 u pulls up: f(u) = sum over
/// neighbours of (u_i - u_j)^2 / 2 + sum of h^2 (e^u_i - 2 u_i). Convex.
struct membrane_edge {
  static constexpr int unknowns = 2;
  index_type counted;  ///< the others count on the rank of their first point
  template <class S>
  WHILST_HD S operator()(index_type e, const S* u) const {
    const S apart = u[0] - u[1], energy = 0.5 * (apart * apart);
    return e < counted ? energy : whilst::without_value(energy);
  }
};
struct membrane_load {
  static constexpr int unknowns = 1;
  double square_of_h;
  template <class S>
  WHILST_HD S operator()(index_type, const S* u) const {
    using std::exp;
    return square_of_h * (exp(u[0]) - 2.0 * u[0]);
  }
};

/// The membrane's part of one rank: its points and, of others, those next to them.
template <class T>
struct membrane_of_rank {
  halo_plan halo;
  whilst_test::function<T> f;

  /// more: ghosts that no term reads.
  membrane_of_rank(const group& ranks, place where, index_type m, const splits& split,
                   std::vector<index_type> more = {})
      : membrane_of_rank(ranks, where, m, row_partition(split), first_of(split, ranks), size_of(split, ranks),
                         std::move(more)) {}

 private:
  membrane_of_rank(const group& ranks, place where, index_type m, const row_partition& partition, index_type first,
                   index_type n, std::vector<index_type> more) {
    const auto is_own = [&](index_type i) { return first <= i && i < first + n; };
    // Each edge by its first point, -1 for the frame; those that count here come first.
    std::vector<std::pair<index_type, index_type>> here, elsewhere;
    const auto add = [&](index_type i, index_type j) {
      if (is_own(i < 0 ? j : i)) {
        here.emplace_back(i, j);
      } else if (is_own(j)) {
        elsewhere.emplace_back(i, j);
      }
    };
    for (index_type row = 0; row < m; ++row) {
      for (index_type column = 0; column < m; ++column) {
        const index_type i = row * m + column;
        add(column + 1 < m ? i : -1, column + 1 < m ? i + 1 : i);
        add(row + 1 < m ? i : -1, row + 1 < m ? i + m : i);
        if (column == 0) add(-1, i);
        if (row == 0) add(-1, i);
      }
    }
    std::set<index_type> ghosts(more.begin(), more.end());
    for (const auto* edges : {&here, &elsewhere})
      for (const auto& [i, j] : *edges)
        for (const index_type one : {i, j})
          if (one >= 0 && !is_own(one)) ghosts.insert(one);
    halo = whilst::make_halo_plan(ranks, partition, {ghosts.begin(), ghosts.end()});
    if (n == 0) {
      f = std::make_unique<whilst::empty_objective<T>>(where);
      return;
    }
    const auto local = [&](index_type i) {
      if (i < 0 || is_own(i)) return static_cast<std::int32_t>(i < 0 ? -1 : i - first);
      return static_cast<std::int32_t>(n + std::distance(ghosts.begin(), ghosts.find(i)));
    };
    std::vector<std::int32_t> of_edges, of_loads;
    for (const auto* edges : {&here, &elsewhere})
      for (const auto& [i, j] : *edges) of_edges.insert(of_edges.end(), {local(i), local(j)});
    for (index_type i = 0; i < n; ++i) of_loads.push_back(static_cast<std::int32_t>(i));
    const double h = 1 / static_cast<double>(m + 1);
    auto made = std::make_unique<whilst::partially_separable<T>>(where, halo.with_ghosts());
    made->add("edges", membrane_edge{static_cast<index_type>(here.size())}, of_edges);
    made->add("loads", membrane_load{h * h}, of_loads);
    f = std::move(made);
  }
};
/// The same by one plain loop: f and its gradient.
std::pair<double, std::vector<double>> plain_membrane(index_type m, const std::vector<double>& u) {
  const double h = 1 / static_cast<double>(m + 1);
  std::vector<double> gradient(u.size());
  double value = 0;
  const auto at = [&](index_type row, index_type column) {
    return row < 0 || column < 0 || row == m || column == m ? 0.0 : u[static_cast<std::size_t>(row * m + column)];
  };
  for (index_type row = 0; row <= m; ++row) {
    for (index_type column = 0; column <= m; ++column) {
      const double here = at(row, column);
      if (row < m) value += 0.5 * std::pow(here - at(row, column - 1), 2);
      if (column < m) value += 0.5 * std::pow(here - at(row - 1, column), 2);
      if (row == m || column == m) continue;
      value += h * h * (std::exp(here) - 2 * here);
      gradient[static_cast<std::size_t>(row * m + column)] = 4 * here - at(row, column - 1) - at(row, column + 1) -
                                                             at(row - 1, column) - at(row + 1, column) +
                                                             h * h * (std::exp(here) - 2);
    }
  }
  return {value, gradient};
}

template <class T>
double norm_of(const std::vector<T>& v) {
  double sum = 0;
  for (const T one : v) sum += static_cast<double>(one) * static_cast<double>(one);
  return std::sqrt(sum);
}

}  // namespace

TEMPLATE_TEST_CASE("ranks minimize a sum of squares by hand", "[group][minimizer]", float, double) {
  // f(x) = sum of w_i / 2 (x_i - t_i)^2 with w = 1 2 3 1 2 and t = -2 -1 0 1 2: least at t, where it is 0. At 0 f is
  // (1 * 4 + 2 * 1 + 0 + 1 * 1 + 2 * 4) / 2 = 7.5, and g = -w t = 2 2 0 -1 -4, of norm 5.
  for (const std::string& executor : whilst_test::group_executors()) {
    for (const std::string& method : methods_on_ranks) {
      for (const splits& split : {splits{0, 5}, splits{0, 2, 5}, splits{0, 0, 4, 5}}) {
        const int size = static_cast<int>(split.size()) - 1;
        INFO(executor << ", " << method << ", " << size << " ranks");
        constexpr double tolerance = sizeof(TestType) == 4 ? 1e-5 : 1e-10;
        found_on_ranks<TestType> found;
        CHECK(on_ranks(size, [&](const group& ranks) {
                const auto f = make_pulls<TestType>(place_of_rank(executor, ranks.rank()), first_of(split, ranks),
                                                    size_of(split, ranks));
                distributed_minimizer<TestType> solver(
                    ranks, *f, {.method = method, .tolerances = {.gradient = tolerance}, .executor = executor});
                std::vector<TestType> x(static_cast<std::size_t>(size_of(split, ranks)));
                const minimize_report told = solver.solve(x);
                found.note(ranks, told, x, first_of(split, ranks));
              }) == nothing(size));
        found.check_all(size, reason::converged_gradient);
        CHECK(found.front().rhs_norm() == Approx(5).epsilon(4 * epsilon_on_ranks<TestType>));
        REQUIRE(!found.front().records.empty());
        CHECK(found.front().records.front().value == Approx(7.5).epsilon(4 * epsilon_on_ranks<TestType>));
        REQUIRE(found.x.size() == 5);
        // |x - t| <= |g| as no weight is below 1, but for the rounding of x.
        for (std::size_t i = 0; i < 5; ++i)
          CHECK(std::abs(found.x[i] - (static_cast<double>(i) - 2)) <= tolerance + 4 * epsilon_on_ranks<TestType>);
        CHECK(found.front().value <= tolerance * tolerance);
      }
    }
  }
}

// J. J. More, B. S. Garbow, K. E. Hillstrom, "Testing unconstrained optimization software", ACM TOMS 7 (1981), problem
// 21: the least value is 0, at ones. At the start each pair has 24.2.
TEMPLATE_TEST_CASE("ranks minimize the extended Rosenbrock function", "[group][minimizer]", float, double) {
  constexpr index_type n = 1000;
  const std::string executor = GENERATE(from_range(whilst_test::group_executors()));
  const std::string method = GENERATE("lbfgs", "conjugate-gradient-pr", "conjugate-gradient-hz");
  for (const splits& split :
       {splits{0, n}, splits{0, 500, n}, splits{0, 2, n}, splits{0, 334, 334, n}, splits{0, 200, 202, 600, 602, n}}) {
    const int size = static_cast<int>(split.size()) - 1;
    if (!may_run(executor, size)) continue;
    CAPTURE(executor, method, size);
    // In float values tell points apart up to the square root of epsilon, times the curvature 1000 and the pairs; a
    // line search may end ten times as far off.
    constexpr double tolerance = sizeof(TestType) == 4 ? 1e-2 : 1e-8;
    found_on_ranks<TestType> found;
    CHECK(on_ranks(size, [&](const group& ranks) {
            const index_type own = size_of(split, ranks);
            const place where = place_of_rank(executor, ranks.rank());
            const auto f = own > 0 ? whilst_test::make_rosenbrock<TestType>(where, own)
                                   : std::make_unique<whilst::empty_objective<TestType>>(where);
            distributed_minimizer<TestType> solver(
                ranks, *f, {.method = method, .tolerances = {.gradient = tolerance}, .executor = executor});
            std::vector<TestType> x = whilst_test::rosenbrock_start<TestType>(own);
            const minimize_report told = solver.solve(x);
            found.note(ranks, told, x, first_of(split, ranks));
          }) == nothing(size));
    found.check_all(size, reason::converged_gradient);
    CHECK(found.front().records.front().value == Approx(500 * 24.2).epsilon(100 * epsilon_on_ranks<TestType>));
    REQUIRE(found.x.size() == static_cast<std::size_t>(n));
    // The least eigenvalue of a pair's Hessian at the minimum is 0.399.
    double off = 0;
    for (const TestType one : found.x) off += std::pow(static_cast<double>(one) - 1, 2);
    CHECK(std::sqrt(off) <= 2 * tolerance / 0.399 + std::sqrt(n) * 4 * epsilon_on_ranks<TestType>);
  }
}

TEMPLATE_TEST_CASE("ranks minimize an energy that reads their neighbours", "[group][minimizer]", float, double) {
  constexpr index_type m = 24, n = m * m;
  const std::string executor = GENERATE(from_range(whilst_test::group_executors()));
  const std::string method = GENERATE("lbfgs", "conjugate-gradient-pr", "conjugate-gradient-hz");
  // The second derivative is no less than the Laplacian's.
  const double least_eigenvalue = 8 * std::pow(std::sin(std::numbers::pi / (2 * (m + 1))), 2);
  constexpr double tolerance = sizeof(TestType) == 4 ? 1e-4 : 1e-9;
  // Of the gradient at a point: four differences of numbers below 1, and sums of squares.
  constexpr double rounding = 16 * m * epsilon_on_ranks<TestType>;
  const minimizer_options options{.method = method, .tolerances = {.gradient = tolerance}, .executor = executor};

  std::vector<TestType> serial(n);
  {
    const group alone;
    const membrane_of_rank<TestType> whole(alone, place_of_rank(executor, 0), m, {0, n});
    whilst::minimizer<TestType> solver(*whole.f, options);
    REQUIRE(solver.solve(serial).reason() == reason::converged_gradient);
  }
  for (const splits& split :
       {splits{0, n}, splits{0, n / 2, n}, splits{0, 7, 7, n}, splits{0, 100, 130, n}, splits{0, 1, 30, 300, 301, n}}) {
    const int size = static_cast<int>(split.size()) - 1;
    if (!may_run(executor, size)) continue;
    CAPTURE(executor, method, split);
    found_on_ranks<TestType> found;
    CHECK(on_ranks(size, [&](const group& ranks) {
            const membrane_of_rank<TestType> own(ranks, place_of_rank(executor, ranks.rank()), m, split);
            distributed_minimizer<TestType> solver(ranks, *own.f, own.halo, options);
            std::vector<TestType> x(static_cast<std::size_t>(size_of(split, ranks)));
            const minimize_report told = solver.solve(x);
            found.note(ranks, told, x, first_of(split, ranks));
            // The same bits again.
            std::vector<TestType> again(x.size());
            solver.solve(again);
            if (again != x) throw std::runtime_error("the second solve differs");
          }) == nothing(size));
    found.check_all(size, reason::converged_gradient);
    REQUIRE(found.x.size() == static_cast<std::size_t>(n));
    const auto [value, gradient] = plain_membrane(m, {found.x.begin(), found.x.end()});
    CHECK(norm_of(gradient) <= tolerance + rounding);
    // Gains below the rounding of sums are none.
    CHECK(found.front().value == Approx(value).epsilon(n * epsilon_on_ranks<TestType>));
    double apart = 0;
    for (std::size_t i = 0; i < found.x.size(); ++i)
      apart += std::pow(static_cast<double>(found.x[i]) - static_cast<double>(serial[i]), 2);
    CHECK(std::sqrt(apart) <= 2 * (tolerance + rounding) / least_eigenvalue);
  }
}

namespace {

// docs/several-gpus.md shows these lines: chained Rosenbrock, the sum of 100 (x_(i+1) - x_i^2)^2 + (1 - x_i)^2.

struct chained_rosenbrock {
  static constexpr int unknowns = 2;
  whilst::index_type counted;
  template <class S>
  WHILST_HD S operator()(whilst::index_type e, const S* x) const {
    const S rise = x[1] - x[0] * x[0], off = 1.0 - x[0], f = 100.0 * (rise * rise) + off * off;
    return e < counted ? f : whilst::without_value(f);
  }
};

minimize_report minimize_chain(const whilst::group& ranks, whilst::place where, std::int64_t n,
                               std::vector<double>& x) {
  const std::int64_t first = n * ranks.rank() / ranks.size(), end = n * (ranks.rank() + 1) / ranks.size();
  std::vector<std::int64_t> begins;
  for (int q = 0; q <= ranks.size(); ++q) begins.push_back(n * q / ranks.size());

  std::vector<std::int64_t> ghosts;  // what this rank reads of others, by global numbers
  if (first > 0) ghosts.push_back(first - 1);
  if (end < n) ghosts.push_back(end);
  const whilst::halo_plan halo = whilst::make_halo_plan(ranks, whilst::row_partition(begins), ghosts);

  const auto own = static_cast<std::int32_t>(end - first), below = own, above = own + (first > 0);
  std::vector<std::int32_t> pairs;  // own unknowns count from 0, ghosts after them
  for (std::int32_t i = 0; i < own; ++i)
    if (first + i + 1 < n) pairs.insert(pairs.end(), {i, i + 1 < own ? i + 1 : above});
  const auto counted = static_cast<std::int64_t>(pairs.size() / 2);
  if (first > 0) pairs.insert(pairs.end(), {below, 0});  // for its derivative by x[0]; its value counts on another rank

  whilst::partially_separable<double> f(where, halo.with_ghosts());
  f.add("pairs", chained_rosenbrock{counted}, pairs);
  whilst::distributed_minimizer<double> solver(ranks, f, halo, {.method = "lbfgs"});
  x.resize(static_cast<std::size_t>(own), 0.5);  // this rank's entries: the start, then the point found
  return solver.solve(x);
}

}  // namespace

TEST_CASE("ranks minimize the chained Rosenbrock function", "[group][minimizer]") {
  const std::string executor = GENERATE(from_range(whilst_test::group_executors()));
  if (executor == "stream") return;  // the options leave it to the place
  for (const int size : {1, 2, 3, 4}) {
    CAPTURE(executor, size);
    found_on_ranks<double> found;
    CHECK(on_ranks(size, [&](const group& ranks) {
            std::vector<double> x;
            const minimize_report told = minimize_chain(ranks, place_of_rank(executor, ranks.rank()), 50, x);
            found.note(ranks, told, x, 50 * ranks.rank() / size);
          }) == nothing(size));
    found.check_all(size, reason::converged_gradient);
    // Each pair is 0 at ones, and no less anywhere. At the start each of 49 has 100 / 16 + 1 / 4.
    CHECK(found.front().records.front().value == Approx(49 * 6.5));
    CHECK(found.front().value <= 1e-15);
    REQUIRE(found.x.size() == 50);
    // The Hessian of a pair has no eigenvalue below 0.399 there, so neither has their sum, and the gradient is 1e-8.
    for (const double one : found.x) CHECK(std::abs(one - 1) <= 1e-7);
  }
}

TEST_CASE("ranks minimize functions that callbacks compute", "[group][minimizer]") {
  // Springs of rank and neighbour: f = sum of (x_(i+1) - x_i - 1)^2 / 2 + x_0^2 / 2, least at x_i = i, where it is 0.
  constexpr index_type n = 23;
  for (const std::string& method : methods_on_ranks) {
    const splits split{0, 4, 5, n};
    found_on_ranks<double> found;
    CAPTURE(method);
    CHECK(on_ranks(3, [&](const group& ranks) {
            const index_type own = size_of(split, ranks), first = first_of(split, ranks), end = first + own;
            std::vector<index_type> ghosts;
            if (first > 0) ghosts.push_back(first - 1);
            if (end < n) ghosts.push_back(end);
            const halo_plan halo = whilst::make_halo_plan(ranks, row_partition(split), ghosts);
            const whilst::called_objective<double> f(
                place::host(), halo.with_ghosts(),
                [=](whilst::stream_handle, index_type, const double* x, double* value, double* gradient) {
                  const double* const below = first > 0 ? x + own : nullptr;
                  const double* const above = end < n ? x + own + (first > 0) : nullptr;
                  *value = 0;
                  std::fill_n(gradient, own, 0.0);
                  for (index_type i = 0; i < own; ++i) {
                    // The spring below counts here.
                    const double before = i > 0 ? x[i - 1] : below ? *below : 0;
                    const double stretch = x[i] - before - (first + i > 0 ? 1 : 0);
                    *value += stretch * stretch / 2;
                    gradient[i] += stretch;
                    if (i > 0) gradient[i - 1] -= stretch;
                  }
                  if (above) gradient[own - 1] -= *above - x[own - 1] - 1;
                });
            distributed_minimizer<double> solver(
                ranks, f, halo, {.method = method, .tolerances = {.gradient = 1e-6}, .executor = "host"});
            std::vector<double> x(static_cast<std::size_t>(own), -1.0);
            const minimize_report told = solver.solve(x);
            found.note(ranks, told, x, first);
          }) == nothing(3));
    found.check_all(3, reason::converged_gradient);
    CHECK(found.front().records.front().value == Approx((1 + 22) / 2.0));
    REQUIRE(found.x.size() == static_cast<std::size_t>(n));
    // The least eigenvalue of a chain that one end holds.
    const double least = 4 * std::pow(std::sin(std::numbers::pi / (2 * (2 * n + 1))), 2);
    for (std::size_t i = 0; i < found.x.size(); ++i)
      CHECK(std::abs(found.x[i] - static_cast<double>(i)) <= 1e-6 / least + 1e-12);
  }
}

TEST_CASE("ranks agree on how a function is magnified", "[group][minimizer]") {
  const std::string executor = GENERATE(from_range(whilst_test::group_executors()));
  for (const double scale : {1e-200, 1e200}) {
    CAPTURE(executor, scale);
    found_on_ranks<double> found;
    CHECK(on_ranks(2, [&](const group& ranks) {
            // Squares of these gradients underflow or overflow.
            const auto f = whilst_test::make_scaled_quadratic(place_of_rank(executor, ranks.rank()),
                                                              ranks.rank() == 0 ? scale : scale * 1e10);
            distributed_minimizer<double> solver(
                ranks, *f, {.tolerances = {.gradient = 0, .relative_gradient = 1e-8}, .executor = executor});
            std::vector<double> x{4, 4};
            const minimize_report told = solver.solve(x);
            found.note(ranks, told, x, 2 * ranks.rank());
          }) == nothing(2));
    found.check_all(2, reason::converged_gradient);
    REQUIRE(found.x.size() == 4);
    // Rank 1 has all but a 1e-10th of the gradient.
    CHECK(found.x[2] == Approx(1));
    CHECK(found.x[3] == Approx(-2));
  }
}

TEST_CASE("ranks may read what no term of theirs names", "[group][minimizer]") {
  constexpr index_type m = 10, n = m * m;
  const splits split{0, 40, 70, n};
  const std::string executor = GENERATE(from_range(whilst_test::group_executors()));
  CAPTURE(executor);
  found_on_ranks<double> found[2];
  for (const bool reads_more : {false, true}) {
    CHECK(on_ranks(3, [&](const group& ranks) {
            // Rank 0 reads of rank 2, which reads nothing of it.
            const membrane_of_rank<double> own(
                ranks, place_of_rank(executor, ranks.rank()), m, split,
                reads_more && ranks.rank() == 0 ? std::vector<index_type>{80, 99} : std::vector<index_type>{});
            distributed_minimizer<double> solver(ranks, *own.f, own.halo, {.executor = executor});
            std::vector<double> x(static_cast<std::size_t>(size_of(split, ranks)));
            const minimize_report told = solver.solve(x);
            found[reads_more].note(ranks, told, x, first_of(split, ranks));
          }) == nothing(3));
    found[reads_more].check_all(3, reason::converged_gradient);
  }
  CHECK(found[0].x == found[1].x);
}

TEST_CASE("ranks minimize by every line search but the parallel one", "[group][minimizer]") {
  constexpr index_type m = 12, n = m * m;
  const std::string executor = GENERATE(from_range(whilst_test::group_executors()));
  for (const std::string& method : methods_on_ranks) {
    for (const std::string search : {"backtracking", "strong-wolfe", "approximate-wolfe"}) {
      INFO(executor << ", " << method << ", " << search);
      const splits split = equal_parts(n, 3);
      found_on_ranks<double> found;
      CHECK(on_ranks(3, [&](const group& ranks) {
              const membrane_of_rank<double> own(ranks, place_of_rank(executor, ranks.rank()), m, split);
              distributed_minimizer<double> solver(
                  ranks, *own.f, own.halo,
                  {.method = method, .line_search = search, .tolerances = {.gradient = 1e-6}, .executor = executor});
              std::vector<double> x(static_cast<std::size_t>(size_of(split, ranks)));
              const minimize_report told = solver.solve(x);
              found.note(ranks, told, x, first_of(split, ranks));
            }) == nothing(3));
      found.check_all(3, reason::converged_gradient);
      CHECK(norm_of(plain_membrane(m, found.x).second) <= 1e-6 * (1 + 1e-6));
    }
  }
}

namespace {

/// A minimizer of each rank for a membrane that starts flat.
struct rank_of_membrane {
  membrane_of_rank<double> part;
  distributed_minimizer<double> solver;
  std::vector<double> x;
  rank_of_membrane(const group& ranks, const minimizer_options& options, double limit_seconds = 10, index_type m = 24)
      : part(ranks, place_of_rank(options.executor, ranks.rank()), m, equal_parts(m * m, ranks.size())),
        solver(ranks, *part.f, part.halo, options, limit_seconds),
        x(static_cast<std::size_t>(size_of(equal_parts(m * m, ranks.size()), ranks))) {}
  minimize_report solve() {
    std::fill(x.begin(), x.end(), 0.0);
    return solver.solve(x);
  }
};
/// One that goes on for long on a large membrane: steepest descent, where rounding hides no gain for many steps.
minimizer_options long_minimization(const std::string& executor) {
  return {.method = "gradient-descent",
          .tolerances = {.gradient = 0},
          .max_iterations = std::numeric_limits<index_type>::max() / 64,
          .executor = executor};
}

}  // namespace

TEST_CASE("one rank is cancelled, and all stop minimizing at once", "[group][minimizer]") {
  const std::string executor = GENERATE(from_range(whilst_test::group_executors()));
  for (int who = 0; who < 3; ++who) {
    CAPTURE(executor, who);
    found_on_ranks<double> found;
    CHECK(on_ranks(3, [&](const group& ranks) {
            rank_of_membrane own(ranks, long_minimization(executor), 10, 200);
            own.solver.set_monitor([&](const whilst::progress& now) {
              if (ranks.rank() == who && now.iteration >= 7) own.solver.cancel();
            });
            found.note(ranks, own.solve());
            // The next one is new.
            own.solver.set_monitor({});
            own.solver.set_max_iterations(3);
            if (own.solve().reason() != reason::iteration_limit)
              throw std::runtime_error("the next one did not run to its limit");
          }) == nothing(3));
    found.check_all(3, reason::cancelled);
    CHECK(found.front().iterations() >= 7);
  }
}

TEST_CASE("the time of one rank is up, and all stop minimizing at once", "[group][minimizer]") {
  const std::string executor = GENERATE(from_range(whilst_test::group_executors()));
  CAPTURE(executor);
  found_on_ranks<double> found;
  CHECK(on_ranks(3, [&](const group& ranks) {
          rank_of_membrane own(ranks, long_minimization(executor), 10, 200);
          if (ranks.rank() == 2) own.solver.set_deadline(0.02);
          found.note(ranks, own.solve());
        }) == nothing(3));
  found.check_all(3, reason::deadline);
}

TEST_CASE("ranks that minimize reach limits together", "[group][minimizer]") {
  const std::string executor = GENERATE(from_range(whilst_test::group_executors()));
  const std::string method = GENERATE("lbfgs", "conjugate-gradient-hz");
  for (const index_type limit : {0, 1, 5}) {
    CAPTURE(executor, method, limit);
    found_on_ranks<double> found;
    CHECK(on_ranks(3, [&](const group& ranks) {
            rank_of_membrane own(ranks, {.method = method, .max_iterations = limit, .executor = executor});
            found.note(ranks, own.solve());
          }) == nothing(3));
    found.check_all(3, reason::iteration_limit);
    CHECK(found.front().iterations() == limit);
  }
  found_on_ranks<double> found;
  CHECK(on_ranks(3, [&](const group& ranks) {
          rank_of_membrane own(ranks, {.method = method, .max_evaluations = 4, .executor = executor});
          found.note(ranks, own.solve());
        }) == nothing(3));
  found.check_all(3, reason::iteration_limit);
  CHECK(found.front().evaluations == 4);
}

TEST_CASE("a start that is no number on one rank ends the minimization on all", "[group][minimizer]") {
  const std::string executor = GENERATE(from_range(whilst_test::group_executors()));
  CAPTURE(executor);
  found_on_ranks<double> found;
  CHECK(on_ranks(3, [&](const group& ranks) {
          rank_of_membrane own(ranks, {.executor = executor});
          if (ranks.rank() == 1) own.x[30] = std::numeric_limits<double>::quiet_NaN();
          const std::vector<double> start = own.x;
          found.note(ranks, own.solver.solve(own.x));
          for (std::size_t i = 0; i < start.size(); ++i)
            if (!(own.x[i] == start[i] || (std::isnan(own.x[i]) && std::isnan(start[i]))))
              throw std::runtime_error("x has changed");
          if (own.solve().reason() != reason::converged_gradient) throw std::runtime_error("the next did not converge");
        }) == nothing(3));
  found.check_all(3, reason::nan_or_infinity);
}

TEST_CASE("a function that falls without bound on one rank is unbounded on all", "[group][minimizer]") {
  const std::string executor = GENERATE(from_range(whilst_test::group_executors()));
  CAPTURE(executor);
  found_on_ranks<double> found;
  CHECK(on_ranks(2, [&](const group& ranks) {
          const auto f = whilst_test::make_shapes<double>(
              place_of_rank(executor, ranks.rank()),
              {ranks.rank() == 1 ? whilst_test::shape::falling_cubic : whilst_test::shape::square});
          distributed_minimizer<double> solver(ranks, *f, {.executor = executor});
          std::vector<double> x{1};
          found.note(ranks, solver.solve(x));
        }) == nothing(2));
  found.check_all(2, reason::unbounded);
}

TEST_CASE("a rank that does not come to minimize is lost, and the group recovers", "[group][minimizer]") {
  const std::string executor = GENERATE(from_range(whilst_test::group_executors()));
  for (int who = 0; who < 3; ++who) {
    CAPTURE(executor, who);
    std::mutex lock;
    std::vector<std::string> said;
    found_on_ranks<double> found;
    CHECK(on_ranks(3, [&](const group& ranks) {
            // Long enough for a machine that is busy, between the ranks that do come.
            rank_of_membrane own(ranks, {.executor = executor}, 1.0);
            if (ranks.rank() != who) {
              const minimize_report left = own.solve();
              if (left.reason() != reason::peer_lost)
                throw std::runtime_error("the reason is " + std::string(whilst::name(left.reason())));
              if (own.solver.lost_rank() != who)
                throw std::runtime_error("the lost rank is " + std::to_string(own.solver.lost_rank()));
              try {
                own.solve();
              } catch (const whilst::error& problem) {
                const std::lock_guard hold(lock);
                said.push_back(problem.what());
              }
            }
            own.solver.recover();
            found.note(ranks, own.solve());
          }) == nothing(3));
    found.check_all(3, reason::converged_gradient);
    REQUIRE(said.size() == 2);
    for (const std::string& message : said) {
      CHECK_THAT(message, contains("rank " + std::to_string(who) + " did not come"));
      CHECK_THAT(message, contains("recover()"));
    }
  }
}

TEST_CASE("minimizations with random delays have the same bits", "[group][minimizer]") {
  const std::string executor = GENERATE(from_range(whilst_test::group_executors()));
  CAPTURE(executor);
  found_on_ranks<double> found;
  CHECK(on_ranks(4, [&](const group& ranks) {
          rank_of_membrane own(ranks, {.executor = executor}, 10, 8);
          std::vector<double> kept;
          std::uint64_t random = static_cast<std::uint64_t>(ranks.rank()) + 1;
          for (int k = 0; k < 100; ++k) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            std::this_thread::sleep_for(std::chrono::microseconds(random >> 55));
            found.note(ranks, own.solve());
            if (kept.empty()) kept = own.x;
            if (kept != own.x) throw std::runtime_error("solve " + std::to_string(k) + " differs");
          }
        }) == nothing(4));
  found.check_all(4, reason::converged_gradient);
}

TEST_CASE("a minimizer that would part the ranks is refused on all", "[group][minimizer]") {
  const auto thrown_with = [](const std::function<void(int, minimizer_options&)>& change) {
    return on_ranks(3, [&](const group& ranks) {
      minimizer_options options{.executor = "host"};
      change(ranks.rank(), options);
      rank_of_membrane own(ranks, options);
    });
  };
  const auto all_say = [](const std::vector<std::string>& messages, const std::vector<std::string>& parts) {
    for (const std::string& one : messages)
      for (const std::string& part : parts) CHECK_THAT(one, contains(part));
  };
  all_say(thrown_with([](int rank, minimizer_options& o) { o.tolerances.gradient = rank == 1 ? 1e-4 : 1e-6; }),
          {"rank 1 gives other options than rank 0"});
  all_say(thrown_with([](int rank, minimizer_options& o) { o.method = rank == 2 ? "lbfgs" : "gradient-descent"; }),
          {"rank 2 gives other options than rank 0"});
  all_say(thrown_with([](int rank, minimizer_options& o) { o.max_evaluations = rank; }),
          {"rank 1 gives other options than rank 0"});
  all_say(thrown_with([](int, minimizer_options& o) { o.method = "newton-cg"; }),
          {"no method for several ranks called 'newton-cg'", "lbfgs, conjugate-gradient-pr"});
  all_say(thrown_with([](int, minimizer_options& o) { o.line_search = "parallel"; }),
          {"line search 'parallel' is not for several ranks"});
  all_say(thrown_with([](int, minimizer_options& o) { o.preconditioner = "amg"; }),
          {"preconditioner 'amg' is not for several ranks"});
  // What one rank alone has wrong, the others learn with its number.
  const auto only_rank_2 = thrown_with([](int rank, minimizer_options& o) {
    if (rank == 2) o.tolerances.step = -1;
  });
  CHECK_THAT(only_rank_2[0], contains("rank 2") && contains("the tolerance of step is negative"));
  CHECK_THAT(only_rank_2[2], contains("the tolerance of step is negative"));
  const auto with_limit = on_ranks(
      2, [](const group& ranks) { rank_of_membrane own(ranks, {.executor = "host"}, ranks.rank() == 0 ? 10 : 0); });
  CHECK_THAT(with_limit[0], contains("rank 1") && contains("not positive"));
}

TEST_CASE("an objective that does not have the unknowns of its plan is refused on all ranks", "[group][minimizer]") {
  constexpr index_type m = 6;
  const splits split{0, 12, 36};
  const auto messages = on_ranks(2, [&](const group& ranks) {
    const membrane_of_rank<double> own(ranks, place::host(), m, split);
    const auto small = make_pulls<double>(place::host(), 0, 5);
    distributed_minimizer<double> solver(ranks, ranks.rank() == 1 ? *small : *own.f, own.halo, {.executor = "host"});
  });
  CHECK_THAT(messages[0], contains("rank 1"));
  for (const std::string& one : messages)
    CHECK_THAT(one, contains("the halo plan is for 24 unknowns and 6 ghosts, the objective has 5 in all"));

  const auto empty = on_ranks(2, [](const group& ranks) {
    const whilst::empty_objective<double> f(place::host());
    distributed_minimizer<double> solver(ranks, f, {.executor = "host"});
  });
  for (const std::string& one : empty) CHECK_THAT(one, contains("there are no unknowns on any rank"));

  const auto reader = on_ranks(2, [](const group& ranks) {
    const bool is_empty = ranks.rank() == 1;
    const halo_plan halo = whilst::make_halo_plan(ranks, row_partition({0, 3, 3}),
                                                  is_empty ? std::vector<index_type>{1} : std::vector<index_type>{});
    const auto f = make_pulls<double>(place::host(), 0, is_empty ? 1 : 3);
    distributed_minimizer<double> solver(ranks, *f, halo, {.executor = "host"});
  });
  for (const std::string& one : reader) CHECK_THAT(one, contains("a rank without unknowns reads 1 ghosts"));

  // With a plan on one rank alone.
  const auto parted = on_ranks(2, [](const group& ranks) {
    const auto f = make_pulls<double>(place::host(), 0, 3);
    if (ranks.rank() == 0) {
      distributed_minimizer<double> solver(ranks, *f, {.executor = "host"});
    } else {
      halo_plan reads_nothing;
      reads_nothing.own = 3;
      distributed_minimizer<double> solver(ranks, *f, reads_nothing, {.executor = "host"});
    }
  });
  for (const std::string& one : parted) CHECK_THAT(one, contains("rank 1 gives other options than rank 0"));
}

TEST_CASE("an x of another length is refused by the rank that has it", "[group][minimizer]") {
  std::vector<std::string> said(2);
  CHECK(on_ranks(2, [&](const group& ranks) {
          rank_of_membrane own(ranks, {.executor = "host"}, 10, 6);
          std::vector<double> x(own.x.size() + (ranks.rank() == 1 ? 1 : 0));
          if (ranks.rank() == 1) {
            try {
              own.solver.solve(x);
            } catch (const whilst::error& problem) {
              said[1] = problem.what();
            }
          }
          if (own.solve().reason() != reason::converged_gradient) throw std::runtime_error("it did not converge");
        }) == nothing(2));
  CHECK_THAT(said[1], contains("rank 1 has 18 unknowns, and x has 19 entries"));
}

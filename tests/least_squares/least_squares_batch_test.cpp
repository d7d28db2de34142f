// compiled by nvcc where CUDA is on
#include "whilst/least_squares_batch.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "tests/host/batches.hpp"
#include "whilst/least_squares.hpp"

namespace whilst_test {

using whilst::fit_outcome;
using whilst::least_squares_batch;
using whilst::least_squares_batch_options;
using whilst::least_squares_batch_report;
using whilst::reason;

namespace {

/// Threads a fit: a thread, parts of a warp, a warp, blocks of two and eight warps. On the host they all mean one.
const std::vector<int> all_lanes{1, 4, 32, 64, 256};

/// y = b0 exp(-b1 t) + b2
struct decay_to_level {
  static constexpr int parameters = 3, variables = 1;
  template <class S>
  WHILST_HD S operator()(const S* b, const double* t) const {
    using std::exp;
    return b[0] * exp(b[1] * (-t[0])) + b[2];
  }
};
/// The same, where the last parameter does nothing: its column of J is zero.
struct decay_beside_nothing {
  static constexpr int parameters = 3, variables = 1;
  template <class S>
  WHILST_HD S operator()(const S* b, const double* t) const {
    using std::exp;
    return b[0] * exp(b[1] * (-t[0])) + b[2] * 0.0;
  }
};

/// Sets of responses at common points, and starting points half as far off again as the truth is large.
template <class T, class Model>
struct many_curves {
  whilst::index_type sets, points;
  std::vector<double> predictors;
  std::vector<T> responses;  ///< set by set
  std::vector<T> start, truth;
  whilst::buffer<double> predictors_there;
  whilst::buffer<T> responses_there;

  many_curves(whilst::index_type sets, whilst::index_type points, double level, double relative_noise = 0.01)
      : sets(sets), points(points) {
    for (whilst::index_type i = 0; i < points; ++i)
      predictors.push_back(5 * static_cast<double>(i) / static_cast<double>(points));
    for (whilst::index_type k = 0; k < sets; ++k) {
      const double b[] = {2 + noise(3 * k + 1), 1 + 0.5 * noise(3 * k + 2), level * (1 + 0.5 * noise(3 * k + 3))};
      for (whilst::index_type i = 0; i < points; ++i) {
        const double y = b[0] * std::exp(-b[1] * predictors[static_cast<std::size_t>(i)]) + b[2];
        responses.push_back(static_cast<T>(y + relative_noise * b[0] * noise(points * k + i)));
      }
      for (int j = 0; j < 3; ++j) {
        truth.push_back(static_cast<T>(b[j]));
        start.push_back(static_cast<T>(b[j] * ((k + j) % 2 ? 1.5 : 0.5)));
      }
    }
  }

  using problem = whilst::curve_residuals_of_many<T, Model>;
  problem on(whilst::place where) {
    predictors_there = whilst::buffer<double>(where, points);
    responses_there = whilst::buffer<T>(where, sets * points);
    predictors_there.upload(predictors.data());
    responses_there.upload(responses.data());
    return {{}, points, predictors_there.data(), responses_there.data(), 1, points};
  }
  least_squares_batch<T, problem> batch(const least_squares_batch_options& options) {
    return {[&](whilst::place where) { return on(where); }, sets, options};
  }

  /// Set k by itself, on the host.
  whilst::least_squares_report alone(whilst::index_type k, std::vector<T>& x,
                                     const least_squares_batch_options& options) {
    whilst::least_squares_solver<T, typename problem::one_set> solver(
        [&](whilst::place) {
          return typename problem::one_set{{}, points, predictors.data(), responses.data() + k * points, 1};
        },
        {.tolerances = options.tolerances, .max_iterations = options.max_iterations, .executor = "host"});
    return solver.solve(x);
  }
};

template <class T>
constexpr double epsilon = static_cast<double>(std::numeric_limits<T>::epsilon());
/// Where two correct fits may differ: J' J squares the condition of J, which is 10 at most here, and residuals are
/// rounded to some epsilon of y.
template <class T>
constexpr double agreement = 1e4 * epsilon<T>;

template <class T>
std::vector<T> of(const std::vector<T>& all, whilst::index_type k) {
  return {all.begin() + 3 * k, all.begin() + 3 * k + 3};
}

}  // namespace

TEMPLATE_TEST_CASE("a batch of fits ends as each fit by itself does", "[least_squares_batch][sanitizer]", float,
                   double) {
  using T = TestType;
  // One, a block with some threads left over, more than a block.
  for (const whilst::index_type sets : {1, 300, 1001}) {
    many_curves<T, decay_to_level> given(sets, 20, 0.5);
    for (const std::string& executor : batch_executors()) {
      for (const int lanes : executor == "host" ? std::vector<int>{0} : all_lanes) {
        INFO(executor << ", " << lanes << " lanes, " << sets << " sets");
        const least_squares_batch_options options{.executor = executor, .lanes = lanes};
        auto batch = given.batch(options);
        std::vector<T> x = given.start;
        const least_squares_batch_report report = batch.solve(x);
        REQUIRE(report.size() == sets);
        CHECK(report.executor() == executor);
        CHECK(report.lanes() == (executor == "host" ? 1 : lanes));
        CHECK(report.all_converged());
        for (whilst::index_type k = 0; k < sets; k += executor == "host" ? 1 : 7) {
          std::vector<T> expected = of(given.start, k);
          const whilst::least_squares_report alone = given.alone(k, expected, options);
          if (executor == "host") {
            // The same text and the same order of sums.
            REQUIRE(report[k].reason == alone.reason());
            REQUIRE(report[k].iterations == alone.iterations());
          }
          REQUIRE(report[k].converged());
          REQUIRE(report[k].value == Approx(alone.value).epsilon(agreement<T>));
          for (std::size_t j = 0; j < 3; ++j)
            REQUIRE(x[static_cast<std::size_t>(3 * k) + j] ==
                    Approx(expected[j]).epsilon(executor == "host" ? 4 * epsilon<T> : agreement<T>));
        }
      }
    }
  }
}

TEST_CASE("fits of a batch come near the truth that the data were made of", "[least_squares_batch]") {
  many_curves<double, decay_to_level> given(10'000, 20, 0.5);
  for (const std::string& executor : batch_executors()) {
    INFO(executor);
    auto batch = given.batch({.executor = executor});
    std::vector<double> x = given.start;
    const least_squares_batch_report report = batch.solve(x);
    CHECK(report.all_converged());
    CHECK(report.solve_seconds() > 0);
    CHECK(report.mean_iterations() > 1);
    CHECK(static_cast<double>(report.most_iterations()) >= report.mean_iterations());
    // Noise of 1 % of b0: errors of some percent of the parameters.
    double worst = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
      worst = std::max(worst, std::abs(x[i] - given.truth[i]) / given.truth[i]);
    CHECK(worst < 0.3);
    CHECK(worst > 1e-4);  // the noise is seen
    // Again from the solutions: nothing is left to do, and nothing of the first time is remembered.
    const std::vector<double> found = x;
    const least_squares_batch_report again = batch.solve(x);
    CHECK(again.all_converged());
    CHECK(again.mean_iterations() < 6);
    for (std::size_t i = 0; i < x.size(); ++i) REQUIRE(x[i] == Approx(found[i]).epsilon(agreement<double>));
  }
}

TEMPLATE_TEST_CASE("each fit of a batch stops for a reason of its own", "[least_squares_batch][sanitizer]", float,
                   double) {
  using T = TestType;
  for (const std::string& executor : batch_executors()) {
    for (const int lanes : all_lanes) {
      INFO(executor << ", " << lanes << " lanes");
      const whilst::index_type sets = 100;
      many_curves<T, decay_beside_nothing> given(sets, 20, 0);
      std::vector<T> x = given.start;
      // Of every five: easy, an infinite response, a start that is no number, a start that overflows, easy.
      for (whilst::index_type k = 0; k < sets; ++k) {
        const auto at = static_cast<std::size_t>(3 * k);
        x[at + 2] = 7;  // what the residuals do not depend on
        if (k % 5 == 1) given.responses[static_cast<std::size_t>(20 * k + 11)] = std::numeric_limits<T>::quiet_NaN();
        if (k % 5 == 2) x[at] = std::numeric_limits<T>::quiet_NaN();
        if (k % 5 == 3) x[at + 1] = static_cast<T>(-1e6);
      }
      const std::vector<T> start = x;
      auto batch = given.batch({.executor = executor, .lanes = lanes});
      const least_squares_batch_report report = batch.solve(x);
      CHECK(report.number_converged() == 40);
      CHECK_FALSE(report.all_converged());
      CHECK(report.worst() % 5 != 0);
      CHECK_FALSE(report[report.worst()].converged());
      for (whilst::index_type k = 0; k < sets; ++k) {
        const auto at = static_cast<std::size_t>(3 * k);
        INFO("fit " << k << ": " << name(report[k].reason));
        if (k % 5 == 1 || k % 5 == 2 || k % 5 == 3) {
          REQUIRE(report[k].reason == reason::nan_or_infinity);
          REQUIRE(report[k].iterations == 0);
          REQUIRE(x[at + 1] == start[at + 1]);  // left alone
        } else {
          REQUIRE(report[k].converged());
          REQUIRE(x[at] == Approx(given.truth[at]).epsilon(0.1));
        }
        REQUIRE(x[at + 2] == 7);
      }
    }
  }
}

TEST_CASE("the limit holds for each fit", "[least_squares_batch]") {
  many_curves<double, decay_to_level> given(50, 20, 0.5);
  for (const std::string& executor : batch_executors()) {
    for (const whilst::index_type limit : {0, 1, 3}) {
      auto batch = given.batch({.max_iterations = limit, .executor = executor});
      std::vector<double> x = given.start;
      for (const fit_outcome& fit : batch.solve(x)) {
        REQUIRE(fit.reason == reason::iteration_limit);
        REQUIRE(fit.iterations == limit);
      }
      if (limit == 0) CHECK((x == given.start));
    }
  }
}

TEST_CASE("a batch of fits obeys its deadline", "[least_squares_batch]") {
  many_curves<double, decay_to_level> given(1000, 200, 0.5);
  for (const std::string& executor : batch_executors()) {
    for (const int lanes : executor == "host" ? std::vector<int>{1} : all_lanes) {
      INFO(executor << ", " << lanes << " lanes");
      auto late = given.batch({.deadline = 1e-6, .executor = executor, .lanes = lanes});
      std::vector<double> x = given.start;
      const least_squares_batch_report report = late.solve(x);
      CHECK(report[given.sets - 1].reason == reason::deadline);
      CHECK(report[given.sets - 1].iterations <= 2);
      auto in_time = given.batch({.deadline = 1000, .executor = executor, .lanes = lanes});
      x = given.start;
      CHECK(in_time.solve(x).all_converged());
    }
  }
}

namespace {

/// x^2 = 2, from where it takes many trials.
struct root_of_two {
  static constexpr int unknowns = 1;
  WHILST_HD whilst::index_type count() const { return 1; }
  WHILST_HD root_of_two of_problem(whilst::index_type) const { return *this; }
  template <class S>
  WHILST_HD S operator()(whilst::index_type, const S* x) const {
    mind_the_next_evaluation();
    return x[0] * x[0] - 2.0;
  }
};
std::vector<double> far_from_root(whilst::index_type fits) {
  return std::vector<double>(static_cast<std::size_t>(fits), 1e6);
}

}  // namespace

TEST_CASE("a batch of fits on the host is cancelled, those that wait for their turn too", "[least_squares_batch]") {
  const whilst::index_type fits = 200;
  least_squares_batch<double, root_of_two> batch([](whilst::place) { return root_of_two{}; }, fits,
                                                 {.executor = "host", .threads = 1});
  CHECK(check_cancel_on_host(batch, far_from_root(fits)).all_converged());
}

#if WHILST_WITH_CUDA
TEST_CASE("a batch of fits on a GPU is cancelled", "[least_squares_batch][gpu]") {
  if (!has_gpu()) return;
  for (const int lanes : {1, 32, 256}) {
    INFO(lanes << " lanes");
    const whilst::index_type fits = 2000;
    least_squares_batch<double, root_of_two> batch([](whilst::place) { return root_of_two{}; }, fits,
                                                   {.executor = "batch", .lanes = lanes});
    CHECK(check_cancel_on_gpu(batch, far_from_root(fits)).all_converged());
  }
}
#endif

TEST_CASE("batches of fits that make no sense are refused", "[least_squares_batch]") {
  many_curves<double, decay_to_level> given(2, 20, 0.5);
  CHECK_THROWS_AS(given.batch({.max_iterations = -1}), whilst::error);
  CHECK_THROWS_AS(given.batch({.deadline = 0}), whilst::error);
  CHECK_THROWS_AS(given.batch({.deadline = std::nan("")}), whilst::error);
  CHECK_THROWS_AS(given.batch({.executor = "graph"}), whilst::error);
  CHECK_THROWS_AS(given.batch({.executor = "nonsense"}), whilst::error);
  CHECK_THROWS_AS(given.batch({.tolerances = {.step = -1}}), whilst::error);
  CHECK_THROWS_AS(given.batch({.tolerances = {.first_damping = 0}}), whilst::error);
  for (const int lanes : {-1, 3, 33, 48, 1056}) CHECK_THROWS_AS(given.batch({.lanes = lanes}), whilst::error);
  given.sets = 0;
  CHECK_THROWS_AS(given.batch({}), whilst::error);
  given.sets = 2;
  given.points = 0;
  CHECK_THROWS_AS(given.batch({}), whilst::error);
  given.points = 20;
  auto batch = given.batch({.executor = "host"});
  std::vector<double> five(5);
  CHECK_THROWS_AS(batch.solve(five), whilst::error);
  std::vector<double> x = given.start;
  const least_squares_batch_report report = batch.solve(x);
  CHECK_THROWS_AS(report[2], whilst::error);
  CHECK_THROWS_AS(report[-1], whilst::error);
  CHECK_THAT(report.message(), contains("2 of 2 fits converged"));
}

#if WHILST_WITH_CUDA
TEMPLATE_TEST_CASE("a batch of fits on a GPU repeats its bits, enqueues without waiting and is captured",
                   "[least_squares_batch][gpu]", float, double) {
  using T = TestType;
  if (!has_gpu()) {
    WARN("skipped: no GPU");
    return;
  }
  many_curves<T, decay_to_level> given(5000, 20, 0.5);
  const whilst::cuda::stream stream = whilst::cuda::make_stream();
  for (const int lanes : all_lanes) {
    INFO(lanes << " lanes");
    auto batch = given.batch({.executor = "batch", .lanes = lanes});
    std::vector<T> first = given.start;
    const least_squares_batch_report expected = batch.solve(first);
    whilst::buffer<T> x(whilst::place::gpu(0), static_cast<whilst::index_type>(given.start.size()));
    std::vector<T> found(first.size());
    for (int repeat = 0; repeat < 3; ++repeat) {
      x.upload(given.start.data());
      batch.enqueue(stream.get(), x.data());
      const least_squares_batch_report report = batch.wait();
      x.download(found.data());
      REQUIRE((found == first));
      for (whilst::index_type k = 0; k < given.sets; ++k) REQUIRE(report[k].iterations == expected[k].iterations);
    }
    x.upload(given.start.data());
    launch_and_wait(captured_batch(stream.get(), [&] { batch.enqueue(stream.get(), x.data()); }), stream.get());
    x.download(found.data());
    REQUIRE((found == first));
  }
}
#endif

}  // namespace whilst_test

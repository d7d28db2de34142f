// compiled by nvcc where CUDA is on

#include <algorithm>

#include "tests/catch.hpp"
#include "tests/nonlinear/minimizer_batch_problems.hpp"
#include "tests/under_sanitizers.hpp"

namespace whilst_test {

using whilst::minimization_outcome;
using whilst::minimizer_batch;
using whilst::minimizer_batch_options;
using whilst::minimizer_batch_report;
using whilst::reason;
using rosenbrocks = all_alike<rosenbrock_pair>;

namespace {

template <class T>
whilst::descent_tolerances usual_tolerances() {
  // Of the gradient's size at the start, 100 and more: what float can tell near the minimum, where it is a difference
  // of numbers of 100 epsilon.
  return {.gradient = sizeof(T) == 4 ? 1e-3 : 1e-8};
}

/// Between the origin and twice the usual start.
template <class T>
std::vector<T> rosenbrock_starts(whilst::index_type problems) {
  std::vector<T> x;
  for (whilst::index_type k = 0; k < problems; ++k) {
    x.push_back(static_cast<T>(2.4 * noise(2 * k + 1)));
    x.push_back(static_cast<T>(2 * noise(2 * k + 2)));
  }
  return x;
}
const auto the_same = [](whilst::place) { return rosenbrocks{}; };

}  // namespace

TEMPLATE_TEST_CASE("a batch of minimizations ends as each by itself does", "[minimizer_batch][sanitizer]", float,
                   double) {
  using T = TestType;
  // One, a block with some threads left over, more than a block.
  for (const whilst::index_type problems : {1, 300, 1001}) {
    for (const std::string method : {"bfgs", "lbfgs", "newton"}) {
      for (const std::string& executor : batch_executors()) {
        for (const int lanes : lanes_of(executor)) {
          INFO(method << ", " << executor << ", " << lanes << " lanes, " << problems << " problems");
          const minimizer_batch_options options{
              .method = method, .tolerances = usual_tolerances<T>(), .executor = executor, .lanes = lanes};
          minimizer_batch<T, rosenbrocks> batch(the_same, problems, options);
          const std::vector<T> start = rosenbrock_starts<T>(problems);
          std::vector<T> x = start;
          const minimizer_batch_report report = batch.solve(x);
          REQUIRE(report.size() == problems);
          CHECK(report.method() == method);
          CHECK(report.executor() == executor);
          CHECK(report.lanes() == std::max(lanes, 1));
          CHECK(report.all_converged());
          CHECK(report.mean_evaluations() >= report.mean_iterations());
          for (whilst::index_type k = 0; k < problems; k += executor == "host" && problems > 1 ? 13 : 7) {
            std::vector<T> expected = part(start, k, 2);
            const whilst::minimize_report alone = minimize_alone<T>(rosenbrock_pair{}, 2, {0, 1}, expected, options);
            if (executor == "host") {
              // The same text and the same order of sums.
              REQUIRE(report[k].reason == alone.reason());
              REQUIRE(report[k].iterations == alone.iterations());
              REQUIRE(report[k].evaluations == alone.evaluations);
              REQUIRE(report[k].value == Approx(alone.value).epsilon(4 * epsilon<T>));
              REQUIRE(report[k].gradient_norm == Approx(alone.residual_norm()).epsilon(4 * epsilon<T>));
            }
            REQUIRE(report[k].converged());
            // The Hessian's least eigenvalue at the minimum is 0.4: the error of x is the gradient's over that.
            for (std::size_t j = 0; j < 2; ++j)
              REQUIRE(std::abs(x[static_cast<std::size_t>(2 * k) + j] - T(1)) <=
                      usual_tolerances<T>().gradient / 0.39 + 8 * epsilon<T>);
          }
        }
      }
    }
  }
}

namespace {

/// What may become of a minimization: a minimum, none below, and values that are no numbers.
struct fate {
  static constexpr int unknowns = 1;
  whilst::index_type k;
  template <class S>
  WHILST_HD S operator()(whilst::index_type, const S* x) const {
    if (k % 5 == 1) return -(x[0] * x[0]);
    if (k % 5 == 2) return x[0] * HUGE_VAL;
    return (x[0] - 2.0) * (x[0] - 2.0);
  }
};
struct fates {
  WHILST_HD fate of_problem(whilst::index_type k) const { return {k}; }
};

}  // namespace

TEMPLATE_TEST_CASE("each minimization of a batch stops for a reason of its own", "[minimizer_batch][sanitizer]", float,
                   double) {
  using T = TestType;
  for (const std::string method : {"bfgs", "lbfgs", "newton"}) {
    for (const std::string& executor : batch_executors()) {
      for (const int lanes : lanes_of(executor)) {
        INFO(method << ", " << executor << ", " << lanes << " lanes");
        const whilst::index_type problems = 100;
        minimizer_batch<T, fates> batch([](whilst::place) { return fates{}; }, problems,
                                        {.method = method, .executor = executor, .lanes = lanes});
        // Of every five: easy, without a lower bound, infinite, a start that is no number, there already.
        std::vector<T> x;
        for (whilst::index_type k = 0; k < problems; ++k)
          x.push_back(k % 5 == 3 ? std::numeric_limits<T>::quiet_NaN() : T(k % 5 == 4 ? 2 : 5));
        const minimizer_batch_report report = batch.solve(x);
        CHECK(report.number_converged() == 40);
        CHECK_FALSE(report.all_converged());
        CHECK_FALSE(report[report.worst()].converged());
        for (whilst::index_type k = 0; k < problems; ++k) {
          INFO("minimization " << k << ": " << name(report[k].reason));
          const T found = x[static_cast<std::size_t>(k)];
          switch (k % 5) {
            case 0:
              REQUIRE(report[k].converged());
              REQUIRE(found == Approx(2).epsilon(4 * epsilon<T>));
              break;
            case 1:
              REQUIRE(report[k].reason == reason::unbounded);
              break;
            case 2:
              REQUIRE(report[k].reason == reason::nan_or_infinity);
              REQUIRE(found == 5);  // left alone
              break;
            case 3:
              REQUIRE(report[k].reason == reason::nan_or_infinity);
              REQUIRE(report[k].iterations == 0);
              REQUIRE(report[k].evaluations == 1);
              break;
            default:  // the gradient is 0 at the start
              REQUIRE(report[k].reason == reason::converged_gradient);
              REQUIRE(report[k].iterations == 0);
              REQUIRE(report[k].evaluations == 1);
              REQUIRE(found == 2);
          }
        }
      }
    }
  }
}

TEST_CASE("limits hold for each minimization, and a warm start needs nothing", "[minimizer_batch]") {
  const std::vector<double> start = rosenbrock_starts<double>(50);
  for (const std::string& executor : batch_executors()) {
    for (const whilst::index_type limit : {0, 1, 3}) {
      minimizer_batch<double, rosenbrocks> batch(the_same, 50, {.max_iterations = limit, .executor = executor});
      std::vector<double> x = start;
      for (const minimization_outcome& one : batch.solve(x)) {
        REQUIRE(one.reason == reason::iteration_limit);
        REQUIRE(one.iterations == limit);
      }
      if (limit == 0) CHECK((x == start));
    }
    for (const whilst::index_type evaluations : {1, 2, 5}) {
      minimizer_batch<double, rosenbrocks> batch(the_same, 50, {.max_evaluations = evaluations, .executor = executor});
      std::vector<double> x = start;
      for (const minimization_outcome& one : batch.solve(x)) {
        REQUIRE(one.reason == reason::iteration_limit);
        REQUIRE(one.evaluations == evaluations);
      }
    }
    minimizer_batch<double, rosenbrocks> batch(the_same, 50, {.executor = executor});
    std::vector<double> x = start;
    CHECK(batch.solve(x).all_converged());
    const std::vector<double> found = x;
    for (const minimization_outcome& one : batch.solve(x)) {
      REQUIRE(one.reason == reason::converged_gradient);
      REQUIRE(one.iterations == 0);
      REQUIRE(one.evaluations == 1);
    }
    CHECK((x == found));
  }
}

namespace {

/// A valley with a floor so long and flat that it takes a while, and each evaluation, too.
struct long_valley {
  static constexpr int unknowns = 2;
  template <class S>
  WHILST_HD S operator()(whilst::index_type, const S* x) const {
    mind_the_next_evaluation();
    S f = 0.0;
    for (int i = 0; i < 2000; ++i) {
      const S a = x[1] - x[0] * x[0], b = static_cast<double>(i % 7) - x[0];
      f += 100.0 * (a * a) + 1e-3 * (b * b);
    }
    return f;
  }
};
using long_valleys = all_alike<long_valley>;
template <class T>
using slow_batch = minimizer_batch<T, long_valleys, whilst::method_list<whilst::bfgs>>;

}  // namespace

TEST_CASE("a batch of minimizations obeys its deadline", "[minimizer_batch]") {
  for (const std::string& executor : batch_executors()) {
    for (const int lanes : executor == "host" ? std::vector<int>{0} : std::vector<int>{1, 32, 64}) {
      INFO(executor << ", " << lanes << " lanes");
      const whilst::index_type problems = 200;
      const auto make = [](whilst::place) { return long_valleys{}; };
      slow_batch<double> late(make, problems, {.deadline = 1e-6, .executor = executor, .lanes = lanes});
      std::vector<double> x(2 * problems, -1.2);
      const minimizer_batch_report report = late.solve(x);
      CHECK(report[problems - 1].reason == reason::deadline);
      CHECK(report[problems - 1].evaluations <= 2);
      slow_batch<double> in_time(
          make, 4, {.tolerances = {.gradient = 1e-3}, .deadline = 1000, .executor = executor, .lanes = lanes});
      std::vector<double> few(8, 2.0);
      CHECK(in_time.solve(few).all_converged());
    }
  }
}

TEST_CASE("a batch of minimizations on the host is cancelled, those that wait for their turn too",
          "[minimizer_batch]") {
  const whilst::index_type problems = under_sanitizers ? 10 : 100;
  slow_batch<double> batch([](whilst::place) { return long_valleys{}; }, problems, {.executor = "host", .threads = 1});
  check_cancel_on_host(batch, std::vector<double>(2 * problems, -1.2));
}

#if WHILST_WITH_CUDA
TEST_CASE("a batch of minimizations on a GPU is cancelled", "[minimizer_batch][gpu]") {
  if (!has_gpu()) return;
  for (const int lanes : {1, 32, 64}) {
    INFO(lanes << " lanes");
    const whilst::index_type problems = 2000;
    slow_batch<double> batch([](whilst::place) { return long_valleys{}; }, problems,
                             {.executor = "batch", .lanes = lanes});
    check_cancel_on_gpu(batch, std::vector<double>(2 * problems, -1.2));
  }
}
#endif

TEST_CASE("batches of minimizations that make no sense are refused", "[minimizer_batch]") {
  const auto made = [](whilst::index_type problems, const minimizer_batch_options& options) {
    minimizer_batch<double, rosenbrocks>(the_same, problems, options);
  };
  CHECK_THROWS_AS(made(2, {.method = "simplex"}), whilst::error);
  CHECK_THROWS_AS(made(2, {.method = "gradient-descent"}), whilst::error);  // not compiled for
  CHECK_THROWS_AS(made(2, {.line_search = "none"}), whilst::error);
  CHECK_THROWS_WITH(made(2, {.line_search = "parallel"}), contains("'parallel'") && contains("strong-wolfe"));
  CHECK_THROWS_AS(made(2, {.tolerances = {.gradient = -1}}), whilst::error);
  CHECK_THROWS_AS(made(2, {.tolerances = {.function = std::nan("")}}), whilst::error);
  CHECK_THROWS_AS(made(2, {.max_iterations = -1}), whilst::error);
  CHECK_THROWS_AS(made(2, {.max_iterations = whilst::index_type{1} << 40}), whilst::error);
  CHECK_THROWS_AS(made(2, {.max_evaluations = -1}), whilst::error);
  CHECK_THROWS_AS(made(2, {.lower_bound = std::nan("")}), whilst::error);
  CHECK_THROWS_AS(made(2, {.deadline = 0}), whilst::error);
  CHECK_THROWS_AS(made(2, {.executor = "graph"}), whilst::error);
  CHECK_THROWS_AS(made(2, {.executor = "nonsense"}), whilst::error);
  for (const int lanes : {-1, 3, 33, 48, 1056}) CHECK_THROWS_AS(made(2, {.lanes = lanes}), whilst::error);
  CHECK_THROWS_AS(made(0, {}), whilst::error);
  CHECK_THROWS_AS(made(-1, {}), whilst::error);
  CHECK_THROWS_AS(made(whilst::index_type{1} << 60, {}), whilst::error);

  const auto with_pattern = [](whilst::index_type unknowns, const std::vector<std::int32_t>& of_terms) {
    minimizer_batch<double, rosenbrocks>(the_same, 2, unknowns, of_terms, {.executor = "host"});
  };
  CHECK_THROWS_AS(with_pattern(4, {0, 1, 2}), whilst::error);
  CHECK_THROWS_AS(with_pattern(4, {0, 4}), whilst::error);
  CHECK_THROWS_AS(with_pattern(4, {-2, 0}), whilst::error);
  CHECK_THROWS_AS(with_pattern(4, {}), whilst::error);
  CHECK_THROWS_AS(with_pattern(0, {0, 1}), whilst::error);
  CHECK_NOTHROW(with_pattern(2, {0, 1}));

  minimizer_batch<double, rosenbrocks> batch(the_same, 2, {.executor = "host"});
  std::vector<double> five(5), x(4, 0.0);
  CHECK_THROWS_AS(batch.solve(five), whilst::error);
  const minimizer_batch_report report = batch.solve(x);
  CHECK_THROWS_AS(report[2], whilst::error);
  CHECK_THROWS_AS(report[-1], whilst::error);
  CHECK_THAT(report.message(), contains("2 of 2 minimizations converged"));
}

}  // namespace whilst_test

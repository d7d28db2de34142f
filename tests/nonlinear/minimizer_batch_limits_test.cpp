// compiled by nvcc where CUDA is on

// What a batch of minimizations hands back where it is stopped from outside, and how large its problems may be.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "tests/catch.hpp"
#include "tests/nonlinear/minimizer_batch_problems.hpp"

namespace whilst_test {

using whilst::minimization_outcome;
using whilst::minimizer_batch;
using whilst::minimizer_batch_options;
using whilst::minimizer_batch_report;
using whilst::reason;
using rosenbrocks = all_alike<rosenbrock_pair>;

namespace {

/// Rosenbrock's function, made so slowly that somebody can come in between.
struct slow_pair {
  static constexpr int unknowns = 2;
  template <class S>
  WHILST_HD S operator()(whilst::index_type e, const S* x) const {
    mind_the_next_evaluation();
    S f = 0.0;
    for (int i = 0; i < 1024; ++i) f += (1.0 / 1024) * rosenbrock_pair()(e, x);
    return f;
  }
};
using slow_pairs = all_alike<slow_pair>;

/// The points that a batch hands back are those that it tells the value of.
template <class Term>
void check_values(const Term& term, const minimizer_batch_report& report, const std::vector<double>& x) {
  for (whilst::index_type k = 0; k < report.size(); ++k) {
    const double* const at = x.data() + 2 * k;
    INFO("problem " << k << ", " << name(report[k].reason) << " after " << report[k].evaluations << " evaluations");
    // f is made of differences: what rounding may change is a part of what they are taken of, and of the sum.
    const double a = std::abs(at[1]) + at[0] * at[0], b = 1 + std::abs(at[0]), size = 100 * a * a + b * b;
    REQUIRE(std::abs(term(0, at) - report[k].value) <= 1024 * epsilon<double> * size);
  }
}

/// The points are those at which a recorded minimizer is after as many evaluations.
template <class Term>
void check_points(const Term& term, minimizer_batch_options options, const minimizer_batch_report& report,
                  const std::vector<double>& start, const std::vector<double>& x, whilst::index_type stride) {
  for (whilst::index_type k = 0; k < report.size(); ++k) {
    const bool under_way = !report[k].converged() && report[k].evaluations > 1;
    if (k % stride != 0 && !under_way) continue;
    INFO("problem " << k << ", " << name(report[k].reason) << " after " << report[k].evaluations << " evaluations");
    options.max_evaluations = report[k].evaluations;
    std::vector<double> alone = part(start, k, 2);
    const whilst::minimize_report told = minimize_alone<double>(term, 2, {0, 1}, alone, options);
    REQUIRE(told.evaluations == report[k].evaluations);
    REQUIRE(told.iterations() == report[k].iterations);
    // The same text; a compiler may have contracted it otherwise, and iterations magnify that.
    for (std::size_t j = 0; j < 2; ++j)
      REQUIRE(x[static_cast<std::size_t>(2 * k) + j] == Approx(alone[j]).epsilon(1e6 * epsilon<double>));
  }
}

std::vector<double> starts(whilst::index_type problems) {
  std::vector<double> x;
  for (whilst::index_type k = 0; k < problems; ++k) {
    x.push_back(2.4 * noise(2 * k + 1));
    x.push_back(2 * noise(2 * k + 2));
  }
  return x;
}

}  // namespace

TEST_CASE("a minimization that has had its evaluations hands back a point that it has evaluated",
          "[minimizer_batch][sanitizer]") {
  const whilst::index_type problems = 40;
  const std::vector<double> start = starts(problems);
  for (const std::string method : {"bfgs", "lbfgs", "newton"}) {
    for (const std::string& executor : batch_executors()) {
      for (const int lanes : lanes_of(executor)) {
        for (const whilst::index_type evaluations : {1, 2, 3, 5}) {
          INFO(method << ", " << executor << ", " << lanes << " lanes, " << evaluations << " evaluations");
          const minimizer_batch_options options{
              .method = method, .max_evaluations = evaluations, .executor = executor, .lanes = lanes};
          minimizer_batch<double, rosenbrocks> batch([](whilst::place) { return rosenbrocks{}; }, problems, options);
          std::vector<double> x = start;
          const minimizer_batch_report report = batch.solve(x);
          for (const minimization_outcome& one : report) REQUIRE(one.evaluations == evaluations);
          if (evaluations == 1) CHECK((x == start));
          check_values(rosenbrock_pair{}, report, x);
          if (executor == "host") check_points(rosenbrock_pair{}, options, report, start, x, 3);
        }
      }
    }
  }
}

TEST_CASE("a minimization that is late or cancelled hands back a point that it has evaluated", "[minimizer_batch]") {
  using slow_batch =
      minimizer_batch<double, slow_pairs, whilst::method_list<whilst::bfgs, whilst::limited_memory_bfgs>>;
  const auto make = [](whilst::place) { return slow_pairs{}; };
  for (const std::string method : {"bfgs", "lbfgs"}) {
    for (const std::string& executor : batch_executors()) {
      for (const int lanes : executor == "host" ? std::vector<int>{0} : std::vector<int>{1, 32, 64}) {
        INFO(method << ", " << executor << ", " << lanes << " lanes");
        const whilst::index_type problems = executor == "host" ? 2000 : 200'000;
        const std::vector<double> start = starts(problems);
        minimizer_batch_options options{.method = method, .executor = executor, .lanes = lanes};
        const auto check = [&](reason stopped, const minimizer_batch_report& report, const std::vector<double>& x) {
          if (stopped == reason::deadline || executor == "host") CHECK(report[problems - 1].reason == stopped);
          for (const minimization_outcome& one : report) REQUIRE((one.converged() || one.reason == stopped));
          check_values(slow_pair{}, report, x);
          if (executor == "host") check_points(slow_pair{}, options, report, start, x, 97);
        };

        minimizer_batch_options soon = options;
        soon.deadline = 1e-4;
        std::vector<double> x = start;
        const minimizer_batch_report late = slow_batch(make, problems, soon).solve(x);
        check(reason::deadline, late, x);

        slow_batch batch(make, problems, options);
        x = start;
        if (executor == "host") {
          const minimizer_batch_report cancelled = solve_and_cancel_at_once(batch, x);
          check(reason::cancelled, cancelled, x);
          continue;
        }
        minimizer_batch_report cancelled;
        std::atomic<bool> done = false;
        std::thread solving([&] {
          cancelled = batch.solve(x);
          done = true;
        });
        while (!done) {
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
          batch.cancel();
        }
        solving.join();
        check(reason::cancelled, cancelled, x);
      }
    }
  }
}

TEST_CASE("a minimization that is cancelled in any evaluation hands back the point whose value it tells",
          "[minimizer_batch]") {
  using watched_batch =
      minimizer_batch<double, slow_pairs, whilst::method_list<whilst::bfgs, whilst::limited_memory_bfgs>>;
  const std::vector<double> start = starts(1);
  for (const std::string method : {"bfgs", "lbfgs"}) {
    watched_batch batch([](whilst::place) { return slow_pairs{}; }, 1, {.method = method, .executor = "host"});
    std::vector<double> x = start;
    const whilst::index_type all = batch.solve(x)[0].evaluations;
    REQUIRE(all > 10);
    for (whilst::index_type last = 1; last + 1 < all; ++last) {
      INFO(method << ", cancelled in evaluation " << last);
      whilst::index_type count = 0;
      std::function<void()> watch;
      watch = [&] {
        if (++count == last) {
          batch.cancel();
        } else {
          at_next_evaluation = &watch;
        }
      };
      x = start;
      at_next_evaluation = &watch;
      const minimizer_batch_report report = batch.solve(x);
      REQUIRE(report[0].reason == reason::cancelled);
      REQUIRE(report[0].evaluations <= last + 1);
      check_values(slow_pair{}, report, x);
    }
  }
}

TEST_CASE("a batch is refused whose problems are too large for a dense matrix", "[minimizer_batch]") {
  const std::vector<std::int32_t> one_term{0, 1};
  const auto make = [&](const std::string& method, whilst::index_type unknowns) {
    minimizer_batch<double, rosenbrocks>([](whilst::place) { return rosenbrocks{}; }, 1, unknowns, one_term,
                                         {.method = method, .executor = "host"});
  };
  CHECK_THROWS_WITH(make("newton", 1001), contains("dense matrix") && contains("1001") && contains("1000 or fewer"));
  CHECK_THROWS_WITH(make("bfgs", 20'001), contains("dense matrix") && contains("20000 or fewer"));
  // n * n * 8 is no number of bytes here.
  CHECK_THROWS_WITH(make("bfgs", std::numeric_limits<std::int32_t>::max()), contains("dense matrix"));
  CHECK_NOTHROW(make("newton", 1000));
  CHECK_NOTHROW(make("lbfgs", 20'001));
}

}  // namespace whilst_test

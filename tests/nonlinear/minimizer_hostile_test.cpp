// Functions that are not as one would wish, and options out of range: a minimizer must come to an end and say honestly
// which.

#include <atomic>
#include <functional>
#include <thread>

#include "tests/catch.hpp"
#include "tests/nonlinear/minimizer_functions.hpp"
#include "whilst/called_objective.hpp"

namespace whilst_test {

using whilst::index_type;
using whilst::minimize_report;
using whilst::minimizer_options;
using whilst::reason;

namespace {

template <class T>
auto shapes(std::vector<shape> all) {
  return [all](whilst::place where) { return make_shapes<T>(where, all); };
}
auto rosenbrock(index_type n) {
  return [n](whilst::place where) { return make_rosenbrock<double>(where, n); };
}

/// Calls use(options) for every method and line search on every executor.
template <class Use>
void for_each_way(const Use& use) {
  for (const std::string& executor : recorded_executors()) {
    for (const std::string& method : all_methods) {
      for (const std::string& search : all_searches) {
        INFO(executor << ", " << method << ", " << search);
        use(minimizer_options{.method = method, .line_search = search, .executor = executor});
      }
    }
  }
}

std::string message_of(const std::function<void()>& function) {
  try {
    function();
  } catch (const whilst::error& e) {
    return e.what();
  }
  return "no exception";
}

}  // namespace

TEMPLATE_TEST_CASE("a start where the function is not finite is left alone", "[minimizer]", float, double) {
  const auto nan = std::numeric_limits<TestType>::quiet_NaN();
  for (const std::string& executor : recorded_executors()) {
    for (const std::string& method : all_methods) {
      for (const shape what : {shape::infinite, shape::minus_infinite, shape::not_a_number}) {
        INFO(executor << ", " << method << ", shape " << static_cast<int>(what));
        std::vector<TestType> x{1, -0.25, 3};
        own_minimizer<TestType> one(shapes<TestType>({shape::square, what, shape::square}),
                                    {.method = method, .executor = executor});
        const minimize_report r = one.solve(x);
        CHECK(r.reason() == reason::nan_or_infinity);
        CHECK(r.iterations() == 0);
        CHECK(r.evaluations == 1);
        CHECK((x == std::vector<TestType>{1, -0.25, 3}));
      }
      INFO(executor << ", " << method << ", NaN in x");
      std::vector<TestType> x{1, nan, 3};
      own_minimizer<TestType> squares(shapes<TestType>(std::vector(3, shape::square)),
                                      {.method = method, .executor = executor});
      CHECK(squares.solve(x).reason() == reason::nan_or_infinity);
      CHECK(x[0] == 1);
      CHECK(std::isnan(x[1]));
      // And nothing of it is left for the next.
      x[1] = 2;
      CHECK(squares.solve(x).reason() == reason::converged_gradient);
    }
  }
}

TEST_CASE("steps into the undefined are taken back", "[minimizer]") {
  for_each_way([](const minimizer_options& options) {
    // x - log x, from where a Newton step leads to -3 and the logarithm is not there: at 3, x - g / H = 3 - 6.
    std::vector<double> x{3, 0.01};
    const minimize_report r = own_minimizer<double>(shapes<double>({shape::barrier, shape::barrier}), options).solve(x);
    CHECK(r.converged());
    CHECK(r.value == Approx(2).epsilon(1e-12));
    // By values alone x is known to the square root of epsilon.
    for (const double value : x) CHECK(std::abs(value - 1) <= 1e-6);
  });
}

TEST_CASE("a wall of infinity has no minimum in front of it", "[minimizer]") {
  for_each_way([](const minimizer_options& options) {
    // First lengths of conjugate gradients go by the last one. Where a search has only made them shorter, a step of the
    // next one is lost in rounding before it reaches the wall.
    if (options.line_search == "backtracking" && options.method.starts_with("conjugate")) return;
    std::vector<double> x{0};
    const minimize_report r = own_minimizer<double>(shapes<double>({shape::wall}), options).solve(x);
    CHECK_FALSE(r.converged());
    CHECK(x[0] <= 3);
    CHECK(x[0] > 2.5);
    CHECK(r.value == (x[0] - 5) * (x[0] - 5));
  });
}

TEST_CASE("functions without a minimum", "[minimizer]") {
  for_each_way([](minimizer_options options) {
    options.max_evaluations = 2000;
    for (const shape what : {shape::minus_square, shape::falling_cubic, shape::hole}) {
      INFO("shape " << static_cast<int>(what));
      std::vector<double> x{1};
      const minimize_report r = own_minimizer<double>(shapes<double>({what}), options).solve(x);
      CHECK_FALSE(r.converged());
      CHECK(std::isfinite(x[0]));
      CHECK(std::isfinite(r.value));
      CHECK(x[0] >= 1);
      if (what != shape::hole) CHECK(r.value < -1000);
      // Conjugate gradients creep by this search; and a cubic's gradient gets too large first for some.
      if (options.line_search == "backtracking" && options.method.starts_with("conjugate")) continue;
      if (what == shape::falling_cubic && options.method != "gradient-descent") continue;
      // To a search that passes over what is not finite, a hole is a wall.
      if (what == shape::hole && options.line_search == "parallel") continue;
      CHECK(r.reason() == reason::unbounded);
    }
    {
      INFO("exp(-x)");
      std::vector<double> x{0};
      const minimize_report r = own_minimizer<double>(shapes<double>({shape::decaying}), options).solve(x);
      CHECK(r.reason() == reason::converged_gradient);  // its gradient vanishes far out
      CHECK(x[0] >= -std::log(1e-8));
    }
    {
      INFO("-x");
      minimizer_options few = options;
      few.max_iterations = 100;
      std::vector<double> x{0};
      const minimize_report r = own_minimizer<double>(shapes<double>({shape::falling}), few).solve(x);
      CHECK_FALSE(r.converged());
      CHECK(std::isfinite(x[0]));
      // Of less than a bound of the caller's own there is no more to be known.
      few.lower_bound = -50;
      x = {0};
      const minimize_report bounded = own_minimizer<double>(shapes<double>({shape::falling}), few).solve(x);
      CHECK(bounded.reason() == reason::unbounded);
      CHECK(x[0] <= 50);
      CHECK(bounded.value == -x[0]);
    }
  });
}

TEST_CASE("where nothing is to be done", "[minimizer]") {
  for_each_way([](const minimizer_options& options) {
    {
      INFO("a constant");
      std::vector<double> x{4, -5};
      const minimize_report r =
          own_minimizer<double>(shapes<double>({shape::constant, shape::constant}), options).solve(x);
      CHECK(r.reason() == reason::converged_gradient);
      CHECK(r.iterations() == 0);
      CHECK(r.value == 6);
      CHECK((x == std::vector<double>{4, -5}));
    }
    {
      INFO("exactly at a saddle");
      std::vector<double> x{0, 0};
      const minimize_report r =
          own_minimizer<double>(shapes<double>({shape::square, shape::minus_square}), options).solve(x);
      CHECK(r.reason() == reason::converged_gradient);
      CHECK(r.iterations() == 0);
      CHECK((x == std::vector<double>{0, 0}));
    }
    {
      INFO("beside a saddle");
      std::vector<double> x{1, 1e-3};
      minimizer_options few = options;
      few.max_evaluations = 2000;
      const minimize_report r =
          own_minimizer<double>(shapes<double>({shape::square, shape::minus_square}), few).solve(x);
      CHECK_FALSE(r.converged());
      CHECK(r.value < -1000);
    }
    {
      INFO("one unknown that nothing depends on");
      std::vector<double> x{4, -5};
      const minimize_report r =
          own_minimizer<double>(shapes<double>({shape::square, shape::constant}), options).solve(x);
      CHECK(r.reason() == reason::converged_gradient);
      CHECK(std::abs(x[0]) <= 1e-8);
      CHECK(x[1] == -5);
    }
  });
}

TEST_CASE("without any tolerance a minimization ends where rounding ends it", "[minimizer]") {
  for_each_way([](minimizer_options options) {
    options.tolerances = {.gradient = 0};
    options.max_iterations = 1000;
    std::vector<double> x = rosenbrock_start<double>(2);
    const minimize_report r = own_minimizer<double>(rosenbrock(2), options).solve(x);
    // An exact minimum is possible, the square of the last rounding, too.
    CHECK((r.converged() || r.reason() == reason::iteration_limit || r.reason() == reason::line_search_failed));
    CHECK(r.value <= 24.2);
    if (r.converged()) CHECK(r.value <= 1e-24);
    x = {1, 1};
    const minimize_report barriers =
        own_minimizer<double>(shapes<double>({shape::barrier, shape::barrier}), options).solve(x);
    CHECK(barriers.reason() == reason::converged_gradient);
    x = {3, 0.5};
    const minimize_report from_afar =
        own_minimizer<double>(shapes<double>({shape::barrier, shape::barrier}), options).solve(x);
    CHECK((from_afar.converged() || from_afar.reason() == reason::iteration_limit));
    CHECK(from_afar.value == Approx(2).epsilon(1e-14));
  });
}

namespace {

/// Cancels from another thread, once the minimization is seen running.
minimize_report cancelled(whilst::minimizer<double>& endless, std::vector<double>& x) {
  std::atomic<bool> ended = false;
  std::thread other([&] {
    while (!(endless.progress().running && endless.progress().iteration > 5) && !ended) std::this_thread::yield();
    endless.cancel();
  });
  const minimize_report result = endless.solve(x);
  ended = true;
  other.join();
  return result;
}

}  // namespace

TEST_CASE("deadline and cancel stop a minimization that does not end", "[minimizer]") {
  for (const std::string& executor : recorded_executors()) {
    for (const std::string method : {"lbfgs", "newton-cg", "gradient-descent"}) {
      INFO(executor << ", " << method);
      own_minimizer<double> endless(
          shapes<double>({shape::falling}),
          {.method = method, .tolerances = {.gradient = 0}, .max_iterations = 1'000'000'000'000, .executor = executor});
      constexpr double deadline = 0.02;
      endless.by.set_deadline(deadline);
      std::vector<double> x{0};
      const minimize_report r = endless.solve(x);
      CHECK(r.reason() == reason::deadline);
      CHECK(r.loop_seconds() >= deadline);
      CHECK(r.value == -x[0]);
      CHECK(std::isfinite(x[0]));

      endless.by.set_deadline(std::numeric_limits<double>::infinity());
      x = {0};
      CHECK(cancelled(endless.by, x).reason() == reason::cancelled);
      CHECK(std::isfinite(x[0]));
      // A late request harms no later minimization.
      endless.by.cancel();
      endless.by.set_max_iterations(3);
      x = {0};
      CHECK(endless.solve(x).reason() == reason::iteration_limit);
    }
  }
}

TEST_CASE("minimizers that make no sense are refused with the cure", "[minimizer]") {
  const function<double> f = make_rosenbrock<double>(whilst::place::host(), 2);
  const double nan = std::nan("");
  const auto make = [&](const minimizer_options& options) {
    return message_of([&] { whilst::minimizer<double> made(*f, options); });
  };
  CHECK(make({}) == "no exception");
  CHECK_THAT(make({.method = "simplex"}), contains("'simplex'"));
  for (const std::string& method : all_methods) CHECK_THAT(make({.method = "simplex"}), contains(method));
  CHECK_THAT(make({.line_search = "golden"}), contains("'golden'"));
  for (const std::string& search : all_searches) CHECK_THAT(make({.line_search = "golden"}), contains(search));
  CHECK_THAT(make({.tolerances = {.gradient = -1}}), contains("gradient"));
  CHECK_THAT(make({.tolerances = {.relative_gradient = nan}}), contains("relative_gradient"));
  CHECK_THAT(make({.tolerances = {.step = -1e-300}}), contains("step"));
  CHECK_THAT(make({.tolerances = {.function = nan}}), contains("function"));
  CHECK_THAT(make({.max_iterations = -1}), contains("max_iterations is -1"));
  CHECK_THAT(make({.max_evaluations = -2}), contains("max_evaluations is -2"));
  CHECK_THAT(make({.lower_bound = nan}), contains("lower_bound"));
  for (const double deadline : {0.0, -1.0, nan}) CHECK_THAT(make({.deadline = deadline}), contains("deadline"));
  CHECK_THAT(make({.executor = "cluster"}), contains("cluster"));
  CHECK_THAT(make({.unroll = -1}), contains("unroll is -1"));
  for (const index_type capacity : {-2, 3})
    CHECK_THAT(make({.history_capacity = capacity}), contains("history_capacity"));
  // Of what a GPU would run, f lies on the wrong place, or there is none.
  for (const char* executor : {"stream", "graph"}) CHECK(make({.executor = executor}) != "no exception");
  CHECK_THAT(message_of([] { make_shapes<double>(whilst::place::host(), {}); }), contains("0 unknowns"));

  whilst::minimizer<double> two(*f);
  std::vector<double> three(3), x = rosenbrock_start<double>(2);
  CHECK_THAT(message_of([&] { two.solve(three); }), contains("2 unknowns") && contains("3 entries"));
  CHECK_THAT(message_of([&] { two.set_tolerances({.gradient = nan}); }), contains("gradient"));
  CHECK_THAT(message_of([&] { two.set_max_iterations(-7); }), contains("max_iterations is -7"));
  CHECK_THAT(message_of([&] { two.set_deadline(0); }), contains("deadline"));
  // What was refused has changed nothing.
  CHECK(two.solve(x).reason() == reason::converged_gradient);
}

TEST_CASE("the largest limits mean none", "[minimizer]") {
  const function<double> f = make_rosenbrock<double>(whilst::place::host(), 2);
  constexpr index_type most = std::numeric_limits<index_type>::max();
  for (const index_type evaluations : {index_type{0}, most}) {
    std::vector<double> x = rosenbrock_start<double>(2);
    CHECK(whilst::minimizer<double>(*f, {.max_iterations = most, .max_evaluations = evaluations, .executor = "host"})
              .solve(x)
              .reason() == reason::converged_gradient);
  }
}

TEST_CASE("methods that want a Hessian say so", "[minimizer]") {
  // Computed by somebody else, who has no Hessian.
  int calls = 0;
  const whilst::called_objective<double> f(
      whilst::place::host(), 2,
      [&](whilst::stream_handle, index_type n, const double* x, double* value, double* gradient) {
        const std::vector<double> at(x, x + n), g = rosenbrock_gradient(at);
        *value = rosenbrock_value(at);
        std::copy(g.begin(), g.end(), gradient);
        ++calls;
      });
  for (const std::string& method : all_methods) {
    INFO(method);
    const minimizer_options options{.method = method, .tolerances = {.gradient = 1e-3}, .executor = "host"};
    if (method.starts_with("newton") || method == "trust-region" || method == "levenberg-marquardt" ||
        method == "dogleg") {
      CHECK_THAT(message_of([&] { whilst::minimizer<double> made(f, options); }),
                 contains("'" + method + "'") && contains("lbfgs"));
      continue;
    }
    whilst::minimizer<double> minimizer(f, options);
    std::vector<double> x = rosenbrock_start<double>(2);
    calls = 0;
    const minimize_report r = minimizer.solve(x);
    CHECK(r.reason() == reason::converged_gradient);
    CHECK(r.evaluations == calls);
    for (const double value : x) CHECK(std::abs(value - 1) <= 4e-3);
  }
}

}  // namespace whilst_test

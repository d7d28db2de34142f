// The line search that evaluates f at many lengths at once: the machine by itself, on functions of one length whose
// best ones are known; and minimizations by it. minimizer_test and minimizer_hostile_test run it, too, by its name.

#include <algorithm>
#include <functional>

#include "tests/catch.hpp"
#include "tests/nonlinear/line_search_oracles.hpp"
#include "tests/nonlinear/minimizer_functions.hpp"
#include "whilst/called_objective.hpp"
#include "whilst/nonlinear/line_search/line_search.hpp"

namespace whilst_test {

using along_a_line::infinity;
using along_a_line::point;
using whilst::index_type;
using whilst::line_search;
using whilst::line_search_kind;
using whilst::line_search_settings;
using whilst::line_search_verdict;
using whilst::minimize_report;
using whilst::minimizer_options;
using whilst::reason;

namespace {

using fan = whilst::line_searches::parallel;
const line_search_settings usual = line_search_settings::usual(line_search_kind::parallel);

struct searched {
  line_search_verdict verdict;
  std::vector<double> tried;  ///< lengths where f and its slope were evaluated
  double lowest;              ///< of the values that the fans had, with sufficient decrease
  bool accepted() const { return verdict == line_search_verdict::accept; }
  double step() const { return tried.back(); }
};

/// A search as a descent loop drives it: a fan, then one of its lengths.
searched search(const along_a_line::function& f, double first_step, const line_search_settings& settings = usual) {
  line_search state{};
  const point origin = f(0);
  state.begin(settings, origin.value, origin.slope, first_step);
  searched result{line_search_verdict::again, {}, infinity};
  while (result.verdict == line_search_verdict::again) {
    double values[fan::lengths];
    for (int k = 0; k < fan::lengths; ++k) {
      const double t = state.parallel.length[k];
      REQUIRE(t >= settings.shortest);
      REQUIRE(t <= settings.longest);
      values[k] = f(t).value;
      if (std::isfinite(values[k]) && along_a_line::decreases(settings, f, t))
        result.lowest = std::min(result.lowest, values[k]);
    }
    state.take(state.choose(settings, {values}));
    result.tried.push_back(state.step);
    REQUIRE(static_cast<int>(result.tried.size()) <= settings.most_trials);
    const point at = f(state.step);
    result.verdict = state.judge(settings, at.value, at.slope);
  }
  return result;
}
point parabola(double t) { return {(t - 1) * (t - 1), 2 * (t - 1)}; }
bool is(const searched& found, const std::vector<double>& tried) { return found.accepted() && found.tried == tried; }

template <class T>
constexpr double epsilon = static_cast<double>(std::numeric_limits<T>::epsilon());

const std::vector<std::string> searching_methods{
    "lbfgs", "bfgs", "newton", "newton-cg", "conjugate-gradient-pr", "conjugate-gradient-hz", "gradient-descent"};

template <class T>
auto shapes(std::vector<shape> all) {
  return [all](whilst::place where) { return make_shapes<T>(where, all); };
}
minimizer_options by(const std::string& method, const std::string& executor) {
  return {.method = method, .line_search = "parallel", .executor = executor};
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

TEST_CASE("of a fan of lengths the best is chosen", "[line_search][parallel_search]") {
  CHECK(is(search(parabola, 1), {1}));  // twice of it is as high as the start
  CHECK(is(search(parabola, 8), {1}));
  CHECK(is(search(parabola, 0.25), {1}));
  CHECK(is(search(parabola, 0.4), {0.8}));                     // 1.6 is farther off
  CHECK(is(search(parabola, 1024), {16, 1}));                  // 32 is too long, and half of it
  CHECK(is(search(parabola, 1e-3), {4 * 1e-3, 1024 * 1e-3}));  // steep at the longest of the first fan
  // The parabola's minimum itself, where little slope is to be left.
  line_search_settings strict = usual;
  strict.curvature = 0.1;
  const searched exact = search(parabola, 0.4, strict);
  REQUIRE(exact.accepted());
  CHECK(exact.tried.size() == 1);
  CHECK(exact.step() == Approx(1).epsilon(10 * epsilon<double>));
}

TEST_CASE("values that are no numbers are passed over", "[line_search][parallel_search]") {
  for (const double beyond : {infinity, -infinity, along_a_line::not_a_number}) {
    INFO(beyond << " beyond a wall");
    const auto wall = [beyond](double at) {
      return [=](double t) -> point { return t > at ? point{beyond, beyond} : point{-t, -1}; };
    };
    CHECK(is(search(wall(1.5), 1), {1}));
    CHECK(is(search(wall(0.02), 1), {1.0 / 64}));  // the next one below the fan
    const searched near = search(wall(1e-3), 1);
    CHECK(near.accepted());
    CHECK(near.step() <= 1e-3);
    CHECK(near.step() > 0.5e-3);  // each is half of the one before
    // Farther off it is all wall: back to the best that was seen.
    CHECK(is(search(wall(4), 1), {4, 4}));
    const searched none = search(wall(0), 1);
    CHECK(none.verdict == line_search_verdict::failed);
    CHECK(static_cast<int>(none.tried.size()) == usual.most_trials);
  }
}

TEST_CASE("where rounding hides the values, slopes lead the parallel search", "[line_search][parallel_search]") {
  // 1e8 + 1e-9 (t - 1)^2: values are the same to the last bit.
  const along_a_line::function flat = [](double t) -> point { return {1e8, 2e-9 * (t - 1)}; };
  CHECK(is(search(flat, 1), {1}));
  CHECK(is(search(flat, 0.3), {0.3}));
  line_search_settings strict = usual;
  strict.curvature = 0.1;
  const searched found = search(flat, 0.3, strict);
  CHECK(found.accepted());
  CHECK(found.tried.size() == 2);
  CHECK(found.step() == Approx(1).epsilon(10 * epsilon<double>));
  // And noise does not lead to short ones.
  const along_a_line::function noisy = [](double t) -> point {
    return {1e8 + (t > 0 && t < 0.1 ? -1.5e-8 : 0), 2e-9 * (t - 1)};
  };
  CHECK(is(search(noisy, 1), {1}));
}

TEST_CASE("the parallel search on functions that fall", "[line_search][parallel_search]") {
  std::mt19937_64 random(7);
  for (int k = 0; k < 300; ++k) {
    const along_a_line::function f = along_a_line::random_function(random);
    for (const double first : {1e-4, 0.3, 1.0, 50.0}) {
      INFO("function " << k << ", first length " << first);
      const searched found = search(f, first);
      REQUIRE(found.accepted());
      REQUIRE(along_a_line::decreases(usual, f, found.step()));
      REQUIRE(f(found.step()).value <= found.lowest + usual.rounding * std::abs(f(0).value));
    }
  }
  // Without an end: one fan more, and then let the next direction tell.
  CHECK(is(search([](double t) -> point { return {-t, -1}; }, 1), {4, 1024}));
  // Not downhill, or not a number at all.
  for (const double slope : {1.0, 0.0, infinity, along_a_line::not_a_number})
    CHECK(search([=](double t) -> point { return {slope * t, slope}; }, 1).verdict == line_search_verdict::failed);
}

TEMPLATE_TEST_CASE("a parallel search by hand", "[minimizer][parallel_search][sanitizer]", float, double) {
  for (const std::string& executor : recorded_executors()) {
    INFO(executor);
    // x^2 from 2.5: g = 5, the usual length 1 / 5; x + t d = 1.5, and at twice the length 0.5, at four times -1.5.
    minimizer_options options = by("gradient-descent", executor);
    options.max_iterations = 1;
    std::vector<TestType> x{2.5};
    const minimize_report one = own_minimizer<TestType>(shapes<TestType>({shape::square}), options).solve(x);
    CHECK(x[0] == Approx(0.5).epsilon(4 * epsilon<TestType>));
    CHECK(one.records.at(1).step_length == Approx(2).epsilon(4 * epsilon<TestType>));
    CHECK(one.evaluations == 2);
    CHECK(one.trial_values == 8);
    CHECK(one.records.at(0).trial_values == 0);
    CHECK(one.records.at(1).trial_values == 8);
    // Conjugate gradients go to the minimum of the parabola through 2.25, 0.25 and 2.25.
    options = by("conjugate-gradient-pr", executor);
    options.tolerances.gradient = 40 * epsilon<TestType>;
    x = {2.5};
    const minimize_report exact = own_minimizer<TestType>(shapes<TestType>({shape::square}), options).solve(x);
    CHECK(exact.reason() == reason::converged_gradient);
    CHECK(exact.iterations() == 1);
    CHECK(exact.evaluations == 2);
    CHECK(std::abs(x[0]) <= 20 * epsilon<TestType>);
  }
}

TEST_CASE("the parallel search on problems of the literature", "[minimizer][parallel_search]") {
  for (const std::string& executor : recorded_executors()) {
    for (const std::string& name : bundled_names) {
      for (const std::string& method : searching_methods) {
        INFO(executor << ", " << name << ", " << method);
        const bundled_function problem = make_bundled(whilst::place_of_executor(executor), name);
        minimizer_options options = by(method, executor);
        const bool steepest = method == "gradient-descent";
        options.tolerances.gradient = steepest ? 1e-3 : 1e-6;
        options.max_iterations = steepest ? 20'000 : 2000;
        std::vector<double> x = problem.start;
        const minimize_report r = whilst::minimizer<double>(*problem.f, options).solve(x);
        CHECK(r.converged());
        // As in minimizer_test: the paper's six digits, and what the gradient's tolerance leaves.
        CHECK(r.value ==
              Approx(problem.least).epsilon(1e-5).margin(10 * std::pow(options.tolerances.gradient, 4.0 / 3)));
        CHECK(r.trial_values == 8 * (r.evaluations - 1));
        CHECK(r.records.back().trial_values <= r.trial_values);
        for (std::size_t k = 1; k < r.records.size(); ++k)
          CHECK(r.records[k].value <= r.records[k - 1].value * (1 + 4 * epsilon<double>));
      }
    }
  }
}

TEST_CASE("the parallel search has the same bits however it is run", "[minimizer][parallel_search]") {
  for (const index_type n : {index_type{300}, index_type{20'000}}) {  // small grids, and those of any size
    for (const std::string& method : searching_methods) {
      if (n > 1000 && (method == "bfgs" || method == "newton")) continue;
      std::vector<std::vector<double>> on_gpu;
      for (const std::string& executor : recorded_executors()) {
        for (const int unroll : executor == "graph" ? std::vector<int>{1, 5, 16} : std::vector<int>{1}) {
          INFO(method << ", " << n << " unknowns, " << executor << ", " << unroll << " a trip");
          minimizer_options options = by(method, executor);
          options.max_iterations = 12;
          options.unroll = unroll;
          own_minimizer<double> again([n](whilst::place where) { return make_rosenbrock<double>(where, n); }, options);
          std::vector<double> x = rosenbrock_start<double>(n), y = x, other(static_cast<std::size_t>(n), 7);
          const minimize_report first = again.solve(x);
          again.solve(other);
          const minimize_report second = again.solve(y);
          CHECK((x == y));
          CHECK(first.value == second.value);
          CHECK(first.value < first.records.front().value);
          CHECK(first.trial_values == second.trial_values);
          CHECK(rosenbrock_value(x) == Approx(first.value).epsilon(1e-9));
          if (executor == "host") continue;
          on_gpu.push_back(x);
          CHECK((x == on_gpu.front()));
        }
      }
    }
  }
}

TEMPLATE_TEST_CASE("a parallel search that finds nothing says so", "[minimizer][parallel_search]", float, double) {
  for (const std::string& executor : recorded_executors()) {
    for (const std::string& method : searching_methods) {
      INFO(executor << ", " << method);
      // (x - 5)^2, infinite beyond 3, from 3: no length along -g is of use. The first direction may be another one.
      std::vector<TestType> x{3};
      const minimize_report r = own_minimizer<TestType>(shapes<TestType>({shape::wall}), by(method, executor)).solve(x);
      CHECK(r.reason() == reason::line_search_failed);
      CHECK(r.iterations() == 0);
      CHECK(r.evaluations <= 1 + 2 * usual.most_trials);
      CHECK(r.value == 4);
      CHECK(x[0] == 3);
    }
  }
}

TEST_CASE("the parallel search takes values of minus infinity for a wall", "[minimizer][parallel_search]") {
  for (const std::string& executor : recorded_executors()) {
    for (const std::string& method : searching_methods) {
      INFO(executor << ", " << method);
      std::vector<double> x{1};
      const minimize_report r = own_minimizer<double>(shapes<double>({shape::hole}), by(method, executor)).solve(x);
      CHECK_FALSE(r.converged());
      CHECK(x[0] <= 2);
      CHECK(r.value == -x[0]);
      // Newton's first direction is 1000 long, all of its fan is in the hole, and so is the point that follows, where f
      // itself is evaluated and found to be below any bound.
      if (method == "newton") {
        CHECK(r.reason() == reason::unbounded);
      } else {
        CHECK(x[0] > 1.9);
      }
    }
  }
}

TEST_CASE("functions without values along lines are refused with the cure", "[minimizer][parallel_search]") {
  const auto evaluate = [](whilst::stream_handle, index_type n, const double* x, double* value, double* gradient) {
    const std::vector<double> at(x, x + n), g = rosenbrock_gradient(at);
    *value = rosenbrock_value(at);
    std::copy(g.begin(), g.end(), gradient);
  };
  const whilst::called_objective<double> without(whilst::place::host(), 4, evaluate);
  CHECK_THAT(message_of([&] { whilst::minimizer<double> made(without, by("lbfgs", "host")); }),
             contains("'parallel'") && contains("callback") && contains("strong-wolfe"));
  int fans = 0;
  const whilst::called_objective<double> f(whilst::place::host(), 4, evaluate, {},
                                           [&fans](whilst::stream_handle, index_type n, const double* x,
                                                   const double* d, const double* lengths, double* values) {
                                             for (int k = 0; k < fan::lengths; ++k) {
                                               std::vector<double> at(x, x + n);
                                               for (std::size_t i = 0; i < at.size(); ++i) at[i] += lengths[k] * d[i];
                                               values[k] = rosenbrock_value(at);
                                             }
                                             ++fans;
                                           });
  for (const char* method : {"lbfgs", "bfgs", "conjugate-gradient-hz"}) {
    INFO(method);
    fans = 0;
    std::vector<double> x = rosenbrock_start<double>(4);
    const minimize_report r = whilst::minimizer<double>(f, by(method, "host")).solve(x);
    CHECK(r.reason() == reason::converged_gradient);
    CHECK(fans == r.evaluations);  // the first of them for nothing: there is no direction yet
    CHECK(r.trial_values == 8 * (r.evaluations - 1));
    for (const double value : x) CHECK(std::abs(value - 1) <= 4e-8);
  }
}

TEST_CASE("methods without a line search do not mind which", "[minimizer][parallel_search]") {
  for (const std::string& executor : recorded_executors()) {
    for (const std::string method : {"trust-region", "levenberg-marquardt", "dogleg"}) {
      INFO(executor << ", " << method);
      const auto solve = [&](const std::string& search, std::vector<double>& x) {
        return own_minimizer<double>([](whilst::place where) { return make_rosenbrock<double>(where, 10); },
                                     {.method = method, .line_search = search, .executor = executor})
            .solve(x);
      };
      std::vector<double> x = rosenbrock_start<double>(10), same = x;
      const minimize_report r = solve("parallel", x);
      CHECK(r.converged());
      CHECK(r.trial_values == 0);
      solve("strong-wolfe", same);
      CHECK((x == same));
    }
  }
}

}  // namespace whilst_test

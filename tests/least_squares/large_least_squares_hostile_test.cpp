// compiled by nvcc where CUDA is on
// Nonlinear least squares where something is missing or goes wrong, and what holds of every solve.
#define EIGEN_NO_CUDA  // Eigen is an oracle on the host; nvcc warns about its annotations for devices

#include <algorithm>
#include <functional>

#include "tests/catch.hpp"
#include "tests/least_squares/bundle_adjustment.hpp"
#include "tests/least_squares/residual_functions.hpp"

namespace whilst_test {

using whilst::buffer;
using whilst::reason;

namespace {

std::string message_of(const std::function<void()>& function) {
  try {
    function();
  } catch (const whilst::error& e) {
    return e.what();
  }
  return "no exception";
}

}  // namespace

TEMPLATE_TEST_CASE("a Jacobian without full rank", "[least squares][sanitizer]", float, double) {
  constexpr int pairs = 100;
  for (const std::string& executor : recorded_executors()) {
    std::vector<variant> all = variants;
    all.push_back({"newton", "auto"});
    for (const variant& v : all) {
      INFO(executor << ", " << v);
      partially_separable<TestType> f(whilst::place_of_executor(executor), 2 * pairs);
      std::vector<std::int32_t> unknowns(2 * pairs);
      for (std::size_t k = 0; k < unknowns.size(); ++k) unknowns[k] = static_cast<std::int32_t>(k);
      f.add_residuals("products", product_is_one{}, unknowns);
      std::vector<TestType> x(2 * pairs);
      for (std::size_t k = 0; k < x.size(); ++k)
        x[k] = static_cast<TestType>(k % 2 ? 0.25 : 1 + 0.01 * static_cast<double>(k));
      minimizer_options options = v.options(executor);
      options.tolerances.gradient = sizeof(TestType) == 4 ? 1e-4 : 1e-9;
      const minimize_report r = minimized<TestType>(f, options, x);
      CHECK(r.reason() == reason::converged_gradient);
      for (std::size_t k = 0; k < x.size(); k += 2)
        CHECK(std::abs(x[k] * x[k + 1] - 1) <= 10 * options.tolerances.gradient);
    }
  }
}

TEST_CASE("a start at the minimum, limits and launches again", "[least squares]") {
  constexpr int n = 400;
  for (const std::string& executor : recorded_executors()) {
    for (const variant& v : variants) {
      INFO(executor << ", " << v);
      const partially_separable<double> f = make_tridiagonal<double>(whilst::place_of_executor(executor), n);
      whilst::minimizer<double> minimizer(f, v.options(executor));
      std::vector<double> x(n, -1.0);
      const minimize_report first = minimizer.solve(x);
      CHECK(first.converged());
      // Launches have what others left in memory, one of them from where all curvatures are large, and the same bits.
      std::vector<double> far(n, 30.0);
      minimizer.set_max_iterations(2);
      minimizer.solve(far);
      minimizer.set_max_iterations(100);
      std::vector<double> again(n, -1.0);
      const minimize_report second = minimizer.solve(again);
      CHECK((again == x));
      CHECK(second.iterations() == first.iterations());
      CHECK(second.inner_iterations == first.inner_iterations);
      // From there nothing is left to do.
      const std::vector<double> found = x;
      const minimize_report warm = minimizer.solve(x);
      CHECK(warm.iterations() == 0);
      CHECK(warm.evaluations == 1);
      CHECK((x == found));
      minimizer.set_max_iterations(2);
      std::vector<double> limited(n, -1.0);
      const minimize_report stopped = minimizer.solve(limited);
      CHECK(stopped.reason() == reason::iteration_limit);
      CHECK(stopped.iterations() == 2);
      CHECK(stopped.value < 0.5 * n);
    }
  }
}

TEST_CASE("stream and graph give the same bits", "[least squares]") {
  const bundle made(6, 40, 0.5, 0.02);
  std::vector<std::vector<double>> of_stream;
  for (const char* executor : {"stream", "graph"}) {
    const std::vector<std::string> there = recorded_executors();
    if (std::find(there.begin(), there.end(), executor) == there.end()) return;
    for (std::size_t k = 0; k < variants.size(); ++k) {
      INFO(variants[k]);
      const bundle::on_place<double> function(whilst::place_of_executor(executor), made);
      minimizer_options options = variants[k].options(executor);
      options.max_iterations = 10;
      std::vector<double> x = made.start;
      minimized<double>(function.f, options, x);
      if (std::string(executor) == "stream") {
        of_stream.push_back(x);
      } else {
        CHECK((x == of_stream[k]));
      }
    }
  }
}

TEST_CASE("data and residuals that are no numbers", "[least squares]") {
  for (const std::string& executor : recorded_executors()) {
    const place where = whilst::place_of_executor(executor);
    for (const variant& v : variants) {
      INFO(executor << ", " << v);
      const minimizer_options options = v.options(executor);
      {
        const double measured[] = {1, NAN, 2};
        buffer<double> on_place(where, 3);
        on_place.upload(measured);
        partially_separable<double> f(where, 2);
        f.add_residuals("distances", off_by{on_place.data()}, std::vector<std::int32_t>{0, 1, 1});
        std::vector<double> x{0.5, 0.25};
        CHECK(minimized<double>(f, options, x).reason() == reason::nan_or_infinity);
        CHECK(x == std::vector<double>{0.5, 0.25});
      }
      partially_separable<double> f(where, 1);
      f.add_residuals("wall", wall{}, std::vector<std::int32_t>{0});
      std::vector<double> beyond{4};
      CHECK(minimized<double>(f, options, beyond).reason() == reason::nan_or_infinity);
      CHECK(beyond[0] == 4);
      // There is no minimum, only an infimum at the wall; the gradient does not vanish there.
      std::vector<double> x{0};
      const minimize_report r = minimized<double>(f, options, x);
      CHECK_FALSE(r.converged());
      CHECK(x[0] <= 3);
      CHECK(x[0] > 2);
      CHECK(r.value == Approx(0.5 * (5 - x[0]) * (5 - x[0])));
    }
  }
}

TEST_CASE("short steps at a wall are no sign of a minimum", "[least squares]") {
  for (const std::string& executor : recorded_executors()) {
    for (const variant& v : variants) {
      if (std::string(v.method) == "newton-cg") continue;  // has a line search
      for (const double at : {0.5, 1.0, 2.7, 3.0, 10.3, 1e4}) {
        INFO(executor << ", " << v << ", at " << at);
        partially_separable<double> f(whilst::place_of_executor(executor), 1);
        f.add_residuals("wall", wall{at}, std::vector<std::int32_t>{0});
        std::vector<double> x{0};
        const minimize_report r = minimized<double>(f, v.options(executor), x);
        CHECK(r.reason() == reason::radius_too_small);
        CHECK(x[0] <= at);
        CHECK(x[0] > at - 1e-6 * (1 + at));
      }
    }
  }
}

TEST_CASE("residuals that are rounding alone are converged", "[least squares]") {
  constexpr int n = 200;
  for (const std::string& executor : recorded_executors()) {
    for (const variant& v : variants) {
      if (std::string(v.method) != "levenberg-marquardt" && std::string(v.method) != "dogleg") continue;
      INFO(executor << ", " << v);
      const partially_separable<double> f = make_tridiagonal<double>(whilst::place_of_executor(executor), n);
      minimizer_options options = v.options(executor);
      options.tolerances.gradient = 0;
      options.max_iterations = 200;
      std::vector<double> x(n, -1.0);
      const minimize_report r = minimized<double>(f, options, x);
      CHECK(r.converged());
      CHECK(r.value <= 1e-28);  // residuals are differences of numbers near 1
    }
  }
}

TEST_CASE("what no residual depends on has no part in rounding", "[least squares]") {
  for (const std::string& executor : recorded_executors()) {
    for (const variant& v : variants) {
      if (std::string(v.method) != "levenberg-marquardt" && std::string(v.method) != "dogleg") continue;
      INFO(executor << ", " << v);
      std::vector<index_type> evaluations;
      for (const double bystander : {0.0, 1e8, 1e14}) {
        INFO("bystander " << bystander);
        partially_separable<double> f(whilst::place_of_executor(executor), 3);
        f.add_residuals("valley", curved_valley{}, std::vector<std::int32_t>{0, 1, 2});
        std::vector<double> x{-1.2, 1, bystander};
        minimizer_options options = v.options(executor);
        const minimize_report r = minimized<double>(f, options, x);
        CHECK(r.reason() == reason::converged_gradient);
        CHECK(std::abs(x[0] - 1) <= 1e-7);
        CHECK(x[2] == bystander);
        evaluations.push_back(r.evaluations);
      }
      if (std::string(v.method) == "levenberg-marquardt") CHECK(evaluations[2] == evaluations[0]);
    }
  }
}

TEST_CASE("options that cannot be met are refused", "[least squares]") {
  const partially_separable<double> f = make_tridiagonal<double>(place::host(), 10);
  const auto making = [&](const char* method, const char* hessian, const char* damping = "nielsen",
                          double first_damping = 1e-3) {
    return message_of([&] {
      minimizer_options options = variant{method, hessian, damping}.options("host");
      options.first_damping = first_damping;
      whilst::minimizer<double> made(f, options);
    });
  };
  CHECK(making("levenberg-marquardt", "auto") == "no exception");
  CHECK(making("lbfgs", "matrix-free") == "no exception");
  CHECK_THAT(making("levenberg-marquardt", "sparse"), contains("'sparse'") && contains("matrix-free"));
  CHECK_THAT(making("levenberg-marquardt", "auto", "strong"), contains("'strong'") && contains("classic"));
  CHECK_THAT(making("levenberg-marquardt", "auto", "nielsen", 0), contains("first_damping"));
  CHECK_THAT(making("levenberg-marquardt", "auto", "nielsen", NAN), contains("first_damping"));
  CHECK_THAT(making("newton", "matrix-free"), contains("'newton'") && contains("newton-cg"));
}

}  // namespace whilst_test

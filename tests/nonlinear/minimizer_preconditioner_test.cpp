// compiled by nvcc where CUDA is on
#define EIGEN_NO_CUDA  // Eigen is an oracle on the host; nvcc warns about its annotations for devices

// newton-cg with algebraic multigrid, whose levels are made anew from each Hessian within the recorded loop.

#include <functional>
#include <thread>

#include "tests/catch.hpp"
#include "tests/nonlinear/membrane.hpp"
#include "whilst/called_objective.hpp"
#include "whilst/nonlinear/minimize/hessian_preconditioner.hpp"

namespace whilst_test {

using whilst::index_type;
using whilst::minimize_report;
using whilst::minimizer_options;
using whilst::place;
using whilst::reason;

namespace {

std::string complaint(const std::function<void()>& about) {
  try {
    about();
  } catch (const whilst::error& e) {
    return e.what();
  }
  return "no exception";
}
bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEMPLATE_TEST_CASE("newton-cg with amg finds the minimum of a quadratic function, by hand and by Cholesky",
                   "[minimizer][amg][sanitizer]", float, double) {
  for (const std::string& executor : recorded_executors()) {
    for (const int m : {1, 2, 24}) {
      INFO(executor << ", " << m << " x " << m << " points");
      const membrane what{m, 0};
      minimizer_options options = newton_with("amg,coarsest_rows=20", executor);
      options.tolerances.gradient = attainable_gradient<TestType>(what);
      own_minimizer<TestType> one(maker_of<TestType>(what), options);
      std::vector<TestType> x(static_cast<std::size_t>(m * m), TestType(0));
      const minimize_report r = one.solve(x);
      CHECK(r.converged());
      CHECK(what.gradient_norm(x) <= 2 * attainable_gradient<TestType>(what));
      // By hand: one point with 4 springs to the rim; 4 points with 2 each.
      if (m == 1) CHECK(x[0] == Approx(0.25).epsilon(4 * std::numeric_limits<TestType>::epsilon()));
      if (m == 2) CHECK(x[3] == Approx(0.5).epsilon(16 * std::numeric_limits<TestType>::epsilon()));
      // The inverse of A has a norm below m^2 / 4.
      CHECK((to_eigen(x) - what.solution()).norm() <= m * m * attainable_gradient<TestType>(what));
      // And from there it goes nowhere.
      const std::vector<TestType> found = x;
      const minimize_report again = one.solve(x);
      CHECK(again.converged());
      CHECK(again.iterations() <= 1);
    }
  }
}

TEMPLATE_TEST_CASE("newton-cg with amg follows Hessians that change", "[minimizer][amg]", float, double) {
  const membrane what{40, 100, 0.05};
  std::vector<TestType> by_jacobi(1600, TestType(0));
  minimizer_options options = newton_with("jacobi", "host");
  options.tolerances.gradient = 2 * attainable_gradient<TestType>(what);
  const minimize_report jacobi = own_minimizer<TestType>(maker_of<TestType>(what), options).solve(by_jacobi);
  REQUIRE(jacobi.converged());
  std::vector<TestType> first;
  for (const std::string& executor : recorded_executors()) {
    INFO(executor);
    options.executor = executor;
    options.preconditioner = "amg";
    options.amg.coarsest_rows = 100;
    own_minimizer<TestType> one(maker_of<TestType>(what), options);
    std::vector<TestType> x(1600, TestType(0));
    const minimize_report r = one.solve(x);
    CHECK(r.converged());
    CHECK(r.iterations() >= 3);
    CHECK(what.gradient_norm(x) <= 2 * options.tolerances.gradient);
    CHECK((to_eigen(x) - to_eigen(by_jacobi)).norm() <= 1600 * 2 * options.tolerances.gradient);
    CHECK(holds(r.preconditioner_choice(), "amg, "));
    CHECK(holds(one.by.memory().items.front().name, "the levels of amg"));
    CHECK(one.by.memory().items.front().bytes > 1600 * sizeof(TestType));
    CHECK(jacobi.preconditioner_choice().empty());
    // What it is for; and directions are Newton's.
    CHECK(r.iterations() <= jacobi.iterations() + 5);
    CHECK(3 * r.inner_iterations < jacobi.inner_iterations);
    // The same bits again, though the levels are those of the last Hessian now.
    std::vector<TestType> again(1600, TestType(0));
    CHECK(one.solve(again).inner_iterations == r.inner_iterations);
    CHECK((again == x));
    // For any unroll and number of threads, and under stream as under graph.
    minimizer_options other = options;
    other.unroll = 3;
    other.threads = 3;
    std::vector<TestType> otherwise(1600, TestType(0));
    own_minimizer<TestType>(maker_of<TestType>(what), other).solve(otherwise);
    CHECK((otherwise == x));
    if (executor == "stream") first = x;
    if (executor == "graph" && !first.empty()) CHECK((x == first));
  }
}

TEST_CASE("the Hessian's levels are those of the present values, not of the first ones", "[minimizer][amg]") {
  // Made where the springs are soft, used where they are stiffer by up to 3e4: levels of old values would not do.
  const membrane what{32, 1e4, 1};
  minimizer_options options = newton_with("amg,coarsest_rows=60,refresh=changed", "host");
  options.tolerances.gradient = 1e-9;
  std::vector<double> x(1024, 0.0), from_there(1024, 0.0);
  const minimize_report r = own_minimizer<double>(maker_of<double>(what), options).solve(x);
  CHECK(r.converged());
  options.typical_point = x;
  const minimize_report told = own_minimizer<double>(maker_of<double>(what), options).solve(from_there);
  CHECK(told.converged());
  CHECK((to_eigen(x) - to_eigen(from_there)).norm() <= 1e-9 * 1024);
  CHECK(r.iterations() <= 2 * told.iterations());
  // Aggregates differ, and so do iterations, but not by much.
  CHECK(r.inner_iterations <= 3 * told.inner_iterations);
  // Each solve ends at the root of the residual, or at half of the digits: a few iterations of multigrid. Levels of the
  // first values would take twice as many.
  CHECK(r.inner_iterations <= 7 * r.iterations());
}

TEST_CASE("the shown minimizer has amg within Newton's method", "[shown]") {
  const membrane what{12, 1};
  const function<double> made = what.on<double>(place::host());
  const whilst::objective<double>& f = *made;
  std::vector<double> x(144, 0.1);
  // shown: newton with amg
  whilst::minimizer_options options{.method = "newton-cg", .preconditioner = "amg,strength=0.1"};
  options.typical_point = x;  // where unknowns are joined to aggregates; x = 0 if it is empty
  whilst::minimizer<double> newton(f, options);
  // end of shown
  CHECK(newton.solve(x).converged());
  CHECK(what.gradient_norm(x) <= 2e-8);
}

TEST_CASE("newton-cg with amg solves Rosenbrock's function, whose Hessian is made positive", "[minimizer][amg]") {
  for (const std::string& executor : recorded_executors()) {
    for (const index_type n : {2, 1000}) {
      INFO(executor << ", n " << n);
      minimizer_options options = newton_with("amg", executor);
      options.amg.unknowns_a_node = n == 2 ? 1 : 2;
      own_minimizer<double> one([n](place where) { return make_rosenbrock<double>(where, n); }, options);
      std::vector<double> x = rosenbrock_start<double>(n);
      CHECK(one.solve(x).converged());
      CHECK(rosenbrock_value(x) <= 1e-16 * static_cast<double>(n));
    }
  }
}

TEST_CASE("newton-cg with amg leaves a start alone where the function is not finite", "[minimizer][amg]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const std::string& executor : recorded_executors()) {
    INFO(executor);
    own_minimizer<double> one(maker_of<double>({4, 1}), newton_with("amg", executor));
    std::vector<double> x(16, 0.5);
    x[3] = nan;
    CHECK(one.solve(x).reason() == reason::nan_or_infinity);
    CHECK(x[2] == 0.5);
    // And nothing of it is left.
    std::vector<double> good(16, 0.5);
    CHECK(one.solve(good).converged());
  }
}

TEST_CASE("two minimizers with amg run at once", "[minimizer][amg]") {
  const membrane small{16, 10}, large{24, 1};
  const auto solved = [](const membrane& what) {
    std::vector<double> x(static_cast<std::size_t>(what.m * what.m), 0.0);
    own_minimizer<double>(maker_of<double>(what), newton_with("amg,coarsest_rows=30")).solve(x);
    return x;
  };
  const std::vector<double> expected_small = solved(small), expected_large = solved(large);
  std::vector<double> found_small, found_large;
  std::thread other([&] { found_small = solved(small); });
  found_large = solved(large);
  other.join();
  CHECK((found_small == expected_small));
  CHECK((found_large == expected_large));
}

TEST_CASE("what amg cannot do for a minimizer is refused with a cure", "[minimizer][amg]") {
  const membrane what{3, 1};
  const auto told = [&](const std::function<void(minimizer_options&)>& change, const auto& of) {
    minimizer_options options = newton_with("amg", "host");
    change(options);
    return complaint([&] { own_minimizer<double>(of, options); });
  };
  const auto of = maker_of<double>(what);
  const auto with_name = [&](const std::string& name) {
    return told([&](auto& options) { options.preconditioner = name; }, of);
  };
  for (const std::string cycle : {"F", "K"}) {
    const std::string refused = with_name("amg,cycle=" + cycle);
    CHECK(refused.find("making a minimizer: with cycle " + cycle) == 0);
    CHECK(holds(refused, "Use cycle V or W"));
  }
  CHECK(with_name("amg,cycle=W") == "no exception");
  CHECK(holds(with_name("amg,refresh=never"), "Use one of auto, changed, lagged"));
  CHECK(holds(with_name("amg,refresh_growth=0"), "refresh_growth is 0"));
  for (const std::string name : {"ilu", "none", "", "AMG"}) CHECK(holds(with_name(name), "Use jacobi or amg"));
  CHECK(holds(with_name("amg,strength=2"), "setting strength is 2"));
  CHECK(holds(with_name("amg,colour=red"), "no setting called 'colour'"));
  CHECK(holds(told([](auto& options) { options.method = "trust-region"; }, of), "Use newton-cg"));
  CHECK(holds(told([](auto& options) { options.hessian = "matrix-free"; }, of), "wants the Hessian as a matrix"));
  CHECK(holds(told([](auto& options) { options.typical_point = {1, 2}; }, of), "2 numbers"));
  CHECK(holds(told([](auto& options) { options.typical_point.assign(9, HUGE_VAL); }, of), "not finite"));
  CHECK(holds(told([](auto& options) { options.amg.unknowns_a_node = 2; }, of), "unknowns_a_node = 2"));
  // Their Hessians, made positive, are zero everywhere.
  const auto flat = [](place where) { return make_shapes<double>(where, {shape::falling, shape::minus_square}); };
  CHECK(holds(told([](auto&) {}, flat), "is zero at x = 0"));
  // Whatever jacobi is not to know does not matter to it.
  CHECK(told(
            [](auto& options) {
              options.preconditioner = "jacobi";
              options.typical_point = {1};
            },
            of) == "no exception");
  // A function without a Hessian.
  const auto called = complaint([&] {
    const auto gradient_alone = whilst::called_objective<double>(
        place::host(), 2, [](whilst::stream_handle, index_type, const double*, double*, double*) {});
    whilst::make_hessian_preconditioner<double>("testing", gradient_alone, "amg", {}, {});
  });
  CHECK(holds(called, "the function has none"));
}

}  // namespace whilst_test

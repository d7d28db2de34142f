// Equations without solutions, starts that are none, options out of range, and launches of all kinds: a solver must
// come to an end and say honestly which.

#include <cstdlib>
#include <functional>

#include "tests/catch.hpp"
#include "tests/nonlinear/nonlinear_systems.hpp"
#include "whilst/engine/memory/cuda.hpp"

namespace whilst_test {

using whilst::buffer;
using whilst::index_type;
using whilst::nonlinear_report;
using whilst::nonlinear_solver_options;
using whilst::reason;

namespace {

template <class Use>
void for_each_way(const Use& use) {
  for (const std::string& executor : recording_executors()) {
    for (const std::string& method : all_nonlinear_methods) {
      INFO(executor << ", " << method);
      use(nonlinear_solver_options{.method = method, .max_iterations = 300, .executor = executor});
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

/// A stream of its own where there is a GPU.
class any_stream {
 public:
#if WHILST_WITH_CUDA
  any_stream() {
    if (whilst::cuda::device_count() > 0) made_ = whilst::cuda::make_stream();
  }
  whilst::stream_handle get() const { return made_.get(); }

 private:
  whilst::cuda::stream made_;
#else
  whilst::stream_handle get() const { return nullptr; }
#endif
};

buffer<double> on_place(const std::string& executor, const std::vector<double>& x) {
  buffer<double> made(whilst::place_of_executor(executor), static_cast<index_type>(x.size()));
  made.upload(x.data());
  return made;
}
std::vector<double> values(const buffer<double>& device) {
  std::vector<double> host(static_cast<std::size_t>(device.size()));
  device.download(host.data());
  return host;
}

}  // namespace

TEMPLATE_TEST_CASE("a start where F is not finite is left alone", "[nonlinear]", float, double) {
  for_each_way([](const nonlinear_solver_options& options) {
    std::vector<TestType> x{1, -0.25, 3};
    const nonlinear_report r = own_solver<TestType>(problem::no_number, 3, options).solve(x);
    CHECK(r.reason() == reason::nan_or_infinity);
    CHECK(r.iterations() == 0);
    CHECK(r.evaluations == 1);
    CHECK((x == std::vector<TestType>{1, -0.25, 3}));
    own_solver<TestType> logarithms(problem::logarithms, 3, options);
    CHECK(logarithms.solve(x).reason() == reason::nan_or_infinity);  // infinite at -0.25
    CHECK((x == std::vector<TestType>{1, -0.25, 3}));
    x[1] = std::numeric_limits<TestType>::quiet_NaN();
    own_solver<TestType> cosines(problem::cosines, 3, options);
    CHECK(cosines.solve(x).reason() == reason::nan_or_infinity);
    // And nothing of it is left for the next.
    x[1] = 2;
    cosines.by.set_tolerances({.atol = sizeof(TestType) == 4 ? 1e-5 : 1e-10});
    CHECK(cosines.solve(x).converged());
  });
}

TEST_CASE("steps to where F is infinite are taken back", "[nonlinear]") {
  for_each_way([](const nonlinear_solver_options& options) {
    std::vector<double> x{5, 0.01, 40};  // Newton's step leads to 5 - 5 log 5 < 0
    const nonlinear_report r = own_solver<double>(problem::logarithms, 3, options).solve(x);
    CHECK(r.converged());
    CHECK(r.evaluations > r.iterations() + 1);
    for (const double value : x) CHECK(std::abs(value - 1) <= 1e-6);
  });
}

TEST_CASE("equations without a solution", "[nonlinear]") {
  for_each_way([](const nonlinear_solver_options& options) {
    {
      INFO("x^2 + 1");
      std::vector<double> x{0.6};
      const nonlinear_report r = own_solver<double>(problem::square_plus_one, 1, options).solve(x);
      CHECK_FALSE(r.converged());
      CHECK(std::isfinite(x[0]));
      CHECK(r.residual_norm() >= 1);
      CHECK(r.residual_norm() == Approx(x[0] * x[0] + 1));
      if (options.method.starts_with("newton")) {
        CHECK((r.reason() == reason::line_search_failed || r.reason() == reason::singular_jacobian));
        CHECK(r.residual_norm() <= 1 + 1e-6);  // at the minimum of its size, at least
      }
      x = {0};
      const nonlinear_report at_minimum = own_solver<double>(problem::square_plus_one, 1, options).solve(x);
      if (options.method == "newton") CHECK(at_minimum.reason() == reason::singular_jacobian);
      if (options.method == "newton-krylov") CHECK(at_minimum.reason() == reason::breakdown);
      CHECK_FALSE(at_minimum.converged());
    }
    {
      INFO("parallel lines");
      std::vector<double> x{0, 0};
      const nonlinear_report r = own_solver<double>(problem::parallel_lines, 2, options).solve(x);
      CHECK_FALSE(r.converged());
      if (options.method == "newton") CHECK(r.reason() == reason::singular_jacobian);
      // From far away the distance of the lines, 1 / sqrt 5 in this measure, is lost in rounding.
      if (options.method.starts_with("newton")) CHECK(r.residual_norm() >= 1 / std::sqrt(5) - 1e-12);
    }
  });
}

TEST_CASE("without any tolerance a nonlinear solve ends where rounding ends it", "[nonlinear]") {
  for_each_way([](nonlinear_solver_options options) {
    options.tolerances = {.atol = 0, .rtol = 0};
    options.mixing = 0.25;
    std::vector<double> x = start_of(problem::broyden_tridiagonal, 30);
    const nonlinear_report r = own_solver<double>(problem::broyden_tridiagonal, 30, options).solve(x);
    CHECK(r.residual_norm() <= 1e-12);
    CHECK((r.converged() || r.reason() == reason::attainable_accuracy || r.reason() == reason::iteration_limit));
  });
}

TEST_CASE("the deadline and cancel of a nonlinear solve", "[nonlinear]") {
  for (const std::string& executor : recording_executors()) {
    for (const std::string method : {"broyden", "anderson"}) {
      INFO(executor << ", " << method);
      own_solver<double> endless(
          problem::square_plus_one, 1,
          {.method = method, .max_iterations = 1'000'000'000'000, .deadline = 0.02, .executor = executor});
      std::vector<double> x{0.6};
      const nonlinear_report r = endless.solve(x);
      CHECK_FALSE(r.converged());
      endless.by.cancel();  // of no solve that is there
      endless.by.set_max_iterations(3);
      x = {0.6};
      CHECK(endless.solve(x).reason() == reason::iteration_limit);
    }
  }
}

namespace {

/// J is what jacobian() tells, and F(x) = b + J x unless A is given.
template <class T>
nonlinear_report solve_given(const std::string& executor, const std::string& method, const triplets<T>& J,
                             const std::vector<T>& b, std::vector<T>& x, const triplets<T>* A = nullptr) {
  const given_equations<T> F(whilst::place_of_executor(executor), A ? *A : J, J, b);
  whilst::nonlinear_solver<T> solver(
      F, {.method = method, .tolerances = {.atol = sizeof(T) == 4 ? 1e-5 : 1e-10}, .executor = executor});
  return solver.solve(x);
}
template <class T>
triplets<T> matrix(double a, double b, double c, double d) {
  triplets<T> made(2);
  made.row({{0, a}, {1, b}});
  made.row({{0, c}, {1, d}});
  return made;
}

}  // namespace

TEMPLATE_TEST_CASE("what is not a number in a Jacobian is no singular one", "[nonlinear]", float, double) {
  const triplets<TestType> identity = matrix<TestType>(1, 0, 0, 1);
  for (const std::string& executor : recording_executors()) {
    for (const std::string method : {"newton", "newton-krylov"}) {
      for (const double bad : {std::nan(""), HUGE_VAL}) {
        for (int at = 0; at < 4; ++at) {
          INFO(executor << ", " << method << ", " << bad << " at " << at);
          triplets<TestType> J = matrix<TestType>(1, 0, 0, 1);
          J.values[static_cast<std::size_t>(at)] = static_cast<TestType>(bad);
          std::vector<TestType> x{0, 0};
          CHECK(solve_given<TestType>(executor, method, J, {1, 2}, x, &identity).reason() == reason::nan_or_infinity);
          CHECK((x == std::vector<TestType>{0, 0}));
        }
      }
    }
  }
}

TEMPLATE_TEST_CASE("Newton's method does not mind the units of unknowns and equations", "[nonlinear]", float, double) {
  const double small = sizeof(TestType) == 4 ? 4e-7 : 1e-15;
  for (const std::string& executor : recording_executors()) {
    INFO(executor);
    // x0 + small x1 = 3, x0 - small x1 = 1, the second also in other units.
    for (const double unit : {1.0, 1e-9}) {
      const auto J = matrix<TestType>(1, small, unit, -unit * small);
      std::vector<TestType> x{0, 0};
      const nonlinear_report r = solve_given<TestType>(executor, "newton", J, {-3, static_cast<TestType>(-unit)}, x);
      CHECK(r.converged());
      // Elimination adds some ten roundings, each as large as x0's.
      const double rounding = 10 * static_cast<double>(std::numeric_limits<TestType>::epsilon());
      CHECK(std::abs(x[0] - 2) <= 2 * rounding);
      CHECK(std::abs(x[1] * small - 1) <= 2 * rounding);
    }
    // What is singular but for rounding stays so.
    std::vector<TestType> x{0, 0};
    const auto singular = matrix<TestType>(1, 3 * small, 1.0 / 3, small);
    CHECK(solve_given<TestType>(executor, "newton", singular, {1, 1}, x).reason() == reason::singular_jacobian);
  }
}

TEST_CASE("entries of a Jacobian that come twice are added", "[nonlinear]") {
  triplets<double> twice(2);
  twice.row({{0, 1.0}, {1, 1.0}, {0, 2.0}});
  twice.row({{1, 3.0}, {1, 1.0}, {0, 1.0}});
  for (const std::string& executor : recording_executors()) {
    for (const std::string method : {"newton", "newton-krylov"}) {
      INFO(executor << ", " << method);
      std::vector<double> x{0, 0};
      const nonlinear_report r = solve_given<double>(executor, method, twice, {-5, -9}, x);  // [3 1; 1 4] (1, 2)
      CHECK(r.converged());
      if (method == "newton") CHECK(r.iterations() == 1);
      CHECK(std::abs(x[0] - 1) <= 1e-9);
      CHECK(std::abs(x[1] - 2) <= 1e-9);
    }
  }
}

TEMPLATE_TEST_CASE("BiCGSTAB that breaks down is begun anew", "[nonlinear]", float, double) {
  for (const std::string& executor : recording_executors()) {
    INFO(executor);
    std::vector<TestType> x{0, 0};
    const nonlinear_report r =
        solve_given<TestType>(executor, "newton-krylov", matrix<TestType>(0, 1, 1, 0), {-1, 0}, x);
    CHECK(r.converged());
    CHECK(std::abs(x[0]) <= 1e-5);
    CHECK(std::abs(x[1] - 1) <= 1e-5);
    // Where J is 0 in one direction nothing helps.
    x = {0, 0};
    const nonlinear_report lost =
        solve_given<TestType>(executor, "newton-krylov", matrix<TestType>(0, 0, 0, 1), {-1, 0}, x);
    CHECK(lost.reason() == reason::breakdown);
    CHECK_THAT(lost.message(), contains("method newton"));
  }
}

TEST_CASE("an executor of the environment holds where it can", "[nonlinear]") {
  if (std::getenv("WHILST_EXECUTOR")) {
    WARN("skipped: WHILST_EXECUTOR is set");
    return;
  }
  const system_of<double> F = make_system<double>(whilst::place::host(), problem::by_hand, 2);
  for (const char* wanted : {"graph", "stream", "resident", "host"}) {
    INFO(wanted);
    ::setenv("WHILST_EXECUTOR", wanted, 1);
    CHECK(message_of([&] { CHECK(whilst::nonlinear_solver<double>(*F).executor() == "host"); }) == "no exception");
  }
  ::setenv("WHILST_EXECUTOR", "abacus", 1);
  CHECK_THAT(message_of([&] { whilst::nonlinear_solver<double> made(*F); }), contains("WHILST_EXECUTOR"));
  ::unsetenv("WHILST_EXECUTOR");
}

TEST_CASE("a cancel within BiCGSTAB is no breakdown", "[nonlinear]") {
  // After one iteration, where it is cut short, d leads up: F'J d = 1.
  given_equations<double> F(whilst::place::host(), matrix<double>(1, 1, 4, 1), matrix<double>(1, 1, 4, 1), {-1, 0});
  whilst::nonlinear_solver<double>* in_flight = nullptr;
  F.on_jacobian = [&] {
    if (in_flight) in_flight->cancel();
  };
  whilst::nonlinear_solver<double> solver(F, {.executor = "host"});
  in_flight = &solver;
  std::vector<double> x{0, 0};
  CHECK(solver.solve(x).reason() == reason::cancelled);
  CHECK((x == std::vector<double>{0, 0}));
  in_flight = nullptr;
  CHECK(solver.solve(x).converged());
}

TEST_CASE("Jacobians of one's own that make no sense are refused with the cure", "[nonlinear]") {
  given_equations<double> F(whilst::place::host(), matrix<double>(1, 1, 4, 1), matrix<double>(1, 1, 4, 1), {-1, 0});
  const auto good = F.told;
  for (const std::string method : {"newton", "newton-krylov"}) {
    const auto make = [&](const whilst::jacobian_view<double>& told) {
      F.told = told;
      return message_of([&] { whilst::nonlinear_solver<double> made(F, {.method = method, .executor = "host"}); });
    };
    CHECK(make(good) == "no exception");
    auto bad = good;
    bad.n = 3;
    CHECK_THAT(make(bad), contains("Jacobian has 3 rows") && contains("unknowns"));
    CHECK_THAT(make({}), contains("Jacobian has 0 rows"));
    for (int missing = 0; missing < 3; ++missing) {
      bad = good;
      if (missing == 0) bad.row_offsets = nullptr;
      if (missing == 1) bad.column_indices = nullptr;
      if (missing == 2) bad.values = nullptr;
      CHECK_THAT(make(bad), contains("row_offsets") && contains("Have jacobian() tell"));
    }
  }
}

TEST_CASE("nonlinear solvers that make no sense are refused with the cure", "[nonlinear]") {
  const system_of<double> F = make_system<double>(whilst::place::host(), problem::by_hand, 2);
  const double nan = std::nan("");
  const auto make = [&](const nonlinear_solver_options& options) {
    return message_of([&] { whilst::nonlinear_solver<double> made(*F, options); });
  };
  CHECK(make({}) == "no exception");
  CHECK_THAT(make({.method = "secant"}), contains("'secant'"));
  for (const std::string& method : all_nonlinear_methods) CHECK_THAT(make({.method = "secant"}), contains(method));
  CHECK_THAT(make({.tolerances = {.atol = -1}}), contains("atol"));
  CHECK_THAT(make({.tolerances = {.rtol = nan}}), contains("rtol"));
  CHECK_THAT(make({.tolerances = {.step = -1e-300}}), contains("step"));
  CHECK_THAT(make({.max_iterations = -1}), contains("max_iterations is -1"));
  CHECK_THAT(make({.max_evaluations = -2}), contains("max_evaluations is -2"));
  CHECK_THAT(make({.max_inner_iterations = -3}), contains("max_inner_iterations is -3"));
  for (const int depth : {-1, 0, 11}) CHECK_THAT(make({.depth = depth}), contains("depth is"));
  for (const double mixing : {0.0, nan, HUGE_VAL}) CHECK_THAT(make({.mixing = mixing}), contains("mixing"));
  for (const double deadline : {0.0, -1.0, nan}) CHECK_THAT(make({.deadline = deadline}), contains("deadline"));
  CHECK_THAT(make({.executor = "cluster"}), contains("cluster"));
  CHECK_THAT(make({.unroll = -1}), contains("unroll is -1"));
  for (const index_type capacity : {-2, 3})
    CHECK_THAT(make({.history_capacity = capacity}), contains("history_capacity"));
  const system_of<double> large = make_system<double>(whilst::place::host(), problem::cosines, 1001);
  CHECK_THAT(message_of([&] { whilst::nonlinear_solver<double> made(*large, {.method = "newton"}); }),
             contains("1001 unknowns") && contains("newton-krylov"));

  whilst::nonlinear_solver<double> two(*F, {.executor = "host"});
  std::vector<double> three(3), x{1, 1.5};
  CHECK_THAT(message_of([&] { two.solve(three); }), contains("2 unknowns") && contains("3 entries"));
  CHECK_THAT(message_of([&] { two.set_tolerances({.atol = nan}); }), contains("atol"));
  CHECK_THAT(message_of([&] { two.set_max_iterations(-7); }), contains("max_iterations is -7"));
  CHECK_THAT(message_of([&] { two.set_deadline(0); }), contains("deadline"));
  // What was refused has changed nothing.
  CHECK(two.solve(x).converged());
  CHECK_THAT(two.explain(), contains("J d = -F by bicgstab"));
}

TEST_CASE("launches of a nonlinear solver have the same bits", "[nonlinear][enqueue][sanitizer]") {
  for_each_way([](nonlinear_solver_options options) {
    options.mixing = 0.25;
    options.tolerances = {.atol = 1e-9, .rtol = 0};
    const std::vector<double> start = start_of(problem::bratu, 36);
    std::vector<double> expected = start;
    const nonlinear_report told = own_solver<double>(problem::bratu, 36, options).solve(expected);
    CHECK(told.converged());
    own_solver<double> one(problem::bratu, 36, options), other(problem::bratu, 36, options);
    const any_stream first, second;
    for (int round = 0; round < 3; ++round) {
      buffer<double> x = on_place(options.executor, start), y = on_place(options.executor, start);
      const whilst::ticket of_x = one.by.enqueue(first.get(), x.data()),
                           of_y = other.by.enqueue(second.get(), y.data());
      CHECK(of_x.wait().iterations() == told.iterations());
      CHECK(of_y.wait().residual_norm() == told.residual_norm());
      CHECK((values(x) == expected));
      CHECK((values(y) == expected));
      // From there on there is nothing to be done.
      CHECK(one.by.enqueue(first.get(), x.data()).wait().iterations() == 0);
    }
    if (options.executor != "graph") return;
    for (const int unroll : {1, 3}) {
      nonlinear_solver_options another = options;
      another.unroll = unroll;
      std::vector<double> x = start;
      own_solver<double>(problem::bratu, 36, another).solve(x);
      CHECK((x == expected));
    }
    options.executor = "stream";
    std::vector<double> by_stream = start;
    own_solver<double>(problem::bratu, 36, options).solve(by_stream);
    CHECK((by_stream == expected));
  });
}

}  // namespace whilst_test

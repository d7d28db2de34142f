// Monitors: who sees which iterations, and what becomes of a solve whose monitor cancels it or throws.

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <vector>

#include "tests/catch.hpp"
#include "tests/nonlinear/minimizer_functions.hpp"
#include "tests/nonlinear/nonlinear_systems.hpp"
#include "whilst/called_equations.hpp"
#include "whilst/called_objective.hpp"

namespace whilst_test {

using whilst::linear_solver;
using whilst::progress;
using whilst::reason;
using whilst::report;

namespace {

/// Whether the host decides each trip, and so sees each iteration.
bool sees_all(const std::string& executor) { return executor == "host" || executor == "stream"; }

/// Counts rise, from 1 on and no further than the solve went.
void check_counts(const std::vector<progress>& seen, whilst::index_type iterations) {
  for (std::size_t k = 0; k < seen.size(); ++k) {
    CHECK(seen[k].iteration > (k == 0 ? 0 : seen[k - 1].iteration));
    CHECK(seen[k].iteration <= iterations);
    CHECK(seen[k].running);
  }
}

template <class T>
struct posed_poisson {
  whilst::csr_matrix<T> A = whilst::make_gallery<T>("poisson2d:20").matrix;
  std::vector<T> b = random_vector<T>(400, 6);
  double rtol = 100 * static_cast<double>(std::numeric_limits<T>::epsilon());
};

}  // namespace

TEMPLATE_TEST_CASE("a monitor is called once an iteration with the history's norms, and changes no bit", "[monitor]",
                   float, double) {
  const posed_poisson<TestType> problem;
  for (const std::string& executor : executors()) {
    for (const char* method : {"cg", "bicgstab"}) {
      INFO(executor << ", " << method);
      linear_solver<TestType> solver(problem.A, {.method = method, .rtol = problem.rtol, .executor = executor});
      std::vector<TestType> plain(400, 0), x(400, 0);
      solver.solve(problem.b, plain);
      std::vector<progress> seen;
      solver.set_monitor([&](const progress& now) { seen.push_back(now); });
      for (int again = 0; again < 2; ++again) {
        seen.clear();
        std::fill(x.begin(), x.end(), TestType(0));
        const report told = solver.solve(problem.b, x);
        REQUIRE(told.converged());
        CHECK((x == plain));
        check_counts(seen, told.iterations());
        if (!sees_all(executor)) continue;
        REQUIRE(static_cast<whilst::index_type>(seen.size()) == told.iterations());
        for (const progress& now : seen) {
          // A restart records its iteration twice; the first of them is that of the method.
          const auto record = std::find_if(told.history().begin(), told.history().end(),
                                           [&](const auto& one) { return one.iteration == now.iteration; });
          REQUIRE(record != told.history().end());
          CHECK(record->residual_norm == now.residual_norm);
        }
      }
      solver.set_monitor({});
      const std::size_t before = seen.size();
      solver.solve(problem.b, x);
      CHECK(seen.size() == before);
    }
  }
}

TEST_CASE("a solve that takes no iteration has nothing to tell", "[monitor]") {
  const posed_poisson<double> problem;
  for (const std::string& executor : executors()) {
    linear_solver<double> solver(problem.A, {.executor = executor});
    solver.set_monitor([](const progress&) { FAIL("nothing was iterated"); });
    std::vector<double> x(400, 0);
    CHECK(solver.solve(std::vector<double>(400, 0), x).converged());
  }
}

TEST_CASE("until its first norm is known a solve shows nothing of the one before", "[monitor]") {
  using whilst::index_type;
  constexpr index_type n = 20;
  const auto where = whilst::place::host();
  std::vector<progress> seen;
  const auto check = [&] {
    REQUIRE(seen.size() > 2);
    CHECK(seen.front().running);
    CHECK(seen.front().iteration == 0);
    CHECK(seen.front().residual_norm == std::numeric_limits<double>::infinity());
    CHECK(seen.back().residual_norm < std::numeric_limits<double>::infinity());
    seen.clear();
  };

  const linear_solver<double>* linear = nullptr;
  linear_solver<double> by(n,
                           [&](whilst::stream_handle, index_type, const double* x, double* y) {
                             if (linear) seen.push_back(linear->progress());
                             for (index_type i = 0; i < n; ++i) y[i] = static_cast<double>(i + 1) * x[i];
                           },
                           {.executor = "host"});
  linear = &by;
  const whilst::minimizer<double>* minimizer = nullptr;
  const whilst::called_objective<double> f(
      where, n, [&](whilst::stream_handle, index_type, const double* x, double* value, double* gradient) {
        if (minimizer) seen.push_back(minimizer->progress());
        *value = 0;
        for (index_type i = 0; i < n; ++i) {
          gradient[i] = static_cast<double>(i + 1) * x[i];
          *value += gradient[i] * x[i] / 2;
        }
      });
  whilst::minimizer<double> down(f, {.executor = "host"});
  minimizer = &down;
  const whilst::nonlinear_solver<double>* equations = nullptr;
  const whilst::called_equations<double> F(where, n,
                                           [&](whilst::stream_handle, index_type, const double* x, double* values) {
                                             if (equations) seen.push_back(equations->progress());
                                             for (index_type i = 0; i < n; ++i) values[i] = x[i] * x[i] * x[i] - 2;
                                           });
  whilst::nonlinear_solver<double> to_root(F, {.method = "broyden", .executor = "host"});
  equations = &to_root;
  const std::vector<double> ones(n, 1);
  for (int again = 0; again < 2; ++again) {
    INFO("solve " << again);
    std::vector<double> x(n, 0);
    CHECK(by.solve(ones, x).converged());
    check();
    x = ones;
    CHECK(down.solve(x).converged());
    check();
    x = ones;
    CHECK(to_root.solve(x).converged());
    check();
  }
}

TEST_CASE("with several iterations a trip a monitor is called once a trip", "[monitor]") {
  const posed_poisson<double> problem;
  for (const std::string& executor : executors()) {
    if (!sees_all(executor)) continue;
    INFO(executor);
    linear_solver<double> solver(problem.A, {.executor = executor, .unroll = 4});
    std::vector<progress> seen;
    solver.set_monitor([&](const progress& now) { seen.push_back(now); });
    std::vector<double> x(400, 0);
    const report told = solver.solve(problem.b, x);
    check_counts(seen, told.iterations());
    CHECK(seen.back().iteration == told.iterations());
    CHECK(static_cast<whilst::index_type>(seen.size()) <= told.iterations() / 4 + 2);
    CHECK(static_cast<whilst::index_type>(seen.size()) >= told.iterations() / 4);
  }
}

TEST_CASE("a monitor may cancel the solve", "[monitor]") {
  const posed_poisson<double> problem;
  for (const std::string& executor : executors()) {
    if (!sees_all(executor)) continue;
    INFO(executor);
    linear_solver<double> solver(problem.A, {.executor = executor});
    solver.set_monitor([&](const progress& now) {
      CHECK(solver.progress().iteration >= now.iteration);
      if (now.iteration == 5) solver.cancel();
    });
    std::vector<double> x(400, 0);
    const report told = solver.solve(problem.b, x);
    CHECK(told.reason() == reason::cancelled);
    CHECK(told.iterations() >= 5);
    CHECK(told.iterations() <= 7);
  }
}

TEST_CASE("what a monitor throws comes out of solve, and the solver is as good as before", "[monitor]") {
  // Goes on until somebody stops it: information travels one unknown an iteration.
  const auto A = whilst::make_gallery<double>("poisson1d:100000").matrix;
  const std::vector<double> b(static_cast<std::size_t>(A.rows()), 1.0);
  for (const std::string& executor : executors()) {
    if (executor == "resident") continue;  // one block is slow at this size
    INFO(executor);
    linear_solver<double> solver(A, {.rtol = 0, .max_iterations = 1'000'000'000, .executor = executor});
    int calls = 0;
    solver.set_monitor([&](const progress&) {
      if (++calls == 3) throw std::runtime_error("seen enough");
    });
    std::vector<double> x(b.size(), 0);
    CHECK_THROWS_AS(solver.solve(b, x), std::runtime_error);
    CHECK(calls == 3);
    CHECK_FALSE(solver.progress().running);

    solver.set_monitor({});
    solver.set_max_iterations(50);
    linear_solver<double> fresh(A, {.rtol = 0, .max_iterations = 50, .executor = executor});
    std::vector<double> y(b.size(), 0);
    std::fill(x.begin(), x.end(), 0.0);
    CHECK(solver.solve(b, x).reason() == reason::iteration_limit);
    fresh.solve(b, y);
    CHECK((x == y));
  }
}

TEST_CASE("an enqueued solve on the host has a monitor, too", "[monitor]") {
  const posed_poisson<double> problem;
  linear_solver<double> solver(problem.A, {.executor = "host"});
  whilst::index_type calls = 0;
  solver.set_monitor([&](const progress&) { ++calls; });
  std::vector<double> x(400, 0);
  const whilst::index_type iterations = solver.enqueue(nullptr, problem.b.data(), x.data()).wait().iterations();
  CHECK(calls == iterations);  // counted by then
  solver.set_monitor([&](const progress&) { throw std::runtime_error("no"); });
  x.assign(400, 0);
  CHECK_THROWS_AS(solver.enqueue(nullptr, problem.b.data(), x.data()), std::runtime_error);
}

TEST_CASE("a monitor that runs may set another one", "[monitor][sanitizer]") {
  const posed_poisson<double> problem;
  for (const std::string& executor : executors()) {
    if (executor != "host" && executor != "stream") continue;  // the others tell of iterations by the clock
    INFO(executor);
    linear_solver<double> solver(problem.A, {.rtol = 0, .max_iterations = 20, .executor = executor});
    std::vector<whilst::index_type> first, second;
    const std::vector<whilst::index_type> held(1000, 7);  // freed with the monitor: the first one reads it afterwards
    solver.set_monitor([&, held](const progress& now) {
      solver.set_monitor([&](const progress& later) { second.push_back(later.iteration); });
      first = {now.iteration, held.back()};
    });
    std::vector<double> x(400, 0);
    const whilst::index_type iterations = solver.solve(problem.b, x).iterations();
    CHECK((first == std::vector<whilst::index_type>{1, 7}));
    REQUIRE(second.size() == static_cast<std::size_t>(iterations - 1));
    CHECK(second.front() == 2);

    solver.set_monitor([&](const progress&) { solver.set_monitor({}); });
    x.assign(400, 0);
    CHECK(solver.solve(problem.b, x).iterations() == iterations);
    CHECK(second.size() == static_cast<std::size_t>(iterations - 1));
  }
}

TEST_CASE("a cached solver forgets the monitor of who had it before", "[monitor][cache]") {
  const posed_poisson<double> problem;
  whilst::program_cache cache;
  std::vector<double> x(400, 0);
  cache.borrow(problem.A, {.executor = "host"})->set_monitor([](const progress&) { FAIL("no longer"); });
  CHECK(cache.solve(problem.A, problem.b, x, {.executor = "host"}).converged());
  CHECK(cache.counters().hits == 1);
}

namespace {

/// Solves with a monitor, and compares what it saw with the history.
template <class Solver>
void check_descent(Solver& solver, const std::string& executor, std::vector<double> x) {
  std::vector<double> plain = x;
  solver.solve(std::span(plain));
  std::vector<progress> seen;
  solver.set_monitor([&](const progress& now) { seen.push_back(now); });
  const auto told = solver.solve(std::span(x));
  REQUIRE(told.converged());
  CHECK((x == plain));
  check_counts(seen, told.iterations());
  if (!sees_all(executor)) return;
  // Trips whose trial was rejected complete no iteration.
  REQUIRE(static_cast<whilst::index_type>(seen.size()) == told.iterations());
  for (const progress& now : seen)
    CHECK(told.history()[static_cast<std::size_t>(now.iteration)].residual_norm == now.residual_norm);

  solver.set_monitor([&](const progress& now) {
    if (now.iteration == 2) throw std::runtime_error("seen enough");
  });
  std::fill(x.begin(), x.end(), 0.5);
  CHECK_THROWS_AS(solver.solve(std::span(x)), std::runtime_error);
  CHECK_FALSE(solver.progress().running);
}

}  // namespace

TEST_CASE("monitors of minimizers and of equations are called once an accepted step", "[monitor][minimize]") {
  for (const std::string& executor : recorded_executors()) {
    INFO(executor);
    const whilst::place where = whilst::place_of_executor(executor);
    const auto f = make_rosenbrock<double>(where, 10);
    whilst::minimizer<double> minimizer(*f, {.executor = executor});
    check_descent(minimizer, executor, rosenbrock_start<double>(10));
    const auto F = make_system<double>(where, problem::broyden_tridiagonal, 50);
    whilst::nonlinear_solver<double> equations(*F, {.executor = executor});
    check_descent(equations, executor, std::vector<double>(50, -1));
  }
}

}  // namespace whilst_test

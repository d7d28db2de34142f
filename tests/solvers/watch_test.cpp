#include <chrono>
#include <stdexcept>
#include <vector>

#include "tests/catch.hpp"
#include "tests/solvers/systems.hpp"
#include "whilst/watch.hpp"

namespace whilst_test {
namespace {

using std::chrono::milliseconds;
using whilst::progress;

/// A solve that goes on until somebody stops it: information travels one unknown an iteration.
struct endless_solve {
  whilst::csr_matrix<double> A = whilst::make_gallery<double>("poisson1d:100000").matrix;
  std::vector<double> b = std::vector<double>(static_cast<std::size_t>(A.rows()), 1.0), x = b;
  whilst::linear_solver<double> solver;

  explicit endless_solve(const std::string& executor)
      : solver(A, {.rtol = 0, .max_iterations = 1'000'000'000, .executor = executor}) {}
  whilst::reason run() { return solver.solve(b, x).reason(); }
};

}  // namespace

TEST_CASE("a watch sees a solve go on, and may cancel it", "[watch][alone]") {
  for (const std::string& executor : executors()) {
    if (executor == "resident") continue;  // one block is slow at this size
    INFO(executor);
    endless_solve endless(executor);
    std::vector<progress> seen;
    whilst::watch watching(endless.solver, milliseconds(1), [&](const progress& now) {
      seen.push_back(now);
      if (seen.size() >= 3) endless.solver.cancel();
    });
    CHECK(endless.run() == whilst::reason::cancelled);
    watching.stop();
    const std::size_t count = seen.size();
    REQUIRE(count >= 3);
    for (std::size_t k = 1; k < count; ++k) CHECK(seen[k].iteration >= seen[k - 1].iteration);
    for (const progress& now : seen) CHECK(now.running);

    // It has ended: another solve is not looked at.
    endless.solver.set_max_iterations(100);
    CHECK(endless.run() == whilst::reason::iteration_limit);
    CHECK(seen.size() == count);
  }
}

TEST_CASE("what a callback throws ends the watch, and comes out of stop", "[watch][alone]") {
  endless_solve endless("host");
  int calls = 0;
  whilst::watch watching(endless.solver, milliseconds(1), [&](const progress&) {
    ++calls;
    endless.solver.cancel();
    throw std::runtime_error("seen enough");
  });
  CHECK(endless.run() == whilst::reason::cancelled);
  CHECK_THROWS_AS(watching.stop(), std::runtime_error);
  CHECK(calls == 1);
  CHECK_NOTHROW(watching.stop());
}

TEST_CASE("a watch wants a period and a callback, and ends at once", "[watch]") {
  endless_solve endless("host");
  CHECK_THROWS_AS(whilst::watch(endless.solver, milliseconds(0), [](const progress&) {}), whilst::error);
  CHECK_THROWS_AS(whilst::watch(endless.solver, milliseconds(1), nullptr), whilst::error);
  // Nothing runs, so nothing is called; and an hour's period does not hold anybody up.
  const whilst::watch idle(endless.solver, std::chrono::hours(1), [](const progress&) { FAIL("nothing runs"); });
}

}  // namespace whilst_test

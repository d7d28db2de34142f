#include <algorithm>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/catch.hpp"
#include "tests/linear/systems.hpp"
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

/// A solve on the host that goes no further than its preconditioner's call number `allowed`.
struct waiting_solve {
  static constexpr int any_number = 1'000'000'000;
  whilst::csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:20").matrix;
  std::vector<double> b = std::vector<double>(400, 1.0), x = b;
  std::atomic<int> allowed = 3;
  int calls = 0;
  whilst::linear_solver<double> solver{A,
                                       [this](whilst::stream_handle, whilst::index_type n, const double* r, double* z) {
                                         std::copy(r, r + n, z);
                                         for (++calls; calls > allowed;) std::this_thread::yield();
                                       },
                                       {.rtol = 1e-12, .executor = "host"}};
  whilst::reason run() { return solver.solve(b, x).reason(); }
  void cancel() {
    solver.cancel();
    allowed = any_number;
  }
};

void check_course(const std::vector<progress>& seen) {
  for (std::size_t k = 1; k < seen.size(); ++k) CHECK(seen[k].iteration >= seen[k - 1].iteration);
  for (const progress& now : seen) CHECK(now.running);
}

}  // namespace

TEST_CASE("a watch sees a solve go on, and may cancel it", "[watch]") {
  waiting_solve solve;
  std::vector<progress> seen;
  whilst::watch watching(solve.solver, milliseconds(1), [&](const progress& now) {
    seen.push_back(now);
    // Iteration k is in call k + 1 or k + 2.
    if (solve.allowed != waiting_solve::any_number) solve.allowed = static_cast<int>(now.iteration) + 3;
    if (now.iteration >= 5) solve.cancel();
  });
  CHECK(solve.run() == whilst::reason::cancelled);
  watching.stop();
  const std::size_t count = seen.size();
  REQUIRE(count >= 3);
  CHECK(seen.back().iteration >= 5);
  check_course(seen);

  // It has ended: another solve is not looked at.
  CHECK(solve.run() == whilst::reason::converged_rtol);
  CHECK(seen.size() == count);
}

TEST_CASE("what a callback throws ends the watch, and comes out of stop", "[watch]") {
  waiting_solve solve;
  int calls = 0;
  whilst::watch watching(solve.solver, milliseconds(1), [&](const progress&) {
    ++calls;
    solve.cancel();
    throw std::runtime_error("seen enough");
  });
  CHECK(solve.run() == whilst::reason::cancelled);
  CHECK_THROWS_AS(watching.stop(), std::runtime_error);
  CHECK(calls == 1);
  CHECK_NOTHROW(watching.stop());
}

TEST_CASE("a watch refuses to be stopped by its own callback", "[watch]") {
  waiting_solve solve;
  whilst::watch* itself = nullptr;
  whilst::watch watching(solve.solver, milliseconds(1), [&](const progress&) {
    solve.cancel();
    itself->stop();
  });
  itself = &watching;
  CHECK(solve.run() == whilst::reason::cancelled);
  CHECK_THROWS_WITH(watching.stop(), contains("stopping a watch: its own callback asks for it"));
}

// Alone, as what runs on a GPU cannot wait for the watch: it must not have ended before that has looked.
TEST_CASE("a watch sees a solve on a GPU go on, and may cancel it", "[watch][gpu][alone]") {
  for (const std::string& executor : executors()) {
    if (executor == "host" || executor == "resident") continue;  // one block is slow at this size
    INFO(executor);
    endless_solve endless(executor);
    std::vector<progress> seen;
    whilst::watch watching(endless.solver, milliseconds(1), [&](const progress& now) {
      seen.push_back(now);
      if (seen.size() >= 3) endless.solver.cancel();
    });
    CHECK(endless.run() == whilst::reason::cancelled);
    watching.stop();
    REQUIRE(seen.size() >= 3);
    check_course(seen);
  }
}

TEST_CASE("a watch wants a period and a callback, and ends at once", "[watch]") {
  endless_solve endless("host");
  CHECK_THROWS_AS(whilst::watch(endless.solver, milliseconds(0), [](const progress&) {}), whilst::error);
  CHECK_THROWS_AS(whilst::watch(endless.solver, milliseconds(1), nullptr), whilst::error);
  // Nothing runs, so nothing is called; and an hour's period does not hold anybody up.
  const whilst::watch idle(endless.solver, std::chrono::hours(1), [](const progress&) { FAIL("nothing runs"); });
}

}  // namespace whilst_test

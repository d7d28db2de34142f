// Many solves, and several threads, through the C interface.

#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <thread>

#include "tests/c/c_handles.hpp"

namespace whilst_test {
namespace {

/// Bytes that the process has allocated and not given back.
[[maybe_unused]] std::int64_t allocated_bytes() {
  const auto all = ::mallinfo2();
  return static_cast<std::int64_t>(all.uordblks + all.hblkhd);
}

/// Makes and destroys one of each kind of handle, a failure included.
void make_and_solve(const c_line<double>& line) {
  const c_matrix matrix = line.copied();
  const c_solver solver = c_linear(matrix, "executor=host");
  std::vector<double> b(static_cast<std::size_t>(line.n), 1.0), x(b.size());
  c_report report, waited;
  c_ticket ticket;
  require_ok(whilst_solve(solver, b.data(), line.n, x.data(), line.n, &report));
  require_ok(whilst_enqueue(solver, nullptr, b.data(), x.data(), &ticket));
  require_ok(whilst_ticket_wait(ticket, &waited));
  check_refused(whilst_solve(solver, b.data(), 1, x.data(), line.n, nullptr), "b has 1 entries");
}

}  // namespace

TEST_CASE("C: 10 000 solves leave no memory behind", "[c]") {
  const c_line<double> line(20);
  const c_solver kept = c_linear(line.copied(), "executor=host");
  std::vector<double> b(20, 1.0), x(20);
  const auto solves = [&](int times) {
    for (int k = 0; k < times; ++k) {
      c_report report;
      require_ok(whilst_solve(kept, b.data(), 20, x.data(), 20, &report));
      if (k % 10 == 0) make_and_solve(line);
    }
  };
  solves(1000);  // what grows once has grown
#ifndef WHILST_SANITIZE
  const std::int64_t before = allocated_bytes();
  solves(10'000);
  const std::int64_t more = allocated_bytes() - before;
  INFO(more << " bytes more");
  CHECK(more < 10'000);  // less than a byte for each solve and handle
#endif
}

TEST_CASE("C: each thread has a last error of its own", "[c]") {
  check_refused(whilst_solver_cancel(nullptr), "solver is NULL");
  std::string at_first = "?", then;
  std::thread other([&] {
    at_first = whilst_last_error();
    whilst_matrix_destroy(nullptr);
    then = whilst_last_error();
  });
  other.join();
  CHECK(at_first.empty());
  CHECK_THAT(then, contains("matrix is NULL"));
  CHECK_THAT(std::string(whilst_last_error()), contains("solver is NULL"));
}

TEST_CASE("C: threads have solvers of their own, and errors of their own", "[c]") {
  const c_matrix matrix = c_line<double>(40).copied();
  std::atomic<int> wrong = 0;
  const auto work = [&](int thread) {
    for (int k = 0; k < 50; ++k) {
      whilst_solver* solver = nullptr;
      whilst_report* report = nullptr;
      std::vector<double> b(40, 1.0), x(40);
      if (whilst_linear_create(matrix, "executor=host,threads=1", &solver) != WHILST_OK) ++wrong;
      if (whilst_solve(solver, b.data(), 40, x.data(), 40, &report) != WHILST_OK) ++wrong;
      if (std::abs(x[0] - 20) > 1e-6) ++wrong;
      if (whilst_solve(solver, b.data(), thread, x.data(), 40, nullptr) != WHILST_ERROR) ++wrong;
      const std::string told = whilst_last_error();
      if (told.find("b has " + std::to_string(thread) + " entries") == std::string::npos) ++wrong;
      whilst_report_destroy(&report);
      whilst_solver_destroy(&solver);
    }
  };
  std::thread first(work, 1), second(work, 2);
  first.join();
  second.join();
  CHECK(wrong == 0);
}

TEST_CASE("C: threads may share a solver, which one of them destroys", "[c]") {
  for (int round = 0; round < 20; ++round) {
    const c_matrix matrix = c_line<double>(40).copied();
    whilst_solver* solver = nullptr;
    require_ok(whilst_linear_create(matrix, "executor=host,threads=1", &solver));
    std::atomic<int> solved = 0, wrong = 0;
    const auto work = [&, shared = solver] {
      for (;;) {
        std::vector<double> b(40, 1.0), x(40);
        if (whilst_solve(shared, b.data(), 40, x.data(), 40, nullptr) != WHILST_OK) {
          if (std::string(whilst_last_error()).find("was destroyed") == std::string::npos) ++wrong;
          return;
        }
        if (std::abs(x[0] - 20) > 1e-6) ++wrong;
        ++solved;
      }
    };
    std::thread first(work), second(work);
    while (solved < 5) std::this_thread::yield();
    require_ok(whilst_solver_destroy(&solver));
    first.join();
    second.join();
    CHECK(wrong == 0);
  }
}

TEST_CASE("C: a child process solves on the host with what its parent made", "[c]") {
  c_matrix matrix;
  require_ok(whilst_matrix_gallery(WHILST_DOUBLE, "poisson2d:150", &matrix));  // more than one thread has a share of
  const c_solver solver = c_linear(matrix, "executor=host");
  constexpr int n = 150 * 150;
  std::vector<double> b(n, 1.0), x(n), again(n);
  require_ok(whilst_solve(solver, b.data(), n, x.data(), n, nullptr));
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::alarm(60);  // no test runs on in a child that hangs
    const whilst_status status = whilst_solve(solver, b.data(), n, again.data(), n, nullptr);
    ::_exit(status == WHILST_OK && again == x ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("C: another thread cancels", "[c]") {
  constexpr int n = 2000;
  const c_solver solver =
      c_linear(c_line<double>(n).copied(), "executor=host,threads=1,rtol=0,max_iterations=1000000000");
  std::vector<double> b(n, 1.0), x(n);
  for (std::size_t i = 0; i < n; ++i) b[i] = static_cast<double>(i * i % 101);
  std::atomic<bool> ended = false;
  std::thread other([&] {
    while (!ended) whilst_solver_cancel(solver);
  });
  c_report report;
  const whilst_status status = whilst_solve(solver, b.data(), n, x.data(), n, &report);
  ended = true;
  other.join();
  require_ok(status);
  CHECK(std::string(whilst_report_reason_name(report)) == "cancelled");
}

}  // namespace whilst_test

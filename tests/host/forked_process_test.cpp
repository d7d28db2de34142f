// A child process of one that solved: on the host it goes on, on a GPU it is told that it cannot.

#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "whilst/batch_linear_solver.hpp"
#include "whilst/columns_linear_solver.hpp"
#include "whilst/engine/memory/cuda.hpp"
#include "whilst/engine/memory/memory.hpp"
#include "whilst/gallery.hpp"
#include "whilst/linear_solver.hpp"
#include "whilst/program_cache.hpp"

namespace whilst_test {
namespace {

/// Whether `work` returns true in a child process.
template <class Work>
bool holds_in_child(const Work& work) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::alarm(60);  // no test runs on in a child that hangs
    ::_exit(work() ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return status == 0;
}

template <class Call>
bool tells_of_the_fork(const Call& call) {
  try {
    call();
  } catch (const whilst::error& problem) {
    return std::string(problem.what()).find("CUDA does not survive the fork") != std::string::npos;
  }
  return false;
}

const whilst::linear_solver_options on_host{.rtol = 1e-10, .executor = "host"};

}  // namespace

TEST_CASE("a child process solves on the host", "[host][fork]") {
  const auto A = whilst::make_gallery<double>("poisson2d:20").matrix;
  const std::vector<double> b(400, 1.0);
  std::vector<double> expected(400), x(400);
  whilst::linear_solver<double> solver(A, on_host);
  solver.solve(b, expected);
  CHECK(whilst::solve<double>(A, b, x).converged());  // with a GPU, where there is one
  CHECK(holds_in_child([&] {
    std::vector<double> again(400);
    solver.solve(b, again);
    std::vector<double> by_default(400);
    return again == expected && whilst::solve<double>(A, b, by_default, {.rtol = 1e-10}).converged();
  }));
}

TEST_CASE("a child process is told that CUDA does not survive a fork", "[host][fork]") {
  if (whilst::cuda::device_count() == 0) return;
  const auto A = whilst::make_gallery<double>("poisson2d:20").matrix;
  const std::vector<double> b(400, 1.0);
  std::vector<double> x(400);
  whilst::linear_solver<double> solver(A, {.executor = "stream"});
  CHECK(solver.solve(b, x).converged());
  CHECK(holds_in_child([&] {
    return tells_of_the_fork([&] { solver.solve(b, x); }) &&
           tells_of_the_fork([&] { whilst::linear_solver<double>(A, {.executor = "stream"}); }) &&
           tells_of_the_fork([&] {
             solver.update_values(A);
             solver.solve(b, x);
           }) &&
           whilst::linear_solver<double>(A).solve(b, x).executor() == "host";
  }));
  CHECK(solver.solve(b, x).converged());  // and the parent goes on
}

TEST_CASE("tickets in a child process tell that CUDA does not survive a fork", "[host][fork]") {
  if (whilst::cuda::device_count() == 0) return;
  const auto A = whilst::make_gallery<double>("poisson2d:20").matrix;
  const whilst::buffer<double> b(whilst::place::gpu(0), 2 * 400), x(whilst::place::gpu(0), 2 * 400);
  for (const char* executor : {"stream", "graph"}) {
    INFO(executor);
    whilst::linear_solver<double> solver(A, {.executor = executor});
    whilst::columns_linear_solver<double> of_columns(A, 2, {.executor = executor});
    whilst::batch_linear_solver<double> of_batch(A, 2, {});
    const whilst::buffer<double> values(whilst::place::gpu(0), 2 * A.nonzeros());
    const whilst::ticket one = solver.enqueue(nullptr, b.data(), x.data());
    const whilst::columns_ticket columns = of_columns.enqueue(nullptr, b.data(), x.data());
    const whilst::batch_ticket batch = of_batch.enqueue(nullptr, values.data(), b.data(), x.data());
    one.wait(), columns.wait(), batch.wait();
    CHECK(holds_in_child([&] {
      one.cancel(), columns.cancel(), batch.cancel();  // of what has ended: harmless
      return tells_of_the_fork([&] { one.progress(); }) && tells_of_the_fork([&] { one.wait(); }) && one.done() &&
             tells_of_the_fork([&] { columns.wait(); }) && columns.done() && tells_of_the_fork([&] { batch.wait(); }) &&
             batch.done() && tells_of_the_fork([&] { solver.progress(); }) &&
             tells_of_the_fork([&] { solver.cancel(); }) && tells_of_the_fork([&] { of_columns.cancel(); }) &&
             tells_of_the_fork([&] { of_batch.cancel(); });
    }));
    CHECK_FALSE(one.progress().running);  // and the parent goes on
  }
}

}  // namespace whilst_test

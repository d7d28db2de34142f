// A CUDA call fails while solvers are recorded for a cache, found there, or given other values: nothing stays lent,
// what is kept solves as ever, and a shortage of memory makes room.

#include <vector>

#include "tests/engine/faults/faults.hpp"
#include "tests/linear/systems.hpp"
#include "whilst/program_cache.hpp"

namespace whilst_test {

#if WHILST_WITH_CUDA

using whilst::linear_solver_options;
using whilst::program_cache;

namespace {

struct problem {
  whilst::csr_matrix<double> A;
  std::vector<double> b = random_vector<double>(A.rows(), 1);
};
problem poisson(int cells) { return {whilst::make_gallery<double>("poisson2d:" + std::to_string(cells)).matrix}; }

/// With the iterations: a start that somebody else had overwritten would show there.
struct answer {
  std::vector<double> x;
  index_type iterations;
  bool operator==(const answer&) const = default;
};
answer solve(program_cache& cache, const problem& of, const linear_solver_options& options) {
  std::vector<double> x(of.b.size(), 0);
  const whilst::report told = cache.solve(of.A, of.b, x, options);
  return {std::move(x), told.iterations()};
}
answer solve_without_cache(const problem& of, const linear_solver_options& options) {
  whilst::linear_solver<double> solver(of.A, options);
  std::vector<double> x(of.b.size(), 0);
  const whilst::report told = solver.solve(of.b, x);
  return {std::move(x), told.iterations()};
}

}  // namespace

TEST_CASE("whichever CUDA call fails while a solver is recorded for a cache, none stays there, and nothing leaks",
          "[cache][gpu][alone]") {
  if (whilst::cuda::device_count() == 0) return;
  // Large, so that one solver is seen in the free memory; short, as there are many calls.
  const problem large = poisson(300);
  const linear_solver_options options{.max_iterations = 5, .executor = "graph"};
  const answer expected = solve_without_cache(large, options);
  program_cache cache;
  solve(cache, large, options);
  const auto bytes = static_cast<double>(cache.counters().bytes);
  cache.reset();
  check_no_leak(bytes, [&] {
    const index_type calls = fail_each_call([&] { solve(cache, large, options); },
                                            [&] {
                                              CHECK(cache.counters().on_lease == 0);
                                              CHECK(cache.counters().programs <= 1);
                                              CHECK((solve(cache, large, options) == expected));
                                              CHECK(cache.counters().programs == 1);
                                              cache.reset();
                                              CHECK(cache.counters().programs == 0);
                                              CHECK(cache.counters().bytes == 0);
                                            });
    CHECK(calls > 100);
  });
}

TEST_CASE("whichever CUDA call fails in a solver out of a cache, it goes back there, and solves as ever",
          "[cache][gpu]") {
  if (whilst::cuda::device_count() == 0) return;
  const problem one = poisson(20);
  std::vector<double> doubled(one.A.values().begin(), one.A.values().end());
  for (double& value : doubled) value *= 2;
  const auto offsets = one.A.row_offsets_32();
  const auto columns = one.A.column_indices();
  const problem other{{one.A.rows(), one.A.columns(), std::vector<std::int32_t>(offsets.begin(), offsets.end()),
                       std::vector<std::int32_t>(columns.begin(), columns.end()), doubled}};
  for (const char* executor : {"graph", "stream", "resident"}) {
    INFO(executor);
    const linear_solver_options options{.executor = executor};
    const answer of_one = solve_without_cache(one, options), of_other = solve_without_cache(other, options);
    program_cache cache;
    CHECK((solve(cache, one, options) == of_one));
    const index_type calls = fail_each_call([&] { solve(cache, other, options); },
                                            [&] {
                                              CHECK(cache.counters().on_lease == 0);
                                              // First with the values that were there before: half of the others may
                                              // be.
                                              CHECK((solve(cache, one, options) == of_one));
                                              CHECK((solve(cache, other, options) == of_other));
                                              CHECK((solve(cache, one, options) == of_one));
                                              CHECK(cache.counters().records == 1);
                                            });
    CHECK(calls > 20);
  }
}

TEST_CASE("where memory runs out while a solver is recorded, what is idle goes, and the solve goes on",
          "[cache][gpu]") {
  if (whilst::cuda::device_count() == 0) return;
  const problem idle = poisson(10), wanted = poisson(20);
  const linear_solver_options options{.executor = "graph"};
  const answer of_idle = solve_without_cache(idle, options), of_wanted = solve_without_cache(wanted, options);
  program_cache cache;
  CHECK((solve(cache, idle, options) == of_idle));
  index_type solved = 0;
  const index_type calls = fail_each_call(
      [&] {
        solve(cache, wanted, options);
        ++solved;
      },
      [&] {
        CHECK(cache.counters().on_lease == 0);
        CHECK((solve(cache, wanted, options) == of_wanted));
        CHECK((solve(cache, idle, options) == of_idle));
        cache.reset();
        CHECK((solve(cache, idle, options) == of_idle));
      },
      {.status = cudaErrorMemoryAllocation, .has_other_way = true});
  // Recording makes most of the calls, and only what comes after it has no other way.
  CHECK(solved > calls / 2);
  CHECK(cache.counters().evictions > calls / 2);
}

#endif

}  // namespace whilst_test

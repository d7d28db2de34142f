// A CUDA call fails while a preconditioner is made from a matrix, or made anew for other values: the next solver, and
// the next solve, are as ever, and nothing leaks.

#include <string>
#include <vector>

#include "tests/engine/faults/faults.hpp"
#include "tests/linear/distributed_grids.hpp"
#include "tests/linear/systems.hpp"

namespace whilst_test {

#if WHILST_WITH_CUDA

using whilst::linear_solver;
using whilst::linear_solver_options;

namespace {

struct answer {
  std::vector<double> x;
  index_type iterations;
  bool operator==(const answer&) const = default;
};
answer solved(linear_solver<double>& solver, const std::vector<double>& b) {
  std::vector<double> x(b.size(), 0);
  const whilst::report told = solver.solve(b, x);
  return {std::move(x), told.iterations()};
}

struct setting {
  const char *method, *preconditioner;
  index_type least_calls;  ///< in making a solver
};
/// Of amg several levels.
const std::vector<setting> settings{
    {"cg", "amg,coarsest_rows=50", 300},
    {"bicgstab", "amg,coarsest_rows=50", 300},
    {"cg", "amg,coarsest_rows=50,coarsening=classical", 300},
    {"cg", "amg,coarsest_rows=50,unknowns_a_node=2", 300},
    {"cg", "ic", 50},
    {"bicgstab", "ilu", 50},
    {"cg", "fsai,power=2", 30},
    {"bicgstab", "spai", 30},
    {"cg", "ssor", 30},
};

answer solved_by_new_solver(const whilst::csr_matrix<double>& A, const linear_solver_options& options) {
  linear_solver<double> solver(A, options);
  return solved(solver, random_vector<double>(A.rows(), 1));
}
linear_solver_options options_of(const setting& one) {
  return {.method = one.method, .preconditioner = one.preconditioner, .max_iterations = 5, .executor = "graph"};
}
/// Not for want of memory, unless told so: for that the library has other ways.
constexpr fault_settings invalid{.status = cudaErrorInvalidValue};
constexpr fault_settings no_memory{.status = cudaErrorMemoryAllocation, .has_other_way = true};

void fail_each_call_of(const setting& one, const whilst::csr_matrix<double>& A, const fault_settings& fault = invalid) {
  INFO(one.method << ", " << one.preconditioner);
  const linear_solver_options options = options_of(one);
  const answer expected = solved_by_new_solver(A, options);
  const index_type calls = fail_each_call([&] { linear_solver<double>(A, options); },
                                          [&] { CHECK((solved_by_new_solver(A, options) == expected)); }, fault);
  CHECK(calls > one.least_calls);
}

}  // namespace

TEST_CASE("whichever CUDA call fails while a preconditioner is made, the next one is as ever",
          "[amg][ilu][fsai][gpu]") {
  if (whilst::cuda::device_count() == 0) return;
  const auto A = whilst::make_gallery<double>("poisson2d:20").matrix;
  for (const setting& one : settings) fail_each_call_of(one, A);
  fail_each_call_of(settings.front(), A, no_memory);  // pieces of it take less at a time
  fail_each_call_of({"cg", "multigrid,coarsest_rows=50", 30}, A);
  fail_each_call_of(settings.front(), cube(8, {1, 1, 1}, 6));  // coarsening is chosen, and classical
}

TEST_CASE("whichever CUDA call fails while levels are made, nothing leaks", "[amg][gpu][alone]") {
  if (whilst::cuda::device_count() == 0) return;
  const auto A = whilst::make_gallery<double>("poisson2d:110").matrix;  // large enough to be seen
  // Two levels, and steps that are not captured: some hundred calls.
  linear_solver_options options = options_of({"cg", "amg,coarsest_rows=1024", 0});
  options.executor = "stream";
  const auto make = [&] { linear_solver<double>(A, options); };
  const auto bytes = static_cast<double>(linear_solver<double>(A, options).bytes());
  check_no_leak(bytes, [&] {
    CHECK(fail_each_call(
              make, [] {}, no_memory) > 100);
  });
}

TEST_CASE("whichever CUDA call fails while a preconditioner is made anew, the next solve has the new values",
          "[amg][ilu][fsai][gpu]") {
  if (whilst::cuda::device_count() == 0) return;
  const auto A = whilst::make_gallery<double>("poisson2d:32").matrix;
  const std::vector<double> b = random_vector<double>(A.rows(), 1);
  std::vector<double> others(A.values().begin(), A.values().end());
  for (std::size_t k = 0; k < others.size(); ++k)
    if (others[k] > 0) others[k] += 0.25 * static_cast<double>(k % 7);  // on the diagonal
  for (const setting& one : settings) {
    INFO(one.method << ", " << one.preconditioner);
    const linear_solver_options options{
        .method = one.method, .preconditioner = one.preconditioner, .executor = "graph"};
    linear_solver<double> solver(A, options);
    const answer with_first = solved(solver, b);
    solver.update_values(others);
    const answer with_others = solved(solver, b);
    CHECK_FALSE(with_others == with_first);
    const auto change_and_solve = [&] {
      solver.update_values(others);
      solved(solver, b);
    };
    solver.update_values(A);
    solved(solver, b);
    const index_type calls = fail_each_call(change_and_solve, [&] {
      solver.update_values(others);
      CHECK((solved(solver, b) == with_others));
      solver.update_values(A);
      CHECK((solved(solver, b) == with_first));
    });
    CHECK(calls > 10);
  }
}

#endif

}  // namespace whilst_test

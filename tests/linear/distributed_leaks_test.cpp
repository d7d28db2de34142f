// Many solves by the ranks of a group, and many solvers, leave no memory behind, of the host nor of a GPU.

#include <string>
#include <vector>

#include "tests/allocated_memory.hpp"
#include "tests/catch.hpp"
#include "tests/linear/distributed_solves.hpp"
#include "whilst/gallery.hpp"

namespace whilst_test {

TEST_CASE("thousands of solves on several ranks leave no memory behind", "[group][linear][alone]") {
  one_arena();
  constexpr int size = 2;
  const auto A = whilst::make_gallery<double>("poisson1d:20").matrix;
  const row_split split = equal_split(20, size);
  for (const std::string& executor : group_executors()) {
    INFO(executor);
    std::int64_t on_host = 0, on_gpus = 0;
    std::string unlike;
    const auto thrown = on_ranks(size, [&](const whilst::group& ranks) {
      const auto options = with_executor({.preconditioner = "jacobi"}, executor, ranks.rank());
      const auto part = distributed<double>(ranks, A, split);
      whilst::distributed_linear_solver<double> kept(part, options);
      const std::vector<double> b(10, 1.0);
      std::vector<double> x(10);
      const auto solve = [&](whilst::distributed_linear_solver<double>& solver) {
        std::fill(x.begin(), x.end(), 0.0);
        if (const whilst::report told = solver.solve(b, x); !told.converged()) unlike = told.message();
      };
      const auto solves = [&](int times) {
        for (int k = 0; k < times; ++k) {
          solve(kept);
          if (k % 50 != 0) continue;
          {
            whilst::distributed_linear_solver<double> another(part, options);
            solve(another);
            ranks.barrier("ending a solver");
          }
          ranks.barrier("solvers have ended");  // ending one waits for other ranks' solves in this process
        }
      };
      const auto measure = [&](std::int64_t sign) {
        ranks.barrier("before memory is measured");
        if (ranks.rank() == 0) {
          on_gpus += sign * free_on_gpus();  // first, as it may begin to use a GPU
          on_host += sign * allocated_on_host();
        }
        ranks.barrier("after memory is measured");
      };
      solves(500);  // what grows once has grown
      measure(-1);
      solves(executor == "host" ? 2000 : 10'000);
      measure(1);
    });
    CHECK(thrown == nothing(size));
    CHECK(unlike == "");
#ifndef WHILST_SANITIZE
    CHECK(-on_gpus <= size * (4 << 20));  // the driver hands memory out in pieces of 2 MB
    // A driver keeps memory of its own; of that a lost report in each solve, with its history, would be some 10 MB.
    CHECK(on_host < (executor == "host" ? 10'000 : 4 << 20));
#endif
  }
}

}  // namespace whilst_test

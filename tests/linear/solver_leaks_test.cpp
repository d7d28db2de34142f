// Many solves by one solver, and many solvers, leave no memory behind, of the host nor of a GPU.

#include <cstdint>
#include <string>
#include <vector>

#include "tests/allocated_memory.hpp"
#include "tests/catch.hpp"
#include "tests/linear/systems.hpp"
#include "whilst/engine/memory/memory.hpp"
#include "whilst/gallery.hpp"
#include "whilst/linear_solver.hpp"
#include "whilst/program_cache.hpp"

namespace whilst_test {
TEST_CASE("10 000 solves leave no memory behind", "[linear][alone]") {
  const auto A = whilst::make_gallery<double>("poisson1d:20").matrix;
  const std::vector<double> b(20, 1.0);
  for (const std::string& executor : executors()) {
    INFO(executor);
    const whilst::linear_solver_options options{.preconditioner = "jacobi", .executor = executor};
    whilst::linear_solver<double> kept(A, options);
    const whilst::place where = executor == "host" ? whilst::place::host() : whilst::place::gpu(0);
    const whilst::buffer<double> b_there(where, 20, b.data()), x_there(where, 20);
    const auto solves = [&](int times) {
      for (int k = 0; k < times; ++k) {
        std::vector<double> x(20);
        REQUIRE(kept.solve(b, x).converged());
        if (k % 10 == 3) REQUIRE(kept.solve(nullptr, b_there.data(), x_there.data()).converged());
        if (k % 10 == 6) REQUIRE(kept.enqueue(nullptr, b_there.data(), x_there.data()).wait().converged());
        if (k % 10 == 0) REQUIRE(whilst::solve<double>(A, b, x, options).converged());
        if (k % 50 == 0) REQUIRE(whilst::linear_solver<double>(A, options).solve(b, x).converged());
        if (k % 50 == 25) REQUIRE_THROWS_AS(kept.solve(std::vector<double>(19), x), whilst::error);
      }
    };
    solves(1000);  // what grows once has grown
#ifndef WHILST_SANITIZE
    const std::int64_t on_host = allocated_on_host(), on_gpu = free_on_gpus();
    solves(10'000);
    CHECK(on_gpu - free_on_gpus() <= 4 << 20);  // the driver hands memory out in pieces of 2 MB
    // A driver keeps memory of its own; of that a lost report in each solve, with its history, would be some 10 MB.
    CHECK(allocated_on_host() - on_host < (executor == "host" ? 10'000 : 4 << 20));
#endif
  }
}

}  // namespace whilst_test

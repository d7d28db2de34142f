// Solves on several ranks, threads of this process: against the same system on one rank, and against A x.
#include "whilst/linear/distributed/distributed_linear_solver.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tests/catch.hpp"
#include "tests/group/executors.hpp"
#include "tests/linear/distributed_solves.hpp"
#include "whilst/gallery.hpp"
#include "whilst/linear_solver.hpp"

namespace {

using whilst::csr_matrix;
using whilst::index_type;
using whilst::linear_solver_options;
using whilst::reason;
using whilst_test::equal_split;
using whilst_test::nothing;
using whilst_test::relative_residual;
using whilst_test::same_bits;
using whilst_test::solved_by_ranks;
using splits = whilst_test::row_split;

}  // namespace

TEMPLATE_TEST_CASE("several ranks solve what one does", "[group][linear]", float, double) {
  const std::string executor = GENERATE(from_range(whilst_test::group_executors()));
  const csr_matrix<TestType> A = whilst::make_gallery<TestType>("poisson3d:9").matrix;
  const std::vector<TestType> b = whilst_test::some_b<TestType>(A.rows());
  for (const char* method : {"cg", "flexible-cg", "pipelined-cg", "minres", "bicgstab", "gmres"}) {
    for (const char* preconditioner : {"none", "jacobi"}) {
      linear_solver_options options{.method = method, .preconditioner = preconditioner};
      options.executor = "host";  // the serial one
      options.rtol = sizeof(TestType) == 4 ? 1e-4 : 1e-10;
      std::vector<TestType> serial(b.size());
      const whilst::report alone = whilst::linear_solver<TestType>(A, options).solve(b, serial);
      options.executor = executor;
      for (const int size : {1, 2, 3, 5, 8}) {
        if (executor != "host" && size > whilst_test::ranks_of_gpu) continue;
        CAPTURE(executor, method, preconditioner, size);
        const auto found = solved_by_ranks(size, A, equal_split(A.rows(), size), b, options);
        REQUIRE(found.thrown == nothing(size));
        // Recomputed from the data; rounding of the product is far below.
        CHECK(relative_residual(A, b, found.x) <= 1.01 * options.rtol);
        for (const whilst::report& one : found.reports) {
          CHECK(one.reason() == reason::converged_rtol);
          CHECK(one.iterations() == found.reports.front().iterations());
          CHECK(one.residual_norm() == found.reports.front().residual_norm());
          // Sums are rounded in another order, which may shift the end by an iteration; bicgstab by more.
          const index_type apart = std::abs(one.iterations() - alone.iterations());
          CHECK(apart <= (std::string(method) == "bicgstab" ? alone.iterations() / 4 + 2 : 1));
        }
      }
    }
  }
}

TEST_CASE("a group of one rank solves as a linear_solver does", "[group][linear]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:23").matrix;
  const std::vector<double> b(static_cast<std::size_t>(A.rows()), 1.0);
  linear_solver_options options{.method = "cg"};
  options.executor = "host";
  std::vector<double> serial(b.size());
  const whilst::report alone = whilst::linear_solver<double>(A, options).solve(b, serial);
  const auto found = solved_by_ranks(1, A, {0, A.rows()}, b, options);
  REQUIRE(found.thrown == nothing(1));
  CHECK(relative_residual(A, b, found.x) <= 1.01 * options.rtol);
  CHECK(found.reports.front().iterations() == alone.iterations());
  // The probe of how large A is has a product of its own, so that scales may differ by a power of two; sums do not.
  double apart = 0;
  for (std::size_t i = 0; i < serial.size(); ++i) apart = std::max(apart, std::abs(found.x[i] - serial[i]) / serial[i]);
  CHECK(apart <= 1e-12);
}

// A GPU takes another kernel for many rows a rank, in which threads have several.
TEST_CASE("ranks with more rows than threads that wait for sums", "[group][linear]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:500").matrix;
  const std::vector<double> b = whilst_test::some_b<double>(A.rows());
  for (const std::string& executor : whilst_test::group_executors())
    for (const auto& [method, preconditioner] :
         {std::pair{"cg", "none"}, {"cg", "jacobi"}, {"pipelined-cg", "none"}, {"pipelined-cg", "jacobi"}}) {
      if (executor == "host") continue;  // has one loop for any number of rows
      if (std::string(method) == "pipelined-cg" && whilst_test::share_gpus(executor, 2)) continue;
      CAPTURE(executor, method, preconditioner);
      linear_solver_options options{.method = method, .preconditioner = preconditioner, .rtol = 1e-8};
      options.executor = executor;
      for (const splits& split : {splits{0, 98'303, 250'000}, splits{0, 125'000, 250'000}}) {
        const auto found = solved_by_ranks(2, A, split, b, options), again = solved_by_ranks(2, A, split, b, options);
        REQUIRE(found.thrown == nothing(2));
        CHECK(relative_residual(A, b, found.x) <= 1.01 * options.rtol);  // rounding of the product is far below
        for (const whilst::report& one : found.reports) {
          CHECK(one.reason() == reason::converged_rtol);
          CHECK(one.residual_norm() == found.reports.front().residual_norm());
        }
        CHECK(same_bits(found.x, again.x));
      }
    }
}

TEST_CASE("ranks of any number of rows, even none, repeat their bits", "[group][linear]") {
  const std::string executor = GENERATE(from_range(whilst_test::group_executors())),
                    method = GENERATE("cg", "pipelined-cg");
  CAPTURE(executor, method);
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:12").matrix;
  const std::vector<double> b(static_cast<std::size_t>(A.rows()), 1.0);
  linear_solver_options options{.method = method, .preconditioner = "jacobi"};
  options.executor = executor;
  const index_type n = A.rows();
  for (const splits& split : std::vector<splits>{{0, 1, 1, n}, {0, 0, n, n}, {0, 100, 101, n}, {0, n, n, n}}) {
    CAPTURE(split);
    const auto once = solved_by_ranks(3, A, split, b, options),
               again = solved_by_ranks(3, A, split, b, options, {A, A});
    REQUIRE(once.thrown == nothing(3));
    REQUIRE(again.thrown == nothing(3));
    CHECK(relative_residual(A, b, once.x) <= 1.01 * options.rtol);
    CHECK(same_bits(once.x, again.x));
    options.unroll = options.unroll == 0 ? 5 : 0;
    CHECK(same_bits(solved_by_ranks(3, A, split, b, options).x, once.x));
  }
}

TEST_CASE("stream and graph give the same bits on several ranks, however often a body is repeated", "[group][linear]") {
  if (whilst::cuda::device_count() == 0 || whilst_test::under_racecheck()) return;
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson3d:12").matrix;
  const std::vector<double> b = whilst_test::some_b<double>(A.rows());
  for (const char* method : {"cg", "pipelined-cg", "minres"}) {
    std::vector<double> first;
    for (const char* executor : {"stream", "graph"})
      for (const int unroll : {0, 1, 5}) {
        CAPTURE(method, executor, unroll);
        linear_solver_options options{.method = method, .preconditioner = "jacobi"};
        options.executor = executor;
        options.unroll = unroll;
        const auto found = solved_by_ranks(2, A, equal_split(A.rows(), 2), b, options);
        REQUIRE(found.thrown == nothing(2));
        CHECK(relative_residual(A, b, found.x) <= 1.01 * options.rtol);
        if (first.empty()) first = found.x;
        CHECK(same_bits(found.x, first));
      }
  }
}

TEST_CASE("gmres restarts alike on ranks of any number of rows, even none", "[group][linear]") {
  // -u'' + 20 u' on a line, by central differences: far from symmetric.
  constexpr int n = 200;
  std::vector<int> row_offsets{0}, columns;
  std::vector<double> values;
  for (int i = 0; i < n; ++i) {
    for (const int j : {i - 1, i, i + 1}) {
      if (j < 0 || j == n) continue;
      columns.push_back(j);
      values.push_back(i == j ? 2.1 : j < i ? -1.4 : -0.6);
    }
    row_offsets.push_back(static_cast<int>(values.size()));
  }
  const csr_matrix<double> A(n, n, row_offsets, columns, values);
  const std::vector<double> b = whilst_test::some_b<double>(n);
  for (const int restart : {3, 20}) {
    linear_solver_options options{.method = "gmres", .preconditioner = "jacobi"};
    options.executor = "host";
    options.restart = restart;
    std::vector<double> serial(b.size());
    const whilst::report alone = whilst::linear_solver<double>(A, options).solve(b, serial);
    REQUIRE(alone.converged());
    for (const splits& split : std::vector<splits>{{0, 1, 1, n}, {0, 0, n, n}, {0, 100, 101, n}, {0, n, n, n}}) {
      CAPTURE(restart, split);
      const auto found = solved_by_ranks(3, A, split, b, options), again = solved_by_ranks(3, A, split, b, options);
      REQUIRE(found.thrown == nothing(3));
      CHECK(relative_residual(A, b, found.x) <= 1.01 * options.rtol);
      CHECK(same_bits(found.x, again.x));
      for (const whilst::report& one : found.reports) {
        CAPTURE(one.message());
        CHECK(one.iterations() == found.reports.front().iterations());
        CHECK(std::abs(one.iterations() - alone.iterations()) <=
              1 + alone.iterations() / 20);  // sums are rounded apart
      }
    }
  }
}

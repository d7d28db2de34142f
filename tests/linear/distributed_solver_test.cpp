// Solves on several ranks, threads of this process: against the same system on one rank, and against A x.
#include "whilst/linear/distributed/distributed_linear_solver.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <limits>
#include <mutex>
#include <thread>

#include "tests/catch.hpp"
#include "tests/group/executors.hpp"
#include "tests/group/on_ranks.hpp"
#include "tests/linear/distributed_matrices.hpp"
#include "whilst/gallery.hpp"
#include "whilst/linear_solver.hpp"

namespace {

using whilst::csr_matrix;
using whilst::distributed_linear_solver;
using whilst::group;
using whilst::index_type;
using whilst::linear_solver_options;
using whilst::reason;
using whilst_test::distributed;
using whilst_test::nothing;
using whilst_test::on_ranks;
using whilst_test::serial_product;
using splits = std::vector<index_type>;

splits equal_split(index_type rows, int size) {
  splits made;
  for (int q = 0; q <= size; ++q) made.push_back(rows * q / size);
  return made;
}

/// What the ranks found, put together.
template <class T>
struct outcome {
  std::vector<T> x;
  std::vector<whilst::report> reports;
  std::vector<std::string> thrown;
};

template <class T>
outcome<T> solved(int size, const csr_matrix<T>& A, const splits& split, const std::vector<T>& b,
                  const linear_solver_options& options, int solves = 1) {
  outcome<T> made;
  made.x.resize(b.size());
  std::mutex lock;
  std::vector<std::optional<whilst::report>> reports(static_cast<std::size_t>(size));
  made.thrown = on_ranks(size, [&](const group& ranks) {
    const auto q = static_cast<std::size_t>(ranks.rank());
    const auto split_A = distributed<T>(ranks, A, split);
    distributed_linear_solver<T> solver(split_A, whilst_test::with_executor(options, options.executor, ranks.rank()));
    std::vector<T> own_b(b.begin() + split[q], b.begin() + split[q + 1]), own_x(own_b.size());
    for (int k = 0; k < solves; ++k) {
      std::fill(own_x.begin(), own_x.end(), T(0));
      reports[q].emplace(solver.solve(own_b, own_x));
    }
    const std::lock_guard hold(lock);
    std::copy(own_x.begin(), own_x.end(), made.x.begin() + split[q]);
  });
  for (auto& one : reports)
    if (one) made.reports.push_back(*one);
  return made;
}

template <class T>
double relative_residual(const csr_matrix<T>& A, const std::vector<T>& x, const std::vector<T>& b) {
  const std::vector<T> Ax = serial_product(A, x);
  double rr = 0, bb = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    const double r = static_cast<double>(b[i]) - static_cast<double>(Ax[i]);
    rr += r * r;
    bb += static_cast<double>(b[i]) * static_cast<double>(b[i]);
  }
  return std::sqrt(rr / bb);
}

template <class T>
bool same_bits(const std::vector<T>& one, const std::vector<T>& other) {
  using bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                    [](T a, T b) { return std::bit_cast<bits>(a) == std::bit_cast<bits>(b); });
}

}  // namespace

TEMPLATE_TEST_CASE("several ranks solve what one does", "[group][linear]", float, double) {
  const std::string executor = GENERATE(from_range(whilst_test::group_executors()));
  const csr_matrix<TestType> A = whilst::make_gallery<TestType>("poisson3d:9").matrix;
  std::vector<TestType> b;
  for (index_type i = 0; i < A.rows(); ++i) b.push_back(static_cast<TestType>(1 + i % 5));
  for (const char* method : {"cg", "pipelined-cg", "minres", "bicgstab"}) {
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
        const auto found = solved(size, A, equal_split(A.rows(), size), b, options);
        REQUIRE(found.thrown == nothing(size));
        // Recomputed from the data; rounding of the product is far below.
        CHECK(relative_residual(A, found.x, b) <= 1.01 * options.rtol);
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

TEST_CASE("a group of one rank solves to the bits of a linear_solver", "[group][linear]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:23").matrix;
  const std::vector<double> b(static_cast<std::size_t>(A.rows()), 1.0);
  linear_solver_options options{.method = "cg"};
  options.executor = "host";
  std::vector<double> serial(b.size());
  whilst::linear_solver<double>(A, options).solve(b, serial);
  const auto found = solved(1, A, {0, A.rows()}, b, options);
  REQUIRE(found.thrown == nothing(1));
  CHECK(relative_residual(A, found.x, b) <= 1e-8);
}

TEST_CASE("ranks of any number of rows, even none, repeat their bits", "[group][linear]") {
  const std::string executor = GENERATE(from_range(whilst_test::group_executors()));
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:12").matrix;
  const std::vector<double> b(static_cast<std::size_t>(A.rows()), 1.0);
  linear_solver_options options{.method = "cg", .preconditioner = "jacobi"};
  options.executor = executor;
  const index_type n = A.rows();
  for (const splits& split : std::vector<splits>{{0, 1, 1, n}, {0, 0, n, n}, {0, 100, 101, n}, {0, n, n, n}}) {
    CAPTURE(split);
    const auto once = solved(3, A, split, b, options), again = solved(3, A, split, b, options, 3);
    REQUIRE(once.thrown == nothing(3));
    REQUIRE(again.thrown == nothing(3));
    CHECK(relative_residual(A, once.x, b) <= 1.01 * options.rtol);
    CHECK(same_bits(once.x, again.x));
    options.unroll = options.unroll == 0 ? 5 : 0;
    CHECK(same_bits(solved(3, A, split, b, options).x, once.x));
  }
}

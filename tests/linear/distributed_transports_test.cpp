// The same solve by every transport that the machine has. On a machine with several GPUs each rank has one; where there
// are fewer, ranks share them, and NCCL, which refuses that, is left out.
#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tests/catch.hpp"
#include "tests/linear/distributed_grids.hpp"
#include "tests/linear/distributed_solves.hpp"
#include "tests/under_sanitizers.hpp"
#include "whilst/exchange/window.hpp"
#include "whilst/machine.hpp"

namespace {

using whilst::csr_matrix;
using whilst::linear_solver_options;
using whilst_test::contains;
using whilst_test::cube;
using whilst_test::equal_split;
using whilst_test::nothing;
using whilst_test::relative_residual;
using whilst_test::same_bits;
using whilst_test::solved_by_ranks;
using whilst_test::some_b;

bool is_for_host(const std::string& transport) { return transport == "threads" || transport == "shared memory"; }

/// Those by which so many threads can exchange, under that executor.
std::vector<std::string> transports_of(const std::string& executor, int size) {
  ::setenv("NCCL_NVLS_ENABLE", "0", 1);  // whose transport asks for that
  std::vector<std::string> found;
  for (const whilst::executor_availability& one : whilst::describe_machine().transports) {
    if (is_for_host(one.name) != (executor == "host")) continue;
    const bool ranks_share_a_gpu = whilst_test::share_gpus(executor, size);
    // One GPU has both of these, if nobody asks for two.
    const bool is_there = ranks_share_a_gpu ? one.name != "nccl windows" : one.available;
    if (is_there) found.push_back(one.name);
  }
  return found;
}
int ranks_for(const std::string& executor) {
  return executor == "host" ? 3 : std::clamp(whilst::cuda::device_count(), 2, 4);
}

}  // namespace

TEST_CASE("a solve has the same bits by every transport", "[group][linear]") {
  const std::string executor = GENERATE(from_range(whilst_test::group_executors()));
  const int size = ranks_for(executor);
  const csr_matrix<double> A = cube(whilst_test::under_sanitizers ? 12 : 24, {1, 1, 1});
  const csr_matrix<double> later = cube(whilst_test::under_sanitizers ? 12 : 24, {1, 2, 5});
  const std::vector<double> b = some_b<double>(A.rows());
  // amg sets up by windows of its own, and again for new values.
  for (const char* method : {"cg", "pipelined-cg", "gmres", "amg"}) {
    const bool by_amg = std::string(method) == "amg";
    linear_solver_options options{.method = by_amg ? "cg" : method, .preconditioner = by_amg ? "amg" : "jacobi"};
    options.executor = executor;
    options.max_iterations = 1000;
    const auto usual = solved_by_ranks(size, A, equal_split(A.rows(), size), b, options, {later});
    REQUIRE(usual.thrown == nothing(size));
    CHECK(relative_residual(later, b, usual.x) <= 1.01 * options.rtol);
    for (const std::string& transport : transports_of(executor, size)) {
      CAPTURE(executor, method, transport);
      options.transport = transport;
      const auto found = solved_by_ranks(size, A, equal_split(A.rows(), size), b, options, {later});
      REQUIRE(found.thrown == nothing(size));
      CHECK(same_bits(found.x, usual.x));
      CHECK(found.reports.front().iterations() == usual.reports.front().iterations());
    }
  }
}

TEST_CASE("a solver says by which transport it was asked to exchange, and recovers by it", "[group][linear]") {
  const std::string executor = GENERATE(from_range(whilst_test::group_executors()));
  const int size = ranks_for(executor);
  const csr_matrix<double> A = cube(8, {1, 1, 1});
  const std::vector<double> b = some_b<double>(A.rows());
  const whilst_test::row_split split = equal_split(A.rows(), size);
  for (const std::string& transport : transports_of(executor, size)) {
    CAPTURE(executor, transport);
    CHECK(whilst_test::on_ranks(size, [&](const whilst::group& ranks) {
            const auto q = static_cast<std::size_t>(ranks.rank());
            linear_solver_options options = whilst_test::with_executor({}, executor, ranks.rank());
            options.transport = transport;
            whilst::distributed_linear_solver<double> solver(whilst_test::distributed<double>(ranks, A, split), options,
                                                             1.0);
            if (solver.transport() != transport) throw std::runtime_error("it is " + solver.transport());
            if (!solver.transports_passed_over().empty()) throw std::runtime_error(solver.transports_passed_over());
            const std::vector<double> own(b.begin() + split[q], b.begin() + split[q + 1]);
            std::vector<double> x(own.size()), again(own.size());
            if (ranks.rank() > 0 && solver.solve(own, x).reason() != whilst::reason::peer_lost)
              throw std::runtime_error("rank 0 did not come, and was not lost");
            solver.recover();
            std::fill(x.begin(), x.end(), 0.0);
            if (!solver.solve(own, x).converged() || !solver.solve(own, again).converged())
              throw std::runtime_error("a solve does not converge");
            if (!same_bits(x, again)) throw std::runtime_error("solves differ");
          }) == nothing(size));
  }
}

TEST_CASE("transports of GPUs are refused on the host, those of the host on GPUs", "[group][linear]") {
  const std::string executor = GENERATE(from_range(whilst_test::group_executors()));
  const csr_matrix<double> A = cube(4, {1, 1, 1});
  for (const std::string& transport : whilst::transport_names()) {
    if (is_for_host(transport) == (executor == "host")) continue;
    CAPTURE(executor, transport);
    linear_solver_options options;
    options.executor = executor;
    options.transport = transport;
    for (const std::string& said :
         solved_by_ranks(2, A, equal_split(A.rows(), 2), some_b<double>(A.rows()), options).thrown)
      CHECK_THAT(said, contains(transport + " is for ranks on " + (executor == "host" ? "GPUs" : "the host")));
  }
}

#if WHILST_WITH_CUDA

// As on a machine whose GPUs do not reach one another, or in a container that forbids it.
TEST_CASE("GPUs that do not reach one another exchange by memory of the host", "[group][linear]") {
  if (whilst::cuda::device_count() < 2 || whilst_test::under_racecheck()) return;
  const csr_matrix<double> A = cube(12, {1, 1, 1});
  const std::vector<double> b = some_b<double>(A.rows());
  linear_solver_options options;
  options.executor = "graph";
  const auto usual = solved_by_ranks(2, A, equal_split(A.rows(), 2), b, options);
  REQUIRE(usual.thrown == nothing(2));
  whilst::cuda::observer() = [](const whilst::cuda::observed_call& call) {
    return call.expression.find("cudaDeviceCanAccessPeer") != std::string_view::npos ? cudaErrorPeerAccessUnsupported
                                                                                     : cudaSuccess;
  };
  linear_solver_options named = options;
  named.transport = "peer memory";
  const auto refused = solved_by_ranks(2, A, equal_split(A.rows(), 2), b, named);
  std::vector<std::string> said(2);
  const auto thrown = whilst_test::on_ranks(2, [&](const whilst::group& ranks) {
    const whilst::distributed_linear_solver<double> solver(
        whilst_test::distributed<double>(ranks, A, equal_split(A.rows(), 2)),
        whilst_test::with_executor(options, options.executor, ranks.rank()));
    said[static_cast<std::size_t>(ranks.rank())] = solver.transport() + ", not " + solver.transports_passed_over();
  });
  const auto found = solved_by_ranks(2, A, equal_split(A.rows(), 2), b, options);
  whilst::cuda::observer() = nullptr;
  CHECK(thrown == nothing(2));
  for (const std::string& one : said) CHECK(one.starts_with("host memory, not peer memory: "));
  for (const std::string& one : refused.thrown) CHECK_FALSE(one.empty());
  REQUIRE(found.thrown == nothing(2));
  CHECK(same_bits(found.x, usual.x));
}

#endif

// What ranks agree on while they solve: cancel, deadline and limit, and what they do without one that does not come.
// Ranks are threads.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <mutex>
#include <optional>
#include <thread>

#include "tests/catch.hpp"
#include "tests/group/executors.hpp"
#include "tests/group/on_ranks.hpp"
#include "tests/linear/distributed_matrices.hpp"
#include "tests/under_sanitizers.hpp"
#include "whilst/engine/memory/memory.hpp"
#include "whilst/gallery.hpp"
#include "whilst/linear/distributed/distributed_linear_solver.hpp"

namespace {

using whilst::csr_matrix;
using whilst::distributed_linear_solver;
using whilst::group;
using whilst::index_type;
using whilst::linear_solver_options;
using whilst::reason;
using whilst_test::contains;
using whilst_test::distributed;
using whilst_test::nothing;
using whilst_test::on_ranks;
using splits = std::vector<index_type>;

const csr_matrix<double>& matrix() {
  static const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:24").matrix;
  return A;
}
/// One that takes this executor long enough to be asked meanwhile: by cg, too, which ends when its residual is as small
/// as rounding lets it be, after 10 000 iterations or more.
const csr_matrix<double>& large_matrix(const std::string& executor) {
  static const csr_matrix<double> for_gpus = whilst::make_gallery<double>("poisson2d:200").matrix,
                                  for_hosts = whilst::make_gallery<double>("poisson2d:100").matrix;
  return executor == "host" ? for_hosts : for_gpus;
}
splits equal_split(const csr_matrix<double>& A, int size) {
  splits made;
  for (int q = 0; q <= size; ++q) made.push_back(A.rows() * q / size);
  return made;
}
linear_solver_options usual(const std::string& method = "cg") { return {.method = method}; }

/// What each rank's last solve said.
struct reports {
  std::mutex lock;
  std::vector<std::optional<whilst::report>> of_rank;
  explicit reports(int size) : of_rank(static_cast<std::size_t>(size)) {}
  void note(const group& ranks, const whilst::report& one) {
    const std::lock_guard hold(lock);
    of_rank[static_cast<std::size_t>(ranks.rank())].emplace(one);
  }
  /// Checks that all have this reason, and the same iterations.
  void check_all(reason why) const {
    for (const auto& one : of_rank) {
      REQUIRE(one);
      CHECK(one->reason() == why);
      CHECK(one->iterations() == of_rank.front()->iterations());
    }
  }
};

/// A solver of each rank with b = 1 and room for x.
struct rank_of_system {
  distributed_linear_solver<double> solver;
  std::vector<double> b, x;
  rank_of_system(const group& ranks, const linear_solver_options& options, const std::string& executor,
                 double limit_seconds = 10, const csr_matrix<double>& A = matrix())
      : solver(distributed<double>(ranks, A, equal_split(A, ranks.size())),
               whilst_test::with_executor(options, executor, ranks.rank()), limit_seconds) {
    const splits split = equal_split(A, ranks.size());
    const auto q = static_cast<std::size_t>(ranks.rank());
    b.assign(static_cast<std::size_t>(split[q + 1] - split[q]), 1.0);
    x.assign(b.size(), 0.0);
  }
  whilst::report solve() {
    std::fill(x.begin(), x.end(), 0.0);
    return solver.solve(b, x);
  }
};

/// A solve that does not end by itself while large_matrix() is asked.
linear_solver_options endless(const std::string& method) {
  linear_solver_options options = usual(method);
  options.rtol = 0;
  options.atol = std::numeric_limits<double>::min();
  options.max_iterations = std::numeric_limits<index_type>::max() / 4;
  return options;
}

}  // namespace

TEST_CASE("one rank is cancelled, and all stop in the same iteration", "[group][linear]") {
  const std::string executor = GENERATE(from_range(whilst_test::group_executors())),
                    method = GENERATE("minres", "pipelined-cg");
  CAPTURE(executor, method);
  if (method == "pipelined-cg" && whilst_test::share_gpus(executor, 3)) {
    WARN("left out: 3 ranks want a GPU each");
    return;
  }
  for (int who = 0; who < 3; ++who) {
    CAPTURE(who);
    reports found(3);
    CHECK(on_ranks(3, [&](const group& ranks) {
            rank_of_system own(ranks, endless(method), executor, 10, large_matrix(executor));
            std::atomic<index_type> seen{0};
            own.solver.set_monitor([&](const whilst::progress& now) {
              seen = now.iteration;
              if (ranks.rank() == who && now.iteration >= 7) own.solver.cancel();
            });
            found.note(ranks, own.solve());
            // The next solve is a new one.
            own.solver.set_monitor({});
            own.solver.set_tolerances(1e-8, 0);
            if (own.solve().reason() != reason::converged_rtol) throw std::runtime_error("the next did not converge");
          }) == nothing(3));
    found.check_all(reason::cancelled);
    CHECK(found.of_rank.front()->iterations() >= 7);
  }
}

TEST_CASE("the time of one rank is up, and all stop in the same iteration", "[group][linear]") {
  const std::string executor = GENERATE(from_range(whilst_test::group_executors())),
                    method = GENERATE("minres", "pipelined-cg");
  CAPTURE(executor, method);
  if (method == "pipelined-cg" && whilst_test::share_gpus(executor, 4)) {
    WARN("left out: 4 ranks want a GPU each");
    return;
  }
  reports found(4);
  CHECK(on_ranks(4, [&](const group& ranks) {
          rank_of_system own(ranks, endless(method), executor, 10, large_matrix(executor));
          if (ranks.rank() == 2) own.solver.set_deadline(0.02);
          found.note(ranks, own.solve());
        }) == nothing(4));
  found.check_all(reason::deadline);
}

TEST_CASE("ranks reach the limit of iterations together", "[group][linear]") {
  const std::string executor = GENERATE(from_range(whilst_test::group_executors())),
                    method = GENERATE("cg", "pipelined-cg");
  CAPTURE(executor, method);
  for (const index_type limit : {0, 1, 5}) {
    reports found(3);
    linear_solver_options options = usual(method);
    options.max_iterations = limit;
    CHECK(on_ranks(3, [&](const group& ranks) {
            rank_of_system own(ranks, options, executor);
            found.note(ranks, own.solve());
          }) == nothing(3));
    found.check_all(reason::iteration_limit);
    CHECK(found.of_rank.front()->iterations() == limit);
  }
}

TEST_CASE("a number that is none on one rank ends the solve on all", "[group][linear]") {
  const std::string executor = GENERATE(from_range(whilst_test::group_executors())),
                    method = GENERATE("cg", "pipelined-cg");
  CAPTURE(executor, method);
  reports found(3);
  CHECK(on_ranks(3, [&](const group& ranks) {
          rank_of_system own(ranks, usual(method), executor);
          if (ranks.rank() == 1) own.b[3] = std::numeric_limits<double>::quiet_NaN();
          found.note(ranks, own.solve());
        }) == nothing(3));
  found.check_all(reason::nan_or_infinity);
}

TEST_CASE("ranks that come late are waited for", "[group][linear]") {
  const std::string executor = GENERATE(from_range(whilst_test::group_executors())),
                    method = GENERATE("cg", "pipelined-cg");
  CAPTURE(executor, method);
  reports found(3);
  CHECK(on_ranks(3, [&](const group& ranks) {
          rank_of_system own(ranks, usual(method), executor);
          for (int k = 0; k < 3; ++k) {
            if (ranks.rank() == k) std::this_thread::sleep_for(std::chrono::milliseconds(20));
            found.note(ranks, own.solve());
          }
        }) == nothing(3));
  found.check_all(reason::converged_rtol);
}

TEST_CASE("a rank that does not come is lost, and the group recovers", "[group][linear]") {
  const std::string executor = GENERATE(from_range(whilst_test::group_executors())),
                    method = GENERATE("cg", "pipelined-cg");
  CAPTURE(executor, method);
  for (int who = 0; who < 3; ++who) {
    CAPTURE(who);
    std::mutex lock;
    std::vector<std::string> said;
    reports found(3);
    CHECK(on_ranks(3, [&](const group& ranks) {
            // Long enough for a machine that is busy, between the ranks that do come.
            rank_of_system own(ranks, usual(method), executor, 1.0);
            if (ranks.rank() != who) {
              const whilst::report left = own.solve();
              if (left.reason() != reason::peer_lost)
                throw std::runtime_error("the reason is " + std::string(whilst::name(left.reason())));
              if (own.solver.lost_rank() != who)
                throw std::runtime_error("the lost rank is " + std::to_string(own.solver.lost_rank()));
              try {
                own.solve();
              } catch (const whilst::error& problem) {
                const std::lock_guard hold(lock);
                said.push_back(problem.what());
              }
            }
            own.solver.recover();
            found.note(ranks, own.solve());
          }) == nothing(3));
    found.check_all(reason::converged_rtol);
    REQUIRE(said.size() == 2);
    for (const std::string& message : said) {
      CHECK_THAT(message, contains("rank " + std::to_string(who) + " did not come"));
      CHECK_THAT(message, contains("recover()"));
    }
  }
}

TEST_CASE("a thousand solves with random delays have the same bits", "[group][linear]") {
  const std::string executor = GENERATE(from_range(whilst_test::group_executors())),
                    method = GENERATE("cg", "pipelined-cg");
  CAPTURE(executor, method);
  reports found(4);
  std::vector<std::vector<double>> first(4);
  CHECK(on_ranks(4, [&](const group& ranks) {
          rank_of_system own(ranks, usual(method), executor);
          std::uint64_t random = static_cast<std::uint64_t>(ranks.rank()) + 1;
          for (int k = 0; k < (whilst_test::under_sanitizers ? 100 : 1000); ++k) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            std::this_thread::sleep_for(std::chrono::microseconds(random >> 55));
            found.note(ranks, own.solve());
            std::vector<double>& kept = first[static_cast<std::size_t>(ranks.rank())];
            if (kept.empty()) kept = own.x;
            if (kept != own.x) throw std::runtime_error("solve " + std::to_string(k) + " differs");
          }
        }) == nothing(4));
  found.check_all(reason::converged_rtol);
}

#if WHILST_WITH_CUDA

// One rank enqueues a solve, and looks at it until it has made sure that another is still to come.
TEST_CASE("a rank whose solve waits for others makes no call that waits for the GPU", "[group][linear]") {
  if (whilst::cuda::device_count() == 0 || whilst_test::under_racecheck()) return;
  for (const char* method : {"cg", "pipelined-cg"}) {
    CAPTURE(method);
    std::mutex lock;
    std::vector<std::string> calls;
    std::atomic<bool> is_looked_at{false};
    static thread_local bool is_counted = false;
    whilst::cuda::observer() = [&](const whilst::cuda::observed_call& call) {
      if (!is_counted) return cudaSuccess;
      const std::lock_guard hold(lock);
      calls.emplace_back(call.expression);
      return cudaSuccess;
    };
    reports found(2);
    const auto thrown = on_ranks(2, [&](const group& ranks) {
      rank_of_system own(ranks, usual(method), "graph");
      own.solve();  // what CUDA loads once and for all
      const whilst::place where = whilst::place::gpu(ranks.rank() % whilst::cuda::device_count());
      const auto n = static_cast<index_type>(own.b.size());
      const whilst::buffer<double> b(where, n, own.b.data());
      whilst::buffer<double> x(where, n);
      own.x.assign(own.x.size(), 0.0);
      x.upload(own.x.data());
      cudaStream_t made = nullptr;
      if (cudaSetDevice(where.device()) != cudaSuccess ||
          cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking) != cudaSuccess)
        throw std::runtime_error("there is no stream");
      const whilst::cuda::stream stream(made);
      ranks.barrier("test");
      if (ranks.rank() == 1)
        while (!is_looked_at) std::this_thread::yield();
      is_counted = ranks.rank() == 0;
      const whilst::ticket solve = own.solver.enqueue(stream.get(), b.data(), x.data());
      bool is_early = false;
      if (is_counted) {
        for (int k = 0; k < 100; ++k) is_early |= solve.done();
        is_counted = false;
        is_looked_at = true;
      }
      found.note(ranks, solve.wait());
      ranks.barrier("test");
      if (is_early) throw std::runtime_error("it did not wait for the other rank");
    });
    whilst::cuda::observer() = nullptr;
    CHECK(thrown == nothing(2));
    found.check_all(reason::converged_rtol);
    CHECK(calls.size() >= 100);
    for (const std::string& call : calls) {
      CAPTURE(call);
      for (const char* waits :
           {"cudaFree", "cudaMalloc", "cudaHostRegister", "cudaHostUnregister", "cudaGraphExecDestroy",
            "cudaGraphInstantiate", "cudaMemcpy(", "cudaMemset(", "cudaStreamSynchronize", "cudaDeviceSynchronize",
            "cudaEventSynchronize", "cudaFuncSetAttribute"})
        CHECK(call.rfind(waits, 0) != 0);
    }
  }
}

#endif

TEST_CASE("what would part the ranks is refused on all", "[group][linear]") {
  const std::string executor = "host";
  const auto thrown_with = [&](const std::function<void(int, linear_solver_options&)>& change) {
    return on_ranks(3, [&](const group& ranks) {
      linear_solver_options options = usual();
      change(ranks.rank(), options);
      rank_of_system own(ranks, options, executor);
    });
  };
  const auto all_say = [](const std::vector<std::string>& messages, const std::string& part) {
    for (const std::string& one : messages) CHECK_THAT(one, contains(part));
  };
  all_say(thrown_with([](int rank, linear_solver_options& o) { o.rtol = rank == 1 ? 1e-4 : 1e-6; }),
          "ranks give different options");
  all_say(thrown_with([](int rank, linear_solver_options& o) { o.method = rank == 2 ? "minres" : "cg"; }),
          "ranks give different options");
  all_say(thrown_with([](int, linear_solver_options& o) { o.method = "idr"; }),
          "method 'idr' is not for several ranks");
  all_say(thrown_with([](int rank, linear_solver_options& o) {
            if (rank == 0) o.scaling = "rows";
          }),
          "scaling rows is not for several ranks");
  all_say(thrown_with([](int, linear_solver_options& o) { o.preconditioner = "multigrid"; }), "preconditioner");
  all_say(thrown_with([](int rank, linear_solver_options& o) { o.transport = rank == 1 ? "shared memory" : "auto"; }),
          "ranks give different options");
  all_say(thrown_with([](int, linear_solver_options& o) { o.transport = "pigeons"; }),
          "there is no transport called 'pigeons'");
  all_say(thrown_with([](int, linear_solver_options& o) { o.transport = "host memory"; }), "is for ranks on GPUs");
  all_say(thrown_with([](int rank, linear_solver_options& o) {
            o.preconditioner = "chebyshev";
            o.chebyshev.degree = rank == 1 ? 2 : 3;
          }),
          "ranks give different settings of preconditioner chebyshev");
  all_say(thrown_with([](int, linear_solver_options& o) { o.rtol = -1; }), "a tolerance is negative");
}

TEST_CASE("new values of a distributed matrix count from the next solve on", "[group][linear]") {
  const std::string executor = GENERATE(from_range(whilst_test::group_executors()));
  CAPTURE(executor);
  const csr_matrix<double>& A = matrix();
  std::vector<double> doubled(A.values().begin(), A.values().end());
  for (double& value : doubled) value *= 2;
  const csr_matrix<double> B(
      A.rows(), A.columns(),
      std::vector<std::int32_t>(static_cast<const std::int32_t*>(A.row_offsets_data()),
                                static_cast<const std::int32_t*>(A.row_offsets_data()) + A.rows() + 1),
      std::vector<std::int32_t>(A.column_indices().begin(), A.column_indices().end()), doubled);
  CHECK(on_ranks(3, [&](const group& ranks) {
          rank_of_system own(ranks, usual(), executor);
          own.solve();
          const std::vector<double> before = own.x;
          own.solver.update_values(distributed<double>(ranks, B, equal_split(B, 3)));
          own.solve();
          // Powers of two change no digit.
          for (std::size_t i = 0; i < before.size(); ++i)
            if (2 * own.x[i] != before[i]) throw std::runtime_error("the solution is not half as large");
        }) == nothing(3));
}

TEST_CASE("ranks that read of others that read nothing of them keep in step", "[group][linear]") {
  const std::string executor = GENERATE(from_range(whilst_test::group_executors()));
  CAPTURE(executor);
  // Lower triangular by blocks of ranks: rank q reads of rank q - 1 only.
  const index_type n = 30;
  std::vector<std::int32_t> offsets{0}, columns;
  std::vector<double> values;
  for (index_type i = 0; i < n; ++i) {
    if (i >= 10) columns.push_back(static_cast<std::int32_t>(i - 10)), values.push_back(-1);
    columns.push_back(static_cast<std::int32_t>(i)), values.push_back(4);
    offsets.push_back(static_cast<std::int32_t>(columns.size()));
  }
  const csr_matrix<double> A(n, n, offsets, columns, values);
  // (4 - L) x = b by blocks: x = b/4 (1 + 1/4 + 1/16 ...).
  std::vector<double> sums(3);
  CHECK(on_ranks(3, [&](const group& ranks) {
          linear_solver_options options = whilst_test::with_executor(usual(), executor, ranks.rank());
          options.method = "bicgstab";
          options.rtol = 1e-12;
          distributed_linear_solver<double> solver(distributed<double>(ranks, A, {0, 10, 20, 30}), options);
          std::vector<double> b(10, 4.0), x(10);
          for (int k = 0; k < 20; ++k) {
            std::fill(x.begin(), x.end(), 0.0);
            if (!whilst::converged(solver.solve(b, x).reason())) throw std::runtime_error("did not converge");
          }
          sums[static_cast<std::size_t>(ranks.rank())] = x[5];
        }) == nothing(3));
  CHECK(sums[0] == Approx(1));
  CHECK(sums[1] == Approx(1.25));
  CHECK(sums[2] == Approx(1.3125));
}

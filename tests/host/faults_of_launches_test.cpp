// A CUDA call fails while a solver that is kept solves, or is looked at and stopped: it solves as ever, with the
// launches that it had.

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "tests/engine/faults/faults.hpp"
#include "tests/engine/launch_journal.hpp"
#include "tests/nonlinear/minimizer_functions.hpp"
#include "whilst/watch.hpp"

namespace whilst_test {

#if WHILST_WITH_CUDA

using whilst::place;
using whilst::ticket;

namespace {

/// With the iterations: a run left in flight, which writes to the memory that the next one fills, would show there.
struct answer {
  std::vector<double> x;
  index_type iterations;
  bool operator==(const answer&) const = default;
};

/// solve() from host memory, with each of its calls failing in turn.
index_type fail_each_call_of(const std::function<answer()>& solve) {
  const answer expected = solve();
  CHECK((solve() == expected));
  return fail_each_call([&] { solve(); }, [&] { CHECK((solve() == expected)); });
}

const whilst::csr_matrix<double>& small_matrix() {
  static const auto matrix = whilst::make_gallery<double>("poisson2d:20").matrix;
  return matrix;
}

}  // namespace

TEST_CASE("whichever CUDA call fails in a solve from host memory, the next one has the same bits", "[semantics][gpu]") {
  if (whilst::cuda::device_count() == 0) return;
  const auto& A = small_matrix();
  const std::vector<double> b = random_vector<double>(A.rows(), 1);
  for (const char* executor : {"graph", "stream", "resident"}) {
    INFO(executor);
    whilst::linear_solver<double> solver(A, {.executor = executor});
    const index_type calls = fail_each_call_of([&] {
      std::vector<double> x(b.size(), 0);
      const whilst::report told = solver.solve(b, x);
      return answer{x, told.iterations()};
    });
    CHECK(calls > 5);
  }
}

TEST_CASE("whichever CUDA call fails in a batch, the next one has the same bits", "[batch][gpu]") {
  if (whilst::cuda::device_count() == 0) return;
  const auto A = whilst::make_gallery<double>("poisson2d:5").matrix;
  constexpr index_type systems = 6;
  std::vector<double> values, b = random_vector<double>(systems * A.rows(), 1);
  for (index_type k = 0; k < systems; ++k)
    for (const double value : A.values()) values.push_back(value * static_cast<double>(k + 1));
  whilst::batch_linear_solver<double> solver(A, systems, {.executor = "batch"});
  const index_type calls = fail_each_call_of([&] {
    std::vector<double> x(b.size(), 0);
    const whilst::batch_report told = solver.solve(values, b, x);
    index_type iterations = 0;
    for (index_type k = 0; k < systems; ++k) iterations += told[k].iterations;
    return answer{x, iterations};
  });
  CHECK(calls > 10);
}

TEST_CASE("whichever CUDA call fails in a minimization, the next one has the same bits", "[minimizer][gpu]") {
  if (whilst::cuda::device_count() == 0) return;
  constexpr index_type n = 100;
  const auto f = make_rosenbrock<double>(place::gpu(0), n);
  whilst::minimizer<double> minimizer(*f, {.executor = "graph"});
  const index_type calls = fail_each_call_of([&] {
    std::vector<double> x = rosenbrock_start<double>(n);
    const whilst::minimize_report told = minimizer.solve(x);
    return answer{x, told.iterations()};
  });
  CHECK(calls > 5);
}

TEST_CASE("whichever CUDA call fails with several solves in flight, as many can be enqueued again, without allocating",
          "[enqueue][gpu]") {
  if (whilst::cuda::device_count() == 0) return;
  constexpr std::size_t prepared = 16;  // what enqueue() promises to need no memory for
  const auto& A = small_matrix();
  const whilst::cuda::stream stream = whilst::cuda::make_stream();
  whilst::linear_solver<double> solver(A, {.executor = "graph"});
  const std::vector<double> zero(static_cast<std::size_t>(A.rows()), 0);
  whilst::buffer<double> b(place::gpu(0), A.rows());
  b.upload(random_vector<double>(A.rows(), 1).data());
  std::vector<whilst::buffer<double>> x;
  for (std::size_t k = 0; k < prepared; ++k) x.emplace_back(place::gpu(0), A.rows());
  const auto enqueue = [&](std::size_t solves) {
    std::vector<ticket> tickets;
    for (std::size_t k = 0; k < solves; ++k) tickets.push_back(solver.enqueue(stream.get(), b.data(), x[k].data()));
    return tickets;
  };
  const index_type iterations = enqueue(1).front().wait().iterations();
  const std::vector<double> expected = values(x.front());
  const index_type calls = fail_each_call(
      [&] {
        for (const ticket& one : enqueue(3)) one.wait();
      },
      [&] {
        REQUIRE(cudaStreamSynchronize(stream.get()) == cudaSuccess);  // what was enqueued before the failure
        for (whilst::buffer<double>& one : x) one.upload(zero.data());
        std::vector<ticket> tickets;
        {
          const counted_calls made;
          tickets = enqueue(prepared);
          CHECK(made.of("Alloc") + made.of("cudaMalloc") + made.of("EventCreate") == 0);
        }
        for (std::size_t k = 0; k < prepared; ++k) {
          CHECK(tickets[k].wait().iterations() == iterations);
          CHECK((values(x[k]) == expected));
        }
      });
  CHECK(calls > 15);
}

namespace {

/// A solve that goes on until somebody stops it: information travels one unknown an iteration.
struct endless_solve {
  whilst::csr_matrix<double> A = whilst::make_gallery<double>("poisson1d:100000").matrix;
  whilst::cuda::stream stream = whilst::cuda::make_stream();
  whilst::buffer<double> b{place::gpu(0), A.rows()}, x{place::gpu(0), A.rows()};
  whilst::linear_solver<double> solver{A, {.rtol = 0, .max_iterations = 1'000'000'000, .executor = "graph"}};
  std::unique_ptr<ticket> running;

  endless_solve() { b.upload(std::vector<double>(static_cast<std::size_t>(A.rows()), 1).data()); }
  ~endless_solve() { solver.cancel(); }
  void start() { running = std::make_unique<ticket>(solver.enqueue(stream.get(), b.data(), x.data())); }
  void stop() {
    running->cancel();
    CHECK(running->wait().reason() == whilst::reason::cancelled);
  }
};

}  // namespace

// These two alone, as the solve on the GPU must not end by itself while call after call fails.
TEST_CASE("whichever CUDA call fails while a running solve is looked at and cancelled, it can be cancelled",
          "[enqueue][gpu][alone]") {
  if (whilst::cuda::device_count() == 0) return;
  endless_solve endless;
  const index_type calls = fail_each_call(
      [&] {
        endless.start();
        endless.running->progress();
        endless.running->cancel();
      },
      [&] {
        endless.solver.cancel();  // one that was launched before the failure, too, of which there is no ticket
        REQUIRE(cudaStreamSynchronize(endless.stream.get()) == cudaSuccess);
        endless.start();
        endless.running->progress();
        endless.stop();
      });
  CHECK(calls > 10);
}

TEST_CASE("whichever CUDA call fails as a watch looks, the watch ends and says so, and the solve does not",
          "[watch][gpu][alone]") {
  if (whilst::cuda::device_count() == 0) return;
  endless_solve endless;
  endless.start();
  index_type failures = 0;
  for (bool failed = true; failed; ++failures) {
    failing_call fault(failures + 1, cudaErrorUnknown, of_threads::others);
    std::atomic<bool> has_looked = false;
    whilst::watch watching(endless.solver, std::chrono::milliseconds(1),
                           [&](const whilst::progress&) { has_looked = true; });
    while (!has_looked && !fault.happened()) std::this_thread::yield();
    std::string thrown;
    try {
      watching.stop();
    } catch (const whilst::error& failure) {
      thrown = failure.what();
    }
    failed = fault.happened();
    INFO("call " << failures + 1 << " failed: " << fault.expression() << "\nthrown: " << thrown);
    if (failed) CHECK_THAT(thrown, contains(fault.expression() + " failed with "));
    CHECK(thrown.empty() != failed);
    CHECK_FALSE(endless.running->done());
  }
  CHECK(failures > 4);
  endless.stop();
}

#endif

}  // namespace whilst_test

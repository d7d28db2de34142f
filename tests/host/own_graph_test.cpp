// compiled by nvcc where CUDA is on
// Solves within a caller's graph, how they ended told to the caller's kernels, and a caller's loop within a solve.
#define EIGEN_NO_CUDA  // Eigen is an oracle on the host; nvcc warns about its annotations for devices

#include "tests/catch.hpp"
#include "tests/engine/toy.hpp"
#include "tests/linear/systems.hpp"

namespace whilst_test {

using whilst::buffer;
using whilst::control;
using whilst::linear_solver;
using whilst::place;
using whilst::reason;
using whilst::report;
using whilst::solve_outcome;
using whilst::ticket;

namespace {

place place_of(const std::string& executor) { return executor == "host" ? place::host() : place::gpu(0); }

template <class T>
buffer<T> holding(place where, const std::vector<T>& numbers) {
  buffer<T> made(where, static_cast<index_type>(numbers.size()));
  made.upload(numbers.data());
  return made;
}

struct copy_to {
  const double* from;
  double* to;
  WHILST_HD void operator()(index_type i) const { to[i] = from[i]; }
};

struct swept {
  index_type n;
  const double* z;
  double* next;
  WHILST_HD void operator()(index_type i, const double* r) const {
    const double Az = 2 * z[i] - (i > 0 ? z[i - 1] : 0) - (i < n - 1 ? z[i + 1] : 0);
    next[i] = z[i] + 0.5 * (r[i] - Az);
  }
};
struct sweep {
  swept by;
  whilst::slot<const double> r;
  WHILST_HD void operator()(index_type i) const { by(i, r.get()); }
};
struct clear {
  double* z;
  WHILST_HD void operator()(index_type i) const { z[i] = 0; }
};
struct hand_over {
  const double* z;
  whilst::slot<double> target;
  WHILST_HD void operator()(index_type i) const { target.get()[i] = z[i]; }
};

/// Sweeps of Jacobi's method for the second difference, from z = 0: a loop of a caller's.
class jacobi_sweeps {
 public:
  static constexpr index_type sweeps = 3;

  jacobi_sweeps(place where, index_type n, whilst::executor how)
      : z_(where, n), next_(where, n), loop_(where, 1), program_(record(where, n)) {
    program_.prepare({.how = how});
  }
  void enqueue(whilst::stream_handle stream, const double* r, double* z) {
    program_.bind("r", r);
    program_.bind("z", z);
    program_.enqueue(stream);
  }
  /// The same by plain loops.
  static void by_hand(index_type n, const double* r, double* z) {
    std::vector<double> now(static_cast<std::size_t>(n), 0), next = now;
    for (index_type sweep = 0; sweep < sweeps; ++sweep) {
      for (index_type i = 0; i < n; ++i) swept{n, now.data(), next.data()}(i, r);
      now = next;
    }
    std::copy(now.begin(), now.end(), z);
  }

 private:
  whilst::program record(place where, index_type n) {
    whilst::program_recorder record(where);
    const auto r = record.slot<const double>("r");
    const auto z = record.slot<double>("z");
    record.step("z = 0", n, clear{z_.data()});
    record.loop("sweeps", loop_.data(), [&](auto& run) {
      run.step("z + (r - A z) / 2", n, sweep{{n, z_.data(), next_.data()}, r});
      run.step("z = that", n, copy_to{next_.data(), z_.data()}, whilst::count_iteration{});
    });
    record.step("hand z over", n, hand_over{z_.data(), z});
    record.parameter(&loop_.data()->settings, whilst::control_settings{.limit = sweeps});
    return std::move(record).finish();
  }

  buffer<double> z_, next_;
  buffer<control> loop_;
  whilst::program program_;
};

}  // namespace

TEST_CASE("a ticket's outcome says what its report says, and stays while the ticket is held", "[own graph]") {
  const auto A = whilst::make_gallery<double>("poisson2d:20").matrix;
  const std::vector<double> b = random_vector<double>(A.rows(), 1);
  for (const std::string& executor : executors()) {
    INFO(executor);
    linear_solver<double> solver(A, {.rtol = 1e-10, .executor = executor});
    std::vector<ticket> tickets;
    std::vector<buffer<double>> memory;
    for (const index_type limit : {3, 1000, 5}) {
      solver.set_max_iterations(limit);
      memory.push_back(holding(place_of(executor), b));
      memory.emplace_back(place_of(executor), A.rows());
      tickets.push_back(solver.enqueue(nullptr, memory[memory.size() - 2].data(), memory.back().data()));
    }
    for (const ticket& each : tickets) {
      const report told = each.wait();
      const solve_outcome& left = *each.outcome();
      CHECK(left.iterations == told.iterations());
      CHECK(left.residual_norm == told.residual_norm());
      CHECK(left.rhs_norm == told.rhs_norm());
      CHECK(left.why == told.reason());
    }
    CHECK(tickets[0].outcome()->iterations == 3);
    CHECK(tickets[1].outcome()->why == reason::converged_rtol);
    CHECK(tickets[2].outcome()->why == reason::iteration_limit);
  }
}

TEST_CASE("a loop of the caller's preconditions a solve", "[own graph]") {
  constexpr index_type n = 200;
  const auto A = whilst::make_gallery<double>("poisson1d:200").matrix;
  const std::vector<double> b = random_vector<double>(n, 5);
  constexpr double rtol = 1e-10;
  std::vector<double> x_by_hand(b.size(), 0);
  linear_solver<double> by_hand(
      A,
      [](whilst::stream_handle, index_type count, const double* r, double* z) { jacobi_sweeps::by_hand(count, r, z); },
      {.rtol = rtol, .executor = "host"});
  const report expected = by_hand.solve(b, x_by_hand);
  REQUIRE(expected.converged());
  for (const std::string& executor : executors()) {
    if (executor == "resident") continue;  // no callbacks there
    INFO(executor);
    const bool on_host = executor == "host";
    jacobi_sweeps sweeps(place_of(executor), n, on_host ? whilst::executor::host : whilst::executor::graph);
    linear_solver<double> solver(
        A, [&](whilst::stream_handle stream, index_type, const double* r, double* z) { sweeps.enqueue(stream, r, z); },
        {.rtol = rtol, .executor = executor});
    for (int solve = 0; solve < 2; ++solve) {
      std::vector<double> x(b.size(), 0);
      const report told = solver.solve(b, x);
      CHECK(told.reason() == reason::converged_rtol);
      // By Eigen, whose sums are others: the residual itself is off by some roundings of |A| |x|, far below rtol |b|.
      CHECK(relative_residual(A, b, x) <= 1.01 * rtol);
      if (on_host) {
        CHECK((x == x_by_hand));
        CHECK(told.iterations() == expected.iterations());
      } else {
        // The same method, up to rounding.
        CHECK(std::abs(told.iterations() - expected.iterations()) <= 1);
      }
    }
  }
}

#if WHILST_WITH_CUDA

namespace {

#if defined(__CUDACC__)
__global__ void add_iterations(const solve_outcome* of, index_type* total) { *total += of->iterations; }
#endif
void enqueue_add_iterations([[maybe_unused]] cudaStream_t stream, [[maybe_unused]] const solve_outcome* of,
                            [[maybe_unused]] index_type* total) {
#if defined(__CUDACC__)
  add_iterations<<<1, 1, 0, stream>>>(of, total);
  WHILST_CUDA("adding iterations", cudaGetLastError());
#endif
}

}  // namespace

TEST_CASE("kernels behind a captured solve read how it ended, whatever the mode of the capture", "[own graph][gpu]") {
  if (whilst::cuda::device_count() == 0) return;
  const auto A = whilst::make_gallery<double>("poisson2d:20").matrix;
  const std::vector<double> zero(static_cast<std::size_t>(A.rows()), 0);
  for (const char* executor : {"graph", "resident"}) {
    for (const cudaStreamCaptureMode mode :
         {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeRelaxed}) {
      INFO(executor << ", mode " << mode);
      linear_solver<double> solver(A, {.preconditioner = "jacobi", .rtol = 1e-10, .executor = executor});
      buffer<double> b(place::gpu(0), A.rows()), x(place::gpu(0), A.rows());
      buffer<index_type> total(place::gpu(0), 1);
      const whilst::cuda::stream stream = whilst::cuda::make_stream();
      REQUIRE(cudaStreamBeginCapture(stream.get(), mode) == cudaSuccess);
      const ticket captured = solver.enqueue(stream.get(), b.data(), x.data());
      enqueue_add_iterations(stream.get(), captured.outcome(), total.data());
      cudaGraph_t made = nullptr;
      REQUIRE(cudaStreamEndCapture(stream.get(), &made) == cudaSuccess);
      const whilst::cuda::graph graph(made);
      cudaGraphExec_t instance = nullptr;
      REQUIRE(cudaGraphInstantiate(&instance, made, 0) == cudaSuccess);
      whilst::cuda::graph_exec exec(instance);

      const auto launch = [&] {
        x.upload(zero.data());
        REQUIRE(cudaGraphLaunch(exec.get(), stream.get()) == cudaSuccess);
        REQUIRE(cudaStreamSynchronize(stream.get()) == cudaSuccess);
      };
      solver.set_max_iterations(1);  // for solves to come: the graph keeps what it captured
      index_type expected = 0;
      std::vector<double> found;
      for (const unsigned seed : {1, 2, 3}) {
        b.upload(random_vector<double>(A.rows(), seed).data());
        launch();
        found = values(x);
        CHECK(captured.outcome()->why == reason::converged_rtol);
        CHECK(captured.outcome()->iterations == captured.wait().iterations());
        CHECK(captured.wait().iterations() > 1);
        expected += captured.wait().iterations();
        CHECK(value(total) == expected);
      }
      // New values in the solver's memory reach the graph: twice the matrix, half the solution, to the bit.
      std::vector<double> twice(A.values().begin(), A.values().end());
      for (double& entry : twice) entry *= 2;
      solver.update_values(twice);
      launch();
      std::vector<double> doubled = values(x);
      for (double& entry : doubled) entry *= 2;
      CHECK((doubled == found));
      exec.reset();
      CHECK(captured.wait().converged());  // the outcome is the solver's, not the graph's
    }
  }
}

TEST_CASE("a loop that the host decides is refused within a solve's graph", "[own graph][gpu]") {
  if (whilst::cuda::device_count() == 0) return;
  constexpr index_type n = 200;
  const auto A = whilst::make_gallery<double>("poisson1d:200").matrix;
  jacobi_sweeps sweeps(place::gpu(0), n, whilst::executor::stream);
  const auto enqueue = [&](whilst::stream_handle stream, index_type, const double* r, double* z) {
    sweeps.enqueue(stream, r, z);
  };
  CHECK_THROWS_WITH(linear_solver<double>(A, enqueue, {.executor = "graph"}),
                    contains("conditional nodes") && contains("Prepare it for executor graph"));
  // Where the host decides all, it may.
  std::vector<double> b = random_vector<double>(n, 1), x(b.size(), 0);
  CHECK(linear_solver<double>(A, enqueue, {.executor = "stream"}).solve(b, x).converged());
}

TEST_CASE("a stream of another GPU is refused with the cure", "[own graph][gpu]") {
  CHECK_THROWS_WITH(whilst::cuda::fail(cudaErrorInvalidResourceHandle, "a launch", "enqueueing"),
                    contains("stream of the GPU that the solver or program is on"));
  // Before, no stream tells, and the work that goes astray would cost the tests after this one their context.
  int driver = 0;
  REQUIRE(cudaDriverGetVersion(&driver) == cudaSuccess);
  if (CUDART_VERSION < 12080 || driver < 12080 || whilst::cuda::device_count() < 2) return;
  const auto A = whilst::make_gallery<double>("poisson2d:40").matrix;
  linear_solver<double> solver(A, {.executor = "graph", .device = 0});
  const auto b = holding(place::gpu(0), random_vector<double>(A.rows(), 1));
  const buffer<double> x(place::gpu(0), A.rows());
  const whilst::cuda::device_guard there(1);
  const whilst::cuda::stream stream = whilst::cuda::make_stream();
  CHECK_THROWS_WITH(solver.enqueue(stream.get(), b.data(), x.data()),
                    contains("stream of the GPU that the solver or program is on"));
}

#endif

}  // namespace whilst_test

// compiled by nvcc where CUDA is on
// The asynchronous door: tickets, captures, and what enqueue must not do.
#define EIGEN_NO_CUDA  // Eigen is an oracle on the host; nvcc warns about its annotations for devices

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <iostream>
#include <mutex>
#include <thread>

#include "tests/catch.hpp"
#include "tests/engine/toy.hpp"
#include "tests/linear/systems.hpp"

namespace whilst_test {

using whilst::buffer;
using whilst::csr_matrix;
using whilst::linear_solver;
using whilst::linear_solver_options;
using whilst::place;
using whilst::reason;
using whilst::report;
using whilst::ticket;

namespace {

place place_of(const std::string& executor) { return executor == "host" ? place::host() : place::gpu(0); }

/// A stream of its own where there is a GPU.
class any_stream {
 public:
#if WHILST_WITH_CUDA
  any_stream() {
    if (whilst::cuda::device_count() > 0) made_ = whilst::cuda::make_stream();
  }
  whilst::stream_handle get() const { return made_.get(); }

 private:
  whilst::cuda::stream made_;
#else
  whilst::stream_handle get() const { return nullptr; }
#endif
};

/// b, and x from zero, where a solver can see them.
template <class T>
struct operands {
  buffer<T> b, x;
  operands(place where, const std::vector<T>& rhs)
      : b(where, static_cast<index_type>(rhs.size())), x(where, static_cast<index_type>(rhs.size())) {
    b.upload(rhs.data());
  }
};

/// The same solve through the door that blocks: same executor, same bits.
template <class T>
struct reference {
  report told;
  std::vector<T> x;
  reference(const csr_matrix<T>& A, const linear_solver_options& options, const std::vector<T>& b) : x(b.size(), 0) {
    linear_solver<T> solver(A, options);
    told = solver.solve(b, x);
  }
  void check(const report& r, const buffer<T>& solution) const {
    CHECK(r.reason() == told.reason());
    CHECK(r.iterations() == told.iterations());
    CHECK(r.residual_norm() == told.residual_norm());
    CHECK(r.rhs_norm() == told.rhs_norm());
    CHECK((values(solution) == x));
  }
};

std::string message_of(const std::function<void()>& function) {
  try {
    function();
  } catch (const whilst::error& e) {
    return e.what();
  }
  return "no exception";
}

}  // namespace

TEST_CASE("a ticket tells when a solve is done and how it ended", "[enqueue]") {
  const auto A = whilst::make_gallery<double>("poisson2d:30").matrix;
  const std::vector<double> b = random_vector<double>(A.rows(), 1);
  for (const std::string& executor : executors()) {
    for (const std::string& method : methods_on(executor)) {
      INFO(executor << ", " << method);
      const linear_solver_options options{.method = method, .rtol = 1e-10, .executor = executor};
      const reference<double> expected(A, options, b);
      const any_stream stream;
      linear_solver<double> solver(A, options);
      const operands<double> io(place_of(executor), b);
      const ticket t = solver.enqueue(stream.get(), io.b.data(), io.x.data());
      // Under these the solve has completed when enqueue returns.
      if (executor == "host" || executor == "stream") CHECK(t.done());
      const report r = t.wait();
      CHECK(t.done());
      expected.check(r, io.x);
      CHECK(r.history().size() == expected.told.history().size());
      CHECK_FALSE(t.progress().running);
      CHECK(t.progress().iteration == r.iterations());
      CHECK(r.solve_seconds() >= r.loop_seconds());
      CHECK(r.loop_seconds() > 0);
      t.cancel();  // too late to do anything
      CHECK(t.wait().reason() == reason::converged_rtol);
      const ticket again = solver.enqueue(stream.get(), io.b.data(), io.x.data());
      CHECK(again.wait().iterations() == 0);
    }
  }
}

TEST_CASE("a ticket's history is its own solve's, however many come after it", "[enqueue]") {
  const auto A = whilst::make_gallery<double>("poisson2d:20").matrix;
  constexpr unsigned solves = 20;  // more than are prepared for
  for (const std::string& executor : executors()) {
    INFO(executor);
    const linear_solver_options options{.rtol = 1e-10, .executor = executor, .history_capacity = 16};
    linear_solver<double> solver(A, options);
    const any_stream stream;
    std::vector<operands<double>> io;
    std::vector<ticket> tickets;
    for (unsigned k = 0; k < solves; ++k) io.emplace_back(place_of(executor), random_vector<double>(A.rows(), k));
    for (const operands<double>& one : io) tickets.push_back(solver.enqueue(stream.get(), one.b.data(), one.x.data()));
    for (unsigned k = 0; k < solves; ++k) {
      const reference<double> expected(A, options, random_vector<double>(A.rows(), k));
      const report r = tickets[k].wait();
      expected.check(r, io[k].x);
      REQUIRE(r.history().size() >= 8);
      REQUIRE(r.history().size() == expected.told.history().size());
      for (std::size_t i = 0; i < r.history().size(); ++i) {
        CHECK(r.history()[i].iteration == expected.told.history()[i].iteration);
        CHECK(r.history()[i].residual_norm == expected.told.history()[i].residual_norm);
      }
    }
  }
}

TEST_CASE("solves one after another on a stream, more than are prepared for, each with its own report", "[enqueue]") {
  const auto A = whilst::make_gallery<double>("poisson2d:20").matrix;
  const std::vector<double> b = random_vector<double>(A.rows(), 1);
  for (const std::string& executor : executors()) {
    const any_stream stream;
    linear_solver<double> solver(A, {.rtol = 1e-12, .executor = executor});
    std::vector<operands<double>> io;
    for (int k = 0; k < 20; ++k) {
      std::vector<double> scaled = b;
      for (double& value : scaled) value *= k + 1;
      io.emplace_back(place_of(executor), scaled);
    }
    std::vector<ticket> tickets;
    for (int k = 0; k < 20; ++k) {
      solver.set_max_iterations(k);
      const auto& mine = io[static_cast<std::size_t>(k)];
      tickets.push_back(solver.enqueue(stream.get(), mine.b.data(), mine.x.data()));
    }
    for (const int k : {19, 0, 7, 12, 1}) {
      INFO(executor << ", solve " << k);
      const report r = tickets[static_cast<std::size_t>(k)].wait();
      CHECK(r.reason() == reason::iteration_limit);
      CHECK(r.iterations() == k);
      CHECK(r.rhs_norm() == Approx((k + 1) * to_eigen(b).norm()));
    }
    for (const int k : {3, 18}) {
      INFO(executor << ", solve " << k);
      const auto& mine = io[static_cast<std::size_t>(k)];
      const reference<double> expected(A, {.rtol = 1e-12, .max_iterations = k, .executor = executor}, values(mine.b));
      expected.check(tickets[static_cast<std::size_t>(k)].wait(), mine.x);
    }
  }
}

TEST_CASE("values of the caller's own are bound without recording", "[enqueue]") {
  const auto A = whilst::make_gallery<double>("poisson2d:15").matrix;
  const std::vector<double> b = random_vector<double>(A.rows(), 4);
  std::vector<double> twice(A.values().begin(), A.values().end());
  for (double& value : twice) value *= 2;
  for (const std::string& executor : executors()) {
    INFO(executor);
    const linear_solver_options options{.preconditioner = "jacobi", .rtol = 1e-10, .executor = executor};
    const reference<double> expected(A, options, b);
    linear_solver<double> solver(A, options);
    buffer<double> bound(place_of(executor), A.nonzeros());
    bound.upload(twice.data());
    solver.bind_values(bound.data());
    const operands<double> io(place_of(executor), b);
    const any_stream stream;
    CHECK(solver.enqueue(stream.get(), io.b.data(), io.x.data()).wait().iterations() == expected.told.iterations());
    // Factors of two are exact all the way.
    std::vector<double> doubled = values(io.x);
    for (double& value : doubled) value *= 2;
    CHECK((doubled == expected.x));
    bound.upload(A.values().data());
    std::vector<double> x(b.size(), 0);
    solver.solve(b, x);
    CHECK((x == expected.x));
  }
}

namespace {

struct copy_to {
  const double* from;
  double* to;
  WHILST_HD void operator()(index_type i) const { to[i] = from[i]; }
};

}  // namespace

TEST_CASE("a solver within a loop of the caller's", "[enqueue]") {
  const auto A = whilst::make_gallery<double>("poisson2d:10").matrix;
  const index_type n = A.rows(), steps = 3;
  const std::vector<double> start = random_vector<double>(n, 8);
  for (const way& w : ways()) {
    for (const std::string& executor :
         w.where.on_host() ? std::vector<std::string>{"host"} : std::vector<std::string>{"graph", "resident"}) {
      INFO("solver under " << executor << " in a loop under " << w.name);
      linear_solver<double> solver(A, {.rtol = 1e-10, .executor = executor});
      // Each step solves for the solution of the one before, which is the initial guess, too.
      std::vector<double> b = start, x(b.size(), 0);
      for (index_type k = 0; k < steps; ++k) {
        CHECK(solver.solve(b, x).converged());
        b = x;
      }
      operands<double> io(w.where, start);
      const buffer<whilst::control> c(w.where, 1);
      whilst::program_recorder record(w.where);
      record.loop("time steps", c.data(), [&](auto& run) {
        run.call("A x = b", [&](whilst::stream_handle stream) { solver.enqueue(stream, io.b.data(), io.x.data()); });
        run.step("b = x", n, copy_to{io.x.data(), io.b.data()}, whilst::count_iteration{});
      });
      record.parameter(&c.data()->settings, whilst::control_settings{.limit = steps});
      whilst::program program = std::move(record).finish();
      program.prepare({.how = w.how});
      for (const int launch : {1, 2}) {
        INFO("launch " << launch);
        io.b.upload(start.data());
        io.x.upload(std::vector<double>(b.size(), 0).data());
        run(program);
        CHECK((values(io.x) == x));
      }
    }
  }
}

TEST_CASE("a matrix on a device stays away from the host", "[enqueue]") {
  // Nobody looks there: the numbers stand in for device memory.
  const std::int32_t offsets[] = {0, 0, 0, 0}, column = 0;
  const double entry = 0;
  const auto A = csr_matrix<double>::on_device(3, 3, 0, offsets, &column, &entry);
  CHECK(message_of([&] { linear_solver<double> solver(A, {.executor = "host"}); }).find("lies on a GPU") !=
        std::string::npos);
}

#if !WHILST_WITH_CUDA

TEST_CASE("the asynchronous door on a GPU", "[enqueue][gpu]") { WARN("skipped: not a CUDA build"); }

#else

namespace {

/// True, with a word about it, where the rest of a test cannot run.
bool skipped() {
  if (whilst::describe_machine().device_count > 0) return false;
  WARN("skipped: no GPU");
  return true;
}

/// The executors that return before the solve has completed.
const std::vector<std::string> asynchronous{"graph", "resident"};

#if defined(__CUDACC__)
__global__ void wait_for_flag(const volatile int* flag) {
  while (*flag == 0) __nanosleep(1000);
}
__global__ void divide(index_type n, const double* r, const double* by, double* z) {
  const index_type i = blockIdx.x * static_cast<index_type>(blockDim.x) + threadIdx.x;
  if (i < n) z[i] = r[i] / by[i];
}
#endif

/// Holds a stream back until it is opened. Opens by itself after a minute, so that a test that would hang fails.
class gate {
 public:
  explicit gate(cudaStream_t stream) : stream_(stream), memory_(place::gpu(0), sizeof(int)) {
#if defined(__CUDACC__)
    wait_for_flag<<<1, 1, 0, stream>>>(flag());
    WHILST_CUDA("closing a gate", cudaGetLastError());
#endif
    guard_ = std::thread([this] {
      std::unique_lock hold(lock_);
      if (changed_.wait_for(hold, std::chrono::seconds(60), [this] { return *flag() != 0; })) return;
      *flag() = 1;
    });
  }
  ~gate() {
    open();
    guard_.join();
    cudaStreamSynchronize(stream_);
  }
  void open() {
    const std::lock_guard hold(lock_);
    *flag() = 1;
    changed_.notify_all();
  }
  bool is_closed() {
    const std::lock_guard hold(lock_);
    return *flag() == 0;
  }

 private:
  volatile int* flag() const { return static_cast<volatile int*>(memory_.data()); }
  cudaStream_t stream_;
  whilst::shared_memory_block memory_;
  std::mutex lock_;
  std::condition_variable changed_;
  std::thread guard_;
};

/// The CUDA calls that the library makes while this lives.
class call_list {
 public:
  call_list() {
    whilst::cuda::observer() = [this](std::string_view expression) {
      calls_.emplace_back(expression);
      return cudaSuccess;
    };
  }
  ~call_list() { whilst::cuda::observer() = {}; }
  std::size_t size() const { return calls_.size(); }
  /// The first call that allocates or waits; empty for none.
  std::string forbidden() const {
    for (const std::string& call : calls_)
      for (const char* name : {"cudaMalloc", "cudaHostAlloc", "cudaFree", "Synchronize", "cudaMemcpy(", "cudaMemset("})
        if (call.find(name) != std::string::npos) return call;
    return {};
  }

 private:
  std::vector<std::string> calls_;
};

/// What `body` enqueues on the stream, as a graph ready to launch; a capture that fails is ended all the same.
whilst::cuda::graph_exec captured(cudaStream_t stream, const std::function<void()>& body) {
  WHILST_CUDA("starting a capture", cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  cudaGraph_t made = nullptr;
  try {
    body();
  } catch (...) {
    cudaStreamEndCapture(stream, &made);
    whilst::cuda::graph abandoned(made);
    throw;
  }
  WHILST_CUDA("ending a capture", cudaStreamEndCapture(stream, &made));
  const whilst::cuda::graph owner(made);
  cudaGraphExec_t exec = nullptr;
  WHILST_CUDA("instantiating a capture", cudaGraphInstantiate(&exec, made, 0));
  return whilst::cuda::graph_exec(exec);
}

void launch_and_wait(const whilst::cuda::graph_exec& graph, cudaStream_t stream) {
  WHILST_CUDA("launching a captured graph", cudaGraphLaunch(graph.get(), stream));
  WHILST_CUDA("waiting for a captured graph", cudaStreamSynchronize(stream));
}

bool all_finite(const std::vector<double>& v) {
  for (const double value : v)
    if (!std::isfinite(value)) return false;
  return true;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

TEST_CASE("enqueue returns while the stream is still held up", "[enqueue][gpu]") {
  if (skipped()) return;
  const auto A = whilst::make_gallery<double>("poisson2d:30").matrix;
  const std::vector<double> b = random_vector<double>(A.rows(), 1);
  for (const std::string& executor : asynchronous) {
    for (const char* preconditioner : {"none", "jacobi"}) {
      INFO(executor << ", " << preconditioner);
      const linear_solver_options options{.preconditioner = preconditioner, .rtol = 1e-10, .executor = executor};
      linear_solver<double> solver(A, options);
      const operands<double> io(place::gpu(0), b);
      const any_stream stream;
      std::vector<report> reports;
      // The first time the solver has never run: not even its code may have to be loaded then.
      for (const char* time : {"first", "second"}) {
        INFO(time << " time");
        gate held(stream.get());
        const ticket t = solver.enqueue(stream.get(), io.b.data(), io.x.data());
        CHECK(held.is_closed());
        CHECK_FALSE(t.done());
        held.open();
        reports.push_back(t.wait());
      }
      reference<double>(A, options, b).check(reports[0], io.x);
      CHECK(reports[1].iterations() == 0);
    }
  }
}

TEST_CASE("enqueue neither allocates nor waits", "[enqueue][gpu]") {
  if (skipped()) return;
  const auto A = whilst::make_gallery<double>("poisson2d:30").matrix;
  const operands<double> io(place::gpu(0), random_vector<double>(A.rows(), 1));
  for (const std::string& executor : executors()) {
    if (executor == "host") continue;
    for (const std::string& method : methods_on(executor)) {
      INFO(executor << ", " << method);
      linear_solver<double> solver(A, {.method = method, .rtol = 1e-10, .executor = executor});
      const any_stream stream;
      std::vector<ticket> kept;
      std::string forbidden;
      {
        const call_list calls;
        for (int k = 0; k < 3; ++k) kept.push_back(solver.enqueue(stream.get(), io.b.data(), io.x.data()));
        forbidden = calls.forbidden();
        CHECK(calls.size() >= 3);
      }
      // Under stream the host does wait, which shows that it would be seen.
      CHECK((executor == "stream") == !forbidden.empty());
      INFO(forbidden);
      CHECK(kept.back().wait().converged());
    }
  }
}

TEST_CASE("a solve that has not started can be cancelled", "[enqueue][gpu]") {
  if (skipped()) return;
  const auto A = whilst::make_gallery<double>("poisson2d:60").matrix;
  for (const std::string& executor : asynchronous) {
    INFO(executor);
    const operands<double> io(place::gpu(0), random_vector<double>(A.rows(), 1));
    linear_solver<double> solver(A, {.rtol = 1e-12, .executor = executor});
    const any_stream stream;
    gate held(stream.get());
    const ticket first = solver.enqueue(stream.get(), io.b.data(), io.x.data());
    first.cancel();
    CHECK(held.is_closed());
    CHECK_FALSE(first.progress().running);
    const ticket second = solver.enqueue(stream.get(), io.b.data(), io.x.data());
    held.open();
    CHECK(first.wait().reason() == reason::cancelled);
    CHECK(first.wait().iterations() <= 2);
    // The request was for the first one alone.
    CHECK(second.wait().converged());
  }
}

TEST_CASE("solves in a queue are cancelled each by itself, in any order", "[enqueue][gpu]") {
  if (skipped()) return;
  const auto A = whilst::make_gallery<double>("poisson2d:60").matrix;
  const std::vector<double> b = random_vector<double>(A.rows(), 1);
  for (const std::string& executor : asynchronous) {
    for (const auto& chosen : std::vector<std::vector<std::size_t>>{{0, 1, 4}, {4, 1, 0}, {3}}) {
      INFO(executor << ", " << chosen.size() << " cancelled, number " << chosen[0] << " first");
      std::vector<operands<double>> io;
      for (int k = 0; k < 6; ++k) io.emplace_back(place::gpu(0), b);
      linear_solver<double> solver(A, {.rtol = 1e-12, .executor = executor});
      const any_stream stream;
      gate held(stream.get());
      std::vector<ticket> tickets;
      for (const operands<double>& mine : io)
        tickets.push_back(solver.enqueue(stream.get(), mine.b.data(), mine.x.data()));
      for (const std::size_t k : chosen) tickets[k].cancel();
      CHECK(held.is_closed());
      held.open();
      for (std::size_t k = 0; k < tickets.size(); ++k) {
        INFO("solve " << k);
        const report r = tickets[k].wait();
        const bool asked = std::find(chosen.begin(), chosen.end(), k) != chosen.end();
        CHECK(r.reason() == (asked ? reason::cancelled : reason::converged_rtol));
        CHECK((r.iterations() <= 2) == asked);
      }
    }
  }
}

TEST_CASE("a solver cancels all that it has in a queue, and nothing later", "[enqueue][gpu]") {
  if (skipped()) return;
  const auto A = whilst::make_gallery<double>("poisson2d:60").matrix;
  for (const std::string& executor : asynchronous) {
    INFO(executor);
    const operands<double> io(place::gpu(0), random_vector<double>(A.rows(), 1));
    linear_solver<double> solver(A, {.rtol = 1e-12, .executor = executor});
    const any_stream stream;
    gate held(stream.get());
    std::vector<ticket> tickets;
    for (int k = 0; k < 3; ++k) tickets.push_back(solver.enqueue(stream.get(), io.b.data(), io.x.data()));
    solver.cancel();
    const ticket later = solver.enqueue(stream.get(), io.b.data(), io.x.data());
    tickets[1].cancel();  // once more does no harm
    CHECK(held.is_closed());
    held.open();
    for (const ticket& t : tickets) CHECK(t.wait().reason() == reason::cancelled);
    CHECK(later.wait().converged());
    // Nor do requests that come late.
    tickets[2].cancel();
    solver.cancel();
    CHECK(solver.enqueue(stream.get(), io.b.data(), io.x.data()).wait().converged());
  }
}

TEST_CASE("a second stream waits for the solver's first solve", "[enqueue][gpu]") {
  if (skipped()) return;
  const auto A = whilst::make_gallery<double>("poisson2d:30").matrix;
  const std::vector<double> b = random_vector<double>(A.rows(), 1), c = random_vector<double>(A.rows(), 2);
  for (const std::string& executor : asynchronous) {
    INFO(executor);
    const linear_solver_options options{.rtol = 1e-10, .executor = executor};
    const reference<double> expected_b(A, options, b), expected_c(A, options, c);
    const operands<double> io_b(place::gpu(0), b), io_c(place::gpu(0), c);
    linear_solver<double> solver(A, options);
    const any_stream one, other;
    gate held(one.get());
    const ticket first = solver.enqueue(one.get(), io_b.b.data(), io_b.x.data());
    const ticket second = solver.enqueue(other.get(), io_c.b.data(), io_c.x.data());
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    CHECK(held.is_closed());
    CHECK_FALSE(second.done());
    held.open();
    expected_c.check(second.wait(), io_c.x);
    expected_b.check(first.wait(), io_b.x);
  }
}

TEST_CASE("two solvers on two streams at once", "[enqueue][gpu]") {
  if (skipped()) return;
  const auto A = whilst::make_gallery<double>("poisson2d:40").matrix;
  const auto B = convection_diffusion<double>(3000);
  const std::vector<double> a = random_vector<double>(A.rows(), 1), b = random_vector<double>(B.rows(), 2);
  for (const std::string& executor : asynchronous) {
    INFO(executor);
    const linear_solver_options by_cg{.rtol = 1e-10, .executor = executor};
    const linear_solver_options by_bicgstab{
        .method = "bicgstab", .preconditioner = "jacobi", .rtol = 1e-10, .executor = executor};
    const reference<double> expected_a(A, by_cg, a), expected_b(B, by_bicgstab, b);
    CHECK(expected_b.told.converged());
    linear_solver<double> first(A, by_cg), second(B, by_bicgstab);
    const any_stream one, other;
    for (int round = 0; round < 5; ++round) {
      const operands<double> io_a(place::gpu(0), a), io_b(place::gpu(0), b);
      gate hold_one(one.get()), hold_other(other.get());
      const ticket of_a = first.enqueue(one.get(), io_a.b.data(), io_a.x.data());
      const ticket of_b = second.enqueue(other.get(), io_b.b.data(), io_b.x.data());
      hold_one.open();
      hold_other.open();
      expected_a.check(of_a.wait(), io_a.x);
      expected_b.check(of_b.wait(), io_b.x);
    }
  }
}

TEST_CASE("a matrix in the caller's device memory", "[enqueue][gpu]") {
  if (skipped()) return;
  const auto A = whilst::make_gallery<double>("poisson2d:20").matrix;
  const std::vector<double> b = random_vector<double>(A.rows(), 6);
  buffer<std::int32_t> offsets(place::gpu(0), A.rows() + 1), columns(place::gpu(0), A.nonzeros());
  buffer<std::int64_t> long_offsets(place::gpu(0), A.rows() + 1);
  buffer<double> entries(place::gpu(0), A.nonzeros());
  std::vector<std::int32_t> short_ones;
  std::vector<std::int64_t> long_ones;
  for (index_type i = 0; i <= A.rows(); ++i) {
    short_ones.push_back(static_cast<std::int32_t>(A.row_offset(i)));
    long_ones.push_back(A.row_offset(i));
  }
  offsets.upload(short_ones.data());
  long_offsets.upload(long_ones.data());
  columns.upload(A.column_indices().data());
  entries.upload(A.values().data());
  const auto there =
      csr_matrix<double>::on_device(A.rows(), A.rows(), A.nonzeros(), offsets.data(), columns.data(), entries.data());
  const auto there_64 = csr_matrix<double>::on_device(A.rows(), A.rows(), A.nonzeros(), long_offsets.data(),
                                                      columns.data(), entries.data());
  for (const std::string& executor : executors()) {
    if (executor == "host") continue;
    const linear_solver_options options{.preconditioner = "jacobi", .rtol = 1e-10, .executor = executor};
    const reference<double> expected(A, options, b);
    for (const auto& matrix : {there, there_64}) {
      INFO(executor << (matrix.has_64bit_offsets() ? ", 64-bit offsets" : ""));
      linear_solver<double> solver(matrix, options);
      const operands<double> io(place::gpu(0), b);
      const any_stream stream;
      expected.check(solver.enqueue(stream.get(), io.b.data(), io.x.data()).wait(), io.x);
      CHECK(message_of([&] { solver.update_values(A.values()); }).find("device memory") != std::string::npos);
    }
  }
}

TEST_CASE("a solve becomes part of the caller's graph", "[enqueue][gpu]") {
  if (skipped()) return;
  const auto A = whilst::make_gallery<double>("poisson2d:30").matrix;
  for (const std::string& executor : asynchronous) {
    for (const std::string& method : methods_on(executor)) {
      INFO(executor << ", " << method);
      linear_solver<double> solver(A, {.method = method, .rtol = 1e-10, .executor = executor});
      operands<double> io(place::gpu(0), random_vector<double>(A.rows(), 0));
      const any_stream stream;
      // Runs before the capture must not disturb it.
      solver.enqueue(stream.get(), io.b.data(), io.x.data()).wait();
      std::vector<ticket> tickets;
      const auto graph = captured(stream.get(), [&] {
        WHILST_CUDA("clearing x",
                    cudaMemsetAsync(io.x.data(), 0, sizeof(double) * static_cast<std::size_t>(A.rows()), stream.get()));
        tickets.push_back(solver.enqueue(stream.get(), io.b.data(), io.x.data()));
      });
      CHECK_FALSE(tickets[0].done());
      CHECK(message_of([&] { tickets[0].wait(); }).find("Launch the graph") != std::string::npos);
      for (const unsigned seed : {1, 2, 3}) {
        const std::vector<double> b = random_vector<double>(A.rows(), seed);
        io.b.upload(b.data());
        launch_and_wait(graph, stream.get());
        std::vector<double> x(b.size(), 0);
        const report expected = solver.solve(b, x);
        CHECK((values(io.x) == x));
        REQUIRE(tickets[0].done());  // from the first launch on
        CHECK(tickets[0].wait().iterations() == expected.iterations());
        CHECK(tickets[0].wait().reason() == expected.reason());
        CHECK(tickets[0].wait().rhs_norm() == expected.rhs_norm());
      }
    }
  }
}

TEST_CASE("two solves in one graph keep their own operands", "[enqueue][gpu]") {
  if (skipped()) return;
  const auto A = whilst::make_gallery<double>("poisson2d:20").matrix;
  const std::vector<double> b = random_vector<double>(A.rows(), 1), c = random_vector<double>(A.rows(), 2);
  for (const std::string& executor : asynchronous) {
    INFO(executor);
    const linear_solver_options options{.rtol = 1e-10, .executor = executor};
    const reference<double> expected_b(A, options, b), expected_c(A, options, c);
    linear_solver<double> solver(A, options);
    const operands<double> io_b(place::gpu(0), b), io_c(place::gpu(0), c);
    const any_stream stream;
    std::vector<ticket> tickets;
    const auto graph = captured(stream.get(), [&] {
      tickets.push_back(solver.enqueue(stream.get(), io_b.b.data(), io_b.x.data()));
      tickets.push_back(solver.enqueue(stream.get(), io_c.b.data(), io_c.x.data()));
    });
    launch_and_wait(graph, stream.get());
    expected_b.check(tickets[0].wait(), io_b.x);
    expected_c.check(tickets[1].wait(), io_c.x);
  }
}

TEST_CASE("a solver under stream refuses a capture and leaves it whole", "[enqueue][gpu]") {
  if (skipped()) return;
  const auto A = whilst::make_gallery<double>("poisson2d:20").matrix;
  linear_solver<double> solver(A, {.rtol = 1e-10, .executor = "stream"});
  const operands<double> io(place::gpu(0), random_vector<double>(A.rows(), 1));
  const any_stream stream;
  solver.enqueue(stream.get(), io.b.data(), io.x.data());
  std::string message;
  const auto graph = captured(
      stream.get(), [&] { message = message_of([&] { solver.enqueue(stream.get(), io.b.data(), io.x.data()); }); });
  CHECK(message.find("conditional nodes") != std::string::npos);
  launch_and_wait(graph, stream.get());
  std::vector<double> b = random_vector<double>(A.rows(), 2), x(b.size(), 0);
  CHECK(solver.solve(b, x).converged());
}

// How soon is printed, and held to nothing here: somebody else may have the GPU or the processor meanwhile. Alone all
// the same, as the solve must be seen running, and not end by itself, before this thread gets a processor.
TEST_CASE("cancel and deadline stop a solve that runs", "[enqueue][gpu][alone]") {
  if (skipped()) return;
  // Information travels one unknown an iteration, so these are nowhere near a solution when they are stopped.
  for (const auto& [executor, problem] :
       {std::pair("graph", "poisson1d:200000"), std::pair("resident", "poisson1d:20000")}) {
    INFO(executor);
    const auto A = whilst::make_gallery<double>(problem).matrix;
    const std::vector<double> b = random_vector<double>(A.rows(), 1);
    linear_solver<double> solver(A, {.rtol = 0, .max_iterations = 1'000'000'000, .executor = executor});
    const any_stream stream;

    constexpr double deadline = 0.02;
    solver.set_deadline(deadline);
    {
      const operands<double> io(place::gpu(0), b);
      const report r = solver.enqueue(stream.get(), io.b.data(), io.x.data()).wait();
      const double late = r.solve_seconds() - deadline;
      std::cout << executor << ": deadline of " << 1e3 * deadline << " ms overrun by " << 1e6 * late << " us, "
                << 1e6 * r.seconds_per_iteration() << " us an iteration, " << r.iterations() << " iterations\n";
      CHECK(r.reason() == reason::deadline);
      CHECK(late >= 0);
      CHECK(all_finite(values(io.x)));
    }

    solver.set_deadline(std::numeric_limits<double>::infinity());
    double least = 1, most = 0, iteration = 0;
    for (int time = 0; time < 5; ++time) {
      const operands<double> io(place::gpu(0), b);
      const ticket t = solver.enqueue(stream.get(), io.b.data(), io.x.data());
      while (!(t.progress().running && t.progress().iteration > 10) && !t.done()) std::this_thread::yield();
      const index_type seen = t.progress().iteration;
      CHECK_FALSE(t.done());
      const auto asked = std::chrono::steady_clock::now();
      t.cancel();
      const report r = t.wait();
      const double took = seconds_since(asked);
      least = std::min(least, took);
      most = std::max(most, took);
      iteration = r.seconds_per_iteration();
      CHECK(r.reason() == reason::cancelled);
      CHECK(r.iterations() >= seen);
      CHECK(all_finite(values(io.x)));
    }
    std::cout << executor << ": cancelled, from asking to the report on the host, in " << 1e6 * least << " to "
              << 1e6 * most << " us, " << 1e6 * iteration << " us an iteration\n";
  }
}

TEST_CASE("preconditioners of the caller's own on a GPU", "[enqueue][gpu]") {
  if (skipped()) return;
  // A Laplacian with rows and columns scaled by 1, 2, 3, so that its diagonal is not constant.
  const auto plain = whilst::make_gallery<double>("poisson2d:30").matrix;
  const index_type n = plain.rows();
  std::vector<std::int32_t> offsets(1, 0), columns(plain.column_indices().begin(), plain.column_indices().end());
  std::vector<double> entries, diagonal;
  for (index_type i = 0; i < n; ++i) {
    offsets.push_back(static_cast<std::int32_t>(plain.row_offset(i + 1)));
    const auto scale = [](index_type k) { return static_cast<double>(k % 3 + 1); };
    diagonal.push_back(4 * scale(i) * scale(i));
    for (index_type k = plain.row_offset(i); k < plain.row_offset(i + 1); ++k)
      entries.push_back(plain.values()[static_cast<std::size_t>(k)] * scale(i) *
                        scale(columns[static_cast<std::size_t>(k)]));
  }
  const csr_matrix<double> A(n, n, offsets, columns, entries);
  const auto oracle = to_eigen(A);
  const std::vector<double> b = random_vector<double>(n, 3);
  buffer<double> diagonal_there(place::gpu(0), n);
  diagonal_there.upload(diagonal.data());

  const linear_solver<double>::preconditioner_callback copy = [](whilst::stream_handle stream, index_type count,
                                                                 const double* r, double* z) {
    WHILST_CUDA("copying r to z", cudaMemcpyAsync(z, r, sizeof(double) * static_cast<std::size_t>(count),
                                                  cudaMemcpyDeviceToDevice, stream));
  };
  const linear_solver<double>::preconditioner_callback jacobi =
      [&]([[maybe_unused]] whilst::stream_handle stream, [[maybe_unused]] index_type count,
          [[maybe_unused]] const double* r, [[maybe_unused]] double* z) {
#if defined(__CUDACC__)
        divide<<<static_cast<unsigned>((count + 127) / 128), 128, 0, stream>>>(count, r, diagonal_there.data(), z);
        WHILST_CUDA("dividing by the diagonal", cudaGetLastError());
#endif
      };
  constexpr double rtol = 1e-10;
  for (const char* executor : {"stream", "graph"}) {
    for (const std::string& method : methods_on(executor)) {
      for (const char* built_in : {"none", "jacobi"}) {
        INFO(executor << ", " << method << ", " << built_in);
        linear_solver_options options{.method = method, .rtol = rtol, .executor = executor};
        linear_solver<double> own(A, built_in == std::string("none") ? copy : jacobi, options);
        options.preconditioner = built_in;
        linear_solver<double> same(A, options);
        std::vector<double> x(b.size(), 0), y(b.size(), 0);
        const report of_own = own.solve(b, x), of_same = same.solve(b, y);
        CHECK(of_own.reason() == reason::converged_rtol);
        CHECK(of_own.preconditioner() == "user");
        // Both have converged, so A maps their difference to at most two residuals.
        CHECK((oracle * (to_eigen(x) - to_eigen(y))).norm() <= 2.01 * rtol * to_eigen(b).norm());
        // The same method, up to rounding; which BiCGSTAB amplifies.
        const index_type most = method == "cg" ? 1 : of_same.iterations() / 4;
        CHECK(std::abs(of_own.iterations() - of_same.iterations()) <= most);
        // What was recorded is replayed.
        std::vector<double> again(b.size(), 0);
        own.solve(b, again);
        CHECK((again == x));
      }
    }
  }
  CHECK(message_of([&] { linear_solver<double> solver(A, copy, {.executor = "resident"}); }).find("callback") !=
        std::string::npos);
}

TEST_CASE("memory is taken, copied and released beside captures of other threads", "[enqueue][gpu]") {
  if (skipped()) return;
  const std::vector<double> given = random_vector<double>(1000, 1);
  // A capture of a blocking stream forbids the legacy default stream to everybody.
  for (const unsigned flags : {cudaStreamNonBlocking, cudaStreamDefault}) {
    INFO((flags == cudaStreamDefault ? "a blocking stream" : "a stream that does not block"));
    cudaStream_t made = nullptr;
    WHILST_CUDA("making a stream", cudaStreamCreateWithFlags(&made, flags));
    const whilst::cuda::stream stream(made);
    const buffer<double> target(place::gpu(0), 1000);
    std::vector<double> fresh, copied;
    std::string message;
    const auto graph = captured(stream.get(), [&] {
      std::thread([&] {
        message = message_of([&] {
          buffer<double> other(place::gpu(0), 1000);
          fresh = values(other);
          other.upload(given.data());
          copied = values(other);
          const whilst::shared_memory_block pinned(place::gpu(0), 64);
          const whilst::cuda::event event = whilst::cuda::make_event();
        });
      }).join();
      WHILST_CUDA("setting all bits", cudaMemsetAsync(target.data(), 0xff, 1000 * sizeof(double), stream.get()));
    });
    launch_and_wait(graph, stream.get());
    CHECK(message == "no exception");
    CHECK((fresh == std::vector<double>(1000, 0)));
    CHECK((copied == given));
    CHECK_FALSE(all_finite(values(target)));  // the capture was whole
  }
}

#endif

}  // namespace whilst_test

// compiled by nvcc where CUDA is on
// The C interface on a GPU: device memory, streams, callbacks that enqueue, and memory given back.

#include <malloc.h>

#include <cmath>
#include <cstdint>

#include "tests/c/c_handles.hpp"
#include "whilst/engine/memory/cuda.hpp"
#include "whilst/engine/memory/memory.hpp"

#if WHILST_WITH_CUDA
namespace whilst_test {
namespace {

using whilst::buffer;
using whilst::place;

__global__ void c_second_difference(std::int64_t n, const double* x, double* y) {
  const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
  if (i < n) y[i] = 2 * x[i] - (i > 0 ? x[i - 1] : 0) - (i < n - 1 ? x[i + 1] : 0);
}
__global__ void c_halve(std::int64_t n, const double* r, double* z) {
  const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
  if (i < n) z[i] = r[i] / 2;
}
/// f = sum of (x_i - 1)^2 (i + 1), by one thread.
__global__ void c_bowl(std::int64_t n, const double* x, double* value, double* gradient) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const double off = x[i] - 1, weight = static_cast<double>(i + 1);
    sum += weight * off * off;
    gradient[i] = 2 * weight * off;
  }
  *value = sum;
}
/// F_i = x_i + x_(i+1)^2 / 4 - 5/4, around a ring: zero at ones.
__global__ void c_ring(std::int64_t n, const double* x, double* residual) {
  const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
  if (i < n) residual[i] = x[i] + x[(i + 1) % n] * x[(i + 1) % n] / 4 - 1.25;
}

unsigned c_blocks(std::int64_t n) { return static_cast<unsigned>((n + 127) / 128); }
cudaStream_t c_stream(void* stream) { return static_cast<cudaStream_t>(stream); }

int apply_line(void*, void* stream, std::int64_t rows, std::int64_t, const void* x, void* y) {
  c_second_difference<<<c_blocks(rows), 128, 0, c_stream(stream)>>>(rows, static_cast<const double*>(x),
                                                                    static_cast<double*>(y));
  return cudaGetLastError();
}
int apply_half(void*, void* stream, std::int64_t rows, std::int64_t, const void* r, void* z) {
  c_halve<<<c_blocks(rows), 128, 0, c_stream(stream)>>>(rows, static_cast<const double*>(r), static_cast<double*>(z));
  return cudaGetLastError();
}
int evaluate_bowl(void*, void* stream, std::int64_t n, const void* x, double* value, void* gradient) {
  c_bowl<<<1, 1, 0, c_stream(stream)>>>(n, static_cast<const double*>(x), value, static_cast<double*>(gradient));
  return cudaGetLastError();
}
int evaluate_ring(void*, void* stream, std::int64_t n, const void* x, void* residual) {
  c_ring<<<c_blocks(n), 128, 0, c_stream(stream)>>>(n, static_cast<const double*>(x), static_cast<double*>(residual));
  return cudaGetLastError();
}
int refuse(void*, void*, std::int64_t, std::int64_t, const void*, void*) { return 5; }

bool has_executor(const std::string& name) {
  int there = 0;
  require_ok(whilst_executor_available(name.c_str(), -1, &there));
  if (there != 1) WARN("no executor " << name << ": left out");
  return there == 1;
}
std::string option(const std::string& executor) { return "rtol=1e-10,executor=" + executor; }

/// Enqueues a solve with b = 1 in device memory on a stream of its own, and checks x.
void check_enqueued(whilst_solver* solver, int n, double times = 1) {
  const std::vector<double> ones(static_cast<std::size_t>(n), 1.0);
  const buffer<double> b(place::gpu(0), n, ones.data()), x(place::gpu(0), n);
  const auto stream = whilst::cuda::make_stream();
  c_ticket ticket;
  require_ok(whilst_enqueue(solver, stream.get(), b.data(), x.data(), &ticket));
  c_report report;
  require_ok(whilst_ticket_wait(ticket, &report));
  CHECK(whilst_report_converged(report) == 1);
  std::vector<double> found(ones.size());
  x.download(found.data());
  check_parabola(found, 1e-10, times);
}

double free_gpu_bytes() {
  std::size_t free = 0, total = 0;
  REQUIRE(cudaMemGetInfo(&free, &total) == cudaSuccess);
  return static_cast<double>(free);
}

}  // namespace

TEST_CASE("C: host and device memory, on a GPU", "[c][sanitizer]") {
  for (const char* const executor : {"stream", "graph", "resident"}) {
    if (!has_executor(executor)) continue;
    for (const int n : {1, 60, 700}) {
      CAPTURE(executor, n);
      const c_line<double> line(n);
      const buffer<std::int32_t> offsets(place::gpu(0), n + 1, line.offsets.data());
      const buffer<std::int32_t> indices(place::gpu(0), line.nonzeros(), line.indices.data());
      const buffer<double> values(place::gpu(0), line.nonzeros(), line.values.data());
      c_matrix borrowed;
      require_ok(whilst_matrix_borrow(WHILST_DOUBLE, WHILST_DEVICE, n, n, line.nonzeros(), offsets.data(), 32,
                                      indices.data(), values.data(), &borrowed));
      const c_solver on_device = c_linear(borrowed, option(executor).c_str());
      check_enqueued(on_device, n);
      const c_solver copied = c_linear(line.copied(), option(executor).c_str());
      check_enqueued(copied, n);
      std::vector<double> b(static_cast<std::size_t>(n), 1.0), x(b.size());
      require_ok(whilst_solve(copied, b.data(), n, x.data(), n, nullptr));
      check_parabola(x, 1e-10);

      std::vector<double> doubled = line.values;
      for (double& value : doubled) value *= 2;
      require_ok(whilst_solver_update_values(copied, doubled.data(), line.nonzeros()));
      check_enqueued(copied, n, 0.5);
      require_ok(whilst_solver_bind_values(copied, values.data()));
      check_enqueued(copied, n);
      std::int64_t on_gpus = 0;
      require_ok(whilst_solver_bytes(copied, nullptr, &on_gpus));
      CHECK(on_gpus > 8 * n);
    }
  }
}

TEST_CASE("C: host memory that a GPU cannot read is refused", "[c]") {
  if (!has_executor("graph")) return;
  const c_solver solver = c_linear(c_line<double>(60).copied(), "executor=graph");
  std::vector<double> b(60, 1.0), x(60);
  int attribute = 0;
  cudaDeviceGetAttribute(&attribute, cudaDevAttrPageableMemoryAccess, 0);
  if (attribute) return;
  c_ticket ticket;
  check_refused(whilst_enqueue(solver, nullptr, b.data(), x.data(), &ticket), "whilst_enqueue: ");
  CHECK(static_cast<whilst_ticket*>(ticket) == nullptr);
}

TEST_CASE("C: callbacks that enqueue on a GPU", "[c][sanitizer]") {
  constexpr int n = 60;
  for (const char* const executor : {"stream", "graph"}) {
    if (!has_executor(executor)) continue;
    CAPTURE(executor);
    const std::string options = option(executor);
    for (const bool preconditioned : {false, true}) {
      c_solver by_products, of_matrix;
      require_ok(whilst_linear_create_operator(WHILST_DOUBLE, WHILST_DEVICE, n, n, apply_line, nullptr,
                                               preconditioned ? apply_half : nullptr, nullptr, options.c_str(),
                                               &by_products));
      check_enqueued(by_products, n);
      require_ok(whilst_linear_create_preconditioned(c_line<double>(n).copied(), WHILST_DEVICE, apply_half, nullptr,
                                                     options.c_str(), &of_matrix));
      check_enqueued(of_matrix, n);
    }
    const std::string alone = std::string("executor=") + executor;
    const auto check_ones = [&](whilst_solver* solver) {
      std::vector<double> x(n, 0.5);
      c_report report;
      require_ok(whilst_solve(solver, nullptr, 0, x.data(), n, &report));
      INFO(whilst_report_text(report, WHILST_MESSAGE));
      CHECK(whilst_report_converged(report) == 1);
      // Both Jacobians' inverses have norms of at most 2, and the tolerances are 1e-10.
      for (const double one : x) CHECK(std::abs(one - 1) <= 2e-10);
    };
    c_solver minimizer, equations;
    require_ok(
        whilst_minimizer_create(WHILST_DOUBLE, WHILST_DEVICE, n, evaluate_bowl, nullptr, alone.c_str(), &minimizer));
    require_ok(whilst_solver_set_tolerances(minimizer, 0, 1e-10));
    check_ones(minimizer);
    require_ok(
        whilst_equations_create(WHILST_DOUBLE, WHILST_DEVICE, n, evaluate_ring, nullptr, alone.c_str(), &equations));
    require_ok(whilst_solver_set_tolerances(equations, 0, 1e-10));
    check_ones(equations);
  }
}

TEST_CASE("C: a callback that fails on a GPU is an error, and no crash", "[c]") {
  for (const char* const executor : {"stream", "graph"}) {
    if (!has_executor(executor)) continue;
    CAPTURE(executor);
    c_solver solver;
    std::vector<double> b(60, 1.0), x(60);
    // Under "graph" it is called when the loop is recorded, under "stream" when a solve runs.
    whilst_status status = whilst_linear_create_operator(WHILST_DOUBLE, WHILST_DEVICE, 60, 60, refuse, nullptr, nullptr,
                                                         nullptr, option(executor).c_str(), &solver);
    if (status == WHILST_OK) status = whilst_solve(solver, b.data(), 60, x.data(), 60, nullptr);
    check_refused(status, "the callback A returned 5", WHILST_CALLBACK_FAILED);
  }
}

TEST_CASE("C: callbacks in host memory run on the host where there is a GPU, too", "[c]") {
  c_solver solver;
  const auto apply = [](void*, void* stream, std::int64_t rows, std::int64_t, const void* x, void* y) {
    for (std::int64_t i = 0; i < rows; ++i) static_cast<double*>(y)[i] = 2 * static_cast<const double*>(x)[i];
    return stream ? 1 : 0;
  };
  require_ok(whilst_linear_create_operator(WHILST_DOUBLE, WHILST_HOST, 3, 3, apply, nullptr, nullptr, nullptr, nullptr,
                                           &solver));
  const double b[3] = {2, 4, 6};
  double x[3] = {};
  require_ok(whilst_solve(solver, b, 3, x, 3, nullptr));
  for (int i = 0; i < 3; ++i) CHECK(x[i] == i + 1);
}

TEST_CASE("C: 10 000 solves leave no memory of the GPU behind", "[c][alone]") {
  if (!has_executor("graph")) return;
  const c_line<double> line(60);
  const std::vector<double> b(60, 1.0);
  const c_solver kept = c_linear(line.copied(), "executor=graph");
  const auto solves = [&](int times) {
    for (int k = 0; k < times; ++k) {
      std::vector<double> x(60);
      c_report report;
      require_ok(whilst_solve(kept, b.data(), 60, x.data(), 60, &report));
      if (k % 200 == 0) check_enqueued(c_linear(line.copied(), "executor=graph,rtol=1e-12"), 60);
    }
  };
  solves(1000);  // what grows once has grown
  const double before = free_gpu_bytes();
  const auto on_host = static_cast<std::int64_t>(::mallinfo2().uordblks);
  solves(10'000);
  CHECK(before - free_gpu_bytes() <= 4 << 20);  // the driver hands memory out in pieces of 2 MB
  // It also keeps memory of the host; a lost report in each solve, with its history, would be some 10 MB.
  CHECK(static_cast<std::int64_t>(::mallinfo2().uordblks) - on_host <= 4 << 20);
}

}  // namespace whilst_test
#endif

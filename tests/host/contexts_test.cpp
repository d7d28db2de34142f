// compiled by nvcc where CUDA is on
// Memory that a GPU can use and memory that it cannot, contexts of the caller's own, and what is left after a fault.
#define EIGEN_NO_CUDA  // Eigen is an oracle on the host; nvcc warns about its annotations for devices

#include "tests/catch.hpp"

#if WHILST_WITH_CUDA

#include <cuda.h>
#include <dlfcn.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <utility>

#include "tests/apps/run_program.hpp"
#include "tests/engine/faults/faults.hpp"
#include "tests/host/batches.hpp"
#include "tests/least_squares/enqueued_fits.hpp"
#include "tests/linear/systems.hpp"
#include "tests/nonlinear/minimizer_functions.hpp"
#include "whilst/batch_linear_solver.hpp"
#include "whilst/rebindable.hpp"

namespace whilst_test {

using whilst::buffer;
using whilst::csr_matrix;
using whilst::linear_solver;
using whilst::place;
using whilst::program_recorder;

namespace {

constexpr index_type n = 900;
csr_matrix<double> system_of_n() { return whilst::make_gallery<double>("poisson2d:30").matrix; }
/// The executors of a GPU.
std::vector<std::string> on_gpu() {
  std::vector<std::string> names = executors();
  std::erase(names, "host");
  return names;
}

/// Memory of a kind, for n numbers, which are 1.
using memory = std::unique_ptr<double, cudaError_t (*)(void*)>;
memory made(const std::string& kind) {
  void* data = nullptr;
  constexpr std::size_t bytes = n * sizeof(double);
  if (kind == "managed") REQUIRE(cudaMallocManaged(&data, bytes) == cudaSuccess);
  if (kind == "pinned") REQUIRE(cudaHostAlloc(&data, bytes, cudaHostAllocMapped) == cudaSuccess);
  if (kind == "device") REQUIRE(cudaMalloc(&data, bytes) == cudaSuccess);
  if (kind == "of a pool") {
    REQUIRE(cudaMallocAsync(&data, bytes, nullptr) == cudaSuccess);
    REQUIRE(cudaStreamSynchronize(nullptr) == cudaSuccess);
  }
  const std::vector<double> ones(n, 1);
  REQUIRE(cudaMemcpy(data, ones.data(), bytes, cudaMemcpyDefault) == cudaSuccess);
  return {static_cast<double*>(data), kind == "pinned" ? cudaFreeHost : cudaFree};
}

/// Whether the GPU reads all memory of the host: then there is none that it cannot use.
bool reads_all_memory() {
  int reads_all = 0;
  REQUIRE(cudaDeviceGetAttribute(&reads_all, cudaDevAttrPageableMemoryAccess, 0) == cudaSuccess);
  return reads_all != 0;
}
const char* const not_for_gpu = "memory of the host, or was freed, and the work is on GPU 0";
/// Calls enqueue(pointer) with memory of the host and with memory that was freed: each is refused as `name`.
template <class Enqueue>
void check_refused(const std::string& name, const Enqueue& enqueue) {
  std::vector<double> host(2 * n, 1);
  CHECK_THROWS_WITH(enqueue(host.data()), contains(name + " is " + not_for_gpu));
  void* freed = nullptr;
  constexpr std::size_t large = std::size_t{64} << 20;  // shares no piece of the driver's with other memory
  REQUIRE(cudaMalloc(&freed, large) == cudaSuccess);
  REQUIRE(cudaFree(freed) == cudaSuccess);
  CHECK_THROWS_WITH(enqueue(static_cast<double*>(freed)), contains(name + " is " + not_for_gpu));
}

void check_solves(linear_solver<double>& solver) {
  const std::vector<double> b(n, 1);
  std::vector<double> x(n, 0);
  CHECK(solver.solve(b, x).converged());
  CHECK(relative_residual(system_of_n(), b, x) <= 2e-8);  // twice the tolerance asked for
}

struct write_there {
  int* where;
  WHILST_HD void operator()(index_type) const { *where = 1; }
};
/// A kernel of a caller's that faults: no memory is at address 64.
void fault() {
  program_recorder record(place::gpu(0));
  record.step("write where nothing is", 1, write_there{reinterpret_cast<int*>(std::uintptr_t{64})});
  whilst::program program = std::move(record).finish();
  program.prepare({.how = whilst::executor::stream});
  program.enqueue(nullptr);
  CHECK_THROWS_WITH(program.wait(), contains("cudaErrorIllegalAddress") && contains("the CUDA context is lost") &&
                                        contains("Restart the process") && contains("compute-sanitizer"));
}

/// Functions of the driver that make and destroy contexts.
struct driver {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  template <class Function>
  Function* find(const char* name) const {
    return library ? reinterpret_cast<Function*>(dlsym(library, name)) : nullptr;
  }
  CUresult (*create)(CUcontext*, unsigned, CUdevice) = find<CUresult(CUcontext*, unsigned, CUdevice)>("cuCtxCreate_v2");
  CUresult (*destroy)(CUcontext) = find<CUresult(CUcontext)>("cuCtxDestroy_v2");
  CUresult (*set)(CUcontext) = find<CUresult(CUcontext)>("cuCtxSetCurrent");
  CUresult (*get)(CUcontext*) = find<CUresult(CUcontext*)>("cuCtxGetCurrent");

  CUcontext current() const {
    CUcontext found = nullptr;
    REQUIRE(get(&found) == CUDA_SUCCESS);
    return found;
  }
};

}  // namespace

TEST_CASE("memory that a GPU sees is taken, of whatever kind", "[pointers][gpu]") {
  for (const std::string& executor : on_gpu()) {
    linear_solver<double> solver(system_of_n(), {.executor = executor});
    for (const char* kind : {"device", "managed", "pinned", "of a pool"}) {
      INFO(executor << ", " << kind);
      const memory b = made(kind), x = made(kind);
      CHECK(solver.enqueue(nullptr, b.get(), x.get()).wait().converged());
      std::vector<double> result(n), ones(n, 1);
      REQUIRE(cudaMemcpy(result.data(), x.get(), n * sizeof(double), cudaMemcpyDefault) == cudaSuccess);
      CHECK(relative_residual(system_of_n(), ones, result) <= 2e-8);
    }
  }
}

TEST_CASE("memory that a GPU cannot use is refused, and the context lives", "[pointers][gpu]") {
  if (!has_gpu() || reads_all_memory()) return;
  std::vector<double> host(n, 1);
  const auto A = system_of_n();
  const buffer<double> there(place::gpu(0), n);
  for (const std::string& executor : on_gpu()) {
    INFO(executor);
    linear_solver<double> solver(A, {.executor = executor});
    check_refused("b", [&](double* b) { solver.enqueue(nullptr, b, there.data()); });
    check_refused("x", [&](double* x) { solver.enqueue(nullptr, there.data(), x); });
    check_refused("the pointer", [&](double* values) { solver.bind_values(values); });
    check_solves(solver);
    const auto offsets = A.row_offsets_32();
    CHECK_THROWS_WITH(linear_solver<double>(csr_matrix<double>::on_device(n, n, A.nonzeros(), offsets.data(),
                                                                          A.column_indices().data(), A.values().data()),
                                            {.executor = executor}),
                      contains("making a linear solver: row_offsets is memory of the host"));
  }
  CHECK_THROWS_WITH(whilst::rebindable<double>(place::gpu(0), host.data()), contains(not_for_gpu));
  program_recorder record(place::gpu(0));
  whilst::control on_host{};
  CHECK_THROWS_WITH(record.loop("l", &on_host, [](auto&) {}), contains("recording loop 'l': the control is memory"));
  const auto slot = record.slot<double>("x");
  whilst::program program = std::move(record).finish();
  CHECK_THROWS_WITH(program.bind(slot, host.data()), contains("binding a slot: the pointer is memory of the host"));
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
}

TEST_CASE("a batch refuses memory that a GPU cannot use, and solves on", "[pointers][gpu][batch]") {
  if (!has_gpu() || reads_all_memory()) return;
  const auto A = system_of_n();
  std::vector<double> values(A.values().begin(), A.values().end());
  values.insert(values.end(), A.values().begin(), A.values().end());
  buffer<double> values_there(place::gpu(0), 2 * A.nonzeros()), b_there(place::gpu(0), 2 * n),
      x_there(place::gpu(0), 2 * n);
  whilst::batch_linear_solver<double> solver(A, 2, {.executor = "batch"});
  check_refused("the pointer", [&](double* of) { solver.enqueue(nullptr, of, b_there.data(), x_there.data()); });
  check_refused("b", [&](double* b) { solver.enqueue(nullptr, values_there.data(), b, x_there.data()); });
  check_refused("x", [&](double* x) { solver.enqueue(nullptr, values_there.data(), b_there.data(), x); });

  values_there.upload(values.data());
  b_there.upload(std::vector<double>(2 * n, 1).data());
  x_there.upload(std::vector<double>(2 * n, 0).data());
  CHECK(solver.enqueue(nullptr, values_there.data(), b_there.data(), x_there.data()).wait().all_converged());
  const std::vector<double> x = whilst_test::values(x_there);
  for (const auto first : {x.begin(), x.begin() + n})
    CHECK(relative_residual(A, std::vector<double>(n, 1), {first, first + n}) <= 2e-8);
}

TEST_CASE("minimizers refuse memory that a GPU cannot use, and minimize on", "[pointers][gpu][minimizer]") {
  if (!has_gpu() || reads_all_memory()) return;
  for (const std::string& executor : recorded_executors()) {
    if (executor == "host") continue;
    INFO(executor);
    constexpr double tolerance = 1e-5;
    own_minimizer<double> springs([](place where) { return make_spring_line<double>(where, n); },
                                  {.tolerances = {.gradient = tolerance}, .executor = executor});
    check_refused("x", [&](double* x) { springs.by.enqueue(nullptr, x); });
    buffer<double> there(place::gpu(0), n);
    there.upload(std::vector<double>(n, 0).data());
    CHECK(springs.by.enqueue(nullptr, there.data()).wait().converged());
    const Eigen::VectorXd gradient =
        spring_line::matrix(n) * to_eigen(whilst_test::values(there)) - spring_line::right_hand_side(n);
    CHECK(gradient.norm() <= 1.01 * tolerance);  // rounding of numbers of size 10 adds far less
  }
}

TEST_CASE("fits refuse memory that a GPU cannot use, and fit on", "[pointers][gpu][least_squares]") {
  if (!has_gpu() || reads_all_memory()) return;
  const enqueued_fits::line_data line(0);
  for (const std::string& executor : recorded_executors()) {
    if (executor == "host") continue;
    INFO(executor);
    whilst::curve_fit<double, enqueued_fits::straight_line> fit({}, line.x, line.y, {.executor = executor});
    check_refused("x", [&](double* b) { fit.enqueue(nullptr, b); });
    const buffer<double> b = enqueued_fits::on_place(executor, {0, 0});
    const whilst::least_squares_report report = fit.enqueue(nullptr, b.data()).wait();
    line.check(report, enqueued_fits::values(b));
  }
}

TEST_CASE("with pointers left unchecked, no question is asked", "[pointers][gpu]") {
  if (!has_gpu()) return;
  const memory b = made("device"), x = made("device");
  const whilst::cuda::stream stream = whilst::cuda::make_stream();
  for (const bool looks : {true, false}) {
    linear_solver<double> solver(system_of_n(), {.executor = "graph", .check_pointers = looks});
    int questions = 0;
    whilst::cuda::observer() = [&](std::string_view call) {
      questions += call.find("cudaPointerGetAttributes") != std::string_view::npos;
      return cudaSuccess;
    };
    const whilst::ticket t = solver.enqueue(stream.get(), b.get(), x.get());
    whilst::cuda::observer() = nullptr;
    CHECK(questions == (looks ? 2 : 0));
    CHECK(t.wait().converged());
  }
}

TEST_CASE("with pointers left unchecked, no question is asked about a matrix", "[pointers][gpu]") {
  if (!has_gpu()) return;
  const auto A = system_of_n();
  const place gpu = place::gpu(0);
  whilst::buffer<std::int32_t> offsets(gpu, A.rows() + 1), columns(gpu, A.nonzeros());
  whilst::buffer<double> entries(gpu, A.nonzeros());
  offsets.upload(A.row_offsets_32().data());
  columns.upload(A.column_indices().data());
  entries.upload(A.values().data());
  const auto there =
      csr_matrix<double>::on_device(A.rows(), A.rows(), A.nonzeros(), offsets.data(), columns.data(), entries.data());
  const auto questions_of = [](const auto& make) {
    int questions = 0;
    whilst::cuda::observer() = [&](std::string_view call) {
      questions += call.find("cudaPointerGetAttributes") != std::string_view::npos;
      return cudaSuccess;
    };
    make();
    whilst::cuda::observer() = nullptr;
    return questions;
  };
  // A solver asks about memory of its own besides. The matrix has three arrays.
  const auto asked = [&](const auto& make) {
    return questions_of([&] { make(whilst::linear_solver_options{.check_pointers = true}); }) -
           questions_of([&] { make(whilst::linear_solver_options{.check_pointers = false}); });
  };
  CHECK(asked([&](const auto& options) { linear_solver<double>(there, options); }) == 3);
  CHECK(asked([&](const auto& options) { whilst::batch_linear_solver<double>(there, 2, options); }) == 3);
}

TEST_CASE("a captured graph solves in memory that it takes itself", "[pointers][gpu]") {
  if (!has_gpu()) return;
  linear_solver<double> solver(system_of_n(), {.executor = "graph"});
  if (solver.executor() != "graph") return;  // conditional nodes are wanted
  const memory b = made("device"), x = made("device");
  const whilst::cuda::stream stream = whilst::cuda::make_stream();
  constexpr std::size_t bytes = n * sizeof(double);
  const whilst::cuda::graph graph = captured(stream.get(), [&] {
    void* own = nullptr;
    REQUIRE(cudaMallocAsync(&own, bytes, stream.get()) == cudaSuccess);
    REQUIRE(cudaMemsetAsync(own, 0, bytes, stream.get()) == cudaSuccess);
    solver.enqueue(stream.get(), b.get(), static_cast<double*>(own));
    REQUIRE(cudaMemcpyAsync(x.get(), own, bytes, cudaMemcpyDeviceToDevice, stream.get()) == cudaSuccess);
    REQUIRE(cudaFreeAsync(own, stream.get()) == cudaSuccess);
  });
  launch_once(graph, stream.get());
  std::vector<double> result(n), ones(n, 1);
  REQUIRE(cudaMemcpy(result.data(), x.get(), bytes, cudaMemcpyDefault) == cudaSuccess);
  CHECK(relative_residual(system_of_n(), ones, result) <= 2e-8);
}

TEST_CASE("a solver keeps to the context that it was made in", "[contexts][gpu]") {
  if (!has_gpu()) return;
  REQUIRE(cudaFree(nullptr) == cudaSuccess);
  const driver by;
  REQUIRE(by.create);
  const CUcontext primary = by.current();
  linear_solver<double> first(system_of_n(), {.executor = "graph"});
  check_solves(first);
  CUcontext own = nullptr;
  if (by.create(&own, 0, 0) != CUDA_SUCCESS) return;  // some machines allow one context only
  CHECK_FALSE(first.is_lost());
  std::vector<double> b(n, 1), x(n, 0);
  const char* const elsewhere = "made in another CUDA context of this GPU than the one that is current";
  CHECK_THROWS_WITH(first.solve(b, x), contains(elsewhere) && contains("cuCtxSetCurrent"));
  CHECK_THROWS_WITH(first.progress(), contains(elsewhere));
  {
    linear_solver<double> second(system_of_n(), {.executor = "graph"});
    check_solves(second);
    CHECK(by.current() == own);
    REQUIRE(by.set(primary) == CUDA_SUCCESS);
    CHECK_THROWS_WITH(second.solve(b, x), contains(elsewhere));
    CHECK_FALSE(second.is_lost());
    check_solves(first);
    CHECK(by.current() == primary);
    REQUIRE(by.destroy(own) == CUDA_SUCCESS);
    CHECK(second.is_lost());
    CHECK_FALSE(first.is_lost());
    CHECK_THROWS_WITH(second.solve(b, x), contains("was destroyed"));
  }
  check_solves(first);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
}

TEST_CASE("a solver of another GPU leaves the caller's own context current", "[contexts][gpu]") {
  if (whilst::cuda::device_count() < 2) return;
  const driver by;
  REQUIRE(by.create);
  CUcontext own = nullptr;
  REQUIRE(cudaFree(nullptr) == cudaSuccess);
  if (by.create(&own, 0, 0) != CUDA_SUCCESS) return;  // some machines allow one context only
  {
    linear_solver<double> solver(system_of_n(), {.executor = "graph", .device = 1});
    check_solves(solver);
    CHECK(by.current() == own);
  }
  CHECK(by.current() == own);
  REQUIRE(by.destroy(own) == CUDA_SUCCESS);
}

TEST_CASE("memory of another GPU is refused until it is within reach", "[contexts][pointers][gpu]") {
  if (whilst::cuda::device_count() < 2) return;
  const std::vector<double> ones(n, 1);
  const auto on = [&](int device) {
    buffer<double> made(place::gpu(device), n);
    REQUIRE(cudaMemcpy(made.data(), ones.data(), n * sizeof(double), cudaMemcpyDefault) == cudaSuccess);
    return made;
  };
  const buffer<double> there = on(1);
  for (const std::string& executor : on_gpu()) {
    INFO(executor);
    buffer<double> here = on(0);
    linear_solver<double> solver(system_of_n(), {.executor = executor, .device = 0});
    CHECK_THROWS_WITH(solver.enqueue(nullptr, there.data(), here.data()),
                      contains("enqueueing a solve: b is memory of GPU 1, out of reach of GPU 0"));
    CHECK_THROWS_WITH(solver.bind_values(there.data()), contains("the pointer is memory of GPU 1, out of reach"));
    check_solves(solver);
    int can_reach = 0;
    REQUIRE(cudaDeviceCanAccessPeer(&can_reach, 0, 1) == cudaSuccess);
    if (can_reach == 0) continue;
    REQUIRE(cudaSetDevice(0) == cudaSuccess);
    REQUIRE(cudaDeviceEnablePeerAccess(1, 0) == cudaSuccess);
    CHECK(solver.enqueue(nullptr, there.data(), here.data()).wait().converged());
    REQUIRE(cudaDeviceDisablePeerAccess(1) == cudaSuccess);
  }
}

// Hidden, since a fault takes the context from all other tests: the next one runs it in a process of its own.
TEST_CASE("after a fault all say so, and destructors are silent", "[.][faults-in-a-kernel]") {
  auto solver =
      std::make_unique<linear_solver<double>>(system_of_n(), whilst::linear_solver_options{.executor = "graph"});
  auto there = std::make_unique<buffer<double>>(place::gpu(0), n);
  check_solves(*solver);
  const whilst::ticket ticket = solver->enqueue(nullptr, there->data(), there->data());
  std::vector<double> b(n, 1), x(n, 0);
  fault();
  const std::vector<std::function<void()>> uses{
      [&] { ticket.wait(); },    [&] { solver->solve(b, x); },     [&] { solver->progress(); },
      [&] { solver->cancel(); }, [&] { there->upload(b.data()); }, [&] { buffer<double>(place::gpu(0), n); },
  };
  for (int i = 0; i < 2; ++i) {
    CHECK(solver->is_lost());
    CHECK(ticket.done());
    for (const std::function<void()>& use : uses)
      CHECK_THROWS_WITH(use(),
                        contains("cudaErrorIllegalAddress") && contains("lost") && contains("Restart the process"));
    CHECK_THROWS_AS(linear_solver<double>(system_of_n(), {.executor = "graph"}), whilst::error);
  }
  solver.reset();
  there.reset();
}

TEST_CASE("a fault in a kernel is told once and for all", "[contexts][gpu]") {
  if (!has_gpu()) return;
  const auto ran = run_program(std::filesystem::read_symlink("/proc/self/exe").string(), {"[faults-in-a-kernel]"});
  INFO(ran.out << ran.err);
  CHECK(ran.status == 0);
  CHECK_THAT(ran.out, contains("All tests passed"));
}

}  // namespace whilst_test

#endif

// compiled by nvcc where CUDA is on

/// A time-stepping code that owns its CUDA graphs, and Whilst's loop inside them. It uses the CUDA runtime as any
/// program does, and of Whilst the library door alone.

#include "stepper.hpp"
#include "whilst/error.hpp"

#if WHILST_WITH_CUDA

#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <stdexcept>

namespace whilst::heat_steps {
namespace {

void require(cudaError_t status, const char* call) {
  if (status != cudaSuccess) throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(status));
}
#define CUDA(...) require(__VA_ARGS__, #__VA_ARGS__)

template <auto release>
struct releaser {
  template <class Handle>
  void operator()(Handle handle) const {
    release(handle);
  }
};
using stream_owner = std::unique_ptr<CUstream_st, releaser<cudaStreamDestroy>>;
using graph_owner = std::unique_ptr<CUgraph_st, releaser<cudaGraphDestroy>>;
using exec_owner = std::unique_ptr<CUgraphExec_st, releaser<cudaGraphExecDestroy>>;
template <class T>
using device_array = std::unique_ptr<T, releaser<cudaFree>>;
template <class T>
using pinned = std::unique_ptr<T, releaser<cudaFreeHost>>;

template <class T>
device_array<T> make_device_array(index_type count) {
  void* memory = nullptr;
  CUDA(cudaMalloc(&memory, static_cast<std::size_t>(count) * sizeof(T)));
  return device_array<T>(static_cast<T*>(memory));
}

__global__ void begin_step_kernel(plate p, fields at) {
  const index_type i = index_type{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < p.points()) begin_step(p, at, i);
}

constexpr unsigned summing_threads = 256, most_summing_blocks = 1024;
/// The sum of a number of each thread of a block, in a fixed order; the first thread's alone is of use.
__device__ double sum_of_block(double mine) {
  __shared__ double sums[summing_threads];
  sums[threadIdx.x] = mine;
  for (unsigned half = summing_threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  return sums[threadIdx.x];
}
/// Leaves each block's part of the squared changes.
__global__ void sum_changes_kernel(plate p, fields at, double* parts) {
  const index_type threads = index_type{gridDim.x} * blockDim.x;
  double sum = 0;
  for (index_type i = index_type{blockIdx.x} * blockDim.x + threadIdx.x; i < p.points(); i += threads)
    sum += squared_change(at, i);
  sum = sum_of_block(sum);
  if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}
/// By one block. another_step: the condition of the WHILE node around it; 0 for none.
__global__ void end_step_kernel(plate p, fields at, const double* parts, unsigned number_of_parts,
                                const solve_outcome* solved, cudaGraphConditionalHandle another_step) {
  double sum = 0;
  for (unsigned i = threadIdx.x; i < number_of_parts; i += summing_threads) sum += parts[i];
  sum = sum_of_block(sum);
  if (threadIdx.x > 0) return;
  const bool again = end_step(p, *at.state, sum, *solved);
  if (another_step) cudaGraphSetConditional(another_step, again);
}

class gpu_stepper final : public stepper {
 public:
  gpu_stepper(const plate& p, const std::string& preconditioner)
      : plate_(p),
        options_(solver_options("graph", preconditioner)),
        rows_(matrix_of(p)),
        matrix_(csr_matrix<double>::on_device(p.points(), p.points(), rows_.nonzeros, rows_.offsets.get(),
                                              rows_.columns.get(), rows_.values.get())),
        solver_(matrix_, options_),
        u_(make_device_array<double>(p.points())),
        before_(make_device_array<double>(p.points())),
        b_(make_device_array<double>(p.points())),
        parts_(make_device_array<double>(most_summing_blocks)),
        state_(make_device_array<run_state>(1)),
        at_{u_.get(), before_.get(), b_.get(), state_.get(), rows_.offsets.get(), rows_.values.get()} {
    cudaStream_t stream = nullptr;
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    stream_.reset(stream);
    void* seen = nullptr;
    CUDA(cudaMallocHost(&seen, sizeof(run_state)));
    seen_.reset(static_cast<run_state*>(seen));
  }
  ~gpu_stepper() override { cudaStreamSynchronize(stream_.get()); }

  std::vector<way> ways() const override { return {way::plain, way::step, way::whole, way::anew}; }

  made_run run(way how, const run_state& begin) override {
    if (how == way::step && !one_step_) capture_one_step();
    if (how == way::whole && !all_steps_) build_all_steps();
    const std::vector<double> start = start_of(plate_);
    const std::size_t bytes = start.size() * sizeof(double);
    CUDA(cudaMemcpy(at_.u, start.data(), bytes, cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy(at_.state, &begin, sizeof begin, cudaMemcpyHostToDevice));
    CUDA(cudaDeviceSynchronize());
    solver_.refresh_preconditioner();  // a lagged one may be from a later step

    made_run result;
    const auto began = std::chrono::steady_clock::now();
    do {
      if (how == way::plain) {
        last_solve_ = enqueue_step(0);
      } else if (how == way::anew) {
        last_solve_ = enqueue_step_anew();
      } else {
        CUDA(cudaGraphLaunch(how == way::step ? one_step_.get() : all_steps_.get(), stream_.get()));
      }
      if (how != way::step) copy_state();  // a step's graph does it itself
      CUDA(cudaStreamSynchronize(stream_.get()));
      result.launches += how == way::step ? 1 : how == way::whole ? 2 : 5;
    } while (seen_->why == ending::running);
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();

    result.end = *seen_;
    result.u.resize(start.size());
    CUDA(cudaMemcpy(result.u.data(), at_.u, bytes, cudaMemcpyDeviceToHost));
    const ticket& last = how == way::step ? *solve_of_step_ : how == way::whole ? *solve_of_all_ : *last_solve_;
    result.last_solve = last.wait().message();
    return result;
  }

 private:
  /// A matrix in the program's own memory: begin_step writes new values there, and solves read them.
  struct rows_on_device {
    index_type nonzeros;
    device_array<std::int32_t> offsets, columns;
    device_array<double> values;

    explicit rows_on_device(const stored_rows& rows)
        : nonzeros(static_cast<index_type>(rows.values.size())),
          offsets(copied(rows.offsets)),
          columns(copied(rows.columns)),
          values(copied(rows.values)) {}
    template <class T>
    static device_array<T> copied(const std::vector<T>& from) {
      device_array<T> made = make_device_array<T>(static_cast<index_type>(from.size()));
      CUDA(cudaMemcpy(made.get(), from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice));
      return made;
    }
  };

  /// The parts of a step: kernels, and a solve from u to u. Enqueued, or captured where the stream is capturing.
  ticket enqueue_step(cudaGraphConditionalHandle another_step) {
    enqueue_begin();
    return enqueue_solve_and_end(solver_, another_step);
  }
  /// The same with a solver that is made from the step's matrix.
  ticket enqueue_step_anew() {
    enqueue_begin();
    CUDA(cudaStreamSynchronize(stream_.get()));
    anew_ = std::make_unique<linear_solver<double>>(matrix_, options_);
    return enqueue_solve_and_end(*anew_, 0);
  }
  void enqueue_begin() {
    begin_step_kernel<<<blocks_for(256), 256, 0, stream_.get()>>>(plate_, at_);
    CUDA(cudaGetLastError());
  }
  ticket enqueue_solve_and_end(linear_solver<double>& solver, cudaGraphConditionalHandle another_step) {
    const ticket solve = solver.enqueue(stream_.get(), at_.b, at_.u);
    const unsigned parts = std::min(blocks_for(summing_threads), most_summing_blocks);
    sum_changes_kernel<<<parts, summing_threads, 0, stream_.get()>>>(plate_, at_, parts_.get());
    CUDA(cudaGetLastError());
    end_step_kernel<<<1, summing_threads, 0, stream_.get()>>>(plate_, at_, parts_.get(), parts, solve.outcome(),
                                                              another_step);
    CUDA(cudaGetLastError());
    return solve;
  }
  unsigned blocks_for(unsigned threads) const {
    return static_cast<unsigned>((plate_.points() + threads - 1) / threads);
  }
  void copy_state() {
    CUDA(cudaMemcpyAsync(seen_.get(), at_.state, sizeof(run_state), cudaMemcpyDeviceToHost, stream_.get()));
  }

  void capture_one_step() {
    CUDA(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeThreadLocal));
    solve_of_step_ = enqueue_step(0);
    copy_state();
    cudaGraph_t captured = nullptr;
    CUDA(cudaStreamEndCapture(stream_.get(), &captured));
    const graph_owner graph(captured);
    one_step_ = instantiate(graph);
  }

  /// The outer loop is ours: a WHILE node made by hand, whose body is captured.
  void build_all_steps() {
    cudaGraph_t made = nullptr;
    CUDA(cudaGraphCreate(&made, 0));
    const graph_owner graph(made);
    cudaGraphConditionalHandle another_step{};  // 1 when the graph is launched: there is a first step
    CUDA(cudaGraphConditionalHandleCreate(&another_step, graph.get(), 1, cudaGraphCondAssignDefault));
    cudaGraphNodeParams loop{};
    loop.type = cudaGraphNodeTypeConditional;
    loop.conditional.handle = another_step;
    loop.conditional.type = cudaGraphCondTypeWhile;
    loop.conditional.size = 1;
    cudaGraphNode_t node = nullptr;
#if CUDART_VERSION >= 13000
    CUDA(cudaGraphAddNode(&node, graph.get(), nullptr, nullptr, 0, &loop));
#else
    CUDA(cudaGraphAddNode(&node, graph.get(), nullptr, 0, &loop));
#endif
    cudaGraph_t body = loop.conditional.phGraph_out[0];  // the node's
    CUDA(cudaStreamBeginCaptureToGraph(stream_.get(), body, nullptr, nullptr, 0, cudaStreamCaptureModeThreadLocal));
    solve_of_all_ = enqueue_step(another_step);
    CUDA(cudaStreamEndCapture(stream_.get(), &body));
    all_steps_ = instantiate(graph);
  }

  static exec_owner instantiate(const graph_owner& graph) {
    cudaGraphExec_t made = nullptr;
    CUDA(cudaGraphInstantiate(&made, graph.get(), 0));
    return exec_owner(made);
  }

  // In the order of their lives: graphs refer to what is above them, the solver's memory among it.
  plate plate_;
  linear_solver_options options_;
  rows_on_device rows_;
  csr_matrix<double> matrix_;
  linear_solver<double> solver_;
  std::unique_ptr<linear_solver<double>> anew_;
  device_array<double> u_, before_, b_, parts_;
  device_array<run_state> state_;
  fields at_;
  pinned<run_state> seen_;
  stream_owner stream_;
  std::optional<ticket> last_solve_, solve_of_step_, solve_of_all_;
  exec_owner one_step_, all_steps_;
};

}  // namespace

std::unique_ptr<stepper> make_gpu_stepper(const plate& p, const std::string& preconditioner) {
  return std::make_unique<gpu_stepper>(p, preconditioner);
}

}  // namespace whilst::heat_steps

#else

namespace whilst::heat_steps {
std::unique_ptr<stepper> make_gpu_stepper(const plate&, const std::string&) {
  throw error("making time steps on a GPU", "this build has no CUDA", "Configure with WHILST_CUDA=ON");
}
}  // namespace whilst::heat_steps

#endif

// compiled by nvcc where CUDA is on
#include "benchmarks/common/baselines.hpp"

#include "benchmarks/common/baselines_parts.hpp"

#if WHILST_WITH_CUDA

#include "whilst/linear/operators.hpp"

namespace whilst {
namespace {

using baselines::current_gpu;
using baselines::device_matrix;

constexpr int threads_a_block = 256;
constexpr int warps_a_block = threads_a_block / 32;

/// The loop's scalars, in one cache line. The finish of `apply_and_choose` writes them, one thread at a time.
struct alignas(64) loop_state {
  double alpha, beta, gamma;
  double threshold_squared;
  index_type iteration, limit;
  int running;
};

template <class T, class Offset>
struct csr_view {
  int n, lanes;
  const Offset* offsets;
  const std::int32_t* columns;
  const T* values;
};

template <class T>
struct loop_vectors {
  T *x, *r, *u, *w, *p, *q;
  T* inverse_diagonal;
};

__device__ inline void wait_for_previous_kernel() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
/// Called after the wait, never before: it tells the next kernel that all kernels but this one have ended, so that
/// kernel may read their results before it waits for this one.
__device__ inline void let_next_kernel_start() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/// Keeps the compiler from moving the computation of `value`, and the loads before it, behind a later branch.
__device__ inline void compute_now(double& value) { asm volatile("" : "+d"(value)); }
__device__ inline void compute_now(float& value) { asm volatile("" : "+f"(value)); }

/// Loads that stay where they are written. The compiler would otherwise move them behind the test that may make them
/// needless, so that their latency follows the test's.
__device__ inline double read_now(const double* address) {
  double value;
  asm volatile("ld.relaxed.gpu.global.f64 %0, [%1];" : "=d"(value) : "l"(address) : "memory");
  return value;
}
__device__ inline float read_now(const float* address) {
  float value;
  asm volatile("ld.relaxed.gpu.global.f32 %0, [%1];" : "=f"(value) : "l"(address) : "memory");
  return value;
}

/// Sums over lanes up to `width` apart, width a power of two.
template <class Value>
__device__ Value sum_over_lanes(Value value, int width) {
  for (int distance = width / 2; distance > 0; distance /= 2) value += __shfl_xor_sync(~0u, value, distance);
  return value;
}

/// Sums over the block; valid in its first warp only.
template <int k>
__device__ void sum_over_block(double (&value)[k]) {
  __shared__ double of_warp[warps_a_block][k];
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < k; ++i) value[i] = sum_over_lanes(value[i], 32);
  if (lane == 0) {
#pragma unroll
    for (int i = 0; i < k; ++i) of_warp[warp][i] = value[i];
  }
  __syncthreads();
  if (warp == 0) {
#pragma unroll
    for (int i = 0; i < k; ++i) value[i] = sum_over_lanes(lane < warps_a_block ? of_warp[lane][i] : 0.0, warps_a_block);
  }
}

/// Some entries of a row in registers, with all their loads in flight at once.
template <class T, class Offset>
struct row_entries {
  static constexpr int held = 8;
  std::int32_t column[held];
  T value[held];
  Offset next, end;

  __device__ void begin(const csr_view<T, Offset>& A, int row, int lane, int lanes) {
    next = __ldg(A.offsets + row) + lane;
    end = __ldg(A.offsets + row + 1);
    load(A, lanes);
  }
  __device__ void load(const csr_view<T, Offset>& A, int lanes) {
#pragma unroll
    for (int j = 0; j < held; ++j) {
      const Offset k = next + j * lanes;
      column[j] = k < end ? __ldg(A.columns + k) : -1;
      value[j] = k < end ? __ldg(A.values + k) : T(0);
    }
    next += held * lanes;
  }
  __device__ T times(const T* u) const {
    T entry[held], sum = 0;
#pragma unroll
    for (int j = 0; j < held; ++j) entry[j] = column[j] >= 0 ? u[column[j]] : T(0);
#pragma unroll
    for (int j = 0; j < held; ++j) sum += value[j] * entry[j];
    return sum;
  }
};

template <class T, class Offset>
struct apply_arguments {
  csr_view<T, Offset> A;
  loop_vectors<T> v;
  loop_state* state;
  double* partials;
  unsigned* ticket;
  cudaGraphConditionalHandle loop;
  bool early_reads;
};

/// w = A u with (r,u), (u,w) and, preconditioned, (r,r); the last block chooses alpha and beta, or stops the loop.
template <class T, class Offset, bool one_lane, bool jacobi>
__global__ void __launch_bounds__(threads_a_block, sizeof(Offset) == 4 ? 4 : 3)
    apply_and_choose(const __grid_constant__ apply_arguments<T, Offset> a) {
  constexpr int k = jacobi ? 3 : 2;
  const int lanes = one_lane ? 1 : a.A.lanes;
  const int lane = static_cast<int>(threadIdx.x) & (lanes - 1);
  const int stride = static_cast<int>(gridDim.x * threads_a_block) / lanes;
  int row = static_cast<int>(blockIdx.x * threads_a_block + threadIdx.x) / lanes;
  row_entries<T, Offset> entries;
  if (a.early_reads && row < a.A.n) entries.begin(a.A, row, lane, lanes);
  wait_for_previous_kernel();
  let_next_kernel_start();
  const bool running = a.state->running;
  if (!a.early_reads && row < a.A.n) entries.begin(a.A, row, lane, lanes);

  double sum[k] = {};
  for (;;) {
    const bool has_row = row < a.A.n;
    // Keep whole warps together, for the sums over lanes.
    if (one_lane ? !has_row : !__any_sync(~0u, has_row)) break;
    T wi = 0, ui = 0, ri = 0;
    if (has_row) {
      ui = a.v.u[row];
      if constexpr (jacobi) ri = a.v.r[row];
      wi = entries.times(a.v.u);
      while (entries.next < entries.end) {
        entries.load(a.A, lanes);
        wi += entries.times(a.v.u);
      }
    }
    if constexpr (!one_lane) wi = sum_over_lanes(wi, lanes);
    compute_now(wi);
    if (!running) return;
    if (has_row && lane == 0) {
      a.v.w[row] = wi;
      const double u_wide = ui;
      if constexpr (jacobi) {
        const double r_wide = ri;
        sum[0] += r_wide * u_wide;
        sum[2] += r_wide * r_wide;
      } else {
        sum[0] += u_wide * u_wide;
      }
      sum[1] += u_wide * wi;
    }
    row += stride;
    if (row < a.A.n) entries.begin(a.A, row, lane, lanes);
  }
  if (!running) return;

  // Read here, the state arrives together with the sums.
  loop_state before;
  if (threadIdx.x == 0) before = *a.state;
  sum_over_block(sum);
  if (gridDim.x > 1) {
    unsigned arrived = 0;
    if (threadIdx.x == 0) {
#pragma unroll
      for (int i = 0; i < k; ++i) a.partials[k * blockIdx.x + i] = sum[i];
      asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;"
                   : "=r"(arrived)
                   : "l"(a.ticket), "r"(gridDim.x - 1)
                   : "memory");
    }
    if (!__syncthreads_or(threadIdx.x == 0 && arrived == gridDim.x - 1)) return;
#pragma unroll
    for (int i = 0; i < k; ++i) sum[i] = 0;
    for (unsigned block = threadIdx.x; block < gridDim.x; block += threads_a_block) {
#pragma unroll
      for (int i = 0; i < k; ++i) sum[i] += __ldcg(a.partials + k * block + i);
    }
    sum_over_block(sum);
  }
  if (threadIdx.x != 0) return;

  const double gamma = sum[0], delta = sum[1], rr = sum[jacobi ? 2 : 0];
  const bool first = before.iteration == 0;
  const double beta = first ? 0 : gamma / before.gamma;
  const double curvature = first ? delta : delta - beta * gamma / before.alpha;
  const double alpha = gamma / curvature;
  // These comparisons also fail for NaN.
  const bool goes_on = rr > before.threshold_squared && before.iteration < before.limit && gamma > 0 && curvature > 0 &&
                       alpha < HUGE_VAL;
  if (goes_on) {
    a.state->alpha = alpha;
    a.state->beta = beta;
    a.state->gamma = gamma;
    a.state->iteration = before.iteration + 1;
  } else {
    a.state->running = 0;
    cudaGraphSetConditional(a.loop, 0);
  }
}

template <class T>
struct advance_arguments {
  int n;
  loop_vectors<T> v;
  const loop_state* state;
  bool early_reads;
};

/// p = u + beta p, q = w + beta q, x += alpha p, r -= alpha q, u = M r. p and q start as zeros.
template <class T, bool jacobi>
__global__ void __launch_bounds__(threads_a_block) advance(const __grid_constant__ advance_arguments<T> a) {
  const loop_vectors<T>& v = a.v;
  const int stride = static_cast<int>(gridDim.x) * threads_a_block;
  int i = static_cast<int>(blockIdx.x) * threads_a_block + static_cast<int>(threadIdx.x);
  T pi = 0, qi = 0, xi = 0, mi = 0, ui = 0, wi = 0, ri = 0;
  // The kernel before last wrote them, and it has ended: see let_next_kernel_start. Bypass the L1 cache, which may hold
  // stale lines.
  const auto read_own = [&] {
    pi = __ldcg(v.p + i);
    qi = __ldcg(v.q + i);
    xi = __ldcg(v.x + i);
    if constexpr (jacobi) mi = __ldg(v.inverse_diagonal + i);
  };
  const auto read_previous = [&] {
    ui = read_now(v.u + i);
    wi = read_now(v.w + i);
    if constexpr (jacobi) ri = read_now(v.r + i);
  };
  if (i >= a.n) return;
  if (a.early_reads) read_own();
  wait_for_previous_kernel();
  let_next_kernel_start();
  if (!a.early_reads) read_own();
  read_previous();
  const T alpha = static_cast<T>(read_now(&a.state->alpha)), beta = static_cast<T>(read_now(&a.state->beta));
  // Read last, so that all other loads are issued before anyone waits for it.
  const bool running = a.state->running;
  if (!running) return;
  for (;;) {
    if constexpr (!jacobi) ri = ui;
    pi = ui + beta * pi;
    qi = wi + beta * qi;
    xi += alpha * pi;
    ri -= alpha * qi;
    v.p[i] = pi;
    v.q[i] = qi;
    v.x[i] = xi;
    v.r[i] = ri;
    if constexpr (jacobi) v.u[i] = mi * ri;
    i += stride;
    if (i >= a.n) return;
    read_own();
    read_previous();
  }
}

/// x = p = q = 0, r = b, u = M b, and arms the state: before the loop, not timed.
template <class T, class Offset>
__global__ void begin(csr_view<T, Offset> A, const T* b, loop_vectors<T> v, loop_state* state, loop_state armed) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i == 0) *state = armed;
  if (i >= A.n) return;
  v.x[i] = v.p[i] = v.q[i] = v.w[i] = 0;
  v.r[i] = b[i];
  if (!v.inverse_diagonal) return;
  T diagonal = 0;
  for (Offset k = A.offsets[i]; k < A.offsets[i + 1]; ++k)
    if (A.columns[k] == i) diagonal += A.values[k];
  v.inverse_diagonal[i] = diagonal == 0 ? T(1) : 1 / diagonal;
  v.u[i] = v.inverse_diagonal[i] * b[i];
}

/// Keeps the device busy while the host enqueues the timed work, so that gaps are not timed.
__global__ void hold(std::uint64_t nanoseconds) {
  const std::uint64_t begin = now_nanoseconds();
  while (now_nanoseconds() - begin < nanoseconds) {
  }
}

/// As many blocks as the indices need, but no more than fit the device at once: the rule of Whilst's own steps.
unsigned blocks_for(const void* kernel, index_type threads_wanted, int multiprocessors) {
  int resident = 1;
  WHILST_CUDA("asking how many blocks fit a multiprocessor",
              cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, threads_a_block, 0));
  const index_type wanted = (threads_wanted + threads_a_block - 1) / threads_a_block;
  return static_cast<unsigned>(std::clamp<index_type>(wanted, 1, static_cast<index_type>(resident) * multiprocessors));
}

template <class... Arguments>
void launch(cudaStream_t stream, unsigned blocks, bool overlap, void (*kernel)(Arguments...), Arguments... arguments) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(threads_a_block);
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = overlap ? 1 : 0;
  WHILST_CUDA("launching a kernel of the hand-written loop", cudaLaunchKernelEx(&config, kernel, arguments...));
}

/// Code compiled from PTX for older devices contains no wait: then nothing may overlap.
bool waits_for_previous(const void* kernel) {
  cudaFuncAttributes attributes{};
  WHILST_CUDA("asking for a kernel's code version", cudaFuncGetAttributes(&attributes, kernel));
  return attributes.ptxVersion >= 90;
}

/// A WHILE node, true at launch, whose body is what `record` enqueues.
template <class Record>
cuda::graph_exec while_graph(cudaStream_t stream, Record&& record) {
  cudaGraph_t made = nullptr;
  WHILST_CUDA("making a graph", cudaGraphCreate(&made, 0));
  const cuda::graph graph(made);
  cudaGraphConditionalHandle loop{};
  WHILST_CUDA("making a condition",
              cudaGraphConditionalHandleCreate(&loop, graph.get(), 1, cudaGraphCondAssignDefault));
  cudaGraphNodeParams params{};
  params.type = cudaGraphNodeTypeConditional;
  params.conditional.handle = loop;
  params.conditional.type = cudaGraphCondTypeWhile;
  params.conditional.size = 1;
  cudaGraphNode_t node = nullptr;
#if CUDART_VERSION >= 13000
  WHILST_CUDA("adding a WHILE node", cudaGraphAddNode(&node, graph.get(), nullptr, nullptr, 0, &params));
#else
  WHILST_CUDA("adding a WHILE node", cudaGraphAddNode(&node, graph.get(), nullptr, 0, &params));
#endif
  WHILST_CUDA("recording a body", cudaStreamBeginCaptureToGraph(stream, params.conditional.phGraph_out[0], nullptr,
                                                                nullptr, 0, cudaStreamCaptureModeRelaxed));
  record(loop);
  cudaGraph_t body = nullptr;
  WHILST_CUDA("recording a body", cudaStreamEndCapture(stream, &body));
  cudaGraphExec_t exec = nullptr;
  WHILST_CUDA("instantiating a WHILE graph", cudaGraphInstantiate(&exec, graph.get(), 0));
  cuda::graph_exec owned(exec);
  WHILST_CUDA("uploading a WHILE graph", cudaGraphUpload(exec, stream));
  return owned;
}

template <class T, class Offset, bool one_lane, bool jacobi>
void run_loop(const csr_matrix<T>& A, std::span<const T> b, index_type iterations, const hand_written_options& options,
              baseline_result<T>& result) {
  const place gpu = current_gpu();
  const index_type n = A.rows();
  const auto stream_owner = cuda::make_stream();
  cudaStream_t stream = stream_owner.get();
  const device_matrix<T> matrix(A, gpu);
  const csr_view<T, Offset> view{static_cast<int>(n),
                                 lanes_for_row(static_cast<double>(A.nonzeros()) / static_cast<double>(n)),
                                 static_cast<const Offset*>(matrix.offsets), matrix.columns, matrix.values};
  buffer<T> b_device(gpu, n), x(gpu, n), r(gpu, n), w(gpu, n), p(gpu, n), q(gpu, n), u(gpu, jacobi ? n : 0),
      inverse_diagonal(gpu, jacobi ? n : 0);
  b_device.upload(b.data());
  const loop_vectors<T> v{x.data(),
                          r.data(),
                          jacobi ? u.data() : r.data(),
                          w.data(),
                          p.data(),
                          q.data(),
                          jacobi ? inverse_diagonal.data() : nullptr};
  int multiprocessors = 1;
  WHILST_CUDA("counting multiprocessors",
              cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, gpu.device()));
  const auto apply_kernel = &apply_and_choose<T, Offset, one_lane, jacobi>;
  const auto advance_kernel = &advance<T, jacobi>;
  const auto* const apply_code = reinterpret_cast<const void*>(apply_kernel);
  const auto* const advance_code = reinterpret_cast<const void*>(advance_kernel);
  const unsigned apply_blocks = blocks_for(apply_code, n * view.lanes, multiprocessors);
  const unsigned advance_blocks = blocks_for(advance_code, n, multiprocessors);
  const bool overlap =
      options.programmatic_launch && waits_for_previous(apply_code) && waits_for_previous(advance_code);
  buffer<double> partials(gpu, 3 * static_cast<index_type>(apply_blocks));
  buffer<unsigned> ticket(gpu, 1);
  buffer<loop_state> state(gpu, 1);

  const cuda::graph_exec exec = while_graph(stream, [&](cudaGraphConditionalHandle loop) {
    for (int copy = 0; copy < options.unroll; ++copy) {
      launch(
          stream, apply_blocks, overlap && copy > 0, apply_kernel,
          apply_arguments<T, Offset>{view, v, state.data(), partials.data(), ticket.data(), loop, options.early_reads});
      launch(stream, advance_blocks, overlap, advance_kernel,
             advance_arguments<T>{static_cast<int>(n), v, state.data(), options.early_reads});
    }
  });

  loop_state armed{};
  armed.threshold_squared = options.residual_threshold * options.residual_threshold;
  armed.limit = iterations;
  armed.running = 1;
  const auto prepare = [&] {
    begin<<<static_cast<unsigned>((n + 255) / 256), 256, 0, stream>>>(view, b_device.data(), v, state.data(), armed);
    hold<<<1, 1, 0, stream>>>(50000);
    WHILST_CUDA("beginning the hand-written loop", cudaGetLastError());
  };
  const auto run = [&] { WHILST_CUDA("launching the hand-written loop", cudaGraphLaunch(exec.get(), stream)); };
  const double seconds = baselines::median_seconds(stream, prepare, run);
  loop_state reached;
  state.download(&reached);
  result.available = true;
  result.iterations = reached.iteration;
  if (result.iterations > 0) result.seconds_per_iteration = seconds / static_cast<double>(result.iterations);
  result.x.resize(b.size());
  x.download(result.x.data());
}

}  // namespace

template <class T>
baseline_result<T> hand_written_graph_conjugate_gradient(const csr_matrix<T>& A, std::span<const T> b,
                                                         index_type iterations, bool jacobi,
                                                         const hand_written_options& options) {
  baseline_result<T> result{.name = baselines::hand_written_name};
  baselines::check_sizes(result.name, A, b);
  if (options.unroll < 1)
    throw error("running the baseline '" + result.name + "'", "unroll is " + std::to_string(options.unroll),
                "Give 1 or more");
  result.why_not = baselines::why_not(A, iterations);
  if (!result.why_not.empty()) return result;
  if (const auto answer = cuda::conditional_nodes(current_gpu().device()); !answer.work) {
    result.why_not = answer.note;
    return result;
  }
  const bool one_lane = lanes_for_row(static_cast<double>(A.nonzeros()) / static_cast<double>(A.rows())) == 1;
  const auto with_offsets = [&](auto offset) {
    using Offset = decltype(offset);
    if (one_lane) {
      jacobi ? run_loop<T, Offset, true, true>(A, b, iterations, options, result)
             : run_loop<T, Offset, true, false>(A, b, iterations, options, result);
    } else {
      jacobi ? run_loop<T, Offset, false, true>(A, b, iterations, options, result)
             : run_loop<T, Offset, false, false>(A, b, iterations, options, result);
    }
  };
  A.has_64bit_offsets() ? with_offsets(std::int64_t{}) : with_offsets(std::int32_t{});
  return result;
}

#else

namespace whilst {

template <class T>
baseline_result<T> hand_written_graph_conjugate_gradient(const csr_matrix<T>& A, std::span<const T> b, index_type, bool,
                                                         const hand_written_options&) {
  baseline_result<T> result{.name = baselines::hand_written_name};
  baselines::check_sizes(result.name, A, b);
  result.why_not = "this build has no CUDA";
  return result;
}

#endif

template baseline_result<float> hand_written_graph_conjugate_gradient(const csr_matrix<float>&, std::span<const float>,
                                                                      index_type, bool, const hand_written_options&);
template baseline_result<double> hand_written_graph_conjugate_gradient(const csr_matrix<double>&,
                                                                       std::span<const double>, index_type, bool,
                                                                       const hand_written_options&);

}  // namespace whilst

// compiled by nvcc where CUDA is on
#include "benchmarks/scaling/timing.hpp"
#include "whilst/basics/error.hpp"

// WHILST_WITH_NCCL: NCCL was found when this was built.
#if WHILST_WITH_NCCL && defined(__CUDACC__)

#include <cuda_runtime.h>
#include <nccl.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <mutex>
#include <optional>

#include "benchmarks/scaling/slab.hpp"
#include "whilst/basics/teams.hpp"
#include "whilst/linear/operators.hpp"

namespace scaling {
namespace {

constexpr int block = 256, most_blocks = 2048;
/// Iterations in the body of the WHILE node: each trip costs as much as a kernel.
constexpr int unroll = 4;

void require(bool is_well, const char* doing, const char* problem) {
  if (!is_well) throw whilst::error(doing, problem, "Leave these loops out by --loops whilst");
}
void require(cudaError_t status, const char* doing) {
  require(status == cudaSuccess, doing, cudaGetErrorString(status));
}
void require(ncclResult_t status, const char* doing) {
  require(status == ncclSuccess, doing, ncclGetErrorString(status));
}

/// Memory of the GPU, zeroed.
template <class T>
class device_array {
  T* at_ = nullptr;

 public:
  explicit device_array(std::size_t count) {
    require(cudaMalloc(reinterpret_cast<void**>(&at_), std::max<std::size_t>(count, 1) * sizeof(T)), "allocating");
    require(cudaMemset(at_, 0, std::max<std::size_t>(count, 1) * sizeof(T)), "zeroing");
  }
  template <class From>
  requires requires(const From& from) { from.data(); }
  explicit device_array(const From& from) : device_array(from.size()) {
    require(cudaMemcpy(at_, from.data(), from.size() * sizeof(T), cudaMemcpyDefault), "uploading");
  }
  device_array(const device_array&) = delete;
  device_array& operator=(const device_array&) = delete;
  ~device_array() { cudaFree(at_); }
  T* get() const { return at_; }
};

/// A vector with its ghosts behind the own entries, as rows read it.
struct plain_vector {
  const double* x;
  WHILST_HD double operator[](index_type i) const { return x[i]; }
  WHILST_HD double own(index_type i) const { return x[i]; }
  WHILST_HD double or_zero(index_type i) const { return i >= 0 ? x[i] : 0; }
};

/// Values that stay where they are.
struct values_in_place {
  const double* at;
  WHILST_HD const double* get() const { return at; }
};

/// What the loop knows, in device memory.
struct loop_memory {
  double sums[2];  ///< (r, r) and (r, A r): of this rank, then of all
  double gamma, curvature;
  double bound;  ///< of (r, r)
  int running, iteration, limit;
  unsigned arrived_after_product, arrived_after_update;
};

/// Whether this block is the last of the grid to get here; it then sees what the others wrote. By whole blocks.
__device__ bool is_last_block(unsigned* arrived) {
  __shared__ bool is_last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    is_last = atomicAdd(arrived, 1u) == gridDim.x - 1;
    if (is_last) *arrived = 0;
  }
  __syncthreads();
  __threadfence();
  return is_last;
}

/// The sums over a block; thread 0 has them.
__device__ void add_up_block(double (&value)[2]) {
  __shared__ double of_warps[2][block / 32];
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int k = 0; k < 2; ++k) {
    for (int distance = 16; distance > 0; distance /= 2) value[k] += __shfl_xor_sync(~0u, value[k], distance);
    if (lane == 0) of_warps[k][warp] = value[k];
  }
  __syncthreads();
  for (int k = 0; k < 2; ++k) {
    value[k] = lane < block / 32 ? of_warps[k][lane] : 0;
    for (int distance = 16; distance > 0; distance /= 2) value[k] += __shfl_xor_sync(~0u, value[k], distance);
  }
  __syncthreads();
}

/// w = A x and the rank's sums (x, x), (x, w), which the last block adds up in the order of blocks.
template <class Rows>
__global__ void __launch_bounds__(block)
    multiply_and_dot(const Rows A, const double* x, double* w, double* of_blocks, loop_memory* loop) {
  if (!loop->running) return;
  const whilst::lanes alone;
  double sums[2] = {};
  for (index_type i = blockIdx.x * index_type{block} + threadIdx.x; i < A.rows(); i += index_type{gridDim.x} * block) {
    const double wi = whilst::row_times(whilst::fetch_row(A, i, alone), A, i, plain_vector{x}, alone), xi = x[i];
    w[i] = wi;
    sums[0] += xi * xi;
    sums[1] += xi * wi;
  }
  add_up_block(sums);
  if (threadIdx.x == 0) {
    of_blocks[2 * blockIdx.x] = sums[0];
    of_blocks[2 * blockIdx.x + 1] = sums[1];
  }
  if (!is_last_block(&loop->arrived_after_product)) return;
  sums[0] = sums[1] = 0;
  for (unsigned k = threadIdx.x; k < gridDim.x; k += block) {
    sums[0] += of_blocks[2 * k];
    sums[1] += of_blocks[2 * k + 1];
  }
  add_up_block(sums);
  if (threadIdx.x == 0) {
    loop->sums[0] = sums[0];
    loop->sums[1] = sums[1];
  }
}

/// Judges by everybody's sums, and takes a step of conjugate gradients after Chronopoulos and Gear, as
/// whilst/linear/methods/conjugate_gradient.hpp does. condition: of a WHILE node; 0 for none.
__global__ void __launch_bounds__(block)
    update(index_type n, double* x, double* r, double* p, double* q, const double* w, loop_memory* loop,
           cudaGraphConditionalHandle condition) {
  if (!loop->running) return;
  const double gamma = loop->sums[0], delta = loop->sums[1];
  const bool first = loop->iteration == 0, stops = gamma <= loop->bound || loop->iteration >= loop->limit;
  const double beta = first ? 0 : gamma / loop->gamma,
               curvature = first ? delta : delta - beta * beta * loop->curvature, alpha = gamma / curvature;
  for (index_type i = blockIdx.x * index_type{block} + threadIdx.x; !stops && i < n;
       i += index_type{gridDim.x} * block) {
    const double pi = first ? r[i] : r[i] + beta * p[i], qi = first ? w[i] : w[i] + beta * q[i];
    p[i] = pi;
    q[i] = qi;
    x[i] += alpha * pi;
    r[i] -= alpha * qi;
  }
  if (!is_last_block(&loop->arrived_after_update) || threadIdx.x != 0) return;
  if (stops) {
    loop->running = 0;
    if (condition) cudaGraphSetConditional(condition, 0);
  } else {
    loop->iteration += 1;
    loop->gamma = gamma;
    loop->curvature = curvature;
  }
}

}  // namespace

struct nccl_ranks {
  whilst::group ranks;
  ncclComm_t communicator = nullptr;
  cudaStream_t stream = nullptr;
  double seconds = 0;  ///< that making the communicator took

  nccl_ranks(const whilst::group& of, int device) : ranks(of) {
    constexpr const char* doing = "making a communicator of NCCL";
    const auto began = std::chrono::steady_clock::now();
    // NCCL reads these when a process makes its first communicator. Without the first setting it records event nodes,
    // which a conditional body refuses; without the second it may use NVLink multicast, which is off in all that is
    // timed here.
    static std::once_flag once;
    std::call_once(once, [] {
      setenv("NCCL_GRAPH_MIXING_SUPPORT", "0", 0);
      setenv("NCCL_NVLS_ENABLE", "0", 0);
    });
    const std::vector<char> ids =
        ranks
            .all_gather<char>(doing,
                              [&] {
                                ncclUniqueId id{};
                                if (ranks.rank() == 0) require(ncclGetUniqueId(&id), doing);
                                return std::vector<char>(id.internal, id.internal + sizeof id.internal);
                              })
            .all;
    ncclUniqueId id{};
    std::memcpy(id.internal, ids.data(), sizeof id.internal);
    ranks.agree(doing, [&] {
      require(cudaSetDevice(device), doing);
      require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), doing);
      require(ncclCommInitRank(&communicator, ranks.size(), id, ranks.rank()), doing);
    });
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  }
  nccl_ranks(const nccl_ranks&) = delete;
  nccl_ranks& operator=(const nccl_ranks&) = delete;
  ~nccl_ranks() {
    if (communicator) ncclCommDestroy(communicator);
    if (stream) cudaStreamDestroy(stream);
  }
};

namespace {

/// A system on the ranks, and its loops.
template <class Rows>
class system_of_ranks {
  const nccl_ranks& nccl_;
  Rows A_;
  const whilst::halo_plan& halo_;
  index_type n_;
  device_array<double> b_, x_, r_, w_, p_, q_, of_blocks_;
  device_array<loop_memory> loop_;
  loop_memory* on_host_ = nullptr;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;

  unsigned blocks() const {
    return static_cast<unsigned>(std::clamp<index_type>((n_ + block - 1) / block, 1, most_blocks));
  }
  std::size_t with_ghosts() const { return static_cast<std::size_t>(halo_.with_ghosts()); }

 public:
  system_of_ranks(const nccl_ranks& nccl, const Rows& A, const whilst::halo_plan& halo, const std::vector<double>& b)
      : nccl_(nccl),
        A_(A),
        halo_(halo),
        n_(A.rows()),
        b_(b),
        x_(with_ghosts()),
        r_(with_ghosts()),
        w_(b.size()),
        p_(b.size()),
        q_(b.size()),
        of_blocks_(2 * most_blocks),
        loop_(1) {
    require(cudaMallocHost(reinterpret_cast<void**>(&on_host_), sizeof(loop_memory)), "allocating");
    require(cudaDeviceSynchronize(), "making vectors");  // they were zeroed and filled on another stream
  }
  ~system_of_ranks() {
    if (executable_) cudaGraphExecDestroy(executable_);
    if (graph_) cudaGraphDestroy(graph_);
    cudaFreeHost(on_host_);
  }
  system_of_ranks(const system_of_ranks&) = delete;
  system_of_ranks& operator=(const system_of_ranks&) = delete;

  /// x = 0, r = b, with ghosts.
  void start(double bound, int limit) {
    const std::size_t bytes = static_cast<std::size_t>(n_) * sizeof(double);
    *on_host_ = {};
    on_host_->bound = bound;
    on_host_->running = 1;
    on_host_->limit = limit;
    require(cudaMemsetAsync(x_.get(), 0, bytes, nccl_.stream), "starting");
    require(cudaMemcpyAsync(r_.get(), b_.get(), bytes, cudaMemcpyDefault, nccl_.stream), "starting");
    require(cudaMemcpyAsync(loop_.get(), on_host_, sizeof(loop_memory), cudaMemcpyDefault, nccl_.stream), "starting");
    exchange();
    wait();
  }
  /// Runs the loop from where start() has left it.
  void run(bool in_graph) {
    if (in_graph) {
      require(cudaGraphLaunch(executable_, nccl_.stream), "launching");
      wait();
      return;
    }
    while (true) {
      record_product();
      require(cudaMemcpyAsync(on_host_, loop_.get(), sizeof(double), cudaMemcpyDefault, nccl_.stream), "copying");
      wait();
      const bool stops = on_host_->sums[0] <= on_host_->bound || on_host_->iteration >= on_host_->limit;
      record_update(0);
      if (stops) break;
      on_host_->iteration += 1;
    }
    wait();
  }
  int iterations() {
    require(cudaMemcpy(on_host_, loop_.get(), sizeof(loop_memory), cudaMemcpyDefault), "copying");
    return on_host_->iteration;
  }
  std::vector<double> x() const {
    std::vector<double> found(static_cast<std::size_t>(n_));
    require(cudaMemcpy(found.data(), x_.get(), found.size() * sizeof(double), cudaMemcpyDefault), "copying");
    return found;
  }

  void make_graph() {
    constexpr const char* doing = "capturing NCCL in a WHILE body";
    require(cudaGraphCreate(&graph_, 0), doing);
    cudaGraphConditionalHandle condition;
    require(cudaGraphConditionalHandleCreate(&condition, graph_, 1, cudaGraphCondAssignDefault), doing);
    cudaGraphNodeParams parameters = {};
    parameters.type = cudaGraphNodeTypeConditional;
    parameters.conditional.handle = condition;
    parameters.conditional.type = cudaGraphCondTypeWhile;
    parameters.conditional.size = 1;
    cudaGraphNode_t node;
#if CUDART_VERSION >= 13000
    require(cudaGraphAddNode(&node, graph_, nullptr, nullptr, 0, &parameters), doing);
#else
    require(cudaGraphAddNode(&node, graph_, nullptr, 0, &parameters), doing);
#endif
    require(cudaStreamBeginCaptureToGraph(nccl_.stream, parameters.conditional.phGraph_out[0], nullptr, nullptr, 0,
                                          cudaStreamCaptureModeThreadLocal),
            doing);
    for (int k = 0; k < unroll; ++k) {
      record_product();
      record_update(condition);
    }
    cudaGraph_t body;
    require(cudaStreamEndCapture(nccl_.stream, &body), doing);
    require(cudaGraphInstantiate(&executable_, graph_, 0), doing);
    require(cudaGraphUpload(executable_, nccl_.stream), doing);
    wait();
  }

 private:
  void wait() const { require(cudaStreamSynchronize(nccl_.stream), "running a loop with NCCL"); }
  void record_product() {
    multiply_and_dot<<<blocks(), block, 0, nccl_.stream>>>(A_, r_.get(), w_.get(), of_blocks_.get(), loop_.get());
    require(cudaGetLastError(), "launching a product");
    double* const sums = loop_.get()->sums;
    require(ncclAllReduce(sums, sums, 2, ncclDouble, ncclSum, nccl_.communicator, nccl_.stream), "adding up");
  }
  void record_update(cudaGraphConditionalHandle condition) {
    update<<<blocks(), block, 0, nccl_.stream>>>(n_, x_.get(), r_.get(), p_.get(), q_.get(), w_.get(), loop_.get(),
                                                 condition);
    require(cudaGetLastError(), "launching an update");
    exchange();
  }
  /// Whole planes, so that entries for a neighbour lie together.
  void exchange() {
    constexpr const char* doing = "exchanging halos";
    require(ncclGroupStart(), doing);
    for (const whilst::halo_neighbour& one : halo_.neighbours) {
      const auto sends = static_cast<std::size_t>(one.send_end - one.send_begin);
      if (sends > 0)
        require(ncclSend(r_.get() + halo_.send_indices[static_cast<std::size_t>(one.send_begin)], sends, ncclDouble,
                         one.rank, nccl_.communicator, nccl_.stream),
                doing);
      if (one.ghost_begin < one.ghost_end)
        require(ncclRecv(r_.get() + n_ + one.ghost_begin, static_cast<std::size_t>(one.ghost_end - one.ghost_begin),
                         ncclDouble, one.rank, nccl_.communicator, nccl_.stream),
                doing);
    }
    require(ncclGroupEnd(), doing);
  }
};

template <class Rows>
timing measured(const nccl_ranks& nccl, const Rows& A, const whilst::halo_plan& halo, const box& points,
                const settings& asked, bool in_graph) {
  constexpr const char* doing = "timing a loop with NCCL";
  const whilst::group& ranks = nccl.ranks;
  const whilst::row_partition partition = slabs(points, ranks.size());
  const index_type first = partition.first(ranks.rank());
  const std::vector<double> b = right_hand_side(partition, ranks.rank(), points);
  double of_b = 0;
  for (const double one : b) of_b += one * one;
  const std::vector<double> squares = ranks.all_gather<double>(doing, [&] { return std::vector{of_b}; }).all;
  of_b = 0;
  for (const double one : squares) of_b += one;

  timing made;
  made.iteration = std::numeric_limits<double>::infinity();
  made.transport = "nccl";
  made.setup = nccl.seconds;
  std::optional<system_of_ranks<Rows>> all;
  ranks.agree(doing, [&] { all.emplace(nccl, A, halo, b); });
  const auto solve = [&](bool by_graph, double bound, int limit) {
    all->start(bound, limit);
    ranks.barrier(doing);
    const auto began = std::chrono::steady_clock::now();
    all->run(by_graph);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    made.iterations = all->iterations();
    return seconds / static_cast<double>(std::max<index_type>(made.iterations, 1));
  };
  // NCCL connects ranks when they first need that, and CUDA loads kernels then: not in a capture.
  solve(false, 0, 3);
  ranks.barrier(doing);
  if (in_graph) ranks.agree(doing, [&] { all->make_graph(); });
  for (int k = 0; k < asked.repetitions; ++k)
    made.iteration = std::min(made.iteration, solve(in_graph, 0, static_cast<int>(asked.iterations)));
  solve(in_graph, 1e-16 * of_b, 20000);
  const std::vector<double> x = all->x();
  made.error = largest_error(ranks, x, first);
  made.residual = relative_residual(ranks, b, x, points);
  // The recurrence drifts from the residual by some rounding errors.
  made.reason = made.residual < 1.1e-8 ? "converged" : "not converged";
  ranks.barrier(doing);  // nothing is freed while another rank may still wait
  all.reset();
  return made;
}

}  // namespace

bool nccl_loops::are_built() { return true; }

nccl_loops::nccl_loops(const whilst::group& ranks, int device) : ranks_(std::make_unique<nccl_ranks>(ranks, device)) {}

timing nccl_loops::run(const std::string& kind, const box& points, const settings& asked, bool in_graph) const {
  const whilst::group& ranks = ranks_->ranks;
  if (kind != "csr") {
    const slab<double> own(ranks, points);
    return measured(*ranks_, own.rows, own.halo, points, asked, in_graph);
  }
  const whilst::distributed_csr_matrix<double> matrix = slab_matrix<double>(ranks, points);
  const whilst::csr_matrix<double> local = matrix.local();
  std::vector<std::int32_t> offsets, columns;
  for (index_type i = 0; i <= local.rows(); ++i) offsets.push_back(static_cast<std::int32_t>(local.row_offset(i)));
  for (index_type k = 0; k < local.nonzeros(); ++k)
    columns.push_back(static_cast<std::int32_t>(local.column_indices()[static_cast<std::size_t>(k)]));
  const device_array<std::int32_t> offsets_there(offsets), columns_there(columns);
  const device_array<double> values_there(local.values());
  using rows_type = whilst::csr_operator<double, std::int32_t, values_in_place>;
  const rows_type rows{local.rows(),    offsets_there.get(), columns_there.get(), {values_there.get()}, 1,
                       local.nonzeros()};
  return measured(*ranks_, rows, matrix.halo(), points, asked, in_graph);
}

#else

namespace scaling {

struct nccl_ranks {};
bool nccl_loops::are_built() { return false; }
nccl_loops::nccl_loops(const whilst::group&, int) {}
timing nccl_loops::run(const std::string&, const box&, const settings&, bool) const {
  throw whilst::error("timing a loop with NCCL", "this program was built without NCCL",
                      "Leave it out by --loops whilst");
}

#endif

nccl_loops::~nccl_loops() = default;

}  // namespace scaling

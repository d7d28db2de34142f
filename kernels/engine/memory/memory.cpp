#include "whilst/engine/memory/memory.hpp"

#include <cstdlib>
#include <cstring>
#include <limits>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "kernels/engine/memory/copies.hpp"
#include "kernels/engine/memory/pinned_pool.hpp"
#include "whilst/engine/memory/arena.hpp"
#include "whilst/engine/memory/cuda.hpp"

namespace whilst {
namespace {

thread_local const recorded_body* innermost = nullptr;

void* allocate_on_host(std::size_t bytes) {
  constexpr std::size_t alignment = 256;  // that of cudaMalloc, and of the pieces of a workspace
  const std::size_t rounded = (bytes + alignment) / alignment * alignment;
  void* memory = rounded > bytes ? std::aligned_alloc(alignment, rounded) : nullptr;
  if (!memory) {
    throw out_of_memory("allocating " + std::to_string(bytes) + " bytes on the host", "there is not that much memory",
                        "Solve a smaller problem or use a larger machine");
  }
  return memory;
}

#if WHILST_WITH_CUDA

/// For zeroing and copying beside all other work. The legacy default stream would serialise with blocking streams, and
/// fail while one of them is being captured. Kept until the process ends: buffers with static lifetime may need it.
/// life: that of the current context.
cudaStream_t stream_beside(cuda::context_life life) {
  struct stream_of_life {
    cudaStream_t stream;
    cuda::context_life life;
  };
  static std::mutex lock;
  static auto& known = *new std::vector<stream_of_life>;
  const std::lock_guard hold(lock);
  for (const stream_of_life& one : known)
    if (one.life == life) return one.stream;
  std::erase_if(known, [](const stream_of_life& one) { return one.life.ended(); });
  known.push_back({cuda::make_stream().release(), life});
  return known.back().stream;
}

void copy_and_wait(std::string_view doing, int device, cuda::context_life life, void* target, const void* source,
                   std::size_t bytes, cudaMemcpyKind kind) {
  const cuda::device_guard current(device);
  life.require(doing);
  cudaStream_t stream = stream_beside(life);
  WHILST_CUDA(doing, cudaMemcpyAsync(target, source, bytes, kind, stream));
  cuda::finish_copies(doing, stream);
}

void zero_and_wait(int device, cuda::context_life life, void* target, std::size_t bytes) {
  const std::string doing = "setting " + std::to_string(bytes) + " bytes on GPU " + std::to_string(device) + " to zero";
  const cuda::device_guard current(device);
  life.require(doing);
  cudaStream_t stream = stream_beside(life);
  WHILST_CUDA(doing, cudaMemsetAsync(target, 0, bytes, stream));
  WHILST_CUDA(doing, cudaStreamSynchronize(stream));
}

/// In the place's current context.
void copy_by_current(std::string_view doing, place where, void* target, const void* source, std::size_t bytes,
                     cudaMemcpyKind kind) {
  const cuda::device_guard current(where.device());
  copy_and_wait(doing, where.device(), cuda::context_life::current(), target, source, bytes, kind);
}

/// Memory that dies with the current context, unless `release` frees it earlier.
owned_memory owned_in(cuda::context_life life, void* memory, cudaError_t (*release)(void*)) {
  return {memory, [life, release](void* held) {
            if (life.ended()) return;
            // Releasing memory, like allocating it, would break other threads' captures.
            const cuda::relaxed_capture_mode relaxed;
            release(held);
          }};
}

#endif

}  // namespace

std::string name_of(place where) { return where.on_host() ? "the host" : "GPU " + std::to_string(where.device()); }

std::size_t detail::bytes_of_array(index_type count, std::size_t bytes_each) {
  if (count < 0 || static_cast<std::size_t>(count) > std::numeric_limits<index_type>::max() / bytes_each)
    refuse_piece(count, bytes_each);
  return static_cast<std::size_t>(count) * bytes_each;
}

void detail::refuse_piece(index_type count, std::size_t bytes_each) {
  const std::string doing =
      "taking memory for " + std::to_string(count) + " entries of " + std::to_string(bytes_each) + " bytes";
  if (count < 0) throw error(doing, "their number is negative", "Give 0 or more");
  throw out_of_memory(doing, "that is more than any memory has", "Solve a smaller problem, or in parts");
}

recorded_body::recorded_body(std::string what) : what_(std::move(what)), outer_(std::exchange(innermost, this)) {}
recorded_body::~recorded_body() { innermost = outer_; }
void recorded_body::refuse(const std::string& doing) {
  if (!innermost) return;
  throw error(doing, "the body of " + innermost->what_ + " is being recorded, once and for all of its trips",
              "Do it before: memory by program_recorder::arena or in a buffer that outlives the program; solvers and "
              "other programs, and what an objective or equations take in prepare(), are made before, too");
}

raw_buffer::raw_buffer(place where, std::size_t bytes, const void* source) {
  allocate(where, bytes);
  if (source && bytes) {
    upload(source, bytes);
  } else {
    set_to_zero();
  }
}

raw_buffer raw_buffer::unset(place where, std::size_t bytes) {
  raw_buffer made;
  made.allocate(where, bytes);
  return made;
}

void raw_buffer::allocate(place where, std::size_t bytes) {
  recorded_body::refuse("taking " + std::to_string(bytes) + " bytes on " + name_of(where));
  bytes_ = bytes;
  if (where.on_host()) {
    memory_ = {allocate_on_host(bytes), std::free};
    return;
  }
#if WHILST_WITH_CUDA
  device_ = where.device();
  const cuda::device_guard current(device_);
  life_ = cuda::context_life::current();
  void* memory = nullptr;
  const std::string doing = "allocating " + std::to_string(bytes) + " bytes on GPU " + std::to_string(device_);
  WHILST_CUDA(doing, cudaMalloc(&memory, bytes ? bytes : 1));
  memory_ = owned_in(life_, memory, cudaFree);
#endif
}

void raw_buffer::set_to_zero() {
  if (device_ < 0) {
    std::memset(data(), 0, bytes_);
    return;
  }
#if WHILST_WITH_CUDA
  zero_and_wait(device_, life_, data(), bytes_);
#endif
}

void raw_buffer::upload(const void* source, std::size_t bytes) {
  if (device_ < 0) {
    if (bytes) std::memcpy(data(), source, bytes);
    return;
  }
#if WHILST_WITH_CUDA
  copy_and_wait("copying to the GPU", device_, life_, data(), source, bytes, cudaMemcpyDefault);
#endif
}

void raw_buffer::download(void* target, std::size_t bytes) const {
  if (device_ < 0) {
    if (bytes) std::memcpy(target, data(), bytes);
    return;
  }
#if WHILST_WITH_CUDA
  copy_and_wait("copying from the GPU", device_, life_, target, data(), bytes, cudaMemcpyDeviceToHost);
#endif
}

void copy_to_place(place where, void* target, const void* source, std::size_t bytes) {
  if (bytes == 0) return;
  if (where.on_host()) std::memcpy(target, source, bytes);
#if WHILST_WITH_CUDA
  if (!where.on_host()) copy_by_current("copying to the GPU", where, target, source, bytes, cudaMemcpyHostToDevice);
#endif
}

void set_to_zero(place where, void* target, std::size_t bytes) {
  if (bytes == 0) return;
  if (where.on_host()) std::memset(target, 0, bytes);
#if WHILST_WITH_CUDA
  if (where.on_host()) return;
  const cuda::device_guard current(where.device());
  zero_and_wait(where.device(), cuda::context_life::current(), target, bytes);
#endif
}

#if WHILST_WITH_CUDA
void begin_zeroing(place where, void* target, std::size_t bytes, CUevent_st* done) {
  const cuda::device_guard current(where.device());
  cudaStream_t stream = stream_beside(cuda::context_life::current());
  constexpr std::string_view doing = "zeroing partial sums and tickets";
  WHILST_CUDA(doing, cudaMemsetAsync(target, 0, bytes, stream));
  WHILST_CUDA(doing, cudaEventRecord(done, stream));
}
#endif

void copy_from_place(place where, void* target, const void* source, std::size_t bytes) {
  if (bytes == 0) return;
  if (where.on_host()) std::memcpy(target, source, bytes);
#if WHILST_WITH_CUDA
  if (!where.on_host()) copy_by_current("copying from the GPU", where, target, source, bytes, cudaMemcpyDeviceToHost);
#endif
}

std::vector<memory_item> itemised(const arena_layout& layout, place where) {
  std::vector<memory_item> lines;
  for (std::size_t k = 0; k < layout.items().size(); ++k) {
    const auto& [name, begin] = layout.items()[k];
    const index_type end = k + 1 < layout.items().size() ? layout.items()[k + 1].second : layout.used();
    if (end > begin)
      lines.push_back({.name = name, .where = name_of(where), .bytes = static_cast<std::size_t>(end - begin)});
  }
  return lines;
}

shared_memory_block::shared_memory_block(place where, std::size_t bytes) {
  recorded_body::refuse("taking " + std::to_string(bytes) + " bytes of pinned memory");
  if (where.on_host()) {
    memory_ = {allocate_on_host(bytes), std::free};
    std::memset(memory_.get(), 0, bytes);
    return;
  }
#if WHILST_WITH_CUDA
  const cuda::device_guard current(where.device());
  memory_ = take_pinned(bytes);
  std::memset(memory_.get(), 0, bytes);
#endif
}

}  // namespace whilst

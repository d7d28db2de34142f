#include "kernels/launch/memory.hpp"

#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include "kernels/launch/cuda.hpp"

namespace whilst {
namespace {

void* allocate_on_host(std::size_t bytes) {
  constexpr std::size_t alignment = 256;  // that of cudaMalloc, and of the pieces of a workspace
  const std::size_t rounded = (bytes + alignment) / alignment * alignment;
  void* memory = rounded > bytes ? std::aligned_alloc(alignment, rounded) : nullptr;
  if (!memory) {
    throw error("allocating " + std::to_string(bytes) + " bytes on the host", "there is not that much memory",
                "solve a smaller problem or use a larger machine");
  }
  std::memset(memory, 0, rounded);
  return memory;
}

}  // namespace

raw_buffer::raw_buffer(place where, std::size_t bytes) : bytes_(bytes) {
  if (where.on_host()) {
    memory_ = {allocate_on_host(bytes), std::free};
    return;
  }
#if WHILST_WITH_CUDA
  device_ = where.device();
  cuda::device_guard current(device_);
  void* memory = nullptr;
  const std::string doing = "allocating " + std::to_string(bytes) + " bytes on GPU " + std::to_string(device_);
  WHILST_CUDA(doing, cudaMalloc(&memory, bytes ? bytes : 1));
  memory_ = {memory, [](void* owned) { cudaFree(owned); }};
  WHILST_CUDA(doing, cudaMemset(memory, 0, bytes));
  WHILST_CUDA(doing, cudaDeviceSynchronize());
#endif
}

void raw_buffer::upload(const void* source, std::size_t bytes) {
  if (device_ < 0) {
    if (bytes) std::memcpy(data(), source, bytes);
    return;
  }
#if WHILST_WITH_CUDA
  cuda::device_guard current(device_);
  WHILST_CUDA("copying to the GPU", cudaMemcpy(data(), source, bytes, cudaMemcpyHostToDevice));
  // Of pageable memory the call may return before the transfer; a stream that does not wait for the default stream
  // would then read old data.
  WHILST_CUDA("copying to the GPU", cudaStreamSynchronize(nullptr));
#endif
}

void raw_buffer::download(void* target, std::size_t bytes) const {
  if (device_ < 0) {
    if (bytes) std::memcpy(target, data(), bytes);
    return;
  }
#if WHILST_WITH_CUDA
  cuda::device_guard current(device_);
  WHILST_CUDA("copying from the GPU", cudaMemcpy(target, data(), bytes, cudaMemcpyDeviceToHost));
#endif
}

shared_memory_block::shared_memory_block(place where, std::size_t bytes) {
  if (where.on_host()) {
    memory_ = {allocate_on_host(bytes), std::free};
    return;
  }
#if WHILST_WITH_CUDA
  cuda::device_guard current(where.device());
  void* memory = nullptr;
  WHILST_CUDA("allocating pinned memory", cudaHostAlloc(&memory, bytes, cudaHostAllocMapped | cudaHostAllocPortable));
  memory_ = {memory, [](void* owned) { cudaFreeHost(owned); }};
  std::memset(memory, 0, bytes);
#endif
}

}  // namespace whilst

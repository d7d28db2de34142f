#include "whilst/host/vectors_on_gpu.hpp"

#include <cstring>

#if WHILST_WITH_CUDA

namespace whilst {
namespace {

/// Above this the driver's own staging, which overlaps with the transfer, is as fast.
constexpr std::size_t most_staged = std::size_t{1} << 18;
constexpr std::size_t alignment = 256;

}  // namespace

vectors_on_gpu::vectors_on_gpu(place where, std::size_t count, std::size_t bytes_each, bool touched_once)
    : where_(where), bytes_each_(bytes_each), stride_((bytes_each + alignment - 1) / alignment * alignment) {
  if (count * stride_ <= most_staged) staged_ = shared_memory_block(where, count * stride_);
  stay_ = touched_once && are_staged();
  if (!stay_) memory_ = raw_buffer(where, count * stride_);
  const cuda::device_guard current(where.device());
  stream_ = cuda::make_stream();
}

void vectors_on_gpu::upload(std::string_view doing, std::initializer_list<const void*> sources) {
  if (bytes_each_ == 0) return;
  const cuda::device_guard current(where_.device());
  std::size_t at = 0;
  for (const void* const source : sources) {
    if (are_staged()) {
      std::memcpy(static_cast<std::byte*>(staged_.data()) + at, source, bytes_each_);
    } else {
      WHILST_CUDA(doing, cudaMemcpyAsync(static_cast<std::byte*>(memory_.data()) + at, source, bytes_each_,
                                         cudaMemcpyHostToDevice, stream_.get()));
    }
    at += stride_;
  }
  if (are_staged() && !stay_)
    WHILST_CUDA(doing, cudaMemcpyAsync(memory_.data(), staged_.data(), at, cudaMemcpyHostToDevice, stream_.get()));
}

void vectors_on_gpu::download(std::string_view doing, std::size_t k, void* target) {
  const cuda::device_guard current(where_.device());
  void* const landing = are_staged() ? static_cast<std::byte*>(staged_.data()) + k * stride_ : target;
  if (bytes_each_ > 0 && !stay_)
    WHILST_CUDA(doing, cudaMemcpyAsync(landing, (*this)[k], bytes_each_, cudaMemcpyDeviceToHost, stream_.get()));
  cuda::finish_copies(doing, stream_.get());
  if (are_staged()) copy_out(k, target);
}

void vectors_on_gpu::copy_out(std::size_t k, void* target) const {
  if (bytes_each_ > 0) std::memcpy(target, static_cast<const std::byte*>(staged_.data()) + k * stride_, bytes_each_);
}

void vectors_on_gpu::wait_quietly() const noexcept {
  if (!stream_ || stream_.get_deleter().life.ended()) return;
  const cuda::relaxed_capture_mode relaxed;
  cudaStreamSynchronize(stream_.get());
  cudaGetLastError();
}

}  // namespace whilst

#endif

#include "whilst/host/vectors_on_gpu.hpp"

#include <cstring>
#include <utility>

#if WHILST_WITH_CUDA

namespace whilst {
namespace {

/// Above this the driver's own staging, which overlaps with the transfer, is as fast.
constexpr std::size_t most_staged = std::size_t{1} << 18;
constexpr std::size_t alignment = 256;

}  // namespace

vectors_on_gpu::vectors_on_gpu(place where, std::vector<std::size_t> bytes_of_each, bool touched_once)
    : where_(where), bytes_of_(std::move(bytes_of_each)), begin_of_{0} {
  for (const std::size_t bytes : bytes_of_)
    begin_of_.push_back(begin_of_.back() + (bytes + alignment - 1) / alignment * alignment);
  const std::size_t in_all = begin_of_.back();
  if (in_all <= most_staged) staged_ = shared_memory_block(where, in_all);
  stay_ = touched_once && are_staged();
  if (!stay_) memory_ = raw_buffer(where, in_all);
  const cuda::device_guard current(where.device());
  stream_ = cuda::make_stream();
}

void vectors_on_gpu::upload(std::string_view doing, std::initializer_list<const void*> sources) {
  if (begin_of_.back() == 0) return;
  const cuda::device_guard current(where_.device());
  std::size_t k = 0;
  for (const void* const source : sources) {
    const std::size_t at = begin_of_[k], bytes = bytes_of_[k];
    k += 1;
    if (bytes == 0) continue;
    if (are_staged()) {
      std::memcpy(static_cast<std::byte*>(staged_.data()) + at, source, bytes);
    } else {
      WHILST_CUDA(doing, cudaMemcpyAsync(static_cast<std::byte*>(memory_.data()) + at, source, bytes,
                                         cudaMemcpyHostToDevice, stream_.get()));
    }
  }
  if (are_staged() && !stay_)
    WHILST_CUDA(doing,
                cudaMemcpyAsync(memory_.data(), staged_.data(), begin_of_[k], cudaMemcpyHostToDevice, stream_.get()));
}

void vectors_on_gpu::download(std::string_view doing, std::size_t k, void* target) {
  const cuda::device_guard current(where_.device());
  void* const landing = are_staged() ? static_cast<std::byte*>(staged_.data()) + begin_of_[k] : target;
  if (bytes_of_[k] > 0 && !stay_)
    WHILST_CUDA(doing, cudaMemcpyAsync(landing, (*this)[k], bytes_of_[k], cudaMemcpyDeviceToHost, stream_.get()));
  cuda::finish_copies(doing, stream_.get());
  if (are_staged()) copy_out(k, target);
}

void vectors_on_gpu::copy_out(std::size_t k, void* target) const {
  if (bytes_of_[k] == 0) return;
  std::memcpy(target, static_cast<const std::byte*>(staged_.data()) + begin_of_[k], bytes_of_[k]);
}

void vectors_on_gpu::wait_quietly() const noexcept {
  if (!stream_ || stream_.get_deleter().life.ended()) return;
  const cuda::relaxed_capture_mode relaxed;
  cudaStreamSynchronize(stream_.get());
  cudaGetLastError();
}

}  // namespace whilst

#endif

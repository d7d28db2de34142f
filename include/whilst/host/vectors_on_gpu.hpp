#pragma once

#include <cstddef>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "whilst/engine/memory/cuda.hpp"
#include "whilst/engine/memory/memory.hpp"

namespace whilst {

#if WHILST_WITH_CUDA

/// Vectors for solves from host memory: their copies for a GPU, and the stream that copies and solves.
/// Copies wait for nothing but what is on that stream: small vectors go through pinned memory, all in one copy, or stay
/// there if the solve's kernels read and write each entry only once. Sources are borrowed until the work on the stream
/// is done.
class vectors_on_gpu {
 public:
  vectors_on_gpu() = default;
  /// touched_once: kernels read each entry once, and write it once, neighbours together.
  vectors_on_gpu(place where, std::vector<std::size_t> bytes_of_each, bool touched_once);

  bool is_made() const { return stream_ != nullptr; }
  CUstream_st* stream() const { return stream_.get(); }
  void* operator[](std::size_t k) const {
    return static_cast<std::byte*>(stay_ ? staged_.data() : memory_.data()) + begin_of_[k];
  }
  index_type bytes() const { return static_cast<index_type>(memory_.bytes()); }
  /// Whether downloads can be enqueued behind a run. Otherwise the driver may hold its locks until the run has ended,
  /// and others could not cancel it: wait for the run first.
  bool are_staged() const { return staged_.data() != nullptr; }
  /// Whether kernels work on the vectors in pinned memory, so that no copy follows a run.
  bool stay() const { return stay_; }

  /// Enqueues copies of as many vectors.
  void upload(std::string_view doing, std::initializer_list<const void*> sources);
  /// Copies vector k, once all work on the stream is done. Writes to the target only then if the vectors are staged.
  void download(std::string_view doing, std::size_t k, void* target);
  /// The same for vectors that stay, once the run has ended; does not wait for the stream.
  void copy_out(std::size_t k, void* target) const;
  /// Waits for the work on the stream, whatever becomes of it.
  void wait_quietly() const noexcept;

 private:
  place where_ = place::host();
  std::vector<std::size_t> bytes_of_, begin_of_;  ///< of each; and behind the last
  bool stay_ = false;
  raw_buffer memory_;
  shared_memory_block staged_;
  cuda::stream stream_;
};

#endif

}  // namespace whilst

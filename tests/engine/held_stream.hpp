#pragma once

#include <condition_variable>
#include <mutex>

#include "tests/catch.hpp"
#include "whilst/engine/memory/cuda.hpp"

namespace whilst_test {

#if WHILST_WITH_CUDA

/// Holds a stream back, by a function of the host's, until it is opened or destroyed: what is enqueued meanwhile waits
/// for its turn, however long the host takes.
class held_stream {
 public:
  explicit held_stream(cudaStream_t stream) : stream_(stream) {
    REQUIRE(cudaLaunchHostFunc(stream, wait, this) == cudaSuccess);
  }
  ~held_stream() {
    open();
    cudaStreamSynchronize(stream_);
  }
  held_stream(const held_stream&) = delete;
  held_stream& operator=(const held_stream&) = delete;
  void open() {
    const std::lock_guard hold(lock_);
    is_open_ = true;
    changed_.notify_all();
  }

 private:
  static void wait(void* self) {
    auto& held = *static_cast<held_stream*>(self);
    std::unique_lock hold(held.lock_);
    held.changed_.wait(hold, [&] { return held.is_open_; });
  }
  cudaStream_t stream_;
  std::mutex lock_;
  std::condition_variable changed_;
  bool is_open_ = false;
};

#endif

}  // namespace whilst_test

#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "whilst/index.hpp"

namespace whilst {

/// Where work runs and memory lies: the CPU, or one GPU.
class place {
 public:
  static place host() { return place(-1); }
  static place gpu(int device) { return place(device); }
  bool on_host() const { return device_ < 0; }
  /// The CUDA device number; not to be asked of the host.
  int device() const { return device_; }
  bool operator==(const place&) const = default;

 private:
  explicit place(int device) : device_(device) {}
  int device_;
};
/// "the host" or "GPU 0".
std::string name_of(place where);

/// Bytes on a place, zeroed at first; owned. Nothing here minds or disturbs a capture in progress, on whatever thread.
/// Taking and releasing memory on a GPU may wait for the GPU: never done during a solve.
class raw_buffer {
 public:
  raw_buffer() = default;
  raw_buffer(place where, std::size_t bytes);
  void* data() const { return memory_.get(); }
  std::size_t bytes() const { return bytes_; }
  /// Copies between host memory and the buffer; return when the copy has been made. Work in flight on the buffer, on
  /// whatever stream, is not waited for.
  void upload(const void* source, std::size_t bytes);
  void download(void* target, std::size_t bytes) const;

 private:
  std::unique_ptr<void, void (*)(void*)> memory_{nullptr, nullptr};
  std::size_t bytes_ = 0;
  int device_ = -1;
};

/// An array of trivially copyable T on a place; owned.
template <class T>
class buffer {
 public:
  buffer() = default;
  buffer(place where, index count) : raw_(where, static_cast<std::size_t>(count) * sizeof(T)), count_(count) {}
  T* data() const { return static_cast<T*>(raw_.data()); }
  index size() const { return count_; }
  void upload(const T* source) { raw_.upload(source, raw_.bytes()); }
  void download(T* target) const { raw_.download(target, raw_.bytes()); }

 private:
  raw_buffer raw_;
  index count_ = 0;
};

/// Host memory that a GPU can write (pinned and mapped), or plain host memory on the host; zeroed; owned.
class shared_memory_block {
 public:
  shared_memory_block() = default;
  shared_memory_block(place where, std::size_t bytes);
  void* data() const { return memory_.get(); }

 private:
  std::unique_ptr<void, void (*)(void*)> memory_{nullptr, nullptr};
};

}  // namespace whilst

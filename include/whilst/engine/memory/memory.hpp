#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "whilst/basics/index_type.hpp"
#include "whilst/engine/memory/context_life.hpp"

namespace whilst {

/// Where work runs and memory lies: the CPU, or one GPU.
class place {
 public:
  static place host() { return place(-1); }
  static place gpu(int device) { return place(device); }
  bool on_host() const { return device_ < 0; }
  /// The CUDA device number; do not call for the host.
  int device() const { return device_; }
  bool operator==(const place&) const = default;

 private:
  explicit place(int device) : device_(device) {}
  int device_;
};
/// "the host" or "GPU 0".
std::string name_of(place where);

/// While one lives, this thread records the body of a loop or the like, and allocation is refused: a body is recorded
/// once and would not allocate again each time it runs.
class recorded_body {
 public:
  /// what: "loop 'newton'".
  explicit recorded_body(std::string what);
  ~recorded_body();
  recorded_body(const recorded_body&) = delete;
  recorded_body& operator=(const recorded_body&) = delete;
  /// Throws whilst::error within a body. `doing` opens the message.
  static void refuse(const std::string& doing);

 private:
  std::string what_;
  const recorded_body* outer_;
};

/// Owns memory with an arbitrary release function.
using owned_memory = std::unique_ptr<void, std::function<void(void*)>>;

/// Bytes on a place, initially zero or a copy of host memory; owned. Nothing here disturbs, or fails because of, a
/// capture in progress on any thread. Allocating and releasing GPU memory may wait for the GPU: never done during a
/// solve, and refused while a body is recorded. Empty once moved from.
class raw_buffer {
 public:
  raw_buffer() = default;
  raw_buffer(place where, std::size_t bytes, const void* source = nullptr);
  /// What it holds at first is not known.
  static raw_buffer unset(place where, std::size_t bytes);
  void* data() const { return memory_.get(); }
  std::size_t bytes() const { return memory_ ? bytes_ : 0; }
  place where() const { return device_ < 0 ? place::host() : place::gpu(device_); }
  /// Copies between host memory and the buffer; return when the copy is complete. The source may also be memory of the
  /// buffer's place. They do not wait for work in flight on the buffer, on any stream. Throw whilst::error if the
  /// memory's context is gone.
  void upload(const void* source, std::size_t bytes);
  void download(void* target, std::size_t bytes) const;
  void set_to_zero();
  /// Of the context that the memory belongs to, on a GPU.
  cuda::context_life life() const { return life_; }

 private:
  void allocate(place where, std::size_t bytes);

  owned_memory memory_;
  std::size_t bytes_ = 0;
  int device_ = -1;
  cuda::context_life life_;
};

namespace detail {
/// Bytes of an array. Throws whilst::error on a negative count, whilst::out_of_memory on overflow.
std::size_t bytes_of_array(index_type count, std::size_t bytes_each);
}  // namespace detail

/// An array of trivially copyable T on a place; owned. The constructor throws whilst::error on a negative count.
template <class T>
class buffer {
 public:
  buffer() = default;
  buffer(place where, index_type count, const T* source = nullptr)
      : raw_(where, detail::bytes_of_array(count, sizeof(T)), source), count_(count) {}
  T* data() const { return static_cast<T*>(raw_.data()); }
  index_type size() const { return data() ? count_ : 0; }
  index_type bytes() const { return static_cast<index_type>(raw_.bytes()); }
  place where() const { return raw_.where(); }
  void upload(const T* source) { raw_.upload(source, raw_.bytes()); }
  void download(T* target) const { raw_.download(target, raw_.bytes()); }

 private:
  raw_buffer raw_;
  index_type count_ = 0;
};

/// Host memory that a GPU can write (pinned and mapped), or plain host memory on the host; zeroed; owned.
class shared_memory_block {
 public:
  shared_memory_block() = default;
  shared_memory_block(place where, std::size_t bytes);
  void* data() const { return memory_.get(); }

 private:
  owned_memory memory_;
};

}  // namespace whilst

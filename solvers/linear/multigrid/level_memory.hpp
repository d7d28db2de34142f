#pragma once

#include <vector>

#include "whilst/basics/views.hpp"
#include "whilst/engine/memory/memory.hpp"

namespace whilst::multigrid {

/// An array in level_memory.
template <class T>
struct piece {
  T* first = nullptr;
  index_type count = 0;

  T* data() const { return first; }
  index_type size() const { return count; }
};

/// Memory of a place that is handed out in pieces and released at once: a set-up takes a hundred arrays, and allocating
/// each by itself would take longer than filling it. What a piece holds at first is not known.
class level_memory {
 public:
  /// usual: bytes that are allocated at a time.
  level_memory(place where, std::size_t usual) : where_(where), usual_(usual) {}

  template <class T>
  piece<T> take(index_type count) {
    workspace measured;
    measured.take<T>(count);
    const auto bytes = (static_cast<std::size_t>(measured.used()) + alignment - 1) / alignment * alignment;
    return {static_cast<T*>(take_bytes(bytes)), count};
  }
  /// All pieces may be handed out again: those there are must not be used any more.
  void reuse() { slab_ = used_ = 0; }
  index_type bytes() const {
    index_type all = 0;
    for (const raw_buffer& slab : slabs_) all += static_cast<index_type>(slab.bytes());
    return all;
  }

 private:
  static constexpr std::size_t alignment = 256;
  void* take_bytes(std::size_t bytes) {
    while (slab_ < slabs_.size() && slabs_[slab_].bytes() - used_ < bytes) {
      ++slab_;
      used_ = 0;
    }
    if (slab_ == slabs_.size()) slabs_.emplace_back(where_, bytes > usual_ ? bytes : usual_);
    void* const taken = static_cast<std::byte*>(slabs_[slab_].data()) + used_;
    used_ += bytes;
    return taken;
  }

  place where_;
  std::size_t usual_;
  std::vector<raw_buffer> slabs_;
  std::size_t slab_ = 0, used_ = 0;  ///< which is being handed out, and how much of it has been
};

}  // namespace whilst::multigrid

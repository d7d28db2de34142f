#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "whilst/basics/error.hpp"
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
/// each by itself would take longer than filling it. What a piece holds at first is not known. Where there is not
/// enough memory for a whole slab, slabs are smaller.
class level_memory {
 public:
  /// first: bytes that are allocated at once, for all that is likely to be taken; a quarter of it when they are used.
  level_memory(place where, std::size_t first) : where_(where), first_(first) {}
  /// For pieces that are needed for a while: from the ends of that memory's slabs, where there is room. One at a time.
  explicit level_memory(level_memory& beside) : where_(beside.where_), first_(beside.first_ / 4), beside_(&beside) {}
  ~level_memory() {
    if (beside_) reuse();
  }
  level_memory(const level_memory&) = delete;
  level_memory& operator=(const level_memory&) = delete;

  template <class T>
  piece<T> take(index_type count) {
    workspace measured;
    measured.take<T>(count);
    return {static_cast<T*>(take_bytes(whole_units(static_cast<std::size_t>(measured.used())))), count};
  }
  /// For others, who count it and keep it as long as this: so many bytes, where a slab has them left; else null.
  void* lend(std::size_t bytes) {
    const std::size_t whole = whole_units(bytes);
    const auto from = slab_with(whole);
    if (from == slabs_.end()) return nullptr;
    lent_ += whole;
    return taken_from(*from, whole);
  }
  /// Of memory for a while: whether that many bytes are left in a slab, and half as many for what is kept before they
  /// are given back.
  bool has_room(std::size_t bytes) const {
    if (!beside_) return false;
    return std::any_of(beside_->slabs_.begin(), beside_->slabs_.end(),
                       [&](const slab& one) { return one.has(whole_units(bytes + bytes / 2)); });
  }
  /// All pieces may be handed out again: those there are must not be used any more, but by steps that run before
  /// those that later pieces are for.
  void reuse() {
    for (slab& one : slabs_) one.begin = 0;
    if (!beside_) return;
    for (slab& one : beside_->slabs_) one.end = one.bytes();
  }
  /// Without those lent.
  index_type bytes() const {
    std::size_t all = 0;
    for (const slab& one : slabs_) all += one.bytes();
    return static_cast<index_type>(all - lent_);
  }

 private:
  static constexpr std::size_t alignment = 256;
  /// Handed out from its begin, and from its end for a while.
  struct slab {
    raw_buffer memory;
    std::size_t begin = 0, end = memory.bytes();

    std::size_t bytes() const { return memory.bytes(); }
    std::byte* at(std::size_t place) const { return static_cast<std::byte*>(memory.data()) + place; }
    bool has(std::size_t wanted) const { return end - begin >= wanted; }
  };
  static std::size_t whole_units(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }
  std::vector<slab>::iterator slab_with(std::size_t bytes) {
    return std::find_if(slabs_.begin(), slabs_.end(), [&](const slab& one) { return one.has(bytes); });
  }
  static void* taken_from(slab& from, std::size_t bytes) {
    return from.at(std::exchange(from.begin, from.begin + bytes));
  }
  void* take_bytes(std::size_t bytes) {
    if (beside_)
      for (slab& one : beside_->slabs_)
        if (one.has(bytes)) return one.at(one.end -= bytes);
    auto from = slab_with(bytes);
    if (from == slabs_.end()) from = slabs_.insert(from, slab{new_slab(bytes)});
    return taken_from(*from, bytes);
  }

  raw_buffer new_slab(std::size_t bytes) {
    for (std::size_t size = slabs_.empty() ? first_ : first_ / 4;; size /= 2) {
      const std::size_t whole = std::max(bytes, size / alignment * alignment);
      try {
        return raw_buffer::unset(where_, whole);
      } catch (const out_of_memory&) {
        if (whole == bytes) throw;
      }
    }
  }

  place where_;
  std::size_t first_;
  std::size_t lent_ = 0;
  level_memory* beside_ = nullptr;
  std::vector<slab> slabs_;
};

}  // namespace whilst::multigrid

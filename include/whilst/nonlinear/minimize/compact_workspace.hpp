#pragma once

#include <cstddef>
#include <type_traits>

#include "whilst/basics/host_device.hpp"
#include "whilst/basics/index_type.hpp"

namespace whilst {

/// Like workspace, for many problems of a few unknowns: packs pieces as tightly as vector loads allow, and can measure
/// at compile time.
class compact_workspace {
 public:
  constexpr compact_workspace() = default;
  WHILST_HD explicit compact_workspace(std::byte* base) : base_(base) {}

  template <class T>
  WHILST_HD constexpr T* take(index_type count) {
    static_assert(std::is_trivially_copyable_v<T>);
    constexpr index_type alignment = alignof(T) > 16 ? alignof(T) : 16;
    const index_type begin = (used_ + alignment - 1) / alignment * alignment;
    used_ = begin + count * static_cast<index_type>(sizeof(T));
    return base_ ? reinterpret_cast<T*>(base_ + begin) : nullptr;
  }
  WHILST_HD constexpr index_type used() const { return used_; }

 private:
  std::byte* base_ = nullptr;
  index_type used_ = 0;
};

}  // namespace whilst

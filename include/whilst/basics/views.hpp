#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "whilst/basics/host_device.hpp"
#include "whilst/basics/index_type.hpp"

namespace whilst {

/// Reads data that no kernel writes while this one runs, such as a matrix, through the read-only path.
template <class T>
WHILST_HD T read_constant(const T* address) {
#if defined(__CUDA_ARCH__)
  return __ldg(address);
#else
  return *address;
#endif
}

/// Reads, in a map's fetch, what a step earlier than the previous one wrote: bypasses the multiprocessor's cache, which
/// may hold a stale copy. T has 4 or 8 bytes; the address may be in any memory, but not memory that this kernel writes:
/// compilers do not see the read. So maps call team.early(address), which knows whether kernels precede.
template <class T>
WHILST_HD T read_early(const T* address) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
#if defined(__CUDA_ARCH__)
  if constexpr (sizeof(T) == 8) {
    std::uint64_t bits;
    asm volatile("ld.relaxed.gpu.b64 %0, [%1];" : "=l"(bits) : "l"(address));
    return std::bit_cast<T>(bits);
  } else {
    std::uint32_t bits;
    asm volatile("ld.relaxed.gpu.b32 %0, [%1];" : "=r"(bits) : "l"(address));
    return std::bit_cast<T>(bits);
  }
#else
  return *address;
#endif
}
/// Reads what no other block writes while this kernel runs; what this block wrote is seen after it has synchronized.
/// Such reads are issued in the order of the source. ptxas delays plain ones to save registers, and a map then waits
/// for memory twice.
template <class T>
WHILST_HD T read_in_order(const T* address) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
#if defined(__CUDA_ARCH__)
  if constexpr (sizeof(T) == 8) {
    std::uint64_t bits;
    asm volatile("ld.relaxed.cta.b64 %0, [%1];" : "=l"(bits) : "l"(address) : "memory");
    return std::bit_cast<T>(bits);
  } else {
    std::uint32_t bits;
    asm volatile("ld.relaxed.cta.b32 %0, [%1];" : "=r"(bits) : "l"(address) : "memory");
    return std::bit_cast<T>(bits);
  }
#else
  return *address;
#endif
}

/// The k sums that a step produces, numbers of 4 or 8 bytes; added componentwise. A map returns its share, `return
/// sums{r * u, r * r};`, and the step's finish receives the totals.
template <class T, int k>
struct sums {
  T value[k];

  WHILST_HD T operator[](int i) const { return value[i]; }
  WHILST_HD sums& operator+=(const sums& other) {
    for (int i = 0; i < k; ++i) value[i] += other.value[i];
    return *this;
  }
};
template <class T, class... More>
sums(T, More...) -> sums<T, 1 + static_cast<int>(sizeof...(More))>;

/// A pointer bound at launch: the address where the caller's pointer is stored, and an offset in elements. A program
/// reads it when it runs, so a new buffer of the same shape needs no re-recording. Owns nothing.
template <class T>
struct slot {
  T* const* where = nullptr;
  index_type offset = 0;

  WHILST_HD T* get() const { return *where + offset; }
  WHILST_HD slot shifted(index_type elements) const { return {where, offset + elements}; }
};

/// The same for memory that no step of the program writes.
template <class T>
struct constant_slot {
  static constexpr bool constant = true;
  T* const* where = nullptr;
  index_type offset = 0;

  WHILST_HD T* get() const { return *where + offset; }
  WHILST_HD constant_slot shifted(index_type elements) const { return {where, offset + elements}; }
};

/// The same for a pointer that never changes.
template <class T>
struct fixed_slot {
  T* pointer = nullptr;

  WHILST_HD T* get() const { return pointer; }
  WHILST_HD fixed_slot shifted(index_type elements) const { return {pointer + elements}; }
};

/// Memory that a step or a call declares to write, so that a recorder can refuse parallel bodies that write the same
/// memory: a map or a finish declares `auto writes() const { return std::array{whilst::memory_range::of(y, n)}; }`.
struct memory_range {
  const void* begin = nullptr;
  std::size_t bytes = 0;

  template <class T>
  static memory_range of(const T* first, index_type count) {
    return {first, static_cast<std::size_t>(count) * sizeof(T)};
  }
  bool overlaps(const memory_range& other) const {
    const auto first = reinterpret_cast<std::uintptr_t>(begin), its = reinterpret_cast<std::uintptr_t>(other.begin);
    return bytes > 0 && other.bytes > 0 && first < its + other.bytes && its < first + bytes;
  }
};

namespace detail {
/// Throws whilst::error.
[[noreturn]] void refuse_piece(index_type count, std::size_t bytes_each);
}  // namespace detail

/// Which of n indices each of several blocks of threads works on: 2^shift consecutive ones, of which `first` is this
/// block's first.
struct block_share {
  int shift = 62;  ///< all indices
  index_type first = 0;

  WHILST_HD index_type size() const { return index_type{1} << shift; }
};

/// Hands out pieces of one block of memory, in order, each aligned to 256 bytes. On a null pointer it only measures:
/// run the takes on a measuring workspace, allocate used() bytes, run them again. On the host a negative count throws
/// whilst::error, and one whose bytes overflow index_type throws whilst::out_of_memory.
///
/// A workspace with a share is that of one of several blocks of threads, which all have one alike, each in memory of
/// its own: what is taken is there in each of them, and of a vector each holds its share.
class workspace {
 public:
  WHILST_HD explicit workspace(void* base = nullptr) : base_(static_cast<std::byte*>(base)) {}
  /// In a kernel the base is not null.
  WHILST_HD workspace(void* base, const block_share& share)
      : base_(static_cast<std::byte*>(base)), share_(share), known_to_be_there_(on_device) {}

  template <class T>
  WHILST_HD T* take(index_type count) {
    static_assert(std::is_trivially_copyable_v<T>);
    constexpr index_type alignment = 256;
#if !defined(__CUDA_ARCH__)
    constexpr index_type most = std::numeric_limits<index_type>::max() - 2 * alignment;
    if (count < 0 || count > (most - used_) / static_cast<index_type>(sizeof(T)))
      detail::refuse_piece(count, sizeof(T));
#endif
    const index_type begin = (used_ + alignment - 1) / alignment * alignment;
    used_ = begin + count * static_cast<index_type>(sizeof(T));
    return known_to_be_there_ || base_ ? reinterpret_cast<T*>(base_ + begin) : nullptr;
  }
  /// A vector of n entries. Entry i is at address [i], where the block that works on index i asks.
  template <class T>
  WHILST_HD T* vector(index_type n) {
    T* const held = take<T>(n < share_.size() ? n : share_.size());
    return known_to_be_there_ || held ? held - share_.first : nullptr;
  }
  WHILST_HD index_type used() const { return used_; }

 private:
  std::byte* base_;
  block_share share_;
  /// No kernel measures, and without a test for null nvcc sees that what each of several blocks has is in shared
  /// memory. Of one block's memory it cannot tell; there the test keeps each address a value of its own. Without it
  /// nvcc makes them from the base where they are used, which takes registers, and these kernels have none left.
  bool known_to_be_there_ = false;
  index_type used_ = 0;
};

}  // namespace whilst

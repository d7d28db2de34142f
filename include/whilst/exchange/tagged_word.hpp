#pragma once

#include <atomic>
#include <cstdint>

#include "whilst/basics/host_device.hpp"

namespace whilst {

/// What ranks send to one another while their loops run: a value, and the round that it is of, which arrive together.
/// So a reader that sees the round has the value, and nobody needs a fence. Zeroed memory holds words of round 0.
struct alignas(16) tagged_word {
  std::uint64_t value;
  std::uint32_t round, flags;
};
static_assert(sizeof(tagged_word) == 16);

/// Writes a word that another rank polls, in its memory. One store of 16 bytes on a GPU; on the host two, the second of
/// which releases the first.
WHILST_HD inline void put_word(tagged_word* to, const tagged_word& word) {
  const std::uint64_t tag = std::uint64_t{word.flags} << 32 | word.round;
#if defined(__CUDA_ARCH__)
  asm volatile("{\n.reg .b128 word;\nmov.b128 word, {%1, %2};\nst.relaxed.sys.global.b128 [%0], word;\n}" ::"l"(to),
               "l"(word.value), "l"(tag)
               : "memory");
#else
  auto* const halves = reinterpret_cast<std::uint64_t*>(to);
  std::atomic_ref(halves[0]).store(word.value, std::memory_order_relaxed);
  std::atomic_ref(halves[1]).store(tag, std::memory_order_release);
#endif
}

/// Reads a word of this rank's memory that another rank may be writing. Its value counts only if its round is the one
/// that is expected: a rank writes the next word to that place when it knows that this one has been read.
WHILST_HD inline tagged_word get_word(const tagged_word* from) {
  std::uint64_t value, tag;
#if defined(__CUDA_ARCH__)
  asm volatile("{\n.reg .b128 word;\nld.relaxed.sys.global.b128 word, [%2];\nmov.b128 {%0, %1}, word;\n}"
               : "=l"(value), "=l"(tag)
               : "l"(from)
               : "memory");
#else
  auto* const halves = reinterpret_cast<std::uint64_t*>(const_cast<tagged_word*>(from));
  tag = std::atomic_ref(halves[1]).load(std::memory_order_acquire);
  value = std::atomic_ref(halves[0]).load(std::memory_order_relaxed);
#endif
  return {value, static_cast<std::uint32_t>(tag), static_cast<std::uint32_t>(tag >> 32)};
}

/// The same if `wanted`, else a word of round 0. For who looks once and does not wait: on a GPU other reads may pass
/// it, and there is no branch, so that all reads of a row are in flight at once.
WHILST_HD inline tagged_word look_at_word(const tagged_word* from, bool wanted) {
#if defined(__CUDA_ARCH__)
  std::uint64_t value, tag;
  asm volatile(
      "{\n.reg .pred wanted;\n.reg .b128 word;\nsetp.ne.s32 wanted, %3, 0;\nmov.b64 %0, 0;\nmov.b64 %1, 0;\n"
      "mov.b128 word, {%0, %1};\n@wanted ld.relaxed.sys.global.b128 word, [%2];\nmov.b128 {%0, %1}, word;\n}"
      : "=&l"(value), "=&l"(tag)
      : "l"(from), "r"(static_cast<int>(wanted)));
  return {value, static_cast<std::uint32_t>(tag), static_cast<std::uint32_t>(tag >> 32)};
#else
  return wanted ? get_word(from) : tagged_word{};
#endif
}

}  // namespace whilst

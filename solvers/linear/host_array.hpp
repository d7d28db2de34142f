#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "whilst/engine/steps/host_threads.hpp"

namespace whilst::detail {

/// Calls visit(begin, end) for ranges that together are 0 to count, on the host's threads. Below half a million entries
/// the calling thread does it alone: waking others would take longer.
template <class Visit>
void visit_ranges(std::size_t count, const Visit& visit) {
  constexpr std::size_t range = 65536;
  constexpr index_type ranges_a_thread = 4;
  run_on_threads(static_cast<index_type>((count + range - 1) / range), 0, ranges_a_thread, [&](index_type k) {
    const std::size_t begin = static_cast<std::size_t>(k) * range;
    visit(begin, std::min(count, begin + range));
  });
}

/// The smallest k below count for which is_wanted(k) is true, whatever the number of threads; count if there is none.
template <class Wanted>
std::size_t first_index(std::size_t count, const Wanted& is_wanted) {
  std::atomic<std::size_t> first{count};
  visit_ranges(count, [&](std::size_t begin, std::size_t end) {
    bool is_here = false;  // found first without an exit from the loop: that can be vectorized
    for (std::size_t k = begin; k < end; ++k) is_here |= is_wanted(k);
    if (!is_here) return;
    for (std::size_t k = begin; k < end; ++k) {
      if (!is_wanted(k)) continue;
      std::size_t known = first.load();
      while (k < known && !first.compare_exchange_weak(known, k)) {
      }
      return;
    }
  });
  return first.load();
}

/// A copy of an array in host memory, converted to T. Of a large one most of the time goes into the pages, which the
/// kernel clears when they are first written. So nothing writes them before the copy, threads share the copy, and the
/// kernel is asked for huge pages.
template <class T>
class host_array {
 public:
  host_array() = default;
  template <class From>
  explicit host_array(std::span<const From> from) : memory_(allocate(from.size())), size_(from.size()) {
    visit_ranges(size_, [&](std::size_t begin, std::size_t end) {
      std::transform(from.begin() + static_cast<std::ptrdiff_t>(begin), from.begin() + static_cast<std::ptrdiff_t>(end),
                     memory_.get() + begin, [](From entry) { return static_cast<T>(entry); });
    });
  }
  std::span<const T> entries() const { return {memory_.get(), size_}; }

 private:
  struct release {
    void operator()(T* memory) const { std::free(memory); }
  };
  static T* allocate(std::size_t count) {
    constexpr std::size_t huge_page = std::size_t{1} << 21;
    if (count == 0) return nullptr;
    const std::size_t bytes = count * sizeof(T), whole_pages = bytes / huge_page * huge_page;
    void* const memory = whole_pages ? std::aligned_alloc(huge_page, (bytes + huge_page - 1) / huge_page * huge_page)
                                     : std::malloc(bytes);
    if (!memory) throw std::bad_alloc();
#if defined(MADV_HUGEPAGE)
    if (whole_pages) madvise(memory, whole_pages, MADV_HUGEPAGE);  // refused, they are small
#endif
    return static_cast<T*>(memory);
  }
  std::unique_ptr<T[], release> memory_;
  std::size_t size_ = 0;
};

}  // namespace whilst::detail

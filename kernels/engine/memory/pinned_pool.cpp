#include "kernels/engine/memory/pinned_pool.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <mutex>
#include <vector>

#include "whilst/engine/memory/cuda.hpp"

#if WHILST_WITH_CUDA

namespace whilst {
namespace {

constexpr std::size_t smallest = 64, largest = std::size_t{1} << 16;
constexpr std::size_t sizes = std::countr_zero(largest) - std::countr_zero(smallest) + 1;

void* allocate(std::size_t bytes) {
  void* memory = nullptr;
  WHILST_CUDA("allocating pinned memory", cudaHostAlloc(&memory, bytes, cudaHostAllocMapped | cudaHostAllocPortable));
  return memory;
}

/// The pieces of one context that nobody holds.
struct pool {
  cuda::context_life life;
  std::array<std::vector<std::byte*>, sizes> free;  ///< by size: powers of two from the smallest

  /// A piece of this size: a free one, or half of one that is twice as large; null if there is none.
  std::byte* take(std::size_t size) {
    if (size == sizes) return nullptr;
    std::vector<std::byte*>& same = free[size];
    if (same.empty()) {
      std::byte* const whole = take(size + 1);
      if (!whole) return nullptr;
      same.push_back(whole + (smallest << size));
      return whole;
    }
    std::byte* const piece = same.back();
    same.pop_back();
    return piece;
  }
};

struct pools {
  std::mutex lock;
  std::vector<pool> all;
};
/// Kept until the process ends: memory with static lifetime may be released last.
pools& all_pools() {
  static auto& all = *new pools;
  return all;
}

pool* pool_of(cuda::context_life life) {
  for (pool& one : all_pools().all)
    if (one.life == life) return &one;
  return nullptr;
}

}  // namespace

owned_memory take_pinned(std::size_t bytes) {
  const auto life = cuda::context_life::current();
  if (bytes > largest || life == cuda::context_life())  // or whether the context has ended could not be told
    return {allocate(bytes ? bytes : 1), [life](void* held) {
              if (life.ended()) return;
              const cuda::relaxed_capture_mode relaxed;
              cudaFreeHost(held);
            }};
  const std::size_t size = std::countr_zero(std::bit_ceil(std::max(bytes, smallest))) - std::countr_zero(smallest);
  const auto taken = [&](std::byte* made) {
    const std::lock_guard hold(all_pools().lock);
    if (!pool_of(life)) {
      std::erase_if(all_pools().all, [](const pool& one) { return one.life.ended(); });
      all_pools().all.push_back({life, {}});
    }
    pool& from = *pool_of(life);
    if (made) from.free[sizes - 1].push_back(made);
    return from.take(size);
  };
  std::byte* piece = taken(nullptr);
  // Allocating may wait for the driver, and a release for the lock: not with the lock held.
  while (!piece) piece = taken(static_cast<std::byte*>(allocate(largest)));
  return {piece, [life, size](void* held) {
            if (life.ended()) return;
            const std::lock_guard returning(all_pools().lock);
            if (pool* const from = pool_of(life)) from->free[size].push_back(static_cast<std::byte*>(held));
          }};
}

}  // namespace whilst

#endif

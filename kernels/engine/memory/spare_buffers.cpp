#include "kernels/engine/memory/spare_buffers.hpp"

#include <algorithm>
#include <bit>
#include <mutex>
#include <utility>
#include <vector>

#if WHILST_WITH_CUDA

namespace whilst {
namespace {

constexpr std::size_t smallest_spare = std::size_t{1} << 14, largest_spare = std::size_t{1} << 20, most_spare = 16;

struct spare_buffers {
  std::mutex lock;
  std::vector<raw_buffer> all;
};
/// Until the process ends: programs with static lifetime may leave theirs last.
spare_buffers& all_spare() {
  static auto& all = *new spare_buffers;
  return all;
}

}  // namespace

raw_buffer take_spare(place where, std::size_t bytes) {
  const std::size_t size = std::bit_ceil(std::max(bytes, smallest_spare));
  const cuda::context_life now = cuda::context_life::current();
  raw_buffer taken;
  {
    spare_buffers& spare = all_spare();
    const std::lock_guard hold(spare.lock);
    const auto found = std::find_if(spare.all.begin(), spare.all.end(), [&](const raw_buffer& one) {
      return one.bytes() == size && one.where() == where && one.life() == now;
    });
    if (found != spare.all.end()) {
      taken = std::move(*found);
      spare.all.erase(found);
    }
  }
  if (!taken.data()) return raw_buffer::unset(where, size > largest_spare ? bytes : size);
  return taken;
}

void leave_spare(raw_buffer used) noexcept try {
  if (used.bytes() < smallest_spare || used.bytes() > largest_spare || !std::has_single_bit(used.bytes())) return;
  if (used.life() == cuda::context_life() || used.life().ended()) return;  // or it could not be told later
  spare_buffers& spare = all_spare();
  raw_buffer oldest;  // to be freed without the lock
  const std::lock_guard hold(spare.lock);
  if (spare.all.size() == most_spare) {
    oldest = std::move(spare.all.front());
    spare.all.erase(spare.all.begin());
  }
  spare.all.push_back(std::move(used));
} catch (...) {
  return;  // it is freed
}

}  // namespace whilst

#endif

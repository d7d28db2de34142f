#include "whilst/exchange/window.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/engine/memory/copies.hpp"
#include "solvers/exchange/windows/transport.hpp"
#include "whilst/engine/memory/cuda.hpp"

namespace whilst {

struct window::common {
  windows::ranks_known known;
  windows::choice chosen;
};
struct window::pieces {
  std::shared_ptr<const common> of;
  windows::memory_seen memory;

  explicit pieces(std::size_t bytes) { memory.bytes = std::max<std::size_t>(bytes, 1); }
};

std::vector<std::string> transport_names() {
  std::vector<std::string> names;
  for (const windows::transport_kind* const kind : windows::transport_kinds()) names.emplace_back(kind->name);
  return names;
}
void check_transport(std::string_view doing, const std::string& name) {
  (void)windows::kind_called(doing, name, windows::transport_kinds());
}

window::window(const group& ranks, place where, std::size_t bytes, const std::string& transport)
    : pieces_(std::make_shared<pieces>(bytes)) {
  windows::ranks_known known(ranks, where, transport);
  windows::choice chosen = windows::choose(known, transport, windows::transport_kinds(), pieces_->memory);
  pieces_->of = std::make_shared<const common>(common{std::move(known), std::move(chosen)});
}

window window::another(std::size_t bytes) const {
  window made;
  made.pieces_ = std::make_shared<pieces>(bytes);
  made.pieces_->of = pieces_->of;
  windows::open_memory(pieces_->of->known, pieces_->of->chosen.by.get(), made.pieces_->memory);
  return made;
}

void* window::of(int rank) const { return pieces_->memory.seen[static_cast<std::size_t>(rank)]; }
const std::string& window::transport() const { return pieces_->of->chosen.name; }

const std::string& window::passed_over() const { return pieces_->of->chosen.passed_over; }

bool window::shares_gpu() const { return pieces_->of->known.shares_gpu(); }

void window::put(const void* from, std::size_t bytes) {
  const windows::memory_seen& memory = pieces_->memory;
  copy_to_place(memory.own_is_of_host ? place::host() : pieces_->of->known.where, memory.own.get(), from, bytes);
}

void window::set_to_zero() {
  const windows::memory_seen& memory = pieces_->memory;
  if (memory.own_is_of_host) {
    std::memset(memory.own.get(), 0, memory.bytes);
    return;
  }
#if WHILST_WITH_CUDA
  const cuda::device_guard current(pieces_->of->known.where.device());
  WHILST_CUDA("clearing a window", cudaMemset(memory.own.get(), 0, memory.bytes));
  WHILST_CUDA("clearing a window", cudaDeviceSynchronize());
#endif
}

}  // namespace whilst

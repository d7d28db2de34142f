#include "whilst/engine/rebindable.hpp"

#include "kernels/engine/device_parts.hpp"
#include "whilst/basics/held.hpp"
#include "whilst/engine/memory/pointer_check.hpp"

namespace whilst::detail {
namespace {

void check(place where, const void* pointer, CUstream_st* stream = nullptr) {
  require_usable("binding data", where, {{"the pointer", pointer}}, {.look = true, .stream = stream});
}

}  // namespace

pointer_cell::pointer_cell(place where, const void* pointer) : place_(where), cell_(where, 1) {
  check(where, pointer);
  cell_.upload(&pointer);
#if WHILST_WITH_CUDA
  if (where.on_host()) return;
  const cuda::device_guard current(where.device());
  load_write_words({{cell_.data(), 0, sizeof(pointer)}});
#endif
}

void pointer_cell::bind([[maybe_unused]] CUstream_st* stream, const void* pointer) {
  if (cell_.size() == 0) refuse_moved_from("rebindable");
  check(place_, pointer, stream);
  if (place_.on_host()) {
    *cell_.data() = pointer;
    return;
  }
#if WHILST_WITH_CUDA
  const cuda::device_guard current(place_.device());
  write_words(stream ? stream : cudaStreamLegacy,
              {{cell_.data(), reinterpret_cast<std::uintptr_t>(pointer), sizeof(pointer)}});
#endif
}

}  // namespace whilst::detail

#include "whilst/rebindable.hpp"

#include "kernels/launch/device_parts.hpp"
#include "whilst/error.hpp"

namespace whilst::detail {
namespace {

const void* checked(const void* pointer) {
  if (!pointer) throw error("binding data", "the pointer is null", "Give memory of the functor's place");
  return pointer;
}

}  // namespace

pointer_cell::pointer_cell(place where, const void* pointer) : place_(where), cell_(where, 1) {
  checked(pointer);
  cell_.upload(&pointer);
#if WHILST_WITH_CUDA
  if (where.on_host()) return;
  const cuda::device_guard current(where.device());
  load_write_words();
#endif
}

void pointer_cell::bind([[maybe_unused]] CUstream_st* stream, const void* pointer) {
  checked(pointer);
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

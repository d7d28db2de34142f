#include "whilst/engine/runs_in_flight.hpp"

#include "whilst/engine/memory/cuda.hpp"

namespace whilst {

void wait_quietly(const program& of) noexcept {
#if WHILST_WITH_CUDA
  const cuda::caught_failures not_told;
#endif
  try {
    of.wait();
  } catch (...) {
  }
}

}  // namespace whilst

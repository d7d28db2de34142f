#include "solvers/host/run_now.hpp"

#include "whilst/engine/memory/cuda.hpp"

namespace whilst {

void run_now(program work, place where) {
  work.prepare({.how = where.on_host() ? executor::host : executor::stream});
#if WHILST_WITH_CUDA
  if (!where.on_host()) {
    const cuda::device_guard current(where.device());
    const cuda::stream own = cuda::make_stream();  // a null stream would wait for others
    work.enqueue(own.get());
    work.wait();
    return;
  }
#endif
  work.enqueue(nullptr);
  work.wait();
}

}  // namespace whilst

#include "solvers/linear/automatic/solve_vectors.hpp"

#include <algorithm>
#include <functional>

#include "whilst/basics/error.hpp"
#include "whilst/engine/memory/cuda.hpp"

namespace whilst {

template <class T>
solve_vectors<T>::solve_vectors(place where, CUstream_st* stream, const T* b, index_type rows, T* x, index_type columns)
    : where_(where), stream_(stream), on_place_(true), b_on_place_(b), x_on_place_(x), rows_(rows), columns_(columns) {
  const std::less<const T*> before;
  if (b && x && before(b, x + columns) && before(x, b + rows))
    throw error(doing, "b and x share memory, and auto may need b for another method", "Give x memory of its own");
#if WHILST_WITH_CUDA
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  if (!where.on_host() && stream) {
    const cuda::device_guard current(where.device());
    WHILST_CUDA("asking whether a stream is capturing", cudaStreamIsCapturing(stream, &status));
  }
  if (status != cudaStreamCaptureStatusNone)
    throw error(doing, "its stream is being captured, where nothing runs that one could wait for",
                "Use enqueue, and wait() once the graph has run");
#endif
}

template <class T>
std::shared_ptr<ticket::state> solve_vectors<T>::solve(prepared_solve<T>& by) {
  if (!on_place_) return by.solve(b_, x_);
  auto started = by.solve(doing, stream_, b_on_place_, x_on_place_);
  has_x_ = false;
  return started;
}

template <class T>
void solve_vectors<T>::put_x() {
  if (on_place_) copy(x_on_place_, x_.data(), columns_);
}
template <class T>
void solve_vectors<T>::fetch(std::vector<T>& copy_of, const T* from, index_type entries) const {
  copy_of.resize(static_cast<std::size_t>(entries));
  copy(copy_of.data(), from, entries);
}
template <class T>
void solve_vectors<T>::copy(void* to, const void* from, index_type entries) const {
  if (entries == 0) return;
#if WHILST_WITH_CUDA
  if (!where_.on_host()) {
    // On the caller's stream: behind what has written them, and in front of what reads x.
    const cuda::device_guard current(where_.device());
    WHILST_CUDA(doing,
                cudaMemcpyAsync(to, from, static_cast<std::size_t>(entries) * sizeof(T), cudaMemcpyDefault, stream_));
    cuda::finish_copies(doing, stream_);
    return;
  }
#endif
  std::copy_n(static_cast<const T*>(from), entries, static_cast<T*>(to));
}

template class solve_vectors<float>;
template class solve_vectors<double>;

}  // namespace whilst

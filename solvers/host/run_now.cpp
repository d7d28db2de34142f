#include "solvers/host/run_now.hpp"

#include <algorithm>
#include <utility>

namespace whilst {
namespace {

void start_on(CUstream_st* stream, program& work, place where) {
  work.prepare({.how = where.on_host() ? executor::host : executor::stream});
#if WHILST_WITH_CUDA
  std::optional<cuda::device_guard> current;
  if (!where.on_host()) current.emplace(where.device());
#endif
  work.enqueue(stream);
}

#if WHILST_WITH_CUDA
/// A null stream would wait for others. None on the host.
cuda::stream stream_of_its_own(place where) {
  if (where.on_host()) return {};
  const cuda::device_guard current(where.device());
  return cuda::make_stream();
}
#endif

}  // namespace

void run_now(program work, place where) {
#if WHILST_WITH_CUDA
  const cuda::stream own = stream_of_its_own(where);
  start_on(own.get(), work, where);
#else
  start_on(nullptr, work, where);
#endif
  work.wait();
}

recorded_stages::recorded_stages(place where) : where_(where) {
#if WHILST_WITH_CUDA
  own_ = stream_of_its_own(where);
#endif
  steps_.emplace(where_);
}

void recorded_stages::start() {
  program work = std::move(*steps_).finish();
  steps_.emplace(where_);
#if WHILST_WITH_CUDA
  start_on(own_.get(), work, where_);
#else
  start_on(nullptr, work, where_);
#endif
  started_.push_back(std::move(work));
}

void recorded_stages::wait(std::size_t except_last) {
  const auto end = started_.end() - static_cast<std::ptrdiff_t>(std::min(except_last, started_.size()));
  for (auto one = started_.begin(); one != end; ++one) one->wait();
  started_.erase(started_.begin(), end);
}

}  // namespace whilst

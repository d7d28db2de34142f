#include "solvers/launches.hpp"

#include <algorithm>

namespace whilst {
namespace {

constexpr int prepared_launches = 16;

}  // namespace

#if WHILST_WITH_CUDA
/// A stream beside the loop's, and pinned memory for what goes over it.
struct launch_desk::beside {
  cuda::stream stream = cuda::make_stream();
  shared_memory_block memory;
  struct words {
    control of_loop;
    std::uint64_t number;
    int outer_running;
  };
  explicit beside(place where) : memory(where, sizeof(words)) {}
  words& pinned() const { return *static_cast<words*>(memory.data()); }
};
#else
struct launch_desk::beside {};
#endif

launch_desk::launch_desk(place where, control* outer, control* inner, history_record* history, report_fields common)
    : where_(where), outer_(outer), inner_(inner), history_(history), common_(std::move(common)) {
#if WHILST_WITH_CUDA
  if (!where.on_host()) {
    cuda::device_guard current(where.device());
    beside_ = std::make_unique<beside>(where);
  }
#endif
  for (int i = 0; i < prepared_launches; ++i) {
    prepared_.push_back(std::make_shared<launch>());
    prepared_.back()->outcome = shared_memory_block(where, sizeof(solve_outcome));
#if WHILST_WITH_CUDA
    if (!where.on_host()) {
      cuda::device_guard current(where.device());
      prepared_.back()->done = cuda::make_event();
    }
#endif
  }
}
launch_desk::~launch_desk() = default;

std::shared_ptr<launch_desk::launch> launch_desk::begin() {
  const std::lock_guard hold(lock_);
  // Nobody else refers to a launch whose ticket is gone; that it has also completed matters, since the device writes
  // its outcome.
  auto free = std::find_if(prepared_.begin(), prepared_.end(), [&](const std::shared_ptr<launch>& one) {
    return one.use_count() == 1 && !one->in_capture && (one->number == 0 || is_done(*one));
  });
  if (free == prepared_.end()) {
    auto made = std::make_shared<launch>();
    made->outcome = shared_memory_block(where_, sizeof(solve_outcome));
#if WHILST_WITH_CUDA
    if (!where_.on_host()) {
      cuda::device_guard current(where_.device());
      made->done = cuda::make_event();
    }
#endif
    prepared_.push_back(std::move(made));
    free = prepared_.end() - 1;
  }
  (*free)->number = ++latest_;
  static_cast<solve_outcome*>((*free)->outcome.data())->launch = 0;
  return *free;
}

void launch_desk::enqueued(const std::shared_ptr<launch>& which, [[maybe_unused]] CUstream_st* stream,
                           bool in_capture) {
  which->in_capture = in_capture;
#if WHILST_WITH_CUDA
  if (!where_.on_host() && !in_capture)
    WHILST_CUDA("marking the end of a solve", cudaEventRecord(which->done.get(), stream));
#endif
}

bool launch_desk::is_done([[maybe_unused]] const launch& which) const {
#if WHILST_WITH_CUDA
  if (!where_.on_host()) {
    if (which.in_capture)
      return static_cast<volatile const solve_outcome*>(which.outcome.data())->launch == which.number;
    const cuda::relaxed_capture_mode relaxed;  // a query breaks captures in progress, on any stream
    return cudaEventQuery(which.done.get()) != cudaErrorNotReady;
  }
#endif
  return true;
}

void launch_desk::wait([[maybe_unused]] const launch& which) const {
#if WHILST_WITH_CUDA
  if (where_.on_host()) return;
  if (which.in_capture) {
    if (is_done(which)) return;
    throw error("waiting for a solve that was enqueued into a capture", "its graph has not completed a launch yet",
                "Launch the graph and synchronize its stream first");
  }
  cuda::device_guard current(where_.device());
  WHILST_CUDA("waiting for a solve", cudaEventSynchronize(which.done.get()));
#endif
}

report launch_desk::report_of(const launch& which) const {
  const std::lock_guard hold(lock_);
  const auto& outcome = *static_cast<const solve_outcome*>(which.outcome.data());
  report_fields fields = common_;
  fields.reason = outcome.why;
  fields.iterations = outcome.iterations;
  fields.residual_norm = outcome.residual_norm;
  fields.rhs_norm = outcome.rhs_norm;
  fields.solve_seconds = 1e-9 * static_cast<double>(outcome.nanoseconds);
  fields.loop_seconds = 1e-9 * static_cast<double>(outcome.loop_nanoseconds);
  // The history lies with the loop: a later launch has overwritten it.
  if (history_ && which.number == latest_) {
    control loop{};
    if (where_.on_host()) {
      loop = *inner_;
      fields.history.assign(history_, history_ + loop.history_count);
    } else {
#if WHILST_WITH_CUDA
      cuda::device_guard current(where_.device());
      const cudaStream_t stream = beside_->stream.get();
      const auto copy = [&](void* target, const void* source, std::size_t bytes) {
        WHILST_CUDA("copying the history", cudaMemcpyAsync(target, source, bytes, cudaMemcpyDeviceToHost, stream));
        WHILST_CUDA("copying the history", cudaStreamSynchronize(stream));
      };
      copy(&loop, inner_, sizeof loop);
      fields.history.resize(static_cast<std::size_t>(loop.history_count));
      copy(fields.history.data(), history_, fields.history.size() * sizeof(history_record));
#endif
    }
  }
  return report(std::move(fields));
}

progress launch_desk::progress() const {
  const std::lock_guard hold(lock_);
  if (where_.on_host()) {
    const volatile control& loop = *inner_;
    return {loop.iteration, loop.residual_norm, static_cast<const volatile control*>(outer_)->running != 0};
  }
#if WHILST_WITH_CUDA
  cuda::device_guard current(where_.device());
  const cudaStream_t stream = beside_->stream.get();
  beside::words& pinned = beside_->pinned();
  WHILST_CUDA("reading progress",
              cudaMemcpyAsync(&pinned.of_loop, inner_, sizeof(control), cudaMemcpyDeviceToHost, stream));
  WHILST_CUDA("reading progress",
              cudaMemcpyAsync(&pinned.outer_running, &outer_->running, sizeof(int), cudaMemcpyDeviceToHost, stream));
  WHILST_CUDA("reading progress", cudaStreamSynchronize(stream));
  return {pinned.of_loop.iteration, pinned.of_loop.residual_norm, pinned.outer_running != 0};
#else
  return {};
#endif
}

void launch_desk::cancel(std::uint64_t number) {
  if (number == 0) return;
  if (where_.on_host()) {
    outer_->cancel_request = number;
    return;
  }
#if WHILST_WITH_CUDA
  const std::lock_guard hold(lock_);
  cuda::device_guard current(where_.device());
  const cudaStream_t stream = beside_->stream.get();
  beside_->pinned().number = number;
  void* const target = const_cast<std::uint64_t*>(&outer_->cancel_request);
  WHILST_CUDA("cancelling a solve",
              cudaMemcpyAsync(target, &beside_->pinned().number, sizeof number, cudaMemcpyHostToDevice, stream));
  WHILST_CUDA("cancelling a solve", cudaStreamSynchronize(stream));
#endif
}

whilst::progress ticket::progress() const { return state_->desk->progress(); }
void ticket::cancel() const { state_->desk->cancel(state_->which->number); }
bool ticket::done() const { return state_->desk->is_done(*state_->which); }
report ticket::wait() const {
  state_->desk->wait(*state_->which);
  return state_->desk->report_of(*state_->which);
}

}  // namespace whilst

#include "whilst/host/launches.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <thread>

#include "whilst/engine/runs_in_flight.hpp"
#include "whilst/host/machine.hpp"

namespace whilst {
namespace {

/// Outcomes ready for enqueue: the number of tickets before it must allocate.
constexpr int prepared_solves = 16, prepared_batches = 4;
/// Systems of a batch that one copy cancels; GPUs only.
[[maybe_unused]] constexpr index_type told_at_once = 4096;

/// The data behind progress, copied to the host.
struct glance {
  control outer;
  loop_state inner;
};

/// For memory that another thread or a device reads or writes concurrently.
template <class Value>
std::atomic_ref<Value> shared(const Value& value) {
  return std::atomic_ref<Value>(const_cast<Value&>(value));
}

const solve_outcome& seen(const ticket::state& which) { return *static_cast<const solve_outcome*>(which.seen.data()); }
bool has_announced(const ticket::state& which) {
  return shared(seen(which).launch).load(std::memory_order_acquire) == which.number;
}

}  // namespace

launch_desk::launch_desk(program& recorded, index_type systems, control* outer, control* inner,
                         index_type history_capacity, std::size_t outcome_bytes)
    : recorded_(recorded),
      where_(recorded.where()),
      systems_(systems),
      outer_(outer),
      inner_(inner),
      history_capacity_(history_capacity),
      outcome_bytes_(outcome_bytes) {
#if WHILST_WITH_CUDA
  if (!where_.on_host()) {
    cuda::device_guard current(where_.device());
    life_ = cuda::context_life::current();
    beside_ = cuda::make_stream();
    int concurrent = 0;
    WHILST_CUDA("asking whether host and GPU may touch managed memory at once",
                cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentManagedAccess, where_.device()));
    heeds_announcements_ = !is_batch() && concurrent;
    const auto requests = static_cast<std::size_t>(std::min(systems_, told_at_once)) * sizeof(std::uint64_t);
    pinned_ = shared_memory_block(where_, std::max(sizeof(glance), requests));
  }
#endif
  add_prepared_launches(is_batch() ? prepared_batches : prepared_solves);
}

void launch_desk::add_prepared_launches(int count) {
  for (int i = 0; i < count; ++i) prepared_.push_back(make());
  if (history_capacity_ == 0) return;
  // One allocation, since allocating GPU memory is slow.
  histories_ = buffer<history_record>(where_, count * (history_capacity_ + 1));
  recorded_.keep({{.name = "histories of " + std::to_string(count) + " launches",
                   .where = name_of(where_),
                   .bytes = static_cast<std::size_t>(histories_.bytes())}},
                 nullptr);
  divide(histories_, prepared_);
}

void launch_desk::divide(buffer<history_record>& histories, std::span<const std::shared_ptr<launch>> among) const {
  std::vector<history_end> ends;
  for (const std::shared_ptr<launch>& one : among) {
    one->history = histories.data() + static_cast<index_type>(ends.size()) * (history_capacity_ + 1);
    ends.push_back({.first_records = one->first_records, .unused = 0});
  }
  if (where_.on_host()) {
    for (std::size_t k = 0; k < ends.size(); ++k)
      std::memcpy(among[k]->history + history_capacity_, &ends[k], sizeof(history_end));
    return;
  }
#if WHILST_WITH_CUDA
  const cuda::device_guard current(where_.device());
  const std::size_t apart = static_cast<std::size_t>(history_capacity_ + 1) * sizeof(history_record);
  WHILST_CUDA("making room for histories",
              cudaMemcpy2DAsync(histories.data() + history_capacity_, apart, ends.data(), sizeof(history_end),
                                sizeof(history_end), ends.size(), cudaMemcpyHostToDevice, beside_.get()));
  cuda::finish_copies("making room for histories", beside_.get());
#endif
}

launch_desk::~launch_desk() {
  wait_quietly(recorded_);
#if WHILST_WITH_CUDA
  // The program does not know of launches of a graph that captured it, which may still write to memory released here.
  const bool captured =
      std::ranges::any_of(prepared_, [](const std::shared_ptr<launch>& one) { return one->in_capture; });
  if (captured && !life_.ended()) {
    const cuda::relaxed_capture_mode relaxed;
    cudaDeviceSynchronize();
    cudaGetLastError();  // what went wrong is not this destructor's to report
  }
#endif
  for (const std::shared_ptr<launch>& one : prepared_) one->desk = nullptr;
}

std::shared_ptr<launch_desk::launch> launch_desk::make() {
  auto made = std::make_shared<launch>();
  made->desk = this;
  const bool shows = !where_.on_host() && history_capacity_ > 0;
  constexpr std::size_t unit = sizeof(history_record);
  const std::size_t before = (outcome_bytes_ + unit - 1) / unit * unit;
  made->seen = shared_memory_block(where_, shows ? before + records_shown * unit : outcome_bytes_);
  if (shows)
    made->first_records = reinterpret_cast<history_record*>(static_cast<std::byte*>(made->seen.data()) + before);
  if (is_batch()) made->of_systems = buffer<solve_outcome>(where_, systems_);
#if WHILST_WITH_CUDA
  if (where_.on_host()) return made;
  cuda::device_guard current(where_.device());
  if (is_batch()) made->begin = cuda::make_event(/*timed=*/true);
  made->end = cuda::make_event(/*timed=*/is_batch());
#endif
  return made;
}

void launch_desk::describe(bool in_float, index_type rows, std::chrono::steady_clock::time_point began) {
  common.executor = name(recorded_.running_on());
  common.precision = in_float ? "float" : "double";
  common.device = name_of_processor(where_);
  common.note = recorded_.note();
  common.rows = rows;
  common.setup_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

void launch_desk::require_context([[maybe_unused]] std::string_view doing) const {
#if WHILST_WITH_CUDA
  if (where_.on_host()) return;
  cuda::device_guard current(where_.device());
  life_.require(doing);
#endif
}

std::shared_ptr<launch_desk::launch> launch_desk::begin() {
  require_context("starting a solve");
  std::unique_lock hold(lock_);
  const auto free = std::find_if(prepared_.begin(), prepared_.end(), [](const std::shared_ptr<launch>& one) {
    return one.use_count() == 1 && !one->in_capture;
  });
  std::shared_ptr<launch> started;
  if (free != prepared_.end()) {
    started = *free;
  } else {
    // Allocating may wait for a busy device, and a cancel must not wait for that.
    hold.unlock();
    started = make();
    if (history_capacity_ > 0) {
      started->own_history = buffer<history_record>(where_, history_capacity_ + 1);
      divide(started->own_history, {&started, 1});
    }
    hold.lock();
    prepared_.push_back(started);
  }
  started->number = ++latest_;
  is_announced_ = false;
  started->has_ended = false;
  if (started->first_records) started->first_records->iteration = -1;
  shared(seen(*started).launch).store(0, std::memory_order_relaxed);
  return started;
}

control_settings launch_desk::with_history(control_settings settings, const launch& of) const {
  settings.history = of.history;
  settings.history_capacity = history_capacity_ > 0 ? history_capacity_ + 1 : 0;  // with the history_end
  return settings;
}

void launch_desk::run(launch& started, CUstream_st* stream) {
  const bool seen_by_others = where_.on_host() && !is_batch();
  if (!monitor_ && !seen_by_others) return run_unmonitored(started, stream);
  struct until_it_ends {
    launch_desk& desk;
    ~until_it_ends() {
      desk.recorded_.tell_of_trips(nullptr, nullptr);
      desk.on_host_.running.store(false, std::memory_order_release);
    }
  } const ends{*this};
  monitor_.begin(counted_before_);
  recorded_.tell_of_trips(inner_, [&](const loop_state& now) {
    on_host_.iteration.store(now.iteration, std::memory_order_relaxed);
    on_host_.residual_norm.store(now.residual_norm, std::memory_order_relaxed);
    if (monitor_) tell(started, {now.iteration, now.residual_norm, true});
  });
  on_host_.iteration.store(0, std::memory_order_relaxed);
  on_host_.residual_norm.store(HUGE_VAL, std::memory_order_relaxed);
  on_host_.running.store(true, std::memory_order_release);
  run_unmonitored(started, stream);
  monitor_.end();
}

void launch_desk::run_unmonitored(launch& started, [[maybe_unused]] CUstream_st* stream) {
  if (where_.on_host()) {
    const auto begin = std::chrono::steady_clock::now();
    recorded_.enqueue(nullptr);
    started.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return;
  }
#if WHILST_WITH_CUDA
  cuda::device_guard current(where_.device());  // also relaxes captures: events must not break a strict one
  stream = stream ? stream : cudaStreamLegacy;
  cudaStreamCaptureStatus status{};
  WHILST_CUDA("asking whether a stream is capturing", cudaStreamIsCapturing(stream, &status));
  if (status != cudaStreamCaptureStatusNone) {
    recorded_.enqueue(stream);
    started.in_capture = true;  // even if the next call fails: the graph writes there if it is ever launched
    // Every outcome holds its launch's number; once a batch is done, any of them will do.
    if (is_batch())
      WHILST_CUDA("marking the end of a batch",
                  cudaMemcpyAsync(const_cast<std::uint64_t*>(&seen(started).launch), &started.target()->launch,
                                  sizeof(std::uint64_t), cudaMemcpyDeviceToHost, stream));
    return;
  }
  if (started.begin) {
    recorded_.follow_run_before(stream);
    WHILST_CUDA("marking the begin of a solve", cudaEventRecord(started.begin.get(), stream));
  }
  recorded_.enqueue(stream);
  WHILST_CUDA("marking the end of a solve", cudaEventRecord(started.end.get(), stream));
#endif
}

bool launch_desk::is_done([[maybe_unused]] const launch& which) const {
#if WHILST_WITH_CUDA
  if (where_.on_host() || life_.ended() || which.has_ended) return true;
  if (which.in_capture) return has_announced(which);
  if (heeds_announcements_ && has_announced(which)) return true;
  const cuda::relaxed_capture_mode relaxed;  // a query breaks captures in progress, on any stream
  // A failed solve is done too; wait() reports why.
  return WHILST_CUDA_ATTEMPT(cudaEventQuery(which.end.get())) != cudaErrorNotReady;
#else
  return true;
#endif
}

void launch_desk::wait([[maybe_unused]] const launch& which) const {
#if WHILST_WITH_CUDA
  if (where_.on_host()) return;
  life_.require_alive("waiting for a solve");
  if (which.in_capture) {
    if (is_done(which)) return;
    throw error("waiting for a solve that was enqueued into a capture", "its graph has not completed a launch yet",
                "Launch the graph and synchronize its stream first");
  }
  if (which.has_ended || (heeds_announcements_ && has_announced(which))) return;
  cuda::device_guard current(where_.device());
  WHILST_CUDA("waiting for a solve", cudaEventSynchronize(which.end.get()));
#endif
}

bool launch_desk::ends_soon(launch& which) const {
  const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(200);
  while (!has_announced(which))
    if (std::chrono::steady_clock::now() > until) return false;
  which.has_ended = true;
  return true;
}

/// Call with the lock held.
void launch_desk::copy_beside([[maybe_unused]] std::string_view doing, [[maybe_unused]] void* target,
                              [[maybe_unused]] const void* source, [[maybe_unused]] std::size_t bytes) const {
#if WHILST_WITH_CUDA
  cuda::device_guard current(where_.device());
  life_.require(doing);
  WHILST_CUDA(doing, cudaMemcpyAsync(target, source, bytes, cudaMemcpyDeviceToHost, beside_.get()));
  cuda::finish_copies(doing, beside_.get());
#endif
}

void launch_desk::note_preconditioner(std::string made) {
  const std::lock_guard hold(lock_);  // other threads may ask for reports of earlier launches
  common.preconditioner_choice = std::move(made);
}

report launch_desk::report_of(const launch& which) const {
  const std::lock_guard hold(lock_);
  const solve_outcome& outcome = seen(which);
  report_fields fields = common;
  fields.reason = outcome.why;
  fields.iterations = outcome.iterations;
  fields.residual_norm = outcome.residual_norm;
  fields.rhs_norm = outcome.rhs_norm;
  fields.normal_residual_norm = outcome.normal_residual_norm;
  fields.removed_norm = outcome.removed_norm;
  fields.solve_seconds = 1e-9 * static_cast<double>(outcome.nanoseconds);
  fields.loop_seconds = 1e-9 * static_cast<double>(outcome.loop_nanoseconds);
  // If the launch is in a graph that runs again meanwhile, this may read any number.
  const index_type count = std::clamp<index_type>(outcome.history_count, 0, history_capacity_);
  const bool is_shown = which.first_records && count <= records_shown && which.first_records->iteration >= 0;
  if (where_.on_host() || is_shown) {
    const history_record* const from = is_shown ? which.first_records : which.history;
    fields.history.assign(from, from + count);
  } else if (count > 0) {
    fields.history.resize(static_cast<std::size_t>(count));
    copy_beside("copying the history", fields.history.data(), which.history,
                fields.history.size() * sizeof(history_record));
  }
  return report(std::move(fields));
}

batch_report launch_desk::batch_report_of(const launch& which) const {
  auto [fields, systems] = outcomes_of(which);
  return {std::move(fields), std::move(systems)};
}

std::pair<report_fields, std::vector<system_outcome>> launch_desk::outcomes_of(const launch& which) const {
  const auto count = static_cast<std::size_t>(systems_);
  std::vector<system_outcome> systems(count);
  report_fields fields = common;
  fields.solve_seconds = which.seconds;
  std::vector<solve_outcome> copied;
  const solve_outcome* outcomes = which.target();
#if WHILST_WITH_CUDA
  if (!where_.on_host()) {
    cuda::device_guard current(where_.device());
    const std::lock_guard hold(lock_);
    copied.resize(count);
    copy_beside("copying a batch's outcomes", copied.data(), outcomes, count * sizeof(solve_outcome));
    outcomes = copied.data();
    float milliseconds = 0;
    if (!which.in_capture)
      WHILST_CUDA("timing a batch", cudaEventElapsedTime(&milliseconds, which.begin.get(), which.end.get()));
    fields.solve_seconds = 1e-3 * milliseconds;
  }
#endif
  std::transform(outcomes, outcomes + count, systems.begin(), [](const solve_outcome& one) {
    return system_outcome{one.why, one.iterations, one.residual_norm, one.rhs_norm};
  });
  return {std::move(fields), std::move(systems)};
}

void launch_desk::set_monitor(iteration_monitor::callback monitor) { monitor_.set(std::move(monitor)); }

void launch_desk::tell(const launch& of, const whilst::progress& now) {
  if (!monitor_.tell({counted_before_ + now.iteration, now.residual_norm, now.running})) return;
  const std::lock_guard hold(lock_);
  request_cancel(cancelled_.with(of.number));
}

void launch_desk::wait_and_tell(const launch& which) {
  if (monitor_) {
    const turns::run calls_back = recorded_.call_back();
    const auto began = std::chrono::steady_clock::now();
    while (!is_done(which)) {
      // Sleeping past the end of a short solve would take longer than the solve.
      const std::chrono::nanoseconds passed = std::chrono::steady_clock::now() - began;
      if (passed < std::chrono::microseconds(200)) continue;
      std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(std::chrono::milliseconds(1), passed / 8));
      // The launch may still be waiting for its turn while another runs.
      if (const sight now = look(); now.launch == which.number && now.far.running) tell(which, now.far);
    }
  }
  wait(which);
  monitor_.end();
}

progress launch_desk::progress() const {
  whilst::progress far = look().far;
  far.iteration += counted_before_;
  return far;
}

launch_desk::sight launch_desk::look() const {
  if (where_.on_host()) {
    const bool running = on_host_.running.load(std::memory_order_acquire);
    return {0,
            {on_host_.iteration.load(std::memory_order_relaxed), on_host_.residual_norm.load(std::memory_order_relaxed),
             running}};
  }
#if WHILST_WITH_CUDA
  const std::lock_guard hold(lock_);
  glance& now = *static_cast<glance*>(pinned_.data());
  // In this order: once a launch has armed the outer loop, the inner one holds nothing of the previous launch. The
  // second copy begins after the first has completed.
  copy_beside("reading progress", &now.outer, outer_, sizeof now.outer);
  copy_beside("reading progress", &now.inner, inner_, sizeof now.inner);
  return {now.outer.outside.launch, {now.inner.iteration, now.inner.residual_norm, now.outer.running != 0}};
#else
  return {};
#endif
}

void launch_desk::cancel(const launch& which) {
  // A late request must not displace one that matters; whether a captured solve is running is unknown.
  if (!which.in_capture && is_done(which)) return;
  const std::lock_guard hold(lock_);
  request_cancel(cancelled_.with(which.number));
}

void launch_desk::cancel_all() {
  const std::lock_guard hold(lock_);
  const std::uint64_t last = latest_ + (is_announced_ ? 1 : 0);
  if (last > 0) request_cancel(launch_set::up_to(last));
}

void launch_desk::announce_launch(bool is_to_come) {
  const std::lock_guard hold(lock_);
  // A number that was cancelled in vain must not be the next one's.
  if (is_announced_ && !is_to_come && cancelled_.holds(latest_ + 1)) ++latest_;
  is_announced_ = is_to_come;
}

bool launch_desk::is_cancelled(const launch& which) const {
  const std::lock_guard hold(lock_);
  return cancelled_.holds(which.number);
}

bool launch_desk::is_last_cancelled() const {
  const std::lock_guard hold(lock_);
  return latest_ > 0 && cancelled_.holds(latest_);
}

/// Reaches every system, even those not started yet: arming a loop leaves the request unchanged.
void launch_desk::request_cancel(launch_set launches) {
  cancelled_ = launches;
  if (where_.on_host()) {
    for (index_type k = 0; k < systems_; ++k)
      shared(outer_[k].outside.cancel_request).store(launches.word, std::memory_order_relaxed);
    return;
  }
#if WHILST_WITH_CUDA
  cuda::device_guard current(where_.device());
  life_.require("cancelling a solve");
  auto* const words = static_cast<std::uint64_t*>(pinned_.data());
  std::fill_n(words, std::min(systems_, told_at_once), launches.word);
  // With copies, since a kernel would find no room next to a batch that fills the device.
  for (index_type k = 0; k < systems_; k += told_at_once)
    WHILST_CUDA("cancelling a solve",
                cudaMemcpy2DAsync(&outer_[k].outside.cancel_request, sizeof(control), words, sizeof *words,
                                  sizeof *words, static_cast<std::size_t>(std::min(told_at_once, systems_ - k)),
                                  cudaMemcpyHostToDevice, beside_.get()));
  cuda::finish_copies("cancelling a solve", beside_.get());
#endif
}

}  // namespace whilst

#pragma once

#include <atomic>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "whilst/basics/host_device.hpp"
#include "whilst/basics/safe_norm.hpp"
#include "whilst/basics/views.hpp"
#include "whilst/engine/control/history_record.hpp"
#include "whilst/engine/control/reason.hpp"

namespace whilst {

/// False for infinities and NaN.
WHILST_HD inline bool is_finite(double value) { return value - value == 0; }

/// What the host decides about a loop. Lives in the loop's control, in device memory, so changes need no re-recording.
struct control_settings {
  /// Most completed updates; the loop stops with iteration_limit there.
  index_type limit = 0;
  /// Buffer for the history: capacity records, an even number, or none. An odd capacity says that the last of them is a
  /// history_end.
  history_record* history = nullptr;
  index_type history_capacity = 0;
  /// Tolerances on a residual norm: see control::set_reference.
  double rtol = 0, atol = 0, dtol = HUGE_VAL;
  /// Most trips, a backstop for bodies that do not count every trip as an update; 0 for limit + 1.
  index_type trip_limit = 0;
  /// Nanoseconds that the loop may run, counted from arming; 0 for no deadline. Counts in a root loop only.
  std::uint64_t deadline_nanoseconds = 0;
  /// This launch's number, below 2^48. A loop is cancelled when cancel_request holds it, so a late request for an
  /// earlier launch does no harm. Counts in a root loop only.
  std::uint64_t launch = 0;
};
static_assert(sizeof(control_settings) % 8 == 0 && std::is_trivially_copyable_v<control_settings>);

/// A set of launch numbers in one word, read and written atomically: the lower 48 bits hold the newest; the bits above
/// tell which of the 16 before it also belong. A plain number is the set of that launch.
struct launch_set {
  static constexpr int number_bits = 48;
  static constexpr std::uint64_t reach = 16;
  std::uint64_t word = 0;

  WHILST_HD constexpr std::uint64_t newest() const { return word & ((std::uint64_t{1} << number_bits) - 1); }
  WHILST_HD constexpr bool holds(std::uint64_t launch) const {
    const std::uint64_t before = newest() - launch;
    return before == 0 || (before <= reach && (word >> (number_bits - 1 + before) & 1));
  }
  /// This set plus one launch; only that launch if they are too far apart for one word.
  constexpr launch_set with(std::uint64_t launch) const {
    const bool is_newer = launch > newest();
    const std::uint64_t apart = is_newer ? launch - newest() : newest() - launch;
    if (apart > reach) return {launch};
    const std::uint64_t bits = word >> number_bits << 1 | 1;  // bit k: the k-th before the newest
    const std::uint64_t more = is_newer ? bits << apart | 1 : bits | std::uint64_t{1} << apart;
    return {more >> 1 << number_bits | (is_newer ? launch : newest())};
  }
  /// A launch and the 16 preceding ones.
  static constexpr launch_set up_to(std::uint64_t launch) { return {~std::uint64_t{0} << number_bits | launch}; }
};

/// Requests from outside to a root loop.
struct alignas(16) outside_wish {
  /// The launch_set to cancel; the host writes it at any time, even while the loop runs.
  std::uint64_t cancel_request;
  /// From the settings, when the loop is armed; 0 for none.
  std::uint64_t launch, deadline_at;
  /// agreed_on(a verdict), where the ranks of a group agree on it, whatever else is asked here; else 0.
  std::uint64_t agreed;

  WHILST_HD static std::uint64_t agreed_on(reason verdict) {
    return std::uint64_t{1} << 32 | static_cast<std::uint32_t>(verdict);
  }
  WHILST_HD bool cancelled() const { return launch != 0 && launch_set{cancel_request}.holds(launch); }
  WHILST_HD bool is_late() const { return deadline_at != 0 && now_nanoseconds() >= deadline_at; }
  /// The verdict that it asks for now; reason::running for none.
  WHILST_HD reason verdict() const {
    if ((cancel_request | deadline_at | agreed) == 0) [[likely]]
      return reason::running;
    if (agreed) return static_cast<reason>(static_cast<int>(static_cast<std::uint32_t>(agreed)));
    return cancelled() ? reason::cancelled : is_late() ? reason::deadline : reason::running;
  }
  /// Freezes the wish, so that later readers see the same whatever the time.
  WHILST_HD outside_wish decided() const { return {cancel_request, launch, is_late() ? 1u : 0u, agreed}; }
};

/// Drops every other record; returns how many are left. Out of line, to keep the code of finishes short.
WHILST_NOINLINE WHILST_HD inline index_type halve(history_record* history, index_type count) {
  for (index_type i = 0; history && i < count / 2; ++i) history[i] = history[2 * i];
  return count / 2;
}

/// Room for the records that a short solve hands to the host together with its outcome.
inline constexpr index_type records_shown = 24;

/// What may lie behind a history's records, in the memory of one: where the host sees the first records_shown of them.
struct history_end {
  history_record* first_records;  ///< null for nowhere
  std::uint64_t unused;
};
static_assert(sizeof(history_end) == sizeof(history_record));

/// Copies records, several at once: the compiler must take each write for one that changes what is read next.
WHILST_NOINLINE WHILST_HD inline void copy_records(const history_record* from, index_type count, history_record* to) {
  constexpr int at_once = 8;
  for (index_type first = 0; first < count; first += at_once) {
    history_record now[at_once];
    for (int k = 0; k < at_once; ++k) now[k] = first + k < count ? from[first + k] : history_record{};
    for (int k = 0; k < at_once; ++k)
      if (first + k < count) to[first + k] = now[k];
  }
}

/// The part of a loop's control that its finishes work on: one cache line, so that it costs one trip to memory. A
/// finish that takes it, `finish(total, loop)`, gets the state of its innermost loop: on a GPU a copy, read ahead and
/// written back whole, so it must not change that loop through a pointer to its control.
///
/// A verdict is a break: once a finish has called stop(), the later steps of that iteration do nothing. `iteration`
/// counts completed updates. The usual finish opens with `if (loop.check(norm)) return;` at the point between two
/// updates; what follows it in the body is the next update, and it is counted when check is next reached. A finish
/// gives verdicts on its innermost loop. Runners handle cancel and deadline: they test the root loop's once per
/// iteration, at every level. In a kernel the test comes with the iteration's first finish, after that finish, so the
/// later steps of that iteration do nothing.
struct alignas(16) loop_state {
  int running;  ///< what the steps of the loop obey
  int updating;
  reason why;
  int yield_code;  ///< the code of the last yield()
  index_type iteration;
  /// What check(norm) compares with; see set_reference. Zero: only an exact zero converges, nothing diverges.
  double rtol_norm, atol_norm, divergence_norm;
  double residual_norm;
  index_type history_count, history_stride, history_offered;
  index_type trips_left;
  /// Iteration at which the next arming starts counting; a finish of an outer loop sets it to continue a count.
  index_type first_iteration;
  // From the settings, when the loop is armed.
  index_type limit;
  history_record* history;  ///< null if another block that runs the same finish keeps it; counting goes on
  index_type history_capacity;
  /// Norms passed to check(norm) are in units of 2^norm_exponent; the norms that it compares with and records are not.
  /// Within -1022 to 1023; a finish of an outer loop sets it, all others leave it at zero.
  int norm_exponent;
  /// For runners whose threads wait for a verdict: set to `later` before a finish, check(norm) leaves its record to
  /// catch_up(), which makes it of what iteration and residual_norm are then.
  enum class recording : int { at_once, later, due } records;

  /// The verdict: a break for the rest of this iteration. Always returns true, for `return loop.stop(...)`.
  WHILST_HD bool stop(reason because) {
    why = because;
    running = 0;
    return true;
  }

  /// Hands the loop over to the host, which may repair what `code` stands for and continue with program::resume: the
  /// body then runs again from its beginning. So yield before check(), which counts an update as begun; parameters are
  /// rewritten, whatever the device changed. An enclosing loop goes on unless one of its finishes sees this reason and
  /// yields, too. Always returns true.
  WHILST_HD bool yield(int code) {
    yield_code = code;
    return stop(reason::yielded);
  }

  /// Between two updates: counts the previous one and begins the next unless the limit stops the loop. True when
  /// stopped. For loops without a residual.
  WHILST_HD bool check() {
    complete_update();
    if (iteration >= limit) return stop(reason::iteration_limit);
    updating = 1;
    return false;
  }

  /// The same with a residual norm: records it in the history and tests it first. A norm that is not finite stops the
  /// loop with nan_or_infinity.
  WHILST_HD bool check(double scaled_norm) {
    const double norm = scaled_norm * power_of_two(norm_exponent);
    const index_type completed = iteration + updating;
    const bool at_limit = completed >= limit, diverged = (divergence_norm > 0) & (norm > divergence_norm);
    if (records == recording::at_once) {
      record(completed, norm);
    } else {
      records = recording::due;
    }
    iteration = completed;
    residual_norm = norm;
    // One test on the common path; it fails for NaN, too.
    updating = (norm > rtol_norm) & (norm > atol_norm) & (norm < HUGE_VAL) & !diverged & !at_limit;
    if (updating) [[likely]]
      return false;
    return stop(!is_finite(norm)    ? reason::nan_or_infinity
                : norm <= rtol_norm ? reason::converged_rtol
                : norm <= atol_norm ? reason::converged_atol
                : diverged          ? reason::divergence
                                    : reason::iteration_limit);
  }

  /// Counts the update in progress as done. check() calls this itself.
  WHILST_HD void complete_update() {
    iteration += updating;
    updating = 0;
  }

  /// Appends to the history. When it is full, drops every other record and from then on keeps only every other one.
  WHILST_HD void record(index_type completed, double norm) {
    const index_type offered = history_offered, stride = history_stride;
    index_type count = history_count;
    if (history_capacity < 2) return;
    history_offered = offered + 1;
    if ((offered & (stride - 1)) != 0) return;  // the stride is a power of two
    if (count == history_capacity) [[unlikely]] {
      count = halve(history, count);
      history_stride = 2 * stride;
    }
    if (history) history[count] = {completed, norm};
    history_count = count + 1;
  }

  /// For runners: makes the record that is due.
  WHILST_HD void catch_up() {
    if (records == recording::due) record(iteration, residual_norm);
    records = recording::at_once;
  }

  WHILST_HD void forget_history() {
    history_count = 0;
    history_stride = 1;
    history_offered = 0;
  }

  /// Copies another loop's norms, for an inner loop that works for an outer one.
  WHILST_HD void set_reference(const loop_state& other) {
    rtol_norm = other.rtol_norm;
    atol_norm = other.atol_norm;
    divergence_norm = other.divergence_norm;
  }

  /// For runners. The last test before the first trip: a limit of zero means zero trips. True if the loop is to run.
  WHILST_HD bool open() {
    if (running && iteration >= limit) stop(reason::iteration_limit);
    return running != 0;
  }

  /// For runners, after each trip: stops the loop if the body made more trips than its updates explain, or with what is
  /// asked of the root loop, the verdict of its outside_wish.
  WHILST_HD void count_trip(reason asked) { close_trip(trips_left > 0 ? asked : reason::iteration_limit); }
  /// The same within the trip, but for the trips: where trips_left is negative, the caller ends the loop with this one.
  WHILST_HD void close_trip(reason asked) {
    if (!running) return;
    trips_left -= 1;
    if (asked != reason::running) [[unlikely]]
      stop(asked);
  }
};
static_assert(sizeof(loop_state) <= 128);

/// A loop's record in the memory of its place: state and settings. Each loop has its own.
struct alignas(128) control : loop_state {
  control_settings settings;
  /// Where the host looks for progress and leaves its requests, if not here: for blocks that share a problem and keep
  /// its controls in memory of their own. A runner of a single block, or of less, does not look at it.
  control* for_host;
  outside_wish outside;
  /// On the place's clock; the end is that of the trip that stopped the loop.
  std::uint64_t started_at, stopped_at;

  /// For runners: starts the loop afresh, without a verdict. Under a stopped parent the loop does not start and keeps
  /// what its last run left; a root loop has no parent.
  WHILST_HD void arm(bool parent_running) {
    running = parent_running;
    if (!running) return;
    why = reason::running;
    records = recording::at_once;
    iteration = first_iteration;
    updating = 0;
    limit = settings.limit;
    history = settings.history;
    history_capacity = history ? settings.history_capacity & ~index_type{1} : 0;
    trips_left = settings.trip_limit ? settings.trip_limit : limit - iteration;
    started_at = stopped_at = now_nanoseconds();
    outside.launch = settings.launch;
    outside.deadline_at = settings.deadline_nanoseconds ? started_at + settings.deadline_nanoseconds : 0;
    if (first_iteration == 0) forget_history();
  }

  /// For runners, in place of arm(): a loop that yielded runs again with its counts unchanged. A limit raised meanwhile
  /// takes effect.
  WHILST_HD void reopen() {
    if (why != reason::yielded) return;
    running = 1;
    why = reason::running;
    limit = settings.limit;
    trips_left = settings.trip_limit ? settings.trip_limit : limit - iteration;
    stopped_at = now_nanoseconds();
    outside.launch = settings.launch;
    outside.deadline_at = settings.deadline_nanoseconds ? stopped_at + settings.deadline_nanoseconds : 0;
  }

  /// For runners: tells the host how far the loop is.
  WHILST_HD void tell_host() const {
    if (!for_host) return;
    for_host->outside.launch = outside.launch;
    for_host->iteration = iteration;
    for_host->residual_norm = residual_norm;
    for_host->running = running;
  }

  /// For the step that tells the outcome of a solve, before it does: has the host see the history if it is short, and a
  /// copy by the host would take longer than the solve.
  WHILST_HD void show_history() const {
    if (!settings.history || settings.history_capacity % 2 == 0 || history_count > records_shown) return;
    const auto& end = *reinterpret_cast<const history_end*>(settings.history + (settings.history_capacity - 1));
    if (end.first_records) copy_records(settings.history, history_count, end.first_records);
  }

  /// For runners: the current wish.
  WHILST_HD outside_wish wish() const { return wish_at(for_host ? *for_host : *this); }
  /// Of a control without a for_host: the request to cancel.
  WHILST_HD std::uint64_t cancel_request_here() const { return request_at(*this); }
  /// Likewise: the verdict that is asked for now. Out of line, like all rare code.
  WHILST_NOINLINE WHILST_HD reason verdict_here() const { return wish_at(*this).verdict(); }

  using loop_state::set_reference;
  /// Sets the norms that check() compares with, from ||b|| and the initial ||r||:
  /// ||r|| <= max(rtol ||b||, atol) has converged, ||r|| > dtol max(||b||, ||r0||) diverges.
  WHILST_HD void set_reference(double rhs_norm, double initial_norm) {
    rtol_norm = settings.rtol * rhs_norm;
    atol_norm = settings.atol;
    divergence_norm = settings.dtol * (rhs_norm > initial_norm ? rhs_norm : initial_norm);
  }

 private:
  WHILST_HD outside_wish wish_at(const control& asked) const {
    return {request_at(asked), outside.launch, outside.deadline_at, outside.agreed};
  }
  WHILST_HD static std::uint64_t request_at(const control& asked) {
    const std::uint64_t& request = asked.outside.cancel_request;
#if defined(__CUDA_ARCH__)
    return read_early(&request);
#else
    return std::atomic_ref(const_cast<std::uint64_t&>(request))  // the cancelling thread writes it
        .load(std::memory_order_relaxed);
#endif
  }
};
static_assert(std::is_trivially_copyable_v<control>);

/// The finish of a loop that only counts, on the last step of its body: counts the update as complete, then tests the
/// limit.
struct count_iteration {
  WHILST_HD void operator()(loop_state& loop) const {
    loop.updating = 1;
    loop.check();
  }
};

}  // namespace whilst

#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "whilst/host_device.hpp"
#include "whilst/reason.hpp"
#include "whilst/report.hpp"

namespace whilst {

/// False for infinities and for what is not a number.
WHILST_HD inline bool is_finite(double value) { return value - value == 0; }

/// What the host decides about a loop. Lives in the loop's control, in device memory: a change re-records nothing.
struct control_settings {
  /// Most completed updates; the loop stops with iteration_limit there.
  index limit = 0;
  /// Tolerances on a residual norm: see control::set_reference.
  double rtol = 0, atol = 0, dtol = HUGE_VAL;
  /// Nanoseconds that the loop may run, counted from arming; 0 for no deadline. Counts in a root loop only.
  std::uint64_t deadline_nanoseconds = 0;
  /// This launch's number. A loop is cancelled when cancel_request equals it, so a late request for an earlier launch
  /// does no harm. Counts in a root loop only.
  std::uint64_t launch = 0;
  /// Where the history goes: capacity records (an even number), or none.
  history_record* history = nullptr;
  index history_capacity = 0;
};
static_assert(sizeof(control_settings) % 8 == 0 && std::is_trivially_copyable_v<control_settings>);

/// A loop's record in the memory of its place: settings, state, reason, history, link to the parent loop. Finishes read
/// and write it, one thread at a time; steps test `running` only.
///
/// A verdict is a break: once a finish has called stop(), the later steps of that iteration do nothing. `iteration`
/// counts completed updates. The usual finish opens with `if (c->check(norm)) return;` at the point between two
/// updates; what follows it in the body is the next update, and it is counted when check is next reached.
struct control {
  // State that steps and finishes touch in every iteration comes first, in one cache line.
  int running;
  reason why;
  index iteration;
  double residual_norm;
  /// What check(norm) compares with; see set_reference. Zero, as in fresh memory: no such test.
  double rtol_norm, atol_norm, divergence_norm;
  control* root;
  std::uint64_t deadline_at;
  index trips_left;
  index history_count, history_stride, history_offered;
  int updating;
  /// Written by the host, at any time, from beside the running loop: the number of the launch to be cancelled.
  volatile std::uint64_t cancel_request;
  /// Iteration that the next arming starts to count from; a finish of an outer loop sets it to continue a count.
  index first_iteration;
  std::uint64_t started_at, stopped_at;
  control_settings settings;

  /// Starts the loop anew: running as its parent is, no verdict yet. `parent` is null for a root loop.
  WHILST_HD void arm(const control* parent) {
    root = parent ? parent->root : this;
    running = parent ? parent->running : 1;
    why = reason::running;
    iteration = first_iteration;
    updating = 0;
    trips_left = settings.limit - iteration;
    started_at = now_nanoseconds();
    if (!parent) deadline_at = settings.deadline_nanoseconds ? started_at + settings.deadline_nanoseconds : 0;
    if (first_iteration == 0) {
      history_count = 0;
      history_stride = 1;
      history_offered = 0;
    }
  }

  /// The last test before the first trip: a limit of zero means zero trips. True when the loop is to run.
  WHILST_HD bool open() {
    if (running && iteration >= settings.limit) stop(reason::iteration_limit);
    return running != 0;
  }

  /// Backstop after each trip: a body whose finishes never count still ends, after `limit` trips and one for the
  /// verdict. True when the loop is to go on.
  WHILST_HD bool count_trip() {
    if (running && --trips_left < 0) stop(reason::iteration_limit);
    return running != 0;
  }

  /// The verdict: a break for the rest of this iteration. Always returns true, for `return c->stop(...)`.
  WHILST_HD bool stop(reason because) {
    why = because;
    running = 0;
    stopped_at = now_nanoseconds();
    return true;
  }

  /// Sets the norms that check() compares with, from ||b|| and the initial ||r||:
  /// ||r|| <= max(rtol ||b||, atol) has converged, ||r|| > dtol max(||b||, ||r0||) diverges.
  WHILST_HD void set_reference(double rhs_norm, double initial_norm) {
    rtol_norm = settings.rtol * rhs_norm;
    atol_norm = settings.atol;
    divergence_norm = settings.dtol * (rhs_norm > initial_norm ? rhs_norm : initial_norm);
  }
  /// The same norms as another loop's, for an inner loop that works for an outer one.
  WHILST_HD void set_reference(const control& other) {
    rtol_norm = other.rtol_norm;
    atol_norm = other.atol_norm;
    divergence_norm = other.divergence_norm;
  }

  /// Between two updates: counts the one before, and begins the next unless the limit, a cancel or the deadline stops
  /// the loop. True when stopped. For loops that have no residual.
  WHILST_HD bool check() {
    complete_update();
    if (const reason outside = asked_to_stop(); outside != reason::running) return stop(outside);
    if (iteration >= settings.limit) return stop(reason::iteration_limit);
    updating = 1;
    return false;
  }

  /// The same with a residual norm: records it in the history and tests it first. A norm that is not a number or not
  /// finite stops the loop with nan_or_infinity.
  WHILST_HD bool check(double norm) {
    complete_update();
    residual_norm = norm;
    record(norm);
    if (!is_finite(norm)) return stop(reason::nan_or_infinity);
    if (norm <= rtol_norm) return stop(reason::converged_rtol);
    if (norm <= atol_norm) return stop(reason::converged_atol);
    if (divergence_norm > 0 && norm > divergence_norm) return stop(reason::divergence);
    return check();
  }

  /// Counts the update in progress as done. check() does this by itself.
  WHILST_HD void complete_update() {
    iteration += updating;
    updating = 0;
  }

  /// Cancel or deadline of the root loop, which stop every level; running for neither.
  WHILST_HD reason asked_to_stop() const {
    if (root->cancel_request == root->settings.launch && root->settings.launch) return reason::cancelled;
    if (root->deadline_at && now_nanoseconds() >= root->deadline_at) return reason::deadline;
    return reason::running;
  }

  /// Appends to the history. When it is full, every other record goes and from then on every other one is kept.
  WHILST_HD void record(double norm) {
    if (!settings.history || history_offered++ % history_stride != 0) return;
    if (history_count == settings.history_capacity) {
      history_count /= 2;
      for (index i = 0; i < history_count; ++i) settings.history[i] = settings.history[2 * i];
      history_stride *= 2;
    }
    settings.history[history_count++] = {iteration, norm};
  }
};
static_assert(std::is_trivially_copyable_v<control>);

/// The finish of a loop that only counts, on the last step of its body: one more update is complete, then the limit, a
/// cancel and the deadline are tested.
struct count_iteration {
  control* c;
  WHILST_HD void operator()() const {
    c->updating = 1;
    c->check();
  }
};

}  // namespace whilst

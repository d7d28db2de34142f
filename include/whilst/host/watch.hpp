#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "whilst/host/replayed_solver.hpp"

namespace whilst {

/// Looks at a solver's running solve from a thread of its own, at most once every so often, while it lives:
/// @code
///   whilst::watch watching(solver, std::chrono::milliseconds(100), [&](const whilst::progress& now) {
///     std::printf("%lld: %g\n", static_cast<long long>(now.iteration), now.residual_norm);
///     if (now.residual_norm < good_enough) solver.cancel();
///   });
///   solver.solve(b, x);
/// @endcode
/// The callback is called only while a solve runs, never by two threads at once, and not after stop() has returned. It
/// may cancel the solve, and may not destroy the watch. The solver must outlive the watch and not be moved meanwhile. A
/// look costs a small copy beside the running loop. A solve that is over before the period is is not seen:
/// replayed_solver::set_monitor is told of every iteration where the host sees them.
class watch {
 public:
  using callback = std::function<void(const progress&)>;
  /// Throws whilst::error on a period that is not above 0, and on an empty callback.
  watch(const replayed_solver& solver, std::chrono::milliseconds every, callback look);
  /// Ends the watch; what the callback threw is lost unless stop() was called.
  ~watch();
  watch(const watch&) = delete;
  watch& operator=(const watch&) = delete;

  /// Ends the watch, and waits for a callback in progress. Throws what a callback threw, which ended the watch, or what
  /// asking the solver did.
  void stop();

 private:
  struct implementation;
  std::unique_ptr<implementation> implementation_;
};

}  // namespace whilst

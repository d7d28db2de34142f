#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "whilst/host/replayed_solver.hpp"

namespace whilst {

/// While it lives, polls a solver's running solve from its own thread, at most once per period:
/// @code
///   whilst::watch watching(solver, std::chrono::milliseconds(100), [&](const whilst::progress& now) {
///     std::printf("%lld: %g\n", static_cast<long long>(now.iteration), now.residual_norm);
///     if (now.residual_norm < good_enough) solver.cancel();
///   });
///   solver.solve(b, x);
/// @endcode
/// The callback runs only while a solve runs, never on two threads at once, and not after stop() has returned. It may
/// cancel the solve, but must not stop or destroy the watch. The solver must outlive the watch and not be moved
/// meanwhile. Each poll costs a small copy alongside the running loop. A solve shorter than the period may go unseen:
/// replayed_solver::set_monitor sees every iteration that the host sees.
class watch {
 public:
  using callback = std::function<void(const progress&)>;
  /// Throws whilst::error on a period that is not above 0, and on an empty callback.
  watch(const replayed_solver& solver, std::chrono::milliseconds every, callback look);
  /// Ends the watch; an exception from the callback is lost unless stop() was called.
  ~watch();
  watch(const watch&) = delete;
  watch& operator=(const watch&) = delete;

  /// Ends the watch and waits for a callback in progress. Rethrows the exception, from the callback or from polling the
  /// solver, that ended the watch. Throws whilst::error if the watch's own callback calls it.
  void stop();

 private:
  struct implementation;
  std::unique_ptr<implementation> implementation_;
};

}  // namespace whilst

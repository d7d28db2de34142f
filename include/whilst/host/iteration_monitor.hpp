#pragma once

#include <exception>
#include <functional>
#include <utility>

#include "whilst/host/replayed_solver.hpp"

namespace whilst {

/// Calls a caller's monitor once for each iteration of a launch. An exception from it is kept until the launch has
/// ended: the loop is cancelled like any other, and the solver remains usable.
class iteration_monitor {
 public:
  using callback = std::function<void(const progress&)>;
  iteration_monitor() = default;
  explicit iteration_monitor(callback look) : look_(std::move(look)) {}

  explicit operator bool() const { return look_ != nullptr; }
  /// A new launch begins.
  void begin() {
    told_ = 0;
    thrown_ = nullptr;
  }
  /// True if the monitor has just thrown, so that the launch must be cancelled.
  bool tell(const progress& now) {
    if (thrown_ || now.iteration == told_) return false;
    told_ = now.iteration;
    try {
      look_(now);
    } catch (...) {
      thrown_ = std::current_exception();
    }
    return thrown_ != nullptr;
  }
  /// Rethrows the monitor's exception, if any.
  void end() {
    if (const std::exception_ptr thrown = std::exchange(thrown_, nullptr)) std::rethrow_exception(thrown);
  }

 private:
  callback look_;
  index_type told_ = 0;
  std::exception_ptr thrown_;
};

}  // namespace whilst

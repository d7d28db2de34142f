#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <utility>

#include "whilst/host/replayed_solver.hpp"

namespace whilst {

/// Calls a caller's monitor once for each iteration of a launch. An exception from it is kept until the launch has
/// ended: the loop is cancelled like any other, and the solver remains usable.
class iteration_monitor {
 public:
  using callback = std::function<void(const progress&)>;

  /// The running monitor may set another one, or none.
  void set(callback look) { look_ = look ? std::make_shared<const callback>(std::move(look)) : nullptr; }
  explicit operator bool() const { return look_ != nullptr; }
  std::shared_ptr<const callback> get() const { return look_; }
  /// A new launch begins; so many iterations have been told of.
  void begin(index_type told) {
    told_ = told;
    thrown_ = nullptr;
  }
  /// True if the monitor has just thrown, so that the launch must be cancelled.
  bool tell(const progress& now) {
    if (thrown_ || now.iteration == told_) return false;
    told_ = now.iteration;
    const std::shared_ptr<const callback> look = look_;  // stays while it runs, whatever it sets
    if (!look) return false;
    try {
      (*look)(now);
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
  std::shared_ptr<const callback> look_;
  index_type told_ = 0;
  std::exception_ptr thrown_;
};

}  // namespace whilst

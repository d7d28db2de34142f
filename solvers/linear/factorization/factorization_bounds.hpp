#pragma once

#include <chrono>
#include <cstdint>
#include <limits>

namespace whilst::factorization {

/// What making factors may take, where something else can be done instead.
struct factorization_bounds {
  std::int64_t most_nonzeros = std::numeric_limits<std::int64_t>::max();    ///< of both factors
  std::int64_t most_operations = std::numeric_limits<std::int64_t>::max();  ///< multiply-adds, or steps of a search
  double most_shift = std::numeric_limits<double>::infinity();              ///< of ic's diagonal
  double most_growth = std::numeric_limits<double>::infinity();             ///< see growth_of_solves
  /// Where the time is found after which nothing is made any more; null for none. Read whenever factors are made.
  const std::chrono::steady_clock::time_point* until = nullptr;
  bool hold_once = false;  ///< the first factors alone are bounded, not those of new values
};

/// Counts what a part of making factors takes.
class work_meter {
 public:
  explicit work_meter(const factorization_bounds& bounds, std::int64_t share = 1)
      : bounds_(bounds), most_operations_(bounds.most_operations / share) {}

  void count(std::int64_t operations) { operations_ += operations; }
  /// Whether all that was counted, and so many nonzeros, is within the bounds.
  bool is_within(std::int64_t nonzeros = 0) {
    if (is_late_ || nonzeros > bounds_.most_nonzeros || operations_ > most_operations_) return false;
    if (!bounds_.until || operations_ < next_look_) return true;
    constexpr std::int64_t operations_between_looks = 1'000'000;
    next_look_ = operations_ + operations_between_looks;
    is_late_ = std::chrono::steady_clock::now() > *bounds_.until;
    return !is_late_;
  }
  std::int64_t operations() const { return operations_; }
  bool is_late() const { return is_late_; }

 private:
  factorization_bounds bounds_;
  std::int64_t most_operations_, operations_ = 0, next_look_ = 0;
  bool is_late_ = false;
};

}  // namespace whilst::factorization

#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

#include "whilst/report.hpp"

namespace whilst::command {

/// Times of repeated solves: one to warm up, then at least five and a quarter of a second, but no more than a second.
/// If there is no more than the one to warm up, its time counts.
class solve_times {
 public:
  void add(const report& result) {
    if (solves_ < 2) {
      of_solve_.clear();
      of_iteration_.clear();
    }
    if (solves_++ == 0) begin_ = clock::now();
    of_solve_.push_back(result.solve_seconds());
    of_iteration_.push_back(result.seconds_per_iteration());
  }
  bool wants_more() const {
    if (solves_ < 2) return true;
    const double elapsed = std::chrono::duration<double>(clock::now() - begin_).count();
    return elapsed < 1 && (of_solve_.size() < 5 || elapsed < 0.25);
  }
  int repeats() const { return static_cast<int>(of_solve_.size()); }
  double seconds_of_solve() const { return median(of_solve_); }
  double seconds_of_iteration() const { return median(of_iteration_); }

  static double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const std::size_t half = values.size() / 2;
    return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
  }

 private:
  using clock = std::chrono::steady_clock;
  int solves_ = 0;
  clock::time_point begin_;
  std::vector<double> of_solve_, of_iteration_;
};

}  // namespace whilst::command

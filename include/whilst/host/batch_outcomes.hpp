#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "whilst/basics/error.hpp"
#include "whilst/basics/index_type.hpp"
#include "whilst/host/report.hpp"

namespace whilst {

/// How the problems of a batch ended, each with its own reason. A value: a problem that fails throws no exception.
/// Outcome describes one problem: reason, iterations, value, converged().
template <class Outcome>
class batch_outcomes {
 public:
  batch_outcomes() = default;
  /// What all problems share, the threads that worked on each, and how each ended.
  batch_outcomes(report_fields common, int lanes, std::vector<Outcome> outcomes)
      : common_(std::move(common)), lanes_(lanes), outcomes_(std::move(outcomes)) {
    const auto is_worse = [](const Outcome& one, const Outcome& other) {
      if (one.converged() != other.converged()) return other.converged();
      return one.value > other.value || (std::isnan(one.value) && !std::isnan(other.value));
    };
    for (index_type k = 0; k < size(); ++k) {
      const Outcome& one = outcomes_[static_cast<std::size_t>(k)];
      number_converged_ += one.converged();
      if (is_worse(one, outcomes_[static_cast<std::size_t>(worst_)])) worst_ = k;
    }
  }

  /// The number of problems.
  index_type size() const { return static_cast<index_type>(outcomes_.size()); }
  /// Problem k, counted from 0. Throws whilst::error if there is none.
  const Outcome& operator[](index_type k) const {
    if (k < 0 || k >= size())
      throw error("looking up a problem of a batch",
                  "there is no problem " + std::to_string(k) + " among " + std::to_string(size()),
                  "Problems count from 0");
    return outcomes_[static_cast<std::size_t>(k)];
  }
  /// All of them, for `for (const auto& outcome : report)`.
  auto begin() const { return outcomes_.begin(); }
  auto end() const { return outcomes_.end(); }

  index_type number_converged() const { return number_converged_; }
  bool all_converged() const { return number_converged_ == size(); }
  /// The problem to look at first: any that has not converged before any that has, then the one with the largest value,
  /// NaN counting as the largest; the first in a tie.
  index_type worst() const { return worst_; }
  /// Over all problems.
  double mean_iterations() const {
    double sum = 0;
    for (const Outcome& one : outcomes_) sum += one.iterations;
    return outcomes_.empty() ? 0 : sum / static_cast<double>(outcomes_.size());
  }
  index_type most_iterations() const {
    std::int32_t most = 0;
    for (const Outcome& one : outcomes_) most = std::max(most, one.iterations);
    return most;
  }

  /// Seconds spent copying the data in, allocating and recording: once per batch, not once per solve.
  double setup_seconds() const { return common_.setup_seconds; }
  /// Seconds from the first to the last problem, on the clock of the device that ran them, without copies to and from
  /// the host.
  double solve_seconds() const { return common_.solve_seconds; }
  /// "host" or "batch".
  const std::string& executor() const { return common_.executor; }
  const std::string& method() const { return common_.method; }
  /// "float" or "double".
  const std::string& precision() const { return common_.precision; }
  /// Name of the device or processor.
  const std::string& device() const { return common_.device; }
  /// Threads that worked on each problem.
  int lanes() const { return lanes_; }

 protected:
  /// One readable line: how many converged, and how the worst ended. one, many: what a problem is called.
  std::string message_about(const std::string& one, const std::string& many) const {
    std::string text = std::to_string(number_converged_) + " of " + std::to_string(size()) + " " + many + " converged";
    if (size() == 0) return text;
    const Outcome& found = (*this)[worst_];
    return text + "; the worst, " + one + " " + std::to_string(worst_) + ": " + std::string(sentence(found.reason)) +
           ", after " + std::to_string(found.iterations) + " iterations, at a value of " + three_digits(found.value);
  }

 private:
  static std::string three_digits(double value) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.3g", value);
    return digits;
  }

  report_fields common_;
  int lanes_ = 1;
  std::vector<Outcome> outcomes_;
  index_type number_converged_ = 0, worst_ = 0;
};

}  // namespace whilst

#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
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
/// Outcome describes one problem: reason, iterations, converged(), and value or relative_residual().
template <class Outcome>
class batch_outcomes {
 public:
  batch_outcomes() = default;
  /// What all problems share, and how each ended.
  batch_outcomes(report_fields common, std::vector<Outcome> outcomes)
      : common_(std::move(common)), outcomes_(std::move(outcomes)) {
    const auto is_worse = [](const Outcome& one, const Outcome& other) {
      if (one.converged() != other.converged()) return other.converged();
      const double a = size_of(one), b = size_of(other);
      return a > b || (std::isnan(a) && !std::isnan(b));
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
  /// for linear systems the largest relative residual, NaN counting as the largest; the first in a tie.
  index_type worst() const { return worst_; }
  /// Over all problems.
  double mean_iterations() const {
    double sum = 0;
    for (const Outcome& one : outcomes_) sum += static_cast<double>(one.iterations);
    return outcomes_.empty() ? 0 : sum / static_cast<double>(outcomes_.size());
  }
  index_type most_iterations() const {
    index_type most = 0;
    for (const Outcome& one : outcomes_) most = std::max<index_type>(most, one.iterations);
    return most;
  }

  /// Seconds spent copying the data in, allocating and recording: once per batch, not once per solve.
  double setup_seconds() const { return common_.setup_seconds; }
  /// Seconds from the first to the last problem, on the clock of the device that ran them, without copies to and from
  /// the host. 0 for linear systems solved as part of a captured graph, whose parts cannot be timed.
  double solve_seconds() const { return common_.solve_seconds; }
  /// "host" or "batch"; of batches of linear systems always "batch", and of several columns any that runs one solve.
  const std::string& executor() const { return common_.executor; }
  const std::string& method() const { return common_.method; }
  /// "float" or "double".
  const std::string& precision() const { return common_.precision; }
  /// Name of the device or processor.
  const std::string& device() const { return common_.device; }
  /// Threads that worked on each problem.
  int lanes() const { return common_.lanes; }

 protected:
  static constexpr bool is_linear = requires(const Outcome& one) { one.relative_residual(); };
  const report_fields& common() const { return common_; }
  /// One readable line about one problem.
  static std::string text_of(const Outcome& one) {
    if constexpr (is_linear) {
      report_fields alone;
      alone.reason = one.reason;
      alone.iterations = one.iterations;
      alone.residual_norm = one.residual_norm;
      alone.rhs_norm = one.rhs_norm;
      return report(std::move(alone)).message();
    } else {
      char digits[32];
      std::snprintf(digits, sizeof digits, "%.3g", one.value);
      return std::string(sentence(one.reason)) + ", after " + std::to_string(one.iterations) +
             " iterations, at a value of " + digits;
    }
  }
  /// One readable line: how many converged, and how the worst ended. what: what a problem is called.
  std::string message_about(const std::string& what) const {
    const std::string text =
        std::to_string(number_converged_) + " of " + std::to_string(size()) + " " + what + "s converged";
    if (size() == 0) return text;
    return text + "; the worst, " + what + " " + std::to_string(worst_) + ": " + text_of((*this)[worst_]);
  }

 private:
  static double size_of(const Outcome& one) {
    if constexpr (is_linear) {
      return one.relative_residual();
    } else {
      return one.value;
    }
  }
  report_fields common_;
  std::vector<Outcome> outcomes_;
  index_type number_converged_ = 0, worst_ = 0;
};

}  // namespace whilst

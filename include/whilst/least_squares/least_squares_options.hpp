#pragma once

/// @file
/// What fits of a few unknowns are given and what they report: see whilst/least_squares.hpp.

#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "whilst/host/replayed_solver.hpp"
#include "whilst/host/report.hpp"
#include "whilst/least_squares/least_squares_tolerances.hpp"

namespace whilst {

struct least_squares_options {
  least_squares_tolerances tolerances = {};
  /// Bounds on the unknowns: one each, infinite for none; or empty. No trial point is outside. They cost a GPU some
  /// time in each iteration.
  std::vector<double> lower = {}, upper = {};
  /// Trial points, including rejected ones. Not counted: re-evaluations of a point in a better basis, a few if columns
  /// of J are nearly dependent or squares would underflow or overflow.
  index_type max_iterations = 10'000;
  /// Seconds the loop may run, counted from when it starts on its device.
  double deadline = std::numeric_limits<double>::infinity();
  /// "auto", "host", "stream", "graph" or "resident"; see linear_solver_options.
  std::string executor = "auto";
  /// The CUDA device; -1 is the current one.
  int device = -1;
  /// Iterations per trip under graph; 0: automatic.
  int unroll = 0;
  /// Overlap the start of each step with the end of the previous one, if the device and the code allow it.
  bool programmatic_launch = true;
  /// Check the pointers passed to enqueue: one driver query each, which detects host memory that a GPU cannot read,
  /// memory of another GPU, and freed memory. Null pointers are refused in any case.
  bool check_pointers = true;
  /// Records of history to keep, an even number; 0 for none.
  index_type history_capacity = 512;
  /// On the host: the most threads that share a step, 1 to 1024; 0 uses OpenMP's settings. Results have the same bits
  /// for any number.
  int threads = 0;
};

/// How a fit ended.
struct least_squares_report : report {
  /// 1/2 sum of r_i^2 at x. May underflow or overflow where residual_norm(), the root of twice this, does not.
  double value = 0;
  /// Accepted trial points.
  index_type accepted = 0;
  /// The estimated covariance of the unknowns, s^2 (J' J)^-1 with s^2 = sum of r_i^2 / (residuals - unknowns), row by
  /// row, from the triangular factor of J. An unknown held at a bound counts as fixed: its row and column are 0, and it
  /// is not among the unknowns subtracted. Empty if columns of J are dependent to working precision, or if there are no
  /// more residuals than unknowns.
  std::vector<double> covariance = {};
  /// The square roots of its diagonal, valid even if the squares in it underflow or overflow; empty if it is.
  std::vector<double> errors = {};
  std::vector<double> standard_errors() const { return errors; }
  /// One readable line: how it ended, after how many trial points, at what residual norm.
  std::string message() const;
};

namespace detail {

/// Throws whilst::error on options out of range.
void check_options(std::string_view doing, const least_squares_options& options);

/// Makes a fit's report from what its launch left.
class fit_reader {
 public:
  virtual least_squares_report read(report told, const solve_outcome* left) const = 0;

 protected:
  ~fit_reader() = default;
};

}  // namespace detail

/// An enqueued fit: a ticket that also reports covariance and errors. Each fit leaves its own in memory that the host
/// sees, and its ticket keeps them, whatever the solver fits afterwards. The launches of a captured graph share one
/// ticket, which reports on the latest.
class least_squares_ticket : public ticket {
 public:
  /// As ticket::wait.
  least_squares_report wait() const {
    report told = ticket::wait();  // throws if the solver is gone, and its reader with it
    return reader_->read(std::move(told), outcome());
  }

  least_squares_ticket(std::shared_ptr<state> s, const detail::fit_reader& reader)
      : ticket(std::move(s)), reader_(&reader) {}

 private:
  const detail::fit_reader* reader_;  ///< lives as long as the solver
};

}  // namespace whilst

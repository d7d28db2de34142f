#pragma once

#include <chrono>
#include <cmath>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "whilst/linear/columns_linear_solver.hpp"
#include "whilst/linear/prepared_solve.hpp"

namespace whilst {

/// Solves for several right-hand sides one after another. A cancel and the deadline end the whole: the columns that
/// have not begun by then keep their x, and have that reason.
template <class T>
class columns_one_by_one {
 public:
  /// why: "method gmres takes one right-hand side".
  columns_one_by_one(const csr_matrix<T>& A, index_type columns, linear_solver_options options, std::string why)
      : b_entries_(A.rows()),
        x_entries_(A.columns()),
        outcomes_(static_cast<std::size_t>(columns)),
        why_(std::move(why)),
        solver_(A, std::move(options)) {}

  const std::string& why() const { return why_; }
  /// Between solves: the columns of one are solved with the same values and tolerances.
  void update_values(std::span<const T> values) {
    const std::lock_guard alone(lock_);
    solver_.update_values(values);
  }
  void set_tolerances(double rtol, double atol) {
    const std::lock_guard alone(lock_);
    solver_.set_tolerances(rtol, atol);
  }
  std::string explain() const { return solver_.explain(); }
  memory_table memory() const { return solver_.memory(); }
  prepared_program& prepared() const { return solver_.prepared(); }
  prepared_program& running() const { return solver_.running(); }

  columns_report solve(std::span<const T> given, std::span<T> X) {
    const std::vector<T> B(given.begin(), given.end());  // X may share its memory
    return solve_each([&](std::size_t k) {
      return solver_.solve(std::span(B).subspan(k * b_entries(), b_entries()), X.subspan(k * x_entries(), x_entries()));
    });
  }
  /// With B and X in memory of the place, after earlier work on the stream.
  columns_report solve(stream_handle stream, const T* B, T* X) {
    return solve_each([&](std::size_t k) { return solver_.solve(stream, B + k * b_entries(), X + k * x_entries()); });
  }

 private:
  /// solve_column: of column k, with the solver as it is set then.
  template <class SolveColumn>
  columns_report solve_each(const SolveColumn& solve_column) {
    using clock = std::chrono::steady_clock;
    const std::lock_guard alone(lock_);
    const turns::turn mine = prepared().enter("solving for several columns");  // all columns have the same settings
    const auto began = clock::now();
    const settings_restored settings(solver_);
    report_fields of_all = prepared().common();
    of_all.solve_seconds = 0;
    reason ended = reason::running;
    for (std::size_t k = 0; k < outcomes_.size(); ++k) {
      const double left = settings.deadline - std::chrono::duration<double>(clock::now() - began).count();
      if (ended == reason::running && left <= 0) ended = reason::deadline;
      if (ended != reason::running) {
        outcomes_[k] = {.reason = ended, .residual_norm = HUGE_VAL};
        continue;
      }
      solver_.set_deadline(left);
      const report one = solve_column(k);
      outcomes_[k] = {one.reason(), one.iterations(), one.residual_norm(), one.rhs_norm()};
      of_all.solve_seconds += one.solve_seconds();
      // A cancel from now on names the next launch, and one before has named the last, though it may have ended.
      prepared().desk().announce_launch(k + 1 < outcomes_.size());
      if (one.reason() == reason::cancelled || running().desk().is_last_cancelled()) ended = reason::cancelled;
    }
    of_all.note += (of_all.note.empty() ? "" : "; ") + ("one column after another, since " + why_);
    return {std::move(of_all), outcomes_};
  }

  /// The deadline of the whole, and back to it; with no launch announced, however the columns end.
  struct settings_restored {
    linear_solver<T>& of;
    double deadline;
    explicit settings_restored(linear_solver<T>& of)
        : of(of), deadline(static_cast<prepared_solve<T>&>(of.prepared()).settings().deadline) {}
    settings_restored(const settings_restored&) = delete;
    settings_restored& operator=(const settings_restored&) = delete;
    ~settings_restored() {
      of.prepared().desk().announce_launch(false);
      of.set_deadline(deadline);
    }
  };
  std::size_t b_entries() const { return static_cast<std::size_t>(b_entries_); }
  std::size_t x_entries() const { return static_cast<std::size_t>(x_entries_); }

  index_type b_entries_, x_entries_;  ///< of a column
  std::vector<system_outcome> outcomes_;
  std::string why_;
  linear_solver<T> solver_;
  std::mutex lock_;  ///< one thread solves at a time
};

}  // namespace whilst

#pragma once

#include <chrono>
#include <span>

#include "whilst/host/prepared_program.hpp"
#include "whilst/linear/matrix_on_place.hpp"
#include "whilst/linear/recorded_solve.hpp"

namespace whilst {

/// A recorded solve, of a system or a batch, ready to run repeatedly: the core of every kind of linear solver.
template <class T>
class prepared_solve final : public prepared_program {
 public:
  /// request: what `made` was recorded for. how: batch or resident if the solve is a kernel of its own. options:
  /// already checked; method and preconditioner as reports show them. began: when setup began.
  prepared_solve(const solve_request<T>& request, recorded_solve<T> made, executor how,
                 const linear_solver_options& options, clock::time_point began);

  /// Solves with b and x in host memory: see prepared_program.
  std::shared_ptr<ticket::state> solve(std::span<const T> b, std::span<T> x);
  using prepared_program::solve;
  index_type b_entries() const { return b_entries_; }
  index_type x_entries() const { return x_entries_; }

  /// For later solves. Throws whilst::error if the place cannot use them. stream: the one they are for, if known.
  void bind_values(const T* values, CUstream_st* stream = nullptr);
  void set_tolerances(double rtol, double atol);
  void set_divergence(double dtol);
  /// Tolerances, limit and deadline of later solves.
  linear_solver_options settings() const;
  void set_settings(const linear_solver_options& settings);

 private:
  template <class Change>
  void change(const Change& apply);
  void set_parameters(const ticket::state& of, const void* b, void* x) override;

  linear_solver_options options_;              ///< their tolerances count; for limits see prepared_program
  index_type b_entries_, x_entries_, values_;  ///< of all systems together
  recorded_solve<T> recorded_;
};

extern template class prepared_solve<float>;
extern template class prepared_solve<double>;

}  // namespace whilst

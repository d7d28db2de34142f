#pragma once

#include <chrono>
#include <span>

#include "whilst/host/launches.hpp"
#include "whilst/host/vectors_on_gpu.hpp"
#include "whilst/linear/matrix_on_place.hpp"
#include "whilst/linear/recorded_solve.hpp"

namespace whilst {

/// A recorded solve, of a system or a batch, ready to run repeatedly: the core of every kind of solver.
template <class T>
class prepared_solve final : public prepared_program {
 public:
  using clock = std::chrono::steady_clock;

  /// request: what `made` was recorded for. how: batch or resident if the solve is a kernel of its own. options:
  /// already checked; method and preconditioner as reports show them. began: when setup began.
  prepared_solve(const solve_request<T>& request, recorded_solve<T> made, executor how, linear_solver_options options,
                 clock::time_point began);

  /// Enqueues a solve with b and x on the place; `stream` as in program::enqueue. Throws whilst::error if the place
  /// cannot use them.
  std::shared_ptr<ticket::state> enqueue(CUstream_st* stream, const T* b, T* x);
  /// The same with b and x in host memory, copies included. The first call allocates memory on a GPU for both.
  std::shared_ptr<ticket::state> solve(std::span<const T> b, std::span<T> x);

  /// A turn, as from program::enter, for callers that combine several of these calls.
  [[nodiscard]] turns::turn enter(std::string_view doing) const { return recorded_.recorded->enter(doing); }

  /// For later solves. Throws whilst::error if the place cannot use them. stream: the one they are for, if known.
  void bind_values(const T* values, CUstream_st* stream = nullptr);
  void set_tolerances(double rtol, double atol);
  void set_divergence(double dtol);
  void set_max_iterations(index_type limit) override;
  void set_deadline(double seconds) override;

  /// Bytes held on the place, including the program's.
  index_type bytes() const;

  launch_desk& desk() override { return desk_; }
  const report_fields& common() const { return desk_.common; }
  program& recorded() { return *recorded_.recorded; }

 private:
  template <class Change>
  void change(const Change& apply);
  std::shared_ptr<ticket::state> launch(CUstream_st* stream, const T* b, T* x);

  linear_solver_options options_;
  index_type entries_, values_;  ///< of b; of all matrices together
  index_type host_bytes_ = 0;    ///< of a host program, which do not change
  recorded_solve<T> recorded_;
#if WHILST_WITH_CUDA
  vectors_on_gpu b_and_x_;  ///< for solves from host memory; made by the first
#endif
  launch_desk desk_;  ///< last, so that it is destroyed first: it waits for the runs in flight
};

extern template class prepared_solve<float>;
extern template class prepared_solve<double>;

}  // namespace whilst

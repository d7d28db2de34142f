#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "whilst/host/columns_report.hpp"
#include "whilst/linear/csr_matrix.hpp"
#include "whilst/linear/linear_solver.hpp"

namespace whilst {

/// Solves A X = B for one matrix and several right-hand sides at once, the columns of B: 1 to 64. A product reads the
/// matrix once for all of them, so 16 right-hand sides cost far less than 16 solves. Every column has scalars, a limit,
/// a verdict and a reason of its own; one that has stopped does not change any more while the others go on, and neither
/// NaN nor a breakdown in one reaches another.
///
/// B and X are column-major. Inside, vectors lie row by row; the program turns them on the way in and out.
///
/// Method "cg" solves all columns at once, under executors "host", "stream" and "graph", and with format "csr" or
/// "auto", which is csr here. By every other method, by "resident" and in other formats solve() solves one column after
/// another with a linear_solver, and the report's note says so and why; enqueue() then throws. Method "auto" looks at
/// the matrix: where it takes cg, that does not go on with another method. Limits, deadline, cancel and the rest: see
/// recorded_solver. Limits are each column's, deadline and cancel those of the whole solve. There is no history, no
/// progress and no monitor.
///
/// Preconditioners are those of a linear_solver. All columns at once need a symmetric M that is the same in each
/// iteration: with ilu, spai and amg's refresh=lagged solve() takes one column after another, as above. A V-cycle of
/// amg reads its matrices once for all columns; the others are applied to one column after another, within the same
/// program. "auto" is chosen once, from the matrix as it is given, and no other goes on where it fails.
///
/// Without a preconditioner and with jacobi, conjugate gradients here predict their next scalar and recompute it (T.
/// Chen, E. Carson, SIAM J. Sci. Comput. 42 (2020)): the iterates differ from those of a linear_solver by rounding.
/// Results of each executor have the same bits in each run, and those on the host for any number of threads.
template <class T>
class columns_linear_solver : public recorded_solver {
 public:
  /// Copies A to its place, allocates memory for so many columns and records the loop. The options mean the same as for
  /// linear_solver; history_capacity has no effect. Throws whilst::error on fewer than 1 or more than 64 columns, on a
  /// matrix that is not square unless the method takes any shape, and where linear_solver would.
  columns_linear_solver(const csr_matrix<T>& A, index_type columns, linear_solver_options options = {});
  ~columns_linear_solver() override;
  columns_linear_solver(columns_linear_solver&&) noexcept;
  columns_linear_solver& operator=(columns_linear_solver&&) noexcept;

  /// Solves with B and X in host memory, column after column without gaps; X holds the initial guesses and receives the
  /// solutions. It may share memory with B. Blocks. On a GPU the first call allocates device memory for both.
  columns_report solve(std::span<const T> B, std::span<T> X);
  columns_report solve(const std::vector<T>& B, std::vector<T>& X) {
    return solve(std::span<const T>(B), std::span<T>(X));
  }
  /// The same with columns that begin `b_stride` and `x_stride` entries apart, as in part of a larger matrix; what lies
  /// between them is neither read nor written. Throws whilst::error on a stride less than the number of entries. @code
  ///   solver.solve(B.data(), B.outerStride(), X.data(), X.outerStride());  // column-major matrices of Eigen
  /// @endcode
  columns_report solve(const T* B, index_type b_stride, T* X, index_type x_stride);

  /// The same with B and X in memory of the solver's place, as for enqueue, after earlier work on `stream`; columns are
  /// solved at once or one after another. Throws whilst::error as linear_solver::solve(stream, b, x) does.
  columns_report solve(stream_handle stream, const T* B, T* X);

  /// Enqueues a solve on `stream` and returns without waiting: B and X are device pointers (host pointers under
  /// executor "host") to columns without gaps, which must stay valid until the solve is done; X holds the initial
  /// guesses. Rules, captures and errors are those of linear_solver::enqueue. Throws whilst::error if the columns are
  /// solved one after another, since the host would have to wait for each.
  columns_ticket enqueue(stream_handle stream, const T* B, T* X);

  /// New values for the same pattern: see linear_solver::update_values. A preconditioner is made anew as there.
  void update_values(std::span<const T> values);
  void set_tolerances(double rtol, double atol);

  /// As of recorded_solver, with what was made as preconditioner.
  std::string explain() const;
  memory_table memory() const;

  index_type columns() const;
  /// Whether all columns are solved at once.
  bool is_at_once() const;
  /// Name of the device or processor that solves.
  const std::string& device() const;

 private:
  prepared_program& prepared() const override;
  prepared_program& running() const override;
  struct implementation;
  detail::held<implementation> implementation_;
};

extern template class columns_linear_solver<float>;
extern template class columns_linear_solver<double>;

}  // namespace whilst

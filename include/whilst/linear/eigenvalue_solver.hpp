#pragma once

#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "whilst/basics/held.hpp"
#include "whilst/host/replayed_solver.hpp"
#include "whilst/linear/csr_matrix.hpp"
#include "whilst/linear/preconditioners/amg_options.hpp"

namespace whilst {

/// Settings of an eigenvalue_solver.
struct eigenvalue_options {
  /// How many eigenpairs: 1 to 16, and no more than the matrix has rows.
  int count = 1;
  /// "smallest": those with the least eigenvalues, the least first; "largest": the greatest first. By value, not by
  /// size: of -3, 1, 2 the smallest is -3.
  std::string which = "smallest";
  /// "lobpcg": locally optimal block preconditioned conjugate gradients.
  std::string method = "lobpcg";
  /// "none"; "jacobi": the inverse of the sizes of the diagonal, for matrices whose diagonal varies; or, for the
  /// smallest pairs of a positive definite matrix, an M close to its inverse, "amg" most of all: those of a
  /// columns_linear_solver, "auto" among them, with settings after the name, "amg,strength=0.1", or in `amg`.
  std::string preconditioner = "none";
  /// As in linear_solver_options.
  amg_options amg = {};
  /// Columns of the block that is iterated on: `count` to 24; 0 for count plus a quarter, one at least, made even.
  /// Columns beyond count converge to nothing in particular and speed up the others: the last pair converges the
  /// faster, the farther the first eigenvalue that the block has no column for.
  int block_columns = 0;
  /// A pair has converged when ||A x - lambda x||_2 <= rtol ||A||, for x of length 1. ||A|| is the largest sum of the
  /// sizes of a row's entries, no less than the size of any eigenvalue. That close to lambda there is an eigenvalue.
  /// In float about 1e-5 can be had, in double 1e-13.
  double rtol = 1e-8;
  index_type max_iterations = 1000;
  /// Seconds the loop may run, counted from when it starts on its device.
  double deadline = std::numeric_limits<double>::infinity();
  /// "auto", "host", "stream" or "graph". "auto" consults the environment variable WHILST_EXECUTOR first.
  std::string executor = "auto";
  /// As in linear_solver_options.
  int unroll = 0;
  bool programmatic_launch = true;
  bool check_pointers = true;
  /// Records of convergence history to keep, at least 2: the largest residual norm of the pairs wanted, by iteration.
  int history_capacity = 4096;
  int device = -1;
  int threads = 0;

  bool operator==(const eigenvalue_options&) const = default;
};

/// How a solve for eigenpairs ended. Its residual_norm() is the largest of residual_norms, and rhs_norm() is ||A|| as
/// eigenvalue_options::rtol means it, so relative_residual() is what rtol is compared with.
struct eigenvalue_report : report {
  /// In the order of the vectors. Also where the solve did not converge: Rayleigh quotients of the vectors. Not numbers
  /// where none were formed: the matrix or the start is not finite, or the start spans too few directions.
  std::vector<double> eigenvalues = {};
  /// ||A x - lambda x||_2 of each, computed from x at the end. After a cancel or a deadline, the method's own.
  std::vector<double> residual_norms = {};
  /// One readable line: how it ended, after how many iterations, at what residual.
  std::string message() const;
  /// The reason in a sentence, without a final full stop.
  std::string_view explanation() const;
};

/// An enqueued solve: a ticket that also reports eigenvalues.
class eigenvalue_ticket : public ticket {
 public:
  /// As ticket::wait.
  eigenvalue_report wait() const;

  eigenvalue_ticket(std::shared_ptr<state> s, int count) : ticket(std::move(s)), count_(count) {}

 private:
  int count_;
};

/// Some of the smallest or largest eigenvalues of a symmetric matrix, with their vectors, by LOBPCG. The method is
/// that of A. V. Knyazev, SIAM J. Sci. Comput. 23 (2001), with the directions of U. Hetmaniuk and R. Lehoucq, J.
/// Comput. Phys. 218 (2006). The whole loop is recorded when the solver is constructed and replayed by each solve; a
/// product reads the matrix once for all columns. One solve at a time. Threads may share it: see recorded_solver.
///
/// What converges are eigenpairs. That none was missed follows from no residual. Random columns, which always take
/// part, have a part of each eigenvector and find what a start lacks, while the solve goes on; it ends with the pairs
/// wanted. So a start that holds eigenvectors already is taken as the solution, whether or not they are the smallest:
/// where they may not be, start from zeros.
template <class T>
class eigenvalue_solver : public replayed_solver {
 public:
  /// Copies A to its place, allocates memory and records the loop. Under executor "host" A's arrays are read in place.
  /// Throws whilst::error on a matrix that is not square and symmetric (as far as rounding goes; one in device memory
  /// is copied to the host to look), on fewer rows than pairs, on options out of range, and on an executor that this
  /// machine does not have.
  explicit eigenvalue_solver(const csr_matrix<T>& A, eigenvalue_options options = {});
  ~eigenvalue_solver() override;
  eigenvalue_solver(eigenvalue_solver&&) noexcept;
  eigenvalue_solver& operator=(eigenvalue_solver&&) noexcept;

  /// X in host memory, column after column, count columns of as many entries as A has rows. Holds start vectors, of any
  /// length, and receives the eigenvectors, orthonormal to rounding. Columns of zeros are random starts, the same each
  /// time. Left as it was where the matrix or the start is not finite. Blocks.
  eigenvalue_report solve(std::span<T> X);
  eigenvalue_report solve(std::vector<T>& X) { return solve(std::span<T>(X)); }

  /// Enqueues a solve on `stream` and returns without waiting: X is a device pointer (a host pointer under executor
  /// "host"). Rules, captures and errors are those of linear_solver::enqueue.
  eigenvalue_ticket enqueue(stream_handle stream, T* X);

  /// New values for the same pattern, in the order of A's values; host memory. They must be symmetric, too: throws
  /// whilst::error where they are not, and if A is in device memory. A preconditioner is made anew as in a
  /// linear_solver.
  void update_values(std::span<const T> values);
  /// For later solves. Throws whilst::error on a negative one.
  void set_tolerance(double rtol);

  /// As of recorded_solver, with what was made as preconditioner.
  std::string explain() const;
  memory_table memory() const;

  /// Columns of the block, even.
  int block_columns() const;

 private:
  prepared_program& prepared() const override;
  struct implementation;
  detail::held<implementation> implementation_;
};

extern template class eigenvalue_solver<float>;
extern template class eigenvalue_solver<double>;

}  // namespace whilst

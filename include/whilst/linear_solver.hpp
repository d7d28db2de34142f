#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "whilst/csr_matrix.hpp"
#include "whilst/replayed_solver.hpp"

namespace whilst {

/// Settings of a linear_solver. Everything but the tolerances, the limit and the deadline is fixed when the solver is
/// made; those can be changed between solves with linear_solver::set_tolerances and its neighbours.
struct linear_solver_options {
  /// "cg" (symmetric positive definite) or "bicgstab" (any square matrix).
  std::string method = "cg";
  /// "none" or "jacobi". A preconditioner of your own: see the constructor that takes a callback.
  std::string preconditioner = "none";
  /// Stop when ||b - A x||_2 <= max(rtol ||b||_2, atol), unpreconditioned.
  double rtol = 1e-8;
  double atol = 0;
  /// Stop as diverged when ||b - A x||_2 > dtol * max(||b||_2, ||b - A x0||_2).
  double dtol = 1e8;
  index_type max_iterations = 10000;
  /// Seconds the loop may run, counted from when it starts on its device.
  double deadline = std::numeric_limits<double>::infinity();
  /// "auto", "host", "stream", "graph" or "resident". "auto" asks the environment variable WHILST_EXECUTOR first, then
  /// chooses by problem and machine.
  std::string executor = "auto";
  /// Iterations a trip through the graph's WHILE node (and per reading of the flag under "stream"); 0 chooses.
  int unroll = 0;
  /// Overlap the start of each step with the end of the one before, where the device and the code allow it.
  bool programmatic_launch = true;
  /// Records kept of the convergence history; at least 2.
  int history_capacity = 4096;
  /// The CUDA device; -1 for the current one. Ignored on the host.
  int device = -1;
  /// On the host: most threads that share in a step, 1 to 1024; 0 for what OpenMP's settings say. Results have the same
  /// bits for any number.
  int threads = 0;

  bool operator==(const linear_solver_options&) const = default;
};

/// Solves A x = b for one matrix and many right-hand sides: the loop is recorded when the solver is made and replayed
/// by each solve. One solve at a time: a second one on another stream waits for the first. Threads may share it: see
/// replayed_solver.
template <class T>
class linear_solver : public replayed_solver {
 public:
  /// A preconditioner of the user's own: enqueue z = M r on `stream`, z and r device pointers of n entries each. With
  /// executor "host" the stream is null and the pointers are host memory. Under "graph" it is called while recording
  /// only, a few times; under "host" and "stream" whenever z is wanted, once an iteration. It is copied and must write
  /// nothing but z, which nobody reads once the loop has stopped.
  using preconditioner_callback = std::function<void(stream_handle stream, index_type n, const T* r, T* z)>;

  /// Copies A to its place, records the loop and prepares it. Throws whilst::error on a matrix that is not square, an
  /// unknown method, preconditioner or executor, or an executor that this machine does not have.
  explicit linear_solver(const csr_matrix<T>& A, linear_solver_options options = {});
  linear_solver(const csr_matrix<T>& A, preconditioner_callback preconditioner, linear_solver_options options = {});
  ~linear_solver() override;
  linear_solver(linear_solver&&) noexcept;
  linear_solver& operator=(linear_solver&&) noexcept;

  /// Solves with b and x in host memory, n entries each; x holds the initial guess and receives the solution. Blocks.
  report solve(std::span<const T> b, std::span<T> x);
  report solve(const std::vector<T>& b, std::vector<T>& x) { return solve(std::span<const T>(b), std::span<T>(x)); }

  /// Enqueues a solve on `stream` and returns without waiting: b and x are device pointers (host pointers under
  /// executor "host") that must stay valid until the solve is done; x holds the initial guess. No allocation, no
  /// synchronisation (beyond 16 tickets held at once, each further one allocates). Under "host" and "stream" the solve
  /// has completed when this returns. If `stream` is being captured, the loop becomes part of that graph, with these b
  /// and x; it then runs at each launch of that graph, and the solver must outlive it, since what the graph writes to
  /// is kept as long as the solver is.
  /// Where this throws whilst::error, the solve may be on its way all the same: have the stream done before b and x go.
  /// A capture may hold a part of it then, and is for nothing.
  ticket enqueue(stream_handle stream, const T* b, T* x);

  /// New values on the same pattern, in the order of A's values; host memory. Records nothing; undoes bind_values.
  void update_values(std::span<const T> values);

  /// The same with the values of a matrix that has the solver's pattern (its shape is checked, the entries' places are
  /// not). Those of the same csr_matrix, or of a copy, as last time are there already: then nothing is copied. Those in
  /// device memory are bound, as bind_values does.
  void update_values(const csr_matrix<T>& A);

  /// From the next solve on the values are found here: memory of the solver's place (a device pointer on a GPU), as
  /// many as A has nonzeros and in A's order, borrowed. Neither copied nor recorded: one small write goes with the
  /// launch.
  void bind_values(const T* values);

  void set_tolerances(double rtol, double atol);
  void set_divergence(double dtol);

  /// What the solver takes of memory, itemised: the matrix, the method's vectors, what belongs to the program.
  memory_table memory() const;
  /// Bytes of its place's memory that the solver holds: the recorded loop's vectors, partial sums and history, its copy
  /// of the matrix, b and x of solves from host memory, and an estimate of what the instantiated graph takes (free
  /// memory before and after it was made).
  index_type bytes() const;
  /// True where the CUDA context that the solver was made in has been destroyed, as by cudaDeviceReset(), and its
  /// memory with it: solves then throw whilst::error, and all that is left is to destroy the solver.
  bool is_lost() const;

 private:
  prepared_program& prepared() const override;
  struct implementation;
  std::unique_ptr<implementation> implementation_;
};

extern template class linear_solver<float>;
extern template class linear_solver<double>;

}  // namespace whilst

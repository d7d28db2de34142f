#pragma once

#include <concepts>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "whilst/basics/held.hpp"
#include "whilst/host/replayed_solver.hpp"
#include "whilst/linear/csr_matrix.hpp"
#include "whilst/linear/preconditioners/amg_options.hpp"
#include "whilst/linear/preconditioners/block_jacobi_options.hpp"
#include "whilst/linear/preconditioners/fsai_options.hpp"
#include "whilst/linear/preconditioners/ilu_options.hpp"
#include "whilst/linear/preconditioners/inner_solve_options.hpp"
#include "whilst/linear/preconditioners/multigrid_options.hpp"
#include "whilst/linear/preconditioners/polynomial_options.hpp"
#include "whilst/linear/preconditioners/schwarz_options.hpp"
#include "whilst/linear/preconditioners/ssor_options.hpp"

namespace whilst {

template <class T>
class linear_operator;
template <class T>
class preconditioner;
template <class T>
class columns_one_by_one;

/// Settings of a linear_solver. The tolerances, the limit and the deadline can change between solves, with
/// linear_solver::set_tolerances and its neighbours; everything else is fixed at construction.
struct linear_solver_options {
  /// For symmetric definite matrices "cg", "pipelined-cg", "flexible-cg", "refined-cg", "chebyshev" or "richardson";
  /// for symmetric ones "minres" or "cr"; for any square matrix "bicgstab", "bicgstabl", "idr", "gmres", "fgmres",
  /// "cgs" or "tfqmr"; for any shape and rank, by least squares, "lsqr", "lsmr" or "cgls". docs/linear.md compares
  /// them. "auto" looks at the matrix, and goes on with another method where one fails: see docs/which-solver.md.
  std::string method = "cg";
  /// "none", "jacobi", or one that is made from the matrix: "amg", "multigrid", "ilu", "ic", "fsai", "spai",
  /// "block_jacobi", "ssor", "schwarz", "chebyshev", "neumann", "solve"; docs/preconditioners.md says when each pays.
  /// "auto" looks at the matrix, and with method "auto" tries pairs of a method and a preconditioner, the next where
  /// one fails. Settings may follow the name, "amg,strength=0.1"; they count before those of the members below. A
  /// preconditioner of your own: see the constructors that take one.
  ///
  /// "jacobi" is the inverse of the diagonal; for minres and cr, which need a positive definite M, of its absolute
  /// values; for lsqr, lsmr and cgls, whose M is to be close to the inverse of A'A, of the squared norms of A's
  /// columns. "ilu", "ic" and "multigrid" are made by the host when the solver is made, and again by each update_values
  /// and bind_values, from the values as they are then: if you change values in place, call one of the two. All others
  /// are made where the solver runs, and made anew by solves whose values have changed; only the blocks of "schwarz"
  /// and the aggregated ones of "block_jacobi" are found by the host, once.
  std::string preconditioner = "none";
  /// Settings of preconditioner "amg"; those in the preconditioner's text count before these.
  amg_options amg = {};
  /// The same for preconditioner "multigrid".
  multigrid_options multigrid = {};
  /// The same for preconditioners "ilu" and "ic".
  ilu_options ilu = {};
  /// The same for preconditioners "fsai" and "spai".
  fsai_options fsai = {};
  /// The same for preconditioner "block_jacobi".
  block_jacobi_options block_jacobi = {};
  /// The same for preconditioner "ssor".
  ssor_options ssor = {};
  /// The same for preconditioner "schwarz".
  schwarz_options schwarz = {};
  /// The same for preconditioner "chebyshev": a polynomial in A, not the method of that name.
  chebyshev_options chebyshev = {};
  /// The same for preconditioner "neumann".
  neumann_options neumann = {};
  /// The same for preconditioner "solve".
  inner_solve_options solve = {};
  /// Vectors to deflate: up to 64 that span about the slowest modes, an entry a row, one vector after another, in host
  /// memory, of any length and at any angle, but linearly independent. Solves take them out by a preconditioner around
  /// the one chosen, which solves in their span directly, and need the iterations of the other modes: the eigenvectors
  /// of the least eigenvalues of M A, or ones on each part of a domain. For every square method. Not for vectors of the
  /// null space, scaling, matrix_values, lsqr, lsmr and cgls, nor executor "resident". See docs/preconditioners.md.
  std::vector<double> deflation = {};
  /// The null space of a singular matrix: "none", "constant" for the vector of ones, as of a pure Neumann problem, or
  /// "vectors" for those in null_space_vectors: up to 64, an entry a row, one vector after another, of any length and
  /// at any angle. With P the projection onto what is orthogonal to them, a solve finds the x = P x with P A x = P b,
  /// whatever x0: for symmetric A the least-squares solution of least norm. Reports are about P A x = P b: rhs_norm()
  /// is that of P b, and removed_norm() that of what was removed from b. Where a matrix is given, the vectors are
  /// checked, when the solver is made and by update_values. Not for lsqr, lsmr and cgls, nor executor "resident".
  std::string null_space = "none";
  std::vector<double> null_space_vectors = {};
  /// How products read the matrix: "csr", "bsr", "sell", "ell" or "balanced"; "auto" looks at its pattern. Every one
  /// but csr is a copy of the matrix, for executors host, stream and graph. docs/formats.md compares them. No effect on
  /// an operator that has rows of its own.
  std::string format = "auto";
  /// Which matrix methods iterate with, where A's entries differ much in size: "none" for A, or R A C for diagonal R
  /// and C, powers of two that each solve finds anew. "rows": the largest entry of each row becomes about 1, and C
  /// is 1. "symmetric": the entries of the diagonal become about 1 in size. "equilibrate": the largest entry of each
  /// row and each column does. The last two keep a symmetric matrix symmetric. A preconditioner is made from R A C.
  /// Reasons and residuals of reports are those of A; norms in the history and in progress are estimates, right where a
  /// restart begins. Not for lsqr, lsmr, cgls and refined-cg, a null space, preconditioners other than "jacobi", nor
  /// executor "resident".
  std::string scaling = "none";
  /// Which order rows and columns of the matrix that methods iterate with have: "none" for that of A; "rcm" or "degree"
  /// for the same new one of both, by reverse Cuthill-McKee or minimum degree; "matching" for the columns that put
  /// large entries on the diagonal, by a maximum product matching whose dual variables scale rows and columns besides,
  /// unless `scaling` names scales; "matching_rcm" or "matching_degree" for both. Preconditioners are made from that
  /// matrix. Orders and the matching's scales are found on the host when the solver is made, from the values that A has
  /// then, and kept; each solve brings the present values into order. x, b, reasons and residuals of reports are those
  /// of A. Not for lsqr, lsmr, cgls and refined-cg, a null space, deflation, what options give in the order of A's rows
  /// (blocks, nodes), a preconditioner of your own, nor executor "resident"; a matching not for symmetric methods.
  std::string permutation = "none";
  /// "exact", or "float": methods read A's values rounded to float, in half the bytes, with vectors and sums as they
  /// were, in format "sell" or "ell". Each restart begins with the exact residual and brings up to six digits. No
  /// effect on float matrices, nor where a value is beyond float's range. Not for lsqr, lsmr, cgls and refined-cg, a
  /// null space, preconditioners as for `scaling`, nor executor "resident".
  std::string matrix_values = "exact";
  /// Stop when ||b - A x||_2 <= max(rtol ||b||_2, atol), unpreconditioned. lsqr, lsmr and cgls also stop, with reason
  /// converged_normal, when r = b - A x is orthogonal to the columns of A: ||A'r|| / ||r|| <= rtol ||A'b|| / ||b||.
  double rtol = 1e-8;
  double atol = 0;
  /// Stop as diverged when ||b - A x||_2 > dtol * max(||b||_2, ||b - A x0||_2).
  double dtol = 1e8;
  index_type max_iterations = 10000;
  /// gmres and fgmres: iterations after which they restart; 1 to 1000. Each keeps a vector (fgmres two).
  int restart = 30;
  /// idr: the dimension s of its shadow space; 1 to 16. Each dimension keeps two vectors.
  int shadow_dimension = 4;
  /// bicgstabl: the degree l of its polynomials; 1 to 8. Each degree keeps two vectors.
  int polynomial_degree = 2;
  /// chebyshev, richardson: bounds of the eigenvalues of M A, of one sign; 0 for one to be estimated, by as many
  /// Lanczos steps (1 to 64) at the start of each solve.
  double least_eigenvalue = 0, greatest_eigenvalue = 0;
  int lanczos_steps = 20;
  /// If a solve does not converge, return the x with the smallest residual among those at which a restart began or
  /// ended, x0 at worst. If false, and at the iteration limit of cg, lsqr, lsmr and cgls, which lower the error even
  /// when a residual rises: the last x. x is finite in either case.
  bool keep_best = true;
  /// Seconds the loop may run, counted from when it starts on its device.
  double deadline = std::numeric_limits<double>::infinity();
  /// "auto", "host", "stream", "graph" or "resident". "auto" consults the environment variable WHILST_EXECUTOR first,
  /// then chooses by problem and machine.
  std::string executor = "auto";
  /// Where your callbacks need their vectors: "host", "device", or "any" for callbacks that check the stream, which is
  /// null on the host. With "host", "auto" runs on the host whatever WHILST_EXECUTOR says, and GPU executors are
  /// refused; "device" does the reverse. No effect without a callback.
  std::string callback_memory = "any";
  /// Iterations per trip through the graph's WHILE node (and per read of the flag under "stream"); 0: automatic.
  int unroll = 0;
  /// Overlap the start of each step with the end of the previous one, if the device and the code allow it.
  bool programmatic_launch = true;
  /// Check the pointers passed to enqueue: one driver query each, which detects host memory that a GPU cannot read,
  /// memory of another GPU, and freed memory. Null pointers are refused in any case.
  bool check_pointers = true;
  /// Records of convergence history to keep; at least 2.
  int history_capacity = 4096;
  /// Of several ranks: by which transport they exchange. "auto" takes the first that works on all of them; "threads" or
  /// "shared memory" on the host; "peer memory", "host memory" or, which "auto" never takes, "nccl windows" on GPUs:
  /// see docs/several-gpus.md. No effect on a linear_solver.
  std::string transport = "auto";
  /// The CUDA device; -1 for the current one. Ignored on the host.
  int device = -1;
  /// On the host: the most threads that share a step, 1 to 1024; 0 uses OpenMP's settings. Results have the same bits
  /// for any number.
  int threads = 0;

  bool operator==(const linear_solver_options&) const = default;
};

/// Solves A x = b, or min ||b - A x||, for one matrix and many right-hand sides: the loop is recorded when the solver
/// is constructed and replayed by each solve. One solve at a time: a second one on another stream waits for the first.
/// Threads may share it: see replayed_solver.
template <class T>
class linear_solver : public replayed_solver {
 public:
  /// A user-defined preconditioner: enqueue z = M r on `stream`; z and r are device pointers to n entries each. With
  /// executor "host" the stream is null and the pointers are host memory: options.callback_memory says which it
  /// accepts. Under "graph" it is called only while recording, a few times; under "host" and "stream" whenever z is
  /// needed, once per iteration. It is copied and must write nothing but z, which is not read after the loop has
  /// stopped.
  using preconditioner_callback = std::function<void(stream_handle stream, index_type n, const T* r, T* z)>;

  /// A user-defined matrix, given by its product: enqueue y = A x on `stream`, x and y as above, y not x. The rules of
  /// preconditioner_callback apply; called once for each product in the method.
  using operator_callback = std::function<void(stream_handle stream, index_type n, const T* x, T* y)>;

  /// Copies A to its place, records the loop and prepares it. Under executor "host" A's arrays are read in place and
  /// not copied: shared with A, or borrowed if A borrows them. Throws whilst::error on a shape that the method cannot
  /// take, an unknown method, preconditioner or executor, an empty callback, or an executor that this machine does not
  /// have.
  explicit linear_solver(const csr_matrix<T>& A, linear_solver_options options = {});
  template <std::convertible_to<preconditioner_callback> Callback>
  linear_solver(const csr_matrix<T>& A, Callback M, linear_solver_options options = {})
      : linear_solver(called{std::move(M)}, A, std::move(options)) {}
  /// The same for n equations whose matrix is known only by its products:
  /// @code
  ///   const auto apply = [](whilst::stream_handle, whilst::index_type n, const double* x, double* y) {
  ///     for (whilst::index_type i = 0; i < n; ++i)
  ///       y[i] = 2 * x[i] - (i > 0 ? x[i - 1] : 0) - (i < n - 1 ? x[i + 1] : 0);
  ///   };
  ///   whilst::linear_solver<double> solver(1000, apply, {.callback_memory = "host"});
  /// @endcode
  /// Throws whilst::error on a negative n, an empty callback, executor "resident", which makes no calls, and
  /// preconditioner "jacobi", which needs the diagonal: pass a preconditioner of your own.
  linear_solver(index_type n, operator_callback A, linear_solver_options options = {});
  template <std::convertible_to<preconditioner_callback> Callback>
  linear_solver(index_type n, operator_callback A, Callback M, linear_solver_options options = {})
      : linear_solver(called{std::move(M)}, n, std::move(A), std::move(options)) {}
  /// The same for an operator of any shape, known by its products and those of its transpose: x has as many entries as
  /// there are columns, b as many as there are rows. For methods lsqr, lsmr and cgls (or "auto"), and for the others
  /// where it is square.
  linear_solver(index_type rows, index_type columns, operator_callback A, operator_callback A_transposed,
                linear_solver_options options = {});
  /// The same for an operator and a preconditioner in parts, which record steps of their own: see
  /// whilst/linear/linear_operator.hpp. They are kept as long as the solver. An operator's place decides which device
  /// solves; M is null for none, or for the preconditioner named in the options, which may be "jacobi" if the operator
  /// has a diagonal. Under executor "resident" they are refused. Throws whilst::error if A is null, and if the executor
  /// runs on another place.
  linear_solver(std::shared_ptr<linear_operator<T>> A, std::shared_ptr<preconditioner<T>> M,
                linear_solver_options options = {});
  linear_solver(const csr_matrix<T>& A, std::shared_ptr<preconditioner<T>> M, linear_solver_options options = {});
  ~linear_solver() override;
  linear_solver(linear_solver&&) noexcept;
  linear_solver& operator=(linear_solver&&) noexcept;

  /// Solves with b and x in host memory, an entry a row and an entry a column; x holds the initial guess and receives
  /// the solution. Blocks.
  report solve(std::span<const T> b, std::span<T> x);
  report solve(const std::vector<T>& b, std::vector<T>& x) { return solve(std::span<const T>(b), std::span<T>(x)); }

  /// The same with b and x in memory of the solver's place, as for enqueue, after earlier work on `stream`: enqueues
  /// and waits. Method and preconditioner "auto" go on from here as from host memory; the host then looks at copies: of
  /// x under preconditioner "auto", and of b and A where rounding may hide the residual. b and x share no memory.
  /// Throws whilst::error as enqueue does, and if the stream is being captured.
  report solve(stream_handle stream, const T* b, T* x);

  /// Enqueues a solve on `stream` and returns without waiting: b and x are device pointers (host pointers under
  /// executor "host") that must stay valid until the solve is done; x holds the initial guess. No allocation, no
  /// synchronisation (beyond 16 tickets held at once, each further one allocates). Under "host" and "stream" the solve
  /// has completed when this returns. If `stream` is being captured, the loop becomes part of that graph, with these b
  /// and x, and runs at each launch of it; the solver must outlive the graph, since it owns the memory that the graph
  /// writes to. Throws whilst::error on a null pointer, and on memory that the solver's GPU cannot use; nothing has
  /// been enqueued then. In a capture, memory unknown to the driver is accepted: it may be the graph's own. If this
  /// throws for another reason, the solve may be in flight all the same: synchronize the stream before you free b and
  /// x. A capture may then hold part of the solve; discard it. Under method or preconditioner "auto" what was
  /// chosen runs alone: to go on with another one, the host would have to wait. solve(stream, b, x) does.
  ticket enqueue(stream_handle stream, const T* b, T* x);

  /// New values for the same pattern, in the order of A's values; host memory. Undoes bind_values. Records nothing but,
  /// under method "auto", a method that these values are the first to need. This and the next two members throw
  /// whilst::error if the solver was made for an operator_callback.
  void update_values(std::span<const T> values);

  /// The same with the values of a matrix that has the solver's pattern (its shape is checked, the positions of its
  /// entries are not). Values on the solver's place are read there and not copied: those of any host matrix under
  /// executor "host", and those in device memory. Others are copied, unless they come from the same csr_matrix as last
  /// time, or a copy of it; borrowed ones always, since they may have changed.
  void update_values(const csr_matrix<T>& A);

  /// From the next solve on, values are read from here: memory of the solver's place (a device pointer on a GPU), one
  /// for each nonzero of A and in A's order, borrowed. Neither copied nor recorded: one small write goes with the
  /// launch. "auto" keeps its choice, without a look at them. Preconditioners ilu and ic are made anew at once:
  /// what writes the values must have ended, and this waits for what is enqueued. Throws whilst::error on a pointer
  /// that enqueue would refuse, and if code called by a solve calls this before that solve has ended: it could release
  /// values that the solve reads.
  void bind_values(const T* values);

  /// Has a lagged preconditioner, see amg_options::refresh, made anew by the next solve if its matrix has changed since
  /// it was made, as the first of a sequence that is not to depend on earlier solves. Waits for what is enqueued.
  void refresh_preconditioner();

  void set_tolerances(double rtol, double atol);
  void set_divergence(double dtol);

  /// As recorded_solver's; and what was made as preconditioners: of amg a table of its levels.
  std::string explain() const;
  /// The solver's memory use, itemised: the matrix, the method's vectors, the program.
  memory_table memory() const;
  /// Bytes of its place's memory that the solver holds: the recorded loop's vectors, partial sums and history, its copy
  /// of the matrix, large b and x for solves from host memory, and an estimate for the instantiated graph (free memory
  /// before and after it was made).
  index_type bytes() const;
  /// True if the CUDA context that the solver was made in has been destroyed, for example by cudaDeviceReset(), and its
  /// memory with it: solves then throw whilst::error, and the solver can only be destroyed.
  bool is_lost() const;

 private:
  friend class columns_one_by_one<T>;
  // Above, the callback's type is deduced: with GCC 12's library, clang 14 fails where it asks whether {.executor =
  // "host"} could be a std::function.
  struct called {
    preconditioner_callback M;
  };
  linear_solver(called M, const csr_matrix<T>& A, linear_solver_options options);
  linear_solver(called M, index_type n, operator_callback A, linear_solver_options options);
  prepared_program& prepared() const override;
  prepared_program& running() const override;
  struct implementation;
  detail::held<implementation> implementation_;
};

extern template class linear_solver<float>;
extern template class linear_solver<double>;

}  // namespace whilst

#ifndef WHILST_WHILST_H
#define WHILST_WHILST_H

/// \file
/// Whilst for C (C99) and for all languages that call C. docs/c.md introduces it, with programs in C, Fortran and
/// Julia.
///
/// What holds for each function here:
///
/// - **Handles** (whilst_matrix, whilst_solver, whilst_ticket, whilst_report) are opaque. A function that makes one
///   writes it to its last argument; it is yours until you pass it to the `_destroy` of its kind, which sets your
///   variable to NULL and ignores NULL. A handle that was destroyed, or is of another kind, is refused in words: the
///   library never follows the pointer. Where a function that makes a handle fails, it writes NULL.
/// - **Errors.** A function that can fail returns a whilst_status; whilst_last_error() then says what is wrong and
///   what to do about it. No exception leaves a function. How a solve ended is no error: the report says it.
/// - **Threads.** Every function but whilst_solver_set_monitor() may be called from any thread at any time, also with a
///   handle that another thread uses or destroys: what a call works with lives until it returns. Two threads that solve
///   with one solver wait for each other; solvers of their own run at once. whilst_solver_cancel() and the functions of
///   tickets but whilst_ticket_wait() wait for no one.
/// - **Numbers.** Vectors and values are `float` or `double` arrays, of the whilst_number that the matrix or the solver
///   was made with. They are passed as void *, so that the compiler cannot tell one from the other: be careful.
/// - **Options** are text, as of `whilst solve` and `whilst::options_from_string`: "method=cg, preconditioner=amg,
///   rtol=1e-10". NULL and "" mean all defaults. docs/linear.md and docs/nonlinear.md list them.

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define WHILST_API __attribute__((visibility("default")))
#else
#define WHILST_API
#endif

#ifdef __cplusplus
#define WHILST_INT : int  // any int may come from C, and is refused in words
extern "C" {
#else
#define WHILST_INT
#endif

/// What became of a call.
typedef enum whilst_status WHILST_INT {
  WHILST_OK = 0,
  WHILST_ERROR = 1,            ///< misuse, bad input, or CUDA failed: whilst_last_error() says what and how to cure it
  WHILST_OUT_OF_MEMORY = 2,    ///< of the host or of a GPU
  WHILST_CALLBACK_FAILED = 3,  ///< a callback of yours returned a number other than 0
  WHILST_INTERNAL_ERROR = 4    ///< anything else: a bug of Whilst, or an exception that a callback in C++ threw
} whilst_status;

/// The type of the numbers in vectors and values.
typedef enum whilst_number WHILST_INT { WHILST_FLOAT = 1, WHILST_DOUBLE = 2 } whilst_number;

/// Where arrays lie, or where a callback works.
typedef enum whilst_memory WHILST_INT { WHILST_HOST = 1, WHILST_DEVICE = 2 } whilst_memory;

typedef struct whilst_matrix whilst_matrix;  ///< A sparse matrix: see whilst_matrix_copy().
typedef struct whilst_solver whilst_solver;  ///< A recorded loop, replayed by each solve: see whilst_linear_create().
typedef struct whilst_ticket whilst_ticket;  ///< An enqueued solve: see whilst_enqueue().
typedef struct whilst_report whilst_report;  ///< How a solve ended: see whilst_report_text().
typedef struct whilst_group whilst_group;    ///< A rank's seat among ranks that solve together: whilst_group_create().
/// A matrix whose rows lie on the ranks of a group: see whilst_distributed_matrix_create().
typedef struct whilst_distributed_matrix whilst_distributed_matrix;

/// The version of the library, "0.1.0". Never fails; the text is the library's.
WHILST_API const char* whilst_version(void);

/// What went wrong in the calling thread's latest call that failed, and the cure, as "FUNCTION: what. Cure."; "" where
/// none failed. The text is the library's, and valid until the thread's next call that fails.
WHILST_API const char* whilst_last_error(void);

/// Writes 1 to `available` if this library can run `executor` ("host", "stream", "graph", "resident", "batch") on this
/// machine and CUDA device (-1: the current one), else 0. An unknown name is an error.
WHILST_API whilst_status whilst_executor_available(const char* executor, int device, int* available);

// ---- matrices

/// Makes a matrix in compressed sparse rows by a copy of arrays in host memory, which are free afterwards.
///
/// `row_offsets` has rows + 1 integers of offset_bits (32 or 64), the last of which (less index_base) is `nonzeros`;
/// `column_indices` and `values` have `nonzeros` entries each, the indices integers of index_bits. Both count from
/// index_base: 0, or 1 as in Fortran and Julia. Wrong arrays are an error that names the first wrong entry.
WHILST_API whilst_status whilst_matrix_copy(whilst_number number, int64_t rows, int64_t columns, int64_t nonzeros,
                                            const void* row_offsets, int offset_bits, const void* column_indices,
                                            int index_bits, int index_base, const void* values, whilst_matrix** matrix);

/// The same without a copy, of arrays that count from 0, with indices of 32 bits. They must outlive the matrix and
/// every solver made from it. Those in host memory are checked now; a solver under executor "host" reads them in place.
/// Those in device memory are not checked.
WHILST_API whilst_status whilst_matrix_borrow(whilst_number number, whilst_memory memory, int64_t rows, int64_t columns,
                                              int64_t nonzeros, const void* row_offsets, int offset_bits,
                                              const int32_t* column_indices, const void* values,
                                              whilst_matrix** matrix);

/// Reads a Matrix Market file, plain or gzip.
WHILST_API whilst_status whilst_matrix_read(whilst_number number, const char* path, whilst_matrix** matrix);

/// Makes a model problem from "NAME:SIZE", such as "poisson2d:512": see docs/command-line.md.
WHILST_API whilst_status whilst_matrix_gallery(whilst_number number, const char* name, whilst_matrix** matrix);

/// The size of a matrix. Each of the last three may be NULL.
WHILST_API whilst_status whilst_matrix_size(const whilst_matrix* matrix, int64_t* rows, int64_t* columns,
                                            int64_t* nonzeros);

/// Gives a matrix back. Solvers made from it stay valid; borrowed arrays must still be there for them.
WHILST_API whilst_status whilst_matrix_destroy(whilst_matrix** matrix);

// ---- callbacks

/// y = A x, or z = M r: reads `columns` entries of x and writes `rows` entries of y; no other memory that a solve
/// reads. Returns 0, or another number to end the solve with WHILST_CALLBACK_FAILED.
///
/// WHILST_HOST: x and y are host memory, `stream` is NULL. WHILST_DEVICE: device memory; the callback enqueues its work
/// on `stream`, a cudaStream_t, and returns without waiting. Under executor "graph" it is then called only while the
/// loop is recorded, a few times. `user` is what was given with the callback; it must stay valid as long as the solver.
/// A callback may call functions of this library, but may not solve with the solver that called it.
typedef int (*whilst_apply)(void* user, void* stream, int64_t rows, int64_t columns, const void* x, void* y);

/// f and its gradient at x: writes f(x) to *value (a double in any case) and n entries to `gradient`. Otherwise as
/// whilst_apply.
typedef int (*whilst_objective)(void* user, void* stream, int64_t n, const void* x, double* value, void* gradient);

/// F at x: writes n entries to `residual`. Otherwise as whilst_apply.
typedef int (*whilst_residual)(void* user, void* stream, int64_t n, const void* x, void* residual);

/// Called by a solve with the iterations so far and the norm of the residual (of the gradient, for a minimizer).
/// Returns 0, or another number to cancel the solve.
typedef int (*whilst_monitor)(void* user, int64_t iteration, double residual_norm);

// ---- solvers: making one records its loop, each solve replays it

/// For A x = b, or least squares, with the method that `options` name. A's arrays in host memory are read in place
/// under executor "host"; the matrix may be destroyed first all the same.
WHILST_API whilst_status whilst_linear_create(const whilst_matrix* matrix, const char* options, whilst_solver** solver);

/// The same with a preconditioner of your own, z = M r, square with as many rows as A has columns. `memory`: where it
/// works; WHILST_HOST runs the solve on the host.
WHILST_API whilst_status whilst_linear_create_preconditioned(const whilst_matrix* matrix, whilst_memory memory,
                                                             whilst_apply M, void* user, const char* options,
                                                             whilst_solver** solver);

/// The same for a matrix that is known by its products only. `A_transposed` may be NULL for a square one, and `M` may
/// be NULL; one of these two must be. All get the same `user`.
WHILST_API whilst_status whilst_linear_create_operator(whilst_number number, whilst_memory memory, int64_t rows,
                                                       int64_t columns, whilst_apply A, whilst_apply A_transposed,
                                                       whilst_apply M, void* user, const char* options,
                                                       whilst_solver** solver);

/// For A X = B with 1 to 64 right-hand sides at once. B and X lie column after column.
WHILST_API whilst_status whilst_columns_create(const whilst_matrix* matrix, int64_t columns, const char* options,
                                               whilst_solver** solver);

/// For some of the smallest or largest eigenvalues of a symmetric matrix, with vectors: options "count=4,
/// which=smallest, rtol=1e-8" and others of whilst::eigenvalue_options. X has `count` columns, which hold the start
/// (zeros for a random one) and receive the eigenvectors; the report has the eigenvalues.
WHILST_API whilst_status whilst_eigenvalues_create(const whilst_matrix* matrix, const char* options,
                                                   whilst_solver** solver);

/// For the minimum of a function of n unknowns by first-order methods, "lbfgs" unless the options name another.
/// WHILST_HOST runs the solve on the host.
WHILST_API whilst_status whilst_minimizer_create(whilst_number number, whilst_memory memory, int64_t n,
                                                 whilst_objective function, void* user, const char* options,
                                                 whilst_solver** solver);

/// For F(x) = 0 with n equations and unknowns, by methods without a Jacobian: "broyden", which is the default here, and
/// "anderson". WHILST_HOST runs the solve on the host.
WHILST_API whilst_status whilst_equations_create(whilst_number number, whilst_memory memory, int64_t n,
                                                 whilst_residual function, void* user, const char* options,
                                                 whilst_solver** solver);

/// Solves with b and x in host memory, wherever the solver runs, and waits. x holds the initial guess and receives the
/// solution. b_length and x_length are their entries: rows and columns of the matrix, times the right-hand sides.
/// Solvers for eigenvalues, minima and equations have no b: NULL and 0.
///
/// `report` may be NULL if you do not want one. WHILST_OK says that the solve ran, and not that it converged.
WHILST_API whilst_status whilst_solve(whilst_solver* solver, const void* b, int64_t b_length, void* x, int64_t x_length,
                                      whilst_report** report);

/// Enqueues a solve on `stream`, a cudaStream_t, and returns without waiting. b and x are memory of the solver's place:
/// device memory, or host memory where it runs on the host; they must stay valid until the solve is done. Under
/// executors "host" and "stream" the solve is done when this returns. Destroy the ticket when you no longer need it,
/// before or after the end of the solve.
WHILST_API whilst_status whilst_enqueue(whilst_solver* solver, void* stream, const void* b, void* x,
                                        whilst_ticket** ticket);

/// New values for the pattern of the solver's matrix, `nonzeros` of them in its order, in host memory: for solvers made
/// from a matrix. They are copied.
WHILST_API whilst_status whilst_solver_update_values(whilst_solver* solver, const void* values, int64_t length);

/// From the next solve on, values are read from here: memory of the solver's place, as many as the matrix has, which
/// must outlive the solver or the next call of this or the above. For linear solvers made from a matrix.
WHILST_API whilst_status whilst_solver_bind_values(whilst_solver* solver, const void* values);

/// For later solves: rtol and atol of linear solvers, columns and equations; rtol alone for eigenvalues, atol 0. Those
/// of a minimizer are for the gradient: relative_gradient and gradient.
WHILST_API whilst_status whilst_solver_set_tolerances(whilst_solver* solver, double rtol, double atol);

/// For later solves: the most iterations.
WHILST_API whilst_status whilst_solver_set_max_iterations(whilst_solver* solver, int64_t limit);

/// For later solves: the seconds that a loop may run.
WHILST_API whilst_status whilst_solver_set_deadline(whilst_solver* solver, double seconds);

/// Has later solves call `monitor`, on the solving thread: after each iteration on the host, about every millisecond on
/// a GPU. NULL for none. Not for several columns. It may cancel, ask for progress, set another monitor, destroy the
/// solver, and call no other function with it. Do not set one while another thread solves with the solver.
WHILST_API whilst_status whilst_solver_set_monitor(whilst_solver* solver, whilst_monitor monitor, void* user);

/// Stops the solve that runs and those that wait for their turn, with reason "cancelled". Harmless if there is none.
WHILST_API whilst_status whilst_solver_cancel(whilst_solver* solver);

/// How far the solve in flight has come; each of the last three may be NULL. Not for several columns.
WHILST_API whilst_status whilst_solver_progress(whilst_solver* solver, int64_t* iteration, double* residual_norm,
                                                int* running);

/// The memory that a solver holds on the host and on GPUs, in bytes; each of the last two may be NULL.
WHILST_API whilst_status whilst_solver_bytes(whilst_solver* solver, int64_t* host_bytes, int64_t* gpu_bytes);

/// What a solver can tell.
typedef enum whilst_solver_text_kind WHILST_INT {
  WHILST_SOLVER_EXECUTOR = 1,  ///< "host", "stream", "graph" or "resident"
  WHILST_SOLVER_MEMORY = 2,    ///< a table of its memory
  WHILST_SOLVER_PROGRAM = 3,   ///< what was recorded, as a tree
  WHILST_SOLVER_TRANSPORT = 4  ///< of several ranks: "one rank", "threads", "shared memory", "peer memory" ...
} whilst_solver_text_kind;

/// A text about a solver, NULL on an error. The text is the library's; it is valid until the same thread calls this
/// again, for any solver, or ends, and whether or not the solver is destroyed meanwhile. Copy it to keep it.
WHILST_API const char* whilst_solver_text(whilst_solver* solver, whilst_solver_text_kind what);

/// Gives a solver back; waits for what it has enqueued. Its tickets can then only be destroyed. Where another thread is
/// in a call with it, or is in a callback of it, the solver goes when that call returns.
WHILST_API whilst_status whilst_solver_destroy(whilst_solver** solver);

// ---- several ranks: one system, its rows on several GPUs. docs/several-gpus.md tells how it works
//
// "Collective" functions are called by all ranks in the same order, and return when all have called them. What one rank
// does wrong is an error on all, which names the rank.

/// Gives every rank the bytes of all ranks: `mine` are this rank's, sizes[q] of them rank q's, and `all` has room for
/// them in the order of ranks. Called by all ranks at once. Returns 0, or another number if it fails: the group is then
/// broken.
typedef int (*whilst_all_gather)(void* user, const void* mine, const int64_t* sizes, int ranks, void* all);
/// Gives back what a callback works with.
typedef void (*whilst_release)(void* user);

/// Makes rank `rank` of `size` ranks, whose bytes travel by `gather`. whilst_group_from_mpi() of whilst/whilst_mpi.h
/// makes one of MPI processes. `release`, which may be NULL, is called once with `user` when the group and all that was
/// made with it are gone, or when this fails.
WHILST_API whilst_status whilst_group_create(int rank, int size, whilst_all_gather gather, void* user,
                                             whilst_release release, whilst_group** group);

/// Makes all ranks of a group of threads of this process: writes `size` handles to the array `groups`, of which the
/// q-th is for the thread that is rank q.
WHILST_API whilst_status whilst_group_create_threads(int size, whilst_group** groups);

/// The rank and the number of ranks; each may be NULL.
WHILST_API whilst_status whilst_group_size(const whilst_group* group, int* rank, int* size);

/// Returns when all ranks have called it. Collective.
WHILST_API whilst_status whilst_group_barrier(const whilst_group* group);

/// Says that this rank gives up, and why: the others' next call fails with these words, and the group is broken.
WHILST_API whilst_status whilst_group_fail(const whilst_group* group, const char* message);

/// Gives a rank's seat back; what was made with it stays valid. A thread that has given back all leaves its group.
WHILST_API whilst_status whilst_group_destroy(whilst_group** group);

/// Makes a square matrix from the rows that each rank has, by a copy; arguments as of whilst_matrix_copy(), but that
/// first_row is the global number of the first row (counted from index_base, too), and that column_indices are global.
/// All rows are there once, in the order of ranks; a rank may have none. Collective.
WHILST_API whilst_status whilst_distributed_matrix_create(const whilst_group* group, whilst_number number,
                                                          int64_t first_row, int64_t rows, int64_t nonzeros,
                                                          const void* row_offsets, int offset_bits,
                                                          const void* column_indices, int index_bits, int index_base,
                                                          const void* values, whilst_distributed_matrix** matrix);

/// The same from a matrix that rank 0 has, split by nonzeros and rows; the other ranks pass NULL. Collective.
WHILST_API whilst_status whilst_distributed_matrix_split(const whilst_group* group, whilst_number number,
                                                         const whilst_matrix* whole,
                                                         whilst_distributed_matrix** matrix);

/// The rows of all ranks; of this rank the first row (from 0), rows, nonzeros, and how many entries of other ranks a
/// product reads. Each of the last five may be NULL.
WHILST_API whilst_status whilst_distributed_matrix_size(const whilst_distributed_matrix* matrix, int64_t* rows_of_all,
                                                        int64_t* first_row, int64_t* rows, int64_t* nonzeros,
                                                        int64_t* ghosts);

/// Gives a matrix back; solvers made from it stay valid.
WHILST_API whilst_status whilst_distributed_matrix_destroy(whilst_distributed_matrix** matrix);

/// For A x = b on all ranks, one GPU a rank or on the host; `options` as for whilst_linear_create(), the same on all
/// ranks. Vectors are the entries of this rank's rows. peer_limit_seconds: how long a solve waits for a rank that does
/// not come, as 10; it then ends with reason "peer_lost". Collective, as are whilst_solve(), whilst_enqueue() and
/// whilst_solver_update_values() with it; cancelling on one rank stops all.
WHILST_API whilst_status whilst_distributed_solver_create(const whilst_distributed_matrix* matrix, const char* options,
                                                          double peer_limit_seconds, whilst_solver** solver);

/// For the minimum of a function whose unknowns the ranks share, in the order of ranks: this one has `unknowns` of
/// them, perhaps none. `ghosts` has the global numbers, from 0, of the ghost_count entries that `function` reads of
/// other ranks: ascending, each once; NULL for none. `function` gets the own unknowns and, after them, the ghosts. It
/// writes this rank's part of f, which is the sum over all ranks, and to the own entries of the gradient the
/// derivatives of all of f; those by ghosts are not read. It works in `memory`: on the host, or on the current CUDA
/// device, one a rank. It may be NULL on a rank without unknowns. Where it fails in a solve on one rank, that rank
/// returns WHILST_CALLBACK_FAILED, and the others' reports end with "cancelled", or with "nan_or_infinity" if that was
/// the first evaluation.
///
/// `options` as for whilst_minimizer_create(), with "transport" and without methods that need a Hessian or a dense
/// matrix, the same on all ranks. Vectors are this rank's unknowns, without ghosts. Otherwise as
/// whilst_distributed_solver_create(). Collective.
WHILST_API whilst_status whilst_distributed_minimizer_create(const whilst_group* group, whilst_number number,
                                                             whilst_memory memory, int64_t unknowns,
                                                             const int64_t* ghosts, int64_t ghost_count,
                                                             whilst_objective function, void* user, const char* options,
                                                             double peer_limit_seconds, whilst_solver** solver);

/// Writes the rank that the last solve of such a solver waited for in vain; -1 for none.
WHILST_API whilst_status whilst_solver_lost_rank(whilst_solver* solver, int* rank);

/// Makes such a solver usable after a rank was lost that is there again. Collective, with no solve in flight.
WHILST_API whilst_status whilst_solver_recover(whilst_solver* solver);

// ---- tickets

/// Waits for the solve; `report` may be NULL. Can be called again.
WHILST_API whilst_status whilst_ticket_wait(const whilst_ticket* ticket, whilst_report** report);

/// Writes 1 to `done` if the solve has ended, else 0.
WHILST_API whilst_status whilst_ticket_done(const whilst_ticket* ticket, int* done);

/// Asks this solve to stop, with reason "cancelled".
WHILST_API whilst_status whilst_ticket_cancel(const whilst_ticket* ticket);

/// Gives a ticket back; the solve goes on.
WHILST_API whilst_status whilst_ticket_destroy(whilst_ticket** ticket);

// ---- reports: values, which outlive their solver

/// 1 if the solve converged (all columns of it), else 0; 0 also on an error.
WHILST_API int whilst_report_converged(const whilst_report* report);

/// The number of the reason: positive for converged, negative for not; 0 on an error. Numbers are those of
/// whilst::reason, PETSc's where both have the case. Of several columns: that of the worst, as the next six.
WHILST_API int whilst_report_reason(const whilst_report* report);

/// Its name, "converged_rtol", "iteration_limit", ...; NULL on an error. The text is the library's, and stays valid.
WHILST_API const char* whilst_report_reason_name(const whilst_report* report);

/// Completed iterations, -1 on an error.
WHILST_API int64_t whilst_report_iterations(const whilst_report* report);

/// The numbers of a report.
typedef enum whilst_report_number_kind WHILST_INT {
  WHILST_RESIDUAL_NORM = 1,      ///< ||b - A x||, recomputed; ||g|| of a minimizer, ||F|| of equations
  WHILST_RELATIVE_RESIDUAL = 2,  ///< the same divided by ||b||; by its value at the start where there is no b
  WHILST_RHS_NORM = 3,           ///< ||b||
  WHILST_SETUP_SECONDS = 4,      ///< to record the loop, once a solver
  WHILST_SOLVE_SECONDS = 5,      ///< of this solve, on the clock of its device
  WHILST_LOOP_SECONDS = 6,       ///< the part of it in the method's loop
  WHILST_VALUE = 7,              ///< f at x, of a minimizer; else NaN
  WHILST_EVALUATIONS = 8         ///< of the function, by a minimizer or a solver of equations; else NaN
} whilst_report_number_kind;

/// A number of a report, NaN on an error.
WHILST_API double whilst_report_number(const whilst_report* report, whilst_report_number_kind what);

/// The texts of a report.
typedef enum whilst_report_text_kind WHILST_INT {
  WHILST_MESSAGE = 1,             ///< one line: how it ended, after how many iterations, at what residual
  WHILST_METHOD = 2,              ///< the method that ran
  WHILST_PRECONDITIONER = 3,      ///< likewise
  WHILST_EXECUTOR = 4,            ///< likewise
  WHILST_DEVICE_NAME = 5,         ///< of the GPU or the processor
  WHILST_NOTE = 6,                ///< what you should know, mostly ""
  WHILST_CHOICE = 7,              ///< under method or preconditioner "auto": which ran, and why; else ""
  WHILST_PRECONDITIONER_MADE = 8  ///< what was made as preconditioner; ""
} whilst_report_text_kind;

/// A text of a report, NULL on an error. It is the report's, and valid until that is destroyed.
WHILST_API const char* whilst_report_text(const whilst_report* report, whilst_report_text_kind what);

/// The convergence history: how many records there are, of which the first `capacity` are written to the arrays, which
/// may be NULL. -1 on an error. Of several columns there is none.
WHILST_API int64_t whilst_report_history(const whilst_report* report, int64_t capacity, int64_t* iterations,
                                         double* residual_norms);

/// Eigenvalues, in the order of the vectors, with the norms of their residuals; arguments as above. 0 for other
/// solvers.
WHILST_API int64_t whilst_report_eigenvalues(const whilst_report* report, int64_t capacity, double* eigenvalues,
                                             double* residual_norms);

/// How each column ended: the number of its reason, its iterations, ||b - A x|| / ||b||; arguments as above. 0 for
/// other solvers.
WHILST_API int64_t whilst_report_columns(const whilst_report* report, int64_t capacity, int* reasons,
                                         int64_t* iterations, double* relative_residuals);

/// Gives a report back.
WHILST_API whilst_status whilst_report_destroy(whilst_report** report);

#ifdef __cplusplus
}
#endif

#endif

!> Whilst for Fortran 2003 and later: every function of whilst/whilst.h, which says what they do, under its own name.
!> scripts/fortran-module writes this file.
!>
!> Handles (whilst_matrix and so on in the header) are type(c_ptr). Arrays are passed by c_loc and need the attribute target.
!> Texts end with c_null_char; texts of the library are read by whilst_string. Callbacks are functions with bind(C), passed
!> by c_funloc, or c_null_funptr for none. Compile this file beside your own: modules differ between compilers.
module whilst
  use, intrinsic :: iso_c_binding
  implicit none
  public

  integer(c_int), parameter :: WHILST_OK = 0, WHILST_ERROR = 1, WHILST_OUT_OF_MEMORY = 2, &
      WHILST_CALLBACK_FAILED = 3, WHILST_INTERNAL_ERROR = 4
  integer(c_int), parameter :: WHILST_FLOAT = 1, WHILST_DOUBLE = 2
  integer(c_int), parameter :: WHILST_HOST = 1, WHILST_DEVICE = 2
  integer(c_int), parameter :: WHILST_SOLVER_EXECUTOR = 1, WHILST_SOLVER_MEMORY = 2, WHILST_SOLVER_PROGRAM = 3, &
      WHILST_SOLVER_TRANSPORT = 4
  integer(c_int), parameter :: WHILST_RESIDUAL_NORM = 1, WHILST_RELATIVE_RESIDUAL = 2, WHILST_RHS_NORM = 3, &
      WHILST_SETUP_SECONDS = 4, WHILST_SOLVE_SECONDS = 5, WHILST_LOOP_SECONDS = 6, WHILST_VALUE = 7, &
      WHILST_EVALUATIONS = 8
  integer(c_int), parameter :: WHILST_MESSAGE = 1, WHILST_METHOD = 2, WHILST_PRECONDITIONER = 3, &
      WHILST_EXECUTOR = 4, WHILST_DEVICE_NAME = 5, WHILST_NOTE = 6, WHILST_CHOICE = 7, &
      WHILST_PRECONDITIONER_MADE = 8

  interface
    function whilst_version() bind(C)
      import
      type(c_ptr) :: whilst_version
    end function
    function whilst_last_error() bind(C)
      import
      type(c_ptr) :: whilst_last_error
    end function
    function whilst_executor_available(executor, device, available) bind(C)
      import
      character(kind=c_char), intent(in) :: executor(*)
      integer(c_int), value :: device
      integer(c_int), intent(out) :: available
      integer(c_int) :: whilst_executor_available
    end function
    function whilst_matrix_copy(number, rows, columns, nonzeros, row_offsets, offset_bits, column_indices, &
        index_bits, index_base, values, matrix) bind(C)
      import
      integer(c_int), value :: number
      integer(c_int64_t), value :: rows
      integer(c_int64_t), value :: columns
      integer(c_int64_t), value :: nonzeros
      type(c_ptr), value :: row_offsets
      integer(c_int), value :: offset_bits
      type(c_ptr), value :: column_indices
      integer(c_int), value :: index_bits
      integer(c_int), value :: index_base
      type(c_ptr), value :: values
      type(c_ptr), intent(out) :: matrix
      integer(c_int) :: whilst_matrix_copy
    end function
    function whilst_matrix_borrow(number, memory, rows, columns, nonzeros, row_offsets, offset_bits, &
        column_indices, values, matrix) bind(C)
      import
      integer(c_int), value :: number
      integer(c_int), value :: memory
      integer(c_int64_t), value :: rows
      integer(c_int64_t), value :: columns
      integer(c_int64_t), value :: nonzeros
      type(c_ptr), value :: row_offsets
      integer(c_int), value :: offset_bits
      type(c_ptr), value :: column_indices
      type(c_ptr), value :: values
      type(c_ptr), intent(out) :: matrix
      integer(c_int) :: whilst_matrix_borrow
    end function
    function whilst_matrix_read(number, path, matrix) bind(C)
      import
      integer(c_int), value :: number
      character(kind=c_char), intent(in) :: path(*)
      type(c_ptr), intent(out) :: matrix
      integer(c_int) :: whilst_matrix_read
    end function
    function whilst_matrix_gallery(number, name, matrix) bind(C)
      import
      integer(c_int), value :: number
      character(kind=c_char), intent(in) :: name(*)
      type(c_ptr), intent(out) :: matrix
      integer(c_int) :: whilst_matrix_gallery
    end function
    function whilst_matrix_size(matrix, rows, columns, nonzeros) bind(C)
      import
      type(c_ptr), value :: matrix
      integer(c_int64_t), intent(out) :: rows
      integer(c_int64_t), intent(out) :: columns
      integer(c_int64_t), intent(out) :: nonzeros
      integer(c_int) :: whilst_matrix_size
    end function
    function whilst_matrix_destroy(matrix) bind(C)
      import
      type(c_ptr), intent(inout) :: matrix
      integer(c_int) :: whilst_matrix_destroy
    end function
    function whilst_linear_create(matrix, options, solver) bind(C)
      import
      type(c_ptr), value :: matrix
      character(kind=c_char), intent(in) :: options(*)
      type(c_ptr), intent(out) :: solver
      integer(c_int) :: whilst_linear_create
    end function
    function whilst_linear_create_preconditioned(matrix, memory, M, user, options, solver) bind(C)
      import
      type(c_ptr), value :: matrix
      integer(c_int), value :: memory
      type(c_funptr), value :: M
      type(c_ptr), value :: user
      character(kind=c_char), intent(in) :: options(*)
      type(c_ptr), intent(out) :: solver
      integer(c_int) :: whilst_linear_create_preconditioned
    end function
    function whilst_linear_create_operator(number, memory, rows, columns, A, A_transposed, M, user, options, &
        solver) bind(C)
      import
      integer(c_int), value :: number
      integer(c_int), value :: memory
      integer(c_int64_t), value :: rows
      integer(c_int64_t), value :: columns
      type(c_funptr), value :: A
      type(c_funptr), value :: A_transposed
      type(c_funptr), value :: M
      type(c_ptr), value :: user
      character(kind=c_char), intent(in) :: options(*)
      type(c_ptr), intent(out) :: solver
      integer(c_int) :: whilst_linear_create_operator
    end function
    function whilst_columns_create(matrix, columns, options, solver) bind(C)
      import
      type(c_ptr), value :: matrix
      integer(c_int64_t), value :: columns
      character(kind=c_char), intent(in) :: options(*)
      type(c_ptr), intent(out) :: solver
      integer(c_int) :: whilst_columns_create
    end function
    function whilst_eigenvalues_create(matrix, options, solver) bind(C)
      import
      type(c_ptr), value :: matrix
      character(kind=c_char), intent(in) :: options(*)
      type(c_ptr), intent(out) :: solver
      integer(c_int) :: whilst_eigenvalues_create
    end function
    function whilst_minimizer_create(number, memory, n, function, user, options, solver) bind(C)
      import
      integer(c_int), value :: number
      integer(c_int), value :: memory
      integer(c_int64_t), value :: n
      type(c_funptr), value :: function
      type(c_ptr), value :: user
      character(kind=c_char), intent(in) :: options(*)
      type(c_ptr), intent(out) :: solver
      integer(c_int) :: whilst_minimizer_create
    end function
    function whilst_equations_create(number, memory, n, function, user, options, solver) bind(C)
      import
      integer(c_int), value :: number
      integer(c_int), value :: memory
      integer(c_int64_t), value :: n
      type(c_funptr), value :: function
      type(c_ptr), value :: user
      character(kind=c_char), intent(in) :: options(*)
      type(c_ptr), intent(out) :: solver
      integer(c_int) :: whilst_equations_create
    end function
    function whilst_solve(solver, b, b_length, x, x_length, report) bind(C)
      import
      type(c_ptr), value :: solver
      type(c_ptr), value :: b
      integer(c_int64_t), value :: b_length
      type(c_ptr), value :: x
      integer(c_int64_t), value :: x_length
      type(c_ptr), intent(out) :: report
      integer(c_int) :: whilst_solve
    end function
    function whilst_enqueue(solver, stream, b, x, ticket) bind(C)
      import
      type(c_ptr), value :: solver
      type(c_ptr), value :: stream
      type(c_ptr), value :: b
      type(c_ptr), value :: x
      type(c_ptr), intent(out) :: ticket
      integer(c_int) :: whilst_enqueue
    end function
    function whilst_solver_update_values(solver, values, length) bind(C)
      import
      type(c_ptr), value :: solver
      type(c_ptr), value :: values
      integer(c_int64_t), value :: length
      integer(c_int) :: whilst_solver_update_values
    end function
    function whilst_solver_bind_values(solver, values) bind(C)
      import
      type(c_ptr), value :: solver
      type(c_ptr), value :: values
      integer(c_int) :: whilst_solver_bind_values
    end function
    function whilst_solver_set_tolerances(solver, rtol, atol) bind(C)
      import
      type(c_ptr), value :: solver
      real(c_double), value :: rtol
      real(c_double), value :: atol
      integer(c_int) :: whilst_solver_set_tolerances
    end function
    function whilst_solver_set_max_iterations(solver, limit) bind(C)
      import
      type(c_ptr), value :: solver
      integer(c_int64_t), value :: limit
      integer(c_int) :: whilst_solver_set_max_iterations
    end function
    function whilst_solver_set_deadline(solver, seconds) bind(C)
      import
      type(c_ptr), value :: solver
      real(c_double), value :: seconds
      integer(c_int) :: whilst_solver_set_deadline
    end function
    function whilst_solver_set_monitor(solver, monitor, user) bind(C)
      import
      type(c_ptr), value :: solver
      type(c_funptr), value :: monitor
      type(c_ptr), value :: user
      integer(c_int) :: whilst_solver_set_monitor
    end function
    function whilst_solver_cancel(solver) bind(C)
      import
      type(c_ptr), value :: solver
      integer(c_int) :: whilst_solver_cancel
    end function
    function whilst_solver_progress(solver, iteration, residual_norm, running) bind(C)
      import
      type(c_ptr), value :: solver
      integer(c_int64_t), intent(out) :: iteration
      real(c_double), intent(out) :: residual_norm
      integer(c_int), intent(out) :: running
      integer(c_int) :: whilst_solver_progress
    end function
    function whilst_solver_bytes(solver, host_bytes, gpu_bytes) bind(C)
      import
      type(c_ptr), value :: solver
      integer(c_int64_t), intent(out) :: host_bytes
      integer(c_int64_t), intent(out) :: gpu_bytes
      integer(c_int) :: whilst_solver_bytes
    end function
    function whilst_solver_text(solver, what) bind(C)
      import
      type(c_ptr), value :: solver
      integer(c_int), value :: what
      type(c_ptr) :: whilst_solver_text
    end function
    function whilst_solver_destroy(solver) bind(C)
      import
      type(c_ptr), intent(inout) :: solver
      integer(c_int) :: whilst_solver_destroy
    end function
    function whilst_group_create(rank, size, gather, user, release, group) bind(C)
      import
      integer(c_int), value :: rank
      integer(c_int), value :: size
      type(c_funptr), value :: gather
      type(c_ptr), value :: user
      type(c_funptr), value :: release
      type(c_ptr), intent(out) :: group
      integer(c_int) :: whilst_group_create
    end function
    function whilst_group_create_threads(size, groups) bind(C)
      import
      integer(c_int), value :: size
      type(c_ptr), intent(out) :: groups(*)
      integer(c_int) :: whilst_group_create_threads
    end function
    function whilst_group_size(group, rank, size) bind(C)
      import
      type(c_ptr), value :: group
      integer(c_int), intent(out) :: rank
      integer(c_int), intent(out) :: size
      integer(c_int) :: whilst_group_size
    end function
    function whilst_group_barrier(group) bind(C)
      import
      type(c_ptr), value :: group
      integer(c_int) :: whilst_group_barrier
    end function
    function whilst_group_fail(group, message) bind(C)
      import
      type(c_ptr), value :: group
      character(kind=c_char), intent(in) :: message(*)
      integer(c_int) :: whilst_group_fail
    end function
    function whilst_group_destroy(group) bind(C)
      import
      type(c_ptr), intent(inout) :: group
      integer(c_int) :: whilst_group_destroy
    end function
    function whilst_distributed_matrix_create(group, number, first_row, rows, nonzeros, row_offsets, offset_bits, &
        column_indices, index_bits, index_base, values, matrix) bind(C)
      import
      type(c_ptr), value :: group
      integer(c_int), value :: number
      integer(c_int64_t), value :: first_row
      integer(c_int64_t), value :: rows
      integer(c_int64_t), value :: nonzeros
      type(c_ptr), value :: row_offsets
      integer(c_int), value :: offset_bits
      type(c_ptr), value :: column_indices
      integer(c_int), value :: index_bits
      integer(c_int), value :: index_base
      type(c_ptr), value :: values
      type(c_ptr), intent(out) :: matrix
      integer(c_int) :: whilst_distributed_matrix_create
    end function
    function whilst_distributed_matrix_split(group, number, whole, matrix) bind(C)
      import
      type(c_ptr), value :: group
      integer(c_int), value :: number
      type(c_ptr), value :: whole
      type(c_ptr), intent(out) :: matrix
      integer(c_int) :: whilst_distributed_matrix_split
    end function
    function whilst_distributed_matrix_size(matrix, rows_of_all, first_row, rows, nonzeros, ghosts) bind(C)
      import
      type(c_ptr), value :: matrix
      integer(c_int64_t), intent(out) :: rows_of_all
      integer(c_int64_t), intent(out) :: first_row
      integer(c_int64_t), intent(out) :: rows
      integer(c_int64_t), intent(out) :: nonzeros
      integer(c_int64_t), intent(out) :: ghosts
      integer(c_int) :: whilst_distributed_matrix_size
    end function
    function whilst_distributed_matrix_destroy(matrix) bind(C)
      import
      type(c_ptr), intent(inout) :: matrix
      integer(c_int) :: whilst_distributed_matrix_destroy
    end function
    function whilst_distributed_solver_create(matrix, options, peer_limit_seconds, solver) bind(C)
      import
      type(c_ptr), value :: matrix
      character(kind=c_char), intent(in) :: options(*)
      real(c_double), value :: peer_limit_seconds
      type(c_ptr), intent(out) :: solver
      integer(c_int) :: whilst_distributed_solver_create
    end function
    function whilst_distributed_minimizer_create(group, number, memory, unknowns, ghosts, ghost_count, function, &
        user, options, peer_limit_seconds, solver) bind(C)
      import
      type(c_ptr), value :: group
      integer(c_int), value :: number
      integer(c_int), value :: memory
      integer(c_int64_t), value :: unknowns
      type(c_ptr), value :: ghosts
      integer(c_int64_t), value :: ghost_count
      type(c_funptr), value :: function
      type(c_ptr), value :: user
      character(kind=c_char), intent(in) :: options(*)
      real(c_double), value :: peer_limit_seconds
      type(c_ptr), intent(out) :: solver
      integer(c_int) :: whilst_distributed_minimizer_create
    end function
    function whilst_solver_lost_rank(solver, rank) bind(C)
      import
      type(c_ptr), value :: solver
      integer(c_int), intent(out) :: rank
      integer(c_int) :: whilst_solver_lost_rank
    end function
    function whilst_solver_recover(solver) bind(C)
      import
      type(c_ptr), value :: solver
      integer(c_int) :: whilst_solver_recover
    end function
    function whilst_ticket_wait(ticket, report) bind(C)
      import
      type(c_ptr), value :: ticket
      type(c_ptr), intent(out) :: report
      integer(c_int) :: whilst_ticket_wait
    end function
    function whilst_ticket_done(ticket, done) bind(C)
      import
      type(c_ptr), value :: ticket
      integer(c_int), intent(out) :: done
      integer(c_int) :: whilst_ticket_done
    end function
    function whilst_ticket_cancel(ticket) bind(C)
      import
      type(c_ptr), value :: ticket
      integer(c_int) :: whilst_ticket_cancel
    end function
    function whilst_ticket_destroy(ticket) bind(C)
      import
      type(c_ptr), intent(inout) :: ticket
      integer(c_int) :: whilst_ticket_destroy
    end function
    function whilst_report_converged(report) bind(C)
      import
      type(c_ptr), value :: report
      integer(c_int) :: whilst_report_converged
    end function
    function whilst_report_reason(report) bind(C)
      import
      type(c_ptr), value :: report
      integer(c_int) :: whilst_report_reason
    end function
    function whilst_report_reason_name(report) bind(C)
      import
      type(c_ptr), value :: report
      type(c_ptr) :: whilst_report_reason_name
    end function
    function whilst_report_iterations(report) bind(C)
      import
      type(c_ptr), value :: report
      integer(c_int64_t) :: whilst_report_iterations
    end function
    function whilst_report_number(report, what) bind(C)
      import
      type(c_ptr), value :: report
      integer(c_int), value :: what
      real(c_double) :: whilst_report_number
    end function
    function whilst_report_text(report, what) bind(C)
      import
      type(c_ptr), value :: report
      integer(c_int), value :: what
      type(c_ptr) :: whilst_report_text
    end function
    function whilst_report_history(report, capacity, iterations, residual_norms) bind(C)
      import
      type(c_ptr), value :: report
      integer(c_int64_t), value :: capacity
      integer(c_int64_t), intent(out) :: iterations(*)
      real(c_double), intent(out) :: residual_norms(*)
      integer(c_int64_t) :: whilst_report_history
    end function
    function whilst_report_eigenvalues(report, capacity, eigenvalues, residual_norms) bind(C)
      import
      type(c_ptr), value :: report
      integer(c_int64_t), value :: capacity
      real(c_double), intent(out) :: eigenvalues(*)
      real(c_double), intent(out) :: residual_norms(*)
      integer(c_int64_t) :: whilst_report_eigenvalues
    end function
    function whilst_report_columns(report, capacity, reasons, iterations, relative_residuals) bind(C)
      import
      type(c_ptr), value :: report
      integer(c_int64_t), value :: capacity
      integer(c_int), intent(out) :: reasons(*)
      integer(c_int64_t), intent(out) :: iterations(*)
      real(c_double), intent(out) :: relative_residuals(*)
      integer(c_int64_t) :: whilst_report_columns
    end function
    function whilst_report_destroy(report) bind(C)
      import
      type(c_ptr), intent(inout) :: report
      integer(c_int) :: whilst_report_destroy
    end function
  end interface

contains

  !> A text of the library as a Fortran string; empty for NULL.
  function whilst_string(text) result(string)
    type(c_ptr), intent(in) :: text
    character(:), allocatable :: string
    character(kind=c_char), pointer :: characters(:)
    integer(c_size_t) :: length, k
    interface
      function strlen(text) bind(C)
        import
        type(c_ptr), value :: text
        integer(c_size_t) :: strlen
      end function
    end interface

    length = 0
    if (c_associated(text)) length = strlen(text)
    allocate (character(length) :: string)
    if (length == 0) return
    call c_f_pointer(text, characters, [length])
    do k = 1, length
      string(k:k) = characters(k)
    end do
  end function

end module

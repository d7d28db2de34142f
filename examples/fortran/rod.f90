! rod: a rod of n points with unit heating, kept at zero at both ends: -u'' = 1, whose solution is i (n + 1 - i) / 2.
! Once from a matrix, with indices that count from 1, and once from a function that stands for it.

module rod_operator
  use, intrinsic :: iso_c_binding
  implicit none
contains
  function second_difference(user, stream, rows, columns, from, to) result(status) bind(C)
    type(c_ptr), value :: user, stream
    integer(c_int64_t), value :: rows, columns
    real(c_double), intent(in) :: from(columns)
    real(c_double), intent(out) :: to(rows)
    integer(c_int) :: status
    if (c_associated(stream)) then ! never for WHILST_HOST
      status = 1
      return
    end if
    to = 2 * from
    to(2:) = to(2:) - from(:rows - 1)
    to(:rows - 1) = to(:rows - 1) - from(2:)
    status = merge(1, 0, c_associated(user))
  end function
end module

program rod
  use whilst
  use rod_operator
  implicit none
  integer, parameter :: n = 99
  integer(c_int64_t), parameter :: long_n = n
  integer(c_int32_t), target :: row_offsets(n + 1), column_indices(3 * n)
  real(c_double), target :: values(3 * n), b(n), x(n)
  type(c_ptr) :: matrix, solver, report
  integer :: i, j, entry

  entry = 0
  do i = 1, n
    row_offsets(i) = entry + 1
    do j = max(i - 1, 1), min(i + 1, n)
      entry = entry + 1
      column_indices(entry) = j
      values(entry) = merge(2, -1, i == j)
    end do
  end do
  row_offsets(n + 1) = entry + 1
  b = 1
  x = 0

  call check(whilst_matrix_copy(WHILST_DOUBLE, long_n, long_n, int(entry, c_int64_t), c_loc(row_offsets), 32, &
                                c_loc(column_indices), 32, 1, c_loc(values), matrix))
  call check(whilst_linear_create(matrix, "method=cg, rtol=1e-12" // c_null_char, solver))
  call check(whilst_solve(solver, c_loc(b), long_n, c_loc(x), long_n, report))
  call show("matrix")

  x = 0
  call check(whilst_linear_create_operator(WHILST_DOUBLE, WHILST_HOST, long_n, long_n, c_funloc(second_difference), &
                                           c_null_funptr, c_null_funptr, c_null_ptr, "rtol=1e-12" // c_null_char, &
                                           solver))
  call check(whilst_solve(solver, c_loc(b), long_n, c_loc(x), long_n, report))
  call show("function")
  call check(whilst_matrix_destroy(matrix))

contains

  subroutine check(status)
    integer(c_int), intent(in) :: status
    if (status == WHILST_OK) return
    print "(a)", whilst_string(whilst_last_error())
    error stop
  end subroutine

  subroutine show(what)
    character(*), intent(in) :: what
    print "(a)", what // ": " // whilst_string(whilst_report_text(report, WHILST_MESSAGE))
    print "(a,f0.3,a)", "in the middle ", x((n + 1) / 2), ", exactly 1250"
    if (whilst_report_converged(report) == 0 .or. abs(x((n + 1) / 2) - 1250) > 1e-6) error stop
    call check(whilst_report_destroy(report))
    call check(whilst_solver_destroy(solver))
  end subroutine
end program

# line: -u'' = 1 on a line of 99 points, zero at both ends, by ccall. A SparseMatrixCSC holds the rows of the transpose, so
# a symmetric one can be passed as it is: its indices count from 1.
using SparseArrays

const library = get(ENV, "WHILST_LIBRARY", "libwhilst_c.so")
const WHILST_DOUBLE = 2

check(status) = status == 0 || error(unsafe_string(ccall((:whilst_last_error, library), Cstring, ())))

n = 99
A = spdiagm(-1 => fill(-1.0, n - 1), 0 => fill(2.0, n), 1 => fill(-1.0, n - 1))
b, x = ones(n), zeros(n)
matrix, solver, report = Ref{Ptr{Cvoid}}(), Ref{Ptr{Cvoid}}(), Ref{Ptr{Cvoid}}()
check(ccall((:whilst_matrix_copy, library), Cint,
            (Cint, Int64, Int64, Int64, Ptr{Int64}, Cint, Ptr{Int64}, Cint, Cint, Ptr{Cdouble}, Ref{Ptr{Cvoid}}),
            WHILST_DOUBLE, n, n, nnz(A), A.colptr, 64, A.rowval, 64, 1, A.nzval, matrix))
check(ccall((:whilst_linear_create, library), Cint, (Ptr{Cvoid}, Cstring, Ref{Ptr{Cvoid}}),
            matrix[], "method=cg, rtol=1e-12", solver))
check(ccall((:whilst_solve, library), Cint, (Ptr{Cvoid}, Ptr{Cdouble}, Int64, Ptr{Cdouble}, Int64, Ref{Ptr{Cvoid}}),
            solver[], b, n, x, n, report))
println("in the middle ", x[50], ", exactly 1250")
abs(x[50] - 1250) < 1e-6 || error("that is not the solution")
check(ccall((:whilst_report_destroy, library), Cint, (Ref{Ptr{Cvoid}},), report))
check(ccall((:whilst_solver_destroy, library), Cint, (Ref{Ptr{Cvoid}},), solver))
check(ccall((:whilst_matrix_destroy, library), Cint, (Ref{Ptr{Cvoid}},), matrix))

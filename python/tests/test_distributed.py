"""Several ranks: a group of one, threads, and processes under mpirun where mpi4py is there."""

import numpy as np
import pytest
import scipy.sparse.linalg
import whilst

from conftest import convection, poisson, relative_residual
from ranks import on_ranks, printed_by_processes


def rows_of(A, group, cuts=None):
    n = A.shape[0]
    cuts = cuts or [q * n // group.size for q in range(group.size + 1)]
    return slice(cuts[group.rank], cuts[group.rank + 1])


def test_one_rank_has_the_bits_of_a_linear_solver():
    A = poisson(12)
    b = np.arange(1.0, A.shape[0] + 1)
    solver = whilst.DistributedLinearSolver(A, whilst.Group(), preconditioner="jacobi", executor="host", rtol=1e-10)
    x, report = solver.solve(b)
    alone, _ = whilst.LinearSolver(A, "cg", "jacobi", executor="host", rtol=1e-10).solve(b)
    assert report.converged and relative_residual(A, b, x) <= 1.1e-10
    assert np.array_equal(x, alone)
    assert solver.transport == "one rank" and solver.lost_rank is None and solver.report is report
    assert solver.shape == A.shape and solver.first_row == 0 and solver.ghosts == 0
    assert "rank 0 of 1" in repr(solver) and "step" in solver.explain() and "bytes" in solver.memory().lower()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("method, matrix", [("cg", poisson), ("minres", poisson), ("bicgstab", convection)])
def test_threads_solve_together(dtype, method, matrix):
    A = matrix(14).astype(dtype)
    n = A.shape[0]
    b = np.linspace(1, 2, n).astype(dtype)
    rtol = 100 * np.finfo(dtype).eps * 10
    cuts = [0, n // 2, n // 2, n]  # the middle rank has no row

    def work(group):
        mine = rows_of(A, group, cuts)
        solver = whilst.DistributedLinearSolver(A[mine], group, method=method, executor="host", rtol=rtol)
        x, report = solver.solve(b[mine])
        return x, report, solver.transport, solver.first_row

    results = on_ranks(3, work)
    x = np.concatenate([one[0] for one in results])
    assert x.dtype == dtype and relative_residual(A, b, x) <= 2 * rtol  # the solver's, plus the rounding of this check
    assert {one[1].iterations for one in results} == {results[0][1].iterations}
    assert all(one[1].converged and one[2] == "threads" for one in results)
    assert [one[3] for one in results] == cuts[:-1]


def test_new_values_enqueue_and_settings():
    A = poisson(10)
    b = np.ones(A.shape[0])
    expected = scipy.sparse.linalg.spsolve(A.tocsc(), b)

    def work(group):
        mine = rows_of(A, group)
        rows = A[mine].tocsr()
        solver = whilst.DistributedLinearSolver(rows, group, first_row=mine.start, executor="host", rtol=1e-12)
        solver.update_values(rows.data * 4)
        x = np.zeros(rows.shape[0])
        ticket = solver.enqueue(b[mine], x)
        report = ticket.wait()
        seen = []
        solver.set_max_iterations(3)
        _, limited = solver.solve(b[mine], callback=lambda k, norm: seen.append(k) if group.rank == 0 else None)
        return x, report.converged, limited.reason, seen

    results = on_ranks(2, work)
    assert np.allclose(np.concatenate([one[0] for one in results]), expected / 4, rtol=1e-8)
    assert all(one[1] and one[2] == "iteration_limit" for one in results)
    assert results[0][3][-1] == 3


def test_cancel_on_one_rank_stops_all():
    A = poisson(40)

    def work(group):
        mine = rows_of(A, group)
        solver = whilst.DistributedLinearSolver(A[mine], group, executor="host", rtol=0, max_iterations=10**9)
        stop = (lambda k, norm: solver.cancel() if k > 5 else None) if group.rank == 1 else None
        return solver.solve(np.ones(mine.stop - mine.start), callback=stop)[1]

    reports = on_ranks(2, work)
    assert [one.reason for one in reports] == ["cancelled"] * 2
    assert reports[0].iterations == reports[1].iterations


def test_what_one_rank_does_wrong_all_learn():
    A = poisson(6)

    def wrong(change):
        def work(group):
            arguments = dict(A=A[rows_of(A, group)], group=group, executor="host")
            if group.rank == 1:
                arguments.update(change)
            whilst.DistributedLinearSolver(**arguments)

        return on_ranks(2, work)

    for change, kind, words in [
        ({"A": "no matrix"}, TypeError, "A is a str"),
        ({"A": A[:1]}, ValueError, "A has 36 columns"),
        ({"dtype": np.int32}, TypeError, "dtype is int32"),
        ({"preconditioner": A}, TypeError, "several ranks have no others"),
        ({"rtol": -1.0}, whilst.Error, "a tolerance is negative"),
        ({"max_iterations": 7}, whilst.Error, "different options"),
        ({"nonsense": 7}, TypeError, "no option called 'nonsense'"),
    ]:
        first, second = wrong(change)
        assert isinstance(second, kind) and words in str(second), (change, second)
        assert isinstance(first, (whilst.Error, ValueError)), (change, first)
    seen = on_ranks(2, lambda group: group.fail("out of paper") if group.rank else group.barrier())
    assert "rank 1 failed: out of paper" in str(seen[0])
    with pytest.raises(whilst.Error, match="below 1|size"):
        whilst.Group.threads(0)


PROGRAM = """
import numpy as np, scipy.sparse as sparse, whilst
from mpi4py import MPI
group = whilst.Group.from_mpi4py(MPI.COMM_WORLD)
n = 200
line = sparse.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n), format="csr")
mine = slice(group.rank * n // group.size, (group.rank + 1) * n // group.size)
solver = whilst.DistributedLinearSolver(line[mine], group, executor="host", rtol=1e-10)
x, report = solver.solve(np.ones(mine.stop - mine.start))
i = np.arange(mine.start + 1, mine.stop + 1)
assert report.converged, report
assert np.abs(x - i * (n + 1 - i) / 2).max() <= 1e-10 * (n + 1) ** 2 / 2 * (n + 1) ** 2 / 8
assert solver.transport == ("shared memory" if group.size > 1 else "one rank")
group.barrier()
if group.rank == 0: print("solved by", group.size)
"""


def test_processes_under_mpirun(tmp_path):
    for size in (1, 3):
        assert printed_by_processes(size, PROGRAM, tmp_path) == f"solved by {size}"

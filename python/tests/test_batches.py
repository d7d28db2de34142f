"""Several right-hand sides at once, and batches of small systems, against SciPy's and NumPy's direct solutions."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import scipy.sparse.linalg as linalg
import whilst
from conftest import convection, poisson

TOLERANCE = 1e-10
CLOSE = 1e-7  # of solutions: the tolerance times the matrices' condition


def solutions(A, B):
    return linalg.spsolve(A.tocsc().astype(np.float64), np.asarray(B, np.float64)).reshape(B.shape)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("columns", [2, 5, 64, 70])
def test_columns(columns, order, generator):
    A, B = poisson(8), np.asarray(generator.standard_normal((64, columns)), order=order)
    B[:, 1] = 0
    kept = B.copy()
    solver = whilst.LinearSolver(A, "cg", "jacobi", rtol=TOLERANCE)
    X, report = solver.solve(B)
    assert X.shape == B.shape and report and len(report) == columns and solver.report is report
    np.testing.assert_allclose(X, solutions(A, B), rtol=CLOSE, atol=CLOSE)
    np.testing.assert_array_equal(B, kept)
    residuals = np.linalg.norm(B - A @ X, axis=0)
    np.testing.assert_allclose(report.rhs_norm, np.linalg.norm(B, axis=0), rtol=1e-12)
    assert (residuals <= TOLERANCE * report.rhs_norm * 1.001).all() and report.converged.dtype == bool
    assert (report.relative_residual <= TOLERANCE).all() and report.iterations[1] == 0 and report.iterations[0] > 0
    again, report = solver.solve(B, X)
    assert (report.iterations == 0).all() and f"{columns} of {columns} columns" in repr(report)
    np.testing.assert_array_equal(again, X)


def test_columns_obey_later_settings_and_values(generator):
    A, B = poisson(8), generator.standard_normal((64, 3))
    solver = whilst.LinearSolver(A.copy(), rtol=TOLERANCE)
    solver.solve(B)
    solver.set_max_iterations(2)
    X, report = solver.solve(B)
    assert not report and report.reason == ["iteration_limit"] * 3 and list(report.iterations) == [2] * 3
    assert solver.solve(B[:, :2])[1].reason == ["iteration_limit"] * 2  # of another number of columns, too
    solver.set_max_iterations(1000)
    solver.set_tolerances(1e-2)
    assert solver.solve(B)[1].relative_residual.max() > 1e-6
    solver.set_tolerances(TOLERANCE)
    for values, factor in ((A * 2.0, 2.0), ((A * 3.0).data, 3.0)):
        solver.update_values(values)
        np.testing.assert_allclose(solver.solve(B)[0], solutions(factor * A, B), rtol=CLOSE, atol=CLOSE)


@pytest.mark.parametrize("dtype, close", [(np.float64, CLOSE), (np.float32, 1e-2)])
def test_columns_of_any_solver(dtype, close, generator):
    A, B = poisson(5, dtype), generator.standard_normal((25, 3)).astype(dtype)
    rtol = TOLERANCE if dtype == np.float64 else 1e-5
    skew = convection(25, dtype)
    for solver, matrix in (
        (whilst.LinearSolver(A, "minres", rtol=rtol), A),
        (whilst.LinearSolver(skew, "gmres", "ilu", rtol=rtol), skew),
        (whilst.LinearSolver(A, "cg", "amg", rtol=rtol), A),
        (whilst.LinearSolver(A, "cg", "ilu", rtol=rtol), A),
        (whilst.LinearSolver(A, "cg", "spai", rtol=rtol), A),
        (whilst.LinearSolver(A, "cg", lambda r: r / 4, rtol=rtol), A),
        (whilst.LinearSolver(linalg.aslinearoperator(A), "cg", rtol=rtol), A),
    ):
        X, report = solver.solve(B, np.ones_like(B))
        assert X.dtype == dtype and report and len(report) == 3
        np.testing.assert_allclose(X, solutions(matrix, B), rtol=close, atol=close)


def test_the_report_says_that_columns_were_solved_one_by_one(generator):
    B = generator.standard_normal((64, 3))
    assert whilst.LinearSolver(poisson(8), "cg", "ic").solve(B)[1].note == ""
    note = whilst.LinearSolver(poisson(8), "cg", "ilu").solve(B)[1].note
    assert note.startswith("one column after another, since preconditioner ilu is not symmetric")


def test_columns_of_least_squares(generator):
    A, B = generator.standard_normal((12, 5)), generator.standard_normal((12, 4))
    X, report = whilst.LinearSolver(A, "lsqr", rtol=1e-12).solve(B)
    assert X.shape == (5, 4) and report
    np.testing.assert_allclose(X, np.linalg.lstsq(A, B, rcond=None)[0], rtol=CLOSE, atol=CLOSE)


def test_columns_misused():
    solver = whilst.LinearSolver(poisson(3))
    for call, kind, problem in (
        (lambda: solver.solve(np.ones((8, 2))), ValueError, "b has shape"),
        (lambda: solver.solve(np.ones((9, 0))), ValueError, "b has shape"),
        (lambda: solver.solve(np.ones((9, 2)), np.ones(9)), ValueError, "x0 has shape"),
        (lambda: solver.solve(np.ones((9, 2)) * 1j), TypeError, "complex"),
        (lambda: solver.solve(np.ones((9, 2)), callback=print), TypeError, "no callback"),
    ):
        with pytest.raises(kind, match=problem):
            call()


@pytest.fixture
def batch(generator):
    """Values, right-hand sides and solutions of 30 systems with one pattern."""
    pattern = convection(20)
    values = pattern.data * generator.uniform(0.9, 1.1, (30, pattern.nnz))
    b = generator.standard_normal((30, 20))
    x = []
    for k in range(30):
        one = pattern.copy()
        one.data = values[k]
        x.append(np.linalg.solve(one.toarray(), b[k]))
    return pattern, values, b, np.array(x)


@pytest.mark.parametrize("method", ["bicgstab", "gmres"])
@pytest.mark.parametrize("dtype, close", [(np.float64, CLOSE), (np.float32, 1e-2)])
def test_batch(batch, method, dtype, close):
    pattern, values, b, expected = batch
    rtol = TOLERANCE if dtype == np.float64 else 1e-5
    solver = whilst.BatchSolver(pattern, method, "jacobi", dtype=dtype, rtol=rtol)
    x, report = solver.solve(values, b)
    assert x.dtype == dtype and report and len(report) == 30 and "30 of 30 systems" in repr(report)
    np.testing.assert_allclose(x, expected, rtol=close, atol=close)
    np.testing.assert_allclose(report.rhs_norm, np.linalg.norm(b, axis=1), rtol=1e-6)
    again, report = solver.solve(values[:7], b[:7], x[:7])  # of another number
    assert len(report) == 7 and (report.iterations == 0).all()
    np.testing.assert_array_equal(again, x[:7])
    assert solver.solve(np.asfortranarray(values), b[:, ::-1][:, ::-1])[1]
    b[3] = np.nan  # reaches no other
    x, report = solver.solve(values, b)
    assert report.converged.sum() == 29 and not report.converged[3] and not report
    np.testing.assert_allclose(np.delete(x, 3, 0), np.delete(expected, 3, 0), rtol=close, atol=close)


def test_batch_misused(batch):
    pattern, values, b, _ = batch
    solver = whilst.BatchSolver(pattern, "bicgstab")
    for call, kind, problem in (
        (lambda: solver.solve(values[1:], b), ValueError, "values has shape"),
        (lambda: solver.solve(values, b[0]), ValueError, "b has shape"),
        (lambda: solver.solve(values[:0], b[:0]), ValueError, "b has shape"),
        (lambda: solver.solve(values, b, b[1:]), ValueError, "x0 has shape"),
        (lambda: solver.solve(values, b * 1j), TypeError, "complex"),
        (lambda: whilst.BatchSolver(pattern, lambda r: r), TypeError, "method"),
        (lambda: whilst.BatchSolver(pattern, "cg", lambda r: r), TypeError, "no preconditioner of your own"),
        (lambda: whilst.BatchSolver(linalg.aslinearoperator(pattern)), TypeError, "the pattern of all systems"),
        (lambda: whilst.BatchSolver(pattern, "idr"), whilst.Error, "a batch is one kernel"),
        (lambda: whilst.BatchSolver(pattern, dtype=np.int32), TypeError, "dtype is int32"),
        (lambda: whilst.BatchSolver(pattern, wrong=1), TypeError, "no option called"),
    ):
        with pytest.raises(kind, match=problem):
            call()


def test_ctrl_c_ends_a_solve_of_columns():
    solver = whilst.LinearSolver(poisson(60), "richardson", rtol=0, max_iterations=10**9)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        solver.solve(np.ones((3600, 3)))
    assert time.monotonic() - began < 5


HANDLED_AND_FORKED = """
import os, signal
import numpy as np
import scipy.sparse as sparse
import whilst

line = sparse.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(50, 50), format="csr")
solver, other = (whilst.LinearSolver(line, executor="host") for _ in range(2))
batch = whilst.BatchSolver(line, executor="host")
B = np.ones((50, 3))


def solves():
    return bool(other.solve(B)[1]) and bool(batch.solve(np.tile(line.data, (2, 1)), np.ones((2, 50)))[1])


def threads():
    return len(os.listdir("/proc/self/task"))


assert solves()
before = threads()
for _ in range(50):
    assert solves()
print("threads", threads() - before)

child = os.fork()
if child == 0:
    signal.alarm(30)
    os._exit(0 if solves() and solves() else 1)
print("child", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

solved_within = []
signal.signal(signal.SIGALRM, lambda *_: solved_within.append(solves()))
slow = whilst.LinearSolver(line, "richardson", rtol=0, max_iterations=10**9, deadline=1.0, executor="host")
signal.setitimer(signal.ITIMER_REAL, 0.2)
slow.solve(B)
print("within", solved_within)
"""


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="the system does not list threads")
def test_the_thread_that_is_kept_for_solves():
    """It is one, a child has its own, and a handler of signals that solves gets another."""
    done = subprocess.run([sys.executable, "-c", HANDLED_AND_FORKED], capture_output=True, text=True, timeout=60)
    assert done.stdout.split("\n")[:3] == ["threads 0", "child 0", "within [True]"], done.stderr

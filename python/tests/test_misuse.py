"""What users may do wrong: an exception with its cure, never a crash or a hang."""

import gc
import os
import signal
import subprocess
import sys
import textwrap
import time
import weakref

import numpy as np
import pytest
import scipy.sparse as sparse
import whilst
from conftest import poisson, relative_residual
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

ANY_DTYPE = st.one_of(
    arrays.floating_dtypes(), arrays.integer_dtypes(), arrays.boolean_dtypes(), arrays.complex_number_dtypes(),
    arrays.unicode_string_dtypes(), arrays.datetime64_dtypes(),
)  # fmt: skip


@settings(deadline=None, max_examples=150)
@given(b=arrays.arrays(dtype=ANY_DTYPE, shape=arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)))
def test_any_right_hand_side(b):
    """Solved, or refused with TypeError or ValueError."""
    try:
        x, info = whilst.cg(sparse.eye_array(4, format="csr") * 2.0, b)
    except (TypeError, ValueError):
        return
    assert b.shape in ((4,), (4, 1)) and x.shape == (4,)
    if info == 0:
        np.testing.assert_allclose(x, b.reshape(4).astype(float) / 2, rtol=1e-5)


@settings(deadline=None, max_examples=150)
@given(
    b=arrays.arrays(
        dtype=st.sampled_from([np.float32, np.float64]), shape=(6, 5), elements=st.floats(-100, 100, width=32)
    ),
    rows=st.slices(6),
    column=st.integers(0, 4),
)
def test_strided_views(b, rows, column):
    view = b[rows, column]
    A = sparse.eye_array(len(view), format="csr", dtype=np.float64) * 4
    x, info = whilst.bicgstab(A, view, rtol=1e-10)
    assert info == 0
    np.testing.assert_allclose(x, view.astype(np.float64) / 4, rtol=1e-9)


@settings(deadline=None, max_examples=100)
@given(
    offsets=st.lists(st.integers(-3, 9), min_size=0, max_size=6),
    indices=st.lists(st.integers(-2, 6), min_size=0, max_size=8),
    method=st.sampled_from(["cg", "gmres", "lsqr"]),
)
def test_any_csr_arrays(offsets, indices, method):
    """As of a matrix whose arrays were changed by hand: solved or refused."""

    class Given:
        format, shape, has_canonical_format = "csr", (4, 4), True

        def __init__(self):
            self.indptr, self.indices = np.array(offsets, np.int32), np.array(indices, np.int32)
            self.data = np.ones(len(indices))

        def tocsr(self):
            return self

    try:
        x, report = whilst.LinearSolver(Given(), method).solve(np.ones(4))
    except (TypeError, ValueError, whilst.Error):
        return
    assert np.isfinite(x).all()


@settings(deadline=None, max_examples=100)
@given(dense=arrays.arrays(np.float64, (5, 5), elements=st.floats(allow_nan=True, allow_infinity=True, width=64)))
def test_any_dense_matrix(dense):
    for function in (whilst.cg, whilst.gmres, whilst.minres):
        x, info = function(dense, np.ones(5), maxiter=20)
        assert np.isfinite(x).all()
        if info == 0:
            with np.errstate(all="ignore"):
                assert np.linalg.norm(np.ones(5) - dense @ x) <= 1e-5 * np.sqrt(5) * (1 + 1e-6)


@settings(deadline=None, max_examples=100)
@given(value=st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.lists(st.floats(), max_size=3),
                       st.dictionaries(st.text(), st.integers(), max_size=1)))  # fmt: skip
@pytest.mark.parametrize("key", ["restart", "threads", "format", "keep_best", "dtol", "deflation", "executor"])
def test_any_value_of_an_option(key, value):
    if key == "threads" and isinstance(value, int) and value > 8:
        return  # as asked
    try:
        whilst.LinearSolver(sparse.eye_array(4, format="csr"), **{key: value}).solve(np.ones(4))
    except (TypeError, ValueError, whilst.Error) as refused:
        assert str(refused)


INTERRUPTED = """
    import os, signal, threading, time
    import numpy as np, scipy.sparse as sparse, scipy.sparse.linalg as linalg
    import whilst

    A = sparse.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(2000, 2000)).tocsr()
    operator = linalg.aslinearoperator(A)
    solver = whilst.LinearSolver(A, "richardson", rtol=0, max_iterations=10**9)
    on_host = whilst.LinearSolver(A, "richardson", rtol=0, max_iterations=10**9, executor="host")
    calls = {
        "solver": lambda: solver.solve(np.ones(2000)),
        "function": lambda: whilst.richardson(A, np.ones(2000), rtol=1e-14, maxiter=10**9),
        "enqueue": lambda: on_host.enqueue(np.ones(2000), np.zeros(2000)),
        "operator": lambda: whilst.richardson(operator, np.ones(2000), rtol=1e-14, maxiter=10**9),
    }
    for name, call in calls.items():
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        began = time.monotonic()
        try:
            call()
            print(name, "ended")
        except KeyboardInterrupt:
            print(name, "interrupted", time.monotonic() - began < 3)
    solver.set_max_iterations(10)
    print(solver.solve(np.ones(2000))[1].reason)
"""


def test_ctrl_c_ends_a_solve():
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(INTERRUPTED)], capture_output=True, text=True, timeout=60
    )
    assert done.stdout.split("\n")[:5] == [
        "solver interrupted True", "function interrupted True", "enqueue interrupted True", "operator interrupted True",
        "iteration_limit",
    ], done.stderr  # fmt: skip


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_child_solves():
    A, b = poisson(200), np.ones(40000)
    solver = whilst.LinearSolver(A, rtol=1e-4, executor="host")
    expected = solver.solve(b)[0]  # the parent has threads now
    child = os.fork()
    if child == 0:
        again = solver.solve(b)[0]
        os._exit(0 if np.array_equal(again, expected) and whilst.cg(A, b, rtol=1e-2, executor="host")[1] == 0 else 1)
    for _ in range(600):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            assert os.waitstatus_to_exitcode(status) == 0
            return
        time.sleep(0.05)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    pytest.fail("the child hangs")


def test_arrays_kept_from_a_callback_stay_valid():
    kept = []

    class Operator:
        shape, dtype = (500, 500), np.dtype(float)

        def matvec(self, x):
            kept.append(x)
            return 3 * x

    whilst.cg(Operator(), np.ones(500), rtol=1e-12)
    rubbish = [np.full(500, np.nan) for _ in range(200)]
    assert kept and all(np.isfinite(x).all() for x in kept)
    kept[0][:] = 1  # may be written to
    del rubbish


def test_a_function_that_refers_to_its_solver_is_released():
    class Model:
        def __init__(self):
            self.solver = whilst.LinearSolver(poisson(3), "cg", self.precondition)

        def precondition(self, r):
            return r / 4

    model = Model()
    assert model.solver.solve(np.ones(9))[1].converged
    alive = weakref.ref(model)
    del model
    gc.collect()
    assert alive() is None


def test_results_of_callbacks_are_checked():
    A = poisson(3)
    for wrong, problem in (
        (lambda r: None, (TypeError, ValueError)), (lambda r: r[:3], ValueError), (lambda r: r * 1j, TypeError),
        (lambda r: "text", (TypeError, ValueError)), (lambda r: np.ones((3, 3, 1)), ValueError),
    ):  # fmt: skip
        with pytest.raises(problem):
            whilst.cg(A, np.ones(9), M=wrong)
    x, info = whilst.cg(A, np.ones(9), M=lambda r: [value / 4 for value in r])
    assert info == 0 and relative_residual(A, np.ones(9), x) <= 1e-5


def test_an_exit_with_solvers_alive():
    code = """
        import numpy as np, scipy.sparse as sparse, whilst
        A = sparse.eye_array(20000, format="csr") * 2.0
        solver = whilst.LinearSolver(A, "cg", lambda r: r)
        whilst.cg(A, np.ones(20000))
        solver.solve(np.ones(20000))
        print("fine")
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "fine\n", "")


@pytest.mark.parametrize("work", ["long", "watched", "callback", "short", "function"])
def test_an_exit_while_daemon_threads_solve(work):
    code = f"""
        import threading, time
        import numpy as np, scipy.sparse as sparse, whilst
        A = sparse.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(2000, 2000)).tocsr()
        b = np.ones(2000)
        long = whilst.LinearSolver(A, "richardson", rtol=0, max_iterations=10**9)
        called = whilst.LinearSolver(A, "cg", lambda r: r, rtol=0, max_iterations=10**9)
        calls = dict(
            long=lambda: long.solve(b), watched=lambda: long.solve(b, callback=lambda *_: None),
            callback=lambda: called.solve(b), short=lambda: called.set_max_iterations(5) or called.solve(b),
            function=lambda: whilst.cg(A, b),
        )
        def forever():
            while True:
                calls["{work}"]()
        for _ in range(2):
            threading.Thread(target=forever, daemon=True).start()
        time.sleep(0.2)
        print("fine")
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "fine\n", "")


def test_limits_beyond_64_bits():
    A, b = poisson(3), np.ones(9)
    solver = whilst.LinearSolver(A)
    for call in (
        lambda: whilst.cg(A, b, maxiter=10**19), lambda: whilst.lsqr(A, b, iter_lim=2**63),
        lambda: solver.set_max_iterations(10**30),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="64 bits"):
            call()
    with pytest.raises(ValueError, match="maxiter is inf"):
        whilst.cg(A, b, maxiter=float("inf"))
    with pytest.raises(whilst.Error, match="max_iterations"):
        whilst.LinearSolver(A, max_iterations=10**30)
    assert whilst.cg(A, b, maxiter=2**63 - 1)[1] == 0 == whilst.gmres(A, b, maxiter=2**62)[1]


def test_arrays_that_dlpack_lends_read_only(monkeypatch):
    class Lent:
        """As NumPy's own up to 2.0, whose read-only arrays DLPack refused, and all of which were read-only in the end."""

        def __init__(self, array):
            self.array, self.dtype, self.shape = array, array.dtype, array.shape

        def __dlpack__(self, **_):
            raise BufferError("Cannot export readonly array since signalling readonly is unsupported by DLPack")

        def __dlpack_device__(self):
            return (1, 0)

        def __array__(self, dtype=None, copy=None):
            return self.array

    A, b = poisson(3), np.ones(9)
    b.flags.writeable = False
    x, report = whilst.LinearSolver(A).solve(Lent(b))
    assert report.converged
    to = np.zeros(9)
    whilst.LinearSolver(A, executor="host").enqueue(Lent(b), Lent(to)).wait()
    assert relative_residual(A, b, to) <= 1e-8
    with pytest.raises(TypeError, match="can be written to"):
        whilst.LinearSolver(A, executor="host").enqueue(b, Lent(b))

    def read_only(lent):
        view = lent.array.view()
        view.flags.writeable = False
        return view

    monkeypatch.setattr(np, "from_dlpack", read_only)
    to[:] = 0
    whilst.LinearSolver(A, executor="host").enqueue(b, Lent(to)).wait()
    assert relative_residual(A, b, to) <= 1e-8

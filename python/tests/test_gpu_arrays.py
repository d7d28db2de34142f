"""How arrays on a GPU are passed on, without a GPU: arrays that say they lie on one and lie in host memory, where executor host
reads them all the same."""

import ctypes
import gc

import numpy as np
import pytest
import scipy.sparse as sparse
from conftest import poisson, relative_residual

import whilst
from whilst import _core, _problem, _systems

TOLERANCE = 1e-10


class Array:
    """As PyTorch's and CuPy's: an interface, and what the package asks of it."""

    def __init__(self, array, read_only=False, stream=1):
        self.array, self.read_only, self.stream = np.asarray(array), read_only, stream

    @property
    def __cuda_array_interface__(self):
        made = self.array.__array_interface__
        return {**made, "data": (made["data"][0], self.read_only), "stream": self.stream}

    dtype = property(lambda self: self.array.dtype)
    shape = property(lambda self: self.array.shape)

    T = property(lambda self: Array(self.array.T, stream=self.stream))
    copies = 0

    def contiguous(self):
        Array.copies += 1
        return Array(np.ascontiguousarray(self.array), stream=self.stream)

    def new_zeros(self, size):
        return Array(np.zeros(size, self.dtype), stream=self.stream)

    def reshape(self, size):
        return Array(self.array.reshape(size))

    def astype(self, dtype):
        return Array(self.array.astype(dtype))

    def __setitem__(self, key, other):
        self.array[key] = other.array


class Matrix:
    format, has_canonical_format = "csr", True

    def __init__(self, A, indices=np.int32):
        self.shape, self.indptr, self.indices, self.data = (
            A.shape,
            Array(A.indptr),
            Array(A.indices.astype(indices)),
            Array(A.data.copy()),
        )

    def tocsr(self):
        return self


class Tensor(Array):
    """As PyTorch's dense tensors, which have the methods of sparse ones, too."""

    layout = "torch.strided"

    def __dlpack_device__(self):
        return 2, 0

    def crow_indices(self):
        raise RuntimeError("crow_indices expected a sparse tensor")


class SparseTensor:
    """As PyTorch's in CSR, which raise errors where an attribute would be None."""

    layout = "torch.sparse_csr"

    def __init__(self, A):
        self.shape, self.parts = A.shape, [Tensor(part) for part in (A.indptr, A.indices, A.data.copy())]

    @property
    def __cuda_array_interface__(self):
        raise RuntimeError("Sparse CSR tensors do not have is_contiguous")

    def __dlpack_device__(self):
        return 2, 0

    def dim(self):
        return len(self.shape)

    def crow_indices(self):
        return self.parts[0]

    def col_indices(self):
        return self.parts[1]

    def values(self):
        return self.parts[2]


def numbers(address, size, kind):
    return np.ctypeslib.as_array(ctypes.cast(address, ctypes.POINTER(kind)), (size,))


class OnDevice:
    made = 0

    @classmethod
    def on_device(cls, rows, columns, nonzeros, wide, offsets, indices, values):
        cls.made += 1
        return _core.MatrixDouble.borrow(
            rows,
            columns,
            numbers(offsets, rows + 1, ctypes.c_int64 if wide else ctypes.c_int32),
            numbers(indices, nonzeros, ctypes.c_int32),
            numbers(values, nonzeros, ctypes.c_double),
        )


@pytest.fixture(autouse=True)
def host_stands_for_gpu(monkeypatch):
    monkeypatch.setenv("WHILST_EXECUTOR", "host")
    monkeypatch.setitem(_systems._MATRICES, np.dtype(np.float64), OnDevice)
    monkeypatch.setattr(OnDevice, "borrow", _core.MatrixDouble.borrow, raising=False)
    monkeypatch.setattr(OnDevice, "made", 0)
    _problem._kept.clear()


@pytest.mark.parametrize("indices", [np.int32, np.int64])
def test_function_with_matrix_and_vectors_on_a_gpu(indices, generator):
    A, b = poisson(10), generator.standard_normal(100)
    matrix, right = Matrix(A, indices), Array(b)
    x, info = whilst.cg(matrix, right, rtol=TOLERANCE, M="jacobi")
    assert info == 0 and isinstance(x, Array) and relative_residual(A, b, x.array) <= TOLERANCE
    same, info = whilst.cg(matrix, right, x, rtol=TOLERANCE, M="jacobi")
    assert info == 0
    np.testing.assert_array_equal(same.array, x.array)
    assert OnDevice.made == 1  # kept
    matrix.data.array *= 2  # the values at the same place
    x, info = whilst.cg(matrix, right, rtol=TOLERANCE, M="jacobi")
    assert relative_residual(2 * A, b, x.array) <= TOLERANCE and OnDevice.made == 1
    x, info = whilst.gmres(matrix, right, rtol=TOLERANCE)
    assert info == 0 and relative_residual(2 * A, b, x.array) <= TOLERANCE
    x, info = whilst.cg(matrix, b, rtol=TOLERANCE)  # b in host memory
    assert info == 0 and isinstance(x, np.ndarray) and relative_residual(2 * A, b, x) <= TOLERANCE


@pytest.mark.parametrize("M", ["ilu", "jacobi", "auto"])
def test_preconditioners_of_kept_solvers_follow_the_values(M):
    A = sparse.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(400, 400)).tocsr()
    other = sparse.diags_array([-1.5, 3.0, -0.1], offsets=[-1, 0, 1], shape=(400, 400)).tocsr()
    matrix, b = Matrix(A), np.ones(400)
    whilst.bicgstab(matrix, Array(b), M=M)
    matrix.data.array[:] = other.data
    limit = whilst.LinearSolver(other, "bicgstab", M, rtol=TOLERANCE).solve(b)[1].iterations
    x, info = whilst.bicgstab(matrix, Array(b), rtol=TOLERANCE, M=M, maxiter=limit)
    assert info == 0 and relative_residual(other, b, x.array) <= TOLERANCE and OnDevice.made <= 2


def test_kept_solvers_serve_every_tolerance_and_limit(generator):
    A, b = poisson(10), generator.standard_normal(100)
    matrix = Matrix(A)
    reached = []
    for rtol in (1e-2, 1e-10, 1e-4):
        x, info = whilst.cg(matrix, Array(b), rtol=rtol)
        assert info == 0
        reached.append(relative_residual(A, b, x.array))
    assert reached[1] <= 1e-10 < reached[2] <= 1e-4 < reached[0] <= 1e-2
    assert whilst.cg(matrix, Array(b), rtol=TOLERANCE, maxiter=2)[1] == 2
    assert whilst.cg(matrix, Array(b), rtol=0, atol=1e300)[1] == 0
    assert whilst.cg(matrix, Array(b), rtol=TOLERANCE, deadline=10.0)[1] == 0
    assert len(_problem._kept) == 1 and OnDevice.made == 1


def test_what_other_streams_write_is_awaited(monkeypatch):
    waited = []
    monkeypatch.setattr(_core, "wait_for_stream", lambda stream, address: waited.append(stream))
    A, b = poisson(5), np.ones(25)
    matrix = Matrix(A)
    matrix.data.stream = 7
    solver = whilst.LinearSolver(matrix)
    assert 7 in waited  # set-up reads the values in streams of its own
    waited.clear()
    solver.enqueue(Array(b, stream=7), Array(np.zeros(25), stream=7)).wait()
    solver.enqueue(Array(b, stream=7), Array(np.zeros(25), stream=5), 7).wait()
    solver.enqueue(Array(b, stream=1), Array(np.zeros(25), stream=0)).wait()
    assert not waited  # in the stream in which b is written
    solver.enqueue(Array(b, stream=7), Array(np.zeros(25), stream=5)).wait()
    assert waited == [7]
    waited.clear()
    solver.update_values(matrix)
    assert 7 in waited
    waited.clear()
    solver.update_values(Array(A.data * 2, stream=9))
    assert 9 in waited
    for right in (Array(b, stream=5), b):
        whilst.cg(matrix, right)  # makes a solver, or finds one
        waited.clear()
        whilst.cg(matrix, right)
        assert 7 in waited
    waited.clear()
    for part in (matrix.indptr, matrix.indices):
        part.stream = 7
    whilst.cg(matrix, Array(b, stream=7))
    assert not waited


def test_an_array_that_can_be_awaited_is():
    class OfJax(Array):
        ready = 0

        def block_until_ready(self):
            self.ready += 1

    b = OfJax(np.ones(25))
    whilst.LinearSolver(poisson(5)).enqueue(b, Array(np.zeros(25))).wait()
    assert b.ready == 1


def test_another_matrix_at_the_same_addresses_is_another():
    A = poisson(5)
    first, second = Matrix(A), Matrix(A)
    second.indptr, second.indices, second.data = first.indptr, first.indices, first.data
    whilst.cg(first, Array(np.ones(25)))
    whilst.cg(second, Array(np.ones(25)))
    assert OnDevice.made == 2 and len(_problem._kept) == 2
    del first, second
    gc.collect()
    assert not _problem._kept  # and with them their arrays
    for k in range(20):
        kept = [Matrix(poisson(3)) for _ in range(k)]
        for matrix in kept:
            whilst.cg(matrix, Array(np.ones(9)))
        assert len(_problem._kept) <= 8


def test_matrix_in_host_memory(generator):
    A, b = poisson(10), generator.standard_normal(100)
    x, info = whilst.cg(A, Array(b), rtol=TOLERANCE)
    assert info == 0 and isinstance(x, Array) and relative_residual(A, b, x.array) <= TOLERANCE


def test_solver_and_enqueue(generator):
    A, b = poisson(10), generator.standard_normal(100)
    solver = whilst.LinearSolver(Matrix(A), rtol=TOLERANCE)
    x, report = solver.solve(Array(b))
    assert report.converged and relative_residual(A, b, x.array) <= TOLERANCE
    for stream in (None, 0):
        to = Array(np.zeros(100))
        ticket = solver.enqueue(Array(b), to, stream)
        assert ticket.wait().converged
        np.testing.assert_array_equal(to.array, x.array)
    solver.update_values(Matrix(A * 2.0))
    assert relative_residual(2 * A, b, solver.solve(Array(b))[0].array) <= TOLERANCE
    solver.update_values(A.data * 3)
    assert relative_residual(3 * A, b, solver.solve(Array(b), Array(np.ones(100)))[0].array) <= TOLERANCE
    solver.update_values(Array(A.data * 4))
    assert relative_residual(4 * A, b, solver.solve(Array(b))[0].array) <= TOLERANCE
    with pytest.raises(ValueError, match="values has shape"):
        solver.update_values(Array(A.data[1:]))
    with pytest.raises(ValueError, match="read-only"):
        solver.enqueue(Array(b), Array(np.zeros(100), read_only=True))
    with pytest.raises(TypeError, match="stream is"):
        solver.enqueue(Array(b), Array(np.zeros(100)), "0")


def test_values_of_tensors(generator):
    A, b = poisson(10), generator.standard_normal(100)
    solver = whilst.LinearSolver(SparseTensor(A), rtol=TOLERANCE)
    solver.update_values(SparseTensor(A * 2.0))
    assert relative_residual(2 * A, b, solver.solve(Tensor(b))[0].array) <= TOLERANCE
    solver.update_values(Tensor(A.data * 3))
    assert relative_residual(3 * A, b, solver.solve(Tensor(b))[0].array) <= TOLERANCE


def test_a_callback_has_the_host_see_each_iteration(monkeypatch):
    ran = []
    kept = _core.solve_cached

    def solve_cached(A, b, x, options, *others):
        ran.append(options)
        return kept(A, b, x, options.replace("executor=stream", "executor=host"), *others)

    monkeypatch.setattr(_core, "solve_cached", solve_cached)
    monkeypatch.setattr(_core, "machine", lambda: {"executors": {"stream": True}})
    monkeypatch.delenv("WHILST_EXECUTOR")
    A, b, norms = poisson(5), np.ones(25), []
    whilst.cg(A, b, callback=norms.append, callback_type="pr_norm")
    assert norms and "executor=stream" in ran.pop()
    whilst.cg(A, b, callback=norms.append, callback_type="pr_norm", executor="host")
    whilst.cg(A, b)
    whilst.cg(A, b, callback=norms.append)
    monkeypatch.setenv("WHILST_EXECUTOR", "host")
    whilst.cg(A, b, callback=norms.append, callback_type="pr_norm")
    assert len(ran) > 4 and not any("executor=stream" in options for options in ran)


def test_batch(generator):
    A, b = poisson(4), generator.standard_normal((6, 16))
    values = A.data * generator.uniform(0.5, 2, (6, 1))
    solver = whilst.BatchSolver(A, rtol=TOLERANCE)
    expected, _ = solver.solve(values, b)
    x, report = solver.solve(Array(values), Array(b))
    assert report and isinstance(x, Array)
    np.testing.assert_array_equal(x.array, expected)
    again, report = solver.solve(Array(values), Array(b), x)
    assert (report.iterations == 0).all()
    with pytest.raises(TypeError, match="values does not lie on a GPU"):
        solver.solve(values, Array(b))
    with pytest.raises(TypeError, match="type float32"):
        solver.solve(Array(values.astype(np.float32)), Array(b))


SKEW = sparse.diags_array([-1.5, 3.0, -0.5], offsets=[-1, 0, 1], shape=(64, 64)).tocsr()


@pytest.mark.parametrize("order", ["C", "F", "gaps"])
@pytest.mark.parametrize(
    "A, method, M",
    [
        (poisson(8), "cg", "jacobi"),
        (poisson(8), "cg", "ilu"),
        (SKEW, "gmres", None),
        (SKEW, "auto", "auto"),
    ],
    ids=["at once", "one by one for M", "one by one for the method", "auto"],
)
@pytest.mark.parametrize("of_gpu", [True, False])
def test_columns(A, method, M, order, of_gpu, generator, monkeypatch):
    monkeypatch.setattr(Array, "copies", 0)
    B = generator.standard_normal((64, 70))
    given = {"C": B.copy(), "F": np.asfortranarray(B), "gaps": np.zeros((64, 140))[:, ::2]}[order]
    given[...] = B
    solver = whilst.LinearSolver(Matrix(A) if of_gpu else A, method, M, rtol=TOLERANCE)
    X, report = solver.solve(Array(given))
    assert isinstance(X, Array) and X.shape == B.shape and X.array.flags.f_contiguous
    assert report and len(report) == 70 and solver.report is report
    assert Array.copies == (order != "F")
    for k in range(70):
        assert relative_residual(A, B[:, k], X.array[:, k]) <= TOLERANCE * 1.001
    np.testing.assert_array_equal(given, B)
    again, report = solver.solve(Array(given), X)
    assert (report.iterations == 0).all()
    np.testing.assert_array_equal(again.array, X.array)
    expected, _ = whilst.LinearSolver(A, method, M, rtol=TOLERANCE).solve(B)
    np.testing.assert_array_equal(X.array, expected)


def test_columns_follow_values_and_settings(generator):
    A, B = poisson(8), generator.standard_normal((64, 3))
    matrix = Matrix(A)
    solver = whilst.LinearSolver(matrix, "cg", "jacobi", rtol=TOLERANCE)

    def solves(factor):
        X, report = solver.solve(Array(B))
        assert report
        return max(relative_residual(factor * A, B[:, k], X.array[:, k]) for k in range(3)) <= TOLERANCE * 1.001

    assert solves(1)
    matrix.data.array *= 2  # where they are read
    assert solves(2)
    solver.update_values(Matrix(A * 3.0))
    assert solves(3)
    solver.update_values(A.data * 4)  # copied by the core
    assert solves(4)
    solver.update_values(Array(A.data * 5))
    assert solves(5)
    solver.set_max_iterations(2)
    assert solver.solve(Array(B))[1].reason == ["iteration_limit"] * 3


def test_columns_misused(monkeypatch):
    solver = whilst.LinearSolver(poisson(3))
    for call, kind, problem in (
        (lambda: solver.solve(Array(np.ones((8, 2)))), ValueError, "b has shape"),
        (lambda: solver.solve(Array(np.ones((9, 0)))), ValueError, "b has shape"),
        (lambda: solver.solve(Array(np.ones((9, 2), np.float32))), TypeError, "type float32"),
        (lambda: solver.solve(Array(np.ones((9, 2))), Array(np.ones((9, 3)))), ValueError, "x0 has shape"),
        (lambda: solver.solve(Array(np.ones((9, 2))), np.ones((9, 2))), TypeError, "x0 does not lie on a GPU"),
        (lambda: solver.solve(np.ones((9, 2)), Array(np.ones((9, 2)))), TypeError, "lies on a GPU"),
        (lambda: solver.solve(Array(np.ones((9, 2))), callback=print), TypeError, "no callback"),
    ):
        with pytest.raises(kind, match=problem):
            call()
    monkeypatch.setattr(_core, "is_memory_of_gpu", lambda address: True)
    for b in (np.ones((9, 2)), np.ones(9)):
        with pytest.raises(TypeError, match="the solver is on the host"):
            solver.solve(Array(b))


def test_auto_goes_on_for_arrays_on_a_gpu():
    """A matrix with a diagonal of one sign and eigenvalues of both: cg breaks down, and minres goes on."""
    A = sparse.block_diag([[[1.0, 4.0], [4.0, 1.0]], [[1.0]]], format="csr")
    b = np.array([1.0, 2.0, 3.0])
    x, report = whilst.LinearSolver(Matrix(A), "auto", rtol=TOLERANCE).solve(Array(b))
    assert report.converged and "; then minres" in report.choice and relative_residual(A, b, x.array) <= TOLERANCE
    solver = whilst.LinearSolver(A, "auto", rtol=TOLERANCE)
    assert not solver.enqueue(Array(b), Array(np.zeros(3))).wait().converged
    for matrix in (A, Matrix(A)):
        for M in (None, "auto"):
            x, info = whilst.solve(matrix, Array(b), rtol=TOLERANCE, M=M)
            assert info == 0 and relative_residual(A, b, x.array) <= TOLERANCE


def test_misuse():
    A, b = Matrix(poisson(5)), Array(np.ones(25))
    for wrong, kind, problem in (
        (lambda: whilst.cg(A, Array(np.ones(25, np.float32))), TypeError, "type float32"),
        (lambda: whilst.cg(A, Array(np.ones(24))), ValueError, "b has shape"),
        (lambda: whilst.cg(A, Array(np.ones(50)[::2])), ValueError, "gaps"),
        (lambda: whilst.cg(A, b, M=lambda r: r), TypeError, "only functions of PyTorch, CuPy and Warp"),
        (lambda: whilst.cg(A, np.ones(25), M=lambda r: r), TypeError, "function of arrays in host memory"),
        (lambda: whilst.cg(A, b, callback=print), TypeError, "no callback"),
        (lambda: whilst.cg(A, b, np.ones(25)), TypeError, "x0 does not lie on a GPU"),
        (lambda: whilst.cg(A, b, "Mb"), TypeError, "x0 does not lie on a GPU"),
        (lambda: whilst.cg(A, b, Array(np.ones(24))), ValueError, "x0 has shape"),
        (lambda: whilst.cg(poisson(5), np.ones(25), Array(np.ones(25))), TypeError, "lies on a GPU"),
        (lambda: whilst.cg(b, b), TypeError, "dense matrix on a GPU"),
        (lambda: whilst.lsqr(poisson(5), b), TypeError, "b lies on a GPU"),
        (lambda: whilst.lsqr(A, np.ones(25), damp=0.1), TypeError, "damp puts damp I below it"),
        (lambda: whilst.minres(A, b, shift=0.1), TypeError, "shift and check read it"),
        (lambda: whilst.minres(A, b, check=True), TypeError, "shift and check read it"),
        (lambda: whilst.cg(Matrix(poisson(5).astype(complex)), b), TypeError, "complex"),
    ):
        with pytest.raises(kind, match=problem):
            wrong()

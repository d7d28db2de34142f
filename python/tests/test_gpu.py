"""Arrays on a GPU: CuPy's and PyTorch's. Left out where the library, the GPU or a build with CUDA is missing."""

import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sparse
import whilst
from conftest import poisson, relative_residual

TOLERANCE = 1e-10
has_gpu = whilst.machine()["executors"].get("stream") is True
pytestmark = pytest.mark.skipif(not has_gpu, reason=f"no GPU: {whilst.machine()['executors'].get('stream')}")


class OfCuPy:
    def __init__(self):
        self.library = pytest.importorskip("cupy")

    def matrix(self, A):
        from cupyx.scipy import sparse

        return sparse.csr_matrix(
            (self.vector(A.data), self.library.asarray(A.indices), self.library.asarray(A.indptr)), shape=A.shape
        )

    def vector(self, array):
        return self.library.asarray(array)

    def numpy(self, array):
        return self.library.asnumpy(array)

    def stream(self):
        return self.library.cuda.Stream(non_blocking=True)

    def values(self, matrix):
        return matrix.data

    def within(self, stream):
        return stream

    def keep_busy(self):
        product = self.library.ones((4096, 4096))
        for _ in range(50):
            product = product @ product / 4096


class OfPyTorch:
    def __init__(self):
        self.library = pytest.importorskip("torch")
        if not self.library.cuda.is_available():
            pytest.skip("PyTorch has no GPU")

    def matrix(self, A):
        arrays = (
            self.library.as_tensor(array) for array in (A.indptr.astype(np.int64), A.indices.astype(np.int64), A.data)
        )
        return self.library.sparse_csr_tensor(*arrays, size=A.shape).cuda()

    def vector(self, array):
        return self.library.as_tensor(array).cuda()

    def numpy(self, array):
        return array.cpu().numpy()

    def stream(self):
        return self.library.cuda.Stream()

    def values(self, matrix):
        return matrix.values()

    def within(self, stream):
        return self.library.cuda.stream(stream)

    def keep_busy(self):
        self.library.cuda._sleep(300_000_000)  # cycles: over 0.1 s


@pytest.fixture(params=[OfCuPy, OfPyTorch], ids=["cupy", "torch"])
def on_gpu(request):
    return request.param()


@pytest.mark.parametrize("dtype, rtol", [(np.float64, TOLERANCE), (np.float32, 1e-4)])
def test_function(on_gpu, dtype, rtol, generator):
    A, b = poisson(30, dtype), generator.standard_normal(900).astype(dtype)
    right = on_gpu.vector(b)
    for matrix in (on_gpu.matrix(A), A):
        x, info = whilst.cg(matrix, right, rtol=rtol, M="jacobi")
        assert info == 0 and type(x) is type(right)
        assert relative_residual(A, b, on_gpu.numpy(x)) <= rtol * 1.001
    again, info = whilst.cg(on_gpu.matrix(A), right, x, rtol=rtol)
    assert info == 0
    x, info = whilst.cg(on_gpu.matrix(A), b, rtol=rtol)  # b in host memory
    assert info == 0 and isinstance(x, np.ndarray)


def test_enqueue_on_a_stream(on_gpu, generator):
    A, b = poisson(30), generator.standard_normal(900)
    solver = whilst.LinearSolver(on_gpu.matrix(A), rtol=TOLERANCE)
    right, x, stream = on_gpu.vector(b), on_gpu.vector(np.zeros(900)), on_gpu.stream()
    on_gpu.library.cuda.Device().synchronize() if isinstance(on_gpu, OfCuPy) else on_gpu.library.cuda.synchronize()
    ticket = solver.enqueue(right, x, stream)
    report = ticket.wait()
    assert report.converged and ticket.done() and relative_residual(A, b, on_gpu.numpy(x)) <= TOLERANCE
    x, report = solver.solve(right)
    assert report.converged and relative_residual(A, b, on_gpu.numpy(x)) <= TOLERANCE


def test_update_values(on_gpu):
    A, b = poisson(30), np.ones(900)
    solver = whilst.LinearSolver(on_gpu.matrix(A), rtol=TOLERANCE)
    solver.update_values(on_gpu.matrix(A * 3.0))
    x, report = solver.solve(on_gpu.vector(b))
    assert report.converged and relative_residual(A * 3.0, b, on_gpu.numpy(x)) <= TOLERANCE


def test_a_matrix_that_is_still_being_written(on_gpu, generator):
    """By a stream that the solver's own do not wait for."""
    A, b = poisson(30), generator.standard_normal(900)
    wrong = A.copy()
    wrong.data = A.data * generator.uniform(0.2, 5, A.nnz)  # whose factors are of no use to A
    expected = whilst.LinearSolver(A, "bicgstab", "ilu", rtol=TOLERANCE, executor="host").solve(b)[1].iterations
    most = 2 * expected + 2  # rounding is another
    matrix, right, written = on_gpu.matrix(wrong), on_gpu.vector(b), on_gpu.vector(A.data)
    solver = whilst.LinearSolver(on_gpu.matrix(wrong), "bicgstab", "ilu", rtol=TOLERANCE, max_iterations=most)
    with on_gpu.within(on_gpu.stream()):
        right = on_gpu.vector(b)
        on_gpu.keep_busy()
        on_gpu.values(matrix)[...] = written
        made = whilst.LinearSolver(matrix, "bicgstab", "ilu", rtol=TOLERANCE, max_iterations=most)
        x, report = made.solve(right)
        assert report.converged and relative_residual(A, b, on_gpu.numpy(x)) <= TOLERANCE * 1.001
        late = on_gpu.vector(wrong.data)
        on_gpu.keep_busy()
        late[...] = written
        solver.update_values(late)
        x, report = solver.solve(right)
        assert report.converged and relative_residual(A, b, on_gpu.numpy(x)) <= TOLERANCE * 1.001


def test_factors_of_a_kept_solver_follow_the_values(on_gpu, generator):
    A, b = poisson(30), generator.standard_normal(900)
    wrong = A.copy()
    wrong.data = A.data * generator.uniform(0.2, 5, A.nnz)
    most = 2 * whilst.LinearSolver(A, "bicgstab", "ilu", rtol=TOLERANCE, executor="host").solve(b)[1].iterations + 2
    matrix, right = on_gpu.matrix(wrong), on_gpu.vector(b)
    whilst.bicgstab(matrix, right, rtol=1e-2, M="ilu")
    on_gpu.values(matrix)[...] = on_gpu.vector(A.data)
    x, info = whilst.bicgstab(matrix, right, rtol=TOLERANCE, M="ilu", maxiter=most)
    assert info == 0 and relative_residual(A, b, on_gpu.numpy(x)) <= TOLERANCE * 1.001


def test_batch(on_gpu, generator):
    A, b = poisson(5), generator.standard_normal((40, 25))
    values = A.data * generator.uniform(0.5, 2, (40, 1))
    solver = whilst.BatchSolver(A, "cg", "jacobi", rtol=TOLERANCE)
    x, report = solver.solve(on_gpu.vector(values), on_gpu.vector(b))
    assert report and type(x) is type(on_gpu.vector(b)) and solver.executor == "batch"
    for k in (0, 39):
        assert relative_residual(A * (values[k, 0] / A.data[0]), b[k], on_gpu.numpy(x)[k]) <= TOLERANCE * 1.001
    again, report = solver.solve(on_gpu.vector(values), on_gpu.vector(b), x)
    assert report.iterations.max() <= 1
    x, report = solver.solve(values, b)  # from host memory
    assert report and isinstance(x, np.ndarray)


@pytest.mark.parametrize("method, M", [("cg", "jacobi"), ("cg", "ilu"), ("minres", None), ("auto", "auto")])
@pytest.mark.parametrize("order", ["C", "F"])
def test_columns(on_gpu, method, M, order, generator):
    A, B = poisson(30), np.asarray(generator.standard_normal((900, 70)), order=order)
    # An array in Fortran order is the transposed one of an array in C order, in any library.
    right = on_gpu.vector(B) if order == "C" else on_gpu.vector(np.ascontiguousarray(B.T)).T
    for matrix in (on_gpu.matrix(A), A):
        solver = whilst.LinearSolver(matrix, method, M, rtol=TOLERANCE)
        X, report = solver.solve(right)
        assert type(X) is type(right) and tuple(X.shape) == B.shape and report and len(report) == 70
        assert report.executor != "host"
        for k in (0, 1, 63, 64, 69):
            assert relative_residual(A, B[:, k], on_gpu.numpy(X)[:, k]) <= TOLERANCE * 1.001
        again, report = solver.solve(right, X)
        assert report.iterations.max() <= 1
        np.testing.assert_array_equal(on_gpu.numpy(right), B)


def test_columns_in_another_stream(on_gpu, generator):
    """B is still being written when the copy of it is made."""
    A, B = poisson(30), generator.standard_normal((900, 3))
    solver = whilst.LinearSolver(A, "cg", "jacobi", rtol=TOLERANCE)
    late = on_gpu.vector(B)
    with on_gpu.within(on_gpu.stream()):
        right = on_gpu.vector(np.zeros((900, 3)))
        on_gpu.keep_busy()
        right[...] = late
        X, report = solver.solve(right)
        assert report and relative_residual(A, B[:, 2], on_gpu.numpy(X)[:, 2]) <= TOLERANCE * 1.001


def test_auto_goes_on(on_gpu):
    """A diagonal of one sign and eigenvalues of both: cg breaks down, and minres goes on."""
    A = sparse.block_diag([[[1.0, 4.0], [4.0, 1.0]], [[1.0]]], format="csr")
    b = np.array([1.0, 2.0, 3.0])
    for matrix in (on_gpu.matrix(A), A):
        x, report = whilst.LinearSolver(matrix, "auto", rtol=TOLERANCE).solve(on_gpu.vector(b))
        assert report.converged and "; then minres" in report.choice
        assert relative_residual(A, b, on_gpu.numpy(x)) <= TOLERANCE
        x, info = whilst.solve(matrix, on_gpu.vector(b), rtol=TOLERANCE)
        assert info == 0 and relative_residual(A, b, on_gpu.numpy(x)) <= TOLERANCE


def test_arrays_for_a_solver_on_the_host(on_gpu):
    solver = whilst.LinearSolver(poisson(5), executor="host")
    for b in (np.ones(25), np.ones((25, 2))):
        with pytest.raises(TypeError, match="the solver is on the host"):
            solver.solve(on_gpu.vector(b))


def test_columns_from_host_memory(generator):
    A, B = poisson(30), generator.standard_normal((900, 5))
    X, report = whilst.LinearSolver(A, "cg", "jacobi", rtol=TOLERANCE, executor="graph").solve(B)
    assert report and report.executor == "graph"
    for k in range(5):
        assert relative_residual(A, B[:, k], X[:, k]) <= TOLERANCE * 1.001


FORKED = """
import os, sys
import numpy as np
import scipy.sparse as sparse
import whilst

library = sys.argv[1]
to_gpu = __import__("cupy").asarray if library == "cupy" else lambda array: __import__("torch").as_tensor(array).cuda()
A = sparse.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(400, 400), format="csr")
solver = whilst.LinearSolver(A)
b, x = to_gpu(np.ones(400)), to_gpu(np.zeros(400))
ticket = solver.enqueue(b, x)
ticket.wait()
child = os.fork()
if child == 0:
    told = 0
    for use in (ticket.progress, ticket.wait, solver.cancel, lambda: solver.solve(np.ones(400))):
        try:
            use()
        except whilst.Error as problem:
            told += "CUDA does not survive the fork" in str(problem) and "spawn" in str(problem)
    os._exit(10 + told)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 14
print(ticket.progress()[2])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_child_is_told(on_gpu):
    library = "cupy" if isinstance(on_gpu, OfCuPy) else "torch"
    done = subprocess.run([sys.executable, "-c", FORKED, library], capture_output=True, text=True, timeout=120)
    assert done.stdout == "False\n", done.stderr


def test_misuse(on_gpu):
    A, b = on_gpu.matrix(poisson(5)), on_gpu.vector(np.ones(25))
    with pytest.raises(TypeError, match="type float32"):
        whilst.cg(A, on_gpu.vector(np.ones(25, np.float32)))
    with pytest.raises(ValueError, match="b has shape"):
        whilst.cg(A, on_gpu.vector(np.ones(24)))
    with pytest.raises(ValueError, match="gaps"):
        whilst.cg(A, on_gpu.vector(np.ones(50))[::2])
    with pytest.raises(TypeError, match="function of arrays in host memory"):
        whilst.cg(A, np.ones(25), M=lambda r: r)
    with pytest.raises(TypeError, match="no callback"):
        whilst.cg(A, b, callback=print)
    with pytest.raises(TypeError, match="solver's GPU"):
        whilst.LinearSolver(A).enqueue(np.ones(25), np.zeros(25))

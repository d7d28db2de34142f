"""Functions of arrays on a GPU, recorded: PyTorch's and CuPy's. Left out where the library, the GPU or a build with CUDA is missing."""

import gc
import weakref

import numpy as np
import pytest
import whilst
from whilst import _array_libraries

has_gpu = whilst.machine()["executors"].get("graph") is True
on_gpu = pytest.mark.skipif(not has_gpu, reason=f"no GPU: {whilst.machine()['executors'].get('graph')}")


@pytest.fixture
def torch():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("PyTorch has no GPU")
    return torch


@pytest.fixture
def cupy():
    return pytest.importorskip("cupy")


def extended_rosenbrock(x):
    """Least at ones, where it is 0; for the arrays of any library."""
    a, b = x[0::2], x[1::2]
    return (100 * (b - a * a) ** 2 + (1 - a) ** 2).sum()


def gradient_of_rosenbrock(x):
    a, b = x[0::2], x[1::2]
    gradient = x * 0
    gradient[0::2] = -400 * a * (b - a * a) - 2 * (1 - a)
    gradient[1::2] = 200 * (b - a * a)
    return gradient


def start(n, dtype=np.float64):
    x = np.ones(n, dtype)
    x[0::2] = -1.2
    return x


def tensor(torch, array):
    return torch.as_tensor(array, device="cuda")


@on_gpu
@pytest.mark.parametrize("n", [2, 1000])
@pytest.mark.parametrize("method", [None, "L-BFGS-B", "BFGS", "CG", "Newton-CG", "trust-ncg", "conjugate-gradient-hz"])
def test_minimize_by_autograd(torch, method, n):
    x0 = tensor(torch, start(n))
    calls = []

    def fun(x):
        calls.append(x.shape)
        return extended_rosenbrock(x)

    solver = whilst.Minimizer(fun, x0, method=method, tol=1e-8, check=True)
    recorded = len(calls)
    assert solver.executor == "graph" and "unknowns" in repr(solver)
    first = solver.solve(x0)
    assert first.success and first.nfev >= first.nit > 0 and first.gradient_norm <= 1e-8
    assert isinstance(first.x, torch.Tensor) and first.x.device == x0.device and first.x.dtype == x0.dtype
    np.testing.assert_allclose(first.x.cpu().numpy(), 1, atol=1e-6)
    assert first.fun < 1e-12
    np.testing.assert_array_equal(x0.cpu().numpy(), start(n))
    again = solver.solve(x0)
    assert torch.equal(again.x, first.x) and again.nit == first.nit
    assert len(calls) == recorded  # Python takes no part in a solve
    # The same method on the host, from the gradient in closed form, takes about the same way.
    if method in (None, "L-BFGS-B", "CG"):
        host = whilst.minimize(
            extended_rosenbrock, start(n), method=method or "L-BFGS-B", jac=gradient_of_rosenbrock, tol=1e-8
        )
        assert abs(host.nit - first.nit) <= 2 + host.nit // 4


@on_gpu
def test_minimize_as_a_function(torch):
    done = whilst.minimize(extended_rosenbrock, tensor(torch, start(100)), tol=1e-8)
    assert done.success and isinstance(done.x, torch.Tensor)
    parameter = tensor(torch, start(10)).requires_grad_(True)
    assert whilst.minimize(lambda x, a: a * (x @ x), parameter, args=(2.0,)).success
    limited = whilst.minimize(extended_rosenbrock, tensor(torch, start(100)), options={"maxiter": 2})
    assert limited.reason == "iteration_limit" and limited.nit == 2
    nan = whilst.minimize(lambda x: (x * np.nan).sum(), tensor(torch, start(4)))
    assert nan.reason == "nan_or_infinity"


@on_gpu
def test_several_starting_points(torch):
    starts = tensor(torch, np.stack([start(10), 1.1 * start(10)]))
    solver = whilst.Minimizer(extended_rosenbrock, starts, tol=1e-8)
    together = solver.solve(starts)
    assert together.x.shape == starts.shape and together.success.all() and len(together.history) == 2
    for k in range(2):
        assert torch.equal(together.x[k], solver.solve(starts[k]).x)
    assert torch.equal(whilst.minimize(extended_rosenbrock, starts, tol=1e-8).x, together.x)


@on_gpu
def test_single_precision_and_eager_executor(torch):
    x0 = tensor(torch, start(100, np.float32))
    recorded = whilst.Minimizer(extended_rosenbrock, x0, tol=1e-3).solve(x0)
    assert recorded.success and recorded.x.dtype == torch.float32
    np.testing.assert_allclose(recorded.x.cpu().numpy(), 1, atol=1e-3)
    eager = whilst.Minimizer(extended_rosenbrock, x0, tol=1e-3, options={"executor": "stream"})
    assert eager.executor == "stream"
    assert torch.equal(eager.solve(x0).x, recorded.x)


@on_gpu
def test_new_data_in_place_and_arrays_that_the_caller_drops(torch):
    target = tensor(torch, np.arange(50.0))
    x0 = torch.zeros(50, dtype=torch.float64, device="cuda")
    solver = whilst.Minimizer(lambda x: ((x - target) ** 2).sum(), x0, tol=1e-10)
    np.testing.assert_allclose(solver.solve(x0).x.cpu().numpy(), np.arange(50.0), atol=1e-9)
    target.mul_(2)
    np.testing.assert_allclose(solver.solve(x0).x.cpu().numpy(), 2 * np.arange(50.0), atol=1e-9)

    weights = torch.full((50,), 3.0, dtype=torch.float64, device="cuda")

    class Model:
        shift = torch.ones(50, dtype=torch.float64, device="cuda")

    solver = whilst.Minimizer(lambda x: (weights * (x - Model.shift) ** 2).sum(), x0, tol=1e-10)
    Model.shift = None  # what is recorded goes on reading the old one
    torch.cuda.empty_cache()
    junk = [torch.full((50,), np.nan, dtype=torch.float64, device="cuda") for _ in range(100)]
    np.testing.assert_allclose(solver.solve(x0).x.cpu().numpy(), 1, atol=1e-9)
    del junk


@on_gpu
def test_memory_comes_back(torch):
    x0 = tensor(torch, start(100_000))

    def once():
        solver = whilst.Minimizer(extended_rosenbrock, x0, options={"maxiter": 3})
        assert solver.solve(x0).nit == 3
        assert solver.memory()

    def held():
        gc.collect()
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        return torch.cuda.mem_get_info()[0]

    once()
    before = held()
    for _ in range(5):
        once()
    assert before - held() <= 4 << 20  # the driver keeps pieces of 2 MB


@on_gpu
def test_products_with_matrices_dense_and_sparse(torch):
    dense = torch.eye(50, dtype=torch.float64, device="cuda") * 2
    sparse = dense.to_sparse_csr()

    def fun(x, A):
        return ((A @ x - 1) ** 2).sum()

    def jac(x, A):  # A is symmetric
        return 2 * (A @ (A @ x - 1))

    # autograd multiplies by the transpose of a sparse matrix, which PyTorch first converts: the host waits for that.
    for A, gradient in ((dense, None), (dense, jac), (sparse, jac)):
        x0 = torch.zeros(50, dtype=torch.float64, device="cuda")
        solver = whilst.Minimizer(fun, x0, args=(A,), jac=gradient, tol=1e-10)
        first = solver.solve(x0).x
        torch._C._cuda_clearCublasWorkspaces()  # as PyTorch's own graphs do
        torch.cuda.empty_cache()
        junk = [torch.full((1 << 22,), np.nan, device="cuda") for _ in range(8)]
        np.testing.assert_allclose(solver.solve(x0).x.cpu().numpy(), 0.5, atol=1e-9)
        assert torch.equal(solver.solve(x0).x, first)
        del junk


@on_gpu
def test_a_solver_whose_function_refers_to_its_owner_is_collected(torch):
    class Fit:
        def __init__(self):
            self.x0 = torch.zeros(10, dtype=torch.float64, device="cuda")
            self.solver = whilst.Minimizer(self.loss, self.x0)

        def loss(self, x):
            return ((x - 1) ** 2).sum() + self.x0.sum()

    fit = Fit()
    assert fit.solver.solve(fit.x0).success
    gone = weakref.ref(fit)
    del fit
    gc.collect()
    assert gone() is None


@on_gpu
def test_parameters_that_require_gradients(torch):
    W = torch.full((1, 10), 2.0, dtype=torch.float64, device="cuda", requires_grad=True)
    x0 = tensor(torch, start(10))
    done = whilst.minimize(lambda x: (W @ x).sum() + (x * x).sum(), x0, method="Newton-CG", tol=1e-10)
    assert done.success and torch.allclose(done.x, torch.full_like(x0, -1))

    def gradient(x):
        x = x.detach().requires_grad_(True)
        return torch.autograd.grad(extended_rosenbrock(x), x)[0]

    assert whilst.minimize(extended_rosenbrock, x0, jac=gradient, tol=1e-8).success


@on_gpu
def test_two_solvers_on_two_streams(torch):
    n = 2000
    x0 = tensor(torch, start(n))
    solvers = [whilst.Minimizer(extended_rosenbrock, x0, tol=1e-8) for _ in range(2)]
    expected = solvers[0].solve(x0).x
    streams = [torch.cuda.Stream() for _ in solvers]
    xs = [x0.clone() for _ in solvers]
    torch.cuda.synchronize()
    tickets = [solver.enqueue(x, stream) for solver, x, stream in zip(solvers, xs, streams)]
    for ticket, x in zip(tickets, xs):
        assert ticket.wait().converged and torch.equal(x, expected)


@on_gpu
def test_what_cannot_be_recorded_is_named(torch):
    x0 = tensor(torch, start(10))
    host = torch.ones(10, dtype=torch.float64)

    def dropout(x):
        return (x * torch.nn.functional.dropout(x, 0.5)).sum()

    side = torch.cuda.Stream()

    def on_a_side_stream(x):
        here = torch.cuda.current_stream()
        side.wait_stream(here)
        with torch.cuda.stream(side):
            value = (x * x).sum()
        here.wait_stream(side)
        return value

    for fun, problem in (
        (lambda x: (x * torch.rand_like(x)).sum(), "rand_like.*random numbers"),
        (dropout, "random numbers"),
        (lambda x: x.sum() * x.sum().item(), "_local_scalar_dense.*host"),
        (lambda x: x.sum() if x[0] > 0 else -x.sum(), "host"),
        (lambda x: x[x > 0].sum(), "shape"),
        (on_a_side_stream, "another stream"),
        (lambda x: (x * host.cuda()).sum(), "copies between host memory and the GPU"),
        (lambda x: (x * torch.tensor(host.tolist(), device="cuda")).sum(), "waits for the GPU|copies between"),
    ):
        with pytest.raises(whilst.Error, match=problem):
            whilst.Minimizer(fun, x0)
    # And each leaves all as it was.
    assert whilst.minimize(extended_rosenbrock, x0, tol=1e-8).success


@on_gpu
def test_check_finds_a_function_with_a_state(torch):
    x0 = tensor(torch, start(10))
    calls = [0]

    def drifts(x):
        calls[0] += 1
        return extended_rosenbrock(x) + calls[0] * x.sum()

    with pytest.raises(whilst.Error, match="depends on more than x"):
        whilst.Minimizer(drifts, x0, check=True)


@on_gpu
def test_exceptions_and_misuse(torch):
    x0 = tensor(torch, start(10))
    with pytest.raises(ZeroDivisionError):
        whilst.Minimizer(lambda x: 1 / 0, x0)
    calls = [0]

    def breaks_while_recorded(x):
        calls[0] += 1
        if calls[0] > 3:
            raise KeyError("later")
        return (x * x).sum()

    with pytest.raises(KeyError, match="later"):
        whilst.Minimizer(breaks_while_recorded, x0)
    solver = whilst.Minimizer(extended_rosenbrock, x0)
    for wrong, kind, problem in (
        (lambda: whilst.Minimizer(extended_rosenbrock, start(10)), TypeError, "array on a GPU"),
        (lambda: whilst.Minimizer(extended_rosenbrock, x0.int()), TypeError, "float32 or float64"),
        (lambda: whilst.Minimizer(extended_rosenbrock, x0.reshape(1, 2, 5)), ValueError, "vector of the unknowns"),
        (lambda: whilst.Minimizer(extended_rosenbrock, x0, method="SLSQP"), ValueError, "no method"),
        (lambda: whilst.Minimizer(lambda x: x, x0), ValueError, "one entry"),
        (lambda: whilst.Minimizer(lambda x: 3.0, x0), TypeError, "is a float"),
        (lambda: whilst.Minimizer(lambda x: torch.ones((), device="cuda"), x0), TypeError, "no dependence"),
        (lambda: whilst.Minimizer(lambda x: (x.sum(), x[:3]), x0, jac=True), ValueError, "has shape"),
        (lambda: whilst.Minimizer(lambda x: (x.sum(),), x0, jac=True), TypeError, "must return 2 arrays"),
        (
            lambda: whilst.Minimizer(extended_rosenbrock, x0, options={"callback_memory": "host"}),
            TypeError,
            "no option",
        ),
        (lambda: whilst.Minimizer(extended_rosenbrock, x0, options={"executor": "host"}), whilst.Error, "host"),
        (lambda: solver.solve(x0[:4].clone()), ValueError, "was made for 10"),
        (lambda: solver.solve(x0.float()), ValueError, "float64"),
        (lambda: solver.enqueue(x0[::2]), ValueError, "gaps"),
        (lambda: solver.set_max_iterations(-1), whilst.Error, "max_iterations"),
        (lambda: whilst.least_squares(lambda x: x, x0, jac=lambda x: x), TypeError, "autograd"),
    ):
        with pytest.raises(kind, match=problem):
            wrong()


@on_gpu
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_least_squares(torch, dtype):
    t = np.linspace(0.0, 2.0, 301).astype(dtype)
    y, at = tensor(torch, (3 * np.exp(-1.5 * t)).astype(dtype)), tensor(torch, t)
    x0 = tensor(torch, np.ones(2, dtype))
    gtol, most, rtol = (1e-8, 1e-15, 1e-6) if dtype == np.float64 else (1e-2, 1e-5, 1e-2)

    def residuals(x):
        return x[0] * torch.exp(-x[1] * at) - y

    solver = whilst.LeastSquaresSolver(residuals, x0, gtol=gtol, check=True)
    for done in (solver.solve(x0), whilst.least_squares(residuals, x0, gtol=gtol)):
        assert done.success and done.cost < most
        np.testing.assert_allclose(done.x.cpu().numpy(), [3, 1.5], rtol=rtol)


@on_gpu
@pytest.mark.parametrize("method", ["broyden1", "anderson"])
def test_root(torch, method):
    # F_i = x_i + x_(i+1)^2 / 4 - 5/4 around a ring: zero at ones.
    x0 = torch.zeros(100, dtype=torch.float64, device="cuda")
    done = whilst.root(lambda x: x + torch.roll(x, -1) ** 2 / 4 - 1.25, x0, method=method)
    assert done.success and done.residual_norm <= 1e-10
    np.testing.assert_allclose(done.x.cpu().numpy(), 1, atol=1e-9)


@on_gpu
def test_cupy(cupy):
    x0 = cupy.asarray(start(1000))
    solver = whilst.Minimizer(extended_rosenbrock, x0, jac=gradient_of_rosenbrock, tol=1e-8, check=True)
    first, again = solver.solve(x0), solver.solve(x0)
    assert first.success and isinstance(first.x, cupy.ndarray)
    cupy.testing.assert_allclose(first.x, 1, atol=1e-6)
    cupy.testing.assert_array_equal(first.x, again.x)
    both = whilst.minimize(lambda x: (extended_rosenbrock(x), gradient_of_rosenbrock(x)), x0, jac=True, tol=1e-8)
    cupy.testing.assert_array_equal(both.x, first.x)
    quadratic = whilst.minimize(
        lambda x: (x * x).sum() / 2, x0, method="Newton-CG", jac=lambda x: x, hessp=lambda x, p: p, tol=1e-10
    )
    assert quadratic.success and float(cupy.abs(quadratic.x).max()) <= 1e-9
    done = whilst.root(lambda x: x + cupy.roll(x, -1) ** 2 / 4 - 1.25, cupy.zeros(100))
    assert done.success
    cupy.testing.assert_allclose(done.x, 1, atol=1e-9)
    with pytest.raises(TypeError, match="no derivatives"):
        whilst.Minimizer(extended_rosenbrock, x0)
    with pytest.raises(RuntimeError):  # CuPy's own, or whilst.Error
        whilst.Minimizer(lambda x: float(x.sum()) * x.sum(), x0, jac=lambda x: x)


def test_arrays_of_other_libraries_are_refused():
    class Array:
        __cuda_array_interface__ = {"shape": (3,), "typestr": "<f8", "data": (0, False), "version": 3}

    with pytest.raises(TypeError, match="only functions of PyTorch, CuPy and Warp"):
        whilst.minimize(lambda x: x, Array())
    with pytest.raises(TypeError, match="only functions of PyTorch, CuPy and Warp"):
        _array_libraries.functions_like(Array(), "x0")
    for solver in (whilst.Minimizer, whilst.LeastSquaresSolver, whilst.RootSolver):
        with pytest.raises(TypeError, match="array on a GPU"):
            solver(lambda x: x, np.ones(3))


class SecondDifference:
    """2 u - neighbours on n points of a line, for the arrays of any library."""

    def __init__(self, n, dtype=np.float64):
        self.shape, self.dtype, self.calls = (n, n), np.dtype(dtype), 0

    def matvec(self, u):
        self.calls += 1
        v = 2 * u
        v[1:] -= u[:-1]
        v[:-1] -= u[1:]
        return v

    rmatvec = matvec


def parabola(n):
    """Where SecondDifference is 1."""
    i = np.arange(1.0, n + 1)
    return i * (n + 1 - i) / 2


def arrays_of(library):
    """(to the GPU, back) for PyTorch or CuPy."""
    made = pytest.importorskip(library)
    if library == "torch":
        if not made.cuda.is_available():
            pytest.skip("PyTorch has no GPU")
        return lambda array: tensor(made, array), lambda array: array.cpu().numpy()
    return made.asarray, made.asnumpy


@on_gpu
@pytest.mark.parametrize("library", ["torch", "cupy"])
def test_linear_solver_of_functions(library):
    to_gpu, back = arrays_of(library)
    n, A = 60, SecondDifference(60)
    b = to_gpu(np.ones(n))
    for M in (None, lambda r: r / 2):
        solver = whilst.LinearSolver(A, "cg", M, like=b, rtol=1e-11)
        assert solver.executor == "graph"
        calls = A.calls
        x, report = solver.solve(b)
        again, _ = solver.solve(b)
        assert report.converged and type(x) is type(b) and A.calls == calls
        np.testing.assert_allclose(back(x), parabola(n), rtol=1e-7)
        np.testing.assert_array_equal(back(again), back(x))
    for M in (None, lambda r: r / 2):
        x, info = whilst.cg(A, b, rtol=1e-11, M=M)
        assert info == 0
        np.testing.assert_allclose(back(x), parabola(n), rtol=1e-7)
    x, report = whilst.LinearSolver(A, "lsqr", like=b, rtol=1e-9).solve(b)
    assert report.converged
    np.testing.assert_allclose(back(x), parabola(n), rtol=1e-5)
    in_float = to_gpu(np.ones(20, np.float32))
    x, info = whilst.cg(SecondDifference(20, np.float32), in_float, rtol=1e-4)
    assert info == 0
    with pytest.raises(TypeError, match="solved in float32"):
        whilst.LinearSolver(A, like=b, dtype=np.float32)
    with pytest.raises(ValueError, match="has shape"):
        whilst.LinearSolver(A, "cg", lambda r: r[:3], like=b)


@on_gpu
def test_a_matrix_with_a_function_as_its_preconditioner(torch):
    from conftest import poisson, relative_residual

    A, b = poisson(20), np.ones(400)
    right = tensor(torch, b)
    scale = tensor(torch, A.diagonal())
    x, info = whilst.cg(A, right, rtol=1e-10, M=lambda r: r / scale)  # the matrix in host memory
    assert info == 0 and relative_residual(A, b, x.cpu().numpy()) <= 1.001e-10

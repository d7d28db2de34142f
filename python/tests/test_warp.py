"""Functions of Warp's arrays, recorded, and Warp's arrays in linear solves. Left out where Warp is missing; and where there is no GPU
or no build with CUDA, but for what lies before the recording: there Warp's arrays on the CPU stand for those on a GPU."""

import contextlib
import gc
import types

import numpy as np
import pytest
import whilst
from conftest import poisson, relative_residual

from whilst import _array_libraries, _gpu_functions, _warp_functions

warp = pytest.importorskip("warp")
warp.config.quiet = True

has_gpu = whilst.machine()["executors"].get("graph") is True and warp.is_cuda_available()
on_gpu = pytest.mark.skipif(not has_gpu, reason="no GPU, for Whilst or for Warp")


@warp.kernel
def rosenbrock_terms(x: warp.array(dtype=warp.float64), value: warp.array(dtype=warp.float64)):
    i = warp.tid()
    a, b = x[2 * i], x[2 * i + 1]
    inner, outer = b - a * a, warp.float64(1.0) - a
    warp.atomic_add(value, 0, warp.float64(100.0) * inner * inner + outer * outer)


@warp.kernel
def squares_in_float(x: warp.array(dtype=warp.float32), value: warp.array(dtype=warp.float32)):
    i = warp.tid()
    warp.atomic_add(value, 0, (x[i] - 2.0) * (x[i] - 2.0))


@warp.kernel
def residuals(x: warp.array(dtype=warp.float64), r: warp.array(dtype=warp.float64)):
    i = warp.tid()
    next = x[(i + 1) % x.shape[0]]
    r[i] = x[i] + next * next / warp.float64(4.0) - warp.float64(1.25)


@warp.kernel
def added(x: warp.array(dtype=warp.float64), y: warp.array(dtype=warp.float64)):
    i = warp.tid()
    warp.atomic_add(y, i, x[i])


@warp.kernel
def second_difference(x: warp.array(dtype=warp.float64), y: warp.array(dtype=warp.float64)):
    i = warp.tid()
    v = warp.float64(2.0) * x[i]
    if i > 0:
        v -= x[i - 1]
    if i + 1 < x.shape[0]:
        v -= x[i + 1]
    y[i] = v


def rosenbrock(x):
    value = warp.zeros(1, dtype=warp.float64, device=x.device, requires_grad=True)
    warp.launch(rosenbrock_terms, dim=x.size // 2, inputs=[x], outputs=[value], device=x.device)
    return value


def in_closed_form(x):
    a, b = x[0::2], x[1::2]
    gradient = np.empty_like(x)
    gradient[0::2] = -400 * a * (b - a * a) - 2 * (1 - a)
    gradient[1::2] = 200 * (b - a * a)
    return (100 * (b - a * a) ** 2 + (1 - a) ** 2).sum(), gradient


def start(n):
    x = np.ones(n)
    x[0::2] = -1.2
    return x


class OnTheCpu(_warp_functions.WarpFunctions):
    def __init__(self, like):
        self.warp, self.device = warp, like.device
        self.dtype = np.dtype(like.__array_interface__["typestr"])

    @contextlib.contextmanager
    def on(self, stream):
        yield


@pytest.fixture
def cpu_stands_for_gpu(monkeypatch):
    kind = type(warp.zeros(1, device="cpu"))
    monkeypatch.setattr(kind, "__cuda_array_interface__", property(lambda self: self.__array_interface__))
    return lambda array: warp.array(array, device="cpu")


def called(functions, function, x, results):
    """What a Call writes for x, each at an address of its own, twice: the second time must not see the first."""
    call = _gpu_functions.Call(functions, "fun", function, x.size, results)
    written = [np.full(size, np.nan, dtype) for size, dtype in results.values()]
    for _ in range(2):
        call(0, x.ctypes.data, *(array.ctypes.data for array in written))
    return written


def test_value_and_gradient(cpu_stands_for_gpu):
    x = start(10) + 0.1 * np.arange(10)
    functions = OnTheCpu(cpu_stands_for_gpu(x))
    results = {"fun(x)": (1, np.dtype(np.float64)), "jac(x)": (10, np.dtype(np.float64))}
    value, gradient = called(functions, functions.value_and_gradient(rosenbrock, ()), x, results)
    expected, expected_gradient = in_closed_form(x)
    np.testing.assert_allclose(value, expected, rtol=1e-13)
    np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-12)


def test_results_are_converted(cpu_stands_for_gpu):
    """A value in float for one in double, and vectors of three for numbers."""
    x = np.arange(6, dtype=np.float32)
    functions = OnTheCpu(cpu_stands_for_gpu(x))

    def fun(x):
        value = warp.zeros(1, dtype=warp.float32, device=x.device)
        warp.launch(squares_in_float, dim=x.size, inputs=[x], outputs=[value], device=x.device)
        return value, warp.array(ptr=x.ptr, shape=2, dtype=warp.vec3, device=x.device)

    results = {"fun(x)": (1, np.dtype(np.float64)), "jac(x)": (6, np.dtype(np.float32))}
    value, same = called(functions, fun, x, results)
    assert value[0] == ((x - 2) ** 2).sum()
    np.testing.assert_array_equal(same, x)


def test_arrays_that_outlive_a_call_get_no_gradients_of_it(cpu_stands_for_gpu):
    x = start(4)
    functions = OnTheCpu(cpu_stands_for_gpu(x))
    kept = warp.zeros(1, dtype=warp.float64, device="cpu", requires_grad=True)
    between = warp.zeros(4, dtype=warp.float64, device="cpu", requires_grad=True)

    def fun(x):
        kept.zero_()
        between.zero_()
        warp.launch(added, dim=4, inputs=[x], outputs=[between], device="cpu")
        warp.launch(rosenbrock_terms, dim=2, inputs=[between], outputs=[kept], device="cpu")
        return kept

    results = {"fun(x)": (1, np.dtype(np.float64)), "jac(x)": (4, np.dtype(np.float64))}
    value, gradient = called(functions, functions.value_and_gradient(fun, ()), x, results)
    np.testing.assert_allclose(gradient, in_closed_form(x)[1], rtol=1e-12)
    assert not between.grad.numpy().any()


def test_what_functions_return_is_checked(cpu_stands_for_gpu):
    x = cpu_stands_for_gpu(start(4))
    functions = OnTheCpu(x)
    for returned, kind, problem in (
        (1.0, TypeError, "fun.x. is a float"),
        (warp.zeros(2, dtype=warp.float64, device="cpu", requires_grad=True), ValueError, "must have one entry"),
        (warp.zeros(1, dtype=warp.float64, device="cpu"), TypeError, "requires_grad=True"),
    ):
        with pytest.raises(kind, match=problem):
            functions.value_and_gradient(lambda x, one=returned: one, ())(functions.copy(x))


def test_the_pool_keeps_blocks_until_it_goes():
    memory = {}

    class Source:
        last = 0

        def allocate(self, size):
            Source.last += 1 << 20
            memory[Source.last] = size
            return Source.last

        def deallocate(self, address, size):
            assert memory.pop(address) == size

    pool = _warp_functions.Pool(Source())
    first, second = pool.allocate(100), pool.allocate(100)
    assert first != second
    pool.deallocate(first, 100)
    assert pool.allocate(512) == first and len(memory) == 2  # the same once rounded
    assert pool.allocate(513) not in (first, second) and pool.allocate(0)
    deallocate = pool.deallocate  # as an array has it
    del pool
    gc.collect()
    assert len(memory) == 4
    deallocate(first, 100)
    del deallocate
    gc.collect()
    assert not memory


def test_a_version_without_allocators_is_refused(monkeypatch):
    monkeypatch.setitem(_warp_functions.sys.modules, "warp", types.SimpleNamespace(__version__="1.0"))
    with pytest.raises(TypeError, match="Warp 1.0 takes its memory from CUDA alone"):
        _warp_functions.WarpFunctions(None)


def test_jax_arrays_are_refused_with_their_cure():
    kind = type("ArrayImpl", (), {"__module__": "jaxlib._jax"})
    with pytest.raises(TypeError, match="ArrayImpl.*streams of its own.*torch.from_dlpack"):
        _array_libraries.functions_like(kind(), "x0")


@on_gpu
@pytest.mark.parametrize("method", [None, "BFGS", "CG"])
@pytest.mark.parametrize("n", [2, 1000])
def test_minimize(method, n):
    x0 = warp.array(start(n), device="cuda:0")
    calls = []

    def fun(x):
        calls.append(x.shape)
        return rosenbrock(x)

    solver = whilst.Minimizer(fun, x0, method=method, tol=1e-8, check=True)
    recorded = len(calls)
    assert solver.executor == "graph"
    first, again = solver.solve(x0), solver.solve(x0)
    assert first.success and isinstance(first.x, warp.array) and len(calls) == recorded
    np.testing.assert_allclose(first.x.numpy(), 1, atol=1e-6)
    np.testing.assert_array_equal(x0.numpy(), start(n))
    np.testing.assert_allclose(again.x.numpy(), first.x.numpy(), atol=1e-6)  # atomic sums are in any order
    assert whilst.minimize(rosenbrock, x0, tol=1e-8).success
    x = warp.clone(x0)
    ticket = solver.enqueue(x)
    assert ticket.wait().converged
    np.testing.assert_allclose(x.numpy(), 1, atol=1e-6)


@on_gpu
def test_other_solvers():
    def fun(x):
        r = warp.empty_like(x, requires_grad=False)
        warp.launch(residuals, dim=x.size, inputs=[x], outputs=[r], device=x.device)
        return r

    done = whilst.root(fun, warp.zeros(100, dtype=warp.float64, device="cuda:0"))
    assert done.success
    np.testing.assert_allclose(done.x.numpy(), 1, atol=1e-9)
    x0 = warp.zeros(10, dtype=warp.float64, device="cuda:0")
    with pytest.raises(TypeError, match="derivatives twice"):
        whilst.least_squares(fun, x0)
    with pytest.raises(ValueError, match="needs hess or hessp"):
        whilst.minimize(rosenbrock, x0, method="Newton-CG")
    starts = warp.array(np.stack([start(10), 1.1 * start(10)]), device="cuda:0")
    together = whilst.minimize(rosenbrock, starts, tol=1e-8)
    assert together.success.all() and together.x.shape == (2, 10)
    np.testing.assert_allclose(together.x.numpy(), 1, atol=1e-6)


@on_gpu
def test_linear_solves():
    A, b = poisson(20), np.random.default_rng(17).standard_normal(400)
    right = warp.array(b, device="cuda:0")
    x, info = whilst.cg(A, right, rtol=1e-10)
    assert info == 0 and isinstance(x, warp.array) and relative_residual(A, b, x.numpy()) <= 1.001e-10
    again, report = whilst.LinearSolver(A, rtol=1e-10).solve(right, x)
    assert report.iterations == 0

    class Operator:
        shape, dtype = (60, 60), np.dtype(float)

        def matvec(self, u):
            v = warp.empty_like(u)
            warp.launch(second_difference, dim=u.size, inputs=[u], outputs=[v], device=u.device)
            return v

    ones = warp.ones(60, dtype=warp.float64, device="cuda:0")
    x, report = whilst.LinearSolver(Operator(), "cg", like=ones, rtol=1e-11).solve(ones)
    i = np.arange(1.0, 61)
    assert report.converged and report.executor == "graph"
    np.testing.assert_allclose(x.numpy(), i * (61 - i) / 2, rtol=1e-7)

"""Memory stays the same over ten thousand solves: the host's and, where there is one, the GPU's."""

import gc

import numpy as np
import pytest
import whilst
from conftest import poisson

from whilst import _core

has_gpu = whilst.machine()["executors"].get("graph") is True
on_gpu = pytest.mark.skipif(not has_gpu, reason=f"no GPU: {whilst.machine()['executors'].get('graph')}")
MOST_GROWTH_ON_GPU = 4 << 20  # CUDA hands memory out in pieces of 2 MB
MOST_GROWTH = 4 << 20  # bytes; an array of 400 doubles lost in each solve would be 32 MB


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


A, B = poisson(20), np.ones(400)
SOLVER = whilst.LinearSolver(A)
WITH_FUNCTION = whilst.LinearSolver(A, "cg", lambda r: r, max_iterations=5)


def fails():
    with pytest.raises(ZeroDivisionError):
        whilst.cg(A, B, M=lambda r: 1 / 0)
    with pytest.raises(TypeError):
        whilst.cg(A, B * 1j)


@pytest.mark.parametrize(
    "solve, times",
    [
        (lambda: whilst.cg(A, B, maxiter=5), 10000),
        (lambda: SOLVER.solve(B), 10000),
        (lambda: WITH_FUNCTION.solve(B), 10000),
        (lambda: whilst.LinearSolver(A, max_iterations=5, threads=1).solve(B), 1000),
        (lambda: whilst.cg(A, B, maxiter=3, M=lambda r: r), 1000),
        (fails, 500),
    ],
    ids=["function", "solver", "callback", "new solver", "new callback", "failures"],
)
def test_memory_stays_the_same(solve, times):
    for _ in range(times // 5):
        solve()
    gc.collect()
    before = resident()
    for _ in range(times):
        solve()
    gc.collect()
    assert resident() - before < MOST_GROWTH


def check_memory(solve, times, settle=lambda: None):
    """`settle` has a library give back what it keeps for later."""

    def solves(count):
        for _ in range(count):
            solve()
        gc.collect()
        settle()
        return resident(), _core.free_gpu_bytes()

    solves(times // 5)
    on_host, free = solves(1)
    on_host_then, free_then = solves(times)
    assert free - free_then <= MOST_GROWTH_ON_GPU
    assert on_host_then - on_host < 2 * MOST_GROWTH  # a driver keeps some of its own


@on_gpu
@pytest.mark.parametrize("executor", ["graph", "stream", "resident"])
def test_memory_with_arrays_of_the_host_on_a_gpu(executor):
    solver = whilst.LinearSolver(A, executor=executor)
    columns = np.ones((400, 3))
    check_memory(lambda: solver.solve(B), 10000)
    check_memory(lambda: whilst.cg(A, B, maxiter=5, executor=executor), 10000)
    check_memory(lambda: solver.solve(columns), 1000)
    check_memory(lambda: whilst.LinearSolver(A, max_iterations=5, executor=executor).solve(B), 1000)


def to_cupy():
    cupy = pytest.importorskip("cupy")
    from cupyx.scipy import sparse

    return cupy.asarray, sparse.csr_matrix(A), cupy.get_default_memory_pool().free_all_blocks


def to_torch():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("PyTorch has no GPU")
    arrays = (torch.as_tensor(array) for array in (A.indptr.astype(np.int64), A.indices.astype(np.int64), A.data))
    matrix = torch.sparse_csr_tensor(*arrays, size=A.shape).cuda()
    return lambda array: torch.as_tensor(array).cuda(), matrix, torch.cuda.empty_cache


@on_gpu
@pytest.mark.parametrize("library", [to_cupy, to_torch], ids=["cupy", "torch"])
def test_memory_with_arrays_of_a_gpu(library):
    converted, matrix, settle = library()
    b, x, columns = converted(B), converted(0 * B), converted(np.ones((400, 3)))
    solver, automatic = whilst.LinearSolver(matrix), whilst.LinearSolver(matrix, "auto", "auto")
    for solve, times in (
        (lambda: solver.solve(b), 10000),
        (lambda: solver.enqueue(b, x).wait(), 10000),
        (lambda: whilst.cg(matrix, b, maxiter=5), 10000),
        (lambda: whilst.cg(A, b, maxiter=5), 10000),
        (lambda: solver.solve(columns), 10000),
        (lambda: automatic.solve(b), 10000),
        (lambda: whilst.LinearSolver(matrix, max_iterations=5).solve(b), 1000),
    ):
        check_memory(solve, times, settle)


@on_gpu
def test_memory_with_recorded_functions():
    """Solvers are made and dropped, and with them the pools of memory that their functions have."""
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("PyTorch has no GPU")
    x0 = torch.ones(1000, dtype=torch.float64, device="cuda")

    def fun(x):
        return ((x[1:] - x[:-1] ** 2) ** 2).sum() + ((2 - x) ** 2).sum()

    kept = whilst.Minimizer(fun, x0)
    check_memory(lambda: kept.solve(x0), 10000, torch.cuda.empty_cache)
    before = torch.cuda.memory_allocated()
    check_memory(lambda: whilst.Minimizer(fun, x0).solve(x0), 1000, torch.cuda.empty_cache)
    check_memory(lambda: whilst.RootSolver(lambda x: x - 2, x0).solve(x0), 200, torch.cuda.empty_cache)
    assert torch.cuda.memory_allocated() == before

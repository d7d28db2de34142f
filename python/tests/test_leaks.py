"""Memory stays the same over ten thousand solves."""

import gc

import numpy as np
import pytest
import whilst
from conftest import poisson

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

"""Minimizers of several ranks: a group of one, threads, and processes under mpirun where mpi4py is there."""

import gc
import weakref

import numpy as np
import pytest
import whilst

from ranks import on_ranks, printed_by_processes

TOLERANCE = 1e-8
ROUNDING = 1e4 * np.finfo(float).eps  # of the gradient: a few terms of up to 800 an entry
LEAST_EIGENVALUE = 0.399  # of a pair's Hessian at ones, and so of their sum's


class Chain:
    """A rank's part of chained Rosenbrock, the sum of 100 (x_(i+1) - x_i^2)^2 + (1 - x_i)^2: a pair counts where x_i is."""

    def __init__(self, group, n=40, cuts=None):
        cuts = cuts or [q * n // group.size for q in range(group.size + 1)]
        self.first, self.end = cuts[group.rank : group.rank + 2]
        self.own = self.end - self.first
        self.below = [self.first - 1] if self.own and self.first > 0 else []
        self.ghosts = self.below + ([self.end] if self.own and self.end < n else [])
        self.start = np.full(self.own, 0.5)

    def __call__(self, x):
        own, before = self.own, len(self.below)
        whole = np.concatenate((x[own : own + before], x[:own], x[own + before :]))  # in the order of numbers
        rise, off = whole[1:] - whole[:-1] ** 2, 1 - whole[:-1]
        slope = np.zeros_like(whole)
        slope[:-1] -= 400 * whole[:-1] * rise + 2 * off
        slope[1:] += 200 * rise
        return np.sum((100 * rise**2 + off**2)[before:]), slope[before : before + own]

    def solver(self, group, fun=None, **more):
        given = dict(ghosts=self.ghosts, tol=TOLERANCE, jac=True) | more
        return whilst.DistributedMinimizer(fun or self, self.start, group, **given)


def check_ones(x):
    """By the gradient of the whole, a pair after another."""
    gradient = np.zeros_like(x)
    for i in range(len(x) - 1):
        rise = x[i + 1] - x[i] ** 2
        gradient[i] += -400 * x[i] * rise - 2 * (1 - x[i])
        gradient[i + 1] += 200 * rise
    assert np.linalg.norm(gradient) <= TOLERANCE + ROUNDING
    assert np.linalg.norm(x - 1) <= 2 * (TOLERANCE + ROUNDING) / LEAST_EIGENVALUE


def test_one_rank_finds_what_minimize_finds():
    chain = Chain(whilst.Group())
    solver = chain.solver(whilst.Group())
    found = solver.solve(chain.start)
    alone = whilst.minimize(chain, chain.start, method="L-BFGS-B", jac=True, tol=TOLERANCE)
    assert found.success and found.reason == "converged_gradient" and found.nit == alone.nit
    assert found.fun <= TOLERANCE and found.gradient_norm <= TOLERANCE and found.nfev >= found.nit
    check_ones(found.x)
    assert np.abs(found.x - alone.x).max() <= 4 * (TOLERANCE + ROUNDING) / LEAST_EIGENVALUE  # each that close to ones
    assert np.array_equal(chain.start, np.full(40, 0.5))  # not written to
    assert solver.transport == "one rank" and solver.lost_rank is None and solver.executor == "host"
    assert "rank 0 of 1" in repr(solver) and "f and g" in solver.explain() and "bytes" in solver.memory().lower()
    assert np.array_equal(solver.solve(list(chain.start)).x, found.x)


@pytest.mark.parametrize("method", ["lbfgs", "CG", "conjugate-gradient-hz"])
@pytest.mark.parametrize("transport", ["auto", "shared memory"])
def test_threads_minimize_together(method, transport):
    def work(group):
        chain = Chain(group, cuts=[0, 17, 17, 40])  # the middle rank has no unknowns
        solver = chain.solver(group, method=method, options={"transport": transport})
        found = solver.solve(chain.start)
        x = chain.start.copy()
        report = solver.enqueue(x).wait()
        assert report.converged and np.array_equal(x, found.x)
        return found, solver.transport

    results = on_ranks(3, work)
    check_ones(np.concatenate([found.x for found, _ in results]))
    for found, taken in results:
        assert found.success and taken == ("threads" if transport == "auto" else transport)
        for same in ("nit", "nfev", "fun", "gradient_norm", "message"):
            assert found[same] == results[0][0][same]


def test_arguments_a_separate_gradient_and_no_ghosts():
    def work(group):
        target = np.arange(4.0) + 10 * group.rank
        gradients = []

        def jac(x, scale):
            gradients.append(x)
            return scale * (x - target)

        solver = whilst.DistributedMinimizer(
            lambda x, scale: scale / 2 * np.sum((x - target) ** 2), np.zeros(4), group, args=(3.0,), jac=jac, tol=1e-10
        )
        found = solver.solve(np.zeros(4))
        return found, target, len(gradients)

    for found, target, calls in on_ranks(2, work):
        assert found.success and calls >= 2
        assert np.abs(found.x - target).max() <= 1e-10 / 3 + 4 * np.finfo(float).eps * 13
        assert found.fun <= 1e-20


def test_limits_and_cancel():
    def work(group):
        chain = Chain(group)
        solver = chain.solver(group, options={"maxiter": 2})
        limited = solver.solve(chain.start)
        solver.set_max_iterations(10**6)
        calls = []

        def cancelling(x):
            calls.append(0)
            if group.rank == 1 and len(calls) == 5:
                other.cancel()
            return chain(x)

        other = chain.solver(group, cancelling)
        return limited, solver.solve(chain.start), other.solve(chain.start)

    results = on_ranks(2, work)
    for limited, converged, cancelled in results:
        assert limited.reason == "iteration_limit" and limited.nit == 2 and not limited.success
        assert converged.success and cancelled.reason == "cancelled"
        assert cancelled.nit == results[0][2].nit


@pytest.mark.parametrize("call", [1, 6])
def test_an_exception_passes_on_its_rank_and_ends_the_solve_on_all(call):
    class Trouble(Exception):
        pass

    def work(group):
        chain, calls = Chain(group), []

        def fun(x):
            calls.append(0)
            if group.rank == 1 and len(calls) == call:
                raise Trouble("no logarithm of -1")
            return chain(x)

        solver = chain.solver(group, fun, peer_limit_seconds=1e4)
        try:
            ended = solver.solve(chain.start).reason
        except Trouble as problem:
            ended = problem
        assert solver.solve(chain.start).success  # as if nothing had been
        return ended

    ended = on_ranks(3, work)
    assert isinstance(ended[1], Trouble)
    assert ended[0] == ended[2] == ("nan_or_infinity" if call == 1 else "cancelled")


def test_a_value_that_is_no_number_ends_the_solve_on_all():
    def work(group):
        chain = Chain(group)
        return chain.solver(group, lambda x: (np.nan if group.rank else chain(x)[0], chain(x)[1])).solve(chain.start)

    for found in on_ranks(2, work):
        assert found.reason == "nan_or_infinity" and not found.success and np.array_equal(found.x, np.full(20, 0.5))


def test_what_one_rank_does_wrong_all_learn():
    def wrong(change):
        def work(group):
            chain = Chain(group)
            given = dict(fun=chain, x0=chain.start, ghosts=chain.ghosts, jac=True)
            whilst.DistributedMinimizer(group=group, **(given | change if group.rank == 1 else given))

        return on_ranks(2, work)

    for change, kind, words in [
        ({"fun": 3}, TypeError, "fun is a int"),
        ({"x0": np.zeros((2, 2))}, ValueError, "x0 has shape (2, 2)"),
        ({"x0": np.zeros(3, complex)}, TypeError, "x0 has complex numbers"),
        ({"jac": None}, ValueError, "does not tell the derivatives"),
        ({"ghosts": [1.5]}, TypeError, "Give a vector of whole numbers"),
        ({"ghosts": [30]}, whilst.Error, "this rank's own"),
        ({"ghosts": [-1]}, whilst.Error, "ghost 0 is -1"),
        ({"ghosts": [5, 4]}, whilst.Error, "Sort them"),
        ({"ghosts": [40]}, whilst.Error, "from 0 to 39"),
        ({"x0": []}, whilst.Error, "rank 0 failed: making a halo plan: ghost 0 is 20"),  # there are 20 unknowns then
        ({"method": "nonsense"}, ValueError, "no method called 'nonsense'"),
        ({"method": "Newton-CG"}, whilst.Error, "no method for several ranks called 'newton-cg'"),
        ({"tol": -1.0}, whilst.Error, "the tolerance of gradient is negative"),
        ({"tol": 1e-3}, whilst.Error, "gives other options than rank 0"),
        ({"options": {"transport": "pigeons"}}, whilst.Error, "no transport called 'pigeons'"),
        ({"options": {"executor": "host"}}, TypeError, "executor is no option here"),
        ({"options": {"nonsense": 1}}, TypeError, "no option called 'nonsense'"),
        ({"peer_limit_seconds": "long"}, ValueError, "could not convert"),
        ({"peer_limit_seconds": 0}, whilst.Error, "not positive"),
    ]:
        first, second = wrong(change)
        assert isinstance(second, kind) and words in str(second), (change, second)
        assert isinstance(first, whilst.Error), (change, first)


def test_what_a_function_returns_wrongly():
    for returned, kind, words in [
        (1.0, TypeError, "fun must return the value and the gradient"),
        ((np.zeros(2), np.zeros(20)), ValueError, "fun(x) has shape (2,)"),
        ((0.0, np.zeros(21)), ValueError, "jac(x) has shape (21,). It must have the rank's 20 entries"),
        ((0.0, np.zeros(20, complex)), TypeError, "jac(x) has complex numbers"),
    ]:

        def work(group):
            chain = Chain(group)
            return chain.solver(group, lambda x: returned if group.rank == 1 else chain(x)).solve(chain.start).reason

        first, second = on_ranks(2, work)
        assert isinstance(second, kind) and words in str(second)
        assert first == "nan_or_infinity"
    chain = Chain(whilst.Group())
    solver = chain.solver(whilst.Group())
    for x0, kind, words in [
        (np.zeros(39), ValueError, "x0 has 39 entries"),
        (np.zeros((2, 40)), ValueError, "x0 has shape (2, 40)"),
    ]:
        with pytest.raises(kind) as problem:
            solver.solve(x0)
        assert words in str(problem.value)
    for x, kind, words in [
        (np.zeros(40, np.float32), ValueError, "type float32"),
        (np.zeros(80)[::2], ValueError, "gaps"),
        ([0.0] * 40, TypeError, "x is a list"),
    ]:
        with pytest.raises(kind, match=words):
            solver.enqueue(x)
    with pytest.raises(whilst.Error, match="one of its own callbacks"):
        again = chain.solver(whilst.Group(), lambda x: (again.solve(chain.start), chain(x)[1]))
        again.solve(chain.start)


def test_a_rank_that_does_not_come_is_lost_and_recovers():
    def work(group):
        chain = Chain(group)
        solver = chain.solver(group, peer_limit_seconds=0.5)
        left = solver.solve(chain.start) if group.rank == 0 else None
        lost = solver.lost_rank
        solver.recover()
        return left, lost, solver.solve(chain.start)

    first, second = on_ranks(2, work)
    assert first[0].reason == "peer_lost" and first[1] == 1
    assert first[2].success and second[2].success


def test_nothing_is_kept():
    chain = Chain(whilst.Group())
    solver = chain.solver(whilst.Group())
    solver.solve(chain.start)
    chain.solver_of = solver  # a cycle by way of the core
    gone = weakref.ref(chain)
    del chain, solver
    gc.collect()
    assert gone() is None


PROGRAM = """
import numpy as np, sys, whilst
from mpi4py import MPI
group = whilst.Group.from_mpi4py(MPI.COMM_WORLD)
n = 30
first, end = (n * q // group.size for q in (group.rank, group.rank + 1))
below = int(first > 0)
def springs(x):  # the sum of (x_i - x_(i-1) - 1)^2 / 2 with x_(-1) = -1: least at x_i = i, where it is 0
    own = end - first
    chain = np.concatenate((x[own:own + 1] if below else [-1.0], x[:own]))
    stretch = np.diff(chain) - 1
    gradient = stretch.copy()
    gradient[:-1] -= stretch[1:]
    if end < n: gradient[-1] -= x[-1] - x[own - 1] - 1
    return stretch @ stretch / 2, gradient
ghosts = ([first - 1] if below else []) + ([end] if end < n else [])
solver = whilst.DistributedMinimizer(springs, np.zeros(end - first), group, ghosts=ghosts, tol=1e-9)
found = solver.solve(np.zeros(end - first))
least = 4 * np.sin(np.pi / (2 * (2 * n + 1))) ** 2  # eigenvalue of a chain that one end holds
assert found.success and np.abs(found.x - np.arange(first, end)).max() <= 1e-9 / least + 1e-12, found
assert solver.transport == ("shared memory" if group.size > 1 else "one rank")
def failing(x):
    if group.rank == group.size - 1: raise ValueError("out of paper")
    return springs(x)
try:
    whilst.DistributedMinimizer(failing, np.zeros(end - first), group, ghosts=ghosts).solve(np.zeros(end - first))
    raise SystemExit("no exception")
except (ValueError if group.rank == group.size - 1 else whilst.Error) as problem:
    assert "out of paper" in str(problem)
group.barrier()
if group.rank == 0: print("minimized by", group.size)
"""


def test_processes_under_mpirun(tmp_path):
    for size in (1, 3):
        assert printed_by_processes(size, PROGRAM, tmp_path) == f"minimized by {size}"

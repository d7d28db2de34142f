"""What the functions share: arguments checked, and one solve with them."""

import os
import threading
import weakref
from collections import OrderedDict

import numpy as np

from . import _core
from ._arrays import GpuVector, current_stream, is_on_gpu, real_dtype, same_kind, to_numpy
from ._options import options_text
from ._parts import gpu_vector_of, make_core, start_on_gpu, vector_of
from ._systems import System, preconditioner
from .linear_solver import LinearSolver
from .report import Report

_MOST_KEPT = 8
_kept = OrderedDict()
_kept_lock = threading.Lock()


_AT_EACH_CALL = ("rtol", "atol", "max_iterations", "deadline")
_WITHOUT_FACTORS = ("none", "jacobi")  # nothing that a solve does not make anew by itself


def _seen_by_host(options):
    """The options with an executor under which the host sees each iteration, unless the caller chooses one.

    A GPU's own choice would be "graph" or "resident", which are done before the host has looked.
    """
    if options.get("executor", "auto") != "auto" or "WHILST_EXECUTOR" in os.environ:
        return options
    return {**options, "executor": "stream"} if _core.machine()["executors"].get("stream") is True else options


class _Kept:
    """A LinearSolver for a matrix on a GPU, whose values may be others at each call."""

    def __init__(self, A, system, method, M, options):
        self.matrix = A
        self._system, self._lock = system, threading.RLock()
        self._refreshes, self._is_new = M not in _WITHOUT_FACTORS, True
        self._solver = LinearSolver(system, method, M, dtype=system.dtype, **options)
        system.source = None  # its arrays stay

    def solve(self, b, x0, options, callback=None):
        with self._lock:
            self._solver.set_tolerances(options["rtol"], options["atol"])
            self._solver.set_max_iterations(options["max_iterations"])
            deadline = options.get("deadline")
            self._solver.set_deadline(float("inf" if deadline is None else deadline))
            self._system.wait_for_arrays(current_stream(b) if is_on_gpu(b) else None)
            if self._refreshes and not self._is_new:
                self._solver.update_values(self._system)
            self._is_new = False
            return self._solver.solve(b, x0, callback=callback)


def kept_solver(A, system, method, M, options):
    """What solves with a matrix on a GPU, the same as last time for the same object with the same arrays and options.

    The library's cache finds a matrix on a GPU by its addresses, and a library with a memory pool gives them to the next matrix. So
    solvers are kept here as long as A lives, the last few of them.
    """
    fixed = {key: value for key, value in options.items() if key not in _AT_EACH_CALL}
    key = (id(A), method, M, options_text(fixed), *system.addresses())
    with _kept_lock:
        if key in _kept and _kept[key].matrix() is A:
            _kept.move_to_end(key)
            return _kept[key]
    kept = _Kept(weakref.ref(A, lambda _: _kept.pop(key, None)), system, method, M, options)
    with _kept_lock:
        _kept[key] = kept
        while len(_kept) > _MOST_KEPT:
            _kept.popitem(last=False)
    return kept


class Problem:
    """A x = b with all that a solve needs."""

    def __init__(self, method, A, b, x0, M, options):
        self.method, self.A, self.b, self.options = method, A.source if isinstance(A, System) else A, b, dict(options)
        for taken in ("method", "preconditioner", "rtol", "atol", "max_iterations"):
            if taken in options:
                raise TypeError(
                    f"{taken} is no option here: the function has arguments for it. Use LinearSolver for options by name"
                )
        self.system = System.of(A)
        rows, columns = self.system.shape
        self.square = rows == columns
        self.on_gpu = is_on_gpu(b)
        if self.on_gpu:
            self.dtype = self.system.dtype or GpuVector(b, "b").dtype
            self.M, self.given_M = preconditioner(M, self.system.shape, self.dtype), M
            self.right = gpu_vector_of(b, rows, self.dtype, "b")
            return
        b = to_numpy(b, "b")
        self.dtype = self.system.dtype_with(real_dtype(b.dtype, "b"))
        self.right = vector_of(b, rows, self.dtype, "b")
        self.M = preconditioner(M, self.system.shape, self.dtype)
        self.given_M = M
        if self.system.on_gpu and self.M[1] is not None:
            raise TypeError(
                "M is a function of arrays in host memory, and A lies on a GPU. Name one of Whilst's preconditioners"
            )
        if isinstance(x0, str):
            if x0 != "Mb" or self.M[0] not in ("none", "user"):
                raise ValueError(f"x0 is {x0!r}. Give an array, None, or 'Mb' where M is no name")
            x0 = self.M[1](self.right) if self.M[1] is not None else self.right
        self.start = np.zeros(columns, self.dtype) if x0 is None else vector_of(x0, columns, self.dtype, "x0")
        self._core = None
        self._matrix = self.system.matrix(self.dtype) if self.system.is_matrix else None

    def solve(self, rtol, atol, limit, look=None):
        """One solve from x0: (x, Report). look: called with each iteration and its residual norm."""
        options = {"rtol": rtol, "atol": atol, "max_iterations": limit, **self.options}
        # Functions of arrays in host memory have the loop run there, which shows all of it.
        if look is not None and self.M[1] is None and self.system.is_matrix:
            options = _seen_by_host(options)
        if self.system.on_gpu:  # and b is not
            kept = kept_solver(self.A, self.system, self.method, self.M[0], options)
            return kept.solve(self.right, self.start, options, look)
        x = self.start.copy()
        options["method"] = self.method
        if self.M[1] is None and self._matrix is not None:
            solve = _core.solve_cached
            return x, Report.of(solve(self._matrix, self.right, x, options_text(options), self.M[0], look))
        if self._core is None:
            self._core, self._kept = make_core(self.system, self.dtype, self.method, self.given_M, options)
        self._core.set_max_iterations(limit)
        return x, Report.of(self._core.solve(self.right, x, look, True))

    def solve_on_gpu(self, x0, rtol, atol, limit):
        """The same with b and x on a GPU, in the stream in which b's library works now."""
        options = {"rtol": rtol, "atol": atol, "max_iterations": limit, **self.options}
        if self.M[1] is not None or not self.system.is_matrix:  # functions may be others each time
            solver = LinearSolver(self.system, self.method, self.given_M, dtype=self.dtype, like=self.b, **options)
            return solver.solve(self.b, x0)
        if self.system.on_gpu:
            return kept_solver(self.A, self.system, self.method, self.M[0], options).solve(self.b, x0, options)
        x = start_on_gpu(self.b, x0, self.system.shape[1], self.dtype)
        done = _core.solve_cached_on_device(
            self.system.matrix(self.dtype),
            current_stream(self.b),
            self.right.address,
            GpuVector(x, "x").address,
            options_text({"method": self.method, **options}),
            self.M[0],
        )
        return x, Report.of(done)

    def solve_calling(self, callback, every, rtol, atol, limit):
        """The same with callback(x) after every so many iterations.

        The library keeps iterates to itself. A solve with a limit of k ends with the k-th, to the bit, so there is one solve for
        each call: the price of a callback is quadratic in the number of calls.
        """
        done = 0
        while True:
            done = min(done + every, limit)
            x, report = self.solve(rtol, atol, done)
            if report.iterations:
                callback(same_kind(np.array(x), self.b))
            if report.reason != "iteration_limit" or done == limit:
                return x, report

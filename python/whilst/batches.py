"""Several right-hand sides at once, and many small systems at once."""

import threading
from dataclasses import dataclass

import numpy as np

from . import _core
from ._arrays import (
    GpuVector,
    contiguous,
    copy_into,
    current_stream,
    is_on_gpu,
    real_dtype,
    same_kind,
    to_numpy,
    wait_for,
    zeros_on_gpu,
)
from ._options import options_text
from ._systems import System

_COLUMNS = {np.dtype(np.float32): _core.ColumnsFloat, np.dtype(np.float64): _core.ColumnsDouble}
_BATCHES = {np.dtype(np.float32): _core.BatchFloat, np.dtype(np.float64): _core.BatchDouble}
MOST_COLUMNS = 64  # of the library's solver at once


@dataclass(frozen=True, repr=False, eq=False)
class BatchReport:
    """How the columns of several right-hand sides, or the systems of a batch, ended: an entry for each.

    Attributes
    ----------
    reason : list of str
        Why each stopped: ``"converged_rtol"``, ``"iteration_limit"`` and so on.
    iterations, residual_norm, rhs_norm : numpy.ndarray
        Completed updates of x, ``||b - A x||`` recomputed from x at the end, and ``||b||``.
    message : str
        How many converged, and how the worst ended.
    setup_seconds, solve_seconds : float
        Of making the solver, and of the solve.
    method, preconditioner, executor, precision, device, note : str
        What ran, on what, and what the caller should know.
    """

    reason: list
    iterations: np.ndarray
    residual_norm: np.ndarray
    rhs_norm: np.ndarray
    message: str
    setup_seconds: float
    solve_seconds: float
    method: str
    preconditioner: str
    executor: str
    precision: str
    device: str
    note: str

    @property
    def converged(self):
        """Whether each converged, as an array of bool."""
        return np.array([one.startswith("converged") for one in self.reason], bool)

    @property
    def relative_residual(self):
        """``residual_norm / rhs_norm``; 0 where both are 0."""
        zero = self.residual_norm == 0
        return np.where(zero, 0.0, self.residual_norm / np.where(zero, 1.0, self.rhs_norm))

    def __bool__(self):
        return bool(self.converged.all())

    def __len__(self):
        return len(self.reason)

    def __repr__(self):
        return f"<whilst.BatchReport: {self.message}; {self.method} on {self.executor}, {self.solve_seconds:.3g} s>"


def joined(reports, what):
    """One BatchReport of several, or of Reports of one system each."""
    first = reports[0]
    together = {}
    for key in ("reason", "iterations", "residual_norm", "rhs_norm"):
        parts = [np.atleast_1d(getattr(one, key)) for one in reports]
        together[key] = np.concatenate(parts)
    together["reason"] = [str(one) for one in together["reason"]]
    converged = sum(one.startswith("converged") for one in together["reason"])
    message = first.message if len(reports) == 1 else f"{converged} of {len(together['reason'])} {what}s converged"
    notes = dict.fromkeys(one.note for one in reports if one.note)
    return BatchReport(
        **together,
        message=message,
        setup_seconds=sum(one.setup_seconds for one in reports),
        solve_seconds=sum(one.solve_seconds for one in reports),
        **{key: getattr(first, key) for key in ("method", "preconditioner", "executor", "precision", "device")},
        note="; ".join(notes),
    )


def make_columns(matrix, columns, dtype, options, preconditioner):
    """The core's solver of that many right-hand sides."""
    return _COLUMNS[dtype](matrix, columns, options_text(options), preconditioner)


class BatchSolver:
    """Solves many small systems ``A_k x_k = b_k`` at once, whose matrices share a pattern and have values of their own.

    The whole loop of a system runs inside one kernel, or on one thread of the host, and each system stops when it is done.

    Parameters
    ----------
    A : sparse matrix or array
        A square matrix in host memory with the pattern of all; its values are not used. See :class:`whilst.LinearSolver`.
    method : str
        ``"cg"``, ``"minres"``, ``"bicgstab"`` or ``"gmres"``.
    preconditioner : str, optional
        ``"jacobi"``, or none.
    dtype : numpy.dtype, optional
        float32 or float64; by default A's, if it is one of them, else float64.
    **options
        Other options of the library's, such as ``rtol``, ``max_iterations`` and ``deadline``.

    Raises
    ------
    TypeError, ValueError
        For arguments of a wrong type or shape.
    whilst.Error
        For what the library refuses, with the cure.

    Notes
    -----
    The first solve of a number of systems records the loop, and later ones of as many replay it. Threads may share a solver, which
    solves for one at a time, without the GIL.
    """

    def __init__(self, A, method="cg", preconditioner=None, *, dtype=None, **options):
        self._system = system = System.of(A)
        if not system.is_matrix or system.on_gpu:
            raise TypeError("A gives the pattern of all systems. Pass a matrix in host memory")
        self._dtype = system.dtype if dtype is None else np.dtype(dtype)
        if self._dtype not in _BATCHES:
            raise TypeError(f"dtype is {self._dtype}. Give float32 or float64")
        if preconditioner is not None and not isinstance(preconditioner, str):
            raise TypeError("a batch has no preconditioner of your own. Give a name, or leave it out")
        self._matrix = system.matrix(self._dtype)
        self._text = options_text({"method": method, **options})
        self._preconditioner = preconditioner or "none"
        self._lock = threading.Lock()
        self._systems, self._core = 1, self._made(1)

    def _made(self, systems):
        return _BATCHES[self._dtype](self._matrix, systems, self._text, self._preconditioner)

    def solve(self, values, b, x0=None):
        """Solves all systems.

        Parameters
        ----------
        values : array of shape (systems, nonzeros)
            The values of each matrix, in the order of A in CSR form.
        b : array of shape (systems, rows)
            The right-hand sides; all arrays lie in host memory, or all on the GPU, C-contiguous and of the solver's type.
        x0 : array of shape (systems, rows), optional
            The initial guesses, which are not written to; zero by default.

        Returns
        -------
        x : array of shape (systems, rows)
            The solutions, in an array of the library that b is from.
        report : BatchReport
            How each system ended.
        """
        on_gpu = is_on_gpu(b)
        shape = tuple(GpuVector(b, "b").shape if on_gpu else to_numpy(b, "b").shape)
        rows, nonzeros = self._system.shape[0], self._matrix.nonzeros
        if len(shape) != 2 or shape[0] < 1 or shape[1] != rows:
            raise ValueError(f"b has shape {shape}. The pattern asks for (systems, {rows}), and one system at least")
        systems = shape[0]
        expected = {"values": (values, (systems, nonzeros)), "b": (b, shape), "x0": (x0, shape)}
        read = self._on_gpu if on_gpu else self._on_host
        given = {what: read(array, size, what) for what, (array, size) in expected.items() if array is not None}
        with self._lock:
            if systems != self._systems:
                self._systems, self._core = systems, self._made(systems)
            if on_gpu:
                x = zeros_on_gpu(b, shape)
                if x0 is not None:
                    copy_into(x, x0)
                stream = current_stream(x)
                wait_for(values, stream)
                addresses = given["values"].address, given["b"].address, GpuVector(x, "x").address
                return x, BatchReport(**self._core.solve_on_device(stream, *addresses))
            x = np.zeros(shape, self._dtype) if x0 is None else given["x0"].copy()
            fields = self._core.solve(given["values"].reshape(-1), given["b"].reshape(-1), x.reshape(-1))
        return same_kind(x, b), BatchReport(**fields)

    def _on_host(self, array, shape, what):
        array = to_numpy(array, what)
        _check_shape(array.shape, shape, what)
        real_dtype(array.dtype, what)
        return contiguous(array, self._dtype)

    def _on_gpu(self, array, shape, what):
        if not is_on_gpu(array):
            raise TypeError(f"{what} does not lie on a GPU, and b does. Put both on the same device")
        array = GpuVector(array, what)
        _check_shape(array.shape, shape, what)
        if array.dtype != self._dtype:
            raise TypeError(f"{what} has numbers of type {array.dtype}, and the solver {self._dtype}. Convert it")
        return array

    @property
    def executor(self):
        """What runs the loop, ``"batch"`` on a GPU or ``"host"``."""
        return self._core.executor()

    def __repr__(self):
        rows = self._system.shape[0]
        return f"<whilst.BatchSolver: systems of {rows} x {rows}, {self._dtype}, on {self.executor}>"


def _check_shape(shape, expected, what):
    if tuple(shape) != expected:
        raise ValueError(f"{what} has shape {tuple(shape)}. The systems ask for {expected}")

"""A solver that is recorded once and solves many times."""

import numpy as np

from . import _core
from ._arrays import (
    GpuColumns,
    GpuVector,
    copy_into,
    current_stream,
    is_on_gpu,
    real_dtype,
    same_kind,
    stream_address,
    stream_for,
    to_numpy,
    wait_for,
    writable,
    zeros_on_gpu,
)
from ._options import limit_of, tolerance
from ._parts import SOLVERS, Alone, gpu_vector_of, make_core, start_on_gpu, vector_of
from ._systems import System, is_sparse
from .batches import MOST_COLUMNS, BatchReport, joined, make_columns
from .report import Report
from .ticket import Ticket

_MOST_WIDTHS = 2  # whole blocks of columns, and what is left of the last
_LONG = 0.02  # seconds of a solve on a GPU after which later ones look for Ctrl-C, which adds up to a millisecond


class LinearSolver:
    """Solves A x = b, or min ``||b - A x||``, for one matrix and many right-hand sides.

    The loop is recorded when the solver is made and replayed by each solve.

    Parameters
    ----------
    A : sparse matrix, array or operator
        A SciPy or CuPy sparse matrix (CSR is read without a copy), a PyTorch sparse CSR tensor, a dense matrix, or anything with
        ``shape`` and ``matvec``, and ``rmatvec`` where the method needs it. On the host, solves read the arrays of a CSR matrix of
        float32 or float64 in place.
    method : str
        ``"cg"``, ``"minres"``, ``"bicgstab"``, ``"gmres"``, ``"lsqr"``, ``"auto"`` and so on.
    preconditioner : str, matrix, operator or function, optional
        The name of one of Whilst's, with settings after it if you like, ``"amg,strength=0.1"``; or M, close to the inverse of A:
        a matrix, an operator with ``matvec``, or a function of r.
    dtype : numpy.dtype, optional
        float32 or float64; by default A's, if it is one of them, else float64.
    like : array, optional
        A PyTorch tensor, or an array of CuPy's or Warp's, on a GPU. Functions given as A, by ``matvec``, and as M then get arrays of its library, type and
        GPU. They are called a few times, while the loop is recorded: see :class:`RecordedSolver`.
    **options
        Every other option of the library's: ``rtol``, ``atol``, ``max_iterations``, ``executor``, ``deadline``, ``restart``,
        ``threads``, ``deflation`` and so on. ``whilst.DEFAULTS`` lists all.

    Raises
    ------
    TypeError, ValueError
        For arguments of a wrong type or shape.
    whilst.Error
        For what the library refuses, with the cure.

    Notes
    -----
    Threads may share a solver: it solves for one at a time, without the GIL. Functions given to it get arrays that they may keep.
    """

    def __init__(self, A, method="cg", preconditioner=None, *, dtype=None, like=None, **options):
        self._alone = Alone()
        self._updated = None
        self._seconds = float("inf")
        self._report = None
        self._system = system = System.of(A)
        if dtype is not None:
            self._dtype = np.dtype(dtype)
            if self._dtype not in SOLVERS:
                raise TypeError(f"dtype is {self._dtype}. Give float32 or float64")
        elif like is not None:
            self._dtype = GpuVector(like, "like").dtype
            if self._dtype not in SOLVERS:
                raise TypeError(f"like has numbers of type {self._dtype}. Give an array of float32 or float64")
        else:
            self._dtype = system.dtype_with(np.dtype(np.float32))
        self._core, (self._matrix, self._functions) = make_core(
            system, self._dtype, method, preconditioner, options, like
        )
        self._method = method
        self._preconditioner, self._options = preconditioner, dict(options)
        self._settings = {}  # what later solves have, by the core's name for setting it
        self._of_columns = {}  # the core's solvers of several right-hand sides, by their number
        self._values_are_of_core = False  # copied by the single one's: others cannot read them
        self._may_go_on = "auto" in (method, preconditioner)

    @property
    def shape(self):
        """Rows and columns of A."""
        return self._system.shape

    @property
    def dtype(self):
        """The type of b and x within the solver, float32 or float64."""
        return self._dtype

    @property
    def executor(self):
        """What runs the loop, ``"host"``, ``"stream"``, ``"graph"`` or ``"resident"``."""
        return self._core.executor()

    @property
    def report(self):
        """The :class:`Report` of the last :meth:`solve`; None before the first."""
        return self._report

    def solve(self, b, x0=None, *, callback=None):
        """Solves for one right-hand side, or for several at once.

        Parameters
        ----------
        b : array
            An entry a row, in host memory or on the solver's GPU; or an array of shape (rows, k), whose columns are k right-hand
            sides. Method ``"cg"`` solves 64 of them at once, with a product that reads A once for all. On a GPU, columns are read
            in place where the array is in Fortran order; else they are copied, on the GPU. X is in Fortran order.
        x0 : array, optional
            The initial guess, of x's shape, which is not written to; zero by default.
        callback : function, optional
            Called with the number of iterations and the residual norm; an exception from it ends the solve. Executors
            ``"graph"`` and ``"resident"`` call it about every millisecond, ``"host"`` and ``"stream"`` after each iteration. For b
            in host memory alone.

        Returns
        -------
        x : array
            The solution, in an array of the library that b is from; with a column for each of b's.
        report : Report or BatchReport
            How the solve ended; a :class:`BatchReport` for several right-hand sides.
        """
        rows, columns = self.shape
        if len(getattr(b, "shape", ())) == 2 and b.shape[1] != 1:
            return self._solve_columns(b, x0, callback)
        if is_on_gpu(b):
            if callback is not None:
                raise TypeError("no callback is called for arrays on a GPU. Use enqueue, and ticket.progress()")
            x = start_on_gpu(b, x0, columns, self._dtype)
            (to, of), stream = self._given_on_gpu(b, x), stream_for(x, b)
            self._report = self._solve_on_gpu(stream, of.address, to.address)
            return x, self._report
        right = vector_of(b, rows, self._dtype, "b")
        x = np.zeros(columns, self._dtype) if x0 is None else vector_of(x0, columns, self._dtype, "x0").copy()
        with self._alone:
            check = self.executor == "host" or self._seconds > _LONG
            report = Report.of(self._core.solve(right, x, callback, check))
            self._seconds = report.solve_seconds
        self._report = report
        return same_kind(x, b), report

    def _solve_on_gpu(self, stream, b, x):
        """b, x: their addresses."""
        with self._alone:
            if self._may_go_on:
                check = self.executor == "host" or self._seconds > _LONG
                report = Report.of(self._core.solve_on_device(stream, b, x, check))
                self._seconds = report.solve_seconds
                return report
            ticket = self._core.enqueue(stream, b, x)
        return Report.of(ticket.wait())

    def _given_on_gpu(self, b, x):
        """x and b, checked."""
        rows, columns = self.shape
        to, of = gpu_vector_of(x, columns, self._dtype, "x"), gpu_vector_of(b, rows, self._dtype, "b")
        if to.read_only:
            raise ValueError("x is read-only. Pass an array that can be written to")
        self._require_gpu(of)
        return to, of

    def _require_gpu(self, array):
        """Else executor host would read it."""
        if self.executor == "host" and _core.is_memory_of_gpu(array.address):
            raise TypeError("b lies on a GPU, and the solver is on the host. Make one that is not, or pass host memory")

    def _solve_columns(self, b, x0, callback):
        if callback is not None:
            raise TypeError("no callback is called for several right-hand sides. Solve for one column after another")
        shape = tuple(b.shape)
        rows, columns = self.shape
        if shape[0] != rows or shape[1] < 1:
            raise ValueError(f"b has shape {shape}. The matrix asks for ({rows},) or ({rows}, k)")
        if x0 is not None and tuple(getattr(x0, "shape", np.shape(x0))) != (columns, shape[1]):
            given = tuple(getattr(x0, "shape", np.shape(x0)))
            raise ValueError(f"x0 has shape {given}. The right-hand sides ask for {(columns, shape[1])}")
        x, reports = (self._columns_on_gpu if is_on_gpu(b) else self._columns_on_host)(b, x0, shape[1])
        self._report = joined(reports, "column")
        return x, self._report

    def _columns_on_host(self, b, x0, number):
        right = to_numpy(b, "b")
        real_dtype(right.dtype, "b")
        x = np.zeros((self.shape[1], number), self._dtype, order="F")
        if x0 is not None:
            start = to_numpy(x0, "x0")
            real_dtype(start.dtype, "x0")
            x[...] = start
        reports = []
        for some, core in self._blocks_of(number):
            if core is None:
                k = some.start
                x[:, k], report = self.solve(np.ascontiguousarray(right[:, k]), x[:, k])
                reports.append(report)
                continue
            part = np.require(right[:, some], self._dtype, "F").reshape(-1, order="F")
            with self._alone:
                fields = core.solve(part, x[:, some].reshape(-1, order="F"))
            reports.append(BatchReport(**fields))
        return same_kind(x, b), reports

    def _columns_on_gpu(self, b, x0, number):
        right = GpuColumns(b, "b")
        if right.dtype != self._dtype:
            raise TypeError(
                f"b has numbers of type {right.dtype}, and the system is solved in {self._dtype}. Convert it"
            )
        self._require_gpu(right)
        x = zeros_on_gpu(b, (self.shape[1], number), "F")
        if x0 is not None:
            if not is_on_gpu(x0):
                raise TypeError("x0 does not lie on a GPU, and b does. Put both on the same device")
            copy_into(x, x0)
        to, stream = GpuColumns(x, "x"), current_stream(x)
        wait_for(right.array, stream)
        reports = []
        for some, core in self._blocks_of(number):
            given = stream, right.column(some.start), to.column(some.start)
            if core is None:
                reports.append(self._solve_on_gpu(*given))
                continue
            with self._alone:
                reports.append(BatchReport(**core.solve_on_device(*given)))
        return x, reports

    def _blocks_of(self, number):
        """Columns that are solved in one call, as slices, each with the core's solver of so many; None for the single one."""
        named = self._preconditioner is None or isinstance(self._preconditioner, str)
        if self._system.is_matrix and named and not self._values_are_of_core:
            for first in range(0, number, MOST_COLUMNS):
                some = slice(first, min(first + MOST_COLUMNS, number))
                with self._alone:
                    core = self._core_of(some.stop - some.start)
                yield some, core
        else:
            for k in range(number):
                yield slice(k, k + 1), None

    def _core_of(self, columns):
        """The core's solver of that many right-hand sides."""
        if columns not in self._of_columns:
            options = {"method": self._method, **self._options}
            core = make_columns(self._matrix, columns, self._dtype, options, self._preconditioner or "none")
            for name, settings in self._settings.items():
                getattr(core, name)(*settings)
            self._of_columns[columns] = core
            if len(self._of_columns) > _MOST_WIDTHS:
                del self._of_columns[next(iter(self._of_columns))]
        return self._of_columns[columns]

    def _set(self, name, *settings):
        """For all later solves."""
        getattr(self._core, name)(*settings)
        self._settings[name] = settings
        for core in list(self._of_columns.values()):
            getattr(core, name)(*settings)

    def enqueue(self, b, x, stream=None):
        """Enqueues a solve on a stream and returns without waiting.

        Parameters
        ----------
        b, x : array
            Contiguous, of the solver's type, on its GPU (in host memory under executor ``"host"``, where the solve has ended
            when this returns). x holds the initial guess and receives the solution.
        stream : optional
            A stream of CuPy, PyTorch or Warp, or its address, in which b, x and the values of a matrix on the GPU are ready; by default
            the one in which x's library works now, once b is written.

        Returns
        -------
        Ticket
        """
        rows, columns = self.shape
        if is_on_gpu(x):
            to, of = self._given_on_gpu(b, x)
            if stream is None:
                stream = stream_for(x, b)
            else:
                stream = stream_address(stream)
            with self._alone:
                ticket = self._core.enqueue(stream, of.address, to.address)
            return Ticket(ticket, self, b, x, self._updated)
        if self.executor != "host":
            raise TypeError("enqueue needs b and x on the solver's GPU. Use solve for arrays in host memory")
        if not isinstance(x, np.ndarray) and not hasattr(x, "__dlpack__"):
            raise TypeError(f"x is a {type(x).__name__}, into which nothing can be written. Pass an array")
        to, of = writable(x, "x"), vector_of(b, rows, self._dtype, "b")
        if to.shape not in ((columns,), (columns, 1)):
            raise ValueError(f"x has shape {to.shape}. The matrix asks for ({columns},)")
        if to.dtype != self._dtype or not to.flags.c_contiguous or not to.flags.writeable or not to.flags.aligned:
            raise TypeError(f"x is not a contiguous array of {self._dtype} that can be written to. Make it one")
        with self._alone:
            return Ticket(self._core.enqueue(0, of.ctypes.data, to.ctypes.data), self, of, to)

    def update_values(self, values):
        """New values for the same pattern; nothing is recorded again.

        Parameters
        ----------
        values : array or sparse matrix
            A value for each nonzero of A in CSR order, in host memory or, as A, on a GPU; or a matrix with A's pattern, anywhere.

        Notes
        -----
        On the host, and on a GPU from a GPU, the values of a matrix are read in place, and so are those of an array on a GPU.
        Those of an array in host memory are copied.
        """
        if not self._system.is_matrix:
            raise TypeError("the solver was made from an operator without a matrix, which has no values to update")
        of_matrix = isinstance(values, System) or is_sparse(values)
        of_array = not of_matrix and self._system.on_gpu and is_on_gpu(values)
        if of_array:
            gpu_vector_of(values, self._matrix.nonzeros, self._dtype, "values")
        if of_matrix or of_array:
            system = self._system.with_values(values) if of_array else System.of(values)
            if system.shape != self.shape:
                raise ValueError(
                    f"the matrix has shape {system.shape}, and the solver's {self.shape}. They must be the same"
                )
            matrix = system.matrix(self._dtype)
            if not system.on_gpu and not self._system.on_gpu and not system.has_pattern_of(self._system):
                raise ValueError("the matrix has its entries elsewhere than the solver's. Make a new solver")
            system.wait_for_arrays()
            with self._alone:
                # Solves on the host read it in place: both are kept in case the core fails half-way.
                self._updated = self._updated, system, matrix
                self._core.update_matrix(matrix)
                self._updated = system, matrix
                self._matrix = matrix
                self._values_are_of_core = False
                self._of_columns.clear()
            return
        vector = vector_of(values, self._matrix.nonzeros, self._dtype, "values")
        with self._alone:
            self._core.update_values(vector)
            self._values_are_of_core = self._system.on_gpu
            if not self._system.on_gpu:
                self._matrix = self._system.with_values(vector.copy()).matrix(self._dtype)
                self._of_columns.clear()

    def set_tolerances(self, rtol, atol=0.0):
        """Tolerances of later solves: they stop at ``||b - A x|| <= max(rtol ||b||, atol)``."""
        self._set("set_tolerances", tolerance("rtol", rtol), tolerance("atol", atol))

    def set_max_iterations(self, limit):
        """The most iterations of later solves."""
        self._set("set_max_iterations", limit_of(limit, None, "limit"))

    def set_deadline(self, seconds):
        """The most seconds that the loop of a later solve may run; ``float("inf")`` for any."""
        self._set("set_deadline", seconds)

    def refresh_preconditioner(self):
        """Has the next solve make a lagged preconditioner anew if the matrix has changed since it was made."""
        self._core.refresh_preconditioner()

    def cancel(self):
        """Stops the solve in flight, if any; callable from any thread."""
        self._core.cancel()
        for core in list(self._of_columns.values()):
            core.cancel()

    def explain(self):
        """The recorded loop as a readable tree."""
        return self._core.explain()

    def memory(self):
        """A table of the memory that the solver uses."""
        return self._core.memory()

    @property
    def nbytes(self):
        """Bytes of its place's memory that the solver holds."""
        return self._core.nbytes()

    def __repr__(self):
        rows, columns = self.shape
        return f"<whilst.LinearSolver: {self._method}, {rows} x {columns}, {self._dtype}, on {self.executor}>"

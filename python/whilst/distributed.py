"""Several ranks that solve one system together: processes under MPI, or threads."""

import numpy as np

from . import _core
from ._arrays import is_on_gpu, real_dtype, same_kind, stream_address, stream_for, to_numpy, writable
from ._options import limit_of, options_text, tolerance
from ._parts import Alone, gpu_vector_of, start_on_gpu, vector_of
from .report import Report
from .ticket import Ticket

_MATRICES = {
    np.dtype(np.float32): _core.DistributedMatrixFloat,
    np.dtype(np.float64): _core.DistributedMatrixDouble,
}
_SOLVERS = {
    np.dtype(np.float32): _core.DistributedSolverFloat,
    np.dtype(np.float64): _core.DistributedSolverDouble,
}


class Group:
    """Ranks that solve together. ``Group()`` is one of one rank; :meth:`from_mpi4py` and :meth:`threads` make others.

    Functions that are *collective* are called by all ranks in the same order. What one rank does wrong there raises an error on all,
    which names the rank.

    Attributes
    ----------
    rank, size : int
        This one's number, from 0, and how many there are.
    """

    def __init__(self):
        self._core = _core.Group()

    @classmethod
    def _of(cls, core):
        made = cls()
        made._core = core
        return made

    @classmethod
    def from_mpi4py(cls, comm):
        """The group of the processes of an mpi4py communicator. Collective over it; works with a duplicate of its own.

        One GPU a process: see docs/several-gpus.md.
        """
        own = comm.Dup()
        return cls._of(_core.Group(own.Get_rank(), own.Get_size(), lambda mine: b"".join(own.allgather(mine))))

    @classmethod
    def threads(cls, size):
        """Groups for so many threads of this process, as a list: hand the q-th to the thread that is rank q."""
        return [cls._of(core) for core in _core.Group.threads(size)]

    @property
    def rank(self):
        return self._core.rank

    @property
    def size(self):
        return self._core.size

    def barrier(self):
        """Returns when all ranks have called it. Collective."""
        self._core.barrier()

    def fail(self, message):
        """Says that this rank gives up, and why: the others' next call raises an error with this message."""
        self._core.fail(str(message))

    def __repr__(self):
        return f"<whilst.Group: rank {self.rank} of {self.size}>"


class DistributedLinearSolver:
    """Solves A x = b on all ranks of a group, each with its rows and its entries of b and x, one GPU a rank or on the host.

    Making it, :meth:`solve`, :meth:`enqueue`, :meth:`update_values` and :meth:`recover` are collective. All ranks take the same
    decisions in the same iteration, and get the same report but for times.

    Parameters
    ----------
    A : sparse matrix
        This rank's rows, in host memory: of shape (own rows, all rows), as a SciPy matrix whose columns are global. Copied.
    group : Group
    first_row : int, optional
        The global number of the first row; by default the rows of the ranks follow one another.
    method : str
        ``"cg"``, ``"flexible-cg"``, ``"pipelined-cg"``, ``"minres"``, ``"bicgstab"``, ``"gmres"`` or ``"lsqr"``.
    preconditioner : str, optional
        One that is for several ranks, as ``"jacobi"``.
    dtype : numpy.dtype, optional
        float32 or float64, on all ranks the same; by default A's, if it is one of them, else float64.
    peer_limit_seconds : float
        How long a solve waits for a rank that does not come, before it ends with reason ``"peer_lost"``.
    **options
        Others of the library's, the same on all ranks: ``rtol``, ``max_iterations``, ``executor``, ``transport``, ``device`` and so on.

    Raises
    ------
    TypeError, ValueError
        For this rank's arguments of a wrong type or shape; the others then get a whilst.Error.
    whilst.Error
        For what the library refuses, with the cure.
    """

    def __init__(
        self,
        A,
        group,
        *,
        first_row=None,
        method="cg",
        preconditioner=None,
        dtype=None,
        peer_limit_seconds=10.0,
        **options,
    ):
        self._alone = Alone()
        self._report = None
        self._group = group
        self._method = method
        agree = group._core.agree

        def read():
            csr = self._rows_of(A)
            self._dtype = np.dtype(dtype) if dtype is not None else real_dtype(csr.dtype, "A")
            if self._dtype not in _SOLVERS:
                raise TypeError(f"dtype is {self._dtype}. Give float32 or float64")
            if not (preconditioner is None or isinstance(preconditioner, str)):
                raise TypeError("M must be the name of a preconditioner: several ranks have no others")
            text = options_text({"method": method, **options})
            arrays = [
                np.require(csr.indptr, np.int64, "C"),
                np.require(csr.indices, np.int64, "C"),
                self._values_of(csr),
            ]
            return csr.shape, arrays, text

        shape, arrays, text = agree("reading the rows of a distributed matrix", read)
        rows_of_ranks = group._core.all_gather(int(shape[0]))
        if first_row is None:
            first_row = sum(rows_of_ranks[: group.rank])
        all_rows = sum(rows_of_ranks)

        def check():
            if all_rows != shape[1]:
                raise ValueError(
                    f"A has {shape[1]} columns, and all ranks' rows together are {all_rows}. They must be the same"
                )

        agree("comparing the shapes of ranks", check)
        self._matrix = _MATRICES[self._dtype](group._core, int(first_row), *arrays)
        self._nonzeros = len(arrays[2])
        self._core = _SOLVERS[self._dtype](self._matrix, text, preconditioner or "none", float(peer_limit_seconds))

    @staticmethod
    def _rows_of(A):
        if not hasattr(A, "tocsr"):
            raise TypeError(f"A is a {type(A).__name__}. Give this rank's rows as a SciPy sparse matrix")
        csr = A.tocsr()
        if is_on_gpu(csr.data):
            raise TypeError("A lies on a GPU. Give this rank's rows in host memory: they are copied to its GPU")
        return csr

    def _values_of(self, csr):
        return np.require(to_numpy(csr.data, "A's values"), self._dtype, ("C", "ALIGNED"))

    @property
    def shape(self):
        """This rank's rows, and the rows of all."""
        return self._matrix.rows, self._matrix.rows_of_all

    @property
    def first_row(self):
        """The global number of this rank's first row."""
        return self._matrix.first_row

    @property
    def ghosts(self):
        """How many entries of other ranks a product reads here."""
        return self._matrix.ghosts

    @property
    def dtype(self):
        """The type of b and x within the solver, float32 or float64."""
        return self._dtype

    @property
    def executor(self):
        """What runs the loop, ``"host"``, ``"stream"`` or ``"graph"``."""
        return self._core.executor()

    @property
    def transport(self):
        """What words between ranks travel by, such as ``"threads"``, ``"shared memory"`` or ``"peer memory"``."""
        return self._core.transport()

    @property
    def lost_rank(self):
        """The rank that the last solve waited for in vain; None for none."""
        rank = self._core.lost_rank()
        return None if rank < 0 else rank

    @property
    def report(self):
        """The :class:`Report` of the last :meth:`solve`; None before the first."""
        return self._report

    def solve(self, b, x0=None, *, callback=None):
        """Solves with this rank's entries of b, in host memory or on its GPU. Collective.

        Returns
        -------
        x : array
            This rank's entries of the solution, in an array of the library that b is from.
        report : Report
            How the solve ended; the same on all ranks but for times.
        """
        rows = self._matrix.rows
        if is_on_gpu(b):
            if callback is not None:
                raise TypeError("no callback is called for arrays on a GPU. Use enqueue, and ticket.progress()")
            x = start_on_gpu(b, x0, rows, self._dtype)
            self._report = self.enqueue(b, x).wait()
            return x, self._report
        right = vector_of(b, rows, self._dtype, "b")
        x = np.zeros(rows, self._dtype) if x0 is None else vector_of(x0, rows, self._dtype, "x0").copy()
        with self._alone:
            report = Report.of(self._core.solve(right, x, callback))
        self._report = report
        return same_kind(x, b), report

    def enqueue(self, b, x, stream=None):
        """Enqueues a solve on a stream and returns a :class:`Ticket` without waiting. Collective.

        Parameters
        ----------
        b, x : array
            This rank's entries: contiguous, of the solver's type, on its GPU (in host memory under executor ``"host"``, where the
            solve has ended when this returns). x holds the initial guess and receives the solution.
        stream : optional
            As of :meth:`LinearSolver.enqueue`.
        """
        rows = self._matrix.rows
        if is_on_gpu(x):
            to, of = gpu_vector_of(x, rows, self._dtype, "x"), gpu_vector_of(b, rows, self._dtype, "b")
            if to.read_only:
                raise ValueError("x is read-only. Pass an array that can be written to")
            if self.executor == "host" and _core.is_memory_of_gpu(of.address):
                raise TypeError("b lies on a GPU, and the solver is on the host. Make one that is not")
            if stream is None:
                stream = stream_for(x, b)
            else:
                stream = stream_address(stream)
            with self._alone:
                return Ticket(self._core.enqueue(stream, of.address, to.address), self, b, x)
        if self.executor != "host":
            raise TypeError("enqueue needs b and x on the solver's GPU. Use solve for arrays in host memory")
        to, of = writable(x, "x"), vector_of(b, rows, self._dtype, "b")
        if to.shape != (rows,):
            raise ValueError(f"x has shape {to.shape}. The rank's rows ask for ({rows},)")
        if to.dtype != self._dtype or not to.flags.c_contiguous or not to.flags.writeable or not to.flags.aligned:
            raise TypeError(f"x is not a contiguous array of {self._dtype} that can be written to. Make it one")
        with self._alone:
            return Ticket(self._core.enqueue(0, of.ctypes.data, to.ctypes.data), self, of, to)

    def update_values(self, values):
        """New values for the same pattern, of this rank's rows in the order of A's CSR form. Collective; copied."""
        vector = self._group._core.agree(
            "reading values of a distributed matrix",
            lambda: vector_of(values, self._nonzeros, self._dtype, "values"),
        )
        with self._alone:
            self._matrix.update_values(vector)
            self._core.update_values(self._matrix)

    def set_tolerances(self, rtol, atol=0.0):
        """Tolerances of later solves; all ranks give the same."""
        self._core.set_tolerances(tolerance("rtol", rtol), tolerance("atol", atol))

    def set_max_iterations(self, limit):
        """The most iterations of later solves; all ranks give the same."""
        self._core.set_max_iterations(limit_of(limit, None, "limit"))

    def set_deadline(self, seconds):
        """The most seconds that the loop of a later solve may run; the shortest of all ranks' counts."""
        self._core.set_deadline(seconds)

    def recover(self):
        """Makes the solver usable after a rank was lost that is there again. Collective, with no solve in flight."""
        self._core.recover()

    def cancel(self):
        """Stops the solve in flight on all ranks, if any; callable from any thread."""
        self._core.cancel()

    def explain(self):
        """The recorded loop as a readable tree."""
        return self._core.explain()

    def memory(self):
        """A table of the memory that the solver uses on this rank."""
        return self._core.memory()

    def __repr__(self):
        rows, columns = self.shape
        return (
            f"<whilst.DistributedLinearSolver: {self._method}, {rows} of {columns} rows, rank {self._group.rank} of "
            f"{self._group.size}, {self._dtype}, on {self.executor}>"
        )

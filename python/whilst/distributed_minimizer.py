"""Functions whose unknowns the ranks of a group share, minimized together."""

import contextlib

import numpy as np

from . import _core
from ._arrays import GpuVector, contiguous, current_stream, real_dtype, to_numpy, writable
from ._array_libraries import functions_like
from ._descent import MINIMIZER_OPTIONS, arguments, chosen_minimizer, settings_of
from ._gpu_functions import Call
from ._options import MINIMIZE_DEFAULTS, options_text
from ._parts import Alone
from .recorded import RecordedSolver, is_array_on_gpu

_READING = "reading what a rank minimizes"


class DistributedMinimizer(RecordedSolver):
    """Minimizes a function whose unknowns the ranks of a group share, each with some of them, one GPU a rank or on the host.

    Making it, :meth:`solve`, :meth:`enqueue` and :meth:`recover` are collective. All ranks take the same decisions after the same
    evaluations, and get the same result but for x.

    Parameters
    ----------
    fun : function
        ``fun(x, *args)`` gets this rank's unknowns and, after them, its ghosts. It returns this rank's part of f, which is the sum
        over all ranks, and with ``jac=True`` the gradient, too.
    x0 : array
        This rank's unknowns, perhaps none: those of the ranks follow one another. In host memory, where `fun` is called for each
        evaluation, in float64; or on the rank's GPU, where `fun` is recorded as by :class:`Minimizer`, tried at x0 and ones as ghosts.
    group : Group
    ghosts : array, optional
        The global numbers of the unknowns of other ranks that `fun` reads: ascending, each once; none by default.
    args : tuple
    method : str, optional
        ``"L-BFGS-B"`` (the default), ``"CG"``, or the library's ``"lbfgs"``, ``"conjugate-gradient-pr"``, ``"conjugate-gradient-hz"``
        and ``"gradient-descent"``.
    jac : function or True
        ``jac(x, *args)``, the gradient: the derivatives of all of f by this rank's own unknowns, without those by ghosts. So a rank
        evaluates every term in which an own unknown occurs; of a term that several ranks evaluate, the value counts on one.
    tol : float, optional
        The same as option ``gtol``: converged where the 2-norm of the whole gradient is no more; 1e-5 by default.
    options : dict, optional
        As of :func:`minimize` and, on a GPU, :class:`Minimizer`, and ``transport``; the same on all ranks.
    peer_limit_seconds : float
        How long a solve waits for a rank that does not come, before it ends with reason ``"peer_lost"``.

    Raises
    ------
    TypeError, ValueError
        For this rank's arguments of a wrong type or shape; the others then get a whilst.Error. An x0 or x that does not fit is
        refused by its rank alone: the others wait for its next solve.
    whilst.Error
        For what the library refuses, with the cure, on all ranks.

    Notes
    -----
    Where `fun` raises an exception in a solve on one rank, the solve ends on all: the exception passes there, and the others' results
    have the reason ``"cancelled"``, or ``"nan_or_infinity"`` if that was the first evaluation. :class:`RecordedSolver` says what a recording is.
    """

    _least_size = 0

    def __init__(
        self,
        fun,
        x0,
        group,
        *,
        ghosts=None,
        args=(),
        method=None,
        jac=True,
        tol=None,
        options=None,
        peer_limit_seconds=10.0,
    ):
        self._core = None  # the first to go: it uses what the others own
        self._alone, self._group, self._what = Alone(), group, "fun"
        self._seconds = float("inf")
        agree = group._core.agree

        def read():
            on_gpu = is_array_on_gpu(x0)
            if on_gpu:
                self._like = x0.detach() if hasattr(x0, "detach") else x0
                self._functions = functions_like(self._like, "x0")
            else:
                self._functions = _HostFunctions()
                self._like = self._functions.copy(x0)
            self._dtype, self._size = self._functions.dtype, self._vector(self._like, "x0").size
            settings = settings_of(options, tol, MINIMIZER_OPTIONS, "graph" if on_gpu else "host")
            settings.setdefault("gradient", 1e-5)
            chosen = {"method": chosen_minimizer(method or "L-BFGS-B"), **settings}
            options_text(chosen, MINIMIZE_DEFAULTS)  # to refuse others here, for all ranks
            return _numbers_of(ghosts), chosen, _evaluation(fun, jac, arguments(args)), float(peer_limit_seconds)

        read_ghosts, chosen, evaluation, limit = agree(_READING, read)
        make_core = getattr(_core, "DistributedMinimizer" + {"f4": "Float", "f8": "Double"}[self._dtype.str[1:]])

        def make(device, size, evaluate, text):
            return make_core(group._core, device, size, read_ghosts, evaluate, text, limit)

        with self._functions.recording():
            evaluate = agree("trying a function", lambda: self._tried(evaluation, len(read_ghosts)))
            self._record(make, chosen, MINIMIZE_DEFAULTS, False, evaluate=evaluate)

    def _tried(self, evaluation, ghosts):
        """The function as the core calls it; None on a rank without unknowns."""
        if self._size == 0:
            return None
        functions, size = self._functions, self._size + ghosts
        if isinstance(functions, _HostFunctions):
            return _HostCall(functions, evaluation, self._size, size)
        results = {"fun(x)": (1, np.dtype(np.float64)), "jac(x)": (self._size, self._dtype)}
        call = Call(functions, "fun", evaluation, size, results)
        point = functions.ones(size)
        functions.write(GpuVector(point, "x0").address, self._size, self._dtype, self._like)
        call.rehearse(point)
        return call

    def _vector(self, array, what):
        if isinstance(self._functions, _HostFunctions):
            return _HostVector(array, what)
        return super()._vector(array, what)

    def _stream_of(self, x):
        return 0 if isinstance(self._functions, _HostFunctions) else current_stream(x)

    def solve(self, x0):
        """Minimizes from this rank's part of x0, which is not written to. Collective.

        Returns
        -------
        OptimizeResult
            Its x is this rank's part of the point found: a NumPy array, or on a GPU one of x0's library. ``fun``, the value of all of
            f, ``gradient_norm``, ``nit`` and ``nfev`` are the same on all ranks.
        """
        fields, x = self._solve(x0)
        return self._result(fields, x)

    def _result(self, fields, x):
        result = super()._result(fields, x)
        result.update(fun=fields["value"], gradient_norm=fields["residual_norm"])
        return result

    @property
    def transport(self):
        """What words between ranks travel by, such as ``"threads"``, ``"shared memory"`` or ``"peer memory"``."""
        return self._core.transport()

    @property
    def lost_rank(self):
        """The rank that the last solve waited for in vain; None for none."""
        rank = self._core.lost_rank()
        return None if rank < 0 else rank

    def recover(self):
        """Makes the minimizer usable after a rank was lost that is there again. Collective, with no solve in flight."""
        self._core.recover()

    def __repr__(self):
        return (
            f"<whilst.DistributedMinimizer: {self._options['method']}, {self._size} unknowns, rank {self._group.rank} of "
            f"{self._group.size}, {self._dtype}, on {self.executor}>"
        )


def _numbers_of(ghosts):
    if ghosts is None:
        return np.zeros(0, np.int64)
    numbers = to_numpy(ghosts, "ghosts")
    if numbers.ndim != 1 or (numbers.size > 0 and numbers.dtype.kind not in "iu"):
        raise TypeError(
            f"ghosts has shape {numbers.shape} and numbers of type {numbers.dtype}. Give a vector of whole numbers"
        )
    return np.require(numbers, np.int64, ("C", "ALIGNED"))


def _evaluation(fun, jac, args):
    """The value and the gradient, of x."""
    if not callable(fun):
        raise TypeError(f"fun is a {type(fun).__name__}. Give a function")
    if jac is True:
        return lambda x: fun(x, *args)
    if callable(jac):
        return lambda x: (fun(x, *args), jac(x, *args))
    raise ValueError(
        f"jac is {jac!r}. Give a function or True: a rank's part of f does not tell the derivatives of all of it"
    )


class _HostVector:
    """A vector in host memory as RecordedSolver reads one."""

    def __init__(self, array, what):
        if not hasattr(array, "__array_interface__") and not hasattr(array, "__dlpack__"):
            raise TypeError(f"{what} is a {type(array).__name__}. Give an array")
        vector = writable(array, what)
        if not vector.flags.c_contiguous or not vector.flags.aligned:
            raise ValueError(f"{what} has gaps between its entries. Pass a contiguous copy")
        self.shape, self.dtype, self.size = vector.shape, vector.dtype, vector.size
        self.address, self.read_only = vector.ctypes.data, not vector.flags.writeable
        if vector.ndim != 1 or vector.dtype != np.float64:
            raise ValueError(f"{what} has shape {vector.shape} and type {vector.dtype}. Give a vector of float64")


class _HostMemory:
    """Memory at an address, as NumPy reads it."""

    def __init__(self, address, size):
        self.__array_interface__ = {"shape": (size,), "typestr": "<f8", "data": (address, False), "version": 3}


class _HostFunctions:
    """NumPy in the place of the libraries whose functions are recorded: here they are called each time."""

    device_index, dtype = -1, np.dtype(np.float64)
    recording = staticmethod(contextlib.nullcontext)

    def copy(self, array):
        """A vector of its own, of anything array-like."""
        given = to_numpy(array, "x0")
        real_dtype(given.dtype, "x0")
        if given.ndim > 1:
            raise ValueError(f"x0 has shape {given.shape}. Give a vector of this rank's unknowns")
        return np.array(given, np.float64).reshape(given.size)

    def array(self, address, size):
        return np.asarray(_HostMemory(address, size))


class _HostCall:
    """A function as the core calls it: with the addresses of a stream, of x, and of memory for the value and the gradient."""

    def __init__(self, functions, evaluation, own, size):
        self._functions, self._evaluation, self._own, self._size = functions, evaluation, own, size

    def __call__(self, _, x, value, gradient):
        array = self._functions.array
        returned = self._evaluation(array(x, self._size).copy())  # which it may keep and write to
        if not isinstance(returned, (tuple, list)) or len(returned) != 2:
            raise TypeError("fun must return the value and the gradient, or have jac give the gradient")
        array(value, 1)[...] = self._numbers(returned[0], 1, "fun(x)", "one")
        array(gradient, self._own)[...] = self._numbers(returned[1], self._own, "jac(x)", f"the rank's {self._own}")

    @staticmethod
    def _numbers(result, size, what, wanted):
        numbers = to_numpy(result, what)
        real_dtype(numbers.dtype, what)
        if numbers.size != size:
            raise ValueError(f"{what} has shape {numbers.shape}. It must have {wanted} entries")
        return contiguous(numbers.reshape(size), np.float64)

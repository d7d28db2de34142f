"""What a LinearSolver is made of: vectors checked, functions kept, and the core's solver."""

import threading
import weakref

import numpy as np

from . import _core
from ._arrays import GpuVector, contiguous, copy_into, is_on_gpu, real_dtype, to_numpy, zeros_on_gpu
from ._array_libraries import functions_like
from ._options import options_text
from ._systems import checked_function, preconditioner

SOLVERS = {np.dtype(np.float32): _core.SolverFloat, np.dtype(np.float64): _core.SolverDouble}
_SOLVERS_OF_CALLED = {
    np.dtype(np.float32): _core.solver_of_called_Float,
    np.dtype(np.float64): _core.solver_of_called_Double,
}
_LEAST_SQUARES = ("lsqr", "lsmr", "cgls")


def vector_of(array, size, dtype, what):
    """A contiguous vector of that many entries, in host memory; reads the caller's where it is one."""
    vector = to_numpy(array, what)
    if vector.shape not in ((size,), (size, 1)):
        raise ValueError(f"{what} has shape {vector.shape}. The matrix asks for ({size},)")
    real_dtype(vector.dtype, what)
    return contiguous(vector.reshape(size), dtype)


def gpu_vector_of(array, size, dtype, what):
    """The same on a GPU, where nothing is converted."""
    vector = GpuVector(array, what)
    if vector.shape not in ((size,), (size, 1)):
        raise ValueError(f"{what} has shape {vector.shape}. The matrix asks for ({size},)")
    if vector.dtype != dtype:
        raise TypeError(f"{what} has numbers of type {vector.dtype}, and the system is solved in {dtype}. Convert it")
    return vector


def start_on_gpu(b, x0, size, dtype):
    """A new array for x on b's GPU, of b's library, with x0 in it."""
    x = zeros_on_gpu(b, size)
    if x0 is not None:
        if not is_on_gpu(x0):
            raise TypeError("x0 does not lie on a GPU, and b does. Put both on the same device")
        gpu_vector_of(x0, size, dtype, "x0")
        copy_into(x, x0.reshape(size))
    return x


class Alone:
    """A solver for one thread, which its own callbacks cannot ask for another solve. A context; a solver has one."""

    def __init__(self):
        self._lock, self._thread = threading.Lock(), None

    def __enter__(self):
        if self._thread == threading.get_ident():
            raise _core.Error(
                "using a solver: one of its own callbacks asks for another solve. Make a second solver for that"
            )
        self._lock.acquire()
        self._thread = threading.get_ident()

    def __exit__(self, *_):
        self._thread = None
        self._lock.release()


class Functions:
    """The Python functions that a core's solver calls, kept by the core's owner.

    The core holds weak references: Python's collector does not see into it, and a function that refers to the owner of its solver
    would keep both forever.
    """

    def __init__(self, **functions):
        self._functions = functions

    def caller(self, name):
        if self._functions[name] is None:
            return None
        mine = weakref.ref(self)
        return lambda *given: mine()._functions[name](*given)


def make_core(system, dtype, method, M, options, like=None):
    """The core's solver, and what its owner must keep: the matrix that it reads, and the functions that it calls.

    like: an array on a GPU, of whose kind functions are.
    """
    if like is not None:
        library = functions_like(like, "like")
        with library.recording():
            return _made_core(system, dtype, method, M, options, library.recorded)
    return _made_core(system, dtype, method, M, options, None)


def _made_core(system, dtype, method, M, options, recorded):
    """recorded: how functions of arrays on a GPU are prepared; None for functions of arrays in host memory."""
    wrapped = recorded or checked_function
    name, function = preconditioner(M, system.shape, dtype, wrapped)
    options = {"method": method, **options}
    calls = function is not None or not system.is_matrix
    if calls and recorded is None:
        if system.on_gpu:
            raise TypeError(
                "M is a function of arrays in host memory, and A lies on a GPU. Name one of Whilst's preconditioners, or give "
                "LinearSolver such an array as M takes as `like`"
            )
        options.setdefault("callback_memory", "host")
    system.wait_for_arrays()  # what is made of them is made in other streams
    matrix = system.matrix(dtype) if system.is_matrix else None
    apply = apply_transposed = None
    if not system.is_matrix:
        apply = system.product(dtype, wrapped)
        if method in _LEAST_SQUARES or system.shape[0] != system.shape[1]:
            apply_transposed = system.transposed_product(dtype, wrapped)
            if function is not None:
                raise TypeError(
                    "a least-squares method takes no preconditioner beside an operator without a matrix. Leave M out"
                )
    functions = Functions(A=apply, A_transposed=apply_transposed, M=function)
    callers = (functions.caller(key) for key in ("A", "A_transposed", "M"))
    core_name = "none" if function is not None else name  # the library finds a name for functions
    make = SOLVERS[dtype] if recorded is None or not calls else _SOLVERS_OF_CALLED[dtype]
    return make(matrix, *system.shape, *callers, options_text(options), core_name), (matrix, functions)

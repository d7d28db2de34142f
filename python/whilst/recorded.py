"""Functions of arrays on a GPU, minimized and solved in one launch: they are recorded into the loop that calls them."""

import numpy as np

from . import _core
from ._array_libraries import functions_like
from ._arrays import GpuVector, current_stream, is_on_gpu, stream_address
from ._descent import (
    MINIMIZER_OPTIONS,
    ROOT_OPTIONS,
    OptimizeResult,
    arguments,
    chosen_minimizer,
    chosen_root,
    least_squares_settings,
    no_column,
    settings_of,
    stacked,
)
from ._gpu_functions import Call, refused
from ._options import MINIMIZE_DEFAULTS, ROOT_DEFAULTS, options_text
from ._parts import Alone, Functions
from .ticket import Ticket

_CHECKED_STEPS = 5
_LONG = 0.02  # seconds of a solve after which later ones look for Ctrl-C, which adds up to a millisecond


def is_array_on_gpu(array):
    """Whether the array lies on a GPU, with a gradient or without."""
    return is_on_gpu(array.detach() if hasattr(array, "detach") else array)


def _core_class(name, dtype):
    return getattr(_core, name + {"f4": "Float", "f8": "Double"}[dtype.str[1:]])


class RecordedSolver:
    """What :class:`Minimizer`, :class:`LeastSquaresSolver` and :class:`RootSolver` share.

    The function is called a few times when the solver is made, at x0 and while the loop is recorded, and never again: a solve replays
    the kernels that it launched then. It reads arrays where they were; write new data into them, between solves.
    """

    _least_size = 1

    def _take(self, what, x0):
        """Looks at x0; the function is to be of such arrays."""
        self._core = None  # the first to go: it uses what the others own
        self._alone = Alone()
        x0 = x0.detach() if hasattr(x0, "detach") else x0
        if not is_on_gpu(x0):
            raise TypeError(
                f"x0 is a {type(x0).__name__}. Give an array on a GPU, or use the function of the same name"
            )
        self._functions = functions_like(x0, "x0")
        if len(x0.shape) == 2 and len(x0) > 0:
            no_column(x0.shape)
            x0 = x0[0]
        self._what, self._like = what, x0
        self._dtype, self._size = self._functions.dtype, self._vector(x0, "x0").size
        self._seconds = float("inf")

    def _vector(self, array, what):
        array = array.detach() if hasattr(array, "detach") else array
        vector = GpuVector(array, what)
        if vector.dtype not in (np.float32, np.float64):
            raise TypeError(f"{what} has numbers of type {vector.dtype}. Convert it to float32 or float64")
        if len(vector.shape) != 1 or vector.size < self._least_size:
            raise ValueError(f"{what} has shape {vector.shape}. Give a vector of the unknowns")
        return vector

    def _stream_of(self, x):
        return current_stream(x)

    def _call(self, what, function, results, vectors=1):
        """`function` of so many vectors, as the core calls it, tried with x0 for each."""
        call = Call(self._functions, what, function, self._size, results)
        call.rehearse(*(self._functions.copy(self._like) for _ in range(vectors)))
        return call

    def _record(self, make, text, defaults, check, **calls):
        """make(device, unknowns, *calls, options): the core's solver.

        calls: in the order in which the core takes them; None where it is to have none.
        """
        self._calls = Functions(**calls)  # see there: the function may refer to this solver's owner
        callers = [self._calls.caller(name) for name in calls]
        self._defaults, self._options = defaults, dict(text)
        self._core = make(self._functions.device_index, self._size, *callers, options_text(self._options, defaults))
        if check:
            eager = options_text({**self._options, "executor": "stream"}, defaults)
            self._check(make(self._functions.device_index, self._size, *callers, eager))

    def _check(self, eager):
        """Compares some steps with those of a solver that calls the function each time."""
        found = []
        for core in (self._core, eager):
            core.set_max_iterations(_CHECKED_STEPS)
            x = self._functions.copy(self._like)
            fields = core.solve(self._stream_of(x), GpuVector(x, "x0").address, False)
            found.append((fields["history"], self._functions.to_numpy(x)))
        self._core.set_max_iterations(int(self._options.get("max_iterations", self._defaults["max_iterations"])))
        (history, x), (eager_history, eager_x) = found
        rounding = np.finfo(self._dtype).eps ** 0.5  # the order of sums may differ from call to call
        same = len(history) == len(eager_history) and np.allclose(history, eager_history, rounding, 0, equal_nan=True)
        if not same or not np.linalg.norm(x - eager_x) <= rounding * np.linalg.norm(eager_x):
            raise refused(
                self._what,
                f"recorded, its first steps have gradients of {history}, and called anew each time {eager_history}",
                "The function depends on more than x: on a state of its own, on random numbers, or on arrays that it makes and drops",
            )

    def _fitting(self, array, what):
        vector = self._vector(array, what)
        if vector.size != self._size or vector.dtype != self._dtype:
            raise ValueError(
                f"{what} has {vector.size} entries of type {vector.dtype}, and the solver was made for {self._size} of {self._dtype}"
            )
        return vector

    def _solve(self, x0):
        x = self._functions.copy(x0)
        vector = self._fitting(x, "x0")
        with self._alone:
            check = self.executor == "host" or self._seconds > _LONG
            fields = self._core.solve(self._stream_of(x), vector.address, check)
            self._seconds = fields["solve_seconds"]
        return fields, x

    def solve(self, x0):
        """Solves from x0, which is not written to.

        Parameters
        ----------
        x0 : array
            Of the library, type, size and GPU that the solver was made for; or several such vectors, the rows of an array, one
            after another.

        Returns
        -------
        OptimizeResult
            Its x is an array of the same library.
        """
        if len(x0.shape) == 2:
            no_column(x0.shape)
            return stacked([self.solve(x0[k]) for k in range(len(x0))], self._functions.stack)
        fields, x = self._solve(x0)
        return self._result(fields, x)

    def _result(self, fields, x):
        return OptimizeResult(
            x=x, success=fields["converged"], status=fields["reason_code"], reason=fields["reason"],
            message=fields["message"], nit=fields["iterations"], nfev=fields["evaluations"], history=fields["history"],
        )  # fmt: skip

    def enqueue(self, x, stream=None):
        """Enqueues a solve on a stream and returns without waiting.

        Parameters
        ----------
        x : array
            As x0 of :meth:`solve`; holds the starting point and receives the point found.
        stream : optional
            A stream of CuPy, PyTorch or Warp, or its address; by default the one in which x's library works now.

        Returns
        -------
        Ticket
        """
        vector = self._fitting(x, "x")
        if vector.read_only:
            raise ValueError("x is read-only. Pass an array that can be written to")
        stream = self._stream_of(x) if stream is None else stream_address(stream)
        with self._alone:
            return Ticket(self._core.enqueue(stream, vector.address), self, x)

    def set_max_iterations(self, limit):
        """The most steps of later solves."""
        self._core.set_max_iterations(limit)

    def set_deadline(self, seconds):
        """The most seconds that the loop of a later solve may run; ``float("inf")`` for any."""
        self._core.set_deadline(seconds)

    def cancel(self):
        """Stops the solve in flight, if any; callable from any thread."""
        self._core.cancel()

    @property
    def executor(self):
        """``"graph"``, one launch a solve; or ``"stream"``, where the function is called each time."""
        return self._core.executor()

    def explain(self):
        """The recorded loop as a readable tree."""
        return self._core.explain()

    def memory(self):
        """A table of the memory that the loop uses, without that of the function."""
        return self._core.memory()

    def __repr__(self):
        return f"<whilst.{type(self).__name__}: {self._options['method']}, {self._size} unknowns, {self._dtype}, on {self.executor}>"


class Minimizer(RecordedSolver):
    """Minimizes a function of an array on a GPU, from one starting point after another, each in one launch.

    Parameters
    ----------
    fun : function
        ``fun(x, *args)`` returns the value, an array with one entry on x's GPU, or with ``jac=True`` the value and the gradient.
    x0 : array
        A PyTorch tensor, or an array of CuPy's or Warp's, on a GPU, float32 or float64, of one dimension: at it `fun` is tried before it is recorded. Or
        several, the rows of an array: then at the first.
    args : tuple
    method : str, optional
        ``"L-BFGS-B"`` (the default), ``"BFGS"``, ``"CG"``, ``"Newton-CG"``, ``"trust-ncg"``, or the library's names.
    jac : function or True, optional
        ``jac(x, *args)``, the gradient; PyTorch's autograd by default.
    hess, hessp : function, optional
        Of Newton-CG and trust-ncg: ``hess(x, *args)``, or ``hessp(x, p, *args)``, its product with p; by default autograd's.
    tol : float, optional
        The same as option ``gtol``: converged where the 2-norm of the gradient is no more; 1e-5 by default.
    options : dict, optional
        As of :func:`minimize`; ``executor="stream"`` calls `fun` each time, as from plain Python, to find faults.
    check : bool
        Whether to compare some recorded steps with steps for which `fun` is called.

    Raises
    ------
    whilst.Error
        Where `fun` does what cannot be recorded: draws random numbers, or has the host wait for the GPU. The message names the
        operation and the cure.

    Notes
    -----
    See :class:`RecordedSolver` for what a recording is. What `fun` makes lives in memory that belongs to the solver.
    """

    def __init__(
        self, fun, x0, args=(), method=None, jac=None, hess=None, hessp=None, tol=None, options=None, *, check=False
    ):
        self._take("fun", x0)
        name, args, functions = chosen_minimizer(method or "L-BFGS-B"), arguments(args), self._functions
        settings = settings_of(options, tol, MINIMIZER_OPTIONS, "graph")
        settings.setdefault("gradient", 1e-5)
        with functions.recording():
            results = {"fun(x)": (1, np.dtype(np.float64)), "jac(x)": (self._size, self._dtype)}
            evaluate = self._call("fun", self._evaluation(fun, jac, args), results)
            product = None
            if name in ("newton-cg", "trust-region"):
                results = {"hessp(x, p)": (self._size, self._dtype)}
                product = self._call("hessp", self._hessian_product(fun, hess, hessp, args), results, 2)
            make, chosen = _core_class("Minimizer", self._dtype), {"method": name, **settings}
            self._record(make, chosen, MINIMIZE_DEFAULTS, check, evaluate=evaluate, product=product)

    def _evaluation(self, fun, jac, args):
        functions = self._functions
        if jac is True:
            return lambda x: fun(x, *args)
        if callable(jac):
            return lambda x: (fun(x, *args), jac(x, *args))
        if jac is not None:
            raise ValueError(f"jac is {jac!r}. Give a function, True, or None for PyTorch's autograd")
        if not functions.differentiates:
            raise TypeError(
                f"{type(self._like).__name__} of x0 has no derivatives of its own. Give jac, or use PyTorch"
            )
        return functions.value_and_gradient(fun, args)

    def _hessian_product(self, fun, hess, hessp, args):
        if hessp is not None:
            return lambda x, p: (hessp(x, p, *args),)
        if hess is not None:
            return lambda x, p: (hess(x, *args) @ p,)
        if not self._functions.differentiates_twice:
            raise ValueError("this method needs hess or hessp. Give one, or use L-BFGS-B")
        product = self._functions.hessian_product(fun, args)
        return lambda x, p: (product(x, p),)

    def _result(self, fields, x):
        result = super()._result(fields, x)
        result.update(fun=fields["value"], gradient_norm=fields["residual_norm"])
        return result


class LeastSquaresSolver(RecordedSolver):
    """Minimizes half the sum of squares of a PyTorch function's residuals by Levenberg-Marquardt, each time in one launch.

    Products with the Jacobian and its transpose are autograd's: it is never assembled.

    Parameters
    ----------
    fun : function
        ``fun(x, *args)`` returns the residuals, a tensor.
    x0 : torch.Tensor
        As of :class:`Minimizer`.
    args : tuple
    ftol, xtol, gtol : float or None
        As of :func:`least_squares`.
    max_nfev : int, optional
        The most evaluations.
    check : bool
        As of :class:`Minimizer`.
    """

    def __init__(self, fun, x0, *, args=(), ftol=1e-8, xtol=1e-8, gtol=1e-8, max_nfev=None, check=False):
        self._take("fun", x0)
        functions, args = self._functions, arguments(args)
        if not functions.differentiates_twice:
            raise TypeError(
                f"products with the Jacobian need derivatives twice, which {type(x0).__name__} of x0 has not. Use PyTorch, or minimize"
            )
        multiply = functions.gauss_newton_product(fun, args)
        settings = {**least_squares_settings(ftol, xtol, gtol, max_nfev), "executor": "graph"}
        with functions.recording():
            gradient = (self._size, self._dtype)
            results = {"the sum of squares": (1, np.dtype(np.float64)), "its gradient": gradient}
            evaluate = self._call("fun", functions.half_square(fun, args), results)
            product = self._call("the Jacobian's product", lambda x, v: (multiply(x, v),), {"J' J v": gradient}, 2)
            make = _core_class("Minimizer", self._dtype)
            self._record(make, settings, MINIMIZE_DEFAULTS, check, evaluate=evaluate, product=product)

    def _result(self, fields, x):
        result = super()._result(fields, x)
        result.update(cost=fields["value"], gradient_norm=fields["residual_norm"])
        return result


class RootSolver(RecordedSolver):
    """Solves F(x) = 0 for a function of an array on a GPU, without a Jacobian, each time in one launch.

    Parameters
    ----------
    fun : function
        ``fun(x, *args)`` returns F(x), as many entries as x has.
    x0 : array
        As of :class:`Minimizer`.
    args : tuple
    method : str
        ``"broyden1"`` or ``"anderson"``.
    tol, options
        As of :func:`root`.
    check : bool
        As of :class:`Minimizer`.
    """

    def __init__(self, fun, x0, args=(), method="broyden1", tol=None, options=None, *, check=False):
        self._take("fun", x0)
        functions, args = self._functions, arguments(args)
        settings = settings_of(options, tol, ROOT_OPTIONS, "graph")
        settings.setdefault("rtol", 0.0)
        with functions.recording():
            evaluate = self._call("fun", lambda x: (fun(x, *args),), {"fun(x)": (self._size, self._dtype)})
            make, chosen = _core_class("RootSolver", self._dtype), {"method": chosen_root(method), **settings}
            self._record(make, chosen, ROOT_DEFAULTS, check, evaluate=evaluate)

    def _result(self, fields, x):
        result = super()._result(fields, x)
        result.update(residual_norm=fields["residual_norm"])
        return result

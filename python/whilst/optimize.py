"""Functions minimized and equations solved, with the names of scipy.optimize; on a GPU see recorded.py."""

import functools
import math

import numpy as np

from . import _core
from ._arrays import contiguous, real_dtype, to_numpy
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
from ._options import MINIMIZE_DEFAULTS, ROOT_DEFAULTS, options_text
from .recorded import LeastSquaresSolver, Minimizer, RootSolver, is_array_on_gpu

_STEP = math.sqrt(np.finfo(float).eps)


def _from_each_start(solve):
    """Has the function take several starting points, too, the rows of x0, in host memory."""

    @functools.wraps(solve)
    def solve_each(fun, x0, *rest, **named):
        if is_array_on_gpu(x0):
            return solve(fun, x0, *rest, **named)
        x0 = to_numpy(x0, "x0")
        if x0.ndim != 2:
            return solve(fun, x0, *rest, **named)
        no_column(x0.shape)
        return stacked([solve(fun, row, *rest, **named) for row in x0])

    return solve_each


def _start(x0):
    x = to_numpy(x0, "x0")
    real_dtype(x.dtype, "x0")
    if x.ndim > 1 or x.size == 0:
        raise ValueError(f"x0 has shape {x.shape}. Give a vector of the unknowns")
    return np.array(x, np.float64).reshape(x.size)


def _vector(value, size, what):
    vector = to_numpy(value, what)
    real_dtype(vector.dtype, what)
    if size is not None and vector.size != size:
        raise ValueError(f"{what} has shape {vector.shape}. It must have {size} entries")
    return contiguous(vector.reshape(vector.size), np.float64)


def _number(value, what):
    number = _vector(value, 1, what)
    return float(number[0])


def _differences(function, x, at_x):
    """The Jacobian by forward differences, a row an entry of the function's."""
    columns = []
    for j, entry in enumerate(x):
        step = _STEP * max(1.0, abs(entry))
        moved = x.copy()
        moved[j] += step
        columns.append((function(moved) - at_x) / (moved[j] - entry))
    return np.stack(columns, axis=-1)


class _Counted:
    def __init__(self, function, args, size, what):
        self.calls = 0
        self._function, self._args, self._size, self._what = function, args, size, what

    def __call__(self, x):
        self.calls += 1
        return _vector(self._function(x, *self._args), self._size, self._what)


def _result(fields, x, calls, **more):
    return OptimizeResult(
        x=x, success=fields["converged"], status=fields["reason_code"], reason=fields["reason"], message=fields["message"],
        nit=fields["iterations"], nfev=calls, **more,
    )  # fmt: skip


@_from_each_start
def minimize(fun, x0, args=(), method=None, jac=None, hess=None, hessp=None, tol=None, options=None):
    """Minimizes a function of one or more variables without bounds.

    Parameters
    ----------
    fun : function
        ``fun(x, *args)`` returns the value, or with ``jac=True`` the value and the gradient.
    x0 : array
        The starting point; or several, the rows of an array.
    args : tuple
    method : str, optional
        SciPy's ``"BFGS"`` (the default), ``"L-BFGS-B"``, ``"CG"``, ``"Newton-CG"``, ``"trust-ncg"``, or the library's
        ``"lbfgs"``, ``"conjugate-gradient-hz"``, ``"gradient-descent"`` and so on.
    jac : function or True, optional
        ``jac(x, *args)``, the gradient; forward differences by default.
    hess, hessp : function, optional
        Of Newton-CG and trust-ncg: ``hess(x, *args)``, a matrix or operator, or ``hessp(x, p, *args)``, its product with p.
    tol : float, optional
        The same as option ``gtol``: converged where the 2-norm of the gradient is no more; 1e-5 by default.
    options : dict, optional
        SciPy's ``gtol``, ``ftol``, ``maxiter``, ``maxfun``, and the library's (``line_search``, ``deadline`` and so on).

    Returns
    -------
    OptimizeResult
        With ``jac``, the gradient at x.
    """
    if is_array_on_gpu(x0):
        return Minimizer(fun, x0, args, method, jac, hess, hessp, tol, options).solve(x0)
    name = chosen_minimizer("BFGS" if method is None else method)
    args, x = arguments(args), _start(x0)
    n = x.size
    calls = [0]

    def value(point):
        calls[0] += 1
        return _number(fun(point, *args), "fun(x)")

    if jac is True:

        def evaluate(point):
            calls[0] += 1
            found, gradient = fun(point, *args)
            return _number(found, "fun(x)[0]"), _vector(gradient, n, "fun(x)[1]")

    elif callable(jac):

        def evaluate(point):
            return value(point.copy()), _vector(jac(point, *args), n, "jac(x)")

    elif jac in (None, False, "2-point"):

        def evaluate(point):
            at_point = value(point.copy())
            return at_point, contiguous(_differences(value, point, at_point), np.float64)

    else:
        raise ValueError(f"jac is {jac!r}. Give a function, True, or None for differences")

    product = None
    if name in ("newton-cg", "trust-region"):
        if hessp is not None:

            def product(point, direction):
                return _vector(hessp(point, direction, *args), n, "hessp(x, p)")

        elif hess is not None:

            def product(point, direction):
                return _vector(hess(point, *args) @ direction, n, "hess(x) @ p")

        else:
            raise ValueError(f"{method} needs hess or hessp. Give one, or use BFGS")
    settings = settings_of(options, tol, MINIMIZER_OPTIONS, "host")
    settings.setdefault("gradient", 1e-5)
    fields = _core.minimize(evaluate, product, x, options_text({"method": name, **settings}, MINIMIZE_DEFAULTS))
    evaluations = calls[0]
    found, gradient = evaluate(x.copy())
    return _result(fields, x, evaluations, fun=found, jac=gradient)


@_from_each_start
def least_squares(fun, x0, jac="2-point", *, args=(), ftol=1e-8, xtol=1e-8, gtol=1e-8, max_nfev=None):
    """Minimizes half the sum of squares of residuals by Levenberg-Marquardt, without bounds.

    Parameters
    ----------
    fun : function
        ``fun(x, *args)`` returns the residuals.
    x0 : array
    jac : function, optional
        ``jac(x, *args)``, their Jacobian, a row a residual: an array, sparse or dense; forward differences by default.
    args : tuple
    ftol, xtol, gtol : float or None
        Converged where a step lowers the cost by no more than ftol times it, where it is no longer than xtol times the norm
        of x, or where the 2-norm of the gradient is no more than gtol. None turns a test off.
    max_nfev : int, optional
        The most evaluations.

    Returns
    -------
    OptimizeResult
        With ``cost``, ``fun``, the residuals, ``jac`` and ``grad`` at x, and ``optimality``, the largest entry of ``grad``.
    """
    if is_array_on_gpu(x0):
        if jac != "2-point":
            raise TypeError("jac is given, and on a GPU autograd differentiates. Leave it out, or use minimize")
        made = LeastSquaresSolver(fun, x0, args=args, ftol=ftol, xtol=xtol, gtol=gtol, max_nfev=max_nfev)
        return made.solve(x0)
    args, x = arguments(args), _start(x0)
    n = x.size
    residuals = _Counted(fun, args, None, "fun(x)")

    def jacobian(point, at_point):
        if callable(jac):
            J = jac(point, *args)
        elif jac == "2-point":
            J = _differences(residuals, point, at_point)
        else:
            raise ValueError(f"jac is {jac!r}. Give a function or '2-point'")
        J = J if hasattr(J, "tocsr") else np.atleast_2d(to_numpy(J, "jac(x)"))
        if J.shape != (at_point.size, n):
            raise ValueError(f"jac(x) has shape {J.shape}. It must be ({at_point.size}, {n})")
        return J

    last = {}  # Products with the Hessian follow the evaluation at their x.

    def at(point):
        if "x" not in last or not np.array_equal(last["x"], point):
            found = residuals(point.copy())
            last.update(x=point.copy(), r=found, J=jacobian(point.copy(), found))
        return last["r"], last["J"]

    def evaluate(point):
        r, J = at(point)
        with np.errstate(all="ignore"):  # a value that is not finite ends the solve
            return 0.5 * float(r @ r), _vector(J.T @ r, n, "the gradient")

    def product(point, direction):
        J = at(point)[1]
        return _vector(J.T @ (J @ direction), n, "the product")

    settings = {**least_squares_settings(ftol, xtol, gtol, max_nfev), "executor": "host"}
    text = options_text(settings, MINIMIZE_DEFAULTS)
    fields = _core.minimize(evaluate, product, x, text)
    calls = residuals.calls
    r, J = at(x)
    gradient = _vector(J.T @ r, n, "the gradient")
    return _result(
        fields, x, calls, cost=0.5 * float(r @ r), fun=r, jac=J, grad=gradient, optimality=float(np.abs(gradient).max())
    )


@_from_each_start
def root(fun, x0, args=(), method="broyden1", tol=None, options=None):
    """Solves F(x) = 0 for as many equations as unknowns, without a Jacobian.

    Parameters
    ----------
    fun : function
        ``fun(x, *args)`` returns F(x).
    x0 : array
    args : tuple
    method : str
        ``"broyden1"``, the good method of Broyden, or ``"anderson"``.
    tol : float, optional
        The same as option ``fatol``: converged where the 2-norm of F is no more; 1e-10 by default.
    options : dict, optional
        SciPy's ``fatol``, ``maxiter``, and the library's (``rtol``, ``depth``, ``mixing`` and so on).

    Returns
    -------
    OptimizeResult
    """
    if is_array_on_gpu(x0):
        return RootSolver(fun, x0, args, method, tol, options).solve(x0)
    name = chosen_root(method)
    x = _start(x0)
    function = _Counted(fun, arguments(args), x.size, "fun(x)")
    settings = settings_of(options, tol, ROOT_OPTIONS, "host")
    settings.setdefault("rtol", 0.0)
    fields = _core.root(function, x, options_text({"method": name, **settings}, ROOT_DEFAULTS))
    calls = function.calls
    return _result(fields, x, calls, fun=function(x.copy()))

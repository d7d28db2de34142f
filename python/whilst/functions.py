"""Solves by functions, with SciPy's names, arguments and return values."""

import warnings

import numpy as np

from ._arrays import same_kind
from ._options import MOST_ITERATIONS, limit_of, tolerance
from ._problem import Problem
from ._systems import System

_FAILURES = ("breakdown", "divergence", "nan_or_infinity", "indefinite_operator", "indefinite_preconditioner")


def _info(report, limit):
    """SciPy's second value: 0 converged, above 0 not within the limit, below 0 broken down."""
    if report.converged:
        return 0
    if report.reason in _FAILURES:
        return report.reason_code
    return limit if report.reason == "iteration_limit" else max(1, report.iterations)


def _solve(method, A, b, x0, rtol, atol, limit, M, callback, callback_type, options, *, every=1, info_limit=None):
    rtol, atol = tolerance("rtol", rtol), tolerance("atol", atol)
    if callback is not None and not callable(callback):
        raise TypeError(f"callback is a {type(callback).__name__}, which cannot be called")
    if callback_type not in ("x", "pr_norm"):
        raise ValueError(f"callback_type is {callback_type!r}. Give 'x' or 'pr_norm'")
    problem = Problem(method, A, b, x0, M, options)
    rows, columns = problem.system.shape
    if rows != columns:
        raise ValueError(f"A has shape {problem.system.shape}, and {method} needs a square one. Use lsqr, lsmr or cgls")
    if limit is None:
        limit = 10 * rows
    if problem.on_gpu:
        if callback is not None:
            raise TypeError("no callback is called for arrays on a GPU. Use LinearSolver.enqueue and ticket.progress()")
        x, report = problem.solve_on_gpu(x0, rtol, atol, limit)
        return x, _info(report, info_limit or limit)
    if callback is None:
        x, report = problem.solve(rtol, atol, limit)
    elif callback_type == "x":
        x, report = problem.solve_calling(callback, every, rtol, atol, limit)
    else:
        scale = float(np.linalg.norm(problem.right)) or 1.0
        x, report = problem.solve(rtol, atol, limit, lambda _, norm: callback(np.float64(norm / scale)))
    return same_kind(x, b), _info(report, info_limit or limit)


_DOC = """{summary}

    Parameters
    ----------
    A : sparse matrix, array or operator
        See :class:`whilst.LinearSolver`.
    b : array
        The right-hand side, of shape (N,) or (N, 1).
    x0 : array, optional
        The initial guess; zero by default. ``"Mb"`` stands for M b.
    rtol, atol : float
        The solve stops when ``norm(b - A x) <= max(rtol * norm(b), atol)``, without M.
    maxiter : int, optional
        The most iterations; 10 N by default.
    M : str, matrix, operator or function, optional
        A preconditioner, close to the inverse of A: the name of one of Whilst's, such as ``"amg"``, a matrix, an operator with
        ``matvec``, or a function of r.
    callback : function, optional
        Called as ``callback(xk)`` after each iteration; with ``callback_type="pr_norm"`` as ``callback(norm(rk) / norm(b))``,
        which costs far less: each xk is computed by a solve of its own.
    **options
        Other options of :class:`whilst.LinearSolver`.

    Returns
    -------
    x : array
        The solution, in an array of the library that b is from.
    info : int
        0 if the solve converged; above 0, the iterations, if it did not within its limit or rounding stopped it; below 0 the code
        of the reason why the method broke down.
    """


def _square_method(name, method, summary):
    def solve(A, b, x0=None, *, rtol=1e-5, atol=0.0, maxiter=None, M=None, callback=None, callback_type="x", **options):
        limit = limit_of(maxiter, None)
        return _solve(method, A, b, x0, rtol, atol, limit, M, callback, callback_type, options)

    solve.__name__ = solve.__qualname__ = name
    solve.__doc__ = _DOC.format(summary=summary)
    return solve


cg = _square_method("cg", "cg", "Solves A x = b by conjugate gradients, for symmetric definite A.")
pipelined_cg = _square_method(
    "pipelined_cg", "pipelined-cg", "Solves A x = b by pipelined conjugate gradients, for symmetric definite A."
)
flexible_cg = _square_method(
    "flexible_cg", "flexible-cg", "Solves A x = b by conjugate gradients with an M that may change."
)
refined_cg = _square_method(
    "refined_cg", "refined-cg", "Solves A x = b by conjugate gradients in float32, refined in float64."
)
cr = _square_method("cr", "cr", "Solves A x = b by conjugate residuals, for symmetric A.")
bicgstab = _square_method("bicgstab", "bicgstab", "Solves A x = b by stabilized biconjugate gradients.")
bicgstabl = _square_method("bicgstabl", "bicgstabl", "Solves A x = b by BiCGStab(l); option polynomial_degree is l.")
idr = _square_method("idr", "idr", "Solves A x = b by IDR(s); option shadow_dimension is s.")
cgs = _square_method("cgs", "cgs", "Solves A x = b by conjugate gradients squared.")
chebyshev = _square_method(
    "chebyshev", "chebyshev", "Solves A x = b by Chebyshev's iteration, for symmetric definite A."
)
richardson = _square_method(
    "richardson", "richardson", "Solves A x = b by Richardson's iteration, for symmetric definite A."
)


def solve(A, b, x0=None, *, rtol=1e-5, atol=0.0, maxiter=None, M="auto", callback=None, callback_type="x", **options):
    return _solve("auto", A, b, x0, rtol, atol, limit_of(maxiter, None), M, callback, callback_type, options)


solve.__doc__ = _DOC.format(summary="Solves A x = b by a method and a preconditioner chosen from the matrix.")


def tfqmr(
    A, b, x0=None, *, rtol=1e-5, atol=0.0, maxiter=None, M=None, callback=None, callback_type="x", show=False, **options
):
    x, info = _solve("tfqmr", A, b, x0, rtol, atol, limit_of(maxiter, None), M, callback, callback_type, options)
    if show:
        print(
            "TFQMR: Linear solve "
            + ("converged due to reach TOL" if info == 0 else "not converged due to reach MAXIT")
            + " iterations"
        )
    return x, info


tfqmr.__doc__ = _DOC.format(
    summary="Solves A x = b by the transpose-free quasi-minimal residual method; show=True prints how it ended."
)


def _restarted(method, A, b, x0, rtol, atol, restart, maxiter, M, callback, callback_type, options):
    if callback is not None and callback_type is None:
        warnings.warn(
            "gmres called without specifying `callback_type`: the callback gets residual norms, and maxiter counts iterations",
            DeprecationWarning,
            stacklevel=3,
        )
    if callback_type not in (None, "legacy", "pr_norm", "x"):
        raise ValueError(f"callback_type is {callback_type!r}. Give 'x', 'pr_norm' or 'legacy'")
    system = System.of(A)
    n = system.shape[0]
    restart = max(1, min(20 if restart is None else int(restart), n, 1000))
    legacy = callback is not None and callback_type in (None, "legacy")
    cycles = limit_of(maxiter, 10 * n)
    limit = cycles if legacy else min(cycles * restart, MOST_ITERATIONS)
    kind = "x" if callback_type == "x" else "pr_norm"
    return _solve(
        method,
        system,
        b,
        x0,
        rtol,
        atol,
        limit,
        M,
        callback,
        kind,
        {"restart": restart, **options},
        every=restart,
        info_limit=cycles,
    )


def gmres(
    A,
    b,
    x0=None,
    *,
    rtol=1e-5,
    atol=0.0,
    restart=None,
    maxiter=None,
    M=None,
    callback=None,
    callback_type=None,
    **options,
):
    return _restarted("gmres", A, b, x0, rtol, atol, restart, maxiter, M, callback, callback_type, options)


def fgmres(
    A,
    b,
    x0=None,
    *,
    rtol=1e-5,
    atol=0.0,
    restart=None,
    maxiter=None,
    M=None,
    callback=None,
    callback_type=None,
    **options,
):
    return _restarted("fgmres", A, b, x0, rtol, atol, restart, maxiter, M, callback, callback_type, options)


_RESTARTED = """

    Other arguments as SciPy's ``gmres``: `restart` iterations make a cycle, min(20, N) by default, and `maxiter` counts cycles.
    ``callback_type="x"`` has the callback called with x after each cycle, ``"pr_norm"`` with ``norm(r) / norm(b)`` after each
    iteration; ``"legacy"`` is the same, and `maxiter` then counts iterations. M is applied from the right, so norms are those of
    b - A x itself.
    """
gmres.__doc__ = _DOC.format(summary="Solves A x = b by restarted GMRES.") + _RESTARTED
fgmres.__doc__ = _DOC.format(summary="Solves A x = b by flexible GMRES, with an M that may change.") + _RESTARTED


def minres(
    A,
    b,
    x0=None,
    *,
    rtol=1e-5,
    shift=0.0,
    maxiter=None,
    M=None,
    callback=None,
    show=False,
    check=False,
    callback_type="x",
    **options,
):
    atol = options.pop("atol", 0.0)
    if (check or shift) and System.of(A).on_gpu:
        raise TypeError(
            "A lies on a GPU, and shift and check read it in host memory. Pass A - shift I, made by A's library, and no check"
        )
    if check:
        _check_symmetric(System.of(A))
        if M is not None and hasattr(M, "shape"):
            _check_symmetric(System.of(M))
    if shift:
        A = _Shifted(A, shift) if not hasattr(A, "diagonal") else A - shift * _identity_like(A)
    n = System.of(A).shape[0]
    x, info = _solve("minres", A, b, x0, rtol, atol, limit_of(maxiter, 5 * n), M, callback, callback_type, options)
    if show:
        print("MINRES: " + ("converged" if info == 0 else f"not converged, info {info}"))
    return x, info


minres.__doc__ = (
    _DOC.format(summary="Solves A x = b, or (A - shift I) x = b, by minimal residuals, for symmetric A.")
    + """

    maxiter is 5 N by default, as SciPy's. ``show=True`` prints how the solve ended; ``check=True`` raises ValueError if A or M is
    seen not to be symmetric.
    """
)


class _Shifted:
    """A - shift I by products."""

    def __init__(self, A, shift):
        self._A, self._shift, self.shape = A, shift, tuple(A.shape)
        if getattr(A, "dtype", None) is not None:
            self.dtype = A.dtype

    def matvec(self, x):
        product = self._A.matvec(x) if hasattr(self._A, "matvec") else self._A @ x
        return np.asarray(product).reshape(-1) - self._shift * x


def _identity_like(A):
    if hasattr(A, "tocsr"):
        from scipy.sparse import eye_array

        return eye_array(A.shape[0], dtype=A.dtype, format="csr")
    return np.eye(A.shape[0], dtype=A.dtype)


def _check_symmetric(system):
    A = system.source
    times = A.matvec if hasattr(A, "matvec") else (lambda v: A @ v)
    u, v = np.random.default_rng(0).standard_normal((2, system.shape[0]))
    left, right = float(np.dot(v, times(u))), float(np.dot(u, times(v)))
    scale = float(np.linalg.norm(v) * np.linalg.norm(times(u)))
    if abs(left - right) > 1e3 * np.finfo(system.dtype or np.float64).eps * scale:
        raise ValueError("A or M is not symmetric, and minres needs symmetric ones. Use bicgstab or gmres")

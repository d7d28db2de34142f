"""Least squares by functions, with SciPy's names, arguments and return values."""

import math

import numpy as np

from ._arrays import is_on_gpu, real_dtype, same_kind, to_numpy
from ._options import limit_of, tolerance
from ._parts import vector_of
from ._problem import Problem
from ._systems import System


def _damped(system, damp, b, x0, dtype):
    """[A; damp I] with [b; damp x0]."""
    rows, columns = system.shape
    if system.on_gpu:
        raise TypeError(
            "A lies on a GPU, and damp puts damp I below it, in host memory. Pass A in host memory; the solver copies it to the GPU"
        )
    below = np.zeros(columns, dtype) if x0 is None else damp * vector_of(x0, columns, dtype, "x0")
    b = np.concatenate((vector_of(b, rows, dtype, "b"), below)).astype(dtype)
    if system.is_matrix:
        return system.with_rows_below(damp, dtype), b

    class Stacked:
        shape = (rows + columns, columns)

        @staticmethod
        def matvec(x):
            return np.concatenate((np.asarray(system.source.matvec(x)).reshape(-1), damp * x))

        @staticmethod
        def rmatvec(y):
            return np.asarray(system.source.rmatvec(y[:rows])).reshape(-1) + damp * y[rows:]

    Stacked.dtype = dtype
    return System(Stacked), b


def _least_squares(method, A, b, damp, rtol, limit, x0, options):
    """(x, report, ||b - A x||, Frobenius norm of the stacked matrix)."""
    system = System.of(A)
    if is_on_gpu(b):
        raise TypeError("b lies on a GPU. Use LinearSolver.enqueue with an x of your own")
    b = np.atleast_1d(to_numpy(b, "b"))  # as SciPy's take a scalar
    dtype = system.dtype_with(real_dtype(b.dtype, "b"))
    solved, right = (system, b) if not damp else _damped(system, damp, b, x0, dtype)
    problem = Problem(method, solved, right, x0, None, options)
    x, report = problem.solve(rtol, 0.0, limit)
    anorm = float(np.linalg.norm(solved.values())) if solved.is_matrix and not solved.on_gpu else math.nan
    residual = report.residual_norm
    if damp:
        offset = x if x0 is None else x - vector_of(x0, len(x), dtype, "x0")
        residual = math.sqrt(max(0.0, residual**2 - (damp * float(np.linalg.norm(offset))) ** 2))
    return x, report, residual, anorm


def _istop(report):
    if report.rhs_norm == 0 or (report.converged and report.iterations == 0):
        return 0
    codes = {"converged_rtol": 1, "converged_atol": 1, "converged_normal": 2, "attainable_accuracy": 5}
    return codes.get(report.reason, 7)


def _onetolerance(atol, btol):
    given = [t for t in (tolerance("atol", atol), tolerance("btol", btol)) if t > 0]
    return min(given, default=float(np.finfo(float).eps))


def lsqr(
    A, b, damp=0.0, atol=1e-6, btol=1e-6, conlim=1e8, iter_lim=None, show=False, calc_var=False, x0=None, **options
):
    """Minimizes ``||b - A x||^2 + damp^2 ||x - x0||^2`` by LSQR, for A of any shape and rank.

    Parameters and the ten values returned are those of SciPy's ``lsqr``, with these differences: the smaller of `atol` and `btol`
    is the tolerance for both tests; `conlim` has no effect, and `acond` is NaN, since Whilst estimates no condition number; `anorm`
    is the Frobenius norm itself, NaN for an operator; ``calc_var=True`` is refused. `istop` 7 stands for every end without success.

    Returns
    -------
    x, istop, itn, r1norm, r2norm, anorm, acond, arnorm, xnorm, var : tuple
    """
    if calc_var:
        raise ValueError("calc_var is True, and Whilst estimates no variances. Leave it out")
    system = System.of(A)
    limit = limit_of(iter_lim, 2 * system.shape[1])
    x, report, r1norm, anorm = _least_squares("lsqr", system, b, damp, _onetolerance(atol, btol), limit, x0, options)
    if show:
        print(report.message)
    return (
        same_kind(x, b),
        _istop(report),
        report.iterations,
        r1norm,
        report.residual_norm,
        anorm,
        math.nan,
        report.normal_residual_norm,
        float(np.linalg.norm(x)),
        np.zeros(len(x)),
    )


def lsmr(A, b, damp=0.0, atol=1e-6, btol=1e-6, conlim=1e8, maxiter=None, show=False, x0=None, **options):
    """Minimizes ``||b - A x||^2 + damp^2 ||x - x0||^2`` by LSMR, for A of any shape and rank.

    Parameters and the eight values returned are those of SciPy's ``lsmr``, with the differences that :func:`lsqr` tells.

    Returns
    -------
    x, istop, itn, normr, normar, norma, conda, normx : tuple
    """
    system = System.of(A)
    limit = limit_of(maxiter, min(system.shape))
    x, report, _, anorm = _least_squares("lsmr", system, b, damp, _onetolerance(atol, btol), limit, x0, options)
    if show:
        print(report.message)
    return (
        same_kind(x, b),
        _istop(report),
        report.iterations,
        report.residual_norm,
        report.normal_residual_norm,
        anorm,
        math.nan,
        float(np.linalg.norm(x)),
    )


def cgls(A, b, damp=0.0, atol=1e-6, btol=1e-6, maxiter=None, x0=None, **options):
    """As :func:`lsmr`, by conjugate gradients for least squares, with the same eight values."""
    system = System.of(A)
    limit = limit_of(maxiter, 2 * system.shape[1])
    x, report, _, anorm = _least_squares("cgls", system, b, damp, _onetolerance(atol, btol), limit, x0, options)
    return (
        same_kind(x, b),
        _istop(report),
        report.iterations,
        report.residual_norm,
        report.normal_residual_norm,
        anorm,
        math.nan,
        float(np.linalg.norm(x)),
    )

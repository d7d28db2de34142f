"""What functions and solvers that descend share: names of methods and options, and what they return."""

import numpy as np

_MINIMIZERS = {
    "bfgs": "bfgs", "l-bfgs-b": "lbfgs", "cg": "conjugate-gradient-pr", "newton-cg": "newton-cg", "trust-ncg": "trust-region",
    "lbfgs": "lbfgs", "trust-region": "trust-region", "conjugate-gradient-pr": "conjugate-gradient-pr",
    "conjugate-gradient-hz": "conjugate-gradient-hz", "gradient-descent": "gradient-descent",
}  # fmt: skip
_ROOTS = {"broyden1": "broyden", "broyden": "broyden", "anderson": "anderson"}
# SciPy's names of options, the one that tol stands for first.
MINIMIZER_OPTIONS = {"gtol": "gradient", "ftol": "function", "maxiter": "max_iterations", "maxfun": "max_evaluations"}
ROOT_OPTIONS = {"fatol": "atol", "maxiter": "max_iterations"}


class OptimizeResult(dict):
    """What minimize, least_squares and root return: a dictionary whose entries are attributes, too, as SciPy's.

    Of several starting points, entries have a leading axis, and texts and histories are lists.

    Attributes
    ----------
    x : numpy.ndarray
    success : bool
    status : int
        The code of the reason; ``reason`` is its name, and ``message`` a sentence.
    fun : float or numpy.ndarray
        The function's value at x; of least_squares and root the residuals.
    nit, nfev : int
        Accepted steps, and evaluations, those for finite differences included.
    """

    __slots__ = ()

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __repr__(self):
        return "\n".join(f"{key:>10}: {value!r}" for key, value in self.items())


def no_column(shape):
    """Refuses a column, which is more likely one vector than many starting points of one unknown."""
    if shape[1] == 1 and shape[0] > 1:
        raise ValueError(
            f"x0 has shape {tuple(shape)}, {shape[0]} points of one unknown. For one vector, give x0.ravel()"
        )


def stacked(results, stack=np.stack):
    """One result for several starting points, the rows of an array: each entry has a leading axis, or is a list."""
    if not results:
        raise ValueError("x0 has no rows. Give a starting point a row")

    def joined(values):
        if all(isinstance(value, (bool, int, float, np.generic)) for value in values):
            return np.array(values)
        if all(isinstance(value, np.ndarray) and value.shape == values[0].shape for value in values):
            return np.stack(values)
        return values

    made = {key: joined([result[key] for result in results]) for key in results[0] if key != "x"}
    return OptimizeResult(x=stack([result["x"] for result in results]), **made)


def _chosen(method, known):
    name = known.get(str(method).lower())
    if name is None:
        raise ValueError(f"there is no method called {method!r} here. Use one of {', '.join(known)}")
    return name


def chosen_minimizer(method):
    """The library's name of a method of minimize's."""
    return _chosen(method, _MINIMIZERS)


def chosen_root(method):
    """The library's name of a method of root's."""
    return _chosen(method, _ROOTS)


def arguments(args):
    """SciPy's args: a tuple, or one argument by itself."""
    return args if isinstance(args, tuple) else (args,)


def settings_of(options, tol, names, executor):
    """The library's options for SciPy's; tol is the first of `names`. On a GPU, options may name another executor."""
    settings = {}
    for key, value in (options or {}).items():
        settings[names.get(key, key)] = value
    if tol is not None:
        settings[names[next(iter(names))]] = tol
    for fixed in ("method", "callback_memory") if executor == "graph" else ("method", "callback_memory", "executor"):
        if fixed in settings:
            raise TypeError(f"{fixed} is no option here")
    return {"executor": executor, **settings}


def least_squares_settings(ftol, xtol, gtol, max_nfev):
    """The library's options for SciPy's tolerances."""
    settings = {
        "method": "levenberg-marquardt",
        "gradient": gtol or 0.0,
        "function": ftol or 0.0,
        "step": xtol or 0.0,
    }
    if max_nfev is not None:
        settings["max_evaluations"] = max_nfev
    return settings

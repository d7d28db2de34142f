"""Options as the library reads them: text."""

import numpy as np

from . import _core

#: Every option of a linear solver and its default, as text.
DEFAULTS = dict(one.split("=", 1) for one in _core.default_options().split(","))
#: The same of minimize and least_squares, and of root.
MINIMIZE_DEFAULTS = dict(one.split("=", 1) for one in _core.default_minimizer_options().split(","))
ROOT_DEFAULTS = dict(one.split("=", 1) for one in _core.default_root_options().split(","))

_LARGEST = 1e300  # stands for an infinite tolerance, which the library refuses
MOST_ITERATIONS = np.iinfo(np.int64).max


def tolerance(name, value):
    """A tolerance as the library takes it."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} is {value!r}. Give a number that is not negative") from None
    if not number >= 0:
        raise ValueError(f"{name} is {value!r}. Give a number that is not negative")
    return min(number, _LARGEST)


def limit_of(maxiter, usual, name="maxiter"):
    """A limit of iterations; `usual` for None."""
    if maxiter is None:
        return usual
    try:
        number = int(maxiter)
    except (OverflowError, TypeError, ValueError):
        number = -1
    if isinstance(maxiter, bool) or number != maxiter or number < 0:
        raise ValueError(f"{name} is {maxiter!r}. Give a whole number that is not negative")
    if number > MOST_ITERATIONS:
        raise ValueError(f"{name} is {maxiter!r}. Give {MOST_ITERATIONS} at most: it is counted in 64 bits")
    return number


def _text(key, value):
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    if isinstance(value, str):
        if "," in value or "=" in value:
            raise ValueError(f"{key} is {value!r}: only the name of a preconditioner can have settings after it")
        return value
    try:
        numbers = np.asarray(value)
    except ValueError:
        numbers = np.asarray(None)
    if numbers.dtype.kind not in "iuf":
        raise TypeError(
            f"{key} is of type {type(value).__name__}. Give a number, a text, True or False, or an array of numbers"
        )
    if numbers.ndim > 1:
        raise ValueError(
            f"{key} has shape {numbers.shape}. Give one vector after another: V.T.ravel() for the columns of V"
        )
    return " ".join(map(repr, numbers.ravel().tolist()))


def options_text(options, known=DEFAULTS):
    """The options, a dictionary, in the library's form.

    Raises
    ------
    TypeError
        For an option that does not exist, as Python does for arguments.
    """
    for key in options:
        if key not in known:
            raise TypeError(f"there is no option called {key!r}. Use one of {', '.join(known)}")
    return ",".join(f"{key}={_text(key, value)}" for key, value in options.items() if value is not None)

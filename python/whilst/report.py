"""How a solve ended."""

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True, repr=False, eq=False)
class Report:
    """How a solve ended: a value, never an exception.

    Attributes
    ----------
    converged : bool
    reason : str
        Why the solve stopped: ``"converged_rtol"``, ``"iteration_limit"``, ``"breakdown"`` and so on.
    reason_code : int
        The same as a number: positive for converged, negative for not.
    message : str
        The same as a sentence.
    iterations : int
        Completed updates of x, over all restarts.
    residual_norm, relative_residual, rhs_norm : float
        ``||b - A x||`` recomputed from x at the end, the same divided by ``||b||``, and ``||b||``.
    normal_residual_norm : float
        Of lsqr, lsmr and cgls: ``||A'(b - A x)||``.
    removed_norm : float
        With a null space: the norm of what was removed from b.
    setup_seconds, solve_seconds, loop_seconds, seconds_per_iteration : float
        Of making the solver, of the solve, of its loop, and of an iteration.
    method, preconditioner, executor, precision, device, format : str
        What ran, on what.
    note, choice, format_choice, preconditioner_choice : str
        What the caller should know, and why what was chosen automatically was chosen.
    rows, nonzeros : int
    history, history_iterations : numpy.ndarray
        Residual norms, and after how many iterations each.
    """

    converged: bool
    reason: str
    reason_code: int
    message: str
    iterations: int
    residual_norm: float
    relative_residual: float
    rhs_norm: float
    normal_residual_norm: float
    removed_norm: float
    setup_seconds: float
    solve_seconds: float
    loop_seconds: float
    seconds_per_iteration: float
    method: str
    preconditioner: str
    executor: str
    precision: str
    device: str
    note: str
    choice: str
    format: str
    format_choice: str
    preconditioner_choice: str
    rows: int
    nonzeros: int
    history_iterations: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    history: np.ndarray = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def of(cls, done):
        """That of the core, whose fields are read once one is asked for: a call that nobody asks about takes less time."""
        made = object.__new__(cls)
        made.__dict__["_done"] = done
        return made

    def __getattr__(self, name):
        done = self.__dict__.get("_done")
        if done is None or name not in self.__dataclass_fields__:
            raise AttributeError(f"a Report has no {name!r}")
        self.__dict__.update(done.fields())  # _done stays: another thread may be here, too
        return self.__dict__[name]

    def __reduce__(self):
        return type(self), tuple(getattr(self, name) for name in self.__dataclass_fields__)

    def __bool__(self):
        return self.converged

    def __repr__(self):
        with_what = self.method if self.preconditioner in ("", "none") else f"{self.method} with {self.preconditioner}"
        return f"<whilst.Report: {self.message}; {with_what} on {self.executor}, {self.solve_seconds:.3g} s>"

    def plot(self, axes=None):
        """Draws the residual norm by iteration; needs Matplotlib.

        Parameters
        ----------
        axes : matplotlib.axes.Axes, optional
            Where to draw; new ones by default.

        Returns
        -------
        matplotlib.axes.Axes
        """
        if axes is None:
            try:
                from matplotlib import pyplot
            except ImportError as missing:
                raise ImportError("plot() needs Matplotlib: pip install matplotlib") from missing
            axes = pyplot.figure().add_subplot()
        axes.semilogy(self.history_iterations, self.history, label=self.method)
        axes.set_xlabel("iteration")
        axes.set_ylabel("residual norm")
        return axes

"""A solve that was enqueued."""

from .report import Report


class Ticket:
    """A solve that was enqueued; made by :meth:`LinearSolver.enqueue`. Keeps b and x alive."""

    def __init__(self, core, *keep):
        self._core = core
        self._keep = keep

    def done(self):
        """Whether the solve has completed: then :meth:`wait` does not block."""
        return self._core.done()

    def cancel(self):
        """Asks this solve to stop; harmless once it has."""
        self._core.cancel()

    def progress(self):
        """``(iteration, residual_norm, running)``, without stopping the solve."""
        return self._core.progress()

    def wait(self):
        """Waits for the solve and returns its :class:`Report`. Ctrl-C cancels it."""
        return Report.of(self._core.wait())

    def __repr__(self):
        return f"<whilst.Ticket: {'done' if self.done() else 'running'}>"

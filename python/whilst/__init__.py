"""Iterative solvers whose whole loop runs on the GPU, or on the CPU: sparse linear systems and least squares.

Functions have SciPy's names, arguments and return values; :class:`LinearSolver` is recorded once and solves many times.
"""

from ._core import Error, __version__, describe_cache, machine, reset
from ._options import DEFAULTS
from .batches import BatchReport, BatchSolver
from .distributed import DistributedLinearSolver, Group
from .distributed_minimizer import DistributedMinimizer
from .functions import (
    bicgstab,
    bicgstabl,
    cg,
    cgs,
    chebyshev,
    cr,
    fgmres,
    flexible_cg,
    gmres,
    idr,
    minres,
    pipelined_cg,
    refined_cg,
    richardson,
    solve,
    tfqmr,
)
from .least_squares_functions import cgls, lsmr, lsqr
from .linear_solver import LinearSolver
from .ticket import Ticket
from .optimize import OptimizeResult, least_squares, minimize, root
from .recorded import LeastSquaresSolver, Minimizer, RecordedSolver, RootSolver
from .report import Report

Error.__module__ = "whilst"

__all__ = [
    "BatchReport",
    "BatchSolver",
    "DEFAULTS",
    "DistributedLinearSolver",
    "DistributedMinimizer",
    "Error",
    "Group",
    "LeastSquaresSolver",
    "LinearSolver",
    "Minimizer",
    "OptimizeResult",
    "RecordedSolver",
    "RootSolver",
    "least_squares",
    "minimize",
    "root",
    "Report",
    "Ticket",
    "__version__",
    "bicgstab",
    "bicgstabl",
    "cg",
    "cgls",
    "cgs",
    "chebyshev",
    "cr",
    "describe_cache",
    "fgmres",
    "flexible_cg",
    "gmres",
    "idr",
    "lsmr",
    "lsqr",
    "machine",
    "minres",
    "pipelined_cg",
    "refined_cg",
    "reset",
    "richardson",
    "solve",
    "tfqmr",
]

"""What a solve tells, and an operator without a matrix."""

import numpy as np
import whilst


class SecondDifference:
    """-u'' on n points of a line."""

    shape, dtype = (100, 100), np.dtype(float)

    def matvec(self, u):
        v = 2 * u
        v[1:] -= u[:-1]
        v[:-1] -= u[1:]
        return v


solver = whilst.LinearSolver(SecondDifference(), "cg", lambda r: r / 2, rtol=1e-8)
x, report = solver.solve(np.ones(100))
print(report.reason, report.iterations, report.history[-1] < 1e-8 * report.rhs_norm)
solver.set_max_iterations(10)
x, report = solver.solve(np.ones(100))
print(report.converged, report.reason, report.iterations)
# prints:
# converged_rtol 50 True
# False iteration_limit 10

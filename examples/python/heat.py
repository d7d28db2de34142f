"""A rod cools by implicit Euler, (I + dt A) u_new = u: one solver, many right-hand sides, two time steps."""

import numpy as np
import scipy.sparse as sparse
import whilst

n = 199
A = sparse.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n), format="csr") * (n + 1) ** 2
identity = sparse.eye_array(n, format="csr")
u = np.sin(np.pi * np.arange(1, n + 1) / (n + 1))

solver = whilst.LinearSolver(identity + 0.01 * A, "cg", "jacobi", rtol=1e-12)
for dt in (0.01, 0.1):
    solver.update_values(identity + dt * A)  # nothing is recorded again
    for step in range(5):
        u, report = solver.solve(u, u)  # and the last u is a good guess
        assert report.converged
    print(f"5 steps of {dt:.2f}: the middle is at {u[n // 2]:.6f}")
# prints:
# 5 steps of 0.01: the middle is at 0.624620
# 5 steps of 0.10: the middle is at 0.020169

"""A string under loads at two points in one solve, and a thousand strings of stiffnesses of their own in another."""

import numpy as np
import scipy.sparse as sparse
import whilst

n = 19  # u'' = -f on n points, unscaled
A = sparse.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n), format="csr")
B = np.zeros((n, 2))
B[4, 0] = B[9, 1] = 1
X, report = whilst.LinearSolver(A, "cg", rtol=1e-12).solve(B)  # a product reads A once for both columns
print(report.converged, np.round([X[4, 0], X[9, 1]], 6))

stiffness = np.linspace(1.0, 2.0, 1000)
solver = whilst.BatchSolver(A, "cg", "jacobi", rtol=1e-12)
x, report = solver.solve(stiffness[:, None] * A.data, np.ones((1000, n)))
print(report.message.split(";")[0], np.round(x[[0, -1], 9], 6))
# prints:
# [ True  True] [3.75 5.  ]
# 1000 of 1000 systems converged [50. 25.]

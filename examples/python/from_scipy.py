"""A program for SciPy, and what changes with Whilst: the name of the module, then, for fewer iterations, M."""

import numpy as np
import scipy.sparse as sparse
import scipy.sparse.linalg as linalg
import whilst

n = 200  # a heated plate with cooled edges: -u'' - v'' = 1 on n x n points
line = sparse.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n))
A = sparse.kronsum(line, line, format="csr")
b = np.ones(n * n)

x, info = linalg.cg(A, b, rtol=1e-8)
y, info_of_whilst = whilst.cg(A, b, rtol=1e-8)
print(info, info_of_whilst, np.abs(x - y).max() < 1e-6 * x.max())

for M in (None, "jacobi", "ssor", "amg"):
    norms = []
    whilst.cg(A, b, rtol=1e-8, M=M, callback=norms.append, callback_type="pr_norm")
    print(M, len(norms))

solver = whilst.LinearSolver(A, "cg", "amg", rtol=1e-8)  # M is made and the loop recorded once
for load in (1.0, 2.0, 3.0):
    x, report = solver.solve(load * b)
    print(load, report.reason, report.iterations)
# prints:
# 0 0 True
# None 369
# jacobi 369
# ssor 186
# amg 16
# 1.0 converged_rtol 16
# 2.0 converged_rtol 16
# 3.0 converged_rtol 16

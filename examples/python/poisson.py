import numpy as np
import scipy.sparse as sparse
import whilst

n = 300  # -u'' - v'' = 1 on n x n points of a square
line = sparse.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n))
A = sparse.kronsum(line, line, format="csr")
b = np.ones(n * n)
x, info = whilst.cg(A, b, rtol=1e-8, M="amg")  # as scipy.sparse.linalg.cg, with a preconditioner of Whilst's
print(info, np.linalg.norm(b - A @ x) <= 1e-8 * np.linalg.norm(b))  # 0 True

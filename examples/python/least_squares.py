"""A straight line through points, by lsqr with SciPy's ten results."""

import numpy as np
import whilst

t = np.linspace(0.0, 1.0, 11)
A = np.column_stack((np.ones_like(t), t))
x, istop, *rest = whilst.lsqr(A, 3 - 2 * t, atol=1e-12, btol=1e-12)
print(istop, np.round(x, 9))
# prints:
# 1 [ 3. -2.]

"""A function minimized, and a curve fitted."""

import numpy as np
import whilst


def rosenbrock(x):
    """The value, and the gradient."""
    inner = x[1:] - x[:-1] ** 2
    gradient = np.zeros_like(x)
    gradient[:-1] = -400 * x[:-1] * inner - 2 * (1 - x[:-1])
    gradient[1:] += 200 * inner
    return 100 * inner @ inner + np.sum((1 - x[:-1]) ** 2), gradient


best = whilst.minimize(rosenbrock, np.zeros(100), method="L-BFGS-B", jac=True, tol=1e-8)
print(best.success, np.abs(best.x - 1).max() < 1e-6)

t = np.linspace(0.0, 2.0, 21)
fit = whilst.least_squares(lambda x: x[0] * np.exp(-x[1] * t) - 3 * np.exp(-1.5 * t), [1.0, 1.0])
print(fit.success, np.round(fit.x, 6))
# prints:
# True True
# True [3.  1.5]

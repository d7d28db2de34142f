"""What the tests share: matrices whose solutions SciPy's direct solver gives."""

import numpy as np
import pytest
import scipy.sparse as sparse
from hypothesis import settings

# The same examples in every run, and nothing written.
settings.register_profile("whilst", derandomize=True, database=None, deadline=None)
settings.load_profile("whilst")


def poisson(n, dtype=np.float64):
    """The 5-point Laplacian on n x n points: symmetric, positive definite."""
    line = sparse.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n))
    return sparse.kronsum(line, line, format="csr").astype(dtype)


def convection(n, dtype=np.float64):
    """Diffusion and convection on a line: not symmetric, diagonally dominant."""
    return sparse.diags_array([-1.5, 3.0, -0.5], offsets=[-1, 0, 1], shape=(n, n)).tocsr().astype(dtype)


def relative_residual(A, b, x):
    """In double, whatever the arrays."""
    b = np.asarray(b, np.float64).reshape(-1)
    return np.linalg.norm(b - A.astype(np.float64) @ np.asarray(x, np.float64).reshape(-1)) / np.linalg.norm(b)


@pytest.fixture
def generator():
    return np.random.default_rng(17)

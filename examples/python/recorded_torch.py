"""A PyTorch function minimized in one launch: its kernels and autograd's are recorded into the loop."""

import torch
import whilst

torch.manual_seed(0)
X = torch.randn(10_000, 20, dtype=torch.float64, device="cuda")
y = (X @ torch.linspace(-1, 1, 20, dtype=torch.float64, device="cuda") > 0).to(torch.float64)


def loss(w):
    return torch.nn.functional.binary_cross_entropy_with_logits(X @ w, y) + 1e-3 * (w @ w)


w0 = torch.zeros(20, dtype=torch.float64, device="cuda")
solver = whilst.Minimizer(loss, w0, tol=1e-8, check=True)  # records
best = solver.solve(w0)  # one launch: no Python between the steps
print(best.success, float(torch.linalg.norm(torch.autograd.functional.jacobian(loss, best.x))) <= 2e-8)
y.logical_not_()  # other data, where the recording reads them
print(torch.allclose(solver.solve(w0).x, -best.x, atol=1e-6))
# prints:
# True True
# True

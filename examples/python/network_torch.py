"""A physics-informed network: u'' = -sin(2 pi q) with u(0) = u(1) = 0, its loss minimized by L-BFGS in one launch."""

import math

import torch
import whilst

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
network = torch.nn.Sequential(
    torch.nn.Linear(1, 32), torch.nn.Tanh(), torch.nn.Linear(32, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1)
).cuda()
names = [name for name, _ in network.named_parameters()]
shapes = [parameter.shape for parameter in network.parameters()]
points = torch.linspace(0, 1, 1000, device="cuda")[:, None]


def u(x, q):
    """The network with its parameters taken from one vector, x."""
    pieces = x.split([math.prod(shape) for shape in shapes])
    parameters = {name: piece.view(shape) for name, piece, shape in zip(names, pieces, shapes)}
    return torch.func.functional_call(network, parameters, (q,))


def loss(x):
    q = points.detach().requires_grad_(True)
    value = u(x, q)
    (slope,) = torch.autograd.grad(value.sum(), q, create_graph=True)
    (curvature,) = torch.autograd.grad(slope.sum(), q, create_graph=True)
    ends = value[0].square() + value[-1].square()
    return (curvature + torch.sin(2 * math.pi * q)).square().mean() + ends.sum()


x0 = torch.nn.utils.parameters_to_vector(network.parameters()).detach()
solver = whilst.Minimizer(loss, x0, options={"maxiter": 400, "gtol": 1e-6})
best = solver.solve(x0)
torch.nn.utils.vector_to_parameters(best.x, network.parameters())
exact = torch.sin(2 * math.pi * points) / (2 * math.pi) ** 2
print(best.nit > 50, bool((network(points) - exact).abs().max() < 1e-3))
# prints:
# True True

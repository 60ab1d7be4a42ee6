"""Optimisers: what a step does to the weights."""

import copy

import pytest
import torch

from benchmark.optimisers import make_optimiser, orthogonal
from benchmark.presets import Training


@pytest.mark.parametrize("shape", [(4, 36), (36, 4), (6, 6)])
def test_a_gradient_becomes_nearly_orthogonal(shape: tuple[int, int]) -> None:
    """As long in every direction, and in each the same way as before."""
    torch.manual_seed(0)
    left, _ = torch.linalg.qr(torch.randn(shape[0], min(shape)))
    right, _ = torch.linalg.qr(torch.randn(shape[1], min(shape)))
    lengths = torch.linspace(0.3, 1, min(shape))
    turned = left.mT @ orthogonal(left * lengths @ right.mT) @ right
    assert ((turned.diagonal() > 0.6) & (turned.diagonal() < 1.3)).all()
    assert torch.allclose(turned, turned.diagonal().diag(), atol=1e-3)


def trained(optimiser: str, steps: int) -> float:
    """How far a small network still is from what it is to learn."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Conv2d(2, 8, 3), torch.nn.ReLU(), torch.nn.Conv2d(8, 1, 3))
    images = torch.randn(64, 2, 5, 5)
    wanted = images[:, :1].amax((2, 3), keepdim=True) - images[:, 1:].amin((2, 3), keepdim=True)
    step = make_optimiser(Training(steps, 1, optimiser=optimiser, rate=0.01), model)
    for _ in range(steps):
        step.zero_grad()
        loss = (model(images) - wanted).square().mean()
        loss.backward()
        step.step()
    return float(loss.detach())


@pytest.mark.parametrize("optimiser", ["adamw", "muon"])
def test_it_learns(optimiser: str) -> None:
    assert trained(optimiser, 150) < 0.3 * trained(optimiser, 1)


def test_muon_moves_layers_by_equal_lengths_and_leaves_gradients_alone() -> None:
    """Whatever the size of the gradients: rates mean the same in every layer."""
    layer = torch.nn.Conv2d(4, 6, 3)
    before = layer.weight.detach().clone()
    step = make_optimiser(Training(1, 1, optimiser="muon", rate=0.01, decay=0.0), layer)
    (1e-3 * layer(torch.randn(8, 4, 9, 9)).square()).sum().backward()
    gradient = layer.weight.grad.clone()
    step.step()
    moved = (layer.weight.detach() - before).square().mean().sqrt()
    assert float(moved) == pytest.approx(0.2 * 0.01, rel=0.15)  # as long as AdamW's
    assert torch.equal(layer.weight.grad, gradient)


def test_muon_goes_on_from_its_state() -> None:
    torch.manual_seed(0)
    model, images = torch.nn.Linear(6, 5), torch.randn(8, 6)
    optimiser = make_optimiser(Training(1, 1, optimiser="muon"), model)

    def run(network: torch.nn.Module, step: torch.optim.Optimizer) -> torch.Tensor:
        for _ in range(3):
            step.zero_grad()
            network(images).exp().mean().backward()
            step.step()
        return network.weight.detach().clone()

    run(model, optimiser)
    again = torch.nn.Linear(6, 5)
    again.load_state_dict(model.state_dict())
    second = make_optimiser(Training(1, 1, optimiser="muon"), again)
    second.load_state_dict(copy.deepcopy(optimiser.state_dict()))
    assert torch.equal(run(model, optimiser), run(again, second))

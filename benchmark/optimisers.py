"""Optimisers: what makes weights of gradients."""

from typing import Any

import torch
from torch import Tensor, nn

from benchmark.presets import Training

# Of a polynomial of fifth degree that brings singular values near 1 in few rounds (K. Jordan and
# others, Muon, 2024).
_ROUND = (3.4445, -4.7750, 2.0315)
_ROUNDS = 5


def make_optimiser(training: Training, model: nn.Module) -> torch.optim.Optimizer:
    """The optimiser of a preset; biases and single numbers do not decay."""
    if training.optimiser == "adadelta":
        return torch.optim.Adadelta(model.parameters(), lr=training.rate)
    wide = [p for p in model.parameters() if p.ndim > 1]
    flat = [p for p in model.parameters() if p.ndim <= 1]
    groups: list[dict[str, Any]] = [{"params": wide}, {"params": flat, "weight_decay": 0.0}]
    kind = Muon if training.optimiser == "muon" else torch.optim.AdamW
    return kind(groups, lr=training.rate, weight_decay=training.decay)


class Muon(torch.optim.AdamW):
    """Steps of equal length in all directions of a layer, not only in those of large gradients.

    The mean gradient of a layer's weights, a row for each filter, is replaced by the nearest
    matrix whose rows, or columns, are orthogonal. Steps are as long as AdamW's (Liu and others,
    2025), so rates and decays mean the same. What has one row, or none, goes as in AdamW.
    """

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """One step; no closure is taken."""
        hidden: dict[nn.Parameter, Tensor] = {}
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is not None and weight.ndim > 1 and len(weight) > 1:
                    self._turn(weight, group["lr"], group["weight_decay"])
                    hidden[weight], weight.grad = weight.grad, None
        super().step()
        for weight, gradient in hidden.items():
            weight.grad = gradient

    def _turn(self, weight: nn.Parameter, rate: float, decay: float, beta: float = 0.95) -> None:
        assert weight.grad is not None
        state = self.state[weight]
        if not state:
            # AdamW asks all that is stored for its step.
            state.update(step=torch.tensor(0.0), momentum=torch.zeros_like(weight))
        state["step"] += 1
        state["momentum"].lerp_(weight.grad, 1 - beta)
        # A step ahead, as Nesterov's.
        rows = weight.grad.lerp(state["momentum"], beta).flatten(1)
        length = 0.2 * max(rows.shape) ** 0.5
        weight.mul_(1 - rate * decay)
        weight.add_(orthogonal(rows).view_as(weight), alpha=-rate * length)


def orthogonal(rows: Tensor) -> Tensor:
    """About the nearest matrix whose singular values are all 1, or so: between 0.7 and 1.2.

    >>> torch.linalg.svdvals(orthogonal(torch.tensor([[3.0, 0.0, 0.1], [0.0, 0.5, 0.0]]))) > 0.6
    tensor([True, True])
    """
    turned = rows.mT if rows.shape[0] > rows.shape[1] else rows
    near: Tensor = turned / (turned.norm() + 1e-7)
    a, b, c = _ROUND
    for _ in range(_ROUNDS):
        square = near @ near.mT
        near = a * near + (b * square + c * square @ square) @ near
    return near.mT if rows.shape[0] > rows.shape[1] else near

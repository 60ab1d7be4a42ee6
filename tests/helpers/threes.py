"""Models whose predictions are known beforehand, so that what is made of them can be checked."""

import torch
from torch import Tensor

from benchmark.models.contract import InductiveModel, Model
from benchmark.models.step import Step


class OneWeight(Model):
    """A model with a single weight, which does nothing."""

    def __init__(self, task):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(()))

    def loss(self, batch) -> Tensor:
        return self.weight**2 * torch.ones(len(batch.images))


class Three(OneWeight, InductiveModel):
    """Counts three objects in every image: pixels (0, 0), (0, 1) and (0, 2)."""

    kind = "counting"

    def encode(self, images: Tensor) -> Tensor:
        return images

    def step(self, encoded: Tensor, memory: Tensor) -> Step:
        """Find those of the three that remain."""
        delta = torch.zeros_like(memory)
        delta[:, 0, :3] = 1
        left = (delta - memory).clamp(0, 1)
        return Step(left, (left.sum((1, 2)) == 0).float())

    def update(self, memory: Tensor, delta: Tensor) -> Tensor:
        after = memory.clone()
        after[:, 0, int(memory[0].sum())] = 1
        return after


class Endless(Three):
    """Finds another object at each step."""

    def step(self, encoded: Tensor, memory: Tensor) -> Step:
        return Step(1 - memory, torch.zeros(len(memory)))


class Same(OneWeight):
    """Not inductive: reads the same line a hundred times."""

    kind = "reading"

    def predict(self, images: Tensor) -> list[list[str]]:
        return [["sssss"] * 100 for _ in images]


class Four(OneWeight):
    """Not inductive: counts four objects in every image."""

    kind = "counting"

    def predict(self, images: Tensor) -> list[int]:
        return [4] * len(images)

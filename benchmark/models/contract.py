"""Contract: what the benchmark asks of a model.

Any `torch.nn.Module` that is made from a task and has `loss` and `predict` can be trained and
scored: `ivl-bench run --model mypackage.mymodule:MyModel`. An inductive model has `encode`,
`step` and `update` as well, and gets `predict`, the loop over them, for nothing.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from benchmark.data.batches import Batch
from benchmark.models.strips import Band
from benchmark.tasks import Answer
from benchmark.tasks.task import Kind


class Model(nn.Module, ABC):
    """What can be trained and scored."""

    kind: ClassVar[Kind]
    """What it can do; a task of another kind is refused."""
    encoder_parts: ClassVar[dict[str, str]] = {"encoder": "encoder"}
    """What may begin with the weights of a trained model, and what it is called there."""

    @abstractmethod
    def loss(self, batch: Batch) -> Tensor:
        """What training makes small, (N,): one figure for each sample."""

    @abstractmethod
    def predict(self, images: Tensor) -> list[Answer]:
        """Images (N, C, H, W), 0 to 1 → for each the lines it says, or how many objects."""


@dataclass(frozen=True)
class Step:
    """What an inductive model makes of N images and their memories."""

    delta: Tensor  # (N, H, W) Δm, where the next line is, or all remaining objects
    stop: Tensor  # (N,) probability that nothing is left
    outputs: list[str] | None = None  # reading: what the next line says
    sure: Tensor | None = None  # (N,) reading: how sure of that it is, 0 to 1, where it can tell
    band: Band | None = None  # reading: where the next line is, in pixels, where it can tell


class InductiveModel(Model):
    """A model that goes from one memory to the next."""

    @abstractmethod
    def encode(self, images: Tensor) -> Tensor:
        """What all steps share, (N, …); a model without such a part returns the images."""

    @abstractmethod
    def step(self, encoded: Tensor, memory: Tensor) -> Step:
        """One step from the memories (N, H, W)."""

    @abstractmethod
    def update(self, memory: Tensor, delta: Tensor) -> Tensor:
        """The memories (N, H, W) after a step."""

    @torch.no_grad()
    def predict(self, images: Tensor) -> list[Answer]:
        """The loop, to its end."""
        from benchmark.evaluation.inductive_loop import run_loop  # it needs this module

        traces = run_loop(self, images)
        if self.kind == "counting":
            return [len(trace.outputs) for trace in traces]
        return [trace.outputs for trace in traces]

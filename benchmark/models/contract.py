"""Contract: what a model must implement to be trained and scored.

Any `torch.nn.Module` that is built from a task and has `loss` and `predict` can be trained and
scored: `ivl-bench run --model mypackage.mymodule:MyModel`. An inductive model implements `encode`,
`step` and `update` instead of `predict`, which is the loop over them.
"""

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from torch import Tensor, nn

from benchmark.data.batches import Batch
from benchmark.evaluation.inductive_loop import run_loop
from benchmark.evaluation.metrics import Prediction
from benchmark.models.step import Step
from benchmark.tasks.task import Kind


class Model(nn.Module, ABC):
    """A model that can be trained and scored."""

    kind: ClassVar[Kind]
    """`reading` or `counting`; a task of the other kind is refused."""
    encoder_parts: ClassVar[dict[str, str]] = {"encoder": "encoder"}
    """Submodules that can be initialised from a trained model, and their names there."""

    @abstractmethod
    def loss(self, batch: Batch) -> Tensor:
        """Return the training loss of each sample, (N,)."""

    @abstractmethod
    def predict(self, images: Tensor) -> list[Prediction]:
        """Return the lines, or the number of objects, in each image; (N, C, H, W), 0 to 1."""


class InductiveModel(Model):
    """A model that goes from one memory to the next, step by step."""

    @abstractmethod
    def encode(self, images: Tensor) -> Tensor:
        """Return the features that all steps share, (N, …), or the images themselves."""

    @abstractmethod
    def step(self, encoded: Tensor, memory: Tensor) -> Step:
        """Take one step from the memories (N, H, W)."""

    @abstractmethod
    def update(self, memory: Tensor, delta: Tensor) -> Tensor:
        """Return the memories (N, H, W) after a step."""

    @torch.no_grad()
    def predict(self, images: Tensor) -> list[Prediction]:
        """Run the inductive loop to its end."""
        traces = run_loop(self, images)
        if self.kind == "counting":
            return [len(trace.outputs) for trace in traces]
        return [trace.outputs for trace in traces]

"""Step: what an inductive model computes from images and their memories."""

from dataclasses import dataclass

from torch import Tensor

from benchmark.models.strips import Band


@dataclass(frozen=True)
class Step:
    """One step for N images."""

    delta: Tensor  # (N, H, W) Δm, the next line, or all remaining objects
    stop: Tensor  # (N,) probability that nothing is left
    outputs: list[str] | None = None  # reading: text of the next line
    confidence: Tensor | None = None  # (N,) reading: confidence in that text, 0 to 1, if known
    band: Band | None = None  # reading: location of the next line in pixels, if known

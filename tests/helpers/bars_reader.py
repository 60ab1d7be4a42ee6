"""A reader of dark bars, made by hand: what reading can be tested with before any training."""

import torch

from benchmark.models.contract import InductiveModel
from benchmark.models.step import Step


class Bars(InductiveModel):
    """Takes the topmost dark bar that is not in the memory for the next line."""

    kind = "reading"

    def __init__(self, task):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))

    def encode(self, images):
        return (images.mean(1) < 0.5).float()

    def step(self, dark, memory):
        left = dark * (memory < 0.5)
        rows = left.amax(2)  # (N, H)
        above = (rows.cumsum(1) > 0).float()
        ended = ((above * (1 - rows)).cumsum(1) > 0).float()
        delta = left * (above * (1 - ended))[:, :, None]
        texts = [f"bar of {int(d.sum(0).count_nonzero())}" for d in delta]
        return Step(delta, 1 - rows.amax(1), texts)

    def update(self, memory, delta):
        return (memory + delta).clamp(0, 1)

    def loss(self, batch):
        return self.weight * batch.lengths


class Odd(Bars):
    """Reads what would end a script in a page that is not careful."""

    def step(self, dark, memory):
        step = super().step(dark, memory)
        return Step(step.delta, step.stop, ["</script><b>" for _ in step.outputs])

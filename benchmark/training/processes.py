"""Processes: training on several at once, as torchrun starts them."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from benchmark.data.batches import Batch
from benchmark.models.contract import Model
from ivl_shards import UserError


@dataclass(frozen=True)
class Processes:
    """This process among all."""

    rank: int
    world: int
    device: torch.device

    @property
    def first(self) -> bool:
        """Whether it is the one that makes data, prints and writes."""
        return self.rank == 0

    def wait(self) -> None:
        """Until all are here."""
        if self.world > 1:
            dist.barrier()

    def mean(self, value: Tensor) -> float:
        """The mean over all processes."""
        if self.world > 1:
            dist.all_reduce(value)
        return float(value) / self.world

    def shared(self, model: Model, partly: bool = False) -> nn.Module:
        """A module from a batch to its losses (N,) whose gradients are means over all; `partly`
        says that some batches are for a part of the model only."""
        objective = _Objective(model)
        if self.world == 1:
            return objective
        return DistributedDataParallel(objective, find_unused_parameters=partly)


class _Objective(nn.Module):
    """`DistributedDataParallel` sees only what goes through `forward`."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.model = model

    def forward(self, batch: Batch) -> Tensor:
        return self.model.loss(batch)


@contextmanager
def join_processes(device: str) -> Iterator[Processes]:
    """Take part in what torchrun began, or be alone."""
    try:
        chosen = torch.device(device)
        torch.zeros(1, device=chosen)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"device '{device}' cannot be used here ({reason}): try cpu") from None
    world = int(os.environ.get("WORLD_SIZE", "1"))
    if world == 1:
        yield Processes(0, 1, chosen)
        return
    if chosen.type == "cuda":
        chosen = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(chosen)
    dist.init_process_group("nccl" if chosen.type == "cuda" else "gloo")
    try:
        yield Processes(dist.get_rank(), world, chosen)
    finally:
        dist.destroy_process_group()

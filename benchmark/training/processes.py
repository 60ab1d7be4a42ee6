"""Processes: distributed training, in processes that torchrun starts."""

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
    """The rank of this process, the number of processes, and the device."""

    rank: int
    world: int
    device: torch.device

    @property
    def first(self) -> bool:
        """Whether this process generates data, prints and writes files."""
        return self.rank == 0

    def wait(self) -> None:
        """Wait until all processes have reached this point."""
        if self.world > 1:
            dist.barrier()

    def mean(self, value: Tensor) -> float:
        """Return the mean of a value over all processes."""
        if self.world > 1:
            dist.all_reduce(value)
        return float(value) / self.world

    def shared(self, model: Model, partly: bool = False) -> nn.Module:
        """Return a module from a batch to its losses (N,), with gradients averaged over processes.

        `partly` tells that some batches train a part of the model only.
        """
        objective = _Objective(model)
        if self.world == 1:
            return objective
        return DistributedDataParallel(objective, find_unused_parameters=partly)


class _Objective(nn.Module):
    """The loss of a model as `forward`, which `DistributedDataParallel` needs."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.model = model

    def forward(self, batch: Batch) -> Tensor:
        return self.model.loss(batch)


@contextmanager
def join_processes(device: str) -> Iterator[Processes]:
    """Join the process group that torchrun started, or run as a single process."""
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

"""Checkpoints: the state of a training, to resume it from."""

import math
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from benchmark.models.contract import Model
from benchmark.old_files import OLD_CHECKPOINT_PARTS
from benchmark.options import is_number, whole
from benchmark.training.weights import load_into, load_tensors, save_tensors
from ivl_shards import UserError

SAVE_EVERY = 60.0
"""Seconds between two checkpoints, unless the user says otherwise."""


@dataclass
class State:
    """Everything that changes during training."""

    model: Model
    optimizer: torch.optim.Optimizer
    ema: nn.Module | None
    step: int = 0
    seconds: float = 0.0
    best: float = math.inf
    """The lowest validation loss."""

    @property
    def kept(self) -> nn.Module:
        """The model to keep in the end: the moving average where there is one."""
        return self.model if self.ema is None else self.ema


def save_checkpoint(path: Path, state: State) -> None:
    """Write everything that a resumed training needs."""
    tensors = {f"model.{k}": v for k, v in state.model.state_dict().items()}
    if state.ema is not None:
        tensors |= {f"ema.{k}": v for k, v in state.ema.state_dict().items()}
    for index, values in state.optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{index}.{k}": torch.as_tensor(v) for k, v in values.items()}
    metadata = {"step": state.step, "seconds": state.seconds, "best": state.best}
    save_tensors(path, tensors, metadata)


def load_checkpoint(path: Path, state: State, steps: int) -> None:
    """Restore a state from a checkpoint; one of another training is refused."""
    tensors, metadata = load_tensors(path)
    parts: dict[str, dict[str, Tensor]] = {"model": {}, "ema": {}, "optimizer": {}}
    for name, tensor in tensors.items():
        part, _, rest = name.partition(".")
        parts.setdefault(OLD_CHECKPOINT_PARTS.get(part, part), {})[rest] = tensor
    restored = _optimizer_state(state, parts["optimizer"])
    step, seconds, best = (metadata.get(name, math.inf) for name in ("step", "seconds", "best"))
    if (
        len(parts) > 3
        or restored is None
        or bool(parts["ema"]) != (state.ema is not None)
        or not whole(1, steps).fits(step)
        or not is_number(seconds, 0, 1e12)
        or not (is_number(best, -math.inf, math.inf) or best == math.inf)
    ):
        raise UserError(
            f"{path}: a checkpoint of another training: delete it to begin from the first step"
        )
    load_into(state.model, parts["model"], path)
    if state.ema is not None:
        load_into(state.ema, parts["ema"], path)
    state.optimizer.load_state_dict({**state.optimizer.state_dict(), "state": restored})
    state.step, state.seconds, state.best = step, float(seconds), float(best)


def _optimizer_state(
    state: State, tensors: dict[str, Tensor]
) -> dict[int, dict[str, Tensor]] | None:
    """Return the optimizer's state in a checkpoint; None if it does not fit the model."""
    names = _MOMENTS[type(state.optimizer)]
    restored: dict[int, dict[str, Tensor]] = {}
    for index, shape in enumerate(
        p.shape for g in state.optimizer.param_groups for p in g["params"]
    ):
        found = {name: tensors.get(f"{index}.{name}") for name in names}
        # A parameter without a gradient so far has no state either.
        if all(tensor is None for tensor in found.values()):
            continue
        whole_state = {name: tensor for name, tensor in found.items() if tensor is not None}
        shapes = {"step": torch.Size([])}
        if len(whole_state) < len(names) or any(
            tensor.shape != shapes.get(name, shape) or tensor.dtype != torch.float32
            for name, tensor in whole_state.items()
        ):
            return None
        restored[index] = whole_state
    return restored if sum(map(len, restored.values())) == len(tensors) else None


_MOMENTS: dict[type[torch.optim.Optimizer], tuple[str, ...]] = {
    torch.optim.AdamW: ("step", "exp_avg", "exp_avg_sq"),
    torch.optim.Adadelta: ("step", "square_avg", "acc_delta"),
}

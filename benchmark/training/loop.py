"""Training: the loop from a configuration to weights, which can be stopped at any moment."""

import copy
import json
import math
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from benchmark.data.batches import TrainingSet, make_batch, split_validation, training_batches
from benchmark.files import require_file
from benchmark.models import Model
from benchmark.options import is_number, whole
from benchmark.tasks import Task
from benchmark.training.presets import Training
from benchmark.training.processes import Processes
from benchmark.training.run_folder import Config, RunFolder
from benchmark.training.weights import load_into, load_tensors, save_tensors
from ivl_shards import Damage, Stopped, UserError
from ivl_shards.disk import explained
from ivl_shards.format.reader import Dataset
from ivl_shards.interrupt import interrupt_held
from ivl_shards.progress import Report, no_report

# Seconds between two lines of the log.
_LOG_EVERY = 5.0
# Samples of the validation part that are looked at, this many times in a run.
_WATCHED = 64
_LOOKS = 20


@dataclass
class State:
    """All that changes in training."""

    model: Model
    optimiser: torch.optim.Optimizer
    average: nn.Module | None
    step: int = 0
    seconds: float = 0.0
    best: float = math.inf
    """The least validation loss."""

    @property
    def kept(self) -> nn.Module:
        """What is kept in the end: the average where there is one."""
        return self.model if self.average is None else self.average


def train(
    config: Config,
    task: Task,
    model: Model,
    dataset: Dataset,
    folder: RunFolder,
    processes: Processes,
    save_every: float,
    report: Report = no_report,
    synthetic: Dataset | None = None,
) -> State:
    """Train from the last checkpoint, or from the beginning, to the end; a checkpoint is
    written every so many seconds. `synthetic` samples take the place of some of the dataset's."""
    training = config.training
    model.to(processes.device, memory_format=torch.channels_last)  # type: ignore[call-overload]
    state = State(model, make_optimiser(training, model), _average(training, model))
    if processes.first:
        cut_unfinished_line(folder.log)
    if folder.checkpoint.exists():
        load_checkpoint(folder.checkpoint, state, training.steps)
    report(state.step * training.batch)
    to_train, to_watch = split_validation(task, dataset)
    objective = processes.shared(model, partly=bool(training.finding or training.locating))
    batches = training_batches(
        task,
        TrainingSet(to_train, synthetic, training.synthetic),
        config.seed,
        training.batch,
        range(state.step, training.steps),
        processes.rank,
        processes.world,
        training.augment,
        training.words,
        training.finding,
        training.locating,
    )
    begun, before = time.monotonic(), state.seconds
    saved = logged = begun
    look_every = max(1, training.steps // _LOOKS)
    model.train()
    with interrupt_held() as interrupt:
        for batch in batches:
            loss = processes.mean(one_step(training, state, objective, batch.to(processes.device)))
            state.step += 1
            if not math.isfinite(loss):
                raise _went_astray(folder, state.step, "the loss is not a number")
            now = time.monotonic()
            state.seconds = before + now - begun
            ended = state.step == training.steps
            if state.step % look_every == 0 or ended:
                looked_at = cast(Model, state.kept) if training.choose else model
                watched = validation_loss(task, looked_at, to_watch, processes)
                if training.choose and watched < state.best:
                    state.best = watched
                    if processes.first:
                        save_tensors(folder.best, state.kept.state_dict(), {"step": state.step})
                _write(folder, processes, state, loss, validation=round(watched, 6))
            elif now - logged > _LOG_EVERY or state.step == 1:
                _write(folder, processes, state, loss)
                logged = now
            if processes.first and (now - saved >= save_every or ended or interrupt.asked):
                if not _is_finite(state.model):
                    raise _went_astray(folder, state.step, "weights are not numbers")
                save_checkpoint(folder.checkpoint, state)
                saved = now
            if not ended:
                interrupt.check()
            report(training.batch, f"loss {loss:.3f}")
    processes.wait()
    return state


def _went_astray(folder: RunFolder, step: int, what: str) -> Stopped:
    there = folder.checkpoint.exists()
    kept = f"the last good checkpoint, {folder.checkpoint}, is kept; " if there else ""
    return Stopped(
        f"{folder.path}: {what} at step {step}: {kept}"
        "try a lower learning rate (--set rate=…) and another --out"
    )


def _is_finite(model: nn.Module) -> bool:
    return all(bool(torch.isfinite(p).all()) for p in model.parameters())


def one_step(training: Training, state: State, objective: nn.Module, batch: Any) -> Tensor:
    """One step of the optimiser; the mean loss of the batch."""
    for group in state.optimiser.param_groups:
        group["lr"] = training.rate * rate_share(training, state.step)
    state.optimiser.zero_grad()
    device = batch.images.device
    half = training.precision == "bfloat16" or (
        training.precision == "auto" and knows_bfloat16(device.type)
    )
    with torch.autocast(device.type, torch.bfloat16, enabled=half):
        loss: Tensor = objective(batch).mean()
    loss.backward()  # type: ignore[no-untyped-call]
    if training.clip:
        nn.utils.clip_grad_norm_(state.model.parameters(), training.clip)
    state.optimiser.step()
    if state.average is not None:
        _follow(state.average, state.model, training.average, state.step)
    return loss.detach()


@cache
def knows_bfloat16(device: str) -> bool:
    """Whether a kind of device has instructions for bfloat16; without, it is slower than
    float32."""
    if device == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    able = torch.cpu.get_capabilities()
    return any(able.get(name) for name in ("avx512_bf16", "amx_bf16", "bf16"))


def rate_share(training: Training, step: int) -> float:
    """Learning rate at a step over the highest: it rises in a line and falls as a cosine.

    >>> training = Training(steps=101, batch=1, warm_up=0.1)
    >>> [round(rate_share(training, step), 2) for step in (0, 10, 55, 100)]
    [0.09, 0.99, 0.51, 0.0]
    """
    if training.optimiser == "adadelta":
        return 1.0
    rise = max(1.0, training.warm_up * training.steps)
    if step < rise:
        return min(1.0, (step + 1) / (rise + 1))
    return 0.5 + 0.5 * math.cos(math.pi * (step - rise) / max(1.0, training.steps - rise))


@torch.no_grad()
def validation_loss(task: Task, model: Model, dataset: Dataset, processes: Processes) -> float:
    """Mean loss over samples that are not trained on, always the same ones, drawn alike."""
    chosen = np.linspace(0, len(dataset) - 1, min(_WATCHED, len(dataset))).astype(int)
    places = chosen[processes.rank :: processes.world].tolist()
    model.eval()
    total = torch.zeros(2, dtype=torch.float64)
    for start in range(0, len(places), 16):
        rows = places[start : start + 16]
        rngs = [np.random.default_rng([2, row]) for row in rows]
        batch = make_batch(task, [dataset[row] for row in rows], rngs).to(processes.device)
        total += torch.tensor([float(model.loss(batch).sum()), len(rows)])
    model.train()
    return processes.mean(total[0].clone()) / processes.mean(total[1].clone())


def make_optimiser(training: Training, model: Model) -> torch.optim.Optimizer:
    """The optimiser of a preset; biases and single numbers do not decay."""
    if training.optimiser == "adadelta":
        return torch.optim.Adadelta(model.parameters(), lr=training.rate)
    wide = [p for p in model.parameters() if p.ndim > 1]
    flat = [p for p in model.parameters() if p.ndim <= 1]
    groups: list[dict[str, Any]] = [{"params": wide}, {"params": flat, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=training.rate, weight_decay=training.decay)


def _average(training: Training, model: Model) -> nn.Module | None:
    """A copy whose weights follow those of the model slowly."""
    if not training.average:
        return None
    return copy.deepcopy(model).requires_grad_(False)


@torch.no_grad()
def _follow(average: nn.Module, model: nn.Module, pace: float, step: int) -> None:
    share = 1 - min(pace, (step + 1) / (step + 10))  # quickly at first: the start is forgotten
    torch._foreach_lerp_(list(average.parameters()), list(model.parameters()), share)
    for kept, now in zip(average.buffers(), model.buffers(), strict=True):
        kept.copy_(now)


def trained_weights(training: Training, state: State, folder: RunFolder) -> dict[str, Tensor]:
    """The weights to keep: the last ones, or those that did best on the validation samples."""
    if not training.choose:
        return state.kept.state_dict()
    if not folder.best.exists():
        raise Stopped(
            f"{folder.path}: the validation loss was never a number, so there are no best weights: "
            "try a lower learning rate (--set rate=…) and another --out"
        )
    return load_tensors(folder.best)[0]


def save_checkpoint(path: Path, state: State) -> None:
    """Everything that is needed to go on."""
    tensors = {f"model.{k}": v for k, v in state.model.state_dict().items()}
    if state.average is not None:
        tensors |= {f"average.{k}": v for k, v in state.average.state_dict().items()}
    for index, values in state.optimiser.state_dict()["state"].items():
        tensors |= {f"optimiser.{index}.{k}": torch.as_tensor(v) for k, v in values.items()}
    about = {"step": state.step, "seconds": state.seconds, "best": state.best}
    save_tensors(path, tensors, about)


def load_checkpoint(path: Path, state: State, steps: int) -> None:
    """Put a state back to where it was; a checkpoint of another training is refused."""
    tensors, about = load_tensors(path)
    parts: dict[str, dict[str, Tensor]] = {"model": {}, "average": {}, "optimiser": {}}
    for name, tensor in tensors.items():
        part, _, rest = name.partition(".")
        parts.setdefault(part, {})[rest] = tensor
    restored = _optimiser_state(state, parts["optimiser"])
    step, seconds, best = (about.get(name, math.inf) for name in ("step", "seconds", "best"))
    if (
        len(parts) > 3
        or restored is None
        or bool(parts["average"]) != (state.average is not None)
        or not whole(1, steps).fits(step)
        or not is_number(seconds, 0, 1e12)
        or not (is_number(best, -math.inf, math.inf) or best == math.inf)
    ):
        raise UserError(
            f"{path}: a checkpoint of another training: delete it to begin from the first step"
        )
    load_into(state.model, parts["model"], path)
    if state.average is not None:
        load_into(state.average, parts["average"], path)
    state.optimiser.load_state_dict({**state.optimiser.state_dict(), "state": restored})
    state.step, state.seconds, state.best = step, float(seconds), float(best)


def _optimiser_state(
    state: State, tensors: dict[str, Tensor]
) -> dict[int, dict[str, Tensor]] | None:
    """The optimiser's state out of a checkpoint; None if it does not fit the model."""
    names = _MOMENTS[type(state.optimiser)]
    restored: dict[int, dict[str, Tensor]] = {}
    for index, shape in enumerate(
        p.shape for g in state.optimiser.param_groups for p in g["params"]
    ):
        found = {name: tensors.get(f"{index}.{name}") for name in names}
        # What has had no gradient yet has no state either.
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


def _write(
    folder: RunFolder, processes: Processes, state: State, loss: float, **more: float
) -> None:
    """A line of the log. Lines beyond a checkpoint are written again when a run goes on: the
    last of a step counts."""
    if not processes.first:
        return
    line = {"step": state.step, "loss": round(loss, 6), "seconds": round(state.seconds, 1), **more}
    try:
        with folder.log.open("a", encoding="utf-8") as log:
            log.write(json.dumps(line) + "\n")
    except OSError as error:
        raise explained(folder.log, error) from None


def cut_unfinished_line(log: Path) -> None:
    """Remove the last line of a log if a process was stopped while it wrote it."""
    if not log.exists():
        return
    with log.open("r+b") as file:
        data = file.read()
        file.truncate(data.rfind(b"\n") + 1)


def read_log(log: Path) -> list[dict[str, float]]:
    """Return the lines of a log."""
    require_file(log)
    lines = []
    for number, text in enumerate(log.read_bytes().splitlines(), 1):
        try:
            line = json.loads(text)
        except (ValueError, RecursionError):
            line = None
        if not is_log_line(line):
            raise Damage(f"{log}, line {number}: damaged: remove this line and run it again")
        lines.append(line)
    return lines


def is_log_line(line: Any) -> bool:
    """Whether a value is a line of a log: a step and losses, which may be no finite numbers."""
    return (
        isinstance(line, dict)
        and whole(1, 1_000_000_000).fits(line.get("step"))
        and isinstance(line.get("loss"), (int, float))
        and all(type(v) is float or is_number(v, -1e18, 1e18) for v in line.values())
    )

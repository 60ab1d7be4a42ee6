"""The training loop: from a configuration to weights; it can be stopped at any moment."""

import copy
import math
import time
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from benchmark.data.batches import Share, TrainingSet, make_batch, training_batches
from benchmark.data.datasets import split_validation
from benchmark.models.contract import Model
from benchmark.tasks.task import Task
from benchmark.training.checkpoints import State, load_checkpoint, save_checkpoint
from benchmark.training.log import append_to_log, cut_unfinished_line
from benchmark.training.processes import Processes
from benchmark.training.run_folder import Config, RunFolder
from benchmark.training.settings import Training
from benchmark.training.weights import load_tensors, save_tensors
from ivl_shards import Stopped
from ivl_shards.format.reader import Dataset
from ivl_shards.interrupt import interrupt_held
from ivl_shards.progress import Report, no_report

# Seconds between two lines of the log.
_LOG_EVERY = 5.0
# Validation samples, and how many times in a run their loss is computed.
_VAL_SAMPLES = 64
_VALIDATIONS = 20


@dataclass(frozen=True)
class TrainingRun:
    """What a training works with."""

    config: Config
    task: Task
    dataset: Dataset
    synthetic: Dataset | None
    """Samples that take the place of some of the dataset's."""
    folder: RunFolder
    processes: Processes
    save_every: float
    """Seconds between two checkpoints."""


def train(run: TrainingRun, model: Model, report: Report = no_report) -> State:
    """Train from the last checkpoint, or from the beginning, to the end."""
    training, folder, processes = run.config.training, run.folder, run.processes
    model.to(processes.device, memory_format=torch.channels_last)  # type: ignore[call-overload]
    state = State(model, make_optimizer(training, model), _ema_copy(training, model))
    if processes.first:
        cut_unfinished_line(folder.log)
    if folder.checkpoint.exists():
        load_checkpoint(folder.checkpoint, state, training.steps)
    report(state.step * training.batch_size)
    train_set, val_set = split_validation(run.task, run.dataset)
    partly = bool(training.finder_steps or training.locate_steps)
    objective = processes.shared(model, partly)
    batches = training_batches(
        run.task,
        TrainingSet(train_set, run.synthetic, training.synthetic),
        training,
        run.config.seed,
        range(state.step, training.steps),
        Share(processes.rank, processes.world),
    )
    begun, before = time.monotonic(), state.seconds
    saved = logged = begun
    validate_every = max(1, training.steps // _VALIDATIONS)
    model.train()
    with interrupt_held() as interrupt:
        for batch in batches:
            loss = processes.mean(one_step(training, state, objective, batch.to(processes.device)))
            state.step += 1
            if not math.isfinite(loss):
                raise _diverged(folder, state.step, "the loss is not a number")
            now = time.monotonic()
            state.seconds = before + now - begun
            ended = state.step == training.steps
            if state.step % validate_every == 0 or ended:
                val_loss = _validate(run, state, val_set)
                _log(run, state, loss, validation=round(val_loss, 6))
            elif now - logged > _LOG_EVERY or state.step == 1:
                _log(run, state, loss)
                logged = now
            if processes.first and (now - saved >= run.save_every or ended or interrupt.asked):
                if not _is_finite(state.model):
                    raise _diverged(folder, state.step, "weights are not numbers")
                save_checkpoint(folder.checkpoint, state)
                saved = now
            if not ended:
                interrupt.check()
            report(training.batch_size, f"loss {loss:.3f}")
    processes.wait()
    return state


def _validate(run: TrainingRun, state: State, val_set: Dataset) -> float:
    """Return the validation loss, and keep the weights if they are the best so far."""
    keep_best = run.config.training.keep_best
    model = cast(Model, state.kept) if keep_best else state.model
    loss = validation_loss(run.task, model, val_set, run.processes)
    if keep_best and loss < state.best:
        state.best = loss
        if run.processes.first:
            save_tensors(run.folder.best, state.kept.state_dict(), {"step": state.step})
    return loss


def _log(run: TrainingRun, state: State, loss: float, **more: float) -> None:
    if run.processes.first:
        seconds = round(state.seconds, 1)
        line = {"step": state.step, "loss": round(loss, 6), "seconds": seconds, **more}
        append_to_log(run.folder.log, line)


def _diverged(folder: RunFolder, step: int, what: str) -> Stopped:
    there = folder.checkpoint.exists()
    kept = f"the last good checkpoint, {folder.checkpoint}, is kept; " if there else ""
    return Stopped(
        f"{folder.path}: {what} at step {step}: {kept}"
        "try a lower learning rate (--set learning_rate=…) and another --out"
    )


def _is_finite(model: nn.Module) -> bool:
    return all(bool(torch.isfinite(p).all()) for p in model.parameters())


def one_step(training: Training, state: State, objective: nn.Module, batch: Any) -> Tensor:
    """Take one step of the optimizer and return the mean loss of the batch."""
    for group in state.optimizer.param_groups:
        group["lr"] = training.learning_rate * learning_rate_factor(training, state.step)
    state.optimizer.zero_grad()
    device = batch.images.device
    half = training.precision == "bfloat16" or (
        training.precision == "auto" and supports_bfloat16(device.type)
    )
    with torch.autocast(device.type, torch.bfloat16, enabled=half):
        loss: Tensor = objective(batch).mean()
    loss.backward()  # type: ignore[no-untyped-call]
    if training.grad_clip:
        nn.utils.clip_grad_norm_(state.model.parameters(), training.grad_clip)
    state.optimizer.step()
    if state.ema is not None:
        _update_ema(state.ema, state.model, training.ema, state.step)
    return loss.detach()


@cache
def supports_bfloat16(device: str) -> bool:
    """Tell whether a device has instructions for bfloat16; without them it is slower than
    float32."""
    if device == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    able = torch.cpu.get_capabilities()
    return any(able.get(name) for name in ("avx512_bf16", "amx_bf16", "bf16"))


def learning_rate_factor(training: Training, step: int) -> float:
    """Return the learning rate at a step over the highest: linear warm-up, then cosine decay.

    >>> training = Training(steps=101, batch_size=1, warmup=0.1)
    >>> [round(learning_rate_factor(training, step), 2) for step in (0, 10, 55, 100)]
    [0.09, 0.99, 0.51, 0.0]
    """
    if training.optimizer == "adadelta":
        return 1.0
    rise = max(1.0, training.warmup * training.steps)
    if step < rise:
        return min(1.0, (step + 1) / (rise + 1))
    return 0.5 + 0.5 * math.cos(math.pi * (step - rise) / max(1.0, training.steps - rise))


@torch.no_grad()
def validation_loss(task: Task, model: Model, dataset: Dataset, processes: Processes) -> float:
    """Return the mean loss of held-out samples, always the same ones with the same draws."""
    chosen = np.linspace(0, len(dataset) - 1, min(_VAL_SAMPLES, len(dataset))).astype(int)
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


def make_optimizer(training: Training, model: Model) -> torch.optim.Optimizer:
    """Return the optimizer; biases and scalars have no weight decay."""
    if training.optimizer == "adadelta":
        return torch.optim.Adadelta(model.parameters(), lr=training.learning_rate)
    wide = [p for p in model.parameters() if p.ndim > 1]
    flat = [p for p in model.parameters() if p.ndim <= 1]
    groups: list[dict[str, Any]] = [{"params": wide}, {"params": flat, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=training.learning_rate, weight_decay=training.weight_decay)


def _ema_copy(training: Training, model: Model) -> nn.Module | None:
    """Return a copy of the model for the exponential moving average of its weights."""
    if not training.ema:
        return None
    return copy.deepcopy(model).requires_grad_(False)


@torch.no_grad()
def _update_ema(ema: nn.Module, model: nn.Module, decay: float, step: int) -> None:
    share = 1 - min(decay, (step + 1) / (step + 10))  # faster at first, to forget the start
    torch._foreach_lerp_(list(ema.parameters()), list(model.parameters()), share)
    for kept, now in zip(ema.buffers(), model.buffers(), strict=True):
        kept.copy_(now)


def trained_weights(training: Training, state: State, folder: RunFolder) -> dict[str, Tensor]:
    """Return the weights to keep: the last ones, or those with the lowest validation loss."""
    if not training.keep_best:
        return state.kept.state_dict()
    if not folder.best.exists():
        raise Stopped(
            f"{folder.path}: the validation loss was never a number, so there are no best weights: "
            "try a lower learning rate (--set learning_rate=…) and another --out"
        )
    return load_tensors(folder.best)[0]

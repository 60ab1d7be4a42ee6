"""Bench: from a configuration to a result, and from weights to scores."""

import hashlib
import json
import re
import shutil
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from benchmark.data import open_part
from benchmark.decoding import Decoding
from benchmark.evaluation import evaluate
from benchmark.models import InductiveModel, Model, build_model
from benchmark.processes import Processes
from benchmark.run import (
    Config,
    RunFolder,
    config_from_json,
    open_folder,
    read_json,
    surroundings,
    write_json,
)
from benchmark.tasks import Part, Task, find_task
from benchmark.training import train, trained_weights
from benchmark.weights import load_into, load_tensors, save_tensors
from ivl_shards import UserError
from ivl_shards.progress import show_progress
from ivl_shards.reader import Dataset
from ivl_shards.recipe import require

_PACKED = Path(__file__).parent / "trained"
# Points of a training curve that are kept in a result.
_CURVE = 200


def run_one(
    config: Config, changes: tuple[str, ...], data: Path, out: Path, results: Path | None,
    processes: Processes, save_every: float, quiet: bool, decoding: Decoding,
    init: Path | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Train and score one model, or go on with it; its result. `init` are weights to begin
    with."""
    changes = (*changes, *decoding.label)
    task = find_task(config.task)
    if config.training.batch % processes.world:
        raise UserError(
            f"a batch of {config.training.batch} cannot be shared evenly by {processes.world} "
            "processes: choose another with --set batch=…"
        )
    folder = RunFolder(out / config.name)
    if processes.first:
        folder = open_folder(folder.path, config)
        open_part(task, task.train, data)  # made by one, opened by all
        open_part(task, task.test, data)
    processes.wait()
    if not _is_scored(folder, changes):
        model = _trained(config, task, data, folder, processes, save_every, quiet, init)
        decoding.apply(model)
        if processes.first:
            result = _result(config, changes, task, data, folder, model, processes, quiet)
            write_json(folder.result, result)
        processes.wait()
    result = read_json(folder.result)
    if processes.first and results is not None:
        _copy_result(folder, results / f"{config.name}.json")
    return dict(result)


def _copy_result(folder: RunFolder, to: Path) -> None:
    try:
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(folder.result, to)
    except OSError as error:
        raise UserError(
            f"{to}: cannot be written ({error.strerror}): the result itself is {folder.result}"
        ) from None


def keep_result(result: dict[str, Any], folder: Path) -> Path:
    """Put a result into a folder, under a name that says what it is of."""
    config = result["config"]
    parts = [config["task"], config["model"], config["preset"], *result["changes"], "eval"]
    path = folder / (re.sub(r"[^\w.=]+", "-", "-".join(map(str, parts))) + ".json")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_json(path, result)
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror})") from None
    return path


def _is_scored(folder: RunFolder, changes: tuple[str, ...]) -> bool:
    """Whether there is a result; one with other decoding is of no use."""
    return folder.result.exists() and read_json(folder.result)["changes"] == list(changes)


def _trained(
    config: Config, task: Task, data: Path, folder: RunFolder, processes: Processes,
    save_every: float, quiet: bool, init: Path | None,
) -> Model:  # fmt: skip
    torch.manual_seed(config.seed)
    model = build_model(config.model, task, config.preset, config.training.model)
    if not folder.weights.exists():
        if init is not None:
            load_into(model, load_tensors(init)[0], init)
        elif config.training.encoder:
            give_encoder(model, find_weights(config.training.encoder))
        total = config.training.steps * config.training.batch
        with show_progress(total, quiet or not processes.first) as report:
            state = train(
                config, task, model, open_part(task, task.train, data), folder, processes,
                save_every, report,
            )  # fmt: skip
        if processes.first:
            about = {"config": config.to_json(), "seconds": state.seconds}
            kept = trained_weights(config.training, state, folder)
            save_tensors(folder.weights, kept, about)
        processes.wait()
    load_into(model, load_tensors(folder.weights)[0], folder.weights)
    return model


def give_encoder(model: Model, path: Path) -> None:
    """Begin with the encoder of a trained model."""
    encoder = getattr(model, "encoder", None)
    if not isinstance(encoder, torch.nn.Module):
        raise UserError(f"{path}: this model has no encoder to begin with")
    tensors, _ = load_tensors(path)
    prefix = "encoder."
    own = {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}
    load_into(encoder, own, path)


def _result(
    config: Config, changes: tuple[str, ...], task: Task, data: Path, folder: RunFolder,
    model: Model, processes: Processes, quiet: bool,
) -> dict[str, Any]:  # fmt: skip
    test = open_part(task, task.test, data)
    with show_progress(len(test), quiet) as report:
        evaluation = evaluate(task, model, test, processes.device, report)
    about = load_tensors(folder.weights)[1]
    return {
        "config": config.to_json(),
        "changes": list(changes),
        "parameters": sum(p.numel() for p in model.parameters()),
        "training_seconds": round(about["seconds"], 1),
        "processes": processes.world,
        "data": {
            part.split: open_part(task, part, data).attributes["content_sha256"]
            for part in (task.train, task.test)
        },
        "surroundings": surroundings(),
        "evaluation": evaluation.to_json(),
        "curve": kept_curve(folder),
    }


def kept_curve(folder: RunFolder) -> list[dict[str, float]]:
    """The log, thinned; where a run went on, what had been logged beyond its checkpoint does not
    count."""
    kept: list[dict[str, float]] = []
    for text in folder.log.read_text("utf-8").splitlines():
        line = json.loads(text)
        while kept and kept[-1]["step"] >= line["step"]:
            kept.pop()
        kept.append(line)
    stride = max(1, len(kept) // _CURVE)
    return [
        line for k, line in enumerate(kept)
        if k % stride == 0 or "validation" in line or k == len(kept) - 1
    ]  # fmt: skip


def starting_weights(name: str, model: Model) -> tuple[Path, str]:
    """The file of weights that a model is to begin with, and what to call it wherever it lies:
    the run that it is of and its checksum. Weights of another model are refused."""
    path = find_weights(name)
    tensors, config = _load_weights(path)
    load_into(model, tensors, path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return path, f"{config.name} sha256:{digest[:16]}"


def packed_weights() -> list[Path]:
    """Weights that come with the project."""
    return sorted(_PACKED.glob("*.safetensors"))


def find_weights(name: str) -> Path:
    """The file of weights that a user means: a run's folder, a file, or the name of one that
    comes with the project."""
    path = Path(name)
    if path.is_dir():
        path = RunFolder(path).weights
        if not path.exists():
            raise UserError(f"{name}: no finished run: give the same ivl-bench run again")
        return path
    if path.exists():
        return path
    packed = {p.stem: p for p in packed_weights()}
    if name in packed:
        return packed[name]
    known = f"; {', '.join(packed)} come along" if packed else ""
    raise UserError(f"{name}: no such run or file of weights{known}")


def load_reader(path: Path) -> tuple[Task, InductiveModel]:
    """A model that reads line by line."""
    config, model = load_model(path)
    task = find_task(config.task)
    if task.kind != "reading" or not isinstance(model, InductiveModel):
        raise UserError(
            f"{path}: the model {config.model} of {task.name}, which does not read line by line"
        )
    return task, model.eval()


def evaluate_weights(
    path: Path, counts: tuple[int, ...] | None, n: int, data: Path, device: torch.device,
    quiet: bool, decoding: Decoding,
) -> dict[str, Any]:  # fmt: skip
    """Score a file of weights on the test set, or on one of other lengths."""
    config, model = load_model(path)
    task = find_task(config.task)
    decoding.apply(model)
    test = _test_set(task, counts, n, data)
    with show_progress(len(test), quiet) as report:
        evaluation = evaluate(task, model, test, device, report)
    return {
        "config": config.to_json(),
        "changes": decoding.label,
        "data": test.attributes["content_sha256"],
        "surroundings": surroundings(),
        "evaluation": evaluation.to_json(),
    }


def load_model(path: Path) -> tuple[Config, Model]:
    """A trained model from its file of weights."""
    tensors, config = _load_weights(path)
    model = build_model(config.model, find_task(config.task), config.preset, config.training.model)
    load_into(model, tensors, path)
    return config, model


def _load_weights(path: Path) -> tuple[dict[str, Tensor], Config]:
    tensors, about = load_tensors(path)
    if "config" not in about:
        raise UserError(f"{path}: a checkpoint, not weights: give the run's folder")
    return tensors, config_from_json(about["config"], path)


def _test_set(task: Task, counts: tuple[int, ...] | None, n: int, data: Path) -> Dataset:
    if not task.test.total:
        require(counts is None, f"{task.name} is tested on all there is: leave --lines out")
        return open_part(task, task.test, data)
    lengths = task.test.counts if counts is None else counts
    return open_part(task, Part(task.test.split, lengths, n * len(lengths)), data)

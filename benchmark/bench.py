"""Bench: from a configuration to a result, and from weights to scores."""

import hashlib
import re
from collections.abc import Collection
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from benchmark.data.batches import open_part
from benchmark.evaluation.decoding import Decoding
from benchmark.evaluation.scores import evaluate
from benchmark.files import write_json
from benchmark.models import MODELS, InductiveModel, Model, build_model
from benchmark.models.block_reader import BlockReader
from benchmark.models.inductive_ocr import INDUCTIVE_OCR, InductiveOcr
from benchmark.models.line_reader import LineReader
from benchmark.models.reader import alphabet_name
from benchmark.options import is_number
from benchmark.results.result import read_result
from benchmark.tasks import Part, Task, find_task
from benchmark.tasks.text_blocks import ALPHABETS
from benchmark.training.loop import read_log, train, trained_weights
from benchmark.training.presets import training_part
from benchmark.training.processes import Processes
from benchmark.training.run_folder import (
    Config,
    RunFolder,
    config_from_json,
    hold_folder,
    surroundings,
)
from benchmark.training.weights import check_fit, load_into, load_tensors, read_about, save_tensors
from ivl_shards import UserError
from ivl_shards.disk import write_whole
from ivl_shards.errors import did_you_mean
from ivl_shards.format.reader import Dataset
from ivl_shards.generation.recipe import require
from ivl_shards.progress import show_progress

_PACKED = Path(__file__).parent / "trained"
# Points of a training curve that are kept in a result.
_CURVE = 200


def run_one(
    config: Config,
    changes: tuple[str, ...],
    data: Path,
    out: Path,
    results: Path | None,
    processes: Processes,
    save_every: float,
    quiet: bool,
    decoding: Decoding,
    init: Path | None = None,
) -> dict[str, Any]:
    """Train and score one model, or go on with it; its result. `init` are weights to begin
    with."""
    changes = (*changes, *decoding.label)
    task = find_task(config.task)
    part = training_part(task, config.training)
    if config.training.batch % processes.world:
        raise UserError(
            f"a batch of {config.training.batch} cannot be shared evenly by {processes.world} "
            "processes: choose another with --set batch=…"
        )
    folder = RunFolder(out / config.name)
    with ExitStack() as held:
        if processes.first:
            held.enter_context(hold_folder(folder.path, config))
            open_part(task, part, data)  # made by one, opened by all
            open_part(task, task.test, data)
            _synthetic(config, task, data)
        processes.wait()
        if not _is_scored(folder, changes):
            model = _trained(config, task, data, folder, processes, save_every, quiet, init)
            decoding.apply(model)
            if processes.first:
                result = _result(config, changes, task, data, folder, model, processes, quiet)
                write_json(folder.result, result)
            processes.wait()
        result = read_result(folder.result)
        if processes.first and results is not None:
            _copy_result(folder, results / f"{config.name}.json")
    return result


def _copy_result(folder: RunFolder, to: Path) -> None:
    try:
        to.parent.mkdir(parents=True, exist_ok=True)
        write_whole(to, folder.result.read_bytes())
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
    except OSError as error:
        raise UserError(f"{folder}: cannot be made ({error.strerror})") from None
    write_json(path, result)
    return path


def _is_scored(folder: RunFolder, changes: tuple[str, ...]) -> bool:
    """Whether there is a result; one with other decoding is of no use."""
    return folder.result.exists() and read_result(folder.result)["changes"] == list(changes)


def _trained(
    config: Config,
    task: Task,
    data: Path,
    folder: RunFolder,
    processes: Processes,
    save_every: float,
    quiet: bool,
    init: Path | None,
) -> Model:
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
                config,
                task,
                model,
                open_part(task, training_part(task, config.training), data),
                folder,
                processes,
                save_every,
                report,
                _synthetic(config, task, data),
            )
        if processes.first:
            about = {
                "config": config.to_json(),
                "seconds": state.seconds,
                "surroundings": surroundings(),
            }
            kept = trained_weights(config.training, state, folder)
            save_tensors(folder.weights, kept, about)
        processes.wait()
    load_into(model, load_tensors(folder.weights)[0], folder.weights)
    return model


def _synthetic(config: Config, task: Task, data: Path) -> Dataset | None:
    """Return the synthetic samples that a training mixes with the task's own, if any."""
    if not config.training.synthetic:
        return None
    if task.synthetic is None:
        raise UserError(f"synthetic: {task.name} has no synthetic samples: leave it out")
    return open_part(task, task.synthetic, data)


def give_encoder(model: Model, path: Path) -> None:
    """Begin with the encoder of a trained model."""
    tensors, _ = load_tensors(path)
    for name, there in model.encoder_parts.items():
        part = getattr(model, name, None)
        if not isinstance(part, torch.nn.Module):
            raise UserError(f"{path}: this model has no encoder to begin with")
        own = {
            key.removeprefix(f"{there}."): tensor
            for key, tensor in tensors.items()
            if key.startswith(f"{there}.")
        }
        load_into(part, own, path)


def _result(
    config: Config,
    changes: tuple[str, ...],
    task: Task,
    data: Path,
    folder: RunFolder,
    model: Model,
    processes: Processes,
    quiet: bool,
) -> dict[str, Any]:
    test = open_part(task, task.test, data)
    with show_progress(len(test), quiet) as report:
        evaluation = evaluate(task, model, test, processes.device, report)
    about = read_about(folder.weights)
    return {
        "config": config.to_json(),
        "changes": list(changes),
        "parameters": sum(p.numel() for p in model.parameters()),
        "training_seconds": round(_seconds(about, folder.weights), 1),
        "processes": processes.world,
        "data": {
            part.split: open_part(task, part, data).attributes["content_sha256"]
            for part in (training_part(task, config.training), task.test)
        },
        "surroundings": surroundings(),
        "evaluation": evaluation.to_json(),
        "curve": kept_curve(folder),
    }


def kept_curve(folder: RunFolder) -> list[dict[str, float]]:
    """The log, thinned; where a run went on, what had been logged beyond its checkpoint does not
    count."""
    kept: list[dict[str, float]] = []
    for line in read_log(folder.log):
        while kept and kept[-1]["step"] >= line["step"]:
            kept.pop()
        kept.append(line)
    stride = max(1, len(kept) // _CURVE)
    return [
        line
        for k, line in enumerate(kept)
        if k % stride == 0 or "validation" in line or k == len(kept) - 1
    ]


def starting_weights(name: str, model: Model) -> tuple[Path, str]:
    """The file of weights that a model is to begin with, and what to call it wherever it lies:
    the run that it is of and its checksum. Weights of another model are refused."""
    path = find_weights(name)
    tensors, config = _load_weights(path)
    require_alphabet(model, config, path)
    load_into(model, tensors, path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return path, f"{config.name} sha256:{digest[:16]}"


def require_alphabet(model: Model, config: Config, path: Path) -> None:
    """Refuse weights of a line reader whose symbols are not those of a model."""
    readers = {"inductive": LineReader, "end-to-end": BlockReader}
    if config.model not in readers or not isinstance(model, readers[config.model]):
        return
    name = alphabet_name(find_task(config.task), config.training.model)
    if ALPHABETS.get(name, find_task(config.task).alphabet) != model.alphabet:
        own = next((k for k, v in ALPHABETS.items() if v == model.alphabet), "another")
        raise UserError(
            f"{path}: reads the alphabet '{name}', not '{own}': "
            "train a model for it anew, or use --set alphabet=…"
        )


def packed_weights() -> list[Path]:
    """Weights that come with the project."""
    return sorted(_PACKED.glob("*.safetensors"))


def find_weights(name: str) -> Path:
    """The file of weights that a user means: a run's folder, a file, or the name of one that
    comes with the project."""
    path = Path(name)
    try:
        if path.is_dir():
            path = RunFolder(path).weights
            if not path.exists():
                raise UserError(f"{name}: no finished run: give the same ivl-bench run again")
            return path
        if path.exists():
            return path
    except OSError as error:  # too long a name, no right to look
        raise UserError(f"{name[:100]}: cannot be read ({error.strerror})") from None
    packed = {p.stem: p for p in packed_weights()}
    if name in packed:
        return packed[name]
    hint = did_you_mean(name, packed)
    raise UserError(
        f"{name}: no such run or file of weights{hint}: bundled are {', '.join(packed)}"
    )


def load_reader(path: Path, named: Collection[str] = ()) -> tuple[Task, InductiveModel]:
    """A model that reads line by line; see `load_model`."""
    config, model = load_model(path, named)
    task = find_task(config.task)
    if task.kind != "reading" or not isinstance(model, InductiveModel):
        raise UserError(
            f"{path}: the model {config.model} of {task.name}, which does not read line by line"
        )
    return task, model.eval()


def evaluate_weights(
    path: Path,
    counts: tuple[int, ...] | None,
    n: int,
    data: Path,
    device: torch.device,
    quiet: bool,
    decoding: Decoding,
    named: Collection[str] = (),
) -> dict[str, Any]:
    """Score a file of weights on the test set, or on one of other lengths."""
    config, model = load_model(path, named)
    task = find_task(config.task)
    if INDUCTIVE_OCR in named:
        require(decoding.is_greedy, f"--lexicon, --beam: {INDUCTIVE_OCR} decodes in its own way")
        config, model = replace(config, model=INDUCTIVE_OCR), with_recogniser(model, path)
    decoding.apply(model)
    test = open_test(task, counts, n, data)
    with show_progress(len(test), quiet) as report:
        evaluation = evaluate(task, model, test, device, report)
    return {
        "config": config.to_json(),
        "changes": decoding.label,
        "data": test.attributes["content_sha256"],
        "surroundings": surroundings(),
        "evaluation": evaluation.to_json(),
    }


def with_recogniser(model: Model, path: Path) -> InductiveOcr:
    """Return a model that finds lines as a trained line reader does, and reads them by PP-OCRv6."""
    if not isinstance(model, LineReader):
        raise UserError(f"{path}: does not find lines that {INDUCTIVE_OCR} could read")
    return InductiveOcr(model)


def load_model(path: Path, named: Collection[str] = ()) -> tuple[Config, Model]:
    """Load a trained model from its file of weights.

    The model that the file names must be a built-in one, or one of those `named` by the user
    (`package.module:Class`), whose code is then imported: a name in a file imports nothing.
    """
    tensors, config = _load_weights(path)
    if config.model not in MODELS and config.model not in named:
        raise UserError(
            f"{path}: weights of '{config.model}', which is no model of ivl-bench: if you trust "
            f"its code, give --model {config.model}"
        )
    try:
        if config.model in MODELS:
            # Without any values first: nothing is allocated for sizes that the file's own
            # tensors do not have.
            with torch.device("meta"), _WithoutValues():
                check_fit(_build(config), tensors, path)
        model = _build(config)
    except UserError as error:
        where = "" if str(error).startswith(str(path)) else f"{path}: "
        raise UserError(f"{where}{error}") from None
    load_into(model, tensors, path)
    return config, model


class _WithoutValues(TorchFunctionMode):
    """Within, weights are not drawn: where there are no values, torch would import its compiler
    for that, which takes seconds."""

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if getattr(function, "__name__", "") in ("normal_", "kaiming_normal_"):
            return args[0] if args else kwargs["tensor"]
        return function(*args, **(kwargs or {}))


def _build(config: Config) -> Model:
    return build_model(config.model, find_task(config.task), config.preset, config.training.model)


def _load_weights(path: Path) -> tuple[dict[str, Tensor], Config]:
    tensors, about = load_tensors(path)
    if "config" not in about:
        raise UserError(f"{path}: a checkpoint, not weights: give the run's folder")
    return tensors, config_from_json(about["config"], path)


def _seconds(about: dict[str, Any], path: Path) -> float:
    """How long a training took, out of its weights."""
    seconds: Any = about.get("seconds")
    if not is_number(seconds, 0, 1e12):
        raise UserError(f"{path}: does not say how long its training took")
    return float(seconds)


def open_test(task: Task, counts: tuple[int, ...] | None, n: int, data: Path) -> Dataset:
    """Open the test set, or one with `n` samples of each of these lengths."""
    if not task.test.total:
        require(counts is None, f"{task.name} is tested on all there is: leave --lines out")
        return open_part(task, task.test, data)
    lengths = task.test.counts if counts is None else counts
    return open_part(task, Part(task.test.split, lengths, n * len(lengths)), data)

"""Load trained models: from a run folder, a file of weights, or the name of bundled weights."""

import hashlib
from collections.abc import Collection
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from benchmark.data.alphabets import ALPHABETS, alphabet_name
from benchmark.models.block_reader import BlockReader
from benchmark.models.build import build_model
from benchmark.models.contract import InductiveModel, Model
from benchmark.models.line_reader import LineReader
from benchmark.registry import MODELS, find_task
from benchmark.tasks.task import ReadingTask
from benchmark.training.run_folder import Config, RunFolder, config_from_json
from benchmark.training.weights import check_fit, load_into, load_tensors
from ivl_shards import UserError
from ivl_shards.errors import did_you_mean

_BUNDLED = Path(__file__).parents[1] / "trained"


def bundled_weights() -> list[Path]:
    """Return the files of the weights that come with the project."""
    return sorted(_BUNDLED.glob("*.safetensors"))


def find_weights(name: str) -> Path:
    """Return the file that a user means: a run's weights, a file, or bundled weights by name."""
    path = Path(name)
    try:
        if path.is_dir():
            path = RunFolder(path).weights
            if not path.exists():
                raise UserError(f"{name}: no finished run: give the same ivl-bench run again")
            return path
        if path.exists():
            return path
    except OSError as error:  # the name is too long, or the folder cannot be searched
        raise UserError(f"{name[:100]}: cannot be read ({error.strerror})") from None
    bundled = {p.stem: p for p in bundled_weights()}
    if name in bundled:
        return bundled[name]
    hint = did_you_mean(name, bundled)
    raise UserError(
        f"{name}: no such run or file of weights{hint}: bundled are {', '.join(bundled)}"
    )


def load_model(path: Path, named: Collection[str] = ()) -> tuple[Config, Model]:
    """Load a trained model from its file of weights.

    The model that the file names must be a registered one, or one of those `named` by the user
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
            # Checked on the meta device first, so that nothing is allocated for sizes in the
            # configuration that the file's tensors do not have.
            with torch.device("meta"), _WithoutValues():
                check_fit(_build(config), tensors, path)
        model = _build(config)
    except UserError as error:
        where = "" if str(error).startswith(str(path)) else f"{path}: "
        raise UserError(f"{where}{error}") from None
    load_into(model, tensors, path)
    return config, model


def load_reader(path: Path, named: Collection[str] = ()) -> tuple[ReadingTask, InductiveModel]:
    """Load a model that reads line by line; see `load_model`."""
    config, model = load_model(path, named)
    task = find_task(config.task)
    if not isinstance(task, ReadingTask) or not isinstance(model, InductiveModel):
        raise UserError(
            f"{path}: the model {config.model} of {task.name}, which does not read line by line"
        )
    return task, model.eval()


def load_initial(name: str, model: Model) -> tuple[Path, str]:
    """Check that a model can be initialised with some weights; return their file, and a name that
    does not depend on its location: the run and a checksum."""
    path = find_weights(name)
    tensors, config = _load_weights(path)
    require_alphabet(model, config, path)
    load_into(model, tensors, path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return path, f"{config.name} sha256:{digest[:16]}"


def require_alphabet(model: Model, config: Config, path: Path) -> None:
    """Refuse weights of a line reader with another alphabet than a model's."""
    readers = {"inductive": LineReader, "end-to-end": BlockReader}
    task = find_task(config.task)
    if config.model not in readers or not isinstance(model, readers[config.model]):
        return
    if not isinstance(task, ReadingTask):
        return
    name = alphabet_name(task, config.training.model)
    if ALPHABETS.get(name, task.alphabet) != model.alphabet:
        own = next((k for k, v in ALPHABETS.items() if v == model.alphabet), "another")
        raise UserError(
            f"{path}: reads the alphabet '{name}', not '{own}': "
            "train a model for it anew, or use --set alphabet=…"
        )


def load_encoder(model: Model, path: Path) -> None:
    """Initialise the encoder of a model with that of a trained one."""
    tensors, _ = load_tensors(path)
    for name, theirs in model.encoder_parts.items():
        part = getattr(model, name, None)
        if not isinstance(part, torch.nn.Module):
            raise UserError(f"{path}: this model has no encoder to initialise")
        prefix = f"{theirs}."
        own = {key.removeprefix(prefix): t for key, t in tensors.items() if key.startswith(prefix)}
        load_into(part, own, path)


class _WithoutValues(TorchFunctionMode):
    """Skip the initialisation of weights: on the meta device torch would import its compiler for
    it, which takes seconds."""

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if getattr(function, "__name__", "") in ("normal_", "kaiming_normal_"):
            return args[0] if args else kwargs["tensor"]
        return function(*args, **(kwargs or {}))


def _build(config: Config) -> Model:
    return build_model(config.model, find_task(config.task), config.preset, config.training.model)


def _load_weights(path: Path) -> tuple[dict[str, Tensor], Config]:
    tensors, metadata = load_tensors(path)
    if "config" not in metadata:
        raise UserError(f"{path}: a checkpoint, not weights: give the run's folder")
    return tensors, config_from_json(metadata["config"], path)

"""The folder of a run: configuration, log, checkpoint, weights and result of one training.

config.json             what was asked for
log.jsonl               a line now and then: step, loss, seconds
checkpoint.safetensors  model, optimiser and step, to go on from
best.safetensors        the model with the least validation loss, where it is the one to keep
weights.safetensors     the trained model
result.json             its scores
.lock                   held by the process that works here
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from filelock import BaseFileLock, FileLock, Timeout

from benchmark.files import read_json, write_json
from benchmark.options import Option, check_options, text, whole
from benchmark.training.settings import Training, training_from_json
from ivl_shards import UserError
from ivl_shards.disk import drop_temporary, is_temporary


@dataclass(frozen=True)
class Config:
    """Everything that decides the outcome of a run."""

    task: str
    model: str
    preset: str
    seed: int
    training: Training
    init: str = ""
    """The run, with the checksum of its weights, that the training started from; empty: none."""
    train_data: str = ""
    """Content checksum of the user's own training set; empty: the task's training set."""
    fold: int = 0
    """The fold that a cross-validation leaves out, from 1 on; 0: none."""
    folds: int = 0
    """The number of folds of a cross-validation; 0: it is none."""

    @property
    def name(self) -> str:
        """The name of its folder and its result."""
        model = self.model.replace(":", ".")
        fold = f"-fold{self.fold}of{self.folds}" if self.fold else ""
        return f"{self.task}-{model}-{self.preset}-seed{self.seed}{fold}"

    def to_json(self) -> dict[str, Any]:
        """Return the configuration as it is stored."""
        return asdict(self)


def config_from_json(values: Any, where: Path) -> Config:
    """Return the configuration that a file holds."""
    try:
        if not isinstance(values, dict):
            raise UserError("no names and values")
        given = {"init": "", "train_data": "", "fold": 0, "folds": 0, **values}
        check_options(given, _OPTIONS, "a configuration")
        if missing := sorted(_OPTIONS.keys() - given.keys()):
            raise UserError(f"no {missing[0]}")
        return Config(**{**given, "training": training_from_json(given["training"])})
    except UserError as error:
        raise UserError(f"{where}: not a configuration of ivl-bench ({error})") from None


_OPTIONS = {
    "task": text(),
    "model": text(),
    "preset": text(),
    "seed": whole(0, 2**63 - 1),
    "training": Option("names and values", lambda value: isinstance(value, dict)),
    "init": text(),
    "train_data": text(),
    "fold": whole(0, 1_000_000),
    "folds": whole(0, 1_000_000),
}


@dataclass(frozen=True)
class RunFolder:
    """Where everything of a run lies."""

    path: Path

    @property
    def config(self) -> Path:
        return self.path / "config.json"

    @property
    def log(self) -> Path:
        return self.path / "log.jsonl"

    @property
    def checkpoint(self) -> Path:
        return self.path / "checkpoint.safetensors"

    @property
    def best(self) -> Path:
        return self.path / "best.safetensors"

    @property
    def weights(self) -> Path:
        return self.path / "weights.safetensors"

    @property
    def result(self) -> Path:
        return self.path / "result.json"

    @property
    def lock(self) -> Path:
        return self.path / ".lock"


@contextmanager
def hold_folder(path: Path, config: Config) -> Iterator[RunFolder]:
    """Open the folder of a run, new or to go on with, and let no other process use it meanwhile.

    A folder of another run is refused.
    """
    folder = RunFolder(path)
    lock = _lock(folder)
    try:
        _begin(folder, config)
        yield folder
    finally:
        lock.release()


def _lock(folder: RunFolder) -> BaseFileLock:
    path = folder.path
    lock = FileLock(folder.lock, timeout=0)
    try:
        path.mkdir(parents=True, exist_ok=True)
        others = [p for p in path.iterdir() if p != folder.lock and not is_temporary(p)]
        if others and not folder.config.exists():
            raise UserError(f"{path}: has files, but none of a run: use another --out")
        lock.acquire()
    except Timeout:
        raise UserError(
            f"{path}: another ivl-bench run is at work there: wait for it, or use another --out"
        ) from None
    except OSError as error:
        raise UserError(
            f"{path}: cannot be written ({error.strerror}): use another --out"
        ) from None
    return lock


def _begin(folder: RunFolder, config: Config) -> None:
    """Remove what a stopped process left half-written, and write or compare the configuration."""
    drop_temporary(folder.path)
    stored = json.loads(json.dumps(config.to_json()))
    if not folder.config.exists():
        write_json(folder.config, stored)
        return
    # What was stored before an option came to be has its default.
    there = config_from_json(read_json(folder.config), folder.config)
    if there != config_from_json(stored, folder.config):
        raise UserError(f"{folder.path}: a run with another configuration: use another --out")

"""Run: a folder with the configuration, log, checkpoint, weights and result of one training.

config.json             what was asked for
log.jsonl               a line now and then: step, loss, seconds
checkpoint.safetensors  model, optimiser and step, to go on from
best.safetensors        the model with the least validation loss, where it is the one to keep
weights.safetensors     the trained model
result.json             its scores
"""

import json
import os
import platform
import subprocess
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from benchmark.presets import Training
from ivl_shards import UserError


@dataclass(frozen=True)
class Config:
    """What decides the outcome of a run."""

    task: str
    model: str
    preset: str
    seed: int
    training: Training
    init: str = ""
    """Whose weights it began with: the run and the checksum of its weights; nothing: with none."""

    @property
    def name(self) -> str:
        """Of its folder and its result."""
        model = self.model.replace(":", ".")
        return f"{self.task}-{model}-{self.preset}-seed{self.seed}"

    def to_json(self) -> dict[str, Any]:
        """As it is stored."""
        return asdict(self)


def config_from_json(values: Any, where: Path) -> Config:
    """The configuration that a file holds."""
    try:
        return Config(**{**values, "training": Training(**values["training"])})
    except (TypeError, KeyError) as error:
        raise UserError(f"{where}: not a configuration of ivl-bench ({error})") from None


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


def open_folder(path: Path, config: Config) -> RunFolder:
    """The folder of a run, new or to go on with; one of another run is refused."""
    folder = RunFolder(path)
    stored = json.loads(json.dumps(config.to_json()))
    if folder.config.exists():
        # What was stored before an option came to be has its default.
        if config_from_json(read_json(folder.config), path) != config_from_json(stored, path):
            raise UserError(f"{path}: a run with another configuration: use another --out")
        return folder
    try:
        path.mkdir(parents=True, exist_ok=True)
        if any(path.iterdir()):
            raise UserError(f"{path}: has files, but none of a run: use another --out")
        write_json(folder.config, stored)
    except OSError as error:
        raise UserError(
            f"{path}: cannot be written ({error.strerror}): use another --out"
        ) from None
    return folder


def write_json(path: Path, values: Any) -> None:
    """Write a file, whole or not at all."""
    new = path.with_name(path.name + ".new")
    new.write_text(json.dumps(values, indent=1, ensure_ascii=False) + "\n", "utf-8")
    new.replace(path)


def read_json(path: Path) -> Any:
    """Read a file of ours."""
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be read ({error})") from None


def surroundings() -> dict[str, Any]:
    """What else may matter to whoever wants to see the same figures."""
    return {
        "ivl": version("ivl"),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {os.cpu_count()} CPU cores",
        "threads": torch.get_num_threads(),
        "commit": _commit(),
    }


def _commit() -> str | None:
    """Of the source that ran, where it is a repository."""
    here = Path(__file__).parent
    try:
        found = subprocess.run(
            ["git", "describe", "--always", "--dirty"], cwd=here, capture_output=True, text=True,
            check=True,
        )  # fmt: skip
    except (OSError, subprocess.CalledProcessError):
        return None
    return found.stdout.strip()

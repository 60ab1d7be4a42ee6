"""Entries: the scored runs that a report is made of."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmark.bench import packed_weights
from benchmark.results.result import read_result
from benchmark.results.tables import result_label
from benchmark.tasks import Task, find_task
from benchmark.training.run_folder import Config, RunFolder, config_from_json
from benchmark.training.weights import read_about
from ivl_shards import UserError

# Where `ivl-bench run` leaves runs, and where results are kept.
USUAL = (Path("runs"), Path("results"))


@dataclass(frozen=True)
class Entry:
    """A result, what it is of, and the trained model where it is at hand."""

    result: dict[str, Any]
    config: Config | None
    """None: it was not trained here, as the readers off the shelf."""
    task: Task
    weights: Path | None

    @property
    def name(self) -> str:
        return self.config.name if self.config else f"{self.task.name}-{self.label}"

    @property
    def model(self) -> str:
        return str(self.result["config"]["model"])

    @property
    def label(self) -> str:
        """What it shares with runs that differ in their seed alone."""
        return result_label(self.result)

    @property
    def tested_on(self) -> str:
        """Checksum of the test set; `ivl-bench eval` states no other."""
        data = self.result["data"]
        return str(data if isinstance(data, str) else data[self.task.test.split])


def find_entries(paths: Sequence[Path]) -> tuple[list[Entry], list[str]]:
    """The runs in these places, and the names of those that have not ended.

    A place is a run's folder, a result's file, or a folder of such. A result that is there
    twice, as in `runs` and in `results`, counts once.
    """
    found: dict[str, Entry] = {}
    unfinished: list[str] = []
    for place in paths or [path for path in USUAL if path.is_dir()]:
        for path in _result_files(place):
            if not path.exists():
                unfinished.append(path.parent.name)
                continue
            entry = read_entry(path)
            key = json.dumps([entry.result["config"], entry.result["evaluation"]["scores"]])
            if key not in found or found[key].weights is None:
                found[key] = entry
    if not found:
        places = ", ".join(map(str, paths or USUAL))
        waiting = f" ({', '.join(unfinished)}: not finished)" if unfinished else ""
        raise UserError(f"{places}: no results there{waiting}: ivl-bench run makes them")
    return sorted(found.values(), key=lambda entry: entry.name), unfinished


def _result_files(place: Path) -> Iterator[Path]:
    """Where results are, or will be when a run has ended."""
    if not place.exists():
        raise UserError(f"{place}: no such run or result")
    if place.is_file():
        yield place
    elif RunFolder(place).config.exists():
        yield RunFolder(place).result
    else:
        runs = sorted(config.parent for config in place.rglob("config.json"))
        yield from (RunFolder(run).result for run in runs)
        yield from sorted(path for path in place.rglob("*.json") if path.parent not in runs)


def read_entry(path: Path) -> Entry:
    """A result's file, which may lie in a run's folder."""
    result = read_result(path)
    asked = result["config"]
    config = config_from_json(asked, path) if "training" in asked else None
    return Entry(result, config, find_task(asked["task"]), _weights_of(result, path))


def _weights_of(result: dict[str, Any], path: Path) -> Path | None:
    """The weights beside a result, or those that come with the project if they are of this
    very training."""
    folder = RunFolder(path.parent)
    if path == folder.result and folder.weights.exists():
        return folder.weights
    for packed in packed_weights():
        about = read_about(packed)
        trained = round(about["seconds"], 1), about["config"]
        if trained == (result.get("training_seconds"), result["config"]):
            return packed
    return None

"""Entries: the results that a report is made of, and the trained models at hand."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmark.models.load import bundled_weights
from benchmark.results.result import Result, read_result
from benchmark.tasks.task import Task
from benchmark.training.run_folder import RunFolder, config_from_json
from benchmark.training.weights import read_metadata
from ivl_shards import UserError

# Where `ivl-bench run` writes runs, and where results are stored.
DEFAULT_PLACES = (Path("runs"), Path("results"))


@dataclass(frozen=True)
class Entry:
    """A result, and the file of its weights where there is one."""

    result: Result
    weights: Path | None

    @property
    def task(self) -> Task:
        return self.result.task

    @property
    def name(self) -> str:
        """The name of the run."""
        config = self.result.config
        return config.name if config else f"{self.task.name}-{self.label}"

    @property
    def label(self) -> str:
        """The name in tables, which runs that differ in their seed alone share."""
        return self.result.label


def find_entries(paths: Sequence[Path]) -> tuple[list[Entry], list[str]]:
    """Return the results in these places, and the names of runs without one so far.

    A place is a run's folder, a result's file, or a folder of such. A result that is found twice,
    as in `runs` and in `results`, counts once.
    """
    found: dict[str, Entry] = {}
    unfinished: list[str] = []
    for place in paths or [path for path in DEFAULT_PLACES if path.is_dir()]:
        for path in _result_files(place):
            if not path.exists():
                unfinished.append(path.parent.name)
                continue
            entry = read_entry(path)
            stored = entry.result.to_json()
            told = [stored[name] for name in ("config", "metrics", "changes")]
            key = json.dumps([*told, entry.result.test_data])
            found[key] = _merged(found[key], entry) if key in found else entry
    if not found:
        places = ", ".join(map(str, paths or DEFAULT_PLACES))
        waiting = f" ({', '.join(unfinished)}: not finished)" if unfinished else ""
        raise UserError(f"{places}: no results there{waiting}: ivl-bench run makes them")
    return sorted(found.values(), key=lambda entry: entry.name), unfinished


def _merged(first: Entry, second: Entry) -> Entry:
    """Return one entry of two files with the same scores: the one with weights.

    It gets the step scores of the other where it has none, as those of a training that was scored
    before there were any, or fewer.
    """
    kept, other = (first, second) if first.weights is not None else (second, first)
    steps, others = kept.result.steps, other.result.steps
    if others is not None and (steps is None or (others.true_survival and not steps.true_survival)):
        kept = replace(kept, result=replace(kept.result, steps=others))
    return kept


def _result_files(place: Path) -> Iterator[Path]:
    """Yield the paths of results, also of runs that have not ended yet."""
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
    """Read a result's file, which may be in a run's folder."""
    result = read_result(path)
    return Entry(result, _find_weights(result, path))


def _find_weights(result: Result, path: Path) -> Path | None:
    """Return the weights beside a result, or the bundled weights of the same training."""
    folder = RunFolder(path.parent)
    if path == folder.result and folder.weights.exists():
        return folder.weights
    for bundled in bundled_weights():
        metadata = read_metadata(bundled)
        seconds = round(metadata["seconds"], 1)
        config = config_from_json(metadata["config"], bundled)
        if (seconds, config) == (result.training_seconds, result.config):
            return bundled
    return None

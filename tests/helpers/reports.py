"""Reports of tiny models, for tests."""

import json
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch

from benchmark.data.datasets import DataFolder
from benchmark.registry import find_task, find_training
from benchmark.results.report import find_entries, write_page
from benchmark.results.report.player import Playback
from benchmark.run import Run, run_one
from benchmark.training.processes import join_processes
from benchmark.training.run_folder import Config
from ivl_shards import open_dataset
from shapes_gen import ColouredRecipe, ToyRecipe, generate

torch.set_num_threads(1)  # the models are tiny: more only wait for each other

THREE = "coloured-shapes-threes.Three-fast-seed0"
FOUR = "coloured-shapes-threes.Four-fast-seed0"
NAMED = ("threes:Three", "threes:Four", "threes:Same")
READER = "toy-shapes-inductive-fast-seed0"


def make_runs(folder: Path) -> Path:
    """Fill a folder with `data`, `runs` and `results` of tiny models."""
    data = folder / "data"
    data.mkdir()
    for split, counts in (("train", (3, 4)), ("test", (3, 5))):
        coloured = ColouredRecipe(counts, 20, split=split, size=48)
        generate(coloured, data / f"coloured-shapes-{split}.h5", workers=1)
        toy = ToyRecipe((2, 3), 20, split=split)
        generate(toy, data / f"toy-shapes-{split}.h5", workers=1)
    for task, model in (
        ("coloured-shapes", "threes:Three"),
        ("coloured-shapes", "threes:Four"),
        ("toy-shapes", "inductive"),
        ("toy-shapes", "threes:Same"),
    ):
        training = find_training(find_task(task), model, "fast", {"steps": 2, "batch_size": 2})
        config = Config(task, model, "fast", 0, training)
        own = DataFolder(data, *(data / f"{task}-{split}.h5" for split in ("train", "test")))
        with join_processes("cpu") as one:
            run = Run(config, own, folder / "runs", one, results=folder / "results", quiet=True)
            run_one(run)
    return folder


@contextmanager
def standard_test_sets(data: Path) -> Iterator[None]:
    """Let the tiny test sets be the standard ones, so that leaderboards have their results."""
    with ExitStack() as held:
        for name in ("coloured-shapes", "toy-shapes"):
            checksum = open_dataset(data / f"{name}-test.h5").attributes["content_sha256"]
            standard = find_task(name).standard
            assert isinstance(standard, dict)
            held.enter_context(patch.dict(standard, {checksum: "20 tiny samples"}))
        yield


def write(here: Path, out: Path, *places: Path, samples: int = 4, data: str = "data") -> Path:
    """Write the report of some runs or results."""
    entries, unfinished = find_entries(places)
    write_page(entries, unfinished, out, Playback(here / data, samples, NAMED))
    return out


def data_of(page: Path) -> dict[str, Any]:
    """Return the JSON that a page holds."""
    text = page.read_text("utf-8").split('id="data">')[1].split("</script>")[0]
    found: dict[str, Any] = json.loads(text)
    return found


def copies(here: Path, to: Path, name: str, seeds: range) -> None:
    """Copy a run under other seeds."""
    for seed in seeds:
        copy = to / name.replace("seed0", f"seed{seed}")
        shutil.copytree(here / "runs" / name, copy)
        for path in (copy / "config.json", copy / "result.json"):
            values = json.loads(path.read_text())
            values.get("config", values)["seed"] = seed
            path.write_text(json.dumps(values))

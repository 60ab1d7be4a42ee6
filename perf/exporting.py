"""How fast datasets are exported as Parquet, against reading them and doing nothing else.

Datasets of 200,000 samples and more are exported by several processes; these are smaller.

.venv/bin/python perf/exporting.py
"""

import shutil
import tempfile
from functools import partial
from pathlib import Path

from measure import Figure, at_least, best_seconds, show, stated

import shapes_gen
import textblocks_gen
from ivl_shards import Dataset, open_dataset
from ivl_shards.export.formats import export
from shapes_gen import ColouredRecipe, ToyRecipe
from textblocks_gen import TextRecipe

RECIPES = {
    "coloured shapes": ColouredRecipe((3, 4, 5), 60_000),
    "toy shapes, 3 lines": ToyRecipe((3,), 60_000),
    "text blocks, 1–5 lines": TextRecipe((1, 2, 3, 4, 5), 1000),
}


def make(recipe: object, path: Path) -> Dataset:
    """Generate a dataset and open it."""
    generate = textblocks_gen.generate if isinstance(recipe, TextRecipe) else shapes_gen.generate
    generate(recipe, path, workers=1)
    return open_dataset(path)


def read_samples(dataset: Dataset) -> None:
    """Read all samples, one after the other."""
    for sample in dataset:
        assert sample.length >= 0


def read_batches(dataset: Dataset) -> None:
    """Read all samples, 64 at a time, with padding and without checks."""
    for batch in dataset.batches(64):
        assert len(batch["image"])


def export_all(dataset: Dataset, out: Path) -> None:
    """Export the dataset, card and checksums included."""
    for _ in export(dataset, "parquet", out):
        pass
    shutil.rmtree(out)


def figures() -> list[Figure]:
    """Speed of the export over that of reading, and in samples a second."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for k, (name, recipe) in enumerate(RECIPES.items()):
            dataset = make(recipe, Path(folder) / f"{k}.h5")
            out = Path(folder) / "out"
            actions = {
                "export": partial(export_all, dataset, out),
                "samples": partial(read_samples, dataset),
                "batches": partial(read_batches, dataset),
            }
            # Turn and turn about, so that all meet the same disturbances; the best of each.
            rounds = [{what: best_seconds(do, 1) for what, do in actions.items()} for _ in range(3)]
            best = {what: min(each[what] for each in rounds) for what in actions}
            samples, batches = best["samples"] / best["export"], best["batches"] / best["export"]
            rate = len(dataset) / best["export"]
            found += [
                at_least(f"{name}: Parquet export over reading samples", samples, "×", 0.5),
                stated(f"{name}: Parquet export over reading batches", batches, "×"),
                stated(f"{name}: Parquet export", rate, "samples / s"),
            ]
    return found


if __name__ == "__main__":
    show("Exporting datasets", figures())

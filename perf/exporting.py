"""How fast datasets are exported as Parquet, against reading them and doing nothing else.

.venv/bin/python perf/exporting.py
"""

import shutil
import tempfile
from pathlib import Path

from measure import Figure, at_least, best_seconds, show, stated

import shapes_gen
import textblocks_gen
from ivl_shards import Dataset, open_dataset
from ivl_shards.export.formats import export
from shapes_gen import ColouredRecipe, ToyRecipe
from textblocks_gen import TextRecipe

RECIPES = {
    "coloured shapes": ColouredRecipe((3, 4, 5), 100_000),
    "toy shapes, 3 lines": ToyRecipe((3,), 100_000),
    "text blocks, 1–5 lines": TextRecipe((1, 2, 3, 4, 5), 1000),
}


def make(recipe: object, path: Path) -> Dataset:
    """Generate a dataset and open it."""
    generate = textblocks_gen.generate if isinstance(recipe, TextRecipe) else shapes_gen.generate
    generate(recipe, path, workers=1)
    return open_dataset(path)


def read_all(dataset: Dataset) -> None:
    """Read every field of every sample, in order."""
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
            reading = best_seconds(lambda: read_all(dataset))  # noqa: B023
            exporting = best_seconds(lambda: export_all(dataset, Path(folder) / "out"))  # noqa: B023
            ratio = reading / exporting
            found.append(at_least(f"{name}: Parquet export over reading alone", ratio, "×", 0.5))
            found.append(stated(f"{name}: exported", len(dataset) / exporting, "samples / s"))
    return found


if __name__ == "__main__":
    show("Exporting datasets", figures())

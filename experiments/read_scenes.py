"""Read whole photographs of ICDAR 2013, and count the lines that are read correctly.

IVL_DATA=… .venv/bin/python experiments/read_scenes.py                  # validation scenes
IVL_DATA=… .venv/bin/python experiments/read_scenes.py --all -n 40      # of all training scenes
IVL_DATA=… .venv/bin/python experiments/read_scenes.py --split test -n 30

A line of the ground truth is read correctly if one line of what was read has the same words, case
and punctuation aside; each line that was read counts once. Of the train split, the scenes are
those that the training of a reader of ICDAR's blocks leaves out for validation. The constants of
`benchmark/photograph.py` were chosen on them. The test split is for a final score alone.
"""

import json
import re
import time
from collections import Counter
from pathlib import Path

import click
import numpy as np
import torch

from benchmark.data.datasets import DataFolder, split_validation
from benchmark.models.load import find_weights, load_reader
from benchmark.reading.photographs import read_photograph
from benchmark.registry import find_task
from benchmark.tasks.icdar_blocks import find_scenes
from icdar_blocks import group
from icdar_blocks.scenes import Scene, read_picture, read_split
from ivl_shards import UserError
from ivl_shards.generation.recipe import require
from ivl_shards.options import run

DEFAULT = "icdar-blocks-inductive-fast"


def words_of(line: str) -> str:
    """Return a line as it is compared.

    >>> words_of("Sainsbury's  LONG-LIFE.")
    'sainsburys longlife'
    """
    return " ".join(re.sub(r"[^\w\s]|_", "", line.casefold()).split())


def true_lines(scene: Scene) -> list[str]:
    """Return what the lines of a scene say, without those of punctuation alone."""
    lines = (words_of(line.text) for block in group(scene.words) for line in block)
    return [line for line in lines if line]


def validation_images(data: Path) -> set[str]:
    """Return the names of the training images that readers are not trained on."""
    task = find_task("icdar-blocks")
    _, held_out = split_validation(task, DataFolder(data).open(task, task.train))
    return {name.decode() for name in np.unique(held_out.column("source_image"))}


@click.command()
@click.option("--split", type=click.Choice(["train", "test"]), default="train", show_default=True)
@click.option("--all", "every", is_flag=True, help="Train split: trained-on scenes, too.")
@click.option("-n", "most", type=int, help="Number of scenes, evenly spread; all by default.")
@click.option("--weights", default=DEFAULT, show_default=True, metavar="RUN|FILE|NAME")
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    default=Path("data"),
    show_default=True,
    help="Folder of the benchmark's datasets; the blocks are made if they are missing.",
)
@click.option("--min-confidence", type=float, default=0.0, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
def main(
    split: str,
    every: bool,
    most: int | None,
    weights: str,
    data: Path,
    min_confidence: float,
    as_json: bool,
) -> None:
    """Read the scenes and print what was read, then the figures."""
    torch.set_num_threads(1)
    require(most is None or most >= 1, f"-n {most}: at least 1")
    task, model = load_reader(find_weights(weights), ())
    found = read_split(find_scenes(data), split)
    scenes = [scene for scene in found.scenes if scene.image and true_lines(scene)]
    if split == "train" and not every:
        kept = validation_images(data)
        scenes = [scene for scene in scenes if scene.image in kept]
    if most is not None and most < len(scenes):
        scenes = [scenes[k] for k in np.linspace(0, len(scenes) - 1, most).round().astype(int)]
    if not scenes or found.images is None:
        raise UserError("no scene with a picture and text")
    totals: Counter[str] = Counter()
    seconds = []
    for scene in scenes:
        assert scene.image is not None
        picture = read_picture(found.images.read(scene.image), scene.image)
        begun = time.process_time()
        blocks = read_photograph(model, task, picture)
        seconds.append(time.process_time() - begun)
        said = [
            words_of(line.text)
            for block in blocks
            for line in block.reading.lines
            if line.confidence >= min_confidence
        ]
        wanted, read = Counter(true_lines(scene)), Counter(line for line in said if line)
        totals += Counter(
            lines=wanted.total(),
            read=read.total(),
            correct=(wanted & read).total(),
            blocks=len(group(scene.words)),
            found=len(blocks),
        )
        if not as_json:
            right = (wanted & read).total()
            click.echo(f"{scene.image}: {right} of {wanted.total()}: {' | '.join(said)}")
    figures = {
        "split": split,
        "scenes": len(scenes),
        **totals,
        "lines correct, %": round(100 * totals["correct"] / totals["lines"], 1),
        "precision, %": round(100 * totals["correct"] / max(1, totals["read"]), 1),
        "CPU seconds a scene, median": round(float(np.median(seconds)), 2),
        "CPU seconds a scene, largest": round(max(seconds), 2),
    }
    click.echo(json.dumps(figures) if as_json else f"\n{figures}")


if __name__ == "__main__":
    run(main, "read_scenes")

"""Count planes in training images that were held out of a shorter training.

DOTA_ROOT=/data/dota .venv/bin/python experiments/planes_validation.py --out a
DOTA_ROOT=/data/dota .venv/bin/python experiments/planes_validation.py --out b --set step=6
DOTA_ROOT=/data/dota .venv/bin/python experiments/planes_validation.py --out c --fold 1

Choices about the plane counter (encoder, thresholds, augmentation) are made here, not on the test
set. A fifth of the 100 training images, another one for each fold, is held out; crops of the others
with three to five planes are trained on, and crops of the held-out images with three to ten planes
are counted. A peak is ignored if it is lower than a fraction of the lowest counted one, or than a
threshold. Several pairs are tried, at one scale and at three. The same seeds give the same
figures on one machine.
"""

from itertools import product
from pathlib import Path
from typing import cast

import click
import numpy as np
import torch

from benchmark.data.batches import make_batch
from benchmark.data.datasets import DataFolder
from benchmark.evaluation.evaluate import evaluate
from benchmark.models.build import build_model
from benchmark.models.photo_counter import PhotoCounter
from benchmark.registry import find_training
from benchmark.tasks.dota_planes import DOTA_PLANES, find_images
from benchmark.training.loop import TrainingRun, train, trained_weights
from benchmark.training.processes import Processes
from benchmark.training.run_folder import Config, hold_folder
from benchmark.training.settings import parse_change
from dota_crops import DotaRecipe, generate
from ivl_shards import open_dataset
from ivl_shards.format.reader import Dataset
from ivl_shards.format.schema import Array
from ivl_shards.progress import show_progress

FOLDS = 5
COUNTS = tuple(range(3, 11))
# In which a crop is counted.
SCALES = ((1.0,), (0.8, 1.0, 1.25))
# Fraction of the lowest peak counted, and absolute.
LIMITS = ((0.35, 0.15), (0.4, 0.2), (0.45, 0.25), (0.5, 0.3))


def crops_to_count(data: Path) -> Dataset:
    """Crops with three to ten planes of all training images, none turned and none much like
    another, as those of the test set are."""
    path = data / "dota-planes-held.h5"
    if not path.exists():
        recipe = DotaRecipe(
            COUNTS, 300 * len(COUNTS), seed=9, split="train", images=100, overlap=0.75, turns=False
        )
        generate(recipe, path, root=find_images(data))
    return open_dataset(path)


def select(crops: Dataset, images: Array, within: bool) -> Dataset:
    """Return the crops of these images, or those of all others."""
    return crops[np.flatnonzero(np.isin(crops.column("source_image"), images) == within)]


@torch.no_grad()
def held_loss(model: PhotoCounter, crops: Dataset) -> float:
    """The mean loss of crops: it says more than the few that are counted wrong."""
    model.eval()
    losses: list[float] = []
    for start in range(0, len(crops), 16):
        rows = range(start, min(start + 16, len(crops)))
        rngs = [np.random.default_rng([3, row]) for row in rows]
        batch = make_batch(DOTA_PLANES, [crops[row] for row in rows], rngs)
        losses += model.loss(batch).tolist()
    return float(np.mean(losses))


@click.command()
@click.option("--steps", default=2000, show_default=True, help="of training")
@click.option("--set", "changes", multiple=True, metavar="NAME=VALUE", help="as of ivl-bench run")
@click.option("--fold", type=click.IntRange(0, FOLDS - 1), default=0, show_default=True)
@click.option("--seed", default=0, show_default=True)
@click.option("--data", type=click.Path(path_type=Path), default="data", help="for the crops")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="for the run")
def main(steps: int, changes: tuple[str, ...], fold: int, seed: int, data: Path, out: Path) -> None:
    """Train without the held images, count in them, print."""
    given = {"steps": steps, **dict(parse_change(text) for text in changes)}
    task = DOTA_PLANES
    training = find_training(task, "inductive", "fast", given)
    crops = DataFolder(data).open(task, task.train)
    names = np.random.default_rng(0).permutation(np.unique(crops.column("source_image")))
    images = names[fold::FOLDS]
    dataset, held = select(crops, images, False), select(crops_to_count(data), images, True)
    torch.manual_seed(seed)
    model = cast(PhotoCounter, build_model("inductive", task, "fast", training.model))
    config = Config(task.name, "inductive", "fast", seed, training)
    alone, total = Processes(0, 1, torch.device("cpu")), training.steps * training.batch_size
    with hold_folder(out, config) as folder, show_progress(total, quiet=False) as report:
        state = train(TrainingRun(config, task, dataset, None, folder, alone, 60), model, report)
        model.load_state_dict(trained_weights(training, state, folder))
    said = " ".join(changes) or "as it is"
    print(f"{said}: fold {fold}, {steps} steps, {state.seconds / 60:.1f} minutes")
    trained = held.column("object_count") <= 5
    short, long = (held_loss(model, held[np.flatnonzero(m)]) for m in (trained, ~trained))
    print(f"loss: {short:.2f} with three to five planes, {long:.2f} with more")
    print(
        f"exact counts of {len(held)} crops of held images, by scales and thresholds: all, mean of "
        "images, by count"
    )
    for model.scales, model.thresholds in product(SCALES, LIMITS):
        found = evaluate(task, model, held, torch.device("cpu"))
        counts = np.array([[each.prediction, each.truth] for each in found.predictions])
        right, few = counts[:, 0] == counts[:, 1], counts[:, 0] < counts[:, 1]
        sources = held.column("source_image")
        by_image = np.mean([right[sources == name].mean() for name in np.unique(sources)])
        by_count = " ".join(f"{100 * right[counts[:, 1] == n].mean():5.1f}" for n in COUNTS)
        figures = f"{100 * right.mean():5.1f} {100 * by_image:5.1f} | {by_count}"
        said = "-".join(f"{scale:g}" for scale in model.scales)
        print(
            f"{said:10} {model.thresholds[0]:.2f} {model.thresholds[1]:.2f} {figures} | "
            f"{few.sum()} too few",
            flush=True,
        )


if __name__ == "__main__":
    main()

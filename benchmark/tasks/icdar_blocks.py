"""ICDAR blocks: blocks of text out of real photographs, to fine-tune a reader on and to test it."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.data.alphabets import ASCII
from benchmark.data.augmentation import jitter_colours
from benchmark.data.letterbox import SIZE, training_scale, warp_onto_canvas
from benchmark.evaluation.metrics import spot_words, word_metrics
from benchmark.tasks.task import ReadingTask, Split
from benchmark.tasks.text_blocks import line_texts
from icdar_blocks import generate, group_split, plan_dataset
from ivl_shards import Sample, UserError
from ivl_shards.format.memory import step_map
from ivl_shards.format.reader import Dataset
from ivl_shards.format.schema import Array

TEST_SCALES = (1.0, 0.85, 0.7, 0.6, 0.5, 0.4)
"""Scales at which blocks are read, over the largest that fits."""
SYNTHETIC = Split("synthetic", (1, 2, 3, 4, 5), 40_000, dataset="text-blocks")
# Smallest size of a block in training, over the largest that fits.
_SMALLEST = 0.4
# How often a synthetic block is cut out of its image as real ones are, and the space around it over
# the height of its lines; in the data it is 0.5.
_CUT, _MARGINS = 0.85, (0.2, 1.2)
# Test scenes whose pictures are missing in the copy of ICDAR that our results were obtained with.
_MISSING = ["img_17", "img_27"]


def recipe(split: Split, seed: int) -> dict[str, Any]:
    """Return what the stored recipe of a split must say; the blocks follow from ICDAR's files."""
    if split.dataset:
        counts = list(split.counts)
        return {"counts": counts, "total": split.total, "split": "train", "style": "scene"}
    return {"split": split.name}


def source_differences(dataset: Dataset) -> list[str]:
    """Say which options differ from the defaults, and which photographs are missing."""
    found = dataset.recipe
    wanted = {"canvas": None, "longest": 1024, "margin": 0.5, "quality": 95}
    different = [
        f"{name} {json.dumps(found[name])[:40]} instead of {json.dumps(value)}"
        for name, value in wanted.items()
        if name in found and found[name] != value
    ]
    missing = found.get("missing")
    if isinstance(missing, list) and missing != _MISSING:
        different.append(f"photographs missing: {len(missing)} instead of {len(_MISSING)}")
    return different


def generate_split(split: Split, seed: int, out: Path, data: Path) -> None:
    """Cut all blocks of a split out of ICDAR's photographs, or draw synthetic ones."""
    if split.dataset:
        import textblocks_gen  # imports numba, which most commands do not need

        options: dict[str, Any] = {"split": "train", "style": "scene", "seed": seed}
        scenes = textblocks_gen.TextRecipe(split.counts, split.total, **options)
        textblocks_gen.generate(scenes, out)
    else:
        generate(plan_dataset(group_split(find_scenes(data), split.name)), out)


def find_scenes(data: Path) -> Path:
    """Return the folder of ICDAR's files: the data folder, one in it, or the one that ICDAR_ROOT
    or IVL_DATA name."""
    names = ("icdar2013", "icdar13", "ICDAR2013")
    places = [data, *(data / name for name in names)]
    if "ICDAR_ROOT" in os.environ:
        places.append(Path(os.environ["ICDAR_ROOT"]))
    if "IVL_DATA" in os.environ:
        places += [Path(os.environ["IVL_DATA"]) / name for name in names]
    for place in places:
        if any(place.glob("Challenge2_T*_Task1_GT*")):
            return place
    raise UserError(
        f"{data}: holds neither the blocks of icdar-blocks nor ICDAR's files to cut them from: "
        f"put the four files of Challenge 2 into {data / names[0]}, or set ICDAR_ROOT"
    )


def preprocess(
    sample: Sample, rng: np.random.Generator | None, others: Dataset | None = None
) -> Sample:
    """Return a block letterboxed onto the canvas; in training also augmented: another scale,
    perspective and light."""
    image, quads = _block(sample, rng)
    scale, warp, place = training_scale(*image.shape[:2]), np.eye(3), np.zeros(2)
    if rng is not None:
        scale *= rng.uniform(_SMALLEST, 1.0)
        warp, place = _stance(rng, scale * max(image.shape)), rng.uniform(-1, 1, 2)
        image = jitter_colours(image, rng)
        if rng.random() < 0.3:
            image = 255 - image  # light text on dark ground is as likely as the other
    pixels, moved = warp_onto_canvas(image, quads, scale, warp, place)
    steps = step_map(moved, SIZE, closed=True)
    return Sample({**sample, "image": pixels, "line_quad": moved, "steps": steps}, sample.sequence)


def line_quads(sample: Sample) -> Array:
    """Return the corners of each line; real blocks have upright boxes."""
    if "line_quad" in sample:
        return sample["line_quad"]
    x0, y0, x1, y1 = np.moveaxis(sample["line_box"].astype(float), 1, 0)
    return np.stack([x0, y0, x1, y0, x1, y1, x0, y1], 1).reshape(-1, 4, 2)


def _block(sample: Sample, rng: np.random.Generator | None) -> tuple[Array, Array]:
    """Return the picture of a block and the quads of its lines, (L, 4, 2)."""
    if "line_quad" not in sample:  # a real one, cut out already
        return sample.image, line_quads(sample)
    image, quads = sample.image, sample["line_quad"].astype(float)
    if rng is None or rng.random() > _CUT:
        return image, quads
    height = np.linalg.norm(quads[:, 3] - quads[:, 0], axis=1).mean()
    room = rng.uniform(*_MARGINS, (2, 2)) * height
    corners = quads.reshape(-1, 2)
    low = np.maximum(np.floor(corners.min(0) - room[0]), 0).astype(int)
    high = np.minimum(np.ceil(corners.max(0) + room[1]), image.shape[1::-1]).astype(int)
    return np.ascontiguousarray(image[low[1] : high[1], low[0] : high[0]]), quads - low


def _stance(rng: np.random.Generator, side: float) -> Array:
    """A small homography about the middle of a block whose longer side has so many pixels."""
    turn, shear = np.radians(rng.normal(0, 2)), rng.normal(0, 0.06)
    stretch = np.exp(rng.normal(0, 0.08))
    turned = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    matrix = np.eye(3)
    matrix[:2, :2] = turned @ [[stretch, shear], [0, 1 / stretch]]
    matrix[2, :2] = rng.uniform(-0.1, 0.1, 2) / side
    return matrix


_WORDS = word_metrics(spot_words)

_TRAIN = Split("train", tuple(range(1, 9)), 0)

ICDAR_BLOCKS = ReadingTask(
    name="icdar-blocks",
    title="ICDAR-2013 Text Blocks",
    dataset="icdar-blocks",
    train=_TRAIN,
    test=Split("test", tuple(range(1, 8)), 0),
    val=_TRAIN,
    synthetic=SYNTHETIC,
    channels=3,
    metrics=(_WORDS["word F"], _WORDS["word precision"], _WORDS["word recall"]),
    generate=generate_split,
    recipe=recipe,
    standard={
        "3d7a3fb1a863cb64f971141368afcbbc12596957d98464c893cbbcc0d85e762f": (
            "all 304 blocks of the test scenes but img_17 and img_27, whose pictures are missing"
        ),
    },
    source_differences=source_differences,
    photographs=True,
    alphabet=ASCII,
    line_texts=line_texts,
    line_quads=line_quads,
    letterbox=SIZE,
    group_scores_by="counted_lines",
    val_fraction=0.1,
    val_group="source_image",
    image_field="source_image",
    preprocess=preprocess,
    canvas=SIZE,
    test_scales=TEST_SCALES,
)

"""DOTA airplanes: planes to count in aerial photographs, trained on crops with three to five."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from dota_crops import DotaRecipe

from benchmark.data.augmentation import Scene, augment_planes
from benchmark.evaluation.metrics import EXACT_COUNTS
from benchmark.tasks.task import CountingTask, Split
from ivl_shards import Sample, UserError
from ivl_shards.format.reader import Dataset
from ivl_shards.format.schema import Array

_IMAGES = 100  # the paper trains on crops of 100 images
# Crops of the training images with as many planes as the test crops have, cut like these.
_VAL = Split("train-3-10", tuple(range(3, 11)), 200 * 8)


def _recipe(split: Split, seed: int) -> "DotaRecipe":
    from dota_crops import DotaRecipe  # imports shapely, which most commands do not need

    options: dict[str, Any] = {"split": split.name}
    if split.name == "train":
        options |= {"images": _IMAGES}
    elif split.name == _VAL.name:
        like_test = {"overlap": 0.75, "shared": 0.8, "turns": False}
        options |= {"split": "train", "images": _IMAGES, **like_test}
    return DotaRecipe(split.counts, split.total, seed=seed, **options)


def recipe(split: Split, seed: int) -> dict[str, Any]:
    """Return what the stored recipe of a split must say; how many crops there are and of which
    images follows from the user's copy of DOTA."""
    stored: dict[str, Any] = json.loads(_recipe(split, seed).to_json())
    return {k: v for k, v in stored.items() if k not in ("asked", "total", "source_sha256")}


def generate_split(split: Split, seed: int, out: Path, data: Path) -> None:
    """Cut the crops of a split out of DOTA's images."""
    from dota_crops import generate

    generate(_recipe(split, seed), out, root=find_images(data))


def find_images(data: Path) -> Path:
    """Return the folder of DOTA's images: the data folder, `dota` in it, or the one that
    DOTA_ROOT or IVL_DATA name."""
    places = [data, data / "dota"]
    if "DOTA_ROOT" in os.environ:
        places.append(Path(os.environ["DOTA_ROOT"]))
    if "IVL_DATA" in os.environ:
        places.append(Path(os.environ["IVL_DATA"]) / "dota")
    for place in places:
        if (place / "train" / "images").is_dir():
            return place
    raise UserError(
        f"{data}: holds neither the crops of dota-planes nor DOTA's images to cut them from: "
        f"put DOTA's train and val folders into {data / 'dota'}, or set DOTA_ROOT"
    )


def preprocess(
    sample: Sample, rng: np.random.Generator | None, others: Dataset | None = None
) -> Sample:
    """Return the crop itself; in training an augmented one, perhaps with planes of another."""
    if rng is None or others is None:
        return sample
    other = others[int(rng.integers(len(others)))]
    scene = augment_planes(_scene(sample), _scene(other), rng)
    fields = {
        "image": scene.image,
        "centres": scene.centres,
        "object_size": scene.sizes,
        "object_count": np.uint16(len(scene.centres)),
    }
    return Sample({**sample, **fields}, sample.sequence)


def subsets(dataset: Dataset) -> dict[str, Array]:
    """Return which crops have planes that are all easy to see, and which are harder."""
    from dota_crops.contrast import VISIBLE

    if "contrast" not in dataset.schema:  # crops of earlier versions
        return {}
    lowest = [dataset.labels(row)["contrast"].min(initial=np.inf) for row in range(len(dataset))]
    visible = np.array(lowest) >= VISIBLE
    return {"visible": visible, "hard": ~visible}


def _scene(sample: Sample) -> Scene:
    return Scene(sample.image, sample["centres"], sample["object_size"])


# A line for each known state of DOTA's files.
STANDARD = {
    "60ec89cd48a873dc6405d41c3dc10799779537fcc9a229059bc0c8970feac75d": (
        "589 crops of 45 images, from a copy with 49 of the 70 validation images with planes, as "
        "JPEG files"
    ),
}

DOTA_PLANES = CountingTask(
    name="dota-planes",
    title="DOTA Airplanes",
    dataset="dota-planes",
    train=Split("train", (3, 4, 5), 20_000),
    test=Split("val", tuple(range(3, 11)), 200 * 8),  # DOTA's validation split
    val=_VAL,
    channels=3,
    metrics=(EXACT_COUNTS,),
    generate=generate_split,
    recipe=recipe,
    standard=STANDARD,
    photographs=True,
    val_group="source_image",
    image_field="source_image",
    subsets=subsets,
    preprocess=preprocess,
)

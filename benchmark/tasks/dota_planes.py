"""DOTA airplanes: planes to count in aerial photographs, trained on crops with three to five."""

import os
from pathlib import Path

import numpy as np

from benchmark.data.augmentation import Scene, another_photograph
from benchmark.tasks.task import Part, Task
from ivl_shards import Sample, UserError
from ivl_shards.format.reader import Dataset

_IMAGES = 100  # the paper trains on crops of so many


def make(part: Part, seed: int, out: Path, data: Path) -> None:
    """Cut a part of the dataset out of DOTA's images."""
    from dota_crops import DotaRecipe, generate  # imports shapely: needed for new data alone

    recipe = DotaRecipe(
        part.counts,
        part.total,
        seed=seed,
        split=part.split,
        images=_IMAGES if part.split == "train" else None,
    )
    generate(recipe, out, root=find_images(data))


def find_images(data: Path) -> Path:
    """The folder of DOTA's images: the data folder or `dota` in it, else where the environment
    says."""
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


def shown(sample: Sample, rng: np.random.Generator | None, others: Dataset | None = None) -> Sample:
    """The crop itself; in training another photograph, of the same planes and perhaps some of
    another crop's."""
    if rng is None or others is None:
        return sample
    other = others[int(rng.integers(len(others)))]
    scene = another_photograph(_scene(sample), _scene(other), rng)
    fields = {
        "image": scene.image,
        "centres": scene.centres,
        "object_size": scene.sizes,
        "object_count": np.uint16(len(scene.centres)),
    }
    return Sample({**sample, **fields}, sample.sequence)


def _scene(sample: Sample) -> Scene:
    return Scene(sample.image, sample["centres"], sample["object_size"])


DOTA_PLANES = Task(
    name="dota-planes",
    title="DOTA Airplanes",
    kind="counting",
    made_by="dota-crops",
    train=Part("train", (3, 4, 5), 20_000),
    test=Part("val", tuple(range(3, 11)), 200 * 8),
    channels=3,
    metrics=("exact counts",),
    make=make,
    photographs=True,
    group="source_image",
    shown=shown,
)

"""DOTA airplanes: planes to count in aerial photographs, trained on crops with three to five."""

import os
from pathlib import Path

import cv2
import numpy as np

from benchmark.tasks.task import Part, Task
from dota_crops import DotaRecipe, generate
from ivl_shards import Sample, UserError
from ivl_shards.schema import Array

_IMAGES = 100  # the paper trains on crops of so many
_SMALLEST = 7.5  # a little less than the least size of a plane in a crop, in pixels


def make(part: Part, seed: int, out: Path, data: Path) -> None:
    """Cut a part of the dataset out of DOTA's images."""
    recipe = DotaRecipe(
        part.counts, part.total, seed=seed, split=part.split,
        images=_IMAGES if part.split == "train" else None,
    )  # fmt: skip
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


def shown(sample: Sample, rng: np.random.Generator | None) -> Sample:
    """The crop itself; in training another photograph of the same planes."""
    if rng is None:
        return sample
    image, centres, sizes = augment(sample.image, sample["centres"], sample["object_size"], rng)
    shown = {"image": image, "centres": centres, "object_size": sizes}
    return Sample({**sample, **shown}, sample.sequence)


def augment(
    image: Array, centres: Array, sizes: Array, rng: np.random.Generator
) -> tuple[Array, Array, Array]:
    """Another photograph of the same planes: turned, farther away, among other things, in other
    light.

    Crops of ten planes show them smaller than those of three, and a plane may stand at any
    angle; ground, light, haze and film differ from scene to scene, of which training has few.
    """
    changed, centres, sizes = move(image, centres, sizes, rng)
    changed = add_clutter(changed, centres, sizes, rng)
    if rng.random() < 0.5:
        changed = repaint(changed, centres, sizes, rng)
    return other_film(changed, rng), centres, sizes


def move(
    image: Array, centres: Array, sizes: Array, rng: np.random.Generator
) -> tuple[Array, Array, Array]:
    """A crop turned, mirrored, and smaller on ground of its own colour."""
    half = image.shape[0] / 2
    turn = rng.uniform(-np.pi, np.pi) if rng.random() < 0.4 else 0.0
    # Small enough that the whole crop stays in the image: a plane that left it, or was cut,
    # would make the count wrong.
    fits = 1 / (abs(np.cos(turn)) + abs(np.sin(turn)))
    # No plane is to become smaller than those that are tested on.
    least = float(np.clip(_SMALLEST / (fits * sizes.min()), 0.4, 1.0))
    scale = fits * (least ** rng.random() if rng.random() < 0.6 else 1.0)
    mirror = -1.0 if rng.random() < 0.5 else 1.0
    matrix = scale * np.array(
        [[mirror * np.cos(turn), -np.sin(turn)], [mirror * np.sin(turn), np.cos(turn)]]
    )
    shift = rng.uniform(-1, 1, 2) * half * (1 - scale / fits)
    offset = half - matrix @ [half, half] + shift
    # Pixel centres lie at + 0.5 for us and at whole numbers for OpenCV.
    whole = offset + matrix @ [0.5, 0.5] - 0.5
    ground = np.median(image[::4, ::4], axis=(0, 1)).tolist()
    warped = cv2.warpAffine(
        image, np.column_stack([matrix, whole]), image.shape[1::-1], flags=cv2.INTER_LINEAR,
        borderMode=cv2.BORDER_CONSTANT, borderValue=ground,
    )  # fmt: skip
    moved = (centres @ matrix.T + offset).astype(np.float32)
    return warped, moved, (scale * sizes).astype(np.float32)


def repaint(image: Array, centres: Array, sizes: Array, rng: np.random.Generator) -> Array:
    """The planes in other paint: most are white, but some are as grey as the ground, or darker.

    What differs from the ground around a plane differs less, or the other way round.
    """
    height, width = image.shape[:2]
    small = cv2.resize(image, (width // 2, height // 2), interpolation=cv2.INTER_AREA)
    ground = cv2.resize(cv2.medianBlur(small, 15), (width, height)).astype(np.float32)
    x, y = np.arange(width, dtype=np.float32) + 0.5, np.arange(height, dtype=np.float32) + 0.5
    share = np.ones(image.shape[:2], np.float32)
    one = _paint(rng)
    for (cx, cy), size in zip(centres, sizes, strict=True):
        away = np.sqrt((x - cx) ** 2 + (y[:, None] - cy) ** 2) / size
        paint = one if rng.random() < 0.7 else _paint(rng)
        share += (paint - share) * np.clip(2.2 - 2 * away, 0, 1)
    painted: Array = ground + (image - ground) * share[..., None]
    return painted.clip(0, 255).astype(np.uint8)


def _paint(rng: np.random.Generator) -> float:
    """What is left of a plane's difference from the ground."""
    return float(rng.uniform(0.35, 1) if rng.random() < 0.7 else -rng.uniform(0.4, 0.9))


def other_film(image: Array, rng: np.random.Generator) -> Array:
    """The same photograph in other tones and colours, in grey, in uneven light, blurred or
    grainy. How bright it is and how rich in contrast as a whole is left alone: counters even
    that out."""
    bright = max(1.0, float(np.quantile(image[::4, ::4], 0.99))) / 255
    gamma, cast = np.exp(rng.normal(0, 0.35)), np.exp(rng.normal(0, 0.1, 3))
    levels = (np.arange(256) / 255 / bright)[:, None] ** gamma * bright * cast / cast.max()
    table = np.clip(levels * 255, 0, 255).astype(np.uint8)
    image = np.stack([table[image[..., k], k] for k in range(3)], axis=-1)
    if rng.random() < 0.3:
        image = np.repeat(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)[..., None], 3, 2)
    if rng.random() < 0.3:
        image = cv2.GaussianBlur(image, (0, 0), rng.uniform(0.3, 1.2))
    spread = float(image.std())
    if rng.random() < 0.3:
        # Haze and shadows of clouds.
        coarse = rng.normal(0, rng.uniform(0.2, 0.8) * spread, rng.integers(2, 5, 2))
        field = cv2.resize(
            coarse.astype(np.float32), image.shape[1::-1], interpolation=cv2.INTER_CUBIC
        )
        image = np.clip(image + field[..., None], 0, 255).astype(np.uint8)
    if rng.random() < 0.3:
        grain = rng.normal(0, rng.uniform(0.05, 0.25) * spread, image.shape[:2])
        image = np.clip(image + grain[..., None], 0, 255).astype(np.uint8)
    return image


def add_clutter(image: Array, centres: Array, sizes: Array, rng: np.random.Generator) -> Array:
    """Slabs of any colour beside the planes: what is bright and has edges need not be a plane."""
    cluttered = image.copy()
    for _ in range(rng.integers(0, 5)):
        long, wide = rng.uniform(3, 28), rng.uniform(2, 14)
        turn, middle = rng.uniform(0, np.pi), rng.uniform(0, image.shape[0], 2)
        colour = rng.integers(0, 256, 3) if rng.random() < 0.5 else np.full(3, rng.integers(256))
        # As far from a plane as its wings may reach.
        away = np.hypot(*(centres - middle).T) - 1.2 * sizes - np.hypot(long, wide) / 2
        if (away < 0).any():
            continue
        along = np.array([np.cos(turn), np.sin(turn)])
        across = np.array([-along[1], along[0]])
        sides = [long * along + wide * across, long * along - wide * across]
        corners = np.array([middle + s / 2 for s in (sides[0], sides[1], -sides[0], -sides[1])])
        points = np.round((corners - 0.5) * 16).astype(np.int32)
        cv2.fillConvexPoly(cluttered, points, colour.tolist(), cv2.LINE_AA, shift=4)
    return cluttered


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
    group="source_image",
    shown=shown,
)

"""Extract: the pure function from a planned crop and its picture to a sample."""

from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
from PIL import Image

from dota_crops.contrast import contrasts
from dota_crops.cut_rule import judge
from dota_crops.picture import Picture, open_picture
from dota_crops.plan import Crop, PlannedCrops
from dota_crops.recipe import DotaRecipe
from dota_crops.scenes import LONGEST_NAME, Scene
from ivl_shards import ENCODED, Field, Sample, Schema, UserError
from ivl_shards.format.schema import Array

# Pillow's filters are integer arithmetic, the same on every machine. Hamming weighs the area
# that a pixel of the crop covers; an integer box takes windows many times as large down first.
_SHRINK = Image.Resampling.HAMMING
_ENLARGE = Image.Resampling.BICUBIC
_REDUCING_GAP = 2.0


def schema(recipe: DotaRecipe) -> Schema:
    """Return the fields of a dataset."""
    most = max(1, *recipe.counts)  # loaders refuse an axis of length 0
    of_objects: dict[str, Any] = {"counted_by": "object_count"}
    source = "pixels of the source image"
    return Schema(
        "peaks",
        "object_count",
        (
            Field("image", "u1", (), "RGB photograph", storage=ENCODED),
            Field("image_size", "i4", (2,), "height and width of the image", "pixels"),
            Field("object_count", "i4", (), "number of objects", "objects"),
            Field("centres", "f4", (most, 2), "centre (x, y) of each", "pixels", **of_objects),
            Field("sigma", "f4", (), "width of the memory's gaussian peaks", "pixels"),
            Field("quads", "f4", (most, 4, 2), "corners (x, y) of each", "pixels", **of_objects),
            Field(
                "object_size",
                "f4",
                (most,),
                "square root of the area of each",
                "pixels",
                **of_objects,
            ),
            Field(
                "difficult", "u1", (most,), "difficulty of each as labelled, 0: none", **of_objects
            ),
            Field(
                "contrast",
                "f4",
                (most,),
                "RMS contrast of each in the source image",
                "grey levels",
                **of_objects,
            ),
            Field("source_image", f"S{LONGEST_NAME}", (), "file name of the source image"),
            Field("window", "i4", (4,), "(x0, y0, x1, y1) of the crop there", source),
            Field(
                "turn",
                "u1",
                (),
                "quarter turns anticlockwise, 0–3; 4–7: mirrored left to right, then turned by 0–3",
            ),
            Field(
                "source_quads",
                "f4",
                (most, 4, 2),
                "corners (x, y) of each as labelled",
                source,
                **of_objects,
            ),
            Field("source_line", "i4", (most,), "line of the label file, from 1", **of_objects),
            Field(
                "gsd",
                "f4",
                (),
                "ground sampling distance of the source image, NaN if unknown",
                "metres a pixel of the source image",
            ),
        ),
    )


def size(recipe: DotaRecipe) -> tuple[int, int]:
    """Return height and width of the images."""
    return recipe.size, recipe.size


def start(recipe: DotaRecipe, source: PlannedCrops) -> Callable[[int], Sample]:
    """Return the function from a row of the dataset to its sample.

    Rows are grouped by image, so holding the last picture means decoding each once.
    """
    held: dict[int, tuple[Picture, Array]] = {}

    def sample(row: int) -> Sample:
        crop = source.crops[row]
        scene = source.scenes[crop.scene]
        if crop.scene not in held:
            held.clear()  # first, so that two are never in memory
            picture = open_picture(scene.path, scene.height * scene.width)
            levels = contrasts(picture, scene.quads, scene.height, scene.width)
            held[crop.scene] = picture, levels
        return extract(recipe, scene, crop, *held[crop.scene])

    return sample


def extract(
    recipe: DotaRecipe, scene: Scene, crop: Crop, picture: Picture, contrast: Array
) -> Sample:
    """Cut one sample out of an image; `contrast` (n,) is that of each object in the image."""
    window = np.array([crop.window])
    pixels = picture.window(*crop.window)
    if pixels.shape[:2] != (crop.window[3] - crop.window[1], crop.window[2] - crop.window[0]):
        raise UserError(f"{scene.path}: has changed since the crops were planned: run again")
    verdict = judge(recipe.cut, scene.polygons, scene.centres, window)
    things = verdict.members(0)
    if verdict.counts()[0] != crop.count:
        raise AssertionError(f"{scene.name} {crop}: the search and the rule disagree")
    scale = recipe.size / (crop.window[2] - crop.window[0])
    source_quads = scene.quads[things]  # (K, 4, 2)
    pixels = turned(resized(pixels, recipe.size), crop.turn)
    quads = _turned_points((source_quads - crop.window[:2]) * scale, crop.turn, recipe.size)
    # Of an object that is kept though cut, the centre might lie beyond the edge.
    centres = np.clip(quads.mean(1), 0, recipe.size)
    return Sample(
        {
            "image": _encoded(pixels, recipe.quality),
            "image_size": np.array(pixels.shape[:2], np.int32),
            "object_count": np.int32(crop.count),
            "centres": centres.astype(np.float32),
            "sigma": np.float32(recipe.sigma),
            "quads": quads.astype(np.float32),
            "object_size": (scene.sizes[things] * scale).astype(np.float32),
            "difficult": scene.difficult[things],
            "contrast": contrast[things].astype(np.float32),
            "source_image": np.array(scene.name.encode(), f"S{LONGEST_NAME}"),
            "window": window[0].astype(np.int32),
            "turn": np.uint8(crop.turn),
            "source_quads": source_quads.astype(np.float32),
            "source_line": scene.lines[things],
            "gsd": np.float32(scene.gsd),
        },
        sequence="object_count",
    )


def resized(pixels: Array, size: int) -> Array:
    """Resize a square window (s, s, 3) to a crop (size, size, 3)."""
    side = len(pixels)
    if side == size:
        return pixels
    image = Image.fromarray(np.ascontiguousarray(pixels))
    how = _SHRINK if side > size else _ENLARGE
    return np.asarray(image.resize((size, size), how, reducing_gap=_REDUCING_GAP))


def turned(pixels: Array, turn: int) -> Array:
    """Mirror pixels left to right if the turn is 4 or more, then turn them anticlockwise."""
    return np.rot90(pixels[:, ::-1] if turn >= 4 else pixels, turn % 4)


def _turned_points(points: Array, turn: int, size: int) -> Array:
    """Return where `turned` puts points (…, 2) of a square image."""
    x, y = points[..., 0], points[..., 1]
    if turn >= 4:
        x = size - x
    for _ in range(turn % 4):
        x, y = y, size - x
    return np.stack([x, y], -1)


def _encoded(pixels: Array, quality: int) -> Array:
    # Full colour resolution: at half of it small coloured tails would bleed.
    settings = [
        cv2.IMWRITE_JPEG_QUALITY,
        quality,
        cv2.IMWRITE_JPEG_SAMPLING_FACTOR,
        cv2.IMWRITE_JPEG_SAMPLING_FACTOR_444,
    ]
    fine, data = cv2.imencode(".jpg", pixels, settings)
    if not fine:
        raise UserError("OpenCV cannot write JPEG here")
    return np.asarray(data).reshape(-1)

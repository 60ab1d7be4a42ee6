"""A generator of its own, as a third party would write one: it stores JPEG and text."""

from collections.abc import Callable
from dataclasses import dataclass

import cv2
import numpy as np

from ivl_shards import DEFLATE, ENCODED, Field, Generator, Recipe, Sample, Schema
from ivl_shards.format.memory import step_map
from ivl_shards.generation.generator import drawn_samples


@dataclass(frozen=True)
class PhotoRecipe(Recipe):
    """Noise instead of photographs."""

    width: int = 40


def schema(recipe: PhotoRecipe) -> Schema:
    most = max(recipe.counts)
    return Schema(
        "steps",
        "line_count",
        (
            Field("image", "u1", (), "a photograph", storage=ENCODED),
            Field("image_size", "i4", (2,), "height and width", "pixels"),
            Field("steps", "u1", size(recipe), "map", storage=DEFLATE, sized_by="image_size"),
            Field("line_count", "i4", (), "number of lines"),
            Field("camera", "S20", (), "what it was taken with"),
            Field("text", "S12", (most,), "what it says", counted_by="line_count"),
        ),
    )


def size(recipe: PhotoRecipe) -> tuple[int, int]:
    return 16 * max(recipe.counts), recipe.width


def render(recipe: PhotoRecipe, count: int, rng: np.random.Generator) -> Sample:
    height, width = 16 * count, recipe.width
    pixels = rng.integers(256, size=(height, width, 3), dtype=np.uint8)
    words = [f"wörd {i}".encode() for i in rng.integers(1000, size=count)]
    return Sample(
        {
            "image": np.frombuffer(cv2.imencode(".jpg", pixels)[1].tobytes(), np.uint8),
            "image_size": np.array([height, width], np.int32),
            "steps": step_map(
                [(2, 16 * k, 30, 16 * k + 12) for k in range(count)], (height, width)
            ),
            "line_count": np.int32(count),
            "camera": np.array(b"box", "S20"),
            "text": np.array(words, "S12"),
        },
        sequence="line_count",
    )


def start(recipe: PhotoRecipe, source: None) -> Callable[[int], Sample]:
    return drawn_samples("photos", recipe, render)


PHOTOS = Generator("photos", "1", "photos", "CC0-1.0", schema, size, start)

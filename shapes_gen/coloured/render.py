"""Render: circles, triangles and squares that stand out from background and neighbours."""

from typing import Any

import numpy as np

from ivl_shards import DEFLATE, Field, Sample, Schema
from shapes_gen.coloured.hard import draw_hard
from shapes_gen.coloured.layout import (
    KINDS,
    Drawing,
    choose_colours,
    paint,
    place,
    random_colours,
)
from shapes_gen.coloured.recipe import ColouredRecipe


def schema(recipe: ColouredRecipe) -> Schema:
    """Return the fields of a dataset."""
    most = max(1, *recipe.counts)  # loaders refuse an axis of length 0
    of_objects: dict[str, Any] = {"counted_by": "object_count"}
    return Schema(
        "peaks",
        "object_count",
        (
            Field("image", "u1", (recipe.size, recipe.size, 3), "RGB pixels", storage=DEFLATE),
            Field("object_count", "i4", (), "number of objects", "objects"),
            Field("centres", "f4", (most, 2), "centre (x, y) of each", "pixels", **of_objects),
            Field("sigma", "f4", (), "width of the memory's gaussian peaks", "pixels"),
            Field("kind", "u1", (most,), "shape of each", classes=KINDS, **of_objects),
            Field("colour", "u1", (most, 3), "RGB colour of each", **of_objects),
            Field("box", "f4", (most, 4), "(x0, y0, x1, y1) of each", "pixels", **of_objects),
        ),
    )


def render(recipe: ColouredRecipe, count: int, rng: np.random.Generator) -> Sample:
    """Render one sample."""
    drawing = (draw_hard if recipe.hard else draw_plain)(recipe, count, rng)
    return Sample(
        {
            "image": drawing.image,
            "object_count": np.int32(count),
            "centres": np.array([(d.x, d.y) for d in drawing.discs], np.float32).reshape(-1, 2),
            "sigma": np.float32(recipe.sigma),
            "kind": np.array(drawing.kinds, np.uint8),
            "colour": np.array(drawing.colours, np.uint8).reshape(-1, 3),
            "box": np.array(drawing.boxes, np.float32).reshape(-1, 4),
        },
        sequence="object_count",
    )


def draw_plain(recipe: ColouredRecipe, count: int, rng: np.random.Generator) -> Drawing:
    """Place shapes, colour them, then paint them in the stored order."""
    discs = place(recipe, count, rng)
    kinds: list[int] = rng.integers(len(KINDS), size=count).tolist()
    candidates = random_colours(rng)
    background = next(candidates)
    colours = choose_colours(recipe, discs, background, candidates)
    # Repeating bytes fills the canvas ten times as fast as numpy's broadcasting does.
    filled = bytearray(bytes(background) * recipe.size**2)
    image = np.frombuffer(filled, np.uint8).reshape(recipe.size, recipe.size, 3)
    boxes = [
        paint(image, disc, kind, colour)
        for disc, kind, colour in zip(discs, kinds, colours, strict=True)
    ]
    return Drawing(image, discs, kinds, colours, boxes)


def size(recipe: ColouredRecipe) -> tuple[int, int]:
    """Return height and width of the images."""
    return recipe.size, recipe.size

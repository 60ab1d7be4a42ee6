"""Render: lines of shapes, stamped black and white, the block, lines and shapes moved a little."""

from functools import lru_cache

import numpy as np

from ivl_shards import DEFLATE, Field, Sample, Schema
from ivl_shards.format.memory import step_dtype, step_map
from ivl_shards.format.schema import Array
from shapes_gen.toy.recipe import ToyRecipe, canvas

SHAPES = ("square", "triangle", "circle")
CLASSES = tuple(f"{size} {shape}" for size in ("small", "large") for shape in SHAPES)
_INK = 255


def schema(recipe: ToyRecipe) -> Schema:
    """Return the fields of a dataset; smaller images are padded to the size of the largest."""
    most = max(recipe.counts)
    largest = size(recipe)
    return Schema(
        "steps",
        "line_count",
        (
            Field(
                "image", "u1", largest, "pixels, 0 or 255", storage=DEFLATE, sized_by="image_size"
            ),
            Field("image_size", "i4", (2,), "height and width of the image", "pixels"),
            Field(
                "steps",
                step_dtype(most),
                largest,
                "first step whose line box covers the pixel, 0 where none does",
                storage=DEFLATE,
                sized_by="image_size",
            ),
            Field("line_count", "i4", (), "number of lines", "lines"),
            Field(
                "line_box",
                "i4",
                (most, 4),
                "(x0, y0, x1, y1) of each line, top to bottom, half-open",
                "pixels",
                counted_by="line_count",
            ),
            Field(
                "label",
                "u1",
                (most, recipe.per_line),
                "shapes of each line, left to right",
                counted_by="line_count",
                classes=CLASSES,
            ),
        ),
    )


def render(recipe: ToyRecipe, lines: int, rng: np.random.Generator) -> Sample:
    """Render one sample: block, lines and shapes are each moved a little, then stamped."""
    height, width = canvas(recipe, lines)
    labels = rng.integers(len(CLASSES), size=(lines, recipe.per_line))
    stamps = _stamps(recipe)
    sides = np.where(labels < len(SHAPES), recipe.small, recipe.large)
    left, top = _corners(recipe, lines, sides, rng)

    image = np.zeros((height, width), np.uint8)
    for label, side, x, y in zip(
        labels.ravel().tolist(),
        sides.ravel().tolist(),
        left.ravel().tolist(),
        top.ravel().tolist(),
        strict=True,
    ):
        image[y : y + side, x : x + side] = stamps[label]

    boxes = np.stack(
        [left.min(1), top.min(1), (left + sides).max(1), (top + sides).max(1)], axis=1
    )  # (lines, 4)
    return Sample(
        {
            "image": image,
            "image_size": np.array([height, width], np.int32),
            "steps": step_map(boxes, (height, width), max(recipe.counts)),
            "line_count": np.int32(lines),
            "line_box": boxes.astype(np.int32),
            "label": labels.astype(np.uint8),
        },
        sequence="line_count",
    )


def _corners(
    recipe: ToyRecipe, lines: int, sides: Array, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Return the upper left corner of every shape, (lines, per_line) each in x and y."""
    # The margin holds two moves: the block's and the line's.
    block_x = rng.integers(0, recipe.margin + 1)
    line_x = rng.integers(0, recipe.margin + 1, size=lines)
    line_y = _line_tops(recipe, lines, rng)
    cell_x = np.arange(recipe.per_line) * recipe.cell
    # Within its cell a shape goes anywhere but to the last row and column, so none touch.
    move_x = (rng.random(sides.shape) * (recipe.cell - sides)).astype(int)
    move_y = (rng.random(sides.shape) * (recipe.cell - sides)).astype(int)
    left = block_x + line_x[:, None] + cell_x[None, :] + move_x
    return left, line_y[:, None] + move_y


def _line_tops(recipe: ToyRecipe, lines: int, rng: np.random.Generator) -> Array:
    """Return the top of the cells of each line, (lines,)."""
    height = canvas(recipe, lines)[0]
    if recipe.canvas_lines is None:
        gaps = rng.integers(0, recipe.gap + 1, size=lines)
        gaps[0] = 0
        offsets = np.cumsum(gaps)
    else:
        # Any two lines may be far apart. The cube of a random number is often small, so that lines
        # are often as close to each other as on a full canvas.
        share = rng.random()
        spread = int((height - lines * recipe.cell) * share * share * share)
        offsets = np.sort(rng.integers(0, spread + 1, size=lines))
        offsets -= offsets[0]
    tops: Array = np.arange(lines) * recipe.cell + offsets
    slack = height - (int(tops[-1]) + recipe.cell)
    return tops + rng.integers(0, slack + 1)


@lru_cache(maxsize=8)
def _stamps(recipe: ToyRecipe) -> tuple[Array, ...]:
    """Return the picture of each class, in the order of `CLASSES`."""
    return tuple(
        draw(side)
        for side in (recipe.small, recipe.large)
        for draw in (_square, _triangle, _circle)
    )


def _square(side: int) -> Array:
    return np.full((side, side), _INK, np.uint8)


def _triangle(side: int) -> Array:
    """Draw a triangle, point up: row r of `side` is (r + 1) / side of the full width."""
    rows = np.arange(1, side + 1)[:, None]
    offset = np.abs(2 * np.arange(side) + 1 - side)[None, :]
    return np.where(offset < rows + (side - rows) % 2, _INK, 0).astype(np.uint8)


def _circle(side: int) -> Array:
    across = 2 * np.arange(side) + 1 - side
    return np.where(across[:, None] ** 2 + across[None, :] ** 2 < side * side, _INK, 0).astype(
        np.uint8
    )


def size(recipe: ToyRecipe) -> tuple[int, int]:
    """Return height and width of the largest image."""
    return canvas(recipe, max(recipe.counts))

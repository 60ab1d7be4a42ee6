"""Extract: the pure function from a row of the dataset to its sample."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import cv2
import numpy as np

from icdar_blocks.archive import Archive
from icdar_blocks.plan import Cut, PlannedBlocks
from icdar_blocks.recipe import IcdarRecipe
from icdar_blocks.scenes import read_picture
from icdar_blocks.table import counted_lines
from ivl_shards import DEFLATE, ENCODED, Field, Sample, Schema
from ivl_shards.format.memory import step_dtype, step_map
from ivl_shards.format.schema import Array


def schema(recipe: IcdarRecipe) -> Schema:
    """Return the fields of a dataset; lengths are padded to the longest that occurs."""
    lines, words = max(recipe.counts), recipe.most_words
    by_line: Any = {"counted_by": "line_count"}
    by_word: Any = {"counted_by": "word_count"}
    return Schema(
        "steps",
        "line_count",
        (
            Field("image", "u1", (), "the block, RGB", storage=ENCODED),
            Field("image_size", "i4", (2,), "height and width of the image", "pixels"),
            Field(
                "steps",
                step_dtype(lines),
                recipe.largest,
                "first step whose line box covers the pixel, 0 where none does",
                storage=DEFLATE,
                sized_by="image_size",
            ),
            Field("line_count", "i4", (), "number of lines", "lines"),
            Field(
                "line_box",
                "i4",
                (lines, 4),
                "(x0, y0, x1, y1) of each line, top to bottom, half-open",
                "pixels",
                **by_line,
            ),
            Field(
                "line_text",
                f"S{recipe.line_bytes}",
                (lines,),
                "words of each line with a space between them, UTF-8",
                **by_line,
            ),
            Field("word_count", "i4", (), "number of words", "words"),
            Field(
                "word_box",
                "i4",
                (words, 4),
                "(x0, y0, x1, y1) of each word in reading order, half-open",
                "pixels",
                **by_word,
            ),
            Field("word_text", f"S{recipe.word_bytes}", (words,), "each word, UTF-8", **by_word),
            Field("word_line", "i4", (words,), "line of each word, from 0", **by_word),
            Field(
                "word_counted",
                "u1",
                (words,),
                "1 for words that count in the paper's table, see `counted` in the recipe",
                **by_word,
            ),
            Field(
                "counted_lines",
                "i4",
                (),
                "lines with a word that counts: the number of lines of the paper's table",
                "lines",
            ),
            Field("source_image", f"S{recipe.name_bytes}", (), "file name of the scene, UTF-8"),
            Field(
                "window",
                "i4",
                (4,),
                "(x0, y0, x1, y1) of the block with its margin in the scene, half-open",
                "pixels of the scene",
            ),
            Field("scale", "f4", (2,), "image pixels for one pixel of the scene, in x and y"),
            Field(
                "offset",
                "i4",
                (2,),
                "(x, y) of the window in the image; not 0 only on a canvas",
                "pixels",
            ),
        ),
    )


def size(recipe: IcdarRecipe) -> tuple[int, int]:
    """Return height and width of the largest image."""
    return recipe.largest


def start(recipe: IcdarRecipe, source: PlannedBlocks) -> Callable[[int], Sample]:
    """Return the function from a row of the dataset to its sample."""
    images = Archive(source.images)

    @lru_cache(maxsize=1)  # the blocks of a scene follow each other
    def scene(name: str) -> Array:
        return read_picture(images.read(name), images.where(name))

    def sample(row: int) -> Sample:
        cut = source.cuts[row]
        return make_sample(recipe, cut, scene(cut.image))

    return sample


def make_sample(recipe: IcdarRecipe, cut: Cut, scene: Array) -> Sample:
    """Cut one block out of the pixels of its scene."""
    pixels = cut.crop.cut(scene)
    line_boxes = [cut.crop.place(line.box) for line in cut.block]
    words = cut.block.words
    return Sample(
        {
            "image": encode(pixels, recipe.quality),
            "image_size": np.array(cut.crop.size, np.int32),
            "steps": step_map(line_boxes, cut.crop.size, max(recipe.counts)),
            "line_count": np.int32(len(line_boxes)),
            "line_box": np.array(line_boxes, np.int32),
            "line_text": _texts([line.text for line in cut.block], recipe.line_bytes),
            "word_count": np.int32(len(words)),
            "word_box": np.array([cut.crop.place(word.box) for word in words], np.int32),
            "word_text": _texts([word.text for word in words], recipe.word_bytes),
            "word_line": np.array([k for k, line in enumerate(cut.block) for _ in line], np.int32),
            "word_counted": np.array([recipe.rule.counts(word) for word in words], np.uint8),
            "counted_lines": np.int32(len(counted_lines(cut.block, recipe.rule))),
            "source_image": np.array(cut.image.encode(), f"S{recipe.name_bytes}"),
            "window": np.array(cut.crop.window, np.int32),
            "scale": np.array(cut.crop.scale, np.float32),
            "offset": np.array(cut.crop.offset, np.int32),
        },
        sequence="line_count",
    )


def encode(pixels: Array, quality: int) -> Array:
    """Encode RGB pixels as the bytes of a JPEG file."""
    ordered = cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR)
    _, data = cv2.imencode(".jpg", ordered, [cv2.IMWRITE_JPEG_QUALITY, quality])
    return np.asarray(data, np.uint8).reshape(-1)


def _texts(texts: list[str], room: int) -> Array:
    return np.array([text.encode() for text in texts], f"S{room}")

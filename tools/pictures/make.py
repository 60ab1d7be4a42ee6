"""Make the pictures of the README: a few samples of each dataset, and the loop at work.

.venv/bin/python tools/pictures/make.py         # all of them
.venv/bin/python tools/pictures/make.py loop    # some
"""

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

# Drawn with the faces of the pinned packages, whatever fonts are installed here.
os.environ["IVL_FONTS"] = "/nonexistent"

import cv2
import numpy as np
from loop import draw_loop
from PIL import Image, ImageDraw
from stand_ins import draw_airport, draw_streets, face

import dota_crops
import icdar_blocks
import shapes_gen
import textblocks_gen
from dota_crops import DotaRecipe
from ivl_shards import Dataset, Sample, open_dataset
from ivl_shards.format.outlines import Outlines, find_outlines
from ivl_shards.inspect.sheet import draw_outlines, step_colour
from shapes_gen import ColouredRecipe, ToyRecipe
from textblocks_gen import TextRecipe

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"
PAPER, FAINT = "#fafaf8", "#6a6a66"
GAP, CAPTION = 14, 44
QUALITY = 86


def text_blocks(folder: Path) -> Image.Image:
    textblocks_gen.generate(TextRecipe((3, 10), 8, seed=2), folder / "text.h5", workers=1)
    return strip(open_dataset(folder / "text.h5"), [3, 10], 1, "lines")


def text_sheet(style: str) -> Callable[[Path], Image.Image]:
    """Return what makes a sheet of blocks in a style."""

    def sheet(folder: Path) -> Image.Image:
        recipe = TextRecipe((1, 2, 3, 4), 24, seed=7, style=style, height=192, width=256)
        stream = textblocks_gen.stream(recipe)
        tiles = [np.asarray(stream[row].image) for row in range(24)]
        rows = [np.hstack(tiles[k : k + 6]) for k in range(0, 24, 6)]
        return Image.fromarray(np.vstack(rows))

    return sheet


def icdar(folder: Path) -> Image.Image:
    draw_streets(folder / "icdar")
    plan = icdar_blocks.plan_dataset(icdar_blocks.group_split(folder / "icdar", "test"))
    icdar_blocks.generate(plan, folder / "icdar.h5", workers=1)
    return strip(open_dataset(folder / "icdar.h5"), [3, 4, 6], 0.8, "lines")


def toy(folder: Path) -> Image.Image:
    shapes_gen.generate(ToyRecipe((3, 10, 20), 6), folder / "toy.h5", workers=1)
    return strip(open_dataset(folder / "toy.h5"), [3, 10, 20], 2, "lines")


def coloured(folder: Path) -> Image.Image:
    shapes_gen.generate(ColouredRecipe((3, 5, 10), 6), folder / "coloured.h5", workers=1)
    return strip(open_dataset(folder / "coloured.h5"), [3, 5, 10], 2, "objects")


def dota(folder: Path) -> Image.Image:
    for seed in range(1, 7):
        draw_airport(folder / "dota", "val", seed)
    recipe = DotaRecipe(counts=(3, 5, 10), total=12, split="val", size=256)
    dota_crops.generate(recipe, folder / "dota.h5", root=folder / "dota", workers=1)
    return strip(open_dataset(folder / "dota.h5"), [3, 5, 10], 1, "planes")


def strip(dataset: Dataset, counts: list[int], scale: float, noun: str) -> Image.Image:
    """Draw a sample of each count side by side, every step of its memory in its own colour."""
    outlines = [o for o in find_outlines(dataset.schema) if o.of_steps]
    tiles = [draw_sample(first(dataset, n), scale, outlines) for n in counts]
    width = sum(tile.width + GAP for tile in tiles) + GAP
    sheet = Image.new("RGB", (width, max(t.height for t in tiles) + CAPTION + GAP), PAPER)
    draw, x = ImageDraw.Draw(sheet), GAP
    for count, tile in zip(counts, tiles, strict=True):
        draw.text((x, 8), f"{count} {noun}", FAINT, face(24, bold=False))
        sheet.paste(tile, (x, CAPTION))
        x += tile.width + GAP
    return sheet


def draw_sample(sample: Sample, scale: float, outlines: list[Outlines]) -> Image.Image:
    """Draw lines in the colours of their steps, which tell the order; objects numbered as well.

    `ivl-shards preview` draws the same with more in it, for a larger screen than a README has.
    """
    pixels = sample.image if sample.image.ndim == 3 else np.repeat(sample.image[..., None], 3, 2)
    colours = [step_colour(t, sample.length) for t in range(sample.length)]
    counted = "centres" in sample
    for t, colour in enumerate(colours):
        here = (sample.memory(t + 1) - sample.memory(t))[..., None] * (0.75 if counted else 0.3)
        pixels = (pixels + here * (np.array(colour) - pixels)).round().astype(np.uint8)
    size = (round(pixels.shape[1] * scale), round(pixels.shape[0] * scale))
    filter_ = cv2.INTER_NEAREST if scale >= 1 else cv2.INTER_AREA
    large = cv2.resize(pixels, size, interpolation=filter_)
    if not counted:
        draw_outlines(large, sample, scale, outlines, colours)
        return Image.fromarray(large)
    tile = Image.fromarray(large)
    draw = ImageDraw.Draw(tile)
    for t, (x, y) in enumerate(sample["centres"] * scale):
        draw.text(
            (x, y),
            str(t + 1),
            "white",
            face(18 if scale > 1 else 15),
            "mm",
            stroke_width=2,
            stroke_fill="black",
        )
    return tile


def first(dataset: Dataset, count: int) -> Sample:
    return dataset[int(np.flatnonzero(dataset.lengths == count)[0])]


PICTURES: dict[str, Callable[[Path], Image.Image]] = {
    "text-blocks": text_blocks,
    "text-paper": text_sheet("paper"),
    "text-scene": text_sheet("scene"),
    "icdar-blocks": icdar,
    "toy-shapes": toy,
    "coloured-shapes": coloured,
    "dota-planes": dota,
    "loop": draw_loop,
}


def main() -> None:
    chosen = sys.argv[1:] or list(PICTURES)
    if unknown := set(chosen) - set(PICTURES):
        sys.exit(f"no picture {min(unknown)}: choose from {', '.join(PICTURES)}")
    for name in chosen:
        with tempfile.TemporaryDirectory() as folder:
            picture = PICTURES[name](Path(folder))
        picture.save(FOLDER / f"{name}.jpg", quality=QUALITY, subsampling=0, optimize=True)
        size = (FOLDER / f"{name}.jpg").stat().st_size
        print(f"{name}.jpg: {picture.width}×{picture.height}, {size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()

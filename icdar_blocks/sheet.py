"""Sheet: all blocks of two and more lines on a few large pictures, to be gone through by eye."""

from pathlib import Path

import cv2
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from ivl_shards import Dataset, Sample
from ivl_shards.generation.recipe import require

_TILE = 300, 400  # height and width that a block is fitted into
_CAPTION = 16
_GAP = 8
_COLUMNS, _ROWS = 5, 6
_LARGEST_SCALE = 3.0
_COLOURS = ("#e6194b", "#3cb44b", "#4363d8", "#f58231", "#911eb4", "#008080", "#9a6324")
_PAPER, _INK = "#fafaf8", "#1e1e1e"


def write_sheets(dataset: Dataset, out: Path, least_lines: int = 2) -> list[Path]:
    """Write the sheets: `out`, and where one is not enough `out` with -2, -3 … in its name."""
    rows = np.flatnonzero(dataset.lengths >= least_lines)
    require(len(rows) > 0, f"{dataset.path}: no block has {least_lines} lines or more")
    order = rows[np.argsort(dataset.lengths[rows], kind="stable")]
    pages = [order[k : k + _COLUMNS * _ROWS] for k in range(0, len(order), _COLUMNS * _ROWS)]
    paths = [out.with_stem(f"{out.stem}-{k + 1}") if k else out for k in range(len(pages))]
    for path, page in zip(paths, pages, strict=True):
        draw_sheet([(row, dataset[row]) for row in page.tolist()]).save(path)
    return paths


def draw_sheet(samples: list[tuple[int, Sample]]) -> Image.Image:
    """Draw a sheet of blocks, each with its row, its scene and what it says."""
    tiles = [draw_tile(row, sample) for row, sample in samples]
    rows = [tiles[k : k + _COLUMNS] for k in range(0, len(tiles), _COLUMNS)]
    height = sum(max(tile.height for tile in row) + _GAP for row in rows) + _GAP
    sheet = Image.new("RGB", (_COLUMNS * (_TILE[1] + _GAP) + _GAP, height), _PAPER)
    y = _GAP
    for row in rows:
        for k, tile in enumerate(row):
            sheet.paste(tile, (_GAP + k * (_TILE[1] + _GAP), y))
        y += max(tile.height for tile in row) + _GAP
    return sheet


def draw_tile(row: int, sample: Sample) -> Image.Image:
    """Draw a block with its lines boxed and numbered, and the text of each line below."""
    height, width = sample.image.shape[:2]
    scale = min(_TILE[0] / height, _TILE[1] / width, _LARGEST_SCALE)
    size = max(1, round(width * scale)), max(1, round(height * scale))
    picture = cv2.resize(sample.image, size, interpolation=cv2.INTER_AREA)
    texts = [line.decode() for line in sample["line_text"]]
    tile = Image.new("RGB", (_TILE[1], size[1] + _CAPTION * (len(texts) + 1) + 2), _PAPER)
    tile.paste(Image.fromarray(picture), (0, 0))
    draw, font = ImageDraw.Draw(tile), ImageFont.load_default(12)
    for k, box in enumerate(sample["line_box"].tolist()):
        colour = _COLOURS[k % len(_COLOURS)]
        corners = [value * scale for value in box]
        draw.rectangle(corners, outline=colour, width=2)
        draw.text(
            (corners[0] + 3, corners[1] + 1),
            str(k + 1),
            colour,
            font,
            stroke_width=2,
            stroke_fill="white",
        )
    captions = [f"{row}: {sample['source_image'].item().decode()}"]
    captions += [f"{k + 1} {text}" for k, text in enumerate(texts)]
    for k, caption in enumerate(captions):
        draw.text((0, size[1] + 2 + k * _CAPTION), caption, _INK, font)
    return tile

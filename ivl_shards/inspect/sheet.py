"""Sheet: a contact sheet with one row of samples per count, memory and outlines drawn on top."""

import colorsys
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from ivl_shards.disk import write_whole
from ivl_shards.format.memory import gaussians
from ivl_shards.format.outlines import Outlines, find_outlines
from ivl_shards.format.reader import Dataset
from ivl_shards.format.sample import Sample
from ivl_shards.format.schema import Array
from ivl_shards.inspect.statistics import count_noun, pick_samples

_GAP = 10
_MOST_NUMBERS = 300  # step numbers on a tile: more would cover it
_CAPTION = 22
_SIDE = 520  # longer side of the largest image in pixels; all have the same scale
_LARGEST_SCALE = 2
_STRENGTH = 0.45  # opacity of the memory
_SHIFT = 4  # OpenCV's fixed-point coordinates: sixteenths of a pixel
_STRENGTH_OUTLINED = 0.25  # the same if steps are outlined, so that text stays legible
_PART, _FAINT = (255, 255, 255), 0.5  # colour and opacity of the outlines of a step's parts
_PAPER, _TEXT, _MUTED = (250, 250, 248), (30, 30, 30), (120, 120, 120)

Colour = tuple[int, int, int]


def draw_sheet(dataset: Dataset, columns: int, most_rows: int = 24) -> Image.Image:
    """Draw the contact sheet: a row for each count, or for a selection if there are many."""
    picked = pick_samples(dataset, columns * min(most_rows, len(np.unique(dataset.lengths))))
    side = max(max(dataset[found[0]].image.shape[:2]) for found in picked.values())
    scale = min(_LARGEST_SCALE, _SIDE // side) or _SIDE / side  # an integer keeps pixels square
    # Objects to count get rings at their centres; outlines would hide small ones.
    outlines = find_outlines(dataset.schema) if dataset.schema.memory == "steps" else []
    rows = [
        (n, [_draw_fitting(dataset[i], scale, outlines) for i in found])
        for n, found in picked.items()
    ]
    width = max(sum(t.width + _GAP for t in tiles) for _, tiles in rows) + _GAP
    height = sum(max(t.height for t in tiles) + _CAPTION + _GAP for _, tiles in rows) + 2 * _CAPTION
    sheet = Image.new("RGB", (max(width, 480), height + _GAP), _PAPER)
    draw = ImageDraw.Draw(sheet)
    attributes = dataset.attributes
    title = (
        f"{attributes['task']} · {attributes['split']} · {len(dataset):,} samples · "
        f"seed {attributes['seed']}"
    )
    draw.text((_GAP, _GAP), title, _TEXT, ImageFont.load_default(15))
    y = 2 * _CAPTION
    for count, tiles in rows:
        draw.text((_GAP, y), count_noun(dataset, count), _MUTED, ImageFont.load_default(13))
        y += _CAPTION - 2
        x = _GAP
        for tile in tiles:
            sheet.paste(tile, (x, y))
            x += tile.width + _GAP
        y += max(t.height for t in tiles) + _GAP + 2
    return sheet


def write_sheet(dataset: Dataset, out: Path, columns: int = 8) -> None:
    """Write the contact sheet as an image file."""
    buffer = io.BytesIO()
    draw_sheet(dataset, columns).save(buffer, Image.registered_extensions()[out.suffix])
    write_whole(out, buffer.getvalue())


def _draw_fitting(sample: Sample, scale: float, outlines: Sequence[Outlines]) -> Image.Image:
    """Draw a tile at the scale of the others, or smaller if it would be much larger."""
    return draw_tile(sample, min(scale, 2 * _SIDE / max(sample.image.shape[:2])), outlines)


def draw_tile(sample: Sample, scale: float, outlines: Sequence[Outlines] = ()) -> Image.Image:
    """Draw a sample with each step in its own colour, numbered and outlined."""
    # Shrunk before drawing, so that the time depends on the tile and not on the image.
    shown = _shrunk(sample, min(1.0, scale))
    colours = [step_colour(t, sample.length) for t in range(sample.length)]
    tinted = _tint(shown, colours, _STRENGTH_OUTLINED if outlines else _STRENGTH)
    enlarged = max(1.0, scale)
    height, width = (max(1, round(n * enlarged)) for n in tinted.shape[:2])
    resized = cv2.resize(tinted, (width, height), interpolation=cv2.INTER_NEAREST)
    draw_outlines(resized, sample, scale, outlines, colours)
    tile = Image.fromarray(resized)
    draw = ImageDraw.Draw(tile)
    font = ImageFont.load_default(12)
    for t, (x, y) in enumerate(_places(shown, sample.length)[:_MOST_NUMBERS]):
        if shown.steps is None:
            _ring(draw, x * enlarged, y * enlarged, 2 * shown.sigma * enlarged, colours[t])
        draw.text(
            (x * enlarged, y * enlarged),
            str(t + 1),
            "white",
            font,
            "mm",
            stroke_width=2,
            stroke_fill="black",
        )
    return tile


@dataclass(frozen=True)
class _Shown:
    """Pixels and memory of a sample at the size of its tile."""

    pixels: Array
    """(H, W, 3) uint8."""
    steps: Array | None
    """Step map of text-like data, (H, W)."""
    centres: Array
    """Centres of objects to count, (K, 2)."""
    sigma: float = 0.0


def _shrunk(sample: Sample, scale: float) -> _Shown:
    pixels = sample.image if sample.image.ndim == 3 else np.repeat(sample.image[..., None], 3, 2)
    shape = tuple(max(1, round(n * scale)) for n in pixels.shape[1::-1])
    pixels = cv2.resize(pixels, shape, interpolation=cv2.INTER_AREA) if scale < 1 else pixels
    if "steps" in sample:
        steps = sample["steps"].astype(np.uint16)
        steps = cv2.resize(steps, shape, interpolation=cv2.INTER_NEAREST) if scale < 1 else steps
        return _Shown(pixels, steps, np.empty((0, 2)))
    return _Shown(pixels, None, sample["centres"] * scale, float(sample["sigma"]) * scale)


def draw_outlines(
    pixels: Array,
    sample: Sample,
    scale: float,
    outlines: Sequence[Outlines],
    colours: list[Colour],
) -> None:
    """Draw thin outlines around the steps in their colours, and fainter ones around their parts."""
    for o in reversed(outlines):
        if not o.of_steps and not o.parent:
            continue  # characters: too fine for a sheet
        # A pixel's centre is at a half for us, at a whole number for OpenCV.
        corners = np.rint((o.quads(sample) * scale - 0.5) * (1 << _SHIFT)).astype(np.int32)
        drawn = pixels.copy()
        for k, quad in enumerate(corners):
            colour = colours[k] if o.of_steps else _PART
            cv2.polylines(drawn, [quad], True, colour, 1, cv2.LINE_AA, _SHIFT)
        weight = 1.0 if o.of_steps else _FAINT
        cv2.addWeighted(drawn, weight, pixels, 1 - weight, 0, pixels)


def _ring(draw: ImageDraw.ImageDraw, x: float, y: float, radius: float, colour: Colour) -> None:
    """Draw a ring around a peak, visible on any background."""
    for r, shade in ((radius + 1, (0, 0, 0)), (radius, colour), (radius - 1, (0, 0, 0))):
        draw.ellipse((x - r, y - r, x + r, y + r), outline=shade)


def step_colour(t: int, length: int) -> Colour:
    """Return the colour of a step, from red for the first through the rainbow to violet."""
    r, g, b = colorsys.hsv_to_rgb(0.8 * t / max(1, length - 1), 0.9, 1.0)
    return round(255 * r), round(255 * g), round(255 * b)


def _tint(shown: _Shown, colours: list[Colour], strength: float) -> Array:
    """Return the pixels with the memory of each step drawn in its colour."""
    pixels = shown.pixels.astype(np.float32)
    if shown.steps is not None:
        palette = np.array([(0, 0, 0), *colours], np.float32)
        steps = np.where(shown.steps < len(palette), shown.steps, 0)
        weight: Array = (steps > 0).astype(np.float32)
        colour: Array = palette[steps]
    else:
        size = (shown.pixels.shape[0], shown.pixels.shape[1])
        across, down = gaussians(shown.centres, shown.sigma, size)  # (K, W), (K, H)
        total = (down.T @ across).astype(np.float32)
        # Where peaks overlap, colours are mixed in proportion to their heights.
        mixed = np.stack([down.T @ (across * c[:, None]) for c in _channels(colours)], 2)
        weight, colour = np.clip(total, 0, 1), mixed / np.maximum(total, 1e-6)[..., None]
    tinted = pixels + strength * weight[..., None] * (colour - pixels)
    return np.clip(tinted.round(), 0, 255).astype(np.uint8)


def _channels(colours: list[Colour]) -> Array:
    """Return the channels of K colours, (3, K)."""
    return np.array(colours, np.float64).reshape(-1, 3).T


def _places(shown: _Shown, length: int) -> list[tuple[float, float]]:
    """Return where to draw the number of each step: on an object, or at the start of a line."""
    if shown.steps is None:
        return [(float(x), float(y)) for x, y in shown.centres]
    ys, xs = np.nonzero(shown.steps)
    steps = shown.steps[ys, xs]
    order = np.argsort(steps, kind="stable")
    ends = np.searchsorted(steps[order], np.arange(length) + 1, "right")
    starts = np.searchsorted(steps[order], np.arange(length) + 1, "left")
    places = []
    for part in (order[start:end] for start, end in zip(starts, ends, strict=True)):
        if len(part) == 0:  # completely covered by earlier lines
            places.append((0.0, 0.0))
            continue
        left = xs[part].min()
        places.append((max(6.0, left - 2.0), float(ys[part][xs[part] <= left + 2].mean())))
    return places

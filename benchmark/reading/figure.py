"""Figure: the steps of a reading, one row each, as in the paper."""

from collections.abc import Sequence

import cv2
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from benchmark.reading.blocks import Reading
from benchmark.reading.multi_scale import ReadStep
from ivl_shards.format.schema import Array

# All sizes in pixels.
_PANEL_WIDTH = 224
_TEXT_WIDTH = 300
_MIN_ROW_HEIGHT = 60  # room for the text
_GAP = 8
_HEADING_HEIGHT = 24
_HEADINGS = ("image", "memory before", "what is found", "text", "memory after")
_BACKGROUND, _INK, _PALE_INK = "#fafaf8", "#1e1e1e", "#8a8a8a"


def draw_steps(reading: Reading) -> Image.Image:
    """Draw image, memory, Δm, text and the memory after, for each step."""
    canvas = reading.view(reading.canvas)
    height = max(1, round(_PANEL_WIDTH * canvas.shape[0] / canvas.shape[1]))
    lefts = [_GAP]
    for width in (_PANEL_WIDTH, _PANEL_WIDTH, _PANEL_WIDTH, _TEXT_WIDTH):
        lefts.append(lefts[-1] + width + _GAP)
    row = max(height, _MIN_ROW_HEIGHT)
    size = lefts[-1] + _PANEL_WIDTH + _GAP, _HEADING_HEIGHT + len(reading.steps) * (row + _GAP)
    sheet = Image.new("RGB", size, _BACKGROUND)
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(13)
    for left, heading in zip(lefts, _HEADINGS, strict=True):
        draw.text((left, 4), heading, _PALE_INK, font)
    for k, step in enumerate(reading.steps):
        top = _HEADING_HEIGHT + k * (row + _GAP)
        maps = {0: canvas, 1: step.memory, 2: step.delta, 4: step.after}
        for column, pixels in maps.items():
            cropped = pixels if column == 0 else reading.view(pixels)
            sheet.paste(_panel(cropped, (_PANEL_WIDTH, height)), (lefts[column], top))
        ink = _INK if step.is_line else _PALE_INK
        for number, line in enumerate(_wrap(_caption(step), draw, font)):
            draw.text((lefts[3], top + 4 + 18 * number), line, ink, font)
    return sheet


def stack(drawings: Sequence[tuple[str, Image.Image]]) -> Image.Image:
    """Stack drawings vertically, each under its heading; a single one has no heading."""
    if len(drawings) == 1:
        return drawings[0][1]
    width = max(drawing.width for _, drawing in drawings)
    height = sum(_HEADING_HEIGHT + drawing.height for _, drawing in drawings)
    sheet = Image.new("RGB", (width, height), _BACKGROUND)
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(15)
    top = 0
    for heading, drawing in drawings:
        draw.text((_GAP, top + 4), heading, _INK, font)
        sheet.paste(drawing, (0, top + _HEADING_HEIGHT))
        top += _HEADING_HEIGHT + drawing.height
    return sheet


def _caption(step: ReadStep) -> str:
    if step.stop:
        return "(nothing left)"
    return f"{step.text} ({step.confidence:.2f})" if step.is_line else "(no text)"


def _panel(pixels: Array, size: tuple[int, int]) -> Image.Image:
    """Resize pixels from 0 to 255, or a map from 0 to 1, to a width and height."""
    if pixels.dtype != np.uint8:
        pixels = (np.clip(pixels, 0, 1) * 255).astype(np.uint8)
    small = cv2.resize(pixels, size, interpolation=cv2.INTER_AREA)
    return Image.fromarray(small).convert("RGB")


def _wrap(
    text: str, draw: ImageDraw.ImageDraw, font: ImageFont.ImageFont | ImageFont.FreeTypeFont
) -> list[str]:
    """Wrap a text to the width of its column."""
    rows = [""]
    for word in text.split(" "):
        longer = f"{rows[-1]} {word}".lstrip()
        if rows[-1] and draw.textlength(longer, font) > _TEXT_WIDTH:
            rows.append(word)
        else:
            rows[-1] = longer
    return rows

"""Figure: the steps of a reading drawn as in the paper, a row each."""

from collections.abc import Sequence

import cv2
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from benchmark.reading.blocks import Reading
from benchmark.reading.pages import ReadStep
from ivl_shards.format.schema import Array

_WIDTH = 224  # of a panel, in pixels
_TEXT = 300  # of the column with the text
_LOWEST = 60  # height of a row: the text needs some
_GAP = 8
_HEAD = 24
_HEADS = ("image", "memory before", "what is found", "text", "memory after")
_PAPER, _INK, _FAINT = "#fafaf8", "#1e1e1e", "#8a8a8a"


def draw_steps(reading: Reading) -> Image.Image:
    """Image, memory, Δm, text and the memory after, for each step."""
    canvas = reading.view(reading.canvas)
    height = max(1, round(_WIDTH * canvas.shape[0] / canvas.shape[1]))
    lefts = [_GAP]
    for wide in (_WIDTH, _WIDTH, _WIDTH, _TEXT):
        lefts.append(lefts[-1] + wide + _GAP)
    row = max(height, _LOWEST)
    size = (lefts[-1] + _WIDTH + _GAP, _HEAD + len(reading.steps) * (row + _GAP))
    sheet = Image.new("RGB", size, _PAPER)
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(13)
    for left, head in zip(lefts, _HEADS, strict=True):
        draw.text((left, 4), head, _FAINT, font)
    for k, step in enumerate(reading.steps):
        top = _HEAD + k * (row + _GAP)
        maps = {0: canvas, 1: step.memory, 2: step.delta, 4: step.after}
        for column, pixels in maps.items():
            shown = pixels if column == 0 else reading.view(pixels)
            sheet.paste(_panel(shown, (_WIDTH, height)), (lefts[column], top))
        ink = _INK if step.is_line else _FAINT
        for number, line in enumerate(_wrap(_say(step), draw, font)):
            draw.text((lefts[3], top + 4 + 18 * number), line, ink, font)
    return sheet


def stack(drawn: Sequence[tuple[str, Image.Image]]) -> Image.Image:
    """Put drawings below each other, each under its heading; one alone needs none."""
    if len(drawn) == 1:
        return drawn[0][1]
    size = max(each.width for _, each in drawn), sum(_HEAD + each.height for _, each in drawn)
    sheet = Image.new("RGB", size, _PAPER)
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(15)
    top = 0
    for heading, each in drawn:
        draw.text((_GAP, top + 4), heading, _INK, font)
        sheet.paste(each, (0, top + _HEAD))
        top += _HEAD + each.height
    return sheet


def _say(step: ReadStep) -> str:
    if step.stop:
        return "(nothing left)"
    return f"{step.text} ({step.confidence:.2f})" if step.is_line else "(no text)"


def _panel(pixels: Array, size: tuple[int, int]) -> Image.Image:
    """Pixels 0 to 255, or a map 0 to 1, in a given width and height."""
    if pixels.dtype != np.uint8:
        pixels = (np.clip(pixels, 0, 1) * 255).astype(np.uint8)
    small = cv2.resize(pixels, size, interpolation=cv2.INTER_AREA)
    return Image.fromarray(small).convert("RGB")


def _wrap(
    text: str, draw: ImageDraw.ImageDraw, font: ImageFont.ImageFont | ImageFont.FreeTypeFont
) -> list[str]:
    """The text in rows that fit into their column."""
    rows = [""]
    for word in text.split(" "):
        longer = f"{rows[-1]} {word}".lstrip()
        if rows[-1] and draw.textlength(longer, font) > _TEXT:
            rows.append(word)
        else:
            rows[-1] = longer
    return rows

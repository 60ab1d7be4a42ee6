"""Preview: a contact sheet of faces."""

from collections.abc import Sequence
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from fonts.face import Face
from ivl_shards.errors import UserError

_TEXT = "Sphinx of black quartz"
_CELL = (300, 56)
_LABEL = 12
_MARGIN = 8
# Faces on a sheet: more would make an image that viewers refuse.
MOST = 2000


def make_sheet(faces: Sequence[Face], columns: int = 5) -> Image.Image:
    """Draw all faces in rows, each with its id below its text."""
    width, height = _CELL
    rows = -(-len(faces) // columns)
    sheet = Image.new("L", (width * columns, height * rows), 255)
    for number, face in enumerate(faces):
        row, column = divmod(number, columns)
        sheet.paste(_cell(face), (column * width, row * height))
    return sheet


def _cell(face: Face) -> Image.Image:
    cell = Image.new("L", _CELL, 255)
    draw = ImageDraw.Draw(cell)
    text = _TEXT.upper() if face.caps_only else _TEXT
    room = (_CELL[0] - 2 * _MARGIN, _CELL[1] - _LABEL - _MARGIN)
    font = _fitting(face, text, room)
    left, top, right, bottom = font.getbbox(text)
    middle = _MARGIN + (room[1] - (bottom - top)) / 2
    draw.text((_MARGIN - left, middle - top), text, font=font, fill=0)
    draw.text((_MARGIN, _CELL[1] - _LABEL - 2), face.id, fill=128, font=ImageFont.load_default(10))
    return cell


def _fitting(face: Face, text: str, room: tuple[int, int]) -> ImageFont.FreeTypeFont:
    """Return the face at the largest size at which the text fits."""
    size = 40
    while True:
        font = ImageFont.truetype(face.path, size, index=face.index)
        left, top, right, bottom = font.getbbox(text)
        if size <= 6 or (right - left <= room[0] and bottom - top <= room[1]):
            return font
        size -= 2


def write_sheet(faces: Sequence[Face], path: Path) -> int:
    """Write a sheet of evenly chosen faces, as many as a sheet holds; return their number."""
    step = -(-len(faces) // MOST)
    shown = faces[::step]
    try:
        make_sheet(shown).save(path)
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be written: {error}") from None
    return len(shown)

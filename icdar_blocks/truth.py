"""Truth: parse ground-truth files into words, in both official dialects.

The test split separates by commas, `38, 43, 920, 215, "Tiredness"`, the training split by
spaces, `158 128 411 181 "Footpath"`. A word may hold commas and quotes, and stands between
the first quote and the last.
"""

import re
from collections.abc import Iterator

from icdar_blocks.words import Word
from ivl_shards import UserError
from ivl_shards.generation.recipe import require

# A ground-truth file has some hundred bytes; this only keeps a wrong file from filling memory.
MOST_BYTES = 10_000_000
# Words of one picture; all pairs of them are compared. The largest scene of ICDAR 2013 has 60.
MOST_WORDS = 10_000
_FURTHEST = 1_000_000  # pixels; no picture is larger
_NUMBER = r"([+-]?[0-9]{1,12}(?:\.[0-9]{0,12})?)"
_GAP = r"(?:[ \t]*,[ \t]*|[ \t]+)"
_BOX = re.compile(rf"[ \t]*{_NUMBER}{_GAP}{_NUMBER}{_GAP}{_NUMBER}{_GAP}{_NUMBER}(?:{_GAP}|$)")
_QUAD = re.compile(rf"{_NUMBER}{_GAP}{_NUMBER}{_GAP}{_NUMBER}{_GAP}{_NUMBER}{_GAP}")


def parse_truth(data: bytes, name: str) -> list[Word]:
    """Parse an official ground-truth file into words; `name` is for error messages.

    >>> parse_truth(b'38, 43, 920, 215, "4,000"', "gt_img_1.txt")
    [Word(x0=38, y0=43, x1=920, y1=215, text='4,000')]
    """
    return [_word(line, where, official=True) for line, where in _lines(data, name)]


def parse_boxes(data: bytes, name: str) -> list[Word]:
    """Parse any list of boxes: as above, but the text may lack quotes, or be missing.

    >>> parse_boxes(b"38,43,920,215,Tiredness kills", "boxes.txt")[0].text
    'Tiredness kills'
    """
    return [_word(line, where, official=False) for line, where in _lines(data, name)]


def _lines(data: bytes, name: str) -> Iterator[tuple[str, str]]:
    """Yield the lines that hold anything, and where each stands."""
    require(len(data) <= MOST_BYTES, f"{name}, line 1: {len(data):,} bytes: not a list of words")
    found = 0
    data = data.removeprefix(b"\xef\xbb\xbf")  # the byte order mark that some editors put
    # Lines end in \n, \r\n or \r. `str.splitlines` would also break words at rarer characters.
    for number, raw in enumerate(re.split(rb"\r\n|\n|\r", data), 1):
        where = f"{name}, line {number}"
        try:
            line = raw.decode("utf-8")
        except UnicodeDecodeError:
            raise UserError(f"{where}: not UTF-8 text") from None
        if line.strip(" \t"):
            found += 1
            require(found <= MOST_WORDS, f"{where}: more than {MOST_WORDS:,} words of one picture")
            yield line, where


def _word(line: str, where: str, official: bool) -> Word:
    match = _BOX.match(line)
    if not match:
        raise UserError(f'{where}: {_short(line)} is not of the form x0, y0, x1, y1, "word"')
    x0, y0, x1, y1 = (_coordinate(text, where) for text in match.groups())
    require(x0 < x1 and y0 < y1, f"{where}: the box {_short(match[0].strip(' ,'))} is empty")
    text = _text(line[match.end() :].strip(" \t"), where, official)
    return Word(x0, y0, x1, y1, text)


def _text(rest: str, where: str, official: bool) -> str:
    if len(rest) >= 2 and rest[0] == rest[-1] == '"':
        text = rest[1:-1].replace("\t", " ").strip()
        require(bool(text) or not official, f"{where}: the word is empty")
    else:
        require(not official, f"{where}: the word {_short(rest)} is not in quotes")
        require(not _QUAD.match(rest), f"{where}: eight coordinates: only upright boxes are read")
        text = rest.replace("\t", " ")
    require(text.isprintable(), f"{where}: holds control characters")
    return text


def _coordinate(text: str, where: str) -> float:
    # Whole numbers stay whole: they are exact, and JSON shows them as they came.
    value = float(text) if "." in text else int(text)
    require(
        abs(value) <= _FURTHEST, f"{where}: {_short(text)} is further than {_FURTHEST:,} pixels"
    )
    return value


def _short(text: str) -> str:
    """Return a piece of a file for an error message, on one line whatever is in it."""
    return repr(text) if len(text) <= 40 else f"{text[:40]!r}…"

"""Labels: the text file beside an image, parsed tolerantly.

A line is `x1 y1 x2 y2 x3 y3 x4 y4 category difficult`, after optional headers `imagesource:` and
`gsd:`. A line that cannot be read is reported, and its place, as far as it is known, is kept as
doubtful: a crop must not contain what may or may not be an object.
"""

import math
import re
from dataclasses import dataclass, field

import numpy as np
import shapely

Box = tuple[float, float, float, float]

# DOTA v1.0 has the first fifteen, v1.5 one more, v2.0 all.
CATEGORIES = (
    "plane",
    "ship",
    "storage-tank",
    "baseball-diamond",
    "tennis-court",
    "basketball-court",
    "ground-track-field",
    "harbor",
    "bridge",
    "large-vehicle",
    "small-vehicle",
    "helicopter",
    "roundabout",
    "soccer-ball-field",
    "swimming-pool",
    "container-crane",
    "airport",
    "helipad",
)

# float() would also take nan, 1_000 and digits of other scripts.
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,3})?", re.ASCII)
_KEY = re.compile(r"[A-Za-z][A-Za-z _-]*")
# Characters of a number or of a header's key: the patterns take the square of the length.
_LONGEST = 64
# The largest of DOTA's label files has 1 MB.
MOST_BYTES = 20_000_000
_BOM = b"\xef\xbb\xbf"
# No image is this large; keeps areas exact in float64.
_FARTHEST = 1e6
_LEAST_AREA = 1.0  # square pixels
_LINE_SHOWN = 60


@dataclass(frozen=True)
class Labelled:
    """One object: its quad, class, difficulty, and the line it stands in."""

    line: int
    quad: tuple[float, ...]  # x1 y1 … x4 y4
    category: str
    difficult: int


@dataclass(frozen=True)
class Doubt:
    """The place of a possible object whose line cannot be read; `category` is "" if unknown."""

    box: Box
    category: str


@dataclass
class Labels:
    """The content of one file."""

    objects: list[Labelled] = field(default_factory=list)
    doubts: list[Doubt] = field(default_factory=list)
    complaints: list[tuple[int, str]] = field(default_factory=list)
    """Line (0: the file as a whole) and what is wrong with it."""
    gsd: float = math.nan
    """Ground sampling distance in metres a pixel."""

    def complain(self, line: int, text: str) -> None:
        """Note what is wrong."""
        self.complaints.append((line, text))


def parse_labels(data: bytes) -> Labels:
    r"""Read a label file; never raises, whatever the bytes.

    >>> labels = parse_labels(b"gsd:0.5\n1 1 9 1 9 9 1 9 plane 0\n1 1 9 1 9 9 1 plane 0\n")
    >>> len(labels.objects), labels.gsd, labels.complaints[0][0]
    (1, 0.5, 3)
    """
    labels = Labels()
    if not data.strip():
        labels.complain(0, "is empty")
        return labels
    if data.startswith(_BOM):
        labels.complain(1, "begins with a byte order mark (ignored)")
        data = data[len(_BOM) :]
    if b"\r" in data:
        line = data[: data.index(b"\r")].count(b"\n") + 1
        labels.complain(line, "has Windows line ends (accepted)")
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    read: list[Labelled] = []
    for number, raw in enumerate(data.split(b"\n"), 1):
        text = raw.decode("utf-8", "replace").replace("\0", "\ufffd")
        if text.strip():
            _read_line(labels, read, number, text)
    _keep_sound(labels, read)
    return labels


def _read_line(labels: Labels, read: list[Labelled], number: int, text: str) -> None:
    key, colon, value = text.partition(":")
    key = key.strip()
    if colon and len(key) <= _LONGEST and _KEY.fullmatch(key):
        _read_header(labels, number, key.lower(), value.strip())
        return
    words = text.split()
    category = next((word for word in words if word in CATEGORIES), "")
    # The run of numbers that the line begins with: its corners.
    numbers: list[float] = []
    for word in words[:8]:
        coordinate = _number(word)
        if not abs(coordinate) <= _FARTHEST:
            break
        numbers.append(coordinate)
    complaint = _complaint(words, len(numbers))
    if not complaint:
        difficult = int(words[9]) if len(words) == 10 else 0
        read.append(Labelled(number, tuple(numbers), words[8], difficult))
        return
    labels.complain(number, f"{complaint}: '{_shown(text)}'")
    box = _known_box(numbers)
    if box is not None:
        labels.doubts.append(Doubt(box, category))


def _read_header(labels: Labels, number: int, key: str, value: str) -> None:
    if key != "gsd" or value.lower() in ("null", "none", ""):
        return
    if 0 < _number(value) < 1000:
        labels.gsd = _number(value)
    else:
        labels.complain(number, f"gsd '{_shown(value)}' is not a number of metres (ignored)")


def _number(word: str) -> float:
    """Return what a word says; NaN, which no comparison lets pass, if that is not a number."""
    if len(word) <= _LONGEST and _NUMBER.fullmatch(word):
        return float(word)
    return math.nan


def _complaint(words: list[str], numbers: int) -> str:
    """Return what is wrong with a line that begins with so many numbers; "" if nothing is."""
    if numbers < 8:
        return f"8 coordinates are needed, {numbers} can be read"
    if len(words) < 9:
        return "the class is missing"
    if words[8] not in CATEGORIES:
        return f"unknown class '{_shown(words[8])}'"
    if len(words) > 10:
        return "more than 8 coordinates, class and difficulty"
    if len(words) == 10 and not re.fullmatch(r"[0-9]", words[9]):
        return f"difficulty '{_shown(words[9])}' is not a digit"
    return ""


def _known_box(numbers: list[float]) -> Box | None:
    """Return a box that holds the object if only its first corners are known."""
    xs, ys = numbers[0:8:2], numbers[1:8:2]
    if not ys:
        return None
    # With corners missing the object may reach beyond the others by as much as they span.
    reach = 0.0 if len(ys) == 4 else max(max(xs) - min(xs), max(ys) - min(ys), 1.0)
    return min(xs) - reach, min(ys) - reach, max(xs) + reach, max(ys) + reach


def _keep_sound(labels: Labels, read: list[Labelled]) -> None:
    """Keep the valid quads; report the others, and mark their places as doubtful."""
    if not read:
        return
    polygons = shapely.polygons(np.array([thing.quad for thing in read]).reshape(-1, 4, 2))
    simple = shapely.is_valid(polygons)
    # A quad that crosses itself may have an area of zero on balance; its hull tells.
    large = shapely.area(shapely.convex_hull(polygons)) >= _LEAST_AREA
    for thing, good, seen in zip(read, simple, large, strict=True):
        if good and seen:
            labels.objects.append(thing)
            continue
        fault = "crosses itself" if seen else "has no area"
        labels.complain(thing.line, f"{thing.category}: the quad {fault}")
        box = _known_box(list(thing.quad))
        assert box is not None
        labels.doubts.append(Doubt(box, thing.category))
    labels.complaints.sort()


def _shown(text: str) -> str:
    """Return a piece of a file that is safe to print on a terminal."""
    text = " ".join(text.split())
    text = "".join(c if c.isprintable() else "\ufffd" for c in text)
    return text if len(text) <= _LINE_SHOWN else text[:_LINE_SHOWN] + "…"

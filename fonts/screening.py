"""Screening: which fonts of a folder can be used, and why the others cannot."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from string import ascii_letters, ascii_lowercase, ascii_uppercase

import numpy as np

from fonts.face import Face
from fonts.glyphs import Glyphs
from fonts.letters import SIDE, Shapes, readable, shapes_of
from fonts.metrics import check_units, measure, open_font
from fonts.outlines import BROKEN, faces_in, read_font, read_names
from fonts.places import recall, remember
from ivl_shards.errors import UserError

SUFFIXES = frozenset({".ttf", ".otf", ".ttc", ".otc", ".woff", ".woff2"})
# Samples name their face in a field of so many bytes, with the number of a face of a collection.
LONGEST_NAME = 92
# Raise it when a rule changes: verdicts are kept in the cache.
_VERSION = 2
# Letters that differ in fewer pixels than this share are the same face under two names.
_ALIKE = 0.005
# The same face in two formats is hinted in two ways, and differs by up to so much.
_ALIKE_BY_NAME = 0.12
# Letters whose two cases differ in shape, and the share of pixels by which they differ at most
# where lower case is drawn as capitals. Ordinary faces have more than 0.2.
_UNLIKE_CAPITALS = "abdefghlnqrt"
_CAPS = 0.16


@dataclass(frozen=True)
class Verdict:
    """The result of screening one face of a folder."""

    id: str
    index: int
    reason: str
    """Why it cannot be used, in a few words; empty if it can."""
    sha256: str = ""
    name: str = ""
    """PostScript name."""
    family: str = ""
    style: str = "unknown"
    licence: str = "unknown"
    caps_only: bool = False
    characters: str = ""
    shapes: str = ""
    """Its letters as hexadecimal `Shapes`, to find duplicates."""


@dataclass(frozen=True)
class Screening:
    """The faces of a folder that can be used, and the verdicts on all of them."""

    folder: Path
    faces: tuple[Face, ...]
    verdicts: tuple[Verdict, ...]

    @property
    def rejected(self) -> tuple[Verdict, ...]:
        return tuple(verdict for verdict in self.verdicts if verdict.reason)


def screen(folder: Path | str, pattern: str = "**/*") -> Screening:
    """Look at every font in a folder and the folders below it, or at those of a pattern.

    A face is used if it draws all letters A–Z and a–z, none of them blank or as an empty box
    (or A–Z alone: then it is `caps_only`), if they look like letters, and if no face before it
    looks the same. Verdicts are cached by content, so a second look costs little.
    """
    root = Path(folder)
    if not root.is_dir():
        raise UserError(f"{folder}: is not a folder: give a folder of font files")
    found = (p for p in root.glob(pattern) if p.suffix.lower() in SUFFIXES and p.is_file())
    files = sorted((path.relative_to(root).as_posix(), path) for path in found)
    judged = [verdict for name, path in files for verdict in _judge_file(name, path)]
    verdicts = tuple(_without_duplicates(judged))
    paths = dict(files)
    faces = tuple(
        _face(verdict, paths[_file(verdict)]) for verdict in verdicts if not verdict.reason
    )
    return Screening(root, faces, verdicts)


def _face(verdict: Verdict, path: Path) -> Face:
    return Face(
        id=verdict.id,
        path=path,
        index=verdict.index,
        family=verdict.family,
        style=verdict.style,
        licence=verdict.licence,
        caps_only=verdict.caps_only,
        characters=frozenset(verdict.characters),
        sha256=verdict.sha256,
    )


def _file(verdict: Verdict) -> str:
    return verdict.id.removesuffix(f"#{verdict.index}")


def _judge_file(name: str, path: Path) -> list[Verdict]:
    """Return the verdicts on the faces of a file, from the cache if its content was seen before."""
    fault = _name_fault(name)
    if fault:
        return [Verdict(fault[0], 0, fault[1])]
    try:
        sha256 = hashlib.sha256(read_font(path)).hexdigest()
    except PermissionError as error:
        return [Verdict(name, 0, f"cannot be read: {error.strerror}")]
    except BROKEN as error:
        _blame_font(path, error)
        return [Verdict(name, 0, f"not a font file: {_words(error)}")]
    key = f"fonts/{_VERSION}-{sha256}.json"
    cached = _read_cached(key)
    if cached is None:
        cached = _judge(path, sha256)
        remember(key, json.dumps([asdict(verdict) for verdict in cached]).encode())
    # In a collection the number of the face is part of the name.
    return [
        replace(verdict, id=f"{name}#{verdict.index}" if len(cached) > 1 else name)
        for verdict in cached
    ]


def _name_fault(name: str) -> tuple[str, str] | None:
    """Return a name that can be printed, and why samples could not be labelled with the real one.

    None if they can.
    """
    shown = "".join(c if c.isprintable() else "\ufffd" for c in name)
    if shown != name:  # control characters, or bytes that are no text, as Linux allows
        return shown, "its name is not printable text"
    if len(name.encode()) > LONGEST_NAME:
        return name, f"its path has more than {LONGEST_NAME} bytes: move or rename it"
    return None


def _read_cached(key: str) -> list[Verdict] | None:
    stored = recall(key)
    try:
        return None if stored is None else [Verdict(**fields) for fields in json.loads(stored)]
    except (ValueError, TypeError):  # cut short, or of another version: judged afresh
        return None


def _judge(path: Path, sha256: str) -> list[Verdict]:
    try:
        count = faces_in(path)
    except BROKEN as error:
        _blame_font(path, error)
        return [Verdict("", 0, f"not a font file: {_words(error)}")]
    return [_judge_face(path, index, sha256) for index in range(count)]


def _judge_face(path: Path, index: int, sha256: str) -> Verdict:
    try:
        names = read_names(path, index)
        font = open_font(path, index)
        check_units(font)
        # Only these are drawn: FreeType would make pictures as large as outlines say.
        fit, absurd = measure(font, names.mapped)
        glyphs = Glyphs(path, index)
    except BROKEN as error:
        _blame_font(path, error)
        return Verdict("", index, f"does not open: {_words(error)}")
    drawn = glyphs.drawn(fit)
    shapes = shapes_of([glyphs.ink(c) if c in drawn else None for c in ascii_letters])
    caps_only = _is_caps_only(drawn, shapes)
    return Verdict(
        id="",
        index=index,
        reason=_reason(drawn, absurd, names.mapped, caps_only, shapes),
        sha256=sha256,
        name=names.name,
        family=names.family,
        style="mono" if names.fixed_width else "unknown",
        licence=names.licence,
        caps_only=caps_only,
        characters="".join(sorted(drawn)),
        shapes=shapes.tobytes().hex(),
    )


def _blame_font(path: Path, error: BaseException) -> None:
    """Raise if it is the machine that fails and not the font: verdicts are kept for good."""
    failed = isinstance(error, OSError) and error.errno is not None  # FreeType's have no number
    if failed or isinstance(error, MemoryError):
        why = "not enough memory" if isinstance(error, MemoryError) else _words(error)
        raise UserError(f"{path}: cannot be checked on this machine: {why}") from None


def _reason(
    drawn: frozenset[str],
    absurd: frozenset[str],
    mapped: Sequence[str],
    caps_only: bool,
    shapes: Shapes,
) -> str:
    missing = [
        c for c in ascii_uppercase + ("" if caps_only else ascii_lowercase) if c not in drawn
    ]
    wrong = [c for c in missing if c in absurd]
    boxes = [c for c in missing if c in mapped]
    if wrong:
        return f"has absurd outlines or widths for {_list(wrong)}"
    if boxes:
        return f"draws nothing, or a box, for {_list(boxes)}"
    if missing:
        return f"lacks {_list(missing)}"
    if not readable(shapes, caps_only):
        return "its letters do not look like letters"
    return ""


def _is_caps_only(drawn: frozenset[str], shapes: Shapes) -> bool:
    """Tell whether lower case is missing, or looks like upper case (as in small capitals)."""
    if drawn.isdisjoint(ascii_lowercase):
        return True
    lower, upper = (
        shapes[[ascii_letters.index(c) for c in letters]]
        for letters in (_UNLIKE_CAPITALS, _UNLIKE_CAPITALS.upper())
    )
    pixels = np.bitwise_count(lower ^ upper).sum(1, dtype=np.int64)
    return bool(np.median(pixels) <= _CAPS * SIDE * SIDE)


def _without_duplicates(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return the verdicts, with a reason on each face that looks like one before it."""
    kept: list[Verdict] = []
    matrix = np.zeros((len(verdicts), len(ascii_letters) * SIDE * SIDE // 64), np.uint64)
    judged = []
    for verdict in verdicts:
        if not verdict.reason:
            mine = np.frombuffer(bytes.fromhex(verdict.shapes), np.uint64)
            twin = _twin(verdict, mine, kept, matrix[: len(kept)])
            if twin is None:
                matrix[len(kept)] = mine
                kept.append(verdict)
            else:
                verdict = replace(verdict, reason=f"looks the same as {twin.id}")
        judged.append(verdict)
    return judged


def _twin(
    verdict: Verdict, mine: np.ndarray, kept: list[Verdict], matrix: np.ndarray
) -> Verdict | None:
    if not kept:
        return None
    share = np.bitwise_count(matrix ^ mine).sum(1, dtype=np.int64) / (mine.size * 64)
    for k in np.flatnonzero(share <= _ALIKE_BY_NAME).tolist():
        if share[k] <= _ALIKE or (verdict.name and kept[k].name == verdict.name):
            return kept[k]
    return None


def _words(error: BaseException) -> str:
    return " ".join(str(error).split())[:100] or type(error).__name__


def _list(characters: Sequence[str]) -> str:
    some = " ".join(characters[:8])
    return some if len(characters) <= 8 else f"{some} and {len(characters) - 8} more"

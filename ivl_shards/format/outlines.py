"""Outlines: the quads or boxes in a dataset, with what they outline and its text.

All of this follows from the names of the fields: `word_quad` and `word_box`, counted by
`word_count`, outline words; `word_text` is their text; `word_line` is the index of the line that a
word is on. Without `word_text`, the text of a line is split at its spaces. Where lines bend,
`line_polygon` follows them more closely than `line_quad`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ivl_shards.errors import Damage
from ivl_shards.format.schema import Array, Field, Schema
from ivl_shards.format.structure import FARTHEST

Fields = Mapping[str, Array]

_NAME = re.compile(r"(.*_)?(quads?|box(es)?)")
_SHAPES = ((4, 2), (4,))


class Mismatch(Damage):
    """Texts and outlines that do not match."""


@dataclass(frozen=True)
class Outlines:
    """One kind of outline, and the fields that describe it."""

    noun: str
    """What is outlined: `line`, `word`, `object` …"""
    field: str
    """Field with the quads or boxes."""
    of_steps: bool
    """Whether there is one outline per step."""
    text: str = ""
    """Field with the text of each."""
    parent: str = ""
    """Field with the index of the larger unit that each belongs to, for example the line."""
    parent_text: str = ""
    """Field with the texts of those units, separated by spaces; used if `text` is missing."""
    kind: str = ""
    """Field with the class of each."""
    polygon: str = ""
    """Field with polygons that follow each more closely than its quad."""
    labels: tuple[str, ...] = ()
    """All other fields with one value for each."""

    @property
    def has_texts(self) -> bool:
        """Whether the texts are known."""
        return bool(self.text or self.parent_text)

    def quads(self, fields: Fields) -> Array:
        """Return the corners, (K, 4, 2) float64; those of boxes clockwise from the upper left."""
        value = _corners(self.field, fields)
        return value if value.ndim == 3 else value[:, [0, 1, 2, 1, 2, 3, 0, 3]].reshape(-1, 4, 2)

    def polygons(self, fields: Fields) -> Array:
        """Return the closest outlines there are, (K, n, 2) float64: polygons, quads or boxes."""
        return _corners(self.polygon, fields) if self.polygon else self.quads(fields)

    def texts(self, fields: Fields) -> list[str]:
        """Return the text of each."""
        if self.text:
            return [text.decode("utf-8", "replace") for text in fields[self.text].tolist()]
        parents = [text.decode("utf-8", "replace") for text in fields[self.parent_text].tolist()]
        return split_texts(parents, fields[self.parent].tolist())


def _corners(name: str, fields: Fields) -> Array:
    value = fields[name].astype(np.float64)
    if not (np.abs(value) <= FARTHEST).all():
        raise Damage(f"{name} has a corner that is not a place near the image")
    return value


def find_outlines(schema: Schema) -> list[Outlines]:
    """Return all kinds of outlines: that of the steps first, then their parts, then others."""
    chosen: dict[str, Field] = {}
    for field in schema:
        if _is_outline(field):
            noun = _noun(field.counted_by)
            # A quad fits more tightly than a box.
            if noun not in chosen or field.shape[1:] == (4, 2):
                chosen[noun] = field
    found = [_outlines(schema, noun, field) for noun, field in chosen.items()]
    return sorted(found, key=lambda o: (not o.of_steps, not o.parent))


def step_noun(schema: Schema) -> str:
    """Return what a step adds: `line`, `object`."""
    return _noun(schema.sequence)


def step_text(schema: Schema) -> str:
    """Return the field with the text that each step adds; empty if there is none."""
    fields = [f.name for f in schema if _is_text(f) and f.counted_by == schema.sequence]
    wanted = f"{step_noun(schema)}_text"
    return wanted if wanted in fields else next(iter(fields), "")


def split_texts(texts: list[str], parents: list[int]) -> list[str]:
    """Split the texts of lines into the text of each word.

    >>> split_texts(["fine old", "words"], [0, 0, 1])
    ['fine', 'old', 'words']
    """
    # At spaces alone: a no-break space is part of a word.
    parts = [(k, part) for k, text in enumerate(texts) for part in text.split(" ") if part]
    if [k for k, _ in parts] != parents:
        raise Mismatch(f"{texts} has not the words that are outlined, on lines {parents}")
    return [part for _, part in parts]


def _is_outline(field: Field) -> bool:
    # Other units refer to another image, from which the sample was cut.
    in_image = field.unit == "pixels" and bool(field.counted_by)
    return in_image and field.shape[1:] in _SHAPES and bool(_NAME.fullmatch(field.name))


def _is_polygon(field: Field, noun: str) -> bool:
    named = field.name == f"{noun}_polygon" and field.unit == "pixels"
    return named and len(field.shape) == 3 and field.shape[1] >= 3 and field.shape[2] == 2


def _is_text(field: Field) -> bool:
    return field.dtype.startswith("S") and len(field.shape) == 1


def _noun(count: str) -> str:
    return count.removesuffix("_count")


def _outlines(schema: Schema, noun: str, field: Field) -> Outlines:
    beside = [f for f in schema if f.counted_by == field.counted_by and f.name != field.name]
    texts = {f.name for f in schema if _is_text(f)}
    text = f"{noun}_text" if f"{noun}_text" in texts else ""
    kind = next((f.name for f in beside if f.classes and len(f.shape) == 1), "")
    polygon = next((f.name for f in beside if _is_polygon(f, noun)), "")
    nouns = [_noun(f.counted_by) for f in schema if f.counted_by and f not in beside]
    parent = next((p for p in nouns if f"{noun}_{p}" in schema), "")
    parent_text = f"{parent}_text" if f"{parent}_text" in texts else ""
    return Outlines(
        noun,
        field.name,
        of_steps=field.counted_by == schema.sequence,
        text=text,
        parent=parent and f"{noun}_{parent}",
        parent_text="" if text else parent_text,
        kind=kind,
        polygon=polygon,
        labels=tuple(f.name for f in beside if f.name not in (text, kind, polygon)),
    )

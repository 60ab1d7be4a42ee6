"""Kinds: what a field holds, for formats that know pictures, texts and class names."""

from typing import Literal

import numpy as np

from ivl_shards.format.schema import DIGEST, MEMORY, Field

Kind = Literal["picture", "text", "class", "number"]

_PICTURES = ("image", "steps")


def kind_of(field: Field) -> Kind:
    """Return what a field holds. A digest is a text: its hexadecimal digits.

    >>> kind_of(Field("label", "u1", (5,), "", classes=("circle", "square")))
    'class'
    """
    if field.name in _PICTURES:
        return "picture"
    if field.name == DIGEST or np.dtype(field.dtype).kind == "S":
        return "text"
    return "class" if field.classes else "number"


def unpadded_shape(field: Field) -> tuple[int, ...]:
    """Return the shape of a value without padding, with -1 where the length varies.

    A picture and a digest are one value.

    >>> unpadded_shape(Field("line_quad", "f4", (20, 4, 2), "", counted_by="line_count"))
    (-1, 4, 2)
    """
    if kind_of(field) == "picture" or field.name == DIGEST:
        return ()
    if field.counted_by or field.name == MEMORY:
        return (-1, *field.shape[1:])
    if field.sized_by:
        return (-1, -1, *field.shape[2:])
    return field.shape

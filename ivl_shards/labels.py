"""Labels: values of fields as JSON has them."""

from typing import Any

import numpy as np

from ivl_shards.errors import Damage
from ivl_shards.schema import Array


def plain(value: Array, classes: tuple[str, ...] = ()) -> Any:
    """Numbers, texts, or names of classes; null for what is not a number.

    >>> plain(np.array([b"caf\\xc3\\xa9"])), plain(np.array([1, 0]), ("circle", "square"))
    (['café'], ['square', 'circle'])
    """
    if classes:
        check_classes("a label", value, classes)
        return np.array(classes)[value.astype(int)].tolist()
    if value.dtype.kind == "S":
        return np.strings.decode(value, "utf-8", "replace").tolist()
    if value.dtype.kind == "f" and not np.isfinite(value).all():
        numbers = value.astype(object)
        numbers[~np.isfinite(value)] = None  # JSON has no word for it
        return numbers.tolist()
    return value.tolist()


def check_classes(name: str, value: Array, classes: tuple[str, ...]) -> None:
    """Raise `Damage` unless every value is the number of a class."""
    if value.dtype.kind not in "iu" or ((value < 0) | (value >= len(classes))).any():
        raise Damage(f"{name} has a number that is none of its {len(classes)} classes")

"""Schema: the fields of a dataset, each with its shape, type, unit and meaning.

A generator declares it, a file stores it as attributes of each HDF5 dataset, and the reader takes
it from there: a file explains itself.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ivl_shards.errors import Damage

Array = npt.NDArray[Any]

DIGEST = "digest"
MEMORY = "memory"

PLAIN = "plain"  # contiguous and uncompressed: small values, one seek per row
DEFLATE = "deflate"  # one gzip chunk per sample: pixels and maps
ENCODED = "encoded"  # the bytes of an image file (JPEG): photographs


@dataclass(frozen=True)
class Field:
    """A named value that every sample has.

    `shape` is the padded shape of one sample. If the length varies, `counted_by` names the
    field with the actual length of the first axis; if height and width vary, `sized_by` names
    the field with the actual (height, width) of the first two axes.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    meaning: str
    unit: str = ""
    storage: str = PLAIN
    counted_by: str = ""
    sized_by: str = ""
    classes: tuple[str, ...] = ()

    def extent(self, lengths: Mapping[str, Any]) -> tuple[slice, ...]:
        """Return the part of a padded value that is not padding."""
        if self.counted_by:
            return (self._real(self.counted_by, int(lengths[self.counted_by]), 0, least=0),)
        if self.sized_by:
            sizes = (int(size) for size in lengths[self.sized_by])
            return tuple(
                self._real(self.sized_by, n, axis, least=1) for axis, n in enumerate(sizes)
            )
        return ()

    def _real(self, counter: str, length: int, axis: int, least: int) -> slice:
        if not least <= length <= self.shape[axis]:
            raise Damage(f"{counter} is {length}, but {self.name} has room for {self.shape[axis]}")
        return slice(0, length)

    def attributes(self) -> dict[str, str]:
        """Return the attributes of the HDF5 dataset."""
        named = {
            "meaning": self.meaning,
            "unit": self.unit,
            "counted_by": self.counted_by,
            "sized_by": self.sized_by,
            "classes": json.dumps(self.classes) if self.classes else "",
            "encoding": "jpeg" if self.storage == ENCODED else "",
        }
        return {key: value for key, value in named.items() if value}


@dataclass(frozen=True)
class Schema:
    """The fields of a dataset, and how its memory follows from them."""

    memory: str
    """`steps` (a step map) or `peaks` (gaussians at the centres)."""
    sequence: str
    """The field that holds T, the number of steps of a sample."""
    fields: tuple[Field, ...]
    _by_name: dict[str, Field] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_name", {f.name: f for f in self.fields})

    def __iter__(self) -> Iterator[Field]:
        return iter(self.fields)

    def __getitem__(self, name: str) -> Field:
        return self._by_name[name]

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def with_fields(self, *more: Field) -> "Schema":
        """Return a schema with more fields."""
        return Schema(self.memory, self.sequence, (*self.fields, *more))


DIGEST_FIELD = Field(DIGEST, "u1", (32,), "SHA-256 of the sample's other fields, see FORMAT.md")


def dense_memory_field(schema: Schema, longest: int, size: tuple[int, int]) -> Field:
    """Return the field for the explicit memory m_0 … m_T that `--dense-memory` stores.

    Peaks are float16: finer would show the last bits of `exp`, which differ between machines.
    """
    return Field(
        MEMORY,
        "u1" if schema.memory == "steps" else "f2",
        (longest + 1, *size),
        f"memory m_t for t = 0 … {schema.sequence}, then zeros",
        storage=DEFLATE,
    )


def stored_field(name: str, dataset: Any, inner_dtype: Any | None) -> Field:
    """Return the field that an HDF5 dataset holds.

    `inner_dtype` is the type of the elements if they are bytes of variable length.
    """
    attributes = dataset.attrs
    encoded = inner_dtype is not None
    return Field(
        name=name,
        dtype="u1" if encoded else dataset.dtype.str.lstrip("|<>="),
        shape=tuple(dataset.shape[1:]),
        meaning=clean_text(attributes.get("meaning", "")),
        unit=clean_text(attributes.get("unit", "")),
        storage=ENCODED if encoded else DEFLATE if dataset.chunks else PLAIN,
        counted_by=clean_text(attributes.get("counted_by", "")),
        sized_by=clean_text(attributes.get("sized_by", "")),
        classes=_stored_classes(name, attributes.get("classes", "[]")),
    )


def _stored_classes(name: str, text: Any) -> tuple[str, ...]:
    try:
        classes = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        classes = None
    if not isinstance(classes, list) or not all(isinstance(c, str) for c in classes):
        raise Damage(f"damaged: the classes of '{name}' are not a list of texts")
    return tuple(map(clean_text, classes))


def clean_text(value: Any) -> str:
    """Return a text from a file with everything replaced that is not valid UTF-8."""
    # HDF5 returns such bytes as lone surrogates, and JSON may contain others as escapes.
    data = value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")
    return data.decode("utf-8", "replace")


def pad(field_: Field, value: Array) -> Array:
    """Pad a sample's value with zeros to the shape that is stored."""
    if value.shape == field_.shape:
        return value
    padded = np.zeros(field_.shape, field_.dtype)
    padded[tuple(slice(0, n) for n in value.shape)] = value
    return padded


def plain(value: Array, classes: tuple[str, ...] = ()) -> Any:
    """Convert an array for JSON: to numbers, texts or class names, with None for NaN.

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
        numbers[~np.isfinite(value)] = None  # JSON has no NaN
        return numbers.tolist()
    return value.tolist()


def check_classes(name: str, value: Array, classes: tuple[str, ...]) -> None:
    """Raise `Damage` unless every value is a class index."""
    if value.dtype.kind not in "iu" or ((value < 0) | (value >= len(classes))).any():
        raise Damage(f"{name} has a number that is none of its {len(classes)} classes")

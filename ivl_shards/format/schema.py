"""Schema: the fields of a dataset, each with its shape, type, unit and meaning.

It is declared by a generator, written as attributes beside each HDF5 dataset, and read back
from there: a file explains itself.
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

PLAIN = "plain"  # contiguous and uncompressed: small values, one seek a row
DEFLATE = "deflate"  # one gzip chunk a sample: pixels and maps
ENCODED = "encoded"  # the bytes of an image file (JPEG): photographs


@dataclass(frozen=True)
class Field:
    """One value of every sample.

    `shape` is that of one sample, padded with zeros. Where the length varies, `counted_by`
    names the field that holds the real length of the first axis; where height and width
    vary, `sized_by` names the field that holds the real (height, width) of the first two.
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
        """Return the part of a padded value that is real."""
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
        """What stands beside the HDF5 dataset."""
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
    """The fields of a dataset, and how its memory is read from them."""

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
        """The same schema with fields added."""
        return Schema(self.memory, self.sequence, (*self.fields, *more))


DIGEST_FIELD = Field(DIGEST, "u1", (32,), "SHA-256 of the sample's other fields, see FORMAT.md")


def dense_memory_field(schema: Schema, longest: int, size: tuple[int, int]) -> Field:
    """The explicit memory m_0 … m_T that `--dense-memory` stores, for the longest sequence.

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
    """The field that an HDF5 dataset holds. `inner_dtype` is set for variable-length bytes."""
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
    """A text of a file that can be printed and written: bytes that are not UTF-8 are replaced."""
    # HDF5 hands such bytes on as lone surrogates, and JSON may spell out others.
    data = value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")
    return data.decode("utf-8", "replace")


def pad(field_: Field, value: Array) -> Array:
    """A sample's value in the fixed shape that is stored, zeros behind it."""
    if value.shape == field_.shape:
        return value
    padded = np.zeros(field_.shape, field_.dtype)
    padded[tuple(slice(0, n) for n in value.shape)] = value
    return padded


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

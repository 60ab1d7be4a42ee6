"""Structure: checks of a file before anything in it is used, and the limits of the format.

A seal shows that a file is complete, not that its author is trusted. So links, storage, types and
sizes are checked first: nothing outside the dataset is opened, nothing is allocated on the word of
a file, and a violation of the format (docs/FORMAT.md) is reported in one line.
"""

import json
import math
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import RawIOBase
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple

import h5py
import numpy as np
from zlib_ng import zlib_ng

from ivl_shards.errors import Damage, UserError, limit_reached
from ivl_shards.format.schema import (
    DIGEST,
    ENCODED,
    MEMORY,
    Field,
    Schema,
    clean_text,
    stored_field,
)
from ivl_shards.format.seal import read_seal
from ivl_shards.guard import bounded

MAX_SAMPLE_BYTES = 1 << 28
"""Most bytes of one sample, unpacked and padded: 256 MiB."""
MAX_PIXELS = 1 << 25
"""Most pixels of one image: 33 million, for example 5,792 × 5,792."""
MAX_STEPS = 4096
"""Most lines or objects of a sample."""
FARTHEST = 1e6
"""Largest coordinate in pixels: labels of a cropped image may lie outside it, but not anywhere."""

LEAST_BYTES = 32
"""Fewest bytes of a sample in a file: its digest does not compress."""
# Highest compression ratio of Deflate.
_DEFLATE_RATIO = 1032
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
# Filters built into HDF5; any other would be loaded from a plug-in library.
_FILTERS = {
    h5py.h5z.FILTER_DEFLATE,
    h5py.h5z.FILTER_SHUFFLE,
    h5py.h5z.FILTER_FLETCHER32,
    h5py.h5z.FILTER_SZIP,
    h5py.h5z.FILTER_NBIT,
    h5py.h5z.FILTER_SCALEOFFSET,
    h5py.h5z.FILTER_LZF,
}
_TEXTS = (
    "format",
    "format_version",
    "task",
    "generator",
    "generator_version",
    "recipe",
    "split",
    "licence",
    "memory",
    "sequence",
    "content_sha256",
)
_TEXTS_IF_ANY = (
    "title",
    "description",
    "command",
    "origins",
    "limits",
    "versions",
    "shards",
    "groups",
    "places",
)
_NUMBERS = ("samples", "seed")
_MEMORIES = ("steps", "peaks")

Attributes = dict[str, Any]


def open_checked(path: Path) -> tuple[Any, Attributes, Schema]:
    """Open a sealed file and check everything but the values of the samples.

    Returns the `h5py.File`, which the caller closes, its attributes and its fields.
    """
    read_seal(path)
    with damage_named(path), bounded():
        file = h5py.File(path, "r")
        try:
            with path.open("rb") as stream:
                return file, *check_file(stream, file)
        except BaseException:
            file.close()
            raise


def check_file(stream: IO[bytes] | RawIOBase, file: Any) -> tuple[Attributes, Schema]:
    """Check an open `h5py.File`, whose bytes are also open as a stream."""
    attributes = read_file_attributes(file)
    shards = stored_shards(attributes)
    datasets = _linked_datasets(file)
    sources = set(stored_groups(attributes)) or {name for name, _ in shards}
    for dataset in datasets.values():
        _check_storage(dataset, sources)
    fields = tuple(_field(name, dataset, attributes) for name, dataset in datasets.items())
    schema = Schema(attributes["memory"], attributes["sequence"], fields)
    check_schema(schema)
    if not shards:
        _check_sizes(stream, datasets, attributes)
    return attributes, schema


@contextmanager
def damage_named(path: Path | str) -> Iterator[None]:
    """Turn errors of HDF5 and of checks into errors that name the file."""
    try:
        yield
    except UserError as error:
        text = str(error)
        raise type(error)(text if text.startswith(str(path)) else f"{path}: {text}") from None
    except (
        OSError,
        RuntimeError,
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
        IndexError,
        OverflowError,
        MemoryError,
    ) as error:
        if isinstance(error, (OSError, MemoryError)) and (limit := limit_reached(error)):
            raise limit from None
        what = " ".join(str(error).split()) or type(error).__name__
        raise Damage(f"{path}: damaged ({what}): run ivl-shards verify for details") from None


# --- attributes --------------------------------------------------------------------------


def read_attributes(path: Path) -> Attributes:
    """Return the checked attributes of a finished file."""
    read_seal(path)
    with damage_named(path), h5py.File(path, "r") as file:
        return read_file_attributes(file)


def read_file_attributes(file: Any) -> Attributes:
    """Return the attributes of an open file as Python values; mandatory ones are checked."""
    found = {clean_text(name): _plain(value) for name, value in file.attrs.items()}
    for name in _TEXTS:
        _demand(isinstance(found.get(name), str), f"attribute '{name}' is missing or not a text")
    for name in _NUMBERS:
        _demand(_is_int(found.get(name)), f"attribute '{name}' is missing or not a whole number")
    for name in _TEXTS_IF_ANY:
        _demand(isinstance(found.get(name, ""), str), f"attribute '{name}' is not a text")
    _demand(_is_int(found.get("first_sample", 0)), "attribute 'first_sample' is not a whole number")
    _demand(found["samples"] >= 1, f"attribute 'samples' is {found['samples']}")
    memories = " or ".join(_MEMORIES)
    _demand(found["memory"] in _MEMORIES, f"attribute 'memory' is not {memories}")
    _check_recipe(stored_json(found, "recipe", "{}"))
    return found


def stored_json(attributes: Mapping[str, Any], name: str, default: str) -> Any:
    """Parse an attribute that holds JSON, or `default` if it is missing."""
    text = attributes.get(name, default)
    try:
        value = json.loads(text)
        if "\\u" in text:  # escapes can encode lone surrogates, which cannot be written as UTF-8
            json.dumps(value, ensure_ascii=False).encode()
        return value
    except (ValueError, RecursionError):
        raise Damage(f"damaged: attribute '{name}' is not JSON") from None


class ShardEntry(NamedTuple):
    """One shard in the list of an index."""

    file: str
    """Path relative to the index."""
    samples: int
    length: int = 0
    """Bytes of the file; 0 if the index does not have its places."""
    sha256: str = ""
    """Checksum in its seal."""


def stored_entries(attributes: Mapping[str, Any]) -> list[ShardEntry]:
    """Return the shards that an index lists; [] for a file that is no index.

    A shard must lie in the folder of the index or below it; otherwise a dataset could read other
    files of the user.
    """
    if "shards" not in attributes:
        return []
    rows = stored_json(attributes, "shards", "[]")
    _demand(isinstance(rows, list) and bool(rows), "attribute 'shards' lists no shard")
    entries = [_stored_entry(row) for row in rows]
    total = sum(entry.samples for entry in entries)
    _demand(total == attributes["samples"], "shards and attribute 'samples' do not agree")
    return entries


def _stored_entry(row: Any) -> ShardEntry:
    known = isinstance(row, dict) and isinstance(row.get("file"), str)
    _demand(known and _is_int(row.get("samples")), "attribute 'shards' cannot be read")
    _demand(row["samples"] >= 1, f"attribute 'shards': {row['samples']} samples in a shard")
    _demand_inside(row["file"])
    length, sha256 = row.get("bytes", 0), row.get("sha256", "")
    _demand(_is_int(length) and isinstance(sha256, str), "attribute 'shards' cannot be read")
    return ShardEntry(row["file"], row["samples"], length, sha256)


def stored_shards(attributes: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Return names and numbers of samples of the shards that an index lists."""
    return [(entry.file, entry.samples) for entry in stored_entries(attributes)]


def stored_groups(attributes: Mapping[str, Any]) -> list[str]:
    """Return the group files of an index with many shards, relative to it."""
    names = stored_json(attributes, "groups", "[]")
    known = isinstance(names, list) and all(isinstance(name, str) for name in names)
    _demand(known, "attribute 'groups' is not a list of files")
    for name in names:
        _demand_inside(name)
    return list(names)


def _demand_inside(name: str) -> None:
    _demand(
        is_inside(name),
        f"shard '{name}' lies outside the dataset's folder, which is not allowed",
    )


def is_inside(name: str) -> bool:
    """Return whether a relative path stays in its folder, on any operating system.

    >>> [is_inside(n) for n in ("a.h5.shards/a-0.h5", "../b.h5", "/etc/passwd", "c:\\\\x", "")]
    [True, False, False, False, False]
    """
    if not name or any(c in name for c in "\\:\0") or not name.isprintable():
        return False
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts and path.name != ""


def _check_recipe(recipe: Any) -> None:
    _demand(isinstance(recipe, dict), "attribute 'recipe' is not a JSON object")
    _demand(_is_int(recipe.get("total")), "attribute 'recipe' has no whole number 'total'")


def _plain(value: Any) -> Any:
    """Convert an attribute to a plain Python value."""
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, (str, bytes)):
        return clean_text(value)
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value if isinstance(value, (bool, int, float)) else str(value)


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _demand(condition: bool, complaint: str) -> None:
    if not condition:
        raise Damage(f"damaged: {complaint}")


# --- links and storage -------------------------------------------------------------------


def _linked_datasets(file: Any) -> dict[str, Any]:
    """Return the HDF5 datasets of a file. Links to other files are refused without opening them."""
    found = {}
    for name in file:
        _demand(bool(_NAME.fullmatch(name)), f"field {name!r} has no plain name")
        link = file.get(name, getlink=True)
        _demand(
            isinstance(link, h5py.HardLink),
            f"'{name}' is a link to another place, which is not allowed",
        )
        found[name] = file[name]
        _demand(isinstance(found[name], h5py.Dataset), f"'{name}' is not an HDF5 dataset")
    return found


def _check_storage(dataset: Any, shards: set[str]) -> None:
    """Raise if reading the dataset would open other files than its shards.

    Call it before accessing the shape: HDF5 may open the sources of a virtual dataset for that.
    """
    name = dataset.name.strip("/")
    created = dataset.id.get_create_plist()
    if created.get_layout() == h5py.h5d.VIRTUAL:
        _demand(bool(shards), f"'{name}' is a virtual dataset, but the file lists no shards")
        for k in range(created.get_virtual_count()):
            source = created.get_virtual_filename(k)
            _demand(
                source in shards,
                f"'{name}' reads from {source!r}, which is not one of the dataset's shards",
            )
    else:
        _demand(not shards, f"'{name}' of an index is not a virtual dataset")
        _demand(
            created.get_external_count() == 0,
            f"'{name}' is stored in other files, which is not allowed",
        )
    filters = [created.get_filter(k)[0] for k in range(created.get_nfilters())]
    _demand(set(filters) <= _FILTERS, f"'{name}' is packed with a filter that is not allowed")
    _demand(len(filters) == len(set(filters)), f"'{name}' is packed more than once")


# --- fields ------------------------------------------------------------------------------


def _field(name: str, dataset: Any, attributes: Attributes) -> Field:
    encoded = h5py.check_vlen_dtype(dataset.dtype)
    plain = dataset.dtype.kind in "uifS" and dataset.dtype.subdtype is None
    _demand(
        encoded == np.uint8 if encoded is not None else plain, f"'{name}' has an unsupported type"
    )
    _demand(
        bool(dataset.shape) and dataset.shape[0] == attributes["samples"],
        f"'{name}' does not have the {attributes['samples']:,} rows of attribute 'samples'",
    )
    field = stored_field(name, dataset, encoded)
    _demand(
        not (encoded is not None and field.shape), f"'{name}' has more than one image per sample"
    )
    return field


def check_schema(schema: Schema) -> None:
    """Raise `Damage` unless the fields fit together and one sample fits into memory."""
    for field in schema:
        if field.counted_by:
            _demand(bool(field.shape), f"'{field.name}' is counted, but has no room")
            _demand_counter(schema, field.counted_by, ())
        if field.sized_by:
            _demand(len(field.shape) >= 2, f"'{field.name}' has no height and width")
            _demand_counter(schema, field.sized_by, (2,))
    _demand_counter(schema, schema.sequence, ())
    _demand_kind(schema, DIGEST, "u", (32,))
    _check_image(schema)
    if schema.memory == "steps":
        _demand("steps" in schema, "field 'steps' is missing")
        _demand(_is_map(schema["steps"], "u", 2), "'steps' is not a map of whole numbers")
    else:
        _demand("centres" in schema, "field 'centres' is missing")
        _demand(_is_map(schema["centres"], "f", 2), "'centres' is not a list of points")
        _demand(schema["centres"].shape[1] == 2, "'centres' is not a list of points")
        _demand_kind(schema, "sigma", "f", ())
    if MEMORY in schema:
        _demand(len(schema[MEMORY].shape) == 3, "'memory' does not have one map per step")
    size = sum(
        math.prod(f.shape) * np.dtype(f.dtype).itemsize for f in schema if f.storage != ENCODED
    )
    _demand(
        size <= MAX_SAMPLE_BYTES,
        f"a sample takes {size:,} bytes, more than the {MAX_SAMPLE_BYTES:,} that are allowed",
    )


def check_values(schema: Schema, fields: Mapping[str, Any]) -> None:
    """Raise `Damage` unless the unpadded, decoded values of a sample describe one image."""
    size = fields["image"].shape[:2]
    if "image_size" in fields:
        stated = tuple(fields["image_size"].tolist())
        if stated != size:
            raise Damage(f"image_size is {stated}, but the image has {size}")
    length = int(fields[schema.sequence])
    if not 0 <= length <= MAX_STEPS:
        raise Damage(f"{schema.sequence} is {length}, which is not between 0 and {MAX_STEPS:,}")
    if schema.memory == "steps":
        if fields["steps"].shape != size:
            raise Damage("step map and image differ in size")
    else:
        _check_peaks(fields, length)
    if MEMORY in fields and any(
        room < needed
        for room, needed in zip(fields[MEMORY].shape, (length + 1, *size), strict=True)
    ):
        raise Damage("the dense memory has no room for all steps")


def _check_peaks(fields: Mapping[str, Any], length: int) -> None:
    if len(fields["centres"]) != length:
        raise Damage(f"{len(fields['centres'])} centres for {length} objects")
    if not (np.abs(fields["centres"]) <= FARTHEST).all():
        raise Damage("a centre is not a place near the image")
    if not 0 < float(fields["sigma"]) < np.inf:
        raise Damage("sigma is not a positive number")


def _check_image(schema: Schema) -> None:
    _demand("image" in schema, "field 'image' is missing")
    image = schema["image"]
    if image.storage == ENCODED:
        _demand_kind(schema, "image_size", "iu", (2,))
        return
    shape = image.shape
    grey_or_rgb = len(shape) == 2 or (len(shape) == 3 and shape[2] == 3)
    _demand(image.dtype == "u1" and grey_or_rgb and min(shape) >= 1, "'image' holds no images")
    _demand(math.prod(shape[:2]) <= MAX_PIXELS, f"images of {shape[0]:,} × {shape[1]:,} pixels")


def _is_map(field: Field, kind: str, dimensions: int) -> bool:
    return (
        field.storage != ENCODED
        and np.dtype(field.dtype).kind == kind
        and len(field.shape) == dimensions
    )


def _demand_counter(schema: Schema, name: str, shape: tuple[int, ...]) -> None:
    _demand_kind(schema, name, "iu", shape)


def _demand_kind(schema: Schema, name: str, kinds: str, shape: tuple[int, ...]) -> None:
    _demand(name in schema, f"field '{name}' is missing")
    field = schema[name]
    right = field.storage != ENCODED and np.dtype(field.dtype).kind in kinds
    _demand(right and field.shape == shape, f"'{name}' has the wrong type or shape")


def _check_sizes(
    stream: IO[bytes] | RawIOBase, datasets: dict[str, Any], attributes: Attributes
) -> None:
    """Raise if the file is too small for the samples and arrays that it declares."""
    length = stream.seek(0, os.SEEK_END)
    _demand(
        attributes["samples"] * LEAST_BYTES <= length,
        f"{attributes['samples']:,} samples do not fit into {length:,} bytes",
    )
    for name, dataset in datasets.items():
        if dataset.chunks is None:
            place = dataset.id.get_offset()
            end = (place or 0) + dataset.size * dataset.dtype.itemsize
            _demand(place is None or end <= length, f"'{name}' reaches beyond the end of the file")
        else:
            _check_chunks(stream, name, dataset)


def _check_chunks(stream: IO[bytes] | RawIOBase, name: str, dataset: Any) -> None:
    """Raise if a chunk would unpack to more than a sample may take: HDF5 has no limit itself."""
    unpacked = math.prod(dataset.chunks) * dataset.dtype.itemsize
    _demand(unpacked <= MAX_SAMPLE_BYTES, f"chunks of '{name}' take {unpacked:,} bytes")
    if dataset.compression != "gzip" or is_one_sample_a_chunk(dataset):
        return  # our own reader unpacks one sample per chunk, with a limit
    suspects: list[tuple[int, int]] = []

    def note(chunk: Any) -> None:
        if chunk.size * _DEFLATE_RATIO > MAX_SAMPLE_BYTES:
            suspects.append((chunk.byte_offset, chunk.size))

    dataset.id.chunk_iter(note)
    for offset, size in suspects:
        stream.seek(offset)
        fits = inflate(stream.read(size), unpacked) is not None
        _demand(fits, f"a chunk of '{name}' unpacks to more than its {unpacked:,} bytes")


def is_one_sample_a_chunk(dataset: Any) -> bool:
    """Return whether a gzip-compressed dataset has one chunk per sample, as we write it."""
    plain = dataset.compression == "gzip" and not dataset.shuffle and not dataset.fletcher32
    return bool(plain and dataset.chunks == (1, *dataset.shape[1:]))


_UnpackError: Any = zlib_ng.error


def inflate(data: Any, most: int) -> bytes | None:
    """Unpack bytes; return None if they are damaged or unpack to more than `most`."""
    unpacking = zlib_ng.decompressobj()
    try:
        # One byte more than allowed, otherwise the end of the stream is not detected.
        unpacked: bytes = unpacking.decompress(data, most + 1)
    except _UnpackError:
        return None
    return unpacked if unpacking.eof and len(unpacked) <= most else None

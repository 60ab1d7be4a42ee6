"""Index: many shards under one path.

An index has a virtual dataset for each field, so that plain HDF5 reads all shards as one file. It
also lists the length and the checksum of each shard, and stores the places of all values in tables
(the HDF5 group `places`), so that our reader finds a row without opening its shard as HDF5.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import h5py
import numpy as np

from ivl_shards.errors import Damage
from ivl_shards.format.file_bytes import MappedFile
from ivl_shards.format.places import Place, file_places
from ivl_shards.format.schema import DEFLATE, DIGEST, ENCODED, Field, Schema
from ivl_shards.format.seal import read_seal, sealed_file
from ivl_shards.format.structure import PLACES, ShardEntry, open_checked
from ivl_shards.format.writer import write_attributes

# HDF5 needs about 4 kB of memory for each source of a virtual dataset. With more shards than this,
# the index refers to group files, each of which refers to as many shards.
GROUP = 1000


@dataclass(frozen=True)
class ShardSummary:
    """What an index stores about a shard."""

    length: int
    """Bytes of the file."""
    sha256: str
    """Checksum in its seal."""
    digests: bytes
    """Digests of its samples."""
    places: Mapping[str, Place]
    """Places of its values; empty if some can only be found by HDF5."""


def summarise_shard(path: Path, schema: Schema) -> ShardSummary:
    """Return what an index stores about a finished shard."""
    seal = read_seal(path)
    mapped = MappedFile(path)
    with h5py.File(path, "r") as hdf5:
        digests = hdf5[DIGEST][:].tobytes()
        places = file_places(hdf5, schema, mapped)
    complete = len(places) == len(schema.fields)
    return ShardSummary(seal.length, seal.sha256, digests, places if complete else {})


def write_index(
    path: Path,
    work: Path,
    schema: Schema,
    attributes: Mapping[str, Any],
    shards: Sequence[tuple[str, int]],
    summarise: Callable[[str], ShardSummary] | None = None,
) -> None:
    """Write the index over shards, each with its number of samples.

    Their names are relative to the index, so that both can be moved together. Until it is
    complete, the index is in the folder `work`. `summarise` returns what to store about a shard; by
    default the shard is read from the folder of the index. Memory does not grow with the number of
    shards, but for the list of their names.
    """
    read = summarise or (lambda name: summarise_shard(path.parent / name, schema))
    groups = _write_groups(path, work, schema, attributes, shards)
    # Virtual datasets need HDF5 1.10, and so do attributes of more than 64 kB.
    with sealed_file(path, work, libver=("v110", "v110")) as (file, disk):
        write_attributes(file, schema, attributes, sum(samples for _, samples in shards))
        _write_virtual(file, schema, groups or shards)
        content, entries = hashlib.sha256(), []
        tables = _create_tables(file, schema, shards)
        first = 0
        for k, (name, samples) in enumerate(shards):
            summary = read(name)
            content.update(summary.digests)
            entries.append(_entry(name, samples, summary))
            for field, place in summary.places.items():
                if isinstance(place, int):
                    tables[field][k] = place
                else:
                    tables[field][first : first + samples] = place
            first += samples
            disk.check()
        file.attrs["content_sha256"] = content.hexdigest()
        file.attrs["shards"] = f"[{', '.join(entries)}]"
        if groups:
            file.attrs["groups"] = json.dumps([name for name, _ in groups])


def _entry(name: str, samples: int, summary: ShardSummary) -> str:
    """Return the entry of a shard in the list, as JSON."""
    entry: dict[str, Any] = {"file": name, "samples": samples}
    if summary.places:
        entry |= {"bytes": summary.length, "sha256": summary.sha256}
    return json.dumps(entry)


def _create_tables(file: Any, schema: Schema, shards: Sequence[tuple[str, int]]) -> dict[str, Any]:
    """Create the tables of places: an offset for each shard, or a range for each sample."""
    group = file.create_group(PLACES)
    group.attrs["meaning"] = (
        "Where values lie in the shards, in bytes. (shards,): the offset of the first value of a "
        "field that is stored without gaps. (samples, 2): offset and size of each value."
    )
    samples = sum(n for _, n in shards)
    return {
        field.name: group.create_dataset(
            field.name, (samples, 2) if is_placed_one_by_one(field) else (len(shards),), "<u8"
        )
        for field in schema
    }


def is_placed_one_by_one(field: Field) -> bool:
    """Return whether each value of a field has its own place."""
    return field.storage in (DEFLATE, ENCODED)


def _write_groups(
    path: Path,
    work: Path,
    schema: Schema,
    attributes: Mapping[str, Any],
    shards: Sequence[tuple[str, int]],
) -> list[tuple[str, int]]:
    """Write group files if there are many shards; return their names and numbers of samples."""
    if len(shards) <= GROUP:
        return []
    parts = [shards[k : k + GROUP] for k in range(0, len(shards), GROUP)]
    folder = PurePosixPath(shards[0][0]).parent
    stem = re.sub(r"-\d+-of-\d+\.h5$", "", PurePosixPath(shards[0][0]).name)
    groups = []
    for k, part in enumerate(parts):
        name = f"{folder}/{stem}-{k:05d}-of-{len(parts):05d}.group"
        inside = [(str(PurePosixPath(n).relative_to(folder)), samples) for n, samples in part]
        samples = sum(n for _, n in part)
        with sealed_file(path.parent / name, work, libver=("v110", "v110")) as (file, disk):
            write_attributes(file, schema, attributes, samples)
            _write_virtual(file, schema, inside)
            file.attrs["content_sha256"] = ""
            file.attrs["shards"] = json.dumps([{"file": n, "samples": m} for n, m in inside])
            disk.check()
        groups.append((name, samples))
    return groups


def _write_virtual(file: Any, schema: Schema, sources: Sequence[tuple[str, int]]) -> None:
    """Write a virtual dataset for each field over the same field of all sources."""
    total = sum(samples for _, samples in sources)
    for field in schema:
        encoded = field.storage == ENCODED
        dtype = h5py.vlen_dtype("u1") if encoded else field.dtype
        shape = () if encoded else field.shape
        layout = h5py.VirtualLayout((total, *shape), dtype)
        layout.dcpl.set_obj_track_times(False)  # the same shards give the same bytes
        start = 0
        for name, samples in sources:
            source = h5py.VirtualSource(name, field.name, (samples, *shape), dtype)
            layout[start : start + samples] = source
            start += samples
        dataset = file.create_virtual_dataset(field.name, layout)
        dataset.attrs.update(field.attributes())


def group_problems(
    path: Path, groups: Sequence[str], entries: Sequence[ShardEntry]
) -> Iterator[str]:
    """Yield what is wrong with the group files of an index."""
    listed = iter(entries)
    for name in groups:
        try:
            file, attributes, _ = open_checked(path.parent / name)
            file.close()
            folder = PurePosixPath(name).parent
            for entry in json.loads(attributes["shards"]):
                shard = next(listed, None)
                inside = str(folder / entry["file"])
                if shard is None or (shard.file, shard.samples) != (inside, entry["samples"]):
                    yield f"{path.parent / name}: lists other shards than {path}"
                    return
        except Damage as damage:
            yield str(damage)
            return
    if groups and next(listed, None) is not None:
        yield f"{path}: its groups do not list all its shards"


def table_offsets(hdf5: Any, schema: Schema, shards: int) -> dict[str, tuple[int, bool]]:
    """Return where the tables of places begin in an open index, and whether they have a place for
    each sample; {} if it has none, like those of format 1.1."""
    if not shards or PLACES not in hdf5:
        return {}
    return {field.name: _table_offset(hdf5[PLACES], field, shards) for field in schema}


def _table_offset(group: Any, field: Field, shards: int) -> tuple[int, bool]:
    table = group.get(field.name)
    samples = int(group.file.attrs["samples"])
    shapes = {(samples, 2): True, (shards,): False}
    sound = (
        isinstance(group.get(field.name, getlink=True), h5py.HardLink)
        and isinstance(table, h5py.Dataset)
        and table.dtype == np.dtype("<u8")
        and table.shape in shapes
        and table.id.get_create_plist().get_layout() == h5py.h5d.CONTIGUOUS
        and table.id.get_create_plist().get_external_count() == 0
        and table.id.get_offset() is not None
    )
    if not sound or (field.storage == ENCODED and not shapes[table.shape]):
        raise Damage(f"damaged: the places of '{field.name}' are not a table")
    return int(table.id.get_offset()), shapes[table.shape]

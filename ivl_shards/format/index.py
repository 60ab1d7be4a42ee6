"""Index: many shards under one path.

An index has a virtual dataset for each field, so that plain HDF5 reads all shards as one file. It
also lists the length and the checksum of each shard, and ends with tables of the places of all
values, so that our reader finds a row without opening its shard as HDF5. The tables follow after
the HDF5 content, where no other program sees them.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from tempfile import TemporaryFile
from typing import Any, NamedTuple

import h5py
import numpy as np

from ivl_shards.disk import explained
from ivl_shards.errors import Damage
from ivl_shards.format.file_bytes import FileBytes, MappedFile, read_array
from ivl_shards.format.places import Place, file_places
from ivl_shards.format.schema import DEFLATE, DIGEST, ENCODED, Field, Schema
from ivl_shards.format.seal import read_seal, sealed_file
from ivl_shards.format.structure import ShardEntry, open_checked, stored_json
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


class Table(NamedTuple):
    """The places of one field in all shards: (shards,) offsets, or (samples, 2) ranges, uint64."""

    offset: int
    """Where the table begins in the index."""
    each_sample: bool

    def shard_place(self, index: FileBytes, shard: int, first: int, samples: int) -> Place:
        """Return the place in one shard; `first` is the row of its first sample."""
        if self.each_sample:
            return read_array(index, self.offset + 16 * first, "u8", (samples, 2))
        return int(read_array(index, self.offset + 8 * shard, "u8", (1,))[0])


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
    content, entries = hashlib.sha256(), []
    with ExitStack() as stack:
        tables = {f.name: stack.enter_context(TemporaryFile(dir=work)) for f in schema}
        # Virtual datasets need HDF5 1.10, and so do attributes of more than 64 kB.
        hdf5 = sealed_file(path, work, append=tables.values(), libver=("v110", "v110"))
        with hdf5 as (file, disk):
            write_attributes(file, schema, attributes, sum(samples for _, samples in shards))
            _write_virtual(file, schema, groups or shards)
            for name, samples in shards:
                summary = read(name)
                content.update(summary.digests)
                entries.append(_entry(name, samples, summary))
                try:
                    _add_places(tables, schema, samples, summary.places)
                except OSError as error:
                    raise explained(path, error) from None
            disk.check()
            file.attrs["content_sha256"] = content.hexdigest()
            file.attrs["shards"] = f"[{', '.join(entries)}]"
            file.attrs["places"] = json.dumps(_describe_tables(tables, schema))
            if groups:
                file.attrs["groups"] = json.dumps([name for name, _ in groups])


def _add_places(
    tables: Mapping[str, Any], schema: Schema, samples: int, places: Mapping[str, Place]
) -> None:
    """Append the places of a shard to the tables; zeros if they are not known."""
    for field in schema:
        shape = (samples, 2) if is_placed_one_by_one(field) else (1,)
        place = places.get(field.name, np.zeros(shape, np.uint64))
        tables[field.name].write(np.asarray(place, "<u8").tobytes())


def _describe_tables(tables: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
    """Return for each field where its table begins, counted from the end of the file."""
    sizes = [tables[field.name].tell() for field in schema]
    return {
        field.name: {
            "from_end": sum(sizes[k:]),
            "per": "sample" if is_placed_one_by_one(field) else "shard",
        }
        for k, field in enumerate(schema)
    }


def _entry(name: str, samples: int, summary: ShardSummary) -> str:
    """Return the entry of a shard in the list, as JSON."""
    entry: dict[str, Any] = {"file": name, "samples": samples}
    if summary.places:
        entry |= {"bytes": summary.length, "sha256": summary.sha256}
    return json.dumps(entry)


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


def stored_tables(attributes: Mapping[str, Any], schema: Schema, length: int) -> dict[str, Table]:
    """Return the tables of places in an index of `length` bytes; {} if it has none, like those of
    format 1.1."""
    rows = stored_json(attributes, "places", "{}")
    if not rows:
        return {}
    return {field.name: _stored_table(rows, field, length) for field in schema}


def _stored_table(rows: Any, field: Field, length: int) -> Table:
    row = rows.get(field.name) if isinstance(rows, dict) else None
    from_end, per = (row.get("from_end"), row.get("per")) if isinstance(row, dict) else (0, "")
    # A photograph has no fixed size, so each one needs its own place.
    kinds = ("sample",) if field.storage == ENCODED else ("shard", "sample")
    if type(from_end) is not int or not 0 < from_end <= length or per not in kinds:
        raise Damage(f"damaged: the places of '{field.name}' cannot be read")
    return Table(length - from_end, per == "sample")

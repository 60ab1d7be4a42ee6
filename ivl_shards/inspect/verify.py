"""Verify: check every byte and every sample of a dataset."""

import hashlib
import multiprocessing
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ivl_shards.errors import Damage
from ivl_shards.format.columns import decode
from ivl_shards.format.dataset_files import DatasetFiles
from ivl_shards.format.index import group_problems
from ivl_shards.format.reader import Dataset, unpad
from ivl_shards.format.sample import Sample, digest
from ivl_shards.format.schema import DEFLATE, DIGEST, MEMORY, PLAIN, Array, Schema, check_classes
from ivl_shards.format.seal import check_bytes
from ivl_shards.format.structure import check_values, stored_groups
from ivl_shards.processes import available_cores, start_worker
from ivl_shards.progress import Report, no_report
from ivl_shards.remote import require_local

# The dense memory is float16, computed from values that were not rounded.
_TOLERANCE = 2e-3
# Samples of a single file that are checked together.
_PIECE = 5000
# Fewer samples are checked faster than other processes start.
SEVERAL_PROCESSES = 20_000


@dataclass(frozen=True)
class Part:
    """Some samples of one file, which are checked together."""

    shard: int
    start: int
    """First row in the dataset."""
    stop: int
    whole: bool
    """Whether they are all samples of a shard, whose bytes are checked first."""


@dataclass(frozen=True)
class Checked:
    """What was found in a part."""

    problems: list[str]
    digests: bytes
    """Stored digests of the samples, in order."""


def problems(
    path: Path,
    workers: int | None = None,
    begin: Callable[[int], Report] = lambda samples: no_report,
) -> Iterator[str]:
    """Yield one line for each problem of a dataset; none if it is sound.

    Checksums come first, because HDF5 cannot be trusted with a changed file. Large datasets are
    checked by several processes, by default one for each core. `begin` is called with the number of
    samples, and returns the function that shows the progress.
    """
    try:
        check_bytes(path)
        files = DatasetFiles(path)
    except Damage as damage:
        yield str(damage)
        return
    found = False
    for line in group_problems(path, stored_groups(files.attributes), files.entries):
        found = True
        yield line
    hashed, report = hashlib.sha256(), begin(int(files.ends[-1]))
    for part, checked in _check_parts(files, workers or available_cores()):
        found |= bool(checked.problems)
        yield from checked.problems
        hashed.update(checked.digests)
        report(part.stop - part.start)
    stated = files.attributes["content_sha256"]
    if not found and hashed.hexdigest() != stated:
        yield f"{path}: the content does not match its SHA-256 {stated}"


def _parts(files: DatasetFiles) -> Iterator[Part]:
    """Yield the parts of a dataset: its shards, or pieces of a single file."""
    for k, entry in enumerate(files.entries):
        first, stop = files.first(k), files.first(k) + entry.samples
        if files.shard_path(k) != files.path:
            yield Part(k, first, stop, whole=True)
        else:
            for start in range(first, stop, _PIECE):
                yield Part(k, start, min(start + _PIECE, stop), whole=False)


def _check_parts(files: DatasetFiles, workers: int) -> Iterator[tuple[Part, Checked]]:
    """Check all parts, in order."""
    if workers == 1 or int(files.ends[-1]) < SEVERAL_PROCESSES:
        for part in _parts(files):
            yield part, _check_part(files, part)
        return
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, spawn, _start, (files,)) as pool:
        waiting: deque[tuple[Part, Future[Checked]]] = deque()
        try:
            for part in _parts(files):
                waiting.append((part, pool.submit(_check_part_here, part)))
                if len(waiting) > 2 * workers:  # more would only wait, with their digests
                    yield waiting[0][0], waiting[0][1].result()
                    waiting.popleft()
            while waiting:
                yield waiting[0][0], waiting[0][1].result()
                waiting.popleft()
        except BrokenProcessPool:
            for part, _ in waiting:
                yield part, _check_apart(files, part)
        finally:
            pool.shutdown(cancel_futures=True)


_files: DatasetFiles | None = None


def _start(files: DatasetFiles) -> None:
    """Begin a worker process."""
    global _files
    start_worker()
    _files = files


def _check_part_here(part: Part) -> Checked:
    assert _files is not None
    return _check_part(_files, part)


def _check_apart(files: DatasetFiles, part: Part) -> Checked:
    """Check a part in a process of its own, because HDF5 may crash on it."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, spawn, _start, (files,)) as pool:
        try:
            return pool.submit(_check_part_here, part).result()
        except BrokenProcessPool:
            name = files.shard_path(part.shard)
            return Checked([f"{name}: HDF5 crashed on this file: it is damaged or malicious"], b"")


def _check_part(files: DatasetFiles, part: Part) -> Checked:
    """Check a part; the samples of a shard only if its bytes and structure are sound."""
    try:
        if part.whole:
            path = require_local(files.shard_path(part.shard))
            if path.exists():
                check_bytes(path)
            # Raises if it is missing or belongs to another dataset. HDF5 and the index must also
            # find the same values: the digests are read by both.
            shard = files.checked_shard(part.shard)
            numbers = range(part.stop - part.start)
            by_hdf5 = b"".join(shard[DIGEST].row(i).tobytes() for i in numbers)
        samples = Dataset(files, range(part.start, part.stop))
        digests = samples.columns([DIGEST])[DIGEST].tobytes()
        lines = list(_content_problems(samples, part.start))
        if part.whole and digests != by_hdf5:
            lines.append(f"{files.path}: its places do not lead to the samples of {path}")
        return Checked(lines, digests)
    except Damage as damage:
        return Checked([str(damage)], b"")
    finally:
        files.close()


def _content_problems(dataset: Dataset, first: int) -> Iterator[str]:
    """Yield problems of samples in files with valid checksums: mistakes of the generator."""
    for i in range(len(dataset)):
        try:
            line = _sample_problem(dataset.schema, dataset.stored(i))
        except Damage as damage:
            line = str(damage).removeprefix(f"{dataset.path}: ")
        if line:
            yield f"{dataset.path}: sample {first + i:,}: {line}"


def _sample_problem(schema: Schema, stored: dict[str, Array]) -> str:
    fields = unpad(schema, stored)
    for field in schema:
        padded = field.storage in (PLAIN, DEFLATE)
        if padded and _padding_used(stored[field.name], field.extent(stored)):
            return f"{field.name} has values in its padding"
    if digest(fields) != stored[DIGEST].tobytes():
        return "its values do not match their digest"
    fields["image"] = decode(schema["image"], fields["image"])
    check_values(schema, fields)
    for field in schema:
        if field.classes:
            check_classes(field.name, fields[field.name], field.classes)
    sample = Sample(fields, schema.sequence)
    return _memory_problem(sample) if schema.memory == "steps" else _peak_problem(sample)


def _padding_used(value: Array, extent: tuple[slice, ...]) -> bool:
    return bool(extent) and np.count_nonzero(value) != np.count_nonzero(value[extent])


def _memory_problem(sample: Sample) -> str:
    if int(sample["steps"].max(initial=0)) > sample.length:
        return f"its step map has values above its {sample.length} steps"
    return _dense_problem(sample)


def _peak_problem(sample: Sample) -> str:
    height, width = sample.image.shape[:2]
    inside = (sample["centres"] >= 0) & (sample["centres"] <= (width, height))
    return _dense_problem(sample) if inside.all() else "a centre lies outside the image"


def _dense_problem(sample: Sample) -> str:
    if MEMORY not in sample:
        return ""
    height, width = sample.image.shape[:2]
    for t in sample.times:
        stored = sample[MEMORY][t, :height, :width].astype(np.float32)
        if not np.allclose(stored, sample.memory(t), atol=_TOLERANCE):
            return "its dense memory does not match its labels"
    return ""

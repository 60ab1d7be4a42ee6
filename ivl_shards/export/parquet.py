"""Parquet: files that Hugging Face, pandas, Polars, DuckDB and Croissant loaders read.

data/test-00000-of-00003.parquet    pictures as PNG or JPEG, labels without padding
README.md                           the dataset card, with the splits for Hugging Face
croissant.json                      Croissant metadata

The schema of each file states Hugging Face's features, so that `datasets.load_dataset(folder)`
returns decoded pictures and class names. PyArrow is imported here alone, on first use.
"""

import hashlib
import json
import multiprocessing
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ivl_shards.errors import Damage, Stopped, UserError
from ivl_shards.format.dataset_files import shard_size
from ivl_shards.format.kinds import kind_of, unpadded_shape
from ivl_shards.format.pictures import pngs
from ivl_shards.format.reader import Dataset
from ivl_shards.format.schema import DIGEST, ENCODED, MEMORY, Array, Field, check_classes
from ivl_shards.inspect.card import card
from ivl_shards.inspect.croissant import croissant
from ivl_shards.inspect.publication import PARQUET, File, Publication, split_name
from ivl_shards.processes import available_cores, start_worker

if TYPE_CHECKING:
    import pyarrow as pa

# Like Hugging Face's own files.
FILE_BYTES = 500_000_000
# A loader that streams reads a row group at a time.
_GROUP_ROWS, _GROUP_BYTES = 1000, 16_000_000
# What is read at a time, as padded bytes.
_READ_BYTES = 1_000_000
# Fewer samples are exported faster than other processes start.
SEVERAL_PROCESSES = 200_000

Json = dict[str, Any]


def write_parquet(
    dataset: Dataset,
    folder: Path,
    published: Publication | None = None,
    file_bytes: int = FILE_BYTES,
    workers: int | None = None,
) -> Iterator[int]:
    """Write Parquet files, card and metadata.

    Parameters
    ----------
    dataset, folder
        What to write, and the empty folder to write to.
    published
        Who publishes it, where and when.
    file_bytes
        Size at which the next file begins; a file has at least one row group.
    workers
        Number of processes for a large dataset; by default one for each core.
    """
    import_pyarrow()
    (folder / "data").mkdir()
    writer = _Writer(dataset, folder / "data", file_bytes)
    done = 0
    try:
        for group in _groups(dataset, workers or available_cores()):
            writer.add(group)
            yield from range(done + 1, done + len(group) + 1)
            done += len(group)
        writer.finish()
    finally:
        writer.abandon()
    files = writer.name_files()
    published = published or Publication()
    metadata = json.dumps(
        croissant(dataset, files, published, PARQUET), indent=2, ensure_ascii=False
    )
    (folder / "README.md").write_text(card(dataset, files, published, PARQUET), "utf-8")
    (folder / "croissant.json").write_text(metadata, "utf-8")


def import_pyarrow() -> Any:
    """Return the module `pyarrow`; raise `UserError` if it is not installed."""
    try:
        import pyarrow
    except ImportError:
        raise UserError(
            "--format parquet needs PyArrow, which is not installed: pip install 'ivl[parquet]'"
        ) from None
    return pyarrow


# --- schema ------------------------------------------------------------------------------


def arrow_schema(dataset: Dataset) -> "pa.Schema":
    """Return the columns of a dataset, with Hugging Face's features and the fields' meanings."""
    pa = import_pyarrow()
    fields = _ordered(dataset)
    features = {field.name: hugging_face_feature(field) for field in fields}
    columns = [
        pa.field(f.name, arrow_type(f), metadata={"meaning": f.meaning, "unit": f.unit})
        for f in fields
    ]
    return pa.schema(columns, {"huggingface": json.dumps({"info": {"features": features}})})


def _ordered(dataset: Dataset) -> list[Field]:
    """Return the fields in the order of the columns: pictures first, as in a table to look at."""
    return sorted(dataset.schema, key=lambda field: kind_of(field) != "picture")


def arrow_type(field: Field) -> "pa.DataType":
    """Return the Arrow type of a column."""
    pa = import_pyarrow()
    kind = kind_of(field)
    if kind == "picture":
        return pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    if kind == "text":
        type_ = pa.string()
    elif kind == "class":
        type_ = pa.int64()  # what Hugging Face stores class numbers as
    else:
        type_ = pa.from_numpy_dtype(np.dtype(field.dtype))
    for _ in unpadded_shape(field):
        type_ = pa.list_(type_)
    return type_


def hugging_face_feature(field: Field) -> Json:
    """Return the feature of Hugging Face's `datasets` that a column is read as."""
    kind, shape = kind_of(field), unpadded_shape(field)
    if kind == "picture":
        return {"_type": "Image"}
    if kind == "class":
        feature: Json = {"names": list(field.classes), "_type": "ClassLabel"}
    else:
        dtype = "string" if kind == "text" else np.dtype(field.dtype).name
        feature = {"dtype": dtype, "_type": "Value"}
    for _ in shape:
        # Every version of `datasets` knows this name; version 4 reads it as `List`.
        feature = {"feature": feature, "_type": "Sequence"}
    return feature


# --- row groups --------------------------------------------------------------------------


def _groups(dataset: Dataset, workers: int) -> Iterator["pa.Table"]:
    """Yield the row groups in order; those of a large dataset are made by several processes.

    Not by threads: packing PNG files releases Python's lock for microseconds at a time, and
    the threads would mostly wait for it.
    """
    rows = _group_rows(dataset)
    # Not a list: a file could claim any number of samples.
    ranges = ((k, min(k + rows, len(dataset))) for k in range(0, len(dataset), rows))
    if workers == 1 or len(dataset) < SEVERAL_PROCESSES:
        yield from (_group(dataset, *each) for each in ranges)
        return
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, spawn, _start, (dataset,)) as pool:
        waiting: deque[Future[Any]] = deque()
        try:
            for each in ranges:
                waiting.append(pool.submit(_group_here, *each))
                if len(waiting) > 2 * workers:  # more would only take memory
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BrokenProcessPool:
            raise Stopped(
                f"{dataset.path}: a process of the export ended (out of memory?): run it again"
            ) from None
        finally:
            pool.shutdown(cancel_futures=True)


_dataset: Dataset | None = None


def _start(dataset: Dataset) -> None:
    """Begin a worker process."""
    global _dataset
    start_worker()
    _dataset = dataset


def _group_here(start: int, stop: int) -> "pa.Table":
    assert _dataset is not None
    return _group(_dataset, start, stop)


def _group_rows(dataset: Dataset) -> int:
    """Return how many rows a row group has, by the size that samples have on average."""
    try:
        size = shard_size(dataset.shards[0]) / dataset.shard_sizes[0]
    except UserError:
        return 1  # the reader will say what is wrong
    return max(1, min(_GROUP_ROWS, int(_GROUP_BYTES / max(1, size))))


def _group(dataset: Dataset, start: int, stop: int) -> "pa.Table":
    """Return some samples: labels at once, pictures a few at a time."""
    part = dataset[start:stop]
    fields = _ordered(part)
    labels = part.columns([f.name for f in fields if kind_of(f) != "picture"])
    try:
        _check_lengths(part, labels)
        columns = [
            _pictures(part, field, labels)
            if kind_of(field) == "picture"
            else label_column(field, labels, part.schema.sequence)
            for field in fields
        ]
    except Damage as damage:
        if str(damage).startswith(str(part.path)):
            raise
        raise Damage(f"{part.path}: {damage}") from None
    return import_pyarrow().table(columns, schema=arrow_schema(part))


def _check_lengths(part: Dataset, stored: dict[str, Array]) -> None:
    """Raise the reader's error if a length is beyond the room for it."""
    for field in part.schema:
        counters = (field.counted_by, field.sized_by)
        least, counter = (0, counters[0]) if field.counted_by else (1, counters[1])
        if counter:
            lengths = stored[counter].reshape(len(part), -1)
            room = np.array(field.shape[: lengths.shape[1]])
            wrong = ((lengths < least) | (lengths > room)).any(1)
            if wrong.any():
                part.unpadded(int(wrong.argmax()))


def _pictures(part: Dataset, field: Field, labels: dict[str, Array]) -> "pa.StructArray":
    """Return pictures as files: JPEG as stored, PNG otherwise."""
    pa = import_pyarrow()
    rows = max(1, _READ_BYTES // (int(np.prod(field.shape)) * np.dtype(field.dtype).itemsize))
    sizes = labels[field.sized_by] if field.sized_by else None
    files: list[bytes] = []
    for k in range(0, len(part), rows):
        values = part[k : k + rows].column(field.name)
        if field.storage == ENCODED:
            files += [value.tobytes() for value in values]
        else:
            files += pngs(values, None if sizes is None else sizes[k : k + rows])
    columns = [pa.array(files, pa.binary()), pa.nulls(len(files), pa.string())]
    return pa.StructArray.from_arrays(columns, fields=list(arrow_type(field)))


def label_column(field: Field, stored: dict[str, Array], sequence: str) -> "pa.Array":
    """Return the labels of some samples without padding; `stored` has all fields of them."""
    values = stored[field.name]
    if field.name == DIGEST:
        return _leaves(field, values)
    if field.sized_by:
        sizes = stored[field.sized_by].tolist()
        cut = [value[:h, :w].tolist() for value, (h, w) in zip(values, sizes, strict=True)]
        return import_pyarrow().array(cut, arrow_type(field))
    counts = None
    if field.counted_by:
        counts = stored[field.counted_by].astype(np.int64)
    elif field.name == MEMORY:
        counts = stored[sequence].astype(np.int64) + 1
    if counts is None:
        leaves, lengths = values, values.shape[1:]
    else:
        leaves = values[np.arange(values.shape[1]) < counts[:, None]]
        lengths = values.shape[2:]
    if field.classes:
        check_classes(field.name, leaves, field.classes)
    column = _leaves(field, leaves.reshape(-1))
    for length in reversed(lengths):
        column = _lists(column, np.full(len(column) // length, length))
    return column if counts is None else _lists(column, counts)


def _leaves(field: Field, values: Array) -> "pa.Array":
    pa = import_pyarrow()
    if field.name == DIGEST:
        digits = values.tobytes().hex()
        width = 2 * values.shape[1]
        return pa.array([digits[k : k + width] for k in range(0, len(digits), width)])
    if kind_of(field) == "text":
        texts = [text.decode("utf-8", "replace") for text in values.tolist()]
        return pa.array(texts, pa.string())
    return pa.array(values.astype(np.int64) if field.classes else values)


def _lists(column: "pa.Array", lengths: Array) -> "pa.ListArray":
    """Group the values of a column into lists of these lengths."""
    pa = import_pyarrow()
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return pa.ListArray.from_arrays(pa.array(offsets), column)


# --- files -------------------------------------------------------------------------------


class _HashedFile:
    """A new file whose checksum is taken while it is written."""

    closed = False

    def __init__(self, path: Path) -> None:
        self.path = path
        self.bytes = 0
        self._file = path.open("xb")
        self._sha256 = hashlib.sha256()

    def write(self, data: Any) -> int:
        self._file.write(data)
        self._sha256.update(data)
        self.bytes += len(data)
        return len(data)

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self._file.close()

    def sha256(self) -> str:
        return self._sha256.hexdigest()


class _Writer:
    """Writes pieces as row groups, into files of limited size."""

    def __init__(self, dataset: Dataset, folder: Path, file_bytes: int) -> None:
        self._schema = arrow_schema(dataset)
        self._folder = folder
        self._split = split_name(dataset)
        self._file_bytes = file_bytes
        labels = [f for f in dataset.schema if kind_of(f) != "picture"]
        self._labels = [_leaf_path(f) for f in labels]
        # Digests never repeat.
        self._repeated = [_leaf_path(f) for f in labels if f.name != DIGEST]
        self._files: list[tuple[_HashedFile, int]] = []
        self._parquet: Any = None

    def add(self, group: "pa.Table") -> None:
        """Write a row group, to the next file if this one would become too large."""
        if self._files and self._files[-1][0].bytes + group.nbytes > self._file_bytes:
            self.finish()
        if self._parquet is None:
            self._open_file()
        self._parquet.write_table(group, row_group_size=len(group))
        file, rows = self._files[-1]
        self._files[-1] = file, rows + len(group)

    def finish(self) -> None:
        """Close the file that is open, if any."""
        if self._parquet is not None:
            self._parquet.close()
            self._files[-1][0].close()
            self._parquet = None

    def abandon(self) -> None:
        """Close a file that is still open, after an error; it will be removed."""
        with suppress(OSError):
            self.finish()

    def name_files(self) -> list[File]:
        """Give the files their final names, which say how many there are, and describe them."""
        found, first = [], 0
        for k, (file, rows) in enumerate(self._files):
            name = f"{self._split}-{k:05d}-of-{len(self._files):05d}.parquet"
            file.path.rename(self._folder / name)
            path = f"{self._folder.name}/{name}"
            found.append(File(path, file.bytes, file.sha256(), first, rows))
            first += rows
        return found

    def _open_file(self) -> None:
        from pyarrow.parquet import ParquetWriter

        file = _HashedFile(self._folder / f"{len(self._files)}.part")
        self._files.append((file, 0))
        self._parquet = ParquetWriter(
            file,
            self._schema,
            compression={name: "snappy" for name in self._labels},  # pictures are compressed
            use_dictionary=self._repeated,
            write_statistics=self._labels,
        )


def _leaf_path(field: Field) -> str:
    """Return the path of a column in Parquet's schema.

    >>> _leaf_path(Field("line_text", "S9", (3,), "", counted_by="line_count"))
    'line_text.list.element'
    """
    return field.name + ".list.element" * len(unpadded_shape(field))

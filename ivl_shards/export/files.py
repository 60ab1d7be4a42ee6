"""Export: a dataset as ordinary files, as tar files for WebDataset, or in others' formats."""

import io
import json
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ivl_shards.disk import drop_stale_folders, explained, work_folder
from ivl_shards.errors import Damage, UserError
from ivl_shards.export.coco import write_coco
from ivl_shards.export.icdar import write_icdar
from ivl_shards.format.outlines import Mismatch
from ivl_shards.format.pictures import picture_bytes, picture_ending, png
from ivl_shards.format.reader import Dataset
from ivl_shards.format.sample import Sample
from ivl_shards.format.schema import DIGEST, MEMORY, Array, plain
from ivl_shards.interrupt import interrupt_held

# Samples in a tar file.
_TAR = 1000

Files = dict[str, bytes]


def sample_files(dataset: Dataset, i: int) -> Files:
    """A sample as files, by ending: the image, maps as PNG or .npy, and all labels as JSON."""
    sample = Sample(dataset.unpadded(i), dataset.schema.sequence)
    files: Files = {}
    files[picture_ending(dataset.schema)] = picture_bytes(dataset.schema, sample)
    if "steps" in sample:
        files["steps.png"] = png(sample["steps"])
    if MEMORY in sample:
        files["memory.npy"] = _npy(sample.dense_memory())
    files["json"] = json.dumps(_labels(dataset, sample), ensure_ascii=False).encode()
    return files


def _labels(dataset: Dataset, sample: Sample) -> dict[str, Any]:
    labels: dict[str, Any] = {}
    for field in dataset.schema:
        if field.name in ("image", "steps", MEMORY):
            continue
        value = sample[field.name]
        labels[field.name] = value.tobytes().hex() if field.name == DIGEST else plain(value)
    return labels


def _npy(array: Array) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def about(dataset: Dataset) -> bytes:
    """What the files say about themselves as a whole: attributes, recipe and fields."""
    attributes = {k: v for k, v in dataset.attributes.items() if k not in ("shards", "recipe")}
    fields = {
        f.name: {
            "shape": list(f.shape),
            "dtype": f.dtype,
            "unit": f.unit,
            "meaning": f.meaning,
            "classes": list(f.classes),
        }
        for f in dataset.schema
    }
    whole = {**attributes, "recipe": dataset.recipe, "fields": fields}
    return json.dumps(whole, indent=2, ensure_ascii=False).encode()


def write_files(dataset: Dataset, folder: Path) -> Iterator[int]:
    """One file a sample and kind: 000000.png, 000000.steps.png, 000000.json …"""
    for i in range(len(dataset)):
        for ending, data in sample_files(dataset, i).items():
            (folder / f"{i:06d}.{ending}").write_bytes(data)
        yield i + 1


def write_webdataset(dataset: Dataset, folder: Path) -> Iterator[int]:
    """Tar files of 1,000 samples each, without times or owners: the same data, the same bytes."""
    for start in range(0, len(dataset), _TAR):
        with tarfile.open(folder / f"{start // _TAR:06d}.tar", "w") as tar:
            for i in range(start, min(start + _TAR, len(dataset))):
                for ending, data in sample_files(dataset, i).items():
                    entry = tarfile.TarInfo(f"{i:06d}.{ending}")
                    entry.size = len(data)
                    tar.addfile(entry, io.BytesIO(data))
                yield i + 1


FORMATS: dict[str, Callable[..., Iterator[int]]] = {
    "coco": write_coco,
    "files": write_files,
    "icdar": write_icdar,
    "webdataset": write_webdataset,
}


def export(dataset: Dataset, format_: str, out: Path, **options: Any) -> Iterator[int]:
    """Write the dataset to a new folder, which appears when it is whole; yields the number done.

    Options are those of the format's function.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UserError(f"{out}: is there already and not empty: give a new folder")
    drop_stale_folders(out)
    done = 0
    try:
        with work_folder(out) as folder:
            (folder / "dataset.json").write_bytes(about(dataset))
            with interrupt_held() as interrupt:
                for done in FORMATS[format_](dataset, folder, **options):
                    interrupt.check()
                    yield done
    except Mismatch as error:
        raise Damage(f"{dataset.path}: sample {done}: {error}") from None
    except OSError as error:
        raise explained(out, error) from None

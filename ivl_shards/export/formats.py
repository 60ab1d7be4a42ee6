"""Formats: the table of exporters, and the function that runs one of them."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ivl_shards.disk import drop_stale_folders, explained, work_folder
from ivl_shards.errors import Damage, UserError
from ivl_shards.export.coco import write_coco
from ivl_shards.export.files import write_files
from ivl_shards.export.icdar import write_icdar
from ivl_shards.export.parquet import write_parquet
from ivl_shards.export.webdataset import write_webdataset
from ivl_shards.format.outlines import Mismatch
from ivl_shards.format.reader import Dataset
from ivl_shards.interrupt import interrupt_held

Exporter = Callable[..., Iterator[int]]
"""Writes a dataset to an empty folder, and yields the number of samples written so far."""

FORMATS: dict[str, Exporter] = {
    "coco": write_coco,
    "files": write_files,
    "icdar": write_icdar,
    "parquet": write_parquet,
    "webdataset": write_webdataset,
}
"""All exporters by name. Another one is added here, and `ivl-shards export --format` offers it."""


def export(dataset: Dataset, format_: str, out: Path, **options: Any) -> Iterator[int]:
    """Export a dataset to a new folder, which appears when it is complete.

    Yields the number of samples written so far. Options are those of the format's exporter.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UserError(f"{out}: exists and is not empty: choose a new folder")
    drop_stale_folders(out)
    done = 0
    try:
        with work_folder(out) as folder:
            (folder / "dataset.json").write_bytes(dataset_json(dataset))
            with interrupt_held() as interrupt:
                for done in FORMATS[format_](dataset, folder, **options):
                    interrupt.check()
                    yield done
    except Mismatch as error:
        raise Damage(f"{dataset.path}: sample {done}: {error}") from None
    except OSError as error:
        raise explained(out, error, kept=False) from None


def dataset_json(dataset: Dataset) -> bytes:
    """Return the content of dataset.json: attributes, recipe and fields of a dataset."""
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

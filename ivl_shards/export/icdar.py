"""ICDAR: images, each with a text file, in the format of ICDAR 2015's "Incidental Scene Text".

images/img_1.jpg
gt/gt_img_1.txt    one word per line: x1,y1,x2,y2,x3,y3,x4,y4,text
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ivl_shards.errors import UserError
from ivl_shards.format.outlines import Fields, Outlines, find_outlines
from ivl_shards.format.pictures import picture_bytes, picture_ending, picture_size
from ivl_shards.format.reader import Dataset

# Evaluation tools ignore words with this transcription.
_UNREADABLE = "###"


def text_outlines(dataset: Dataset, level: str | None) -> Outlines:
    """Return what to write: lines or words, by default the smallest with known texts."""
    found = {o.noun: o for o in find_outlines(dataset.schema) if o.has_texts}
    if not found:
        raise UserError(
            f"{dataset.path}: has no texts with quads or boxes, which --format icdar needs: "
            "use --format coco or files"
        )
    if level is None:
        return next((o for o in found.values() if o.parent), next(iter(found.values())))
    if level not in found:
        raise UserError(f"{dataset.path}: no texts at --level {level}: it has {', '.join(found)}")
    return found[level]


def ground_truth(outlines: Outlines, fields: Fields) -> str:
    """Return the text file of a sample: corners rounded to whole pixels, clipped to the image."""
    height, width = picture_size(fields)
    corners = np.clip(np.rint(outlines.quads(fields)), 0, (width, height)).astype(int)
    rows = zip(corners.reshape(-1, 8).tolist(), outlines.texts(fields), strict=True)
    return "".join(f"{','.join(map(str, row))},{_one_line(text)}\n" for row, text in rows)


def _one_line(text: str) -> str:
    return " ".join(text.split()) or _UNREADABLE


def write_icdar(dataset: Dataset, folder: Path, level: str | None = None) -> Iterator[int]:
    """Write images and text files, numbered from 1 as in ICDAR."""
    outlines = text_outlines(dataset, level)
    ending = picture_ending(dataset.schema)
    images, truths = folder / "images", folder / "gt"
    images.mkdir()
    truths.mkdir()
    for i in range(len(dataset)):
        fields = dataset.unpadded(i)
        truth = ground_truth(outlines, fields)
        (images / f"img_{i + 1}.{ending}").write_bytes(picture_bytes(dataset.schema, fields))
        (truths / f"gt_img_{i + 1}.txt").write_text(truth, "utf-8", newline="\n")
        yield i + 1

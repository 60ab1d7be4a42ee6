"""Gallery: one self-contained page to leaf through samples and slide through their steps."""

import base64
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import cv2

from ivl_shards.pick import count_noun, pick_samples
from ivl_shards.reader import Dataset
from ivl_shards.sample import Sample
from ivl_shards.schema import DIGEST, ENCODED, MEMORY, Array

_SHOWN_APART = {"image", "image_size", "steps", MEMORY, DIGEST}


def write_gallery(dataset: Dataset, out: Path, most: int = 120) -> None:
    """Write the page, with up to `most` samples spread over the counts."""
    picked = sorted(i for found in pick_samples(dataset, most).values() for i in found)
    attributes = dataset.attributes
    about = [
        attributes["generator"],
        f"split {attributes['split']}",
        f"seed {attributes['seed']}",
        f"content sha256 {attributes['content_sha256'][:16]}…",
    ]
    data = {
        "title": f"{attributes['task']} — {dataset.path.name}",
        "about": " · ".join(about),
        "total": len(dataset),
        "samples": [_describe(dataset, i) for i in picked],
    }
    template = files("ivl_shards").joinpath("gallery.html").read_text("utf-8")
    # "</" would end the script element that the data stands in.
    text = json.dumps(data, ensure_ascii=False).replace("</", "<\\/")
    out.write_text(template.replace("/*DATA*/null", text), "utf-8")


def _describe(dataset: Dataset, i: int) -> dict[str, Any]:
    sample = dataset[i]
    described: dict[str, Any] = {
        "row": i,
        "what": count_noun(dataset, sample.length),
        "length": sample.length,
        "width": sample.image.shape[1],
        "height": sample.image.shape[0],
        "image": _image_url(dataset, i, sample),
        "fields": _texts(dataset, sample),
    }
    if "steps" in sample:
        described["steps"] = _png_url(sample["steps"].astype("u1"))
    else:
        described["centres"] = sample["centres"].round(3).tolist()
        described["sigma"] = float(sample["sigma"])
    return described


def _image_url(dataset: Dataset, i: int, sample: Sample) -> str:
    if dataset.schema["image"].storage == ENCODED:
        return _url("jpeg", dataset.stored(i)["image"].tobytes())
    return _png_url(sample.image)


def _png_url(pixels: Array) -> str:
    ordered = pixels if pixels.ndim == 2 else cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR)
    return _url("png", cv2.imencode(".png", ordered)[1].tobytes())


def _url(kind: str, data: bytes) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(data).decode()}"


def _texts(dataset: Dataset, sample: Sample) -> dict[str, str]:
    """The labels of a sample in words, one text a field."""
    return {
        field.name: _text(sample[field.name], field.classes)
        for field in dataset.schema
        if field.name not in _SHOWN_APART
    }


def _text(value: Array, classes: tuple[str, ...]) -> str:
    if value.ndim > 1:
        return "\n".join(_text(row, classes) for row in value)
    items = [value.item()] if value.ndim == 0 else value.tolist()
    return ", ".join(_word(item, classes) for item in items)


def _word(item: Any, classes: tuple[str, ...]) -> str:
    if classes:
        return classes[int(item)]
    if isinstance(item, bytes):
        return item.decode("utf-8", "replace")
    return f"{item:g}" if isinstance(item, float) else str(item)

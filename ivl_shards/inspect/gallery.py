"""Gallery: a self-contained HTML page of samples, with a slider through the steps of each."""

import base64
import json
from collections.abc import Iterator
from importlib.resources import files
from itertools import zip_longest
from pathlib import Path
from typing import Any

from ivl_shards.disk import write_whole
from ivl_shards.format.outlines import Outlines, find_outlines, step_text
from ivl_shards.format.pictures import picture_bytes, picture_ending, png
from ivl_shards.format.reader import Dataset
from ivl_shards.format.sample import Sample
from ivl_shards.format.schema import DIGEST, MEMORY, Array, check_classes, plain
from ivl_shards.inspect.statistics import count_noun, pick_samples

# A page with more pixels would be too large to open.
_MOST_PIXELS = 1 << 26
_SHOWN_APART = {"image", "image_size", "steps", MEMORY, DIGEST}


def write_gallery(dataset: Dataset, out: Path, most: int = 120) -> None:
    """Write the page, with up to `most` samples from all lengths, short sequences first."""
    by_length = pick_samples(dataset, most)
    # One of each length in turn: where the page is full, no length is missing.
    turns = [i for turn in zip_longest(*by_length.values()) for i in turn if i is not None]
    described = sorted(
        _describe_within(dataset, turns, _MOST_PIXELS), key=lambda s: (s["length"], s["row"])
    )
    attributes = dataset.attributes
    about = [
        attributes["generator"],
        f"split {attributes['split']}",
        f"seed {attributes['seed']}",
        f"content sha256 {attributes['content_sha256'][:16]}…",
    ]
    data = {
        "title": f"{attributes.get('title') or attributes['task']} – {dataset.path.name}",
        "about": " · ".join(about),
        "total": len(dataset),
        "samples": described,
        "first": _choose_first(described),
    }
    template = files("ivl_shards.inspect").joinpath("gallery.html").read_text("utf-8")
    write_whole(out, template.replace("/*DATA*/null", script_json(data)).encode())


def _describe_within(dataset: Dataset, picked: list[int], pixels: int) -> Iterator[dict[str, Any]]:
    """Yield descriptions of the picked samples, at least one, until the page has enough pixels."""
    for i in picked:
        described = _describe(dataset, i)
        yield described
        pixels -= described["width"] * described["height"]
        if pixels < 0:
            return


def _choose_first(samples: list[dict[str, Any]]) -> int:
    """Return the position of the sample to open with: of middle length, and the largest of these.

    Several steps show what a memory is, too many are hard to follow.
    """
    lengths = sorted({s["length"] for s in samples})
    several = [length for length in lengths if length >= 2] or lengths
    middle = several[(len(several) - 1) // 2]
    sizes = [s["width"] * s["height"] if s["length"] == middle else 0 for s in samples]
    return sizes.index(max(sizes))


def _describe(dataset: Dataset, i: int) -> dict[str, Any]:
    sample = dataset[i]
    described: dict[str, Any] = {
        "row": i,
        "what": count_noun(dataset, sample.length),
        "length": sample.length,
        "width": sample.image.shape[1],
        "height": sample.image.shape[0],
        "image": _image_url(dataset, i),
        "outlines": [_outline(o, sample) for o in find_outlines(dataset.schema)],
        "texts": plain(sample[said]) if (said := step_text(dataset.schema)) else [],
        "fields": _texts(dataset, sample),
    }
    if "steps" in sample:
        described["steps"] = _url("png", png(sample["steps"].astype("u1")))
    else:
        described["centres"] = sample["centres"].round(3).tolist()
        described["sigma"] = float(sample["sigma"])
    return described


def _image_url(dataset: Dataset, i: int) -> str:
    kind = "jpeg" if picture_ending(dataset.schema) == "jpg" else "png"
    return _url(kind, picture_bytes(dataset.schema, dataset.unpadded(i)))


def _outline(outlines: Outlines, sample: Sample) -> dict[str, Any]:
    return {
        "noun": outlines.noun,
        "of_steps": outlines.of_steps,
        "quads": outlines.quads(sample).round(2).reshape(-1, 8).tolist(),
    }


def _url(kind: str, data: bytes) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(data).decode()}"


def _texts(dataset: Dataset, sample: Sample) -> dict[str, str]:
    """Return the labels of a sample as texts, by field."""
    return {
        field.name: _text(sample[field.name], field.classes)
        for field in dataset.schema
        if field.name not in _SHOWN_APART
    }


def _text(value: Array, classes: tuple[str, ...]) -> str:
    if classes:
        check_classes("a label", value, classes)
    if value.ndim > 1:  # a line each, with all corners of a quad
        return "\n".join(_text(row.ravel(), classes) for row in value)
    items = [value.item()] if value.ndim == 0 else value.tolist()
    # Texts may have commas of their own.
    return ("\n" if value.dtype.kind == "S" else ", ").join(_word(item, classes) for item in items)


def _word(item: Any, classes: tuple[str, ...]) -> str:
    if classes:
        return classes[int(item)]
    if isinstance(item, bytes):
        return item.decode("utf-8", "replace")
    return f"{item:g}" if isinstance(item, float) else str(item)


def script_json(data: Any) -> str:
    """Return JSON that is safe inside a script element of an HTML page.

    A text may contain `</script>` or `<!--`, which would end the element or hide the rest of the
    page.

    >>> script_json("<!--<script>")
    '"\\\\u003c!--\\\\u003cscript>"'
    """
    return json.dumps(data, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")

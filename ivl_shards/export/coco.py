"""COCO: images and one annotations.json, the format that object detectors are trained on.

Everything that has quads or boxes is annotated. The file is written sample by sample, so that
memory does not depend on the number of samples.
"""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from ivl_shards.errors import UserError
from ivl_shards.format.metadata import stored_setting
from ivl_shards.format.outlines import Fields, Outlines, find_outlines
from ivl_shards.format.pictures import picture_bytes, picture_ending, picture_size
from ivl_shards.format.reader import Dataset
from ivl_shards.format.schema import Array, Schema, plain

# Corners of the polygon that stands for a circle: its area is 0.5 % too small.
_CIRCLE_CORNERS = 36
# Decimals of coordinates, as in COCO itself.
_DECIMALS = 2

Category = tuple[str, str]
"""What is outlined and its class, for example object and circle, or line and line."""


def list_categories(dataset: Dataset, outlines: list[Outlines]) -> list[Category]:
    """Return the classes of everything outlined, in the order of their ids, which begin at 1."""
    found: list[Category] = []
    for o in outlines:
        classes = dataset.schema[o.kind].classes if o.kind else (_only_class(dataset, o),)
        found += [(o.noun, name) for name in classes]
    return found


def _only_class(dataset: Dataset, outlines: Outlines) -> str:
    """Name what has no field of classes: by the class that the recipe chose, or by its noun."""
    chosen = stored_setting(dataset.recipe, "category")
    return chosen if isinstance(chosen, str) and outlines.of_steps else outlines.noun


def annotate(
    schema: Schema, outlines: Outlines, ids: dict[Category, int], fields: Fields
) -> Iterator[dict[str, Any]]:
    """Yield the annotations of one kind of outlines in a sample, without ids.

    What lies outside the image is left out.
    """
    height, width = picture_size(fields)
    texts = outlines.texts(fields) if outlines.has_texts else None
    kinds = plain(fields[outlines.kind], schema[outlines.kind].classes) if outlines.kind else None
    labels = {name: plain(fields[name], schema[name].classes) for name in outlines.labels}
    only = next(id_ for (noun, _), id_ in ids.items() if noun == outlines.noun)
    for k, outline in enumerate(outlines.quads(fields) if kinds else outlines.polygons(fields)):
        shape = shape_polygon(outline, kinds[k]) if kinds else outline
        polygon = clip(shape, width, height).round(_DECIMALS)
        size = area(polygon)
        if size == 0:
            continue
        annotation: dict[str, Any] = {
            "category_id": ids[outlines.noun, kinds[k]] if kinds else only,
            "bbox": bounding_box(polygon),
            "segmentation": [polygon.ravel().tolist()],
            "area": round(size, 2 * _DECIMALS),
            "iscrowd": 0,
        }
        if texts is not None:
            annotation["text"] = texts[k]
        if labels:
            annotation["attributes"] = {name: values[k] for name, values in labels.items()}
        yield annotation


def shape_polygon(quad: Array, name: str) -> Array:
    """Return the polygon of a shape in its box, (4, 2), clockwise from the upper left.

    Circles and upright triangles are known by the name of their class; anything else fills its
    box.

    >>> import numpy as np
    >>> shape_polygon(np.array([[0.0, 0], [4, 0], [4, 3], [0, 3]]), "triangle").tolist()
    [[2.0, 0.0], [4.0, 3.0], [0.0, 3.0]]
    """
    if name == "triangle":
        return np.array([(quad[0] + quad[1]) / 2, quad[2], quad[3]])
    if name == "circle":
        angles = np.linspace(0, 2 * np.pi, _CIRCLE_CORNERS, endpoint=False)
        circle = np.stack([np.sin(angles), -np.cos(angles)], axis=1)  # (n, 2), from the top
        radii = np.stack([(quad[1] - quad[0]) / 2, (quad[3] - quad[0]) / 2])
        return np.asarray(quad.mean(0) + circle @ radii)
    return quad


def bounding_box(polygon: Array) -> list[float]:
    """Return x, y, width and height of a polygon's bounding box.

    >>> import numpy as np
    >>> bounding_box(np.array([[1.0, 2], [4, 3], [2, 7]]))
    [1.0, 2.0, 3.0, 5.0]
    """
    low, high = polygon.min(0), polygon.max(0)
    box: list[float] = [*low.tolist(), *(high - low).round(_DECIMALS).tolist()]
    return box


def write_coco(dataset: Dataset, folder: Path) -> Iterator[int]:
    """Write the folder images/ and, beside it, annotations.json."""
    outlines = find_outlines(dataset.schema)
    if not outlines:
        raise UserError(
            f"{dataset.path}: has no quads or boxes, which --format coco needs: use --format files"
        )
    categories = list_categories(dataset, outlines)
    (folder / "images").mkdir()
    # Images and annotations are two lists in one file: the second grows beside the first.
    beside = folder / "annotations.part"
    with (folder / "annotations.json").open("w", encoding="utf-8", newline="\n") as out:
        out.write(_head(dataset, categories))
        out.write('"images": [')
        with beside.open("w", encoding="utf-8", newline="\n") as part:
            yield from _write_samples(dataset, outlines, categories, folder, out, part)
        out.write('\n],\n"annotations": [')
        with beside.open(encoding="utf-8", newline="\n") as part:
            shutil.copyfileobj(part, out)
        out.write("\n]\n}\n")
    beside.unlink()


def _write_samples(
    dataset: Dataset,
    outlines: list[Outlines],
    categories: list[Category],
    folder: Path,
    images: IO[str],
    annotations: IO[str],
) -> Iterator[int]:
    ids = {category: k + 1 for k, category in enumerate(categories)}
    ending = picture_ending(dataset.schema)
    written = 0
    for i in range(len(dataset)):
        fields = dataset.unpadded(i)
        name = f"{i:06d}.{ending}"
        (folder / "images" / name).write_bytes(picture_bytes(dataset.schema, fields))
        height, width = picture_size(fields)
        image = {"id": i + 1, "file_name": name, "width": width, "height": height, "license": 1}
        _write_item(images, image, first=i == 0)
        for o in outlines:
            for annotation in annotate(dataset.schema, o, ids, fields):
                written += 1
                whole = {"id": written, "image_id": i + 1, **annotation}
                _write_item(annotations, whole, first=written == 1)
        yield i + 1


def _write_item(out: IO[str], item: dict[str, Any], first: bool) -> None:
    out.write(("\n" if first else ",\n") + json.dumps(item, ensure_ascii=False))


def _head(dataset: Dataset, categories: list[Category]) -> str:
    """Return the beginning of the file. No date: equal data gives equal bytes."""
    attributes = dataset.attributes
    head = {
        "info": {
            "description": f"{attributes['task']}, split {attributes['split']}",
            "version": attributes["generator_version"],
            "contributor": attributes["generator"],
            "content_sha256": attributes["content_sha256"],
        },
        "licenses": [{"id": 1, "name": attributes["licence"], "url": ""}],
        "categories": [
            {"id": k + 1, "name": name, "supercategory": noun}
            for k, (noun, name) in enumerate(categories)
        ],
    }
    return json.dumps(head, ensure_ascii=False, indent=1).removesuffix("\n}") + ",\n"


def area(polygon: Array) -> float:
    """Return the area of a polygon that does not cross itself, (K, 2) corners in either direction.

    >>> area(np.array([[0, 0], [4, 0], [4, 3]]))
    6.0
    """
    if len(polygon) < 3:
        return 0.0
    x, y = (polygon - polygon[0]).T  # small numbers: nothing is lost in the differences
    return abs(float(x @ np.roll(y, -1) - y @ np.roll(x, -1))) / 2


def clip(polygon: Array, width: float, height: float) -> Array:
    """Clip a polygon, (K, 2), to [0, width] × [0, height]; (0, 2) if it lies outside.

    >>> clip(np.array([[-2.0, 1], [2, 1], [2, 3], [-2, 3]]), 10, 10).tolist()
    [[0.0, 1.0], [2.0, 1.0], [2.0, 3.0], [0.0, 3.0]]
    """
    size = np.array([width, height])
    if ((polygon >= 0) & (polygon <= size)).all():
        return polygon
    for axis in (0, 1):
        polygon = _cut(polygon, axis, polygon[:, axis], 0.0)
        polygon = _cut(polygon, axis, size[axis] - polygon[:, axis], size[axis])
    # Where a side crosses one edge very close to another, rounding may put it beyond that.
    return np.clip(polygon, 0, size)


def _cut(polygon: Array, axis: int, inside: Array, edge: float) -> Array:
    """Keep the part where `inside`, a distance for each corner, is not negative.

    This is one step of the Sutherland–Hodgman algorithm.
    """
    kept: list[Array] = []
    for k in range(len(polygon)):
        before, here = inside[k - 1], inside[k]
        if (before < 0) != (here < 0):
            crossing = polygon[k - 1] + (polygon[k] - polygon[k - 1]) * before / (before - here)
            crossing[axis] = edge  # exactly, whatever the rounding
            kept.append(crossing)
        if here >= 0:
            kept.append(polygon[k])
    return np.array(kept).reshape(-1, 2)

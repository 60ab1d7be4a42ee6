"""Datasets in the formats of ICDAR and COCO, as other people's tools read them."""

import contextlib
import io
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import cv2
import numpy as np
import pytest
import shapely
from hypothesis import example, given
from hypothesis import strategies as st

import textblocks_gen
from commands import assert_one_line
from given import make_given
from ivl_shards import Dataset, open_dataset
from ivl_shards.export.coco import area, clip
from ivl_shards.export.formats import export
from ivl_shards.format.outlines import Mismatch, find_outlines, split_texts
from shapes_gen import ColouredRecipe, ToyRecipe
from textblocks_gen import TextRecipe


def words_of(dataset: Dataset, i: int) -> list[str]:
    return " ".join(text.decode() for text in dataset[i]["line_text"]).split(" ")


@pytest.mark.parametrize("name", ["text", "icdar"])
@pytest.mark.parametrize("level", ["word", "line"])
def test_icdar_has_every_text_at_its_quad(run, tmp_path: Path, name: str, level: str) -> None:
    dataset = make_given(name, tmp_path)
    options = [] if level == "word" else ["--level", level]
    result = run("ivl-shards", "export", "data.h5", "--format", "icdar", *options, "out")
    assert result.returncode == 0, result.stderr
    for i, sample in enumerate(dataset):
        image = cv2.imread(str(tmp_path / "out" / "images" / f"img_{i + 1}.jpg"))
        assert np.array_equal(image[..., ::-1], sample.image)
        truth = (tmp_path / "out" / "gt" / f"gt_img_{i + 1}.txt").read_bytes().decode("utf-8")
        # As evaluation tools read it: eight whole numbers, and the rest is text.
        rows = [line.split(",", 8) for line in truth.splitlines()]
        lines = [text.decode() for text in sample["line_text"]]
        assert [row[8] for row in rows] == (words_of(dataset, i) if level == "word" else lines)
        corners = np.array([[int(v) for v in row[:8]] for row in rows]).reshape(-1, 4, 2)
        if name == "text":
            assert np.abs(corners - sample[f"{level}_quad"]).max() <= 0.501
        else:
            assert np.array_equal(corners[:, 0], sample[f"{level}_box"][:, :2])
            assert np.array_equal(corners[:, 2], sample[f"{level}_box"][:, 2:])
        assert ((corners >= 0) & (corners <= (image.shape[1], image.shape[0]))).all()
        assert all(cv2.contourArea(quad.astype(np.float32), True) > 0 for quad in corners)


@pytest.mark.parametrize("name", ["coloured", "toy", "photos", "dota"])
def test_icdar_needs_texts_with_outlines(run, tmp_path: Path, name: str) -> None:
    make_given(name, tmp_path)
    result = run("ivl-shards", "export", "data.h5", "--format", "icdar", "out")
    assert_one_line(result, 2, "data.h5", "texts")
    assert [p.name for p in tmp_path.iterdir()] == ["data.h5"]


def test_levels_and_formats_that_do_not_go_together(run, tmp_path: Path) -> None:
    make_given("icdar", tmp_path)
    result = run("ivl-shards", "export", "data.h5", "--format", "icdar", "--level", "page", "out")
    assert_one_line(result, 2, "page", "line", "word")
    result = run("ivl-shards", "export", "data.h5", "--format", "coco", "--level", "word", "out")
    assert_one_line(result, 2, "--level")
    assert [p.name for p in tmp_path.iterdir()] == ["data.h5"]


def test_coco_needs_outlines(run, tmp_path: Path) -> None:
    make_given("photos", tmp_path)
    result = run("ivl-shards", "export", "data.h5", "--format", "coco", "out")
    assert_one_line(result, 2, "data.h5", "no quads or boxes")
    assert [p.name for p in tmp_path.iterdir()] == ["data.h5"]


CATEGORIES = {
    "coloured": ["circle", "triangle", "square"],
    "toy": ["line"],
    "dota": ["plane"],
    "icdar": ["line", "word"],
    "text": ["line", "word", "char"],
}


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # theirs
@pytest.mark.parametrize("name", CATEGORIES)
def test_pycocotools_reads_coco(run, tmp_path: Path, name: str) -> None:
    pycocotools = pytest.importorskip("pycocotools.coco")
    dataset = make_given(name, tmp_path)
    result = run("ivl-shards", "export", "data.h5", "--format", "coco", "out")
    assert result.returncode == 0, result.stderr
    assert {p.name for p in (tmp_path / "out").iterdir()} == {
        "annotations.json",
        "dataset.json",
        "images",
    }
    with contextlib.redirect_stdout(io.StringIO()):
        coco = pycocotools.COCO(tmp_path / "out" / "annotations.json")
    assert [c["name"] for c in coco.loadCats(coco.getCatIds())] == CATEGORIES[name]
    assert sorted(coco.imgs) == list(range(1, len(dataset) + 1))
    assert sorted(coco.anns) == list(range(1, len(coco.anns) + 1))
    for i, sample in enumerate(dataset):
        image = coco.imgs[i + 1]
        path = str(tmp_path / "out" / "images" / image["file_name"])
        pixels = cv2.imread(path, cv2.IMREAD_UNCHANGED)
        assert (image["height"], image["width"]) == pixels.shape[:2] == sample.image.shape[:2]
        annotations = coco.loadAnns(coco.getAnnIds([i + 1]))
        check_labels(coco, dataset, i, annotations)
        for annotation in annotations:
            check_geometry(coco, image, annotation)


def check_labels(coco, dataset: Dataset, i: int, annotations: list[dict]) -> None:
    """Each thing is there once, in order, as what it is."""
    names = [coco.cats[a["category_id"]]["name"] for a in annotations]
    sample = dataset[i]
    if "kind" in sample:
        assert names == [dataset.schema["kind"].classes[k] for k in sample["kind"]]
    else:
        counted = Counter({o.noun: len(o.quads(sample)) for o in find_outlines(dataset.schema)})
        wanted = {"plane": counted["object"]} if "quads" in sample else counted
        assert Counter(names) == wanted
    if "line_text" in sample:
        said = [(n, a["text"]) for n, a in zip(names, annotations, strict=True) if "text" in a]
        lines = [text.decode() for text in sample["line_text"]]
        assert [text for noun, text in said if noun == "line"] == lines
        assert [text for noun, text in said if noun == "word"] == words_of(dataset, i)
    if "label" in sample:
        classes = dataset.schema["label"].classes
        labels = [a["attributes"]["label"] for a in annotations]
        assert labels == [[classes[c] for c in row] for row in sample["label"]]


def check_geometry(coco, image: dict, annotation: dict) -> None:
    """Boxes are inside the image; area and mask are those of the polygon."""
    x, y, width, height = annotation["bbox"]
    assert min(x, y) >= 0
    assert min(width, height) > 0
    assert x + width <= image["width"] + 1e-6
    assert y + height <= image["height"] + 1e-6
    polygon = np.array(annotation["segmentation"][0]).reshape(-1, 2)
    assert np.allclose([*polygon.min(0), *np.ptp(polygon, axis=0)], [x, y, width, height])
    assert annotation["area"] == pytest.approx(
        cv2.contourArea((polygon - polygon[0]).astype(np.float32)), rel=1e-3, abs=1e-3
    )
    assert annotation["iscrowd"] == 0
    # Their mask has whole pixels: it may differ by about half of those along the edge.
    edge = np.linalg.norm(polygon - np.roll(polygon, 1, 0), axis=1).sum()
    assert abs(coco.annToMask(annotation).sum() - annotation["area"]) <= 0.6 * edge + 2


def test_coco_is_the_same_for_the_same_data_and_valid_json(run, tmp_path: Path) -> None:
    make_given("text", tmp_path)
    for out in ("out", "again"):
        assert run("ivl-shards", "export", "data.h5", "--format", "coco", out).returncode == 0
    one, two = ((tmp_path / out / "annotations.json").read_bytes() for out in ("out", "again"))
    assert one == two
    assert set(json.loads(one)) == {"info", "licenses", "categories", "images", "annotations"}


def test_coco_masks_of_shapes_are_the_shapes(make, tmp_path: Path) -> None:
    """The mask of a circle or a triangle covers its pixels, not those around it in its box."""
    pycocotools = pytest.importorskip("pycocotools.coco")
    dataset = make(ColouredRecipe((1,), 24, size=96))
    list(export(dataset, "coco", tmp_path / "out"))
    with contextlib.redirect_stdout(io.StringIO()):
        coco = pycocotools.COCO(tmp_path / "out" / "annotations.json")
    kinds = set()
    for i, sample in enumerate(dataset):
        (annotation,) = coco.loadAnns(coco.getAnnIds(imgIds=i + 1))
        kinds.add(coco.cats[annotation["category_id"]]["name"])
        mask = coco.annToMask(annotation).astype(bool)
        colours, counts = np.unique(sample.image.reshape(-1, 3), axis=0, return_counts=True)
        ground, ink = colours[counts.argmax()].astype(int), sample["colour"][0].astype(int)
        painted = abs(sample.image - ink).sum(2) < abs(sample.image - ground).sum(2)
        assert (mask & painted).sum() / (mask | painted).sum() > 0.85
        assert annotation["bbox"][2] == pytest.approx(np.ptp(sample["box"][0][::2]), abs=0.6)
    assert kinds == {"circle", "triangle", "square"}


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # theirs
def test_coco_masks_of_bent_lines_follow_the_bend(tmp_path: Path) -> None:
    """The mask of a line is where its step map is, though its quad covers more."""
    pycocotools = pytest.importorskip("pycocotools.coco")
    recipe = TextRecipe((1,), 6, bend=1.0)
    textblocks_gen.generate(recipe, tmp_path / "data.h5", workers=1)
    dataset = open_dataset(tmp_path / "data.h5")
    list(export(dataset, "coco", tmp_path / "out"))
    with contextlib.redirect_stdout(io.StringIO()):
        coco = pycocotools.COCO(tmp_path / "out" / "annotations.json")
    for i, sample in enumerate(dataset):
        annotations = coco.loadAnns(coco.getAnnIds(imgIds=i + 1))
        (line,) = (a for a in annotations if coco.cats[a["category_id"]]["name"] == "line")
        assert "line_polygon" not in line["attributes"]
        mask, seen = coco.annToMask(line).astype(bool), sample["steps"] > 0
        assert (mask & seen).sum() / (mask | seen).sum() > 0.9
        words = [a for a in annotations if coco.cats[a["category_id"]]["name"] == "word"]
        assert len(words) == sample["word_count"]
        assert all(len(a["segmentation"][0]) == 8 for a in words)


def test_no_objects_no_annotations(make, tmp_path: Path) -> None:
    list(export(make(ColouredRecipe((0,), 2)), "coco", tmp_path / "out"))
    read = json.loads((tmp_path / "out" / "annotations.json").read_text())
    assert len(read["images"]) == 2
    assert read["annotations"] == []


MEASURE_EXPORTS = """
import tracemalloc
from pathlib import Path
from ivl_shards import open_dataset
from ivl_shards.export.formats import export

dataset = open_dataset(Path("data.h5"))
for samples in (300, 3000):
    tracemalloc.start()
    for _ in export(dataset[:samples], "coco", Path(f"out-{samples}")):
        pass
    print(tracemalloc.get_traced_memory()[1])
    tracemalloc.stop()
"""


@pytest.mark.slow
def test_memory_does_not_grow_with_the_samples(make, tmp_path: Path) -> None:
    make(ToyRecipe((1,), 3000))
    # A process of its own: threads that other tests left behind would be counted too.
    command = [sys.executable, "-c", MEASURE_EXPORTS]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    few, many = map(int, result.stdout.split())
    assert many < 1.5 * few + 100_000


def test_texts_that_do_not_fit_are_not_guessed() -> None:
    assert split_texts(["one,", "no\u00a0break it"], [0, 1, 1]) == ["one,", "no\u00a0break", "it"]
    with pytest.raises(Mismatch, match="two words"):
        split_texts(["two words"], [0])


@given(st.tuples(*[st.floats(-50, 150)] * 4), st.floats(0, 6.3))
@example((0.0, 0.0, 0.0, 73.0), 1.0)  # no area, and a corner within rounding of two edges
def test_a_clipped_polygon_is_what_is_inside(numbers, angle: float) -> None:
    x, y, width, height = numbers
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    box = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * (abs(width), abs(height)) / 2
    polygon = box @ turn + (x, y)
    assert area(polygon) == pytest.approx(abs(width * height), abs=1e-6)
    inside = clip(polygon, 100, 80)
    assert ((inside >= 0) & (inside <= (100, 80))).all()
    whole = shapely.Polygon(polygon).intersection(shapely.box(0, 0, 100, 80))
    assert area(inside) == pytest.approx(whole.area, abs=1e-6)

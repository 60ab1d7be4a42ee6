"""Datasets as ordinary files and as tar files."""

import json
from pathlib import Path

import cv2
import numpy as np
import pytest

from conftest import assert_one_line
from photos import PhotoRecipe
from shapes_gen import ColouredRecipe, ToyRecipe

RECIPES = {
    "coloured": ColouredRecipe((1, 4), 6),
    "dense": ColouredRecipe((1, 2), 4, dense_memory=True),
    "toy": ToyRecipe((1, 3), 6),
    "photos": PhotoRecipe((1, 2), 6),
}


@pytest.mark.parametrize("name", RECIPES)
def test_files_hold_what_the_dataset_holds(make, run, tmp_path: Path, name: str) -> None:
    dataset = make(RECIPES[name])
    result = run("ivl-shards", "export", "data.h5", "--format", "files", "out")
    assert result.returncode == 0, result.stderr
    about = json.loads((tmp_path / "out" / "dataset.json").read_text())
    assert about["content_sha256"] == dataset.attributes["content_sha256"]
    for i, sample in enumerate(dataset):
        ending = "jpg" if name == "photos" else "png"
        pixels = cv2.imread(str(tmp_path / "out" / f"{i:06d}.{ending}"), cv2.IMREAD_UNCHANGED)
        assert np.array_equal(pixels if pixels.ndim == 2 else pixels[..., ::-1], sample.image)
        labels = json.loads((tmp_path / "out" / f"{i:06d}.json").read_text())
        assert labels[dataset.schema.sequence] == sample.length
        if "steps" in sample:
            steps = cv2.imread(str(tmp_path / "out" / f"{i:06d}.steps.png"), cv2.IMREAD_UNCHANGED)
            assert np.array_equal(steps, sample["steps"])
        else:
            assert np.allclose(labels["centres"], sample["centres"])
        if name == "dense":
            memory = np.load(tmp_path / "out" / f"{i:06d}.memory.npy")
            assert np.allclose(memory[1], sample.memory(1), atol=2e-3)
        if name == "photos":
            assert labels["text"] == [t.decode() for t in sample["text"]]


def test_webdataset_reads_the_tar_files(make, run, tmp_path: Path) -> None:
    webdataset = pytest.importorskip("webdataset")
    dataset = make(RECIPES["toy"])
    for out in ("out", "again"):
        assert run("ivl-shards", "export", "data.h5", "--format", "webdataset", out).returncode == 0
    one, two = ((tmp_path / out / "000000.tar").read_bytes() for out in ("out", "again"))
    assert one == two
    read = webdataset.WebDataset(str(tmp_path / "out" / "000000.tar"), shardshuffle=False)
    rows = list(read.decode("rgb8"))
    assert [row["__key__"] for row in rows] == [f"{i:06d}" for i in range(6)]
    for row, sample in zip(rows, dataset, strict=True):
        assert np.array_equal(row["png"][..., 0], sample.image)
        assert np.array_equal(row["steps.png"][..., 0], sample["steps"])
        assert row["json"]["label"] == sample["label"].tolist()


def test_nothing_is_written_over(make, run, tmp_path: Path) -> None:
    make(RECIPES["toy"])
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "precious.txt").write_text("mine")
    result = run("ivl-shards", "export", "data.h5", "--format", "files", "out")
    assert_one_line(result, 2, "out", "not empty")
    result = run("ivl-shards", "export", "data.h5", "--format", "files", "no/where")
    assert_one_line(result, 2, "no/where")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["data.h5", "out"]

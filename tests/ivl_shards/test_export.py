"""Export as plain files and as tar files; test_interchange.py has ICDAR and COCO."""

import json
from pathlib import Path

import cv2
import numpy as np
import pytest

from commands import assert_one_line
from given import GIVEN, make_given
from ivl_shards.format.schema import plain


@pytest.mark.parametrize("name", GIVEN)
def test_files_hold_what_the_dataset_holds(run, tmp_path: Path, name: str) -> None:
    dataset = make_given(name, tmp_path)
    result = run("ivl-shards", "export", "data.h5", "--format", "files", "out")
    assert result.returncode == 0, result.stderr
    about = json.loads((tmp_path / "out" / "dataset.json").read_text())
    assert about["content_sha256"] == dataset.attributes["content_sha256"]
    for i, sample in enumerate(dataset):
        ending = "jpg" if name in ("photos", "dota", "icdar", "text") else "png"
        pixels = cv2.imread(str(tmp_path / "out" / f"{i:06d}.{ending}"), cv2.IMREAD_UNCHANGED)
        assert np.array_equal(pixels if pixels.ndim == 2 else pixels[..., ::-1], sample.image)
        labels = json.loads((tmp_path / "out" / f"{i:06d}.json").read_text(), parse_constant=fail)
        assert labels[dataset.schema.sequence] == sample.length
        if "steps" in sample:
            steps = cv2.imread(str(tmp_path / "out" / f"{i:06d}.steps.png"), cv2.IMREAD_UNCHANGED)
            assert np.array_equal(steps, sample["steps"])
        else:
            assert np.allclose(np.reshape(labels["centres"], (-1, 2)), sample["centres"])
        if name == "dense":
            memory = np.load(tmp_path / "out" / f"{i:06d}.memory.npy")
            assert np.allclose(memory[1], sample.memory(1), atol=2e-3)
        if name == "photos":
            assert labels["text"] == [t.decode() for t in sample["text"]]
        if name == "text":
            assert labels["line_text"] == [t.decode() for t in sample["line_text"]]
            assert np.allclose(labels["word_quad"], sample["word_quad"])
            assert labels["font"] == sample["font"].item().decode()


def fail(constant: str) -> None:
    """JSON has no NaN; what Python writes in its place other readers refuse."""
    raise AssertionError(constant)


def test_what_is_not_a_number_is_null() -> None:
    assert plain(np.array([1.5, np.nan], np.float32)) == [1.5, None]
    assert plain(np.array(np.nan)) is None


@pytest.mark.parametrize("name", ["toy", "text"])
def test_webdataset_reads_the_tar_files(run, tmp_path: Path, name: str) -> None:
    webdataset = pytest.importorskip("webdataset")
    dataset = make_given(name, tmp_path)
    for out in ("out", "again"):
        assert run("ivl-shards", "export", "data.h5", "--format", "webdataset", out).returncode == 0
    one, two = ((tmp_path / out / "000000.tar").read_bytes() for out in ("out", "again"))
    assert one == two
    read = webdataset.WebDataset(str(tmp_path / "out" / "000000.tar"), shardshuffle=False)
    rows = list(read.decode("rgb8"))
    assert [row["__key__"] for row in rows] == [f"{i:06d}" for i in range(6)]
    for row, sample in zip(rows, dataset, strict=True):
        assert np.array_equal(row["steps.png"][..., 0], sample["steps"])
        if name == "toy":
            assert np.array_equal(row["png"][..., 0], sample.image)
            assert row["json"]["label"] == sample["label"].tolist()
        else:
            # Two decoders of JPEG may differ a little.
            assert np.abs(row["jpg"].astype(int) - sample.image).mean() < 1
            assert row["json"]["line_text"] == [t.decode() for t in sample["line_text"]]
            assert np.allclose(row["json"]["line_quad"], sample["line_quad"])


def test_nothing_is_written_over(run, tmp_path: Path) -> None:
    make_given("toy", tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "precious.txt").write_text("mine")
    result = run("ivl-shards", "export", "data.h5", "--format", "files", "out")
    assert_one_line(result, 2, "out", "not empty")
    result = run("ivl-shards", "export", "data.h5", "--format", "files", "no/where")
    assert_one_line(result, 2, "no/where")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["data.h5", "out"]

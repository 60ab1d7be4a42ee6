"""Datasets of many shards: rows are found by the index, without opening shards as HDF5."""

import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import shapes_gen
from commands import ROOT, assert_one_line, tool
from crafted import reseal
from ivl_shards import Dataset, open_dataset
from ivl_shards.format import index as index_module
from ivl_shards.format.dataset_files import DatasetFiles, Hdf5Shard
from ivl_shards.inspect.verify import problems
from shapes_gen import ColouredRecipe, ToyRecipe


@pytest.fixture
def many(tmp_path: Path) -> Path:
    shapes_gen.generate(
        ColouredRecipe((3, 4, 5), 35), tmp_path / "many.h5", shard_size=4, workers=1
    )
    return tmp_path / "many.h5"


def change_attribute(path: Path, name: str, value: str) -> None:
    """Change an attribute of an index, whose tables stay at the end of the file."""
    data = path.read_bytes()
    end = max(row["from_end"] for row in json.loads(h5py.File(path).attrs["places"]).values())
    tables = data[len(data) - end :]
    path.write_bytes(data[: len(data) - end])
    with h5py.File(path, "r+") as file:
        file.attrs[name] = value
    with path.open("ab") as file:
        file.write(tables)
    reseal(path)


def same(one: Dataset, other: Dataset) -> bool:
    return all(
        np.array_equal(a[name], b[name]) for a, b in zip(one, other, strict=True) for name in a
    )


def test_rows_are_found_without_hdf5(many: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = [Hdf5Shard(path) for path in open_dataset(many).shards]
    dataset = open_dataset(many)
    monkeypatch.setattr(h5py, "File", None)  # any use of HDF5 fails from here
    for i in (0, 34, 17, 3, 4):
        assert np.array_equal(dataset[i].image, expected[i // 4]["image"].row(i % 4))
    assert dataset.lengths.tolist() == ([3, 4, 5] * 12)[:35]
    assert len(dataset.where(object_count=4)) == 12


def test_photographs_and_step_maps_are_found_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from textblocks_gen import TextRecipe, generate

    for name, size in (("one.h5", None), ("many.h5", 3)):
        generate(TextRecipe((1, 2), 8), tmp_path / name, shard_size=size, workers=1)
    one, many = open_dataset(tmp_path / "one.h5"), open_dataset(tmp_path / "many.h5")
    assert one[0].length == 1  # a single file is opened as HDF5, once
    monkeypatch.setattr(h5py, "File", None)
    assert many.schema["image"].storage == "encoded"
    assert same(one, many)


def test_an_index_without_places_is_read_as_before(many: Path) -> None:
    whole = [sample.image for sample in open_dataset(many)]
    change_attribute(many, "places", "{}")
    assert all(map(np.array_equal, whole, (s.image for s in open_dataset(many))))


def test_a_shard_that_was_made_again_is_opened_as_hdf5(many: Path) -> None:
    """Its content is the same but not its bytes, so the places in the index do not hold for it."""
    dataset = open_dataset(many)
    expected = dataset[5].image
    path = dataset.shards[1]
    with h5py.File(path, "r+") as file:
        file.attrs["versions"] = json.dumps({"ivl": "another"})
    reseal(path)
    assert np.array_equal(open_dataset(many)[5].image, expected)


def test_a_shard_of_another_dataset_is_refused(many: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    shapes_gen.generate(ColouredRecipe((3, 4, 5), 35, seed=1), other / "many.h5", shard_size=4)
    shard = open_dataset(other / "many.h5").shards[1]
    open_dataset(many).shards[1].write_bytes(shard.read_bytes())
    with pytest.raises(Exception, match="belongs to another dataset"):
        open_dataset(many)[5]


@pytest.mark.parametrize("content", [b"", b"short", b"x" * 5000])
def test_a_shard_that_is_something_else_gives_one_line(many: Path, content: bytes) -> None:
    path = open_dataset(many).shards[1]
    path.write_bytes(content)
    for command in (["info"], ["export", "--format", "files", "--quiet"]):
        out = [str(many.with_name("out"))] if command[0] == "export" else []
        words = [tool("ivl-shards"), *command, str(many), *out]
        run = subprocess.run(words, capture_output=True, text=True)
        assert_one_line(run, 2, str(path))


@pytest.mark.parametrize(
    "value",
    [
        "[]x",
        '{"image": 3}',
        '{"image": {"from_end": -1, "per": "sample"}}',
        '{"image": {"from_end": 1e9, "per": "sample"}}',
    ],
)
def test_odd_places_give_one_line(many: Path, value: str) -> None:
    change_attribute(many, "places", value)
    command = [tool("ivl-shards"), "info", str(many)]
    run = subprocess.run(command, capture_output=True, text=True)
    assert_one_line(run, 2, str(many), "damaged")


def test_places_that_lead_astray_are_noticed(many: Path) -> None:
    """Wrong offsets never read outside a shard, and `verify` finds them."""
    rows = json.loads(h5py.File(many).attrs["places"])
    data = bytearray(many.read_bytes())
    begin = len(data) - rows["image"]["from_end"]
    data[begin : begin + 8] = (2**63).to_bytes(8, "little")
    begin = len(data) - rows["digest"]["from_end"]
    data[begin + 8 : begin + 16] = (600).to_bytes(8, "little")
    many.write_bytes(data)
    reseal(many)
    with pytest.raises(Exception, match="beyond the end of the file"):
        open_dataset(many)[0]
    found = list(problems(many))
    assert any("beyond the end" in line for line in found)
    assert any("places" in line for line in found)


def test_many_shards_stand_in_groups(many: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain HDF5 reads them through the index and its groups; verify checks the groups."""
    expected = open_dataset(many).column("centres")
    many.unlink()
    monkeypatch.setattr(index_module, "GROUP", 4)
    made = shapes_gen.generate(ColouredRecipe((3, 4, 5), 35), many, shard_size=4, workers=1)
    assert made.rendered == 0
    groups = sorted(many.with_name("many.h5.shards").glob("*.group"))
    assert len(groups) == 3
    with h5py.File(many) as file:
        assert np.array_equal(file["centres"][:], expected)
        assert file["image"][34].any()
    assert list(problems(many)) == []
    groups[1].write_bytes(groups[0].read_bytes())
    assert "lists other shards" in next(iter(problems(many)))
    # A run that finds everything complete leaves the groups alone.
    shapes_gen.generate(ColouredRecipe((3, 4, 5), 35), many, shard_size=4, workers=1)
    assert len(list(many.with_name("many.h5.shards").glob("*.group"))) == 3


def test_a_pickled_dataset_opens_its_files_again(many: Path) -> None:
    dataset = open_dataset(many)
    first = dataset[0].image
    assert np.array_equal(pickle.loads(pickle.dumps(dataset))[0].image, first)


def test_few_files_are_open_at_a_time(tmp_path: Path) -> None:
    shapes_gen.generate(ToyRecipe((1,), 60), tmp_path / "toy.h5", shard_size=1, workers=1)
    program = (
        "import os, resource, sys\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))\n"
        "from ivl_shards import open_dataset\n"
        "dataset = open_dataset(sys.argv[1])\n"
        "print(sum(sample.length for sample in dataset), len(dataset.lengths))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "toy.h5")], capture_output=True, text=True
    )
    assert run.stdout.split() == ["60", "60"], run.stderr


def test_verify_with_several_processes_finds_the_same(
    many: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ivl_shards.inspect.verify.SEVERAL_PROCESSES", 1)
    assert list(problems(many, workers=2)) == []
    path = DatasetFiles(many).shard_path(2)
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    alone, together = list(problems(many, workers=1)), list(problems(many, workers=2))
    assert alone == together
    assert len(alone) == 1 and str(path) in alone[0]


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
def test_the_index_takes_no_memory_for_each_shard(tmp_path: Path) -> None:
    """Ten times the shards take little more memory; HDF5 would need 30 kB for each."""
    shapes_gen.generate(ToyRecipe((1,), 2), tmp_path / "toy.h5", workers=1)
    peaks = []
    for shards in (500, 5000):
        run = subprocess.run(
            [sys.executable, ROOT / "perf" / "many_shards.py"]
            + [str(tmp_path / "toy.h5"), str(tmp_path / f"{shards}.h5"), str(shards)],
            capture_output=True,
            text=True,
        )
        assert not run.stderr
        peaks.append(float(run.stdout))
    assert peaks[1] - peaks[0] < 40, peaks


def test_the_example_in_the_docs_finds_an_image(
    many: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (ROOT / "docs" / "FORMAT.md").read_text("utf-8").partition("## Places")[2]
    example = text.partition("```python\n")[2].partition("```")[0]
    monkeypatch.chdir(many.parent)
    names: dict[str, Any] = {}
    exec(example, names)
    assert np.array_equal(names["image"], open_dataset(many)[7].image)

"""Our files read by third-party tools: h5py, PyTorch, Hugging Face datasets."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import shapes_gen
from commands import ROOT
from ivl_shards import Dataset, open_dataset
from photos import PhotoRecipe
from shapes_gen import ColouredRecipe, ToyRecipe

COLOURED = ColouredRecipe(counts=(3, 4, 10), total=24)
TOY = ToyRecipe(counts=(1, 3), total=24)
FORMAT = ROOT / "docs" / "FORMAT.md"


def examples() -> list[str]:
    found = re.findall(r"```python\n(.*?)```", FORMAT.read_text("utf-8"), re.DOTALL)
    assert len(found) == 5
    return found


@pytest.mark.parametrize("shard_size", [None, 10], ids=["one file", "shards"])
@pytest.mark.parametrize("example", range(5))
def test_the_examples_of_the_contract(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, example: int, shard_size: int | None
) -> None:
    shapes_gen.generate(COLOURED, tmp_path / "test.h5", workers=1, shard_size=shard_size)
    shapes_gen.generate(TOY, tmp_path / "toy-test.h5", workers=1, shard_size=shard_size)
    monkeypatch.chdir(tmp_path)
    result: dict[str, object] = {}
    exec(examples()[example], result)  # noqa: S102
    counted, read = open_dataset("test.h5"), open_dataset("toy-test.h5")
    wanted = counted[7] if example == 0 else read[7]
    if example < 3:
        assert np.allclose(result["memory"], wanted.memory(2), atol=1e-5)
        assert np.allclose(result["delta"], wanted.delta(2), atol=1e-5)
    if example == 3:
        assert result["digest"] == counted.stored(7)["digest"].tobytes()
        assert result["content"] == counted.attributes["content_sha256"]


def test_plain_h5py_reads_an_index_from_any_folder(make, tmp_path: Path) -> None:
    dataset = make(COLOURED, shard_size=10)
    code = (
        "import h5py, sys; f = h5py.File(sys.argv[1]);"
        "print(sorted(f), f['image'].is_virtual, int(f['image'][23].astype(int).sum()))"
    )
    for folder in (tmp_path, Path("/")):
        ran = subprocess.run(
            [sys.executable, "-c", code, dataset.path], cwd=folder, capture_output=True, text=True
        )
        assert str(int(dataset[23].image.astype(int).sum())) in ran.stdout, ran.stderr
        assert "True" in ran.stdout


@pytest.mark.parametrize("context", ["fork", "spawn"])
@pytest.mark.parametrize("shard_size", [None, 10], ids=["one file", "shards"])
def test_a_torch_loader_with_two_workers(make, context: str, shard_size: int | None) -> None:
    from torch.utils.data import DataLoader

    dataset: Dataset = make(COLOURED, shard_size=shard_size)
    dataset[0]  # open in this process first, which is what breaks careless readers
    loader = DataLoader(
        dataset.padded(), batch_size=6, num_workers=2, multiprocessing_context=context
    )
    batches = list(loader)
    assert batches[0]["image"].shape == (6, 128, 128, 3)
    centres = np.concatenate([b["centres"].numpy() for b in batches])
    assert np.array_equal(centres, dataset.column("centres"))


def test_a_torch_loader_of_samples(make) -> None:
    from torch.utils.data import DataLoader

    loader = DataLoader(make(TOY), batch_size=4, collate_fn=list, num_workers=2)
    assert [s.length for batch in loader for s in batch] == [1, 3] * 12


def test_reading_and_making_need_no_torch() -> None:
    code = "import sys, ivl_shards.cli, shapes_gen.cli; assert 'torch' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.parametrize(
    "recipe", [COLOURED, TOY, PhotoRecipe((1, 2), 24)], ids=["coloured", "toy", "photos"]
)
@pytest.mark.parametrize("shard_size", [None, 10], ids=["one file", "shards"])
def test_hugging_face_datasets(
    make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recipe, shard_size: int | None
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    datasets = pytest.importorskip("datasets")
    ours: Dataset = make(recipe, shard_size=shard_size)
    theirs = datasets.load_dataset(
        "hdf5",
        data_files=[str(path) for path in ours.shards],
        split="train",
        cache_dir=str(tmp_path / "cache"),
    ).with_format("numpy")
    assert len(theirs) == len(ours)
    for i in (0, 11, 23):
        stored = ours.stored(i)
        assert set(theirs[i]) == set(stored)
        assert all(np.array_equal(theirs[i][name], stored[name]) for name in stored)

"""Our files read by third-party tools: h5py, PyTorch, Hugging Face datasets.

What they read of exports is in test_parquet.py, test_export.py (WebDataset) and
test_interchange.py (pycocotools).
"""

import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shapes_gen
from commands import ROOT
from given import make_given
from ivl_shards import Dataset, open_dataset
from photos import PhotoRecipe
from shapes_gen import ColouredRecipe, ToyRecipe

COLOURED = ColouredRecipe(counts=(3, 4, 10), total=24)
TOY = ToyRecipe(counts=(1, 3), total=24)
FORMAT = ROOT / "docs" / "FORMAT.md"


COUNTING, READING = ("coloured", "dota"), ("toy", "text", "icdar")
# Each example of FORMAT.md, in its order, and the datasets that it speaks of.
EXAMPLES = {
    "counting": COUNTING,
    "reading": READING,
    "with our reader": COUNTING + READING,
    "content": COUNTING + READING,
    "bytes": COUNTING + READING,
    "places": (),  # speaks of an index; test_index.py runs it
}


def example(name: str) -> str:
    found = re.findall(r"```python\n(.*?)```", FORMAT.read_text("utf-8"), re.DOTALL)
    return dict(zip(EXAMPLES, found, strict=True))[name]


@pytest.fixture(scope="module")
def datasets(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Dataset]:
    """Small datasets of all generators by name, made once."""

    @cache
    def made(name: str) -> Dataset:
        folder = tmp_path_factory.mktemp(name)
        if name == "coloured-in-shards":
            shapes_gen.generate(COLOURED, folder / "data.h5", workers=1, shard_size=10)
            return open_dataset(folder / "data.h5")
        return make_given(name, folder)

    return made


@pytest.mark.parametrize(
    ("name", "given"),
    [(name, given) for name, all_given in EXAMPLES.items() for given in all_given]
    + [(name, "coloured-in-shards") for name in ("counting", "with our reader", "content")],
)
def test_the_examples_of_the_contract(
    name: str, given: str, datasets, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each works as it stands on every dataset that it speaks of."""
    dataset = datasets(given)
    chosen = int(np.flatnonzero(dataset.lengths >= 2)[-1])  # they look at step 2 of sample 7
    code, named = re.subn(r"(toy-)?test\.h5", "data.h5", example(name))
    code, numbered = re.subn(r"\b7\b", str(chosen), code)
    assert named == 1 and numbered == (name != "bytes")
    monkeypatch.chdir(dataset.path.parent)
    result: dict[str, Any] = {}
    exec(code, result)  # noqa: S102
    sample = dataset[chosen]
    if "memory" in result:
        # Two decoders of JPEG may differ a little.
        tolerance = 1.0 if given in ("dota", "text", "icdar") else 0
        assert result["image"].shape == sample.image.shape
        assert np.abs(result["image"].astype(int) - sample.image).mean() <= tolerance
        assert np.allclose(result["memory"], sample.memory(2), atol=1e-5)
        assert np.allclose(result["delta"], sample.delta(2), atol=1e-5)
    if name == "content":
        assert result["digest"] == dataset.stored(chosen)["digest"].tobytes()
        assert result["content"] == dataset.attributes["content_sha256"]


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

"""What every dataset promises, whoever makes it. A new generator joins by a line in cases.py."""

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from cases import CASES, Case
from ivl_shards import Dataset, Made, Recipe, generate, open_dataset
from ivl_shards.inspect.verify import problems
from textblocks_gen import TEXT, complete


@dataclass(frozen=True)
class Ready:
    """A case with its outside data in place."""

    case: Case
    recipe: Recipe
    source: Any

    def make(self, out: Path, recipe: Recipe | None = None, **options: Any) -> Made:
        options = {"workers": 1, "source": self.source, **options}
        return generate(self.case.generator, recipe or self.recipe, out, **options)


@pytest.fixture(scope="module", params=CASES, ids=str)
def ready(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Ready:
    case = CASES[request.param]
    return Ready(case, *case.prepare(tmp_path_factory.mktemp("outside")))


@pytest.fixture(scope="module")
def made(ready: Ready, tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """The case's dataset, made by one worker in one file."""
    out = tmp_path_factory.mktemp("promises") / "data.h5"
    ready.make(out)
    return open_dataset(out)


def needs_chance(ready: Ready) -> None:
    if not ready.case.drawn:
        pytest.skip("its samples are cut from given images, not drawn")


def content(path: Path) -> str:
    return str(open_dataset(path).attributes["content_sha256"])


def test_content_is_the_same_on_every_machine(ready: Ready, made: Dataset) -> None:
    # With the pinned packages. If you change what is rendered on purpose, raise the
    # generator's version and put the new checksum into cases.py.
    assert made.attributes["content_sha256"] == ready.case.content


@pytest.mark.parametrize(
    "options",
    [{"workers": 2}, {"workers": 1, "shard_size": 97}, {"workers": 2, "shard_size": 11}],
    ids=str,
)
def test_content_depends_on_neither_workers_nor_shard_size(
    ready: Ready, made: Dataset, tmp_path: Path, options: dict[str, int]
) -> None:
    out = tmp_path / "data.h5"
    ready.make(out, **options)
    assert content(out) == made.attributes["content_sha256"]
    for i in range(0, len(made), 37):
        theirs, ours = open_dataset(out)[i], made[i]
        assert theirs.keys() == ours.keys()
        assert all(np.array_equal(theirs[name], ours[name]) for name in ours)
    assert list(problems(out)) == []


def test_one_file_is_the_same_to_the_byte(ready: Ready, made: Dataset, tmp_path: Path) -> None:
    out = tmp_path / "data.h5"
    ready.make(out, workers=2)
    assert out.read_bytes() == made.path.read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["data.h5"]


def test_verify_finds_nothing_wrong(made: Dataset) -> None:
    assert list(problems(made.path)) == []


def test_a_longer_dataset_begins_with_the_shorter_one(
    ready: Ready, made: Dataset, tmp_path: Path
) -> None:
    needs_chance(ready)
    longer = replace(ready.recipe, total=ready.recipe.total + len(ready.recipe.counts))
    ready.make(tmp_path / "longer.h5", longer)
    digests = open_dataset(tmp_path / "longer.h5").column("digest")
    assert np.array_equal(digests[: len(made)], made.column("digest"))
    assert len(np.unique(digests, axis=0)) == len(digests), "two samples are the same"


def test_another_seed_or_split_shares_no_sample(
    ready: Ready, made: Dataset, tmp_path: Path
) -> None:
    needs_chance(ready)
    digests = {row.tobytes() for row in made.column("digest")}
    seeded = replace(ready.recipe, seed=ready.recipe.seed + 1, total=100)
    if ready.case.generator is TEXT:
        seeded = complete(seeded, ready.source)  # another seed draws on other textures
    for k, other in enumerate([seeded, replace(ready.recipe, split="other", total=100)]):
        ready.make(tmp_path / f"{k}.h5", other)
        others = {row.tobytes() for row in open_dataset(tmp_path / f"{k}.h5").column("digest")}
        assert not digests & others


def test_plain_h5py_sees_every_sample(made: Dataset) -> None:
    with h5py.File(made.path) as file:
        assert all(len(file[name]) == len(made) for name in file)
        assert all(file[name].attrs["meaning"] for name in file)
        for i in (0, len(made) - 1):
            stored = made.stored(i)
            assert all(np.array_equal(file[name][i], stored[name]) for name in file)
        digests = file["digest"][:].tobytes()
        assert hashlib.sha256(digests).hexdigest() == file.attrs["content_sha256"]


def test_the_memory_goes_from_nothing_to_everything(made: Dataset) -> None:
    for sample in made[:30]:
        assert not sample.memory(0).any()
        assert not sample.delta(sample.length).any()
        for t in range(sample.length):
            grown = sample.memory(t + 1) - sample.memory(t)
            assert grown.min() >= 0
            assert grown.max() > 0
            if made.schema.memory == "steps":
                assert np.array_equal(grown, sample.delta(t))
            else:
                left = sample.memory(sample.length) - sample.memory(t)
                assert np.allclose(left, sample.delta(t), atol=1e-5)


def test_it_is_left_alone_when_complete(ready: Ready, made: Dataset) -> None:
    before = made.path.stat()
    done = ready.make(made.path)
    assert done.rendered == 0
    assert made.path.stat().st_mtime_ns == before.st_mtime_ns

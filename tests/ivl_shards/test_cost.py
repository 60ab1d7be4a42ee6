"""Before a long run: its cost is announced, and a disk that is too small stops it in time."""

import shutil
from collections import namedtuple
from pathlib import Path

import pytest

import shapes_gen
from ivl_shards import UserError, open_dataset
from ivl_shards.generation.cost import Cost
from shapes_gen import ColouredRecipe

Usage = namedtuple("Usage", "total used free")


def test_the_cost_is_measured_on_the_first_shard(tmp_path: Path) -> None:
    announced: list[Cost] = []
    options = {"workers": 1, "shard_size": 10, "announce": announced.append}
    shapes_gen.generate(ColouredRecipe((3, 4), 60, size=48), tmp_path / "out.h5", **options)
    (cost,) = announced
    assert cost.samples == 50
    shards = sum(path.stat().st_size for path in open_dataset(tmp_path / "out.h5").shards)
    assert 0.5 * shards < cost.bytes < shards
    assert cost.seconds is not None and cost.seconds > 0
    assert str(cost).startswith("50 samples to go: about 0.0 minutes and 0.")


def test_one_shard_has_nothing_to_announce(tmp_path: Path) -> None:
    announced: list[Cost] = []
    recipe = ColouredRecipe((3,), 8, size=48)
    shapes_gen.generate(recipe, tmp_path / "out.h5", workers=1, announce=announced.append)
    assert announced == []


def test_a_disk_that_is_too_small_stops_the_run_unless_forced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(1 << 40, 1 << 40, 50_000))
    recipe, out = ColouredRecipe((3, 4), 60, size=48), tmp_path / "out.h5"
    options = {"workers": 1, "shard_size": 10}
    with pytest.raises(UserError, match="out.h5: 50 samples to go.*--force"):
        shapes_gen.generate(recipe, out, **options)
    assert not out.exists() and list(tmp_path.rglob("*.h5"))  # the finished shard is kept
    made = shapes_gen.generate(recipe, out, force=True, **options)
    assert made.rendered == 50 and len(open_dataset(out)) == 60

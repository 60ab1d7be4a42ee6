"""The dataset, the task, the metric and the model of docs/EXTEND.md do what the page says."""

import importlib
import json
import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch

import ivl_shards
import shapes_gen
from benchmark.data.batches import make_batch
from benchmark.registry import find_task
from commands import assert_one_line
from ivl_shards import open_dataset
from ivl_shards.inspect.verify import problems
from pages import given_files_of_extend, named_files
from shapes_gen import ColouredRecipe

PAGE = "docs/EXTEND.md"


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Import a file of the page."""
    given_files_of_extend(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)

    def loaded(name: str) -> ModuleType:
        return importlib.import_module(name)

    return loaded


@pytest.mark.parametrize(("name", "most"), [("rings.py", 60), ("small_counter.py", 40)])
def test_it_is_short(name: str, most: int) -> None:
    assert len(named_files(PAGE)[name].splitlines()) < most


def test_the_dataset_has_the_guarantees_of_the_engine(load, tmp_path: Path) -> None:
    rings = load("rings")
    recipe = rings.RingRecipe((0, 3, 16), 30)
    for name, options in (("one.h5", {}), ("many.h5", {"shard_size": 7})):
        ivl_shards.generate(rings.RINGS, recipe, tmp_path / name, workers=1, **options)
        assert list(problems(tmp_path / name)) == []
    one, many = open_dataset(tmp_path / "one.h5"), open_dataset(tmp_path / "many.h5")
    assert one.attributes["content_sha256"] == many.attributes["content_sha256"]


def test_the_rings_are_where_the_labels_say(load, tmp_path: Path) -> None:
    rings = load("rings")
    ivl_shards.generate(rings.RINGS, rings.RingRecipe((5,), 4), tmp_path / "five.h5", workers=1)
    for sample in open_dataset(tmp_path / "five.h5"):
        ys, xs = np.nonzero(sample.image.max(2) > 110)
        pixels = np.stack([xs, ys], 1) + 0.5  # (M, 2) their centres
        distances = np.hypot(*(pixels[:, None] - sample["centres"]).T)  # (5, M)
        assert np.all(distances.min(0) < 96 / 12 + 3)  # every bright pixel is of a ring
        assert all(near.sum() > 20 for near in distances < 96 / 12 + 3)  # and every ring is there


def test_the_model_learns_and_predictions(load, tmp_path: Path) -> None:
    task = find_task("coloured-shapes")
    shapes_gen.generate(ColouredRecipe((1, 2), 8, size=48), tmp_path / "few.h5", workers=1)
    samples = list(open_dataset(tmp_path / "few.h5"))
    torch.manual_seed(0)
    model = load("small_counter").SmallCounter(task, width=8)
    optimizer = torch.optim.Adam(model.parameters(), 0.02)
    losses = []
    for _ in range(30):
        batch = make_batch(task, samples, [np.random.default_rng(k) for k in range(8)])
        loss = model.loss(batch)
        assert loss.shape == (8,)
        optimizer.zero_grad()
        loss.mean().backward()
        optimizer.step()
        losses.append(loss.mean().item())
    assert losses[-1] < 0.5 * losses[0]
    predictions = model.predict(batch.images)
    assert len(predictions) == 8
    assert all(isinstance(prediction, int) for prediction in predictions)


@pytest.mark.slow
def test_a_sixth_dataset_with_its_own_metric_is_trained_and_reported(load, run, tmp_path) -> None:
    plugin = ["--plugin", "ring_task"]
    listed = run("ivl-bench", *plugin, "tasks")
    assert re.search(r"^rings +counting objects: trained on 3-5", listed.stdout, re.MULTILINE)
    tiny = ["--set", "steps=2", "--set", "batch_size=2", "--threads", "1", "--quiet"]
    trained = run("ivl-bench", *plugin, "run", "--model", "inductive", "--task", "rings", *tiny)
    assert trained.returncode == 0, trained.stderr
    assert "Rings: within one in % by number of objects" in trained.stdout
    assert "paper" not in trained.stdout
    (name,) = (tmp_path / "runs").iterdir()
    again = run("ivl-bench", *plugin, "eval", name, "--json", "--quiet")
    metrics = json.loads(again.stdout)["metrics"]
    assert set(metrics) == {"exact counts", "within one"}
    assert metrics["within one"]["3"]["value"] >= metrics["exact counts"]["3"]["value"]
    page = run("ivl-bench", *plugin, "report", "runs", "--quiet")
    assert page.returncode == 0, page.stderr
    assert "within one" in (tmp_path / "report.html").read_text("utf-8")
    unknown = run("ivl-bench", "eval", name)
    assert_one_line(unknown, 2, "no task 'rings'", "--plugin MODULE")

"""Validation: what choices are made on was neither trained on nor is it the test set."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import torch

import dota_crops
from benchmark import crossval
from benchmark.data.datasets import (
    DataFolder,
    TestSet,
    open_folds,
    open_validation,
    split_validation,
)
from benchmark.evaluation.decoding import Decoding
from benchmark.registry import TASKS, find_task, find_training
from benchmark.results.result import result_from_json
from benchmark.results.tables import describe_test_set, is_comparable
from benchmark.run import Run, run_one, score_weights
from benchmark.tasks.task import Split, Task
from benchmark.training.processes import Processes
from benchmark.training.run_folder import Config
from benchmark.training.weights import load_tensors
from commands import assert_one_line
from dota_crops import DotaRecipe
from dota_root import make_root
from ivl_shards import UserError

PLANES = find_task("dota-planes")
ONE_PROCESS = Processes(0, 1, torch.device("cpu"))


@pytest.fixture
def tiny(tmp_path: Path) -> Iterator[Task]:
    """A task like planes, of 6 small images, trained on one or two objects and scored on three."""
    make_root(tmp_path / "dota", 6, split="train")

    def generate(split: Split, seed: int, out: Path, data: Path) -> None:
        recipe = DotaRecipe(
            split.counts, split.total, seed=seed, split="train", size=48, turns=False
        )
        dota_crops.generate(recipe, out, root=tmp_path / "dota", workers=1)

    task = replace(
        PLANES,
        name="tiny-planes",
        train=Split("train", (1, 2), 36),
        val=Split("train-1-3", (1, 2, 3), 36),
        test=Split("val", (1, 2, 3), 6),
        generate=generate,
        recipe=lambda split, seed: {},
        standard={},
    )
    with patch.dict(TASKS, {task.name: task}):
        yield task


def tiny_run(folder: Path, **options: Any) -> Run:
    changes = {"steps": 2, "batch_size": 2, "fields": [2, 2, 2]}
    training = find_training(PLANES, "inductive", "fast", changes)
    config = Config("tiny-planes", "inductive", "fast", 0, training)
    return Run(config, DataFolder(folder), folder / "runs", ONE_PROCESS, quiet=True, **options)


def images_of(dataset: Any) -> set[str]:
    return set(dataset.column("source_image").tolist())


def test_every_task_has_a_validation_set_with_longer_samples_than_in_training() -> None:
    for task in TASKS.values():
        assert task.val is not None
        assert max(task.val.counts) >= max(task.test.counts) > min(task.train.counts)
        assert task.val != task.test


@pytest.mark.parametrize("name", ["toy-shapes", "coloured-shapes-hard", "text-blocks"])
def test_generated_validation_samples_are_neither_trained_on_nor_tested(
    name: str, tmp_path: Path
) -> None:
    task, digests = find_task(name), []
    assert task.val is not None
    for split in (task.train, task.val, task.test):
        out = tmp_path / f"{split.name}.h5"
        task.generate(replace(split, counts=(3,), total=3), 0, out, tmp_path)
        digests.append(
            {
                bytes(d)
                for d in DataFolder(tmp_path, test=out).open(task, task.test).column("digest")
            }
        )
    assert len(set.union(*digests)) == 9


def test_photographs_of_the_validation_set_were_not_trained_on(tiny: Task, tmp_path: Path) -> None:
    data = DataFolder(tmp_path)
    trained, held_out = split_validation(tiny, data.open(tiny, tiny.train))
    val = open_validation(tiny, data)
    assert images_of(val) and not images_of(val) & images_of(trained)
    assert images_of(held_out) <= images_of(val)
    assert max(val.lengths) == 3 > max(trained.lengths)
    assert len(TestSet(data, split="val").open(tiny)) == len(val)
    with pytest.raises(UserError, match="--split val: leave --lines, --counts and --test out"):
        TestSet(data, counts=(3,), split="val").open(tiny)


def test_folds_hold_every_photograph_once(tiny: Task, tmp_path: Path) -> None:
    divided = open_folds(tiny, DataFolder(tmp_path), 3)
    names = np.concatenate(divided.names)
    assert len(names) == len(set(names.tolist())) == 6 and set(names) == images_of(divided.val)
    with pytest.raises(UserError, match="there are 6 groups"):
        open_folds(tiny, DataFolder(tmp_path), 7)
    with pytest.raises(UserError, match="its samples are generated"):
        open_folds(find_task("toy-shapes"), DataFolder(tmp_path), 3)


def test_a_model_of_cross_validation_scores_photographs_it_has_not_seen(
    tiny: Task, tmp_path: Path
) -> None:
    run = tiny_run(tmp_path)
    seen: list[tuple[set[str], set[str]]] = []

    def watched_train(run: Run, train_set: Any) -> Any:
        seen.append((images_of(train_set), set()))
        return real_train(run, train_set)

    def watched_predict(task: Task, model: Any, part: Any, *rest: Any) -> Any:
        seen[-1][1].update(images_of(part))
        return real_predict(task, model, part, *rest)

    real_train, real_predict = crossval.train_model, crossval.predict_all
    with (
        patch.object(crossval, "train_model", watched_train),
        patch.object(crossval, "predict_all", watched_predict),
    ):
        own, other = crossval.cross_validate(run, 2, [{}, {"thresholds": [0.0, 0.0]}])
    assert len(seen) == 2 and not any(trained & scored for trained, scored in seen)
    assert own.samples == len(open_folds(tiny, DataFolder(tmp_path), 2).val)
    assert own.label == "inductive, 2 folds" and own.images == 6
    # A peak as low as 0 counts: the other thresholds are those that predictions were made with.
    assert other.changes == ("thresholds=0.0,0.0",) and other.scores != own.scores
    fold = next((tmp_path / "runs").glob("*fold1of2"))
    with pytest.raises(UserError, match="trained on samples of this validation set"):
        score_weights(
            fold / "weights.safetensors",
            TestSet(DataFolder(tmp_path), split="val"),
            Decoding(),
            torch.device("cpu"),
        )
    stored = result_from_json(own.to_json(), tmp_path / "result.json")
    assert stored.split == "val" and not is_comparable(stored)
    assert describe_test_set(stored) == "validation set"


def test_a_run_scored_on_validation_samples_is_scored_on_the_test_set_later(
    tiny: Task, tmp_path: Path
) -> None:
    chosen = run_one(tiny_run(tmp_path, split="val"))
    weights = load_tensors(tiny_run(tmp_path).folder.weights)[0]
    final = run_one(tiny_run(tmp_path))
    assert (chosen.split, final.split) == ("val", "test")
    assert chosen.test_data != final.test_data
    after = load_tensors(tiny_run(tmp_path).folder.weights)[0]
    assert all(torch.equal(weights[name], after[name]) for name in weights)


def test_what_cannot_be_validated_is_one_line(run) -> None:
    for arguments, words in (
        (["eval", "toy-shapes-inductive-fast", "--split", "val", "--lines", "3"], "leave --lines"),
        (["eval", "--model", "canvas-height", "--task", "toy-shapes", "--split", "val"], "choose"),
        (["run", "--model", "inductive", "--split", "val", "--test", "x.h5"], "leave --test"),
        (["crossval", "--task", "toy-shapes"], "ivl-bench run --split val"),
        (["crossval", "--try", "steps=3"], "--set"),
        (["crossval", "--try", "thresholds=3,4"], "thresholds"),
        (["crossval", "--folds", "1"], "at least 2"),
        (["crossval", "--model", "end-to-end"], "trained on the photographs of all folds"),
    ):
        assert_one_line(run("ivl-bench", *arguments), 2, words)

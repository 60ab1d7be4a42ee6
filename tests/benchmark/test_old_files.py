"""Files of earlier versions: their old names are read, and no longer written."""

import json
import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch

from benchmark.data.datasets import DataFolder, split_validation
from benchmark.models.load import bundled_weights
from benchmark.old_files import OLD_SETTINGS, upgrade_result
from benchmark.registry import find_task
from benchmark.results.result import read_result
from benchmark.training.checkpoints import State, load_checkpoint, save_checkpoint
from benchmark.training.loop import make_optimizer
from benchmark.training.run_folder import config_from_json
from benchmark.training.settings import (
    TRAINING_OPTIONS,
    Training,
    change_training,
    training_from_json,
)
from benchmark.training.weights import load_tensors, read_metadata, save_tensors
from commands import ROOT
from crafted import reseal
from given import make_given
from ivl_shards import UserError

OLD_TRAINING = {
    "steps": 5,
    "batch": 4,
    "optimiser": "adadelta",
    "rate": 1.0,
    "warm_up": 0.2,
    "decay": 0.5,
    "clip": 2.0,
    "average": 0.9,
    "choose": True,
    "words": 3,
    "finding": 2,
    "locating": 1,
}
SCORE = {"value": 50.0, "low": 40.0, "high": 60.0, "samples": 8}


def old_config(task: str) -> dict:
    names = {"task": task, "model": "inductive", "preset": "fast", "seed": 0}
    return {**names, "training": OLD_TRAINING, "init": ""}


def test_settings_under_their_old_names_are_read() -> None:
    training = training_from_json(OLD_TRAINING)
    assert (training.batch_size, training.learning_rate, training.warmup) == (4, 1.0, 0.2)
    assert (training.weight_decay, training.grad_clip, training.ema) == (0.5, 2.0, 0.9)
    assert (training.keep_best, training.word_steps, training.finder_steps) == (True, 3, 2)
    assert training.optimizer == "adadelta" and training.locate_steps == 1
    assert not OLD_SETTINGS.keys() & training.to_json().keys()
    assert set(OLD_SETTINGS.values()) <= TRAINING_OPTIONS.keys()


@pytest.mark.parametrize("name", OLD_SETTINGS)
def test_set_refuses_an_old_name_by_naming_the_new_one(name: str) -> None:
    with pytest.raises(UserError, match=f"{name}: is called {OLD_SETTINGS[name]} now"):
        change_training(Training(1, 1), {name: 1})


def test_bundled_weights_of_earlier_versions_have_a_configuration() -> None:
    for path in bundled_weights():
        metadata = read_metadata(path)
        assert "surroundings" not in metadata
        assert config_from_json(metadata["config"], path).training.batch_size > 0


def test_results_of_earlier_versions_are_read(tmp_path: Path) -> None:
    wrong = {"wrong": [[1, 2, 3]], "wrong_in_all": 1, "seconds": 2.0}
    one = {
        "config": old_config("toy-shapes"),
        "changes": [],
        "data": {"train": "aa", "test": "bb"},
        "surroundings": {"machine": "abacus", "threads": 1},
        "evaluation": {"scores": {"3": SCORE}, **wrong},
    }
    several = {
        "config": {"task": "text-blocks", "model": "ocr", "preset": "on blocks"},
        "data": "cc",
        "evaluation": {
            "scores": {"3": SCORE},
            "metrics": {"word recall": {"3": SCORE, "all": SCORE}, "edit distance": {"3": SCORE}},
            **wrong,
        },
    }
    planes = {**one, "config": old_config("dota-planes"), "data": {"train": "aa", "val": "dd"}}
    read = {}
    for name, stored in {"one": one, "several": several, "planes": planes}.items():
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(stored))
        read[name] = read_result(path)
    assert read["one"].scores["edit distance"][3].value == 50.0
    assert (read["one"].train_data, read["one"].test_data) == ("aa", "bb")
    assert read["one"].environment["machine"] == "abacus"
    assert set(read["several"].scores) == {"word recall", "edit distance"}
    assert read["several"].scores["word recall"]["all"].low == 40.0
    assert read["several"].config is None and read["several"].test_data == "cc"
    assert read["planes"].test_data == "dd"
    again = upgrade_result(one, "edit distance")
    assert not {"surroundings", "evaluation"} & again.keys()


def test_a_checkpoint_of_an_earlier_version_is_resumed(tmp_path: Path) -> None:
    training = Training(4, 2, ema=0.9)

    def new_state() -> State:
        torch.manual_seed(0)
        model = torch.nn.Linear(2, 2)
        return State(model, make_optimizer(training, model), torch.nn.Linear(2, 2))  # type: ignore[arg-type]

    state = new_state()
    state.model(torch.ones(1, 2)).sum().backward()
    state.optimizer.step()
    state.step = 2
    save_checkpoint(tmp_path / "new.safetensors", state)
    tensors, metadata = load_tensors(tmp_path / "new.safetensors")
    old = {"ema": "average", "optimizer": "optimiser", "model": "model"}
    renamed = {
        f"{old[part]}.{rest}": tensor
        for part, rest, tensor in ((*name.split(".", 1), t) for name, t in tensors.items())
    }
    save_tensors(tmp_path / "old.safetensors", renamed, metadata)
    restored = new_state()
    load_checkpoint(tmp_path / "old.safetensors", restored, training.steps)
    assert restored.step == 2
    for one, other in zip(restored.model.parameters(), state.model.parameters(), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize(("name", "task"), [("dota", "dota-planes"), ("icdar", "icdar-blocks")])
def test_datasets_of_generator_version_1_are_read(tmp_path: Path, name: str, task: str) -> None:
    """DOTA's were called `dota-crops`; ICDAR's named their photographs in lists of one."""
    new = make_given(name, tmp_path)
    names = new.column("source_image")
    path = shutil.copy(new.path, tmp_path / "old.h5")
    with h5py.File(path, "r+") as file:
        file.attrs["generator_version"] = "1"
        if name == "dota":
            file.attrs["task"] = "dota-crops"
        else:
            attributes = dict(file["source_image"].attrs)
            del file["source_image"]
            file["source_image"] = names[:, None]
            file["source_image"].attrs.update(attributes)
    reseal(path)
    found = find_task(task)
    old = DataFolder(tmp_path, test=path).open(found, found.test)
    assert np.array_equal(np.ravel(old.column("source_image")), names)
    assert old[0].length == new[0].length
    for one, other in zip(split_validation(found, old), split_validation(found, new), strict=True):
        assert np.array_equal(one.lengths, other.lengths)


def test_results_on_icdar_blocks_of_version_1_are_on_those_of_today() -> None:
    """Their samples are the same; only the stored form of `source_image`, and so the checksum,
    changed."""
    result = read_result(ROOT / "results" / "models" / "icdar-blocks-inductive.json")
    assert result.test_data.startswith("3d7a3fb1")

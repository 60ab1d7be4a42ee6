"""Datasets of a task: generated when missing, refused when stale, replaced by the user's own."""

import json
from pathlib import Path

import pytest

import shapes_gen
from benchmark.data.datasets import DataFolder, TestSet
from benchmark.data.recipes import recipe_differences
from benchmark.registry import TASKS, find_task
from benchmark.tasks.task import Split
from commands import assert_one_line, own_data
from ivl_shards import UserError, open_dataset
from shapes_gen import ColouredRecipe, ToyRecipe

TOY = find_task("toy-shapes")
FEW = Split("test", (1, 2), 4)
SHAPES = ("toy-shapes", "toy-shapes-fixed", "coloured-shapes", "coloured-shapes-hard")


def test_a_generated_dataset_is_opened_again(tmp_path: Path) -> None:
    first = DataFolder(tmp_path).open(TOY, FEW)
    assert DataFolder(tmp_path).open(TOY, FEW).attributes == first.attributes


@pytest.mark.parametrize(
    ("name", "other"),
    [("toy-shapes", "toy-shapes-fixed"), ("coloured-shapes", "coloured-shapes-hard")],
)
def test_a_variant_is_not_taken_for_its_base_nor_the_other_way(
    name: str, other: str, tmp_path: Path
) -> None:
    data = DataFolder(tmp_path)
    for ours, theirs in ((name, other), (other, name)):
        find_task(theirs).generate(FEW, 0, data.path(find_task(ours), FEW), tmp_path)
        with pytest.raises(UserError, match="not the dataset of"):
            data.open(find_task(ours), FEW)


@pytest.mark.parametrize("name", [*SHAPES, "text-blocks"])
def test_what_a_task_generates_is_not_stale(name: str, tmp_path: Path) -> None:
    """The recipe that is compared is the one that is stored, for train and test alike."""
    task = find_task(name)
    for split in (Split("train", (1, 2), 4), Split("test", (1, 2), 4)):
        stored = DataFolder(tmp_path).open(task, split).recipe
        assert recipe_differences(task.recipe(split, 0), stored) == []


def test_every_task_can_tell_a_stale_dataset() -> None:
    for task in TASKS.values():
        for split in (task.train, task.test):
            assert task.recipe(split, 0)["split"] == split.name


def test_a_stale_dataset_is_named_with_what_differs(tmp_path: Path) -> None:
    data = DataFolder(tmp_path)
    shapes_gen.generate(ToyRecipe((1, 2), 6, seed=3), data.path(TOY, FEW), workers=1)
    with pytest.raises(UserError, match="seed 3 instead of 0, n 3 instead of 2") as error:
        data.open(TOY, FEW)
    assert "--test" in str(error.value) and data.path(TOY, FEW).exists()


def test_a_dataset_of_the_user_s_own_is_used_as_it_is(tmp_path: Path) -> None:
    mine = tmp_path / "any name.h5"
    shapes_gen.generate(ToyRecipe((1, 2), 6, seed=3), mine, workers=1)
    data = DataFolder(tmp_path / "data", test=mine)
    assert len(data.open(TOY, TOY.test)) == 6
    assert len(TestSet(data).open(TOY)) == 6
    with pytest.raises(UserError, match="leave them out with --test"):
        TestSet(data, counts=(3,)).open(TOY)
    assert not (tmp_path / "data").exists()
    with pytest.raises(UserError, match="holds toy-shapes, not coloured-shapes"):
        data.open(find_task("coloured-shapes"), find_task("coloured-shapes").test)


@pytest.mark.slow
def test_a_run_remembers_its_training_data(run, tmp_path: Path) -> None:
    """Another training set under the same name is another run, not the same one resumed."""
    for split, total in (("train", 40), ("test", 4)):
        recipe = ColouredRecipe((1, 2), total, split=split, size=48)
        shapes_gen.generate(recipe, tmp_path / f"coloured-shapes-{split}.h5", workers=1)
    tiny = ["--set", "steps=1", "--set", "batch_size=2", "--set", "width=4", "--threads", "1"]
    own = own_data(tmp_path, "coloured-shapes")
    command = ["run", "--model", "inductive", "--task", "coloured-shapes", *own, *tiny, "--quiet"]
    first = run("ivl-bench", *command, "--json")
    assert first.returncode == 0, first.stderr
    (result,) = json.loads(first.stdout)
    train = tmp_path / "coloured-shapes-train.h5"
    assert result["config"]["train_data"] == open_dataset(train).attributes["content_sha256"]
    recipe = ColouredRecipe((1, 2), 40, seed=5, split="train", size=48)
    shapes_gen.generate(recipe, train, workers=1, overwrite=True)
    assert_one_line(run("ivl-bench", *command), 2, "another configuration")

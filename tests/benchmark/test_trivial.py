"""Trivial rules: they solve the shapes of the paper, and fail on the variants."""

import json
from pathlib import Path

import pytest

from benchmark.baselines.trivial import score_rule
from benchmark.data.datasets import DataFolder, TestSet
from benchmark.registry import find_task
from benchmark.results.result import Result
from commands import assert_one_line


def scored(rule: str, task: str, folder: Path, counts: tuple[int, ...]) -> Result:
    return score_rule(rule, find_task(task), TestSet(DataFolder(folder), counts, 20), quiet=True)


@pytest.mark.parametrize(("task", "right"), [("coloured-shapes", 100), ("coloured-shapes-hard", 0)])
def test_colours_tell_the_count_of_plain_shapes_only(task: str, right: int, tmp_path: Path) -> None:
    result = scored("distinct-colours", task, tmp_path, (3, 5, 10))
    assert {score.value for score in result.scores["exact counts"].values()} == {right}


def test_the_height_tells_the_number_of_lines_unless_it_is_fixed(tmp_path: Path) -> None:
    lines = (1, 3, 10, 20)
    plain = scored("canvas-height", "toy-shapes", tmp_path, lines).scores
    assert all(plain["line count"][n].value == 100 for n in lines)
    assert all(plain["edit distance"][n].value > 80 for n in lines)  # it reads no shapes
    fixed = scored("canvas-height", "toy-shapes-fixed", tmp_path, lines).scores
    # It says twenty of every image.
    assert [fixed["line count"][n].value for n in lines] == [0, 0, 0, 100]


def test_a_rule_is_scored_by_the_command_as_models_are(run, tmp_path: Path) -> None:
    words = ["--model", "distinct-colours", "--task", "coloured-shapes", "--counts", "3,4"]
    folders = ["--data", str(tmp_path), "--results", str(tmp_path / "results")]
    done = run("ivl-bench", "eval", *words, "--n", "3", "--quiet", *folders)
    assert done.returncode == 0, done.stderr
    [path] = (tmp_path / "results").glob("*.json")
    assert json.loads(path.read_text())["metrics"]["exact counts"]["4"]["value"] == 100


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["canvas-height"], "is for --task toy-shapes or toy-shapes-fixed"),
        (["canvas-height", "--task", "toy-shapes", "--beam", "4"], "decodes nothing"),
        (["canvas-height", "--task", "toy-shapes", "--on", "blocks"], "--on: is for ocr"),
        (["canvas-hight", "--task", "toy-shapes"], "did you mean"),
        (["canvas-height", "toy-shapes-inductive-fast"], "give either RUN|WEIGHTS or --model"),
    ],
)
def test_a_rule_takes_no_other_tasks_and_options(run, words, complaint: str) -> None:
    assert_one_line(run("ivl-bench", "eval", "--model", *words), 2, complaint)

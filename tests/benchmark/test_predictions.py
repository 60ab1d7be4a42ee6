"""Predictions of any program can be scored, and what is wrong with a file is said in one line."""

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import shapes_gen
from benchmark.evaluation.predictions import (
    FoundStep,
    Predictions,
    RowPrediction,
    read_predictions,
    write_predictions,
)
from commands import ROOT, assert_one_line, tool
from ivl_shards import open_dataset
from shapes_gen import ColouredRecipe, ToyRecipe

CHECKSUM = "0" * 64


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("counted") / "test.h5"
    shapes_gen.generate(ColouredRecipe((3, 4), 20), path, workers=1)
    return path


def header(dataset: Path, **changes: Any) -> dict[str, Any]:
    checksum = open_dataset(dataset).attributes["content_sha256"]
    usual = {"format": "ivl-predictions-1", "task": "coloured-shapes", "model": "three"}
    return {**usual, "test_data": checksum, **changes}


def rows(n: int = 20) -> list[dict[str, Any]]:
    return [{"row": i, "prediction": 3} for i in range(n)]


def score(folder: Path, dataset: Path, lines: list[Any], *more: str) -> Any:
    path = folder / "predictions.jsonl"
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("\n".join(texts) + "\n", "utf-8")
    command = [tool("ivl-bench"), "score", str(path), "--test", str(dataset), *more]
    return subprocess.run(command, capture_output=True, text=True)


def test_a_constant_counter_is_right_on_its_count(counted: Path, tmp_path: Path) -> None:
    run = score(tmp_path, counted, [header(counted), *reversed(rows())], "--json")
    result = json.loads(run.stdout)
    table = result["metrics"]["exact counts"]
    assert (table["3"]["value"], table["4"]["value"]) == (100.0, 0.0)
    assert result["config"] == {"task": "coloured-shapes", "model": "three", "preset": ""}


def test_a_result_can_be_stored_and_read_again(counted: Path, tmp_path: Path) -> None:
    from benchmark.results.result import read_result

    score(tmp_path, counted, [header(counted), *rows()], "--results", str(tmp_path / "results"))
    (stored,) = (tmp_path / "results").iterdir()
    assert read_result(stored).label == "three"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda h, r: [*r], ["not a file of predictions"]),
        (lambda h, r: [{**h, "format": "other"}, *r], ["not a file of predictions"]),
        (lambda h, r: [{**h, "model": 3}, *r], ["line 1", "model"]),
        (lambda h, r: [{**h, "task": "toy-shapes"}, *r], ["prediction"]),
        (lambda h, r: [{**h, "task": "nothing"}, *r], ["no task 'nothing'"]),
        (lambda h, r: [{**h, "test_data": CHECKSUM}, *r], ["another test set", "00000"]),
        (lambda h, r: [h, *r[:-1]], ["1 of 20 rows", "row 19"]),
        (lambda h, r: [h, *r, r[3]], ["line 22", "row 3 is there twice"]),
        (lambda h, r: [h, *r, {"row": 20, "prediction": 1}], ["row 20", "20 rows"]),
        (lambda h, r: [h, *r[1:], {"row": -1, "prediction": 1}], ["line 21", "row"]),
        (lambda h, r: [h, *r[1:], {"row": 0, "prediction": 2.5}], ["line 21", "whole number"]),
        (lambda h, r: [h, *r[1:], '{"row": 0, "prediction": NaN}'], ["line 21", "NaN"]),
        (lambda h, r: [h, *r[1:], {"row": 0, "prediction": ["a"]}], ["line 21", "whole number"]),
        (lambda h, r: [h, *r[1:], {"row": 0, "prediction": True}], ["line 21", "whole number"]),
        (lambda h, r: [h, *r[1:], {"row": 0}], ["line 21", "prediction"]),
        (lambda h, r: [h, *r[1:], {"row": 0, "predicton": 3}], ["line 21", "did you mean"]),
        (lambda h, r: [h, *r[1:], "not json"], ["line 21", "not JSON"]),
        (lambda h, r: [h, *r[1:], "[" * 100_000], ["line 21", "not JSON"]),
        (lambda h, r: [h, *r[1:], "3"], ["line 21"]),
        (
            lambda h, r: [h, *r[1:], {"row": 0, "prediction": 3, "steps": [{"point": [1]}]}],
            ["line 21", "point"],
        ),
        (
            lambda h, r: [h, *r[1:], '{"row": 0, "prediction": 3, "steps": [{"confidence": 7}]}'],
            ["line 21", "confidence"],
        ),
        (
            lambda h, r: [h, *r[1:], {"row": 0, "prediction": 1, "steps": [{"text": "a"}]}],
            ["line 21", "step 1", "point"],
        ),
        (
            lambda h, r: [h, *r[1:], {"row": 0, "prediction": 2, "steps": [{"point": [1, 2]}]}],
            ["line 21", "1 steps", "2 objects"],
        ),
        (
            lambda h, r: [h, *r[1:], {"row": 0, "prediction": 0, "steps": []}],
            ["19 of 20 rows have no steps", "row 1"],
        ),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    counted: Path, tmp_path: Path, change: Any, words: list[str]
) -> None:
    run = score(tmp_path, counted, change(header(counted), rows()))
    assert_one_line(run, 2, "predictions.jsonl" if words[0] != "no task 'nothing'" else "", *words)


def test_another_task_than_the_one_that_was_asked_for(counted: Path, tmp_path: Path) -> None:
    run = score(tmp_path, counted, [header(counted), *rows()], "--task", "toy-shapes")
    assert_one_line(run, 2, "coloured-shapes", "toy-shapes")


def test_missing_and_odd_files(counted: Path, tmp_path: Path) -> None:
    for path in (tmp_path / "missing.jsonl", tmp_path):
        command = [tool("ivl-bench"), "score", str(path), "--test", str(counted)]
        assert_one_line(subprocess.run(command, capture_output=True, text=True), 2, str(path))


POINTS = st.tuples(*[st.floats(-1e6, 1e6)] * 2)
STEPS = st.builds(
    FoundStep,
    st.text(max_size=20),
    st.none() | st.tuples(*[POINTS] * 4),
    st.none(),
    st.none() | st.floats(0, 1),
)


@given(
    st.lists(STEPS, max_size=4),
    st.booleans(),
    st.integers(0, 1000),
)
def test_predictions_are_read_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory, found: list[FoundStep], with_steps: bool, row: int
) -> None:
    lines, steps = [step.text or "" for step in found], tuple(found) if with_steps else None
    path = tmp_path_factory.mktemp("written") / "p.jsonl"
    written = Predictions("toy-shapes", "mine", CHECKSUM, (RowPrediction(row, lines, steps),))
    try:
        write_predictions(path, written)
    except UnicodeEncodeError:  # lone surrogates cannot be written at all
        return
    assert read_predictions(path, "reading") == written


def test_the_example_in_the_docs_is_scored_without_python(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "PROTOCOL.md").read_text("utf-8")
    example = text.partition("```sh\n")[2].partition("```")[0]
    path = f"{Path(tool('ivl-bench')).parent}:{os.environ['PATH']}"
    run = subprocess.run(
        ["sh", "-ec", example],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    (row,) = [line for line in run.stdout.splitlines() if line.startswith("labels, read")]
    assert row.count("100.0") == 3, run.stdout


@pytest.mark.slow
def test_predict_then_score_gives_what_eval_gives(tmp_path: Path) -> None:
    test = tmp_path / "test.h5"
    shapes_gen.generate(ToyRecipe((1, 2), 8), test, workers=1)
    weights, out = "toy-shapes-inductive-fast", tmp_path / "p.jsonl"

    def bench(*words: str) -> str:
        command = [tool("ivl-bench"), *words, "--test", str(test)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    bench("predict", weights, "--out", str(out), "--quiet")
    scored = json.loads(bench("score", str(out), "--json"))
    evaluated = json.loads(bench("eval", weights, "--json", "--quiet"))
    for name in ("metrics", "wrong", "wrong_total", "steps"):
        assert scored[name] == evaluated[name]
    assert scored["data"]["test"] == evaluated["data"]["test"]


@pytest.mark.slow
def test_ten_thousand_predictions_are_scored_in_seconds(tmp_path: Path) -> None:
    test = tmp_path / "test.h5"
    shapes_gen.generate(ToyRecipe((1, 2, 3), 10_000), test)
    dataset = open_dataset(test)
    path = tmp_path / "p.jsonl"
    found = tuple(RowPrediction(i, ["abcde"] * int(n)) for i, n in enumerate(dataset.lengths))
    checksum = dataset.attributes["content_sha256"]
    write_predictions(path, Predictions("toy-shapes", "mine", checksum, found))
    begun = time.process_time()
    from benchmark.commands.predictions import score_file
    from benchmark.data.datasets import DataFolder, TestSet

    score_file(path, None, TestSet(DataFolder(tmp_path, test=test)))
    assert time.process_time() - begun < 10

"""Step scores: how far a model comes, repeats and omissions, stopping, and the true memory."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import shapes_gen
from benchmark.data.batches import Batch
from benchmark.evaluation.evaluate import evaluate
from benchmark.evaluation.found_steps import mask_quad
from benchmark.evaluation.metrics import Score
from benchmark.evaluation.predictions import (
    FoundStep,
    Predictions,
    RowPrediction,
    write_predictions,
)
from benchmark.evaluation.step_scores import (
    Outcome,
    StepScores,
    TrueLines,
    TrueObjects,
    compare_lines,
    compare_objects,
    quad_overlaps,
    score_steps,
    with_true_memory,
)
from benchmark.evaluation.true_memory import guided_steps
from benchmark.models.contract import InductiveModel
from benchmark.models.peaks import draw_peaks
from benchmark.models.step import Step
from benchmark.registry import find_task
from benchmark.results.report import find_entries
from benchmark.results.result import Result, read_result, result_from_json, write_result
from benchmark.results.step_results import step_table
from commands import assert_one_line, tool
from ivl_shards import UserError, open_dataset
from shapes_gen import ColouredRecipe, ToyRecipe

CPU = torch.device("cpu")
COLOURED, TOY = find_task("coloured-shapes"), find_task("toy-shapes")


def quad(y: float, x: float = 0.0) -> tuple[tuple[float, float], ...]:
    """Return a line of ten by four pixels."""
    return ((x, y), (x + 10, y), (x + 10, y + 4), (x, y + 4))


LINES = TrueLines(("one", "two", "three"), np.array([quad(0), quad(5), quad(10)]))
OBJECTS = TrueObjects(np.array([[5.0, 5], [20, 5]]), radii=np.array([3.0, 3]))


def read(*steps: tuple[str, float]) -> Outcome:
    return compare_lines(LINES, [FoundStep(text, quad(y)) for text, y in steps])


def count(*points: tuple[float, float]) -> Outcome:
    return compare_objects(OBJECTS, [FoundStep(point=point) for point in points])


def values(scores: Any) -> dict[int, float]:
    return {t: score.value for t, score in scores.items()}


PERFECT = read(("one", 0), ("two", 5), ("three", 10))


def test_a_perfect_reader() -> None:
    scores = score_steps([PERFECT, PERFECT])
    assert values(scores.survival) == values(scores.accuracy) == {1: 100, 2: 100, 3: 100}
    assert values(scores.overlap) == {1: 100, 2: 100, 3: 100}
    assert scores.stopped_right.value == scores.precision.value == scores.recall.value == 100
    assert scores.repeats.value == scores.omissions.value == 0


def test_a_line_that_is_read_twice_is_a_repeat_and_the_last_one_an_omission() -> None:
    outcome = read(("one", 0), ("one", 0), ("two", 5))
    assert outcome.found == (0, 0, 1)
    scores = score_steps([outcome])
    assert values(scores.survival) == {1: 100, 2: 0, 3: 0}
    assert scores.repeats.value == scores.omissions.value == pytest.approx(33.33)
    assert scores.stopped_right.value == 100  # as many steps as lines


def test_an_early_stop_ends_survival_and_leaves_an_omission_but_no_repeat() -> None:
    scores = score_steps([read(("one", 0), ("two", 5)), PERFECT])
    assert values(scores.survival) == {1: 100, 2: 100, 3: 50}
    assert (scores.stopped_early.value, scores.stopped_right.value) == (50, 50)
    assert scores.stopped_late.value == scores.repeats.value == 0
    assert scores.omissions.value == pytest.approx(16.67)
    # The overlap is that of steps that were taken.
    assert values(scores.overlap) == {1: 100, 2: 100, 3: 100}
    assert scores.overlap[3].samples == 1


def test_a_step_too_many_is_late_and_finds_nothing() -> None:
    scores = score_steps([read(("one", 0), ("two", 5), ("three", 10), ("", 50))])
    assert scores.stopped_late.value == 100
    assert (scores.precision.value, scores.recall.value, scores.repeats.value) == (75, 100, 0)


def test_a_misread_line_is_found_though_not_right() -> None:
    outcome = read(("one", 0), ("tvo", 5), ("three", 10))
    assert outcome.right == (True, False, True)
    assert outcome.found == (0, 1, 2)
    scores = score_steps([outcome])
    assert values(scores.survival) == {1: 100, 2: 0, 3: 0}
    assert values(scores.accuracy) == {1: 100, 2: 0, 3: 100}
    assert scores.omissions.value == 0


def test_without_quads_lines_are_told_by_their_text() -> None:
    steps = [FoundStep(text) for text in ("one", "three", "three", "four")]
    outcome = compare_lines(LINES, steps)
    assert outcome.found == (0, 2, 2, None)
    assert score_steps([outcome]).overlap == {}


def test_survival_is_over_the_samples_that_are_long_enough() -> None:
    short = compare_lines(TrueLines(("one",)), [FoundStep("wrong")])
    scores = score_steps([short, PERFECT])
    assert values(scores.survival) == {1: 50, 2: 100, 3: 100}
    assert [score.samples for score in scores.survival.values()] == [2, 1, 1]


def test_objects_in_any_order() -> None:
    outcome = count((21, 5), (5, 7))
    assert outcome.right == (True, True)
    scores = score_steps([outcome])
    assert scores.distance is not None and scores.distance.value == 1.5
    assert scores.precision.value == scores.recall.value == 100


def test_an_object_that_is_counted_twice_and_a_point_on_nothing() -> None:
    outcome = count((5, 5), (6, 5), (12, 5))
    assert outcome.right == (True, False, False)
    assert outcome.found == (0, 0, None)
    scores = score_steps([outcome])
    assert scores.repeats.value == scores.precision.value == pytest.approx(33.33)
    assert (scores.omissions.value, scores.recall.value) == (50, 50)
    assert scores.stopped_late.value == 100


def test_of_objects_that_overlap_the_nearest_centre_counts() -> None:
    boxes = np.array([[(0, 0), (10, 0), (10, 10), (0, 10)], [(6, 0), (16, 0), (16, 10), (6, 10)]])
    truth = TrueObjects(np.array([[5.0, 5], [11, 5]]), quads=boxes)
    assert compare_objects(truth, [FoundStep(point=(7, 5)), FoundStep(point=(9, 5))]).found == (
        0,
        1,
    )


def test_samples_without_lines_or_steps() -> None:
    nothing = TrueLines((), np.zeros((0, 4, 2)))
    scores = score_steps(
        [compare_lines(nothing, []), compare_lines(nothing, [FoundStep("a", quad(0))])]
    )
    assert scores.survival == {}
    assert (scores.stopped_right.value, scores.stopped_late.value) == (50, 50)


def test_scores_with_the_true_memory_stand_beside_the_others() -> None:
    scores = with_true_memory(
        score_steps([PERFECT]), [(True, True, False), (True, False, True)], [True, False]
    )
    assert values(scores.true_accuracy) == {1: 100, 2: 50, 3: 50}
    assert values(scores.true_survival) == {1: 100, 2: 50, 3: 0}
    assert scores.true_stop is not None and scores.true_stop.value == 50


SIDES = st.integers(1, 12)


@given(st.integers(0, 20), st.integers(0, 20), SIDES, SIDES)
def test_the_quad_of_a_box_is_that_box(x: int, y: int, width: int, height: int) -> None:
    mask = np.zeros((40, 40), bool)
    mask[y : y + height, x : x + width] = True
    box = [(x, y), (x + width, y), (x + width, y + height), (x, y + height)]
    found = mask_quad(mask)
    assert found is not None
    np.testing.assert_allclose(found, box, atol=0.02)
    assert quad_overlaps([found], np.array([box], float))[0, 0] > 0.98


def test_a_speck_beside_a_line_does_not_move_its_quad() -> None:
    mask = np.zeros((30, 40), bool)
    mask[4:8, 5:30] = True
    assert mask_quad(mask | (np.indices(mask.shape).sum(0) == 67)) == mask_quad(mask)
    assert mask_quad(np.zeros((4, 4), bool)) is None


class Boxes(InductiveModel):
    """Counts spots that differ from the background, as long as its memory has no peak there."""

    kind = "counting"

    def encode(self, images: torch.Tensor) -> torch.Tensor:
        return images

    def step(self, encoded: torch.Tensor, memory: torch.Tensor) -> Step:
        # Told apart from the background by their colour; peaks of the memory cover them.
        ground = encoded.flatten(2).median(2).values[:, :, None, None]
        objects = ((encoded - ground).abs().amax(1) > 0.2).float()
        left = objects * (memory < 0.02)
        smooth = torch.nn.functional.avg_pool2d(left[:, None], 5, 1, 2)[:, 0]
        return Step(smooth, (smooth.amax((1, 2)) < 0.6).float())

    def update(self, memory: torch.Tensor, delta: torch.Tensor) -> torch.Tensor:
        n, height, width = memory.shape
        place = delta.flatten(1).argmax(1)
        centre = torch.stack([place % width, place // width], 1)[:, None] + 0.5
        ones = memory.new_ones(n, 1)
        return memory + draw_peaks(centre, ones, 2.5 * ones[:, 0], (height, width))

    def loss(self, batch: Batch) -> torch.Tensor:
        raise NotImplementedError


class Blind(Boxes):
    """Finds the same object at every step, whatever the memory says, and never stops."""

    def step(self, encoded: torch.Tensor, memory: torch.Tensor) -> Step:
        step = super().step(encoded, torch.zeros_like(memory))
        return replace(step, stop=torch.zeros_like(step.stop))

    def update(self, memory: torch.Tensor, delta: torch.Tensor) -> torch.Tensor:
        after = super().update(memory, delta)
        return torch.where((memory.amax((1, 2)) > 2.5)[:, None, None], memory, after)


@pytest.fixture(scope="module")
def coloured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("coloured") / "test.h5"
    shapes_gen.generate(ColouredRecipe((3, 4), 12, size=64), path, workers=1)
    return path


def test_a_model_that_ignores_its_memory_repeats_one_object(coloured: Path) -> None:
    dataset = open_dataset(coloured)
    scores = evaluate(COLOURED, Blind(), dataset, CPU).steps
    assert scores is not None
    assert values(scores.survival) == {1: 100, 2: 0, 3: 0, 4: 0}
    assert scores.repeats.value == pytest.approx(66.67)  # three steps at the same place
    assert scores.omissions.value == pytest.approx(71.43)  # 30 of 42 objects
    assert scores.distance is not None and scores.distance.value < 8


def test_every_step_is_given_the_true_memory(coloured: Path) -> None:
    dataset = open_dataset(coloured)
    guided = guided_steps(COLOURED, Boxes(), dataset, CPU)
    assert [len(each.right) for each in guided] == dataset.lengths.tolist()
    assert all(each.right[0] for each in guided)
    blind = guided_steps(COLOURED, Blind(), dataset, CPU)
    # The object that it always finds is right until the true memory has it.
    assert all(sorted(each.right, reverse=True) == list(each.right) for each in blind)
    assert not any(each.stopped for each in blind)


def scored(**changes: Any) -> Result:
    steps = with_true_memory(score_steps([PERFECT]), [(True, True, False)], [True])
    facts = {"task": TOY, "model": "mine", "preset": "", "config": None, "changes": ()}
    scores = {TOY.metric.name: {3: Score(0.0, 0.0, 0.0, 1)}}
    rest = {"scores": scores, "wrong": (), "wrong_total": 0, "seconds": 0.0, "test_data": "0" * 64}
    return Result(**{**facts, **rest, "steps": steps, **changes})


def test_a_result_is_read_as_it_was_written_with_and_without_steps(tmp_path: Path) -> None:
    for result in (scored(), scored(steps=None)):
        write_result(tmp_path / "r.json", result)
        assert read_result(tmp_path / "r.json") == result
    assert "steps" not in scored(steps=None).to_json()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda s: [], "no names and values"),
        (lambda s: {**s, "survival": {"x": {}}}, "no step"),
        (lambda s: {**s, "survival": {"1": {"value": "9"}}}, "value is not a number"),
        (lambda s: {**s, "repeats": None}, "repeats: no score"),
        (lambda s: {**s, "other": 3}, "'other'"),
    ],
)
def test_wrong_steps_in_a_result_are_named(change: Any, words: str) -> None:
    stored = scored().to_json()
    with pytest.raises(UserError, match=words):
        result_from_json({**stored, "steps": change(stored["steps"])}, Path("r.json"))


def test_the_table_marks_the_training_range() -> None:
    steps = scored().steps
    assert isinstance(steps, StepScores)
    table = step_table("mine", "lines", [steps], trained=2)
    assert "trained to 2" in table.splitlines()[0]
    assert table.splitlines()[1].split() == ["1", "2", "|", "3"]
    assert "with the true memory" in table
    assert "too early 0.0 %" in table


def test_a_report_joins_the_steps_of_a_second_scoring(tmp_path: Path) -> None:
    write_result(tmp_path / "a.json", scored(steps=None))
    write_result(tmp_path / "b.json", scored())
    (entry,), _ = find_entries([tmp_path])
    assert entry.result.steps == scored().steps


def bench(*words: str) -> Any:
    return subprocess.run([tool("ivl-bench"), *words], capture_output=True, text=True)


def test_anyones_steps_are_scored_and_predictions_without_show_none(tmp_path: Path) -> None:
    test, out = tmp_path / "test.h5", tmp_path / "p.jsonl"
    shapes_gen.generate(ToyRecipe((2, 3), 6), test, workers=1)
    dataset = open_dataset(test)
    truth = [TOY.truth(dataset.labels(row)) for row in range(len(dataset))]

    def score(rows: list[RowPrediction], *more: str) -> str:
        checksum = dataset.attributes["content_sha256"]
        write_predictions(out, Predictions("toy-shapes", "mine", checksum, tuple(rows)))
        run = bench("score", str(out), "--test", str(test), *more)
        assert run.returncode == 0, run.stderr
        return str(run.stdout)

    plain = [RowPrediction(row, lines) for row, lines in enumerate(truth)]
    assert "trained to" not in score(plain)
    assert "steps" not in json.loads(score(plain, "--json"))
    # The first line only: an early stop.
    short = [
        RowPrediction(row, lines[:1], (FoundStep(lines[0]),))
        for row, lines in enumerate(truth)
        if isinstance(lines, list)
    ]
    assert "too early 100.0 %" in score(short)
    found = json.loads(score(short, "--json"))["steps"]
    assert [found["survival"][t]["value"] for t in "123"] == [100, 0, 0]
    assert "overlap" not in found and "true_survival" not in found


@pytest.mark.slow
def test_steps_of_bundled_weights_with_their_own_and_the_true_memory(tmp_path: Path) -> None:
    test, out = tmp_path / "test.h5", tmp_path / "p.jsonl"
    shapes_gen.generate(ToyRecipe((1, 4), 8), test, workers=1)
    weights, data = "toy-shapes-inductive-fast", ("--test", str(test))
    assert bench("predict", weights, "--out", str(out), "--quiet", *data).returncode == 0
    line = json.loads(out.read_text().splitlines()[1])
    assert [step["text"] for step in line["steps"]] == line["prediction"]
    assert all(len(step["quad"]) == 4 for step in line["steps"])
    own = json.loads(bench("score", str(out), "--json", *data).stdout)["steps"]
    run = bench("eval", weights, "--true-memory", "--json", "--quiet", *data)
    both = json.loads(run.stdout)["steps"]
    assert {name: both[name] for name in own} == own
    assert own["overlap"]["1"]["value"] > 90
    assert both["true_accuracy"]["4"]["value"] > 50


@pytest.mark.slow
def test_a_model_without_a_memory_has_no_true_one(tmp_path: Path) -> None:
    data = ("--data", str(tmp_path), "--lines", "1", "--n", "1")
    run = bench("eval", "toy-shapes-end-to-end-fast", "--true-memory", *data)
    assert_one_line(run, 2, "--true-memory", "inductive")

"""Intervals over photographs, two models compared, and standard test sets."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import bootstrap

import dota_crops
import icdar_blocks
import shapes_gen
import textblocks_gen
from benchmark.data.test_sets import set_differences, set_words
from benchmark.evaluation.compare import compare_tallies
from benchmark.evaluation.evaluate import Predicted, score
from benchmark.evaluation.metrics import (
    EDIT_DISTANCE,
    EXACT_COUNTS,
    score_tally,
    tally_ratio,
    tally_right,
)
from benchmark.evaluation.predictions import Predictions, RowPrediction, write_predictions
from benchmark.registry import TASKS, find_task
from commands import assert_one_line, tool
from dota_crops import DotaRecipe
from dota_root import make_root
from icdar_tree import make_tree
from ivl_shards import open_dataset
from ivl_shards.rewrite import take
from shapes_gen import ColouredRecipe
from textblocks_gen import TextRecipe

# --- intervals over photographs ------------------------------------------------------------


def test_samples_of_one_photograph_do_not_make_an_interval_narrower() -> None:
    rng = np.random.default_rng(0)
    right = rng.random(40) < 0.7  # one sample of each photograph
    once = score_tally(tally_right(list(right)), np.arange(40))
    tenfold = score_tally(tally_right(list(np.repeat(right, 10))), np.repeat(np.arange(40), 10))
    assert (tenfold.samples, tenfold.images) == (400, 40)
    assert (tenfold.low, tenfold.high) == (once.low, once.high)
    alone = score_tally(tally_right(list(np.repeat(right, 10))))
    assert alone.images is None
    assert alone.high - alone.low < 0.5 * (tenfold.high - tenfold.low)


def test_intervals_over_photographs_agree_with_another_library() -> None:
    rng = np.random.default_rng(1)
    images = np.sort(rng.integers(60, size=300))
    edits, letters = rng.integers(5, size=300), rng.integers(5, 30, size=300)
    ours = score_tally(tally_ratio(list(edits), list(letters)), images)
    sums = [np.bincount(images, values, 60) for values in (edits, letters)]
    theirs = bootstrap(
        sums,
        lambda a, b, axis: 100 * a.sum(axis) / b.sum(axis),
        paired=True,
        method="percentile",
        n_resamples=9999,
        rng=np.random.default_rng(2),
    ).confidence_interval
    assert ours.low == pytest.approx(theirs.low, abs=0.3)
    assert ours.high == pytest.approx(theirs.high, abs=0.3)


def test_photographs_that_all_agree_are_no_certainty() -> None:
    scored = score_tally(tally_right([True] * 100), np.repeat([0, 1], 50))
    assert scored.value == scored.high == 100.0 and scored.low < 50


def test_tasks_with_photographs_draw_them() -> None:
    with_photographs = [task.name for task in TASKS.values() if task.image_field]
    assert {"dota-planes", "icdar-blocks"} <= set(with_photographs)
    task = find_task("dota-planes")
    pairs = [Predicted(row, 3, 3 + row % 2) for row in range(20)]
    scores = score(task, np.full(20, 3), pairs, np.arange(20) // 5)["exact counts"]
    assert (scores[3].samples, scores[3].images) == (20, 4)


def test_crops_that_are_hard_to_see_have_a_column_of_their_own(tmp_path: Path) -> None:
    task = find_task("dota-planes")
    assert task.subsets is not None
    make_root(tmp_path / "dota", 2)
    recipe = DotaRecipe((1, 2), 12, size=48)
    dota_crops.generate(recipe, tmp_path / "crops.h5", root=tmp_path / "dota", workers=1)
    found = task.subsets(open_dataset(tmp_path / "crops.h5"))
    assert found["visible"].all() and not found["hard"].any()  # light squares on a dark ground
    hard = np.arange(8) % 4 == 0
    pairs = [Predicted(row, 3 + hard[row], 3) for row in range(8)]
    columns = {"visible": ~hard, "hard": hard}
    scores = score(task, np.full(8, 3), pairs, None, columns)["exact counts"]
    assert [scores[name].value for name in (3, "visible", "hard")] == [75, 100, 0]


# --- two models ----------------------------------------------------------------------------


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60))
def test_models_that_change_places_have_the_opposite_difference(
    right: list[tuple[bool, bool]],
) -> None:
    a, b = (tally_right(list(column)) for column in zip(*right, strict=True))
    there, back = (
        compare_tallies(EXACT_COUNTS, 3, *pair, None)  # type: ignore[arg-type]
        for pair in ((a, b), (b, a))
    )
    assert there.difference == -back.difference
    assert (there.low, there.high) == pytest.approx((-back.high, -back.low))
    assert {there.better, back.better} in ({""}, {"A", "B"})
    assert not compare_tallies(EXACT_COUNTS, 3, a, a, None).excludes_zero


def test_pairs_show_what_two_intervals_alone_do_not() -> None:
    # B is right wherever A is, and in 6 more of 100: the intervals of both overlap widely.
    a = tally_right([k < 50 for k in range(100)])
    b = tally_right([k < 56 for k in range(100)])
    found = compare_tallies(EXACT_COUNTS, 3, a, b, None)
    assert found.first.high > found.second.low
    assert (found.difference, found.better) == (6.0, "B")
    # The same six are of one photograph: that one may be an exception.
    images = np.minimum(np.arange(100), 50) + np.maximum(np.arange(100) - 55, 0)
    assert compare_tallies(EXACT_COUNTS, 3, a, b, images).better == ""


def test_where_lower_is_better_the_lower_one_is_better() -> None:
    a, b = (tally_ratio([wrong] * 20, [10] * 20) for wrong in (3, 1))
    assert compare_tallies(EDIT_DISTANCE, 3, a, b, None).better == "B"


def test_a_handful_of_samples_shows_nothing() -> None:
    a, b = tally_right([False] * 5), tally_right([True] * 5)
    assert compare_tallies(EXACT_COUNTS, 3, a, b, None).better == ""


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("counted") / "test.h5"
    shapes_gen.generate(ColouredRecipe((3, 4), 40), path, workers=1)
    return path


def predictions(path: Path, dataset: Path, count: int, **changes: Any) -> Path:
    """Write the predictions of a model that always counts the same."""
    found = open_dataset(dataset)
    rows = tuple(RowPrediction(row, count) for row in range(len(found)))
    checksum = found.attributes["content_sha256"]
    made = Predictions("coloured-shapes", f"always {count}", checksum, rows)
    write_predictions(path, replace(made, **changes))
    return path


def run_compare(*words: object) -> Any:
    command = [tool("ivl-bench"), "compare", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True)


def test_the_command_says_which_model_is_better(counted: Path, tmp_path: Path) -> None:
    a, b = (predictions(tmp_path / f"{n}.jsonl", counted, n) for n in (3, 4))
    run = run_compare(a, b, "--task", "coloured-shapes", "--test", counted)
    assert run.returncode == 0, run.stderr
    assert "A: always 3" in run.stdout and "B: always 4" in run.stdout
    assert "Test set: not standard: lengths 3–4 instead of 3–10" in run.stdout
    three, four = run.stdout.splitlines()[-2:]
    assert three.split()[:4] == ["3", "100.00", "0.00", "-100.00"] and "A is better" in three
    assert four.split()[:4] == ["4", "0.00", "100.00", "+100.00"] and "B is better" in four
    found = json.loads(run_compare(a, b, "--test", counted, "--json").stdout)
    assert [each["better"] for each in found["comparisons"]] == ["A", "B"]


def test_what_cannot_be_compared_is_one_line(counted: Path, tmp_path: Path) -> None:
    good = predictions(tmp_path / "good.jsonl", counted, 3)
    other = predictions(tmp_path / "other.jsonl", counted, 3, test_data="0" * 64)
    short = predictions(tmp_path / "short.jsonl", counted, 3, rows=(RowPrediction(0, 3),))
    task = predictions(tmp_path / "task.jsonl", counted, 3, task="dota-planes")
    test = ("--test", counted)
    assert_one_line(run_compare(good, other, *test), 2, "other.jsonl", "another test set")
    assert_one_line(run_compare(other, other, *test), 2, "other.jsonl", "another test set")
    assert_one_line(run_compare(good, short, *test), 2, "short.jsonl", "39 of 40 rows")
    assert_one_line(run_compare(good, task, *test), 2, "task.jsonl", "dota-planes")
    words = ("--task", "toy-shapes", *test)
    assert_one_line(run_compare(good, good, *words), 2, "coloured-shapes", "toy-shapes")
    assert_one_line(run_compare(good, tmp_path / "none.jsonl", *test), 2, "none.jsonl")


# --- standard test sets --------------------------------------------------------------------


def test_checksums_are_whole_and_described() -> None:
    for task in TASKS.values():
        for checksum, words in task.standard.items():
            assert len(checksum) == 64 and int(checksum, 16) and words


@pytest.mark.slow
@pytest.mark.parametrize("name", ["toy-shapes", "coloured-shapes"])
def test_the_generator_makes_the_standard_test_set(name: str, tmp_path: Path) -> None:
    task = find_task(name)
    task.generate(task.test, 0, tmp_path / "test.h5", tmp_path)
    assert set_words(task, open_dataset(tmp_path / "test.h5")) == "standard"


def test_what_differs_from_the_standard_test_set_is_said(tmp_path: Path, make) -> None:
    task = find_task("coloured-shapes")
    counts = task.test.counts

    def differs(name: str, **options: Any) -> str:
        return set_differences(task, make(ColouredRecipe(counts, 40, **options), name))

    assert differs("n.h5") == "n 5 instead of 200"
    assert differs("seed.h5", seed=3) == "seed 3 instead of 0, n 5 instead of 200"
    few = set_differences(task, make(ColouredRecipe((3,), 5), "few.h5"))
    assert few == "lengths 3 instead of 3–10, n 5 instead of 200"
    take(tmp_path / "n.h5", tmp_path / "some.h5", rows="0-9", workers=1)
    assert "ivl-shards take" in set_differences(task, open_dataset(tmp_path / "some.h5"))


def test_the_same_recipe_with_other_content_has_another_source(make) -> None:
    task = find_task("coloured-shapes")
    own = make(ColouredRecipe((3, 4), 8))
    same = replace(task, recipe=lambda split, seed: own.recipe)
    assert "the generator differs" in set_differences(same, own)
    photographs = replace(same, photographs=True)
    assert "the source (fonts, photographs) differs" in set_differences(photographs, own)


def test_other_fonts_and_photographs_are_said(tmp_path: Path) -> None:
    task = find_task("text-blocks")
    textblocks_gen.generate(TextRecipe((1, 2), 2, seed=1), tmp_path / "text.h5", workers=1)
    assert "fonts: 65 instead of 1,257" in set_words(task, open_dataset(tmp_path / "text.h5"))
    make_tree(tmp_path / "icdar")
    scenes = icdar_blocks.group_split(tmp_path / "icdar", "test")
    icdar_blocks.generate(icdar_blocks.plan_dataset(scenes), tmp_path / "icdar.h5")
    found = set_words(find_task("icdar-blocks"), open_dataset(tmp_path / "icdar.h5"))
    assert "photographs missing: 0 instead of 2" in found

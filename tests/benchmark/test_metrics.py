"""Scores: against hand-made cases and libraries that are not ours."""

import editdistance
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from benchmark.evaluation.evaluate import Predicted, score
from benchmark.evaluation.metrics import accuracy, edit_distance, edits
from benchmark.registry import find_task
from benchmark.results.tables import paper_rows

texts = st.text("stcSTC\n", max_size=20)


@given(texts, texts)
def test_edits_agree_with_another_library(a: str, b: str) -> None:
    assert edits(a, b) == editdistance.eval(a, b)


@given(st.lists(st.booleans(), min_size=1, max_size=300))
def test_intervals_of_accuracy_agree_with_another_library(right: list[bool]) -> None:
    ours = accuracy(right)
    theirs = binomtest(sum(right), len(right)).proportion_ci(method="wilson")
    assert ours.low == pytest.approx(100 * theirs.low, abs=0.01)
    assert ours.high == pytest.approx(100 * theirs.high, abs=0.01)
    assert ours.low <= ours.value <= ours.high


def test_edit_distance_is_summed_before_it_is_divided() -> None:
    # 1 of 3 and 0 of 7 characters are wrong: 1 of 10, not the mean of 33 % and 0 %.
    scored = edit_distance(["abX", "abcdefg"], ["abc", "abcdefg"])
    assert scored.value == 10.0
    assert scored.low <= scored.value <= scored.high
    assert edit_distance(["abcabc"], ["a"]).value == 500.0
    assert edit_distance(["same"] * 3, ["same"] * 3) == edit_distance(["x"] * 3, ["x"] * 3)


@pytest.mark.parametrize("lines", [15, 20])
def test_a_reader_of_three_lines_scores_as_in_the_paper(lines: int) -> None:
    """The paper's end-to-end model reads exactly three lines, whatever there is: its figures
    tell how blocks are compared."""
    task = find_task("toy-shapes")
    truth = ["sssss"] * lines
    scored = score(task, [lines], [Predicted(0, truth[:3], truth)])
    row = next(row for row in paper_rows(task, task.metric) if "end-to-end" in row.label)
    assert scored["edit distance"][lines].value == pytest.approx(row.figures[lines], abs=0.01)


def test_counts_are_scored_by_their_true_number() -> None:
    task = find_task("coloured-shapes")
    scored = score(task, [3, 3, 9], [Predicted(0, 3, 3), Predicted(1, 4, 3), Predicted(2, 9, 9)])[
        "exact counts"
    ]
    assert {n: s.value for n, s in scored.items()} == {3: 50.0, 9: 100.0}
    assert scored[3].samples == 2

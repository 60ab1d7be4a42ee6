"""Step charts of the report: how far models come before their first wrong step."""

from collections.abc import Mapping, Sequence
from typing import Any

from benchmark.evaluation.step_scores import ByStep, StepScores
from benchmark.results.report.entries import Entry
from benchmark.results.step_results import OVERALL, mean_by_step, mean_overall
from benchmark.results.step_rows import of_seeds, row_steps
from benchmark.results.tables import Row


def steps_json(
    rows: Sequence[Row], entries: Sequence[Entry], hues: Mapping[str, int]
) -> list[dict[str, Any]]:
    """Return the step scores of the rows that have them, as the page takes them."""
    found = []
    for row in rows:
        if runs := row_steps(row, (entry.result for entry in entries)):
            guided = [run for run in runs if run.true_survival]
            found.append(
                {
                    "label": row.label,
                    "trial": row.is_trial,
                    "hue": hues[row.label],
                    "survival": _points(mean_by_step(runs, "survival")),
                    "true_label": f"{row.label}, true memory{of_seeds(guided, row.seeds or 1)}",
                    "true_survival": _points(mean_by_step(runs, "true_survival")),
                    "overlap": _mean_overlap(runs),
                    **{name: _value(runs, name) for name in OVERALL},
                }
            )
    return found


def _points(scores: ByStep) -> list[list[float]]:
    """Return the step, the value and the ends of its interval."""
    return [[t, round(each.value, 2), each.low, each.high] for t, each in scores.items()]


def _value(runs: Sequence[StepScores], name: str) -> float | None:
    score = mean_overall(runs, name)
    return None if score is None else round(score.value, 2)


def _mean_overlap(runs: Sequence[StepScores]) -> float | None:
    """Return the mean overlap over all steps that were taken."""
    scores = mean_by_step(runs, "overlap").values()
    taken = sum(each.samples for each in scores)
    return round(sum(each.value * each.samples for each in scores) / taken, 2) if taken else None

"""Step rows: the step scores of the rows of a table, and these as Markdown."""

from collections.abc import Iterable, Mapping, Sequence

from benchmark.evaluation.metrics import Score
from benchmark.evaluation.step_scores import StepScores
from benchmark.results.result import Result
from benchmark.results.step_results import mean_by_step, mean_overall, shown_steps
from benchmark.results.tables import Row


def row_steps(row: Row, results: Iterable[Result]) -> list[StepScores]:
    """Return the step scores of a row's runs, one for each seed that has any.

    `results` may hold other evaluations of the same weights, such as one with the true memory:
    the one with more step scores is taken.
    """
    if row.is_paper:
        return []
    first = row.results[0]
    seeds: dict[int | None, StepScores] = {}
    for result in results:
        same = (result.full_label, result.test_data) == (first.full_label, first.test_data)
        if not same or result.steps is None:
            continue
        known = seeds.get(result.seed)
        if known is None or (result.steps.true_survival and not known.true_survival):
            seeds[result.seed] = result.steps
    return list(seeds.values())


def markdown_steps(
    runs: Mapping[str, tuple[int, Sequence[StepScores]]], unit: str, trained: int
) -> list[str]:
    """Return the lines of two Markdown tables: survival by step, and what does not depend on it.

    Parameters
    ----------
    runs
        Of each model by its name: the number of its seeds, and the step scores of those that have
        any.
    unit
        What a step finds: lines or objects.
    trained
        The longest sequence in training.
    """
    survival = {}
    for name, (seeds, each) in runs.items():
        survival[f"{name}{of_seeds(each, seeds)}"] = mean_by_step(each, "survival")
        if guided := [run for run in each if run.true_survival]:
            label = f"{name}, with the true memory{of_seeds(guided, seeds)}"
            survival[label] = mean_by_step(guided, "true_survival")
    chosen = shown_steps(sorted({t for table in survival.values() for t in table}), trained)
    lines = [
        f"Samples whose first t steps are all right, in % by t; trained to t = {trained}.",
        "",
        _line(["model", *map(str, chosen)]),
        "|---" * (len(chosen) + 1) + "|",
    ]
    for name, table in sorted(survival.items()):
        lines.append(_line([name, *(_markdown_value(table.get(t)) for t in chosen)]))
    titles = {
        "stopped_right": "stopped right",
        "stopped_early": "too early",
        "stopped_late": "too late",
        "omissions": f"{unit} never found",
        "repeats": "steps that repeat one",
    }
    head = f"Stopping in % of the samples, omissions in % of the {unit}, repeats in % of the steps."
    lines += ["", head, "", _line(["model", *titles.values()]), "|---" * (len(titles) + 1) + "|"]
    for name, (seeds, each) in sorted(runs.items()):
        scores = [_markdown_value(mean_overall(each, score)) for score in titles]
        lines.append(_line([f"{name}{of_seeds(each, seeds)}", *scores]))
    return lines


def of_seeds(runs: Sequence[StepScores], seeds: int) -> str:
    """Return the end of a label: the number of seeds, and how many of them have these scores."""
    if seeds == 1:
        return ""
    return f", {seeds} seeds" if len(runs) == seeds else f", {len(runs)} of {seeds} seeds"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _markdown_value(score: Score | None) -> str:
    if score is None:
        return "–"
    return f"{score.value:.2f}<br><sub>{score.low:.1f}–{score.high:.1f}</sub>"

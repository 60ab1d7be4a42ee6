"""Step results: step scores in the file of a result, and as a table for a terminal."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from statistics import mean
from typing import Any

from benchmark.evaluation.metrics import Score
from benchmark.evaluation.step_scores import ByStep, StepScores
from benchmark.options import is_number
from ivl_shards import UserError
from ivl_shards.format.structure import MAX_STEPS

BY_STEP = {
    "survival": "all right so far",
    "true_survival": "  with the true memory",
    "accuracy": "step right",
    "true_accuracy": "  with the true memory",
    "overlap": "overlap (IoU)",
}
"""Scores by step, and their names in a table."""
OVERALL = tuple(each.name for each in fields(StepScores) if each.name not in BY_STEP)
_OPTIONAL = ("distance", "true_stop")
# Columns of the table: JSON and the report have every step.
_MOST_COLUMNS = 12


def steps_to_json(steps: StepScores) -> dict[str, Any]:
    """Return step scores as a result stores them, without those that were not measured."""
    stored: dict[str, Any] = {}
    for each in fields(steps):
        value = getattr(steps, each.name)
        if each.name in BY_STEP and value:
            stored[each.name] = {str(t): score.to_json() for t, score in value.items()}
        elif each.name not in BY_STEP and value is not None:
            stored[each.name] = value.to_json()
    return stored


def steps_from_json(values: Any) -> StepScores:
    """Return the step scores that a result stores, all of them checked."""
    _need(isinstance(values, dict), "steps: no names and values")
    unknown = sorted(set(values) - {*BY_STEP, *OVERALL})
    _need(not unknown, f"steps: {', '.join(map(repr, unknown))[:60]} is no score of steps")
    read: dict[str, Any] = {}
    for name in BY_STEP:
        table = values.get(name, {})
        _need(isinstance(table, dict), f"steps: {name}: no steps and scores")
        read[name] = {_step(name, t): _score(f"{name}: {t}", each) for t, each in table.items()}
    for name in OVERALL:
        if name in values or name not in _OPTIONAL:
            read[name] = _score(name, values.get(name))
    return StepScores(**read)


def _step(name: str, text: str) -> int:
    known = text.isascii() and text.isdecimal() and len(text) <= 6 and 1 <= int(text) <= MAX_STEPS
    _need(known, f"steps: {name} has a column that is no step")
    return int(text)


def _score(name: str, values: Any) -> Score:
    where = f"steps: {name[:60]}"
    _need(isinstance(values, dict), f"{where}: no score")
    for figure in ("value", "low", "high"):
        _need(is_number(values.get(figure), -1e9, 1e9), f"{where}: {figure} is not a number")
    samples = values.get("samples")
    _need(type(samples) is int and 0 <= samples <= 10**9, f"{where}: samples is not a number")
    return Score(values["value"], values["low"], values["high"], samples)


def _need(condition: Any, complaint: str) -> None:
    if not condition:
        raise UserError(complaint)


def mean_by_step(runs: Sequence[StepScores], name: str) -> ByStep:
    """Return the mean over runs that differ in their seed, with the widest interval of theirs.

    Runs without this score are left out, as those that were not given the true memory.
    """
    tables: list[ByStep] = [table for run in runs if (table := getattr(run, name))]
    common = set.intersection(*map(set, tables)) if tables else set()
    return {t: _mean([table[t] for table in tables]) for t in sorted(common)}


def mean_overall(runs: Sequence[StepScores], name: str) -> Score | None:
    """Return the mean over runs that differ in their seed; None if one of them lacks the score."""
    scores = [getattr(run, name) for run in runs]
    return None if not scores or None in scores else _mean(scores)


def _mean(scores: Sequence[Score]) -> Score:
    return Score(
        mean(score.value for score in scores),
        min(score.low for score in scores),
        max(score.high for score in scores),
        scores[0].samples,
    )


def step_table(title: str, unit: str, runs: Sequence[StepScores], trained: int) -> str:
    """Return the steps of a model as a table for a terminal.

    Parameters
    ----------
    unit
        What a step finds: lines or objects.
    runs
        Runs that differ in their seed alone.
    trained
        The longest sequence in training; a bar separates the steps beyond it.
    """
    tables = {name: mean_by_step(runs, name) for name in BY_STEP}
    chosen = shown_steps(sorted(tables["survival"]), trained)
    lines = [f"{title}: steps in % by their number (trained to {trained})"]
    wide = max(len(text) for text in BY_STEP.values())
    lines.append(" " * wide + _cells({t: str(t) for t in chosen}, chosen, trained))
    for name, text in BY_STEP.items():
        if table := tables[name]:
            shown = {t: f"{table[t].value:.1f}" for t in chosen if t in table}
            lines.append(f"{text:<{wide}}" + _cells(shown, chosen, trained))
    return "\n".join([*lines, *_sentences(unit, runs)])


def _cells(shown: Mapping[int, str], chosen: Sequence[int], trained: int) -> str:
    """Return the cells of a line, with a bar before the first step that was not trained."""
    bar = next((t for t in chosen if t > trained), None)
    return "".join(f"{' |' if t == bar else ''}{shown.get(t, '-'):>7}" for t in chosen)


def shown_steps(steps: Sequence[int], trained: int) -> list[int]:
    """Return the steps that a table has room for: those about the training range, and the last.

    >>> shown_steps(range(1, 21), 3)
    [1, 2, 3, 4, 6, 8, 10, 12, 14, 16, 18, 20]
    """
    if len(steps) <= _MOST_COLUMNS:
        return list(steps)
    first, last = steps[0], steps[-1]
    kept = {t for t in (first, trained, trained + 1, last) if t in steps}
    kept |= {t for t in range(first, trained) if trained <= _MOST_COLUMNS // 2}
    gaps = _MOST_COLUMNS - len(kept)
    begin = max(max((t for t in kept if t < last), default=first), first)
    kept |= {round(begin + (last - begin) * (k + 1) / (gaps + 1)) for k in range(gaps)}
    return sorted(t for t in kept if t in steps)


def _sentences(unit: str, runs: Sequence[StepScores]) -> list[str]:
    """Return what does not depend on the number of the step."""

    def value(name: str) -> str:
        score = mean_overall(runs, name)
        return "–" if score is None else f"{score.value:.1f} %"

    lines = [
        f"stopped: right {value('stopped_right')}, too early {value('stopped_early')}, "
        f"too late {value('stopped_late')}",
        f"{unit} never found: {value('omissions')}; steps that repeat one: {value('repeats')}",
    ]
    if distance := mean_overall(runs, "distance"):
        lines.append(
            f"points: precision {value('precision')}, recall {value('recall')}, mean distance "
            f"from the centre {distance.value:.2f} pixels"
        )
    if mean_overall(runs, "true_stop"):
        lines.append(f"given the true memory of all {unit}, stops: {value('true_stop')}")
    return lines

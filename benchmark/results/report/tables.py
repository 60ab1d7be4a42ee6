"""Tables of the report: the leaderboard, and scores by length.

Runs that differ in their seed alone share a row.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from benchmark.evaluation.evaluate import Column
from benchmark.evaluation.metrics import Metric
from benchmark.results.leaderboard import leaderboard
from benchmark.results.report.entries import Entry
from benchmark.results.tables import Row, describe_test_set, task_rows
from benchmark.tasks.task import Task

# The hues of the models that the paper compares; other rows get the next ones.
_HUES = {"inductive": 0, "end-to-end": 1}


@dataclass(frozen=True)
class Table:
    """The rows of one metric, the best first."""

    metric: Metric
    rows: tuple[Row, ...]


def task_tables(task: Task, entries: Sequence[Entry]) -> list[Table]:
    """Return the tables of a task, one for each metric."""
    results = [entry.result for entry in entries]
    found = [Table(metric, tuple(task_rows(task, results, metric))) for metric in task.metrics]
    return [table for table in found if table.rows]


def leaderboard_json(task: Task, entries: Sequence[Entry]) -> dict[str, Any]:
    """Return the leaderboard of a task as the page takes it."""
    board = leaderboard(task, [entry.result for entry in entries])
    return {
        "metric": board.metric.name,
        "unit": board.metric.unit,
        "lower_is_better": board.metric.lower_is_better,
        "standard": list(task.standard.values()),
        "left_out": board.left_out,
        "columns": [{"title": span.title, "role": span.role} for span in board.columns],
        "rows": [
            {
                **_about_row(standing.row),
                "cells": [
                    {
                        "value": cell.value,
                        "spread": cell.spread,
                        "only": cell.only,
                        "best": board.is_best(standing, k),
                    }
                    for k, cell in enumerate(standing.cells)
                ],
            }
            for standing in board.standings
        ],
    }


def table_json(table: Table, hues: Mapping[str, int]) -> dict[str, Any]:
    """Return the scores by length as the page takes them."""
    return {
        "metric": table.metric.name,
        "unit": table.metric.unit,
        "lower_is_better": table.metric.lower_is_better,
        "lengths": sorted({n for row in table.rows for n in row.figures if _is_length(n)}),
        "rows": [
            {**_about_row(row), "figures": _figures(row), "hue": hues[row.label]}
            for row in table.rows
        ],
    }


def _about_row(row: Row) -> dict[str, Any]:
    return {
        "label": row.label,
        "paper": row.is_paper,
        "trial": row.is_trial,
        "seeds": row.seeds,
        "samples": row.samples,
        "images": row.images,
        "test_set": "" if row.is_paper else describe_test_set(row.results[0]),
    }


def _figures(row: Row) -> dict[int, list[float | None]]:
    """Return the score at each length, with the ends of its interval and the standard deviation
    over the seeds where they are known."""
    spread = row.spread
    return {
        n: [
            round(value, 2),
            row.low.get(n),
            row.high.get(n),
            round(spread[n], 2) if spread else None,
        ]
        for n, value in row.figures.items()
        if _is_length(n)
    }


def _is_length(column: Column) -> TypeGuard[int]:
    """Tell lengths from columns over several of them, which charts do not show."""
    return isinstance(column, int)


def row_hues(tables: Sequence[Table]) -> dict[str, int]:
    """Return a hue for each label: a model has the same one for all tasks and metrics, and so has
    the paper's row of it. The page hides lines that are given the last hues."""
    rows = {row.label: row for table in tables for row in table.rows}
    taken: set[str] = set()
    hues: dict[str, int] = {}
    following = len(_HUES)
    for row in sorted(rows.values(), key=_by_importance):
        if row.model in _HUES and (row.is_paper or row.model not in taken):
            hues[row.label] = _HUES[row.model]
        else:
            hues[row.label], following = following, following + 1
        if not row.is_paper:
            taken.add(row.model)
    return hues


def _by_importance(row: Row) -> tuple[bool, bool]:
    """Return a key to sort by: models that the paper compares first, trials last."""
    return row.is_trial, not row.is_paper and row.model not in _HUES

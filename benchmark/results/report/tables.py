"""Tables of the report: scores by length, one row for runs that differ in their seed alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any, TypeGuard

from benchmark.evaluation.metrics import Metric
from benchmark.evaluation.scores import Column
from benchmark.results.report.entries import Entry
from benchmark.results.tables import Row, task_rows
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


def table_json(task: Task, table: Table) -> dict[str, Any]:
    """Return a table as the page takes it."""
    hues = row_hues(table.rows)
    return {
        "metric": table.metric.name,
        "unit": table.metric.unit,
        "lower_is_better": table.metric.lower_is_better,
        "lengths": sorted({n for row in table.rows for n in row.figures if _is_length(n)}),
        "rows": [
            {**_row_json(task, row), "hue": hue} for row, hue in zip(table.rows, hues, strict=True)
        ],
    }


def _row_json(task: Task, row: Row) -> dict[str, Any]:
    longest, figures = max(task.train.counts), row.figures
    seconds = [r.training_seconds for r in row.results if r.training_seconds is not None]
    return {
        "label": row.label,
        "paper": row.is_paper,
        "trial": row.is_trial,
        "seeds": len(row.results),
        "samples": row.samples,
        "figures": {
            n: [round(value, 2), row.low.get(n), row.high.get(n)]
            for n, value in figures.items()
            if _is_length(n)
        },
        "overall": round(row.overall, 2),
        "trained": _mean([figures[n] for n in figures if n in task.train.counts]),
        "longer": _mean([v for n, v in figures.items() if _is_length(n) and n > longest]),
        "parameters": row.results[0].parameters if row.results else None,
        "minutes": _mean([s / 60 for s in seconds]),
    }


def _is_length(column: Column) -> TypeGuard[int]:
    """Tell lengths from columns over several of them, which charts do not show."""
    return isinstance(column, int)


def _mean(values: list[float]) -> float | None:
    return round(mean(values), 2) if values else None


def row_hues(rows: Sequence[Row]) -> list[int]:
    """Return a hue for each row: a model has the same for all tasks, and so has the paper's row
    of it."""
    firsts: dict[str, int] = {}
    hues: list[int] = []
    following = len(_HUES)
    for row in rows:
        if row.model in _HUES and (row.is_paper or row.model not in firsts):
            hue = _HUES[row.model]
        else:
            hue, following = following, following + 1
        if not row.is_paper:
            firsts.setdefault(row.model, hue)
        hues.append(hue)
    return hues

"""Tables: what runs reached by length, one row for runs that differ in their seed alone."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any, TypeGuard

from benchmark.evaluation.scores import Column
from benchmark.results.report.entries import Entry
from benchmark.results.tables import Row, paper_rows, result_row
from benchmark.tasks import Task

# The hues of the models that the paper compares; other rows get the next ones.
_HUES = {"inductive": 0, "end-to-end": 1}


@dataclass(frozen=True)
class Line:
    """A row of a table, and of a chart."""

    row: Row
    model: str
    paper: bool
    entries: tuple[Entry, ...] = ()


@dataclass(frozen=True)
class Table:
    """Figures of one metric in per cent."""

    metric: str
    low_is_good: bool
    lines: tuple[Line, ...]


def task_tables(task: Task, entries: Sequence[Entry]) -> list[Table]:
    """The tables of a task, one for each metric."""
    groups: dict[tuple[str, str], list[Entry]] = defaultdict(list)
    for entry in entries:
        groups[entry.label, entry.tested_on].append(entry)
    found = [_table(task, metric, list(groups.items())) for metric in task.metrics]
    return [table for table in found if table.lines]


def _table(task: Task, metric: str, groups: list[tuple[tuple[str, str], list[Entry]]]) -> Table:
    ours = [
        Line(
            result_row(label, [e.result for e in group], metric),
            group[0].model,
            False,
            tuple(group),
        )
        for (label, _), group in groups
    ]
    paper = [Line(row, row.label.removeprefix("paper, "), True) for row in paper_rows(task, metric)]
    known = [line for line in ours if line.row.figures]  # older results lack a metric
    return Table(metric, metric == "edit distance", (*paper, *known))


def table_json(task: Task, table: Table) -> dict[str, Any]:
    """A table as the page wants it."""
    hues = line_hues(table.lines)
    return {
        "metric": table.metric,
        "low_is_good": table.low_is_good,
        "lengths": sorted({n for line in table.lines for n in line.row.figures if _is_length(n)}),
        "lines": [
            {**_line_json(task, line), "hue": hue}
            for line, hue in zip(table.lines, hues, strict=True)
        ],
    }


def _line_json(task: Task, line: Line) -> dict[str, Any]:
    figures, most = line.row.figures, max(task.train.counts)
    own = [entry.result for entry in line.entries]
    return {
        "label": line.row.label,
        "paper": line.paper,
        "runs": len(own),
        "figures": {
            n: [round(value, 2), line.row.low.get(n), line.row.high.get(n)]
            for n, value in figures.items()
            if _is_length(n)
        },
        "trained": _mean([figures[n] for n in figures if n in task.train.counts]),
        "longer": _mean([v for n, v in figures.items() if _is_length(n) and n > most]),
        "parameters": own[0].get("parameters") if own else None,
        "minutes": _mean([r["training_seconds"] / 60 for r in own if "training_seconds" in r]),
    }


def _is_length(column: Column) -> TypeGuard[int]:
    """Charts are over lengths; what is over several of them stands in docs/RESULTS.md."""
    return isinstance(column, int)


def _mean(values: list[float]) -> float | None:
    return round(mean(values), 2) if values else None


def line_hues(lines: Sequence[Line]) -> list[int]:
    """A hue for each row: a model has the same for all tasks, and the paper's row of it too."""
    firsts: dict[str, int] = {}
    hues: list[int] = []
    following = len(_HUES)
    for line in lines:
        if line.model in _HUES and (line.paper or line.model not in firsts):
            hue = _HUES[line.model]
        else:
            hue, following = following, following + 1
        if not line.paper:
            firsts.setdefault(line.model, hue)
        hues.append(hue)
    return hues

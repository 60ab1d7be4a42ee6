"""Leaderboard: what the models of a task reach at trained and at longer lengths, the best first."""

from collections.abc import Sequence
from dataclasses import dataclass

from benchmark.evaluation.metrics import Metric
from benchmark.registry import TASKS
from benchmark.results.result import Result
from benchmark.results.tables import (
    Row,
    Span,
    is_comparable,
    lengths_text,
    task_rows,
    task_spans,
)
from benchmark.tasks.task import Task


@dataclass(frozen=True)
class Cell:
    """A score over several lengths."""

    value: float | None
    only: str
    """The lengths that were measured, where they are not all of the span."""
    spread: float | None = None
    """The standard deviation over the seeds; None: there is one seed."""

    @property
    def markdown(self) -> str:
        """The cell in a table of Markdown."""
        if self.value is None:
            return "–"
        only = f" <sub>{self.only} only</sub>" if self.only else ""
        spread = "" if self.spread is None else f" ± {self.spread:.2f}"
        return f"{self.value:.2f}{spread}{only}"


@dataclass(frozen=True)
class Standing:
    """One model of a leaderboard, with a cell for each of its columns."""

    row: Row
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Leaderboard:
    """The models of a task by its most important metric."""

    task: Task
    columns: tuple[Span, ...]
    standings: tuple[Standing, ...]
    left_out: int = 0
    """The number of results of other test sets, which do not compare."""

    @property
    def metric(self) -> Metric:
        """The metric of all scores."""
        return self.task.metric

    def is_best(self, standing: Standing, column: int) -> bool:
        """Whether no model scores better in a column.

        Trials, and models that were not tested at all lengths of the column, do not take part.
        """
        value = standing.cells[column].value
        if value is None or not _takes_part(standing, column):
            return False
        rivals = [s.cells[column].value for s in self.standings if _takes_part(s, column)]
        known = [value for value in rivals if value is not None]
        return value == (min(known) if self.metric.lower_is_better else max(known))


def leaderboard(task: Task, results: Sequence[Result]) -> Leaderboard:
    """Return the leaderboard of a task, trials included.

    Results of other test sets than the standard ones do not compare, and are left out.
    """
    own = [result for result in results if result.task.name == task.name]
    kept = list(filter(is_comparable, own))
    columns = task_spans(task)
    standings = [
        Standing(row, tuple(_cell(row, span) for span in columns))
        for row in task_rows(task, kept, task.metric)
    ]
    return Leaderboard(task, columns, tuple(standings), len(own) - len(kept))


def all_leaderboards(results: Sequence[Result]) -> list[Leaderboard]:
    """Return the leaderboards of all tasks that a model of ours or a third party was tested on."""
    boards = [leaderboard(task, results) for task in TASKS.values()]
    return [board for board in boards if any(not s.row.is_paper for s in board.standings)]


def _takes_part(standing: Standing, column: int) -> bool:
    return not standing.row.is_trial and not standing.cells[column].only


def _cell(row: Row, span: Span) -> Cell:
    measured = row.measured(span)
    whole = span.pooled in row.figures or measured == span.lengths or not measured
    value = row.over(span)
    only = "" if whole else lengths_text(measured)
    spread = row.spread_over(span)
    return Cell(
        None if value is None else round(value, 2),
        only,
        None if spread is None else round(spread, 2),
    )

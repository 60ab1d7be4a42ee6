"""Tables: scores by length, beside the paper's, for terminals and pages."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from benchmark.evaluation.metrics import Metric
from benchmark.evaluation.scores import Column
from benchmark.results.result import Result, read_result
from benchmark.tasks.task import Task
from ivl_shards import UserError

_PAPER = Path(__file__).parent / "paper.json"


@dataclass(frozen=True)
class Row:
    """One line of a table: a model, and its scores by length."""

    label: str
    figures: Mapping[Column, float]
    low: Mapping[Column, float]
    high: Mapping[Column, float]
    results: tuple[Result, ...] = ()
    """Runs that differ in their seed alone; empty: the paper's row."""

    @property
    def is_paper(self) -> bool:
        return not self.results

    @property
    def model(self) -> str:
        """The name of the model."""
        return self.label.removeprefix("paper, ") if self.is_paper else self.results[0].model

    @property
    def is_trial(self) -> bool:
        """Whether settings of a preset were changed: a trial, not a model to use."""
        return any("=" in change for result in self.results for change in result.changes)

    @property
    def overall(self) -> float:
        """One figure to sort by: over all samples, or the mean over the lengths."""
        if "all" in self.figures:
            return self.figures["all"]
        return mean(self.figures.values())

    @property
    def samples(self) -> int | None:
        """The number of test samples."""
        return self.results[0].samples if self.results else None


def paper_rows(task: Task, metric: Metric) -> list[Row]:
    """Return the paper's rows of a task, none where it does not have the task or the metric."""
    table = json.loads(_PAPER.read_text("utf-8")).get(task.name)
    if table is None:
        return []
    figures = table["metrics"].get(metric.name) if "metrics" in table else table
    if figures is None or ("metrics" not in table and metric != task.metric):
        return []
    rows = []
    for model in table.get("models", ["end-to-end", "inductive"]):
        given = zip(table["lengths"], figures[model], strict=True)
        rows.append(Row(f"paper, {model}", {n: v for n, v in given if v is not None}, {}, {}))
    return rows


def paper_source() -> str:
    """Return the paper that its rows are taken from."""
    return str(json.loads(_PAPER.read_text("utf-8"))["source"])


def result_row(label: str, results: Sequence[Result], metric: Metric) -> Row:
    """Return the row of one run, or the mean of several that differ in their seed.

    The interval of one run is that of its test samples; of several, the widest of theirs.
    """
    scores = [result.scores.get(metric.name, {}) for result in results]
    lengths = sort_columns(set.intersection(*(set(s) for s in scores)))
    return Row(
        label,
        {n: mean(s[n].value for s in scores) for n in lengths},
        {n: min(s[n].low for s in scores) for n in lengths},
        {n: max(s[n].high for s in scores) for n in lengths},
        tuple(results),
    )


def group_runs(results: Iterable[Result]) -> dict[tuple[str, str], list[Result]]:
    """Group results by label and test set: those of a group differ in their seed alone.

    Of two results of the same weights on the same test set, the one of the training is kept.
    """
    groups: dict[tuple[str, str], dict[int | None, Result]] = defaultdict(dict)
    for result in sorted(results, key=lambda result: not result.curve):
        groups[result.label, result.test_data].setdefault(result.seed, result)
    return {key: list(seeds.values()) for key, seeds in groups.items()}


def task_rows(task: Task, results: Iterable[Result], metric: Metric) -> list[Row]:
    """Return the paper's rows and ours, the best first; a row for each group of runs."""
    own = [result for result in results if result.task.name == task.name]
    groups = group_runs(own)
    labels = [label for label, _ in groups]
    ours = [
        result_row(_row_label(task, label, runs, labels.count(label) > 1), runs, metric)
        for (label, _), runs in groups.items()
    ]
    rows = [row for row in (*paper_rows(task, metric), *ours) if row.figures]
    sign = 1 if metric.lower_is_better else -1
    return sorted(rows, key=lambda row: (sign * row.overall, row.label))


def _row_label(task: Task, label: str, runs: Sequence[Result], ambiguous: bool) -> str:
    """Return a label that says how many seeds, and which lengths where there are several sets."""
    if len(runs) > 1:
        label += f", {len(runs)} seeds"
    if ambiguous:
        columns = next(iter(runs[0].scores.values()))
        lengths = sorted(n for n in columns if isinstance(n, int))
        if lengths != sorted(task.test.counts):
            label += f", tested on {lengths[0]}–{lengths[-1]}"
    return label


def sort_columns(columns: Iterable[Column]) -> list[Column]:
    """Return lengths in order, then what is computed over several of them."""
    return sorted(
        columns, key=lambda n: (isinstance(n, str), 0 if isinstance(n, str) else n, str(n))
    )


def text_tables(task: Task, label: str, results: Sequence[Result]) -> str:
    """Return the tables of all metrics for a terminal: the paper's rows and one of ours."""
    tables = []
    for metric in task.metrics:
        rows = [*paper_rows(task, metric), result_row(label, results, metric)]
        tables.append(text_table(task, rows, metric))
    return "\n\n".join(tables)


def text_table(task: Task, rows: Sequence[Row], metric: Metric) -> str:
    """Return a table for a terminal, with the interval below each of our figures."""
    lengths = sort_columns({n for row in rows for n in row.figures})
    wide = max(len(row.label) for row in rows)
    head = f"{task.title}: {metric.name} in {metric.unit} by number of {task.unit}"
    lines = [head, " " * wide + "".join(f"{n:>12}" for n in lengths)]
    for row in rows:
        cells = [f"{row.figures[n]:.2f}" if n in row.figures else "-" for n in lengths]
        lines.append(f"{row.label:<{wide}}" + "".join(f"{cell:>12}" for cell in cells))
        if row.low:
            spans = [f"{row.low[n]:.1f}–{row.high[n]:.1f}" if n in row.low else "" for n in lengths]
            lines.append(f"{'  95 % interval':<{wide}}" + "".join(f"{s:>12}" for s in spans))
    return "\n".join(lines)


def markdown_table(rows: Sequence[Row], first: str) -> list[str]:
    """Return the lines of a Markdown table."""
    lengths = sort_columns({n for row in rows for n in row.figures})
    lines = [
        f"| {first} | " + " | ".join(map(str, lengths)) + " |",
        "|---" * (len(lengths) + 1) + "|",
    ]
    for row in rows:
        cells = [_cell(row, n) for n in lengths]
        lines.append(f"| {in_table(row.label)} | " + " | ".join(cells) + " |")
    return lines


def _cell(row: Row, n: Column) -> str:
    if n not in row.figures:
        return "–"
    span = f"<br><sub>{row.low[n]:.1f}–{row.high[n]:.1f}</sub>" if n in row.low else ""
    return f"{row.figures[n]:.2f}{span}"


def in_table(text: str) -> str:
    """Text from a file for a table of Markdown, which it can neither leave nor add markup to.

    >>> in_table("a|b <script>, width=8")
    'a&#124;b &lt;script>, width=8'
    """
    for character in "&|<[`":
        text = text.replace(character, _ENTITIES[character])
    return text


_ENTITIES = {"&": "&amp;", "|": "&#124;", "<": "&lt;", "[": "&#91;", "`": "&#96;"}


def read_results(folder: Path) -> list[Result]:
    """Return all results in a folder."""
    paths = sorted(folder.rglob("*.json"))
    if not paths:
        raise UserError(f"{folder}: no results there: ivl-bench run --results {folder} puts them")
    return [read_result(path) for path in paths]

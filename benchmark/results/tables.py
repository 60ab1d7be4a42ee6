"""Tables: scores by length, beside the paper's, for terminals and pages."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev

from benchmark.data.test_sets import NONE, STANDARD, VALIDATION
from benchmark.evaluation.evaluate import Column
from benchmark.evaluation.metrics import Metric, Score
from benchmark.results.result import Result, read_result
from benchmark.tasks.task import Task
from ivl_shards import UserError
from ivl_shards.generation.recipe import format_counts

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
    by_seed: tuple[Mapping[Column, float], ...] = ()
    """The scores of each run, where there are several."""

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
        return any(result.is_trial for result in self.results)

    @property
    def seeds(self) -> int | None:
        """The number of trainings; None: not known, or not trained here."""
        return len(self.results) if self.results and self.results[0].config else None

    @property
    def samples(self) -> int | None:
        """The number of test samples, if known."""
        return self.results[0].samples if self.results else None

    @property
    def images(self) -> int | None:
        """The number of photographs that the test samples were cut from, if known."""
        return self.results[0].images if self.results else None

    @property
    def compares(self) -> bool:
        """Whether the test set is the task's standard one, or one of the same lengths where no
        standard one is on record."""
        return all(map(is_comparable, self.results))

    @property
    def spread(self) -> dict[Column, float]:
        """The standard deviation of each score over the seeds; empty: there is one seed."""
        if len(self.by_seed) < 2:
            return {}
        return {n: stdev(scores[n] for scores in self.by_seed) for n in self.figures}

    def over(self, span: "Span") -> float | None:
        """Return the score over several lengths: the mean of those that were measured."""
        return self._over(self.figures, span)

    def spread_over(self, span: "Span") -> float | None:
        """Return the standard deviation over the seeds of the score over several lengths."""
        found = [self._over(scores, span) for scores in self.by_seed]
        known = [value for value in found if value is not None]
        return stdev(known) if len(known) > 1 else None

    def _over(self, scores: Mapping[Column, float], span: "Span") -> float | None:
        if span.pooled in scores:
            return scores[span.pooled]
        found = [scores[n] for n in self.measured(span)]
        return mean(found) if found else None

    def measured(self, span: "Span") -> tuple[int, ...]:
        """Return the lengths of a span that were measured."""
        return tuple(n for n in span.lengths if n in self.figures)


@dataclass(frozen=True)
class Span:
    """Lengths that are summed up in one figure."""

    title: str
    lengths: tuple[int, ...]
    role: str = ""
    """Why these: `trained`, `longer`, `longest` or nothing."""
    pooled: str = ""
    """The column of a score over all samples of these lengths, where there is one."""


def task_spans(task: Task) -> tuple[Span, ...]:
    """Return what a task is summed up by: trained lengths, longer ones, and the longest.

    Where no test sample is longer than those of the training: the shortest length and the rest.
    """
    tested, trained = task.test.counts, task.train.counts
    longer = tuple(n for n in tested if n > max(trained))
    if not longer:
        first, *rest = sorted(tested)
        pooled = "2+" if first == 1 else ""
        spans = [_span(task, (first,)), _span(task, tuple(rest), pooled=pooled)]
    else:
        inside = tuple(n for n in tested if n in trained)
        spans = [_span(task, inside, "trained"), _span(task, longer, "longer")]
        if len(longer) > 1:
            spans.append(_span(task, (max(longer),), "longest"))
    return tuple(span for span in spans if span.lengths)


def _span(task: Task, lengths: tuple[int, ...], role: str = "", pooled: str = "") -> Span:
    unit = task.unit.removesuffix("s") if lengths == (1,) else task.unit
    named = "2 and more" if pooled else lengths_text(lengths)
    return Span(f"{named} {unit}", lengths, role, pooled)


def lengths_text(lengths: Sequence[int]) -> str:
    """Return lengths in words.

    >>> lengths_text([1, 2, 3, 15])
    '1–3, 15'
    """
    return format_counts(tuple(lengths)).replace("-", "–").replace(",", ", ")


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
    by_seed = [{n: s[n].value for n in lengths} for s in scores]
    return Row(
        label,
        {n: mean(s[n].value for s in scores) for n in lengths},
        {n: min(s[n].low for s in scores) for n in lengths},
        {n: max(s[n].high for s in scores) for n in lengths},
        tuple(results),
        tuple(by_seed) if len(by_seed) > 1 else (),
    )


def group_runs(results: Iterable[Result]) -> dict[tuple[str, str], list[Result]]:
    """Group results by full label and test set: those of a group differ in their seed alone.

    Of two results of the same weights on the same test set, the one of the training is kept.
    """
    groups: dict[tuple[str, str], dict[int | None, Result]] = defaultdict(dict)
    for result in sorted(results, key=lambda result: not result.curve):
        groups[result.full_label, result.test_data].setdefault(result.seed, result)
    return {key: list(seeds.values()) for key, seeds in groups.items()}


def task_rows(task: Task, results: Iterable[Result], metric: Metric) -> list[Row]:
    """Return the paper's rows and ours, the best first; a row for each group of runs."""
    groups = list(group_runs(r for r in results if r.task.name == task.name).values())
    labels = _unique_labels(task, [runs[0] for runs in groups])
    ours = [result_row(label, runs, metric) for label, runs in zip(labels, groups, strict=True)]
    rows = [row for row in (*paper_rows(task, metric), *ours) if row.figures]
    return sort_rows(task, rows, metric)


def sort_rows(task: Task, rows: Iterable[Row], metric: Metric) -> list[Row]:
    """Return rows in the order of their scores at longer lengths, the best first.

    Rows without such scores come after them, in the order of their mean over all lengths; rows
    of other test sets come last.
    """
    span = task_spans(task)[:2][-1]
    sign = 1 if metric.lower_is_better else -1

    def place(row: Row) -> tuple[bool, bool, float, str]:
        value = row.over(span)
        known = mean(row.figures.values()) if value is None else value
        return not row.compares, value is None, sign * known, row.label

    return sorted(rows, key=place)


def is_comparable(result: Result) -> bool:
    """Tell whether a result is one of the task's standard test set.

    Where none is on record, any test set without other lengths than the task's will do.
    """
    if result.is_standard is not None:
        return result.is_standard
    return set(_lengths(result)) <= set(result.task.test.counts)


def _lengths(result: Result) -> list[int]:
    first = next(iter(result.scores.values()), {})
    return sorted(n for n in first if isinstance(n, int))


def describe_test_set(result: Result) -> str:
    """Say whether a result is one of the standard test set, and if not, what differs."""
    if result.split != "test":
        return VALIDATION
    if result.is_standard is None:
        return NONE
    if result.is_standard:
        return STANDARD
    return f"not standard: {result.test_differs or _seen_differences(result)}"


def _seen_differences(result: Result) -> str:
    """Say what the scores show of a test set whose file was not described."""
    task, lengths = result.task, _lengths(result)
    numbers = {score.samples for n, score in _first_scores(result) if isinstance(n, int)}
    different = []
    if lengths != sorted(task.test.counts):
        different.append(f"lengths {lengths_text(lengths)}")
    wanted = task.test.total // len(task.test.counts)
    if len(numbers) == 1 and task.test.total and numbers != {wanted}:
        different.append(f"n {numbers.pop():,} instead of {wanted:,}")
    return ", ".join(different) or "what differs is not stated"


def _first_scores(result: Result) -> Iterable[tuple[Column, Score]]:
    return next(iter(result.scores.values()), {}).items()


def samples_words(samples: int | None, images: int | None) -> str:
    """Return the number of samples and, where they are crops, of the photographs.

    >>> samples_words(1304, 233), samples_words(1304, None), samples_words(None, None)
    ('1,304 of 233 images', '1,304', '–')
    """
    if samples is None:
        return "–"
    return f"{samples:,}" + (f" of {images:,} images" if images is not None else "")


def _unique_labels(task: Task, results: Sequence[Result]) -> list[str]:
    """Return a label for each result that no other one has, as short as possible."""
    labels = [result.label for result in results]
    longer: tuple[Callable[[Result], str], ...] = (
        lambda result: f"{result.label}{_tested_on(task, result)}",
        lambda result: f"{result.full_label}{_tested_on(task, result)}",
        lambda result: f"{result.full_label}, test set {result.test_data[:8]}",
    )
    for make in longer:
        count = Counter(labels)
        labels = [
            make(result) if count[label] > 1 else label
            for label, result in zip(labels, results, strict=True)
        ]
    return labels


def _tested_on(task: Task, result: Result) -> str:
    """Return the lengths of a test set where they are not the task's."""
    lengths = _lengths(result)
    if not lengths or set(lengths) == set(task.test.counts):
        return ""
    return f", tested on {lengths_text(lengths)} {task.unit}"


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
    """Return a table for a terminal: below each of our figures its spread and interval, and the
    numbers that it is computed from."""
    lengths = sort_columns({n for row in rows for n in row.figures})
    lines = [("", [str(n) for n in lengths])]
    for row in rows:
        figures = [f"{row.figures[n]:.2f}" if n in row.figures else "-" for n in lengths]
        lines += [(row.label, figures), *_details(row, lengths, metric)]
    wide = max(len(name) for name, _ in lines)
    head = f"{task.title}: {metric.name} in {metric.unit} by number of {task.unit}"
    tested = [_scored_on(row.results[0]) for row in rows if row.results]
    table = [f"{name:<{wide}}" + "".join(f"{cell:>12}" for cell in cells) for name, cells in lines]
    return "\n".join([head, *dict.fromkeys(tested), *table])


def _scored_on(result: Result) -> str:
    described = describe_test_set(result)
    return "Scored on the validation set" if described == VALIDATION else f"Test set: {described}"


def _details(
    row: Row, lengths: Sequence[Column], metric: Metric
) -> Iterator[tuple[str, list[str]]]:
    """Yield the lines below one of our rows."""
    if row.is_paper:
        return
    if spread := row.spread:
        cells = [f"±{spread[n]:.2f}" if n in spread else "" for n in lengths]
        yield "  std over seeds", cells
    spans = [f"{row.low[n]:.1f}–{row.high[n]:.1f}" if n in row.low else "" for n in lengths]
    yield "  95 % interval", spans
    scores = row.results[0].scores.get(metric.name, {})
    yield "  samples", [f"{scores[n].samples:,}" if n in scores else "" for n in lengths]
    images = {n: score.images for n, score in scores.items() if score.images is not None}
    if images:
        yield "  source images", [f"{images[n]:,}" if n in images else "" for n in lengths]


def markdown_table(rows: Sequence[Row], first: str, with_samples: bool = False) -> list[str]:
    """Return the lines of a Markdown table, if asked with the test set and its samples."""
    lengths = sort_columns({n for row in rows for n in row.figures})
    heads = [first, *map(str, lengths), *(["samples", "test set"] if with_samples else [])]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for row in rows:
        cells = [_cell(row, n) for n in lengths]
        if with_samples:
            cells.append(samples_words(row.samples, row.images))
            cells.append("–" if row.is_paper else in_table(describe_test_set(row.results[0])))
        seeds = f", {row.seeds} seeds" if (row.seeds or 1) > 1 else ""
        lines.append(f"| {in_table(row.label)}{seeds} | " + " | ".join(cells) + " |")
    return lines


def _cell(row: Row, n: Column) -> str:
    if n not in row.figures:
        return "–"
    spread = f" ± {row.spread[n]:.2f}" if row.spread else ""
    span = f"<br><sub>{row.low[n]:.1f}–{row.high[n]:.1f}</sub>" if n in row.low else ""
    return f"{row.figures[n]:.2f}{spread}{span}"


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

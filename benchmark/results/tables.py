"""Results: what runs reached, as tables beside the paper's."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import Any

from benchmark.evaluation.scores import Column
from benchmark.files import require_file
from benchmark.results.curves import draw_curves, read_curve
from benchmark.results.result import read_result
from benchmark.tasks import TASKS, Task
from ivl_shards import UserError

_PAPER = Path(__file__).parent / "paper.json"


@dataclass(frozen=True)
class Row:
    """One line of a table: a model, and its figures by length."""

    label: str
    figures: Mapping[Column, float]
    low: Mapping[Column, float]
    high: Mapping[Column, float]


def paper_rows(task: Task, metric: str | None = None) -> list[Row]:
    """Return the paper's lines of a task's table, of its first metric or of another; none where
    the paper does not have that metric."""
    table = json.loads(_PAPER.read_text("utf-8"))[task.name]
    figures = table["metrics"].get(metric or task.metric) if "metrics" in table else table
    if figures is None:
        return []
    rows = []
    for model in table.get("models", ["end-to-end", "inductive"]):
        given = zip(table["lengths"], figures[model], strict=True)
        rows.append(Row(f"paper, {model}", {n: v for n, v in given if v is not None}, {}, {}))
    return rows


def paper_source() -> str:
    """What the paper's figures are taken from."""
    return str(json.loads(_PAPER.read_text("utf-8"))["source"])


def result_row(label: str, results: list[dict[str, Any]], metric: str | None = None) -> Row:
    """A line for one run, or for the mean over several that differ in their seed.

    The interval of one run is that of its test samples; of several, the widest of theirs.
    """
    scores = [_scores(result["evaluation"], metric) for result in results]
    lengths = _sorted(set.intersection(*(set(s) for s in scores)))
    return Row(
        label,
        {n: mean(s[n]["value"] for s in scores) for n in lengths},
        {n: min(s[n]["low"] for s in scores) for n in lengths},
        {n: max(s[n]["high"] for s in scores) for n in lengths},
    )


def _scores(evaluation: dict[str, Any], metric: str | None) -> dict[Column, Any]:
    """Scores of one metric by length, out of what a result holds."""
    if metric is not None and "metrics" in evaluation:
        found = evaluation["metrics"].get(metric, {})
    else:
        found = evaluation["scores"]
    return {int(n) if n.isdecimal() else n: score for n, score in found.items()}


def _sorted(columns: Iterable[Column]) -> list[Column]:
    """Lengths, then what is over several of them."""
    return sorted(
        columns, key=lambda n: (isinstance(n, str), 0 if isinstance(n, str) else n, str(n))
    )


def text_tables(task: Task, label: str, results: list[dict[str, Any]]) -> str:
    """The tables of all metrics for a terminal: the paper's lines and one of ours."""
    tables = []
    for metric in task.metrics:
        rows = [*paper_rows(task, metric), result_row(label, results, metric)]
        tables.append(text_table(task, rows, metric))
    return "\n\n".join(tables)


def text_table(task: Task, rows: list[Row], metric: str | None = None) -> str:
    """A table for a terminal, with the interval below each of our figures."""
    lengths = _sorted({n for row in rows for n in row.figures})
    wide = max(len(row.label) for row in rows)
    head = f"{task.title}: {metric or task.metric} in % by number of {task.counted}"
    lines = [head, " " * wide + "".join(f"{n:>12}" for n in lengths)]
    for row in rows:
        cells = [f"{row.figures[n]:.2f}" if n in row.figures else "-" for n in lengths]
        lines.append(f"{row.label:<{wide}}" + "".join(f"{cell:>12}" for cell in cells))
        if row.low:
            spans = [f"{row.low[n]:.1f}–{row.high[n]:.1f}" if n in row.low else "" for n in lengths]
            lines.append(f"{'  95 % interval':<{wide}}" + "".join(f"{s:>12}" for s in spans))
    return "\n".join(lines)


def markdown_table(rows: list[Row], first: str) -> list[str]:
    """The same for a page."""
    lengths = _sorted({n for row in rows for n in row.figures})
    lines = [
        f"| {first} | " + " | ".join(map(str, lengths)) + " |",
        "|---" * (len(lengths) + 1) + "|",
    ]
    for row in rows:
        cells = [_cell(row, n) for n in lengths]
        lines.append(f"| {in_table(row.label)} | " + " | ".join(cells) + " |")
    return lines


def in_table(text: str) -> str:
    """Text from a file for a table of Markdown, which it can neither leave nor add markup to.

    >>> in_table("a|b <script>, width=8")
    'a&#124;b &lt;script>, width=8'
    """
    for character in "&|<[`":
        text = text.replace(character, _ENTITIES[character])
    return text


_ENTITIES = {"&": "&amp;", "|": "&#124;", "<": "&lt;", "[": "&#91;", "`": "&#96;"}


def _cell(row: Row, n: Column) -> str:
    if n not in row.figures:
        return "–"
    span = f"<br><sub>{row.low[n]:.1f}–{row.high[n]:.1f}</sub>" if n in row.low else ""
    return f"{row.figures[n]:.2f}{span}"


def read_results(folder: Path) -> list[dict[str, Any]]:
    """All results in a folder."""
    paths = sorted(folder.rglob("*.json"))
    if not paths:
        raise UserError(f"{folder}: no results there: ivl-bench run --results {folder} puts them")
    return [read_result(path) for path in paths]


def read_remarks(folder: Path) -> dict[str, str]:
    """What is to be said about the results of each task: files TASK.md beside them."""
    paths = [path for name in TASKS if (path := folder / f"{name}.md").exists()]
    return {path.stem: _read_text(path) for path in paths}


def _read_text(path: Path) -> str:
    require_file(path)
    try:
        return path.read_text("utf-8").strip()
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be read ({error})") from None


def results_page(results: list[dict[str, Any]], remarks: Mapping[str, str]) -> str:
    """docs/RESULTS.md."""
    lines = [
        "# Results",
        "",
        "Written by `ivl-bench results` from the files in `results/`; no figure in a table is",
        "typed, the remarks below the tables are.",
        f"The paper's rows are those of {paper_source()}.",
        "Small figures are 95 % confidence intervals over the test samples.",
        "",
    ]
    for task in TASKS.values():
        here = _of_task(task, results)
        if here:
            lines += _task_section(task, here)
            if task.name in remarks:
                lines += [remarks[task.name], ""]
    return "\n".join(lines)


def results_curves(results: list[dict[str, Any]]) -> dict[str, str]:
    """The pictures of docs/RESULTS.md by their names: how the runs of each task were trained."""
    pictures = {}
    for task in TASKS.values():
        trained = _trained(_of_task(task, results))
        if trained:
            curves = [read_curve(_run_label(r), r["curve"]) for r in trained]
            pictures[_picture(task)] = draw_curves(curves)
    return pictures


def _of_task(task: Task, results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Presets as they are, then what was scored again, then what was changed."""
    own = [result for result in results if result["config"]["task"] == task.name]
    return sorted(own, key=lambda r: (bool(r.get("changes")), "curve" not in r))


def _picture(task: Task) -> str:
    return f"curves/{task.name}.svg"


def _trained(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [result for result in results if "curve" in result]


def _run_label(result: dict[str, Any]) -> str:
    return f"{result_label(result)}, seed {result['config']['seed']}"


def _task_section(task: Task, results: list[dict[str, Any]]) -> list[str]:
    runs: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for result in results:
        runs[result_label(result)].append(result)
    lines = [f"## {task.title}", ""]
    for metric in task.metrics:
        rows = paper_rows(task, metric)
        for label, group in runs.items():
            rows.append(result_row(_with_seeds(label, group), group, metric))
        rows = [row for row in rows if row.figures]  # older results lack a metric
        if not rows:
            continue
        lines += [
            f"{metric[:1].upper()}{metric[1:]} in % by number of {task.counted}; trained on "
            f"{_list(task.train.counts)}.",
            "",
        ]
        lines += markdown_table(rows, "model") + [""]
    trained = _trained(results)
    if trained:
        lines += [
            "| run | steps × batch | parameters | trained for | on | loss along the way |",
            "|---" * 6 + "|",
        ]
    for result in trained:
        training, about = result["config"]["training"], result["surroundings"]
        lines.append(
            f"| {in_table(_run_label(result))} "
            f"| {training['steps']:,} × {training['batch']} | {result['parameters']:,} "
            f"| {result['training_seconds'] / 60:.1f} min "
            f"| {in_table(str(about['machine']))}, {in_table(str(about['threads']))} threads "
            f"| {_losses(result['curve'])} |"
        )
    if trained:
        lines += ["", f"![Losses of these runs by step]({_picture(task)})"]
    return [*lines, ""]


def _losses(curve: list[dict[str, float]]) -> str:
    """The loss at the beginning, at each quarter of the steps, and at the end.

    Each is the median of a few: single batches differ.

    >>> _losses([{"step": k, "loss": 9 - k} for k in range(1, 9)])
    '7.50 → 7.50 → 5.50 → 3.50 → 1.50'
    """
    last = curve[-1]["step"]
    shown = []
    for share in (0, 0.25, 0.5, 0.75, 1):
        near = sorted(curve, key=lambda line: abs(line["step"] - share * last))
        shown.append(median(line["loss"] for line in near[: max(1, min(9, len(curve) // 4))]))
    return " → ".join(f"{loss:.2f}" for loss in shown)


def result_label(result: dict[str, Any]) -> str:
    """What a run is called in tables: model, preset, what it began with, lengths that it was
    trained on if they are not the task's, and what was changed."""
    config = result["config"]
    label = f"{config['model']}, {config['preset']}"
    if config.get("init"):
        label += f", from {config['init'].split()[0]}"
    if lengths := config.get("training", {}).get("lengths"):
        label += f", trained on {lengths}"
    if "training" in config and "curve" not in result:
        label += ", weights scored again"
    return f"{label} ({', '.join(result['changes'])})" if result.get("changes") else label


def _with_seeds(label: str, results: list[dict[str, Any]]) -> str:
    return label if len(results) == 1 else f"{label} (mean of {len(results)} seeds)"


def _list(counts: tuple[int, ...]) -> str:
    return str(counts[0]) if len(counts) == 1 else f"{counts[0]}–{counts[-1]}"

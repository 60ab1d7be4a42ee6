"""The results page, docs/RESULTS.md: tables, training curves and notes for each task."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from benchmark.evaluation.step_scores import StepScores
from benchmark.files import require_file
from benchmark.registry import TASKS
from benchmark.results.curves import draw_curves, read_curve
from benchmark.results.result import Result
from benchmark.results.step_rows import markdown_steps, row_steps
from benchmark.results.tables import (
    Row,
    in_table,
    lengths_text,
    markdown_table,
    paper_source,
    task_rows,
)
from benchmark.tasks.task import Task
from ivl_shards import UserError


def read_notes(folder: Path) -> dict[str, str]:
    """Return the notes on the results of each task: files TASK.md beside them."""
    paths = [path for name in TASKS if (path := folder / f"{name}.md").exists()]
    return {path.stem: _read_text(path) for path in paths}


def _read_text(path: Path) -> str:
    require_file(path)
    try:
        return path.read_text("utf-8").strip()
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be read ({error})") from None


def results_page(results: Sequence[Result], notes: Mapping[str, str]) -> str:
    """Return the page. Trials, which change settings of a preset, are folded away."""
    lines = [
        "# Results",
        "",
        "Written by `ivl-bench results` from the files in `results/`.",
        f"The paper's rows are those of {paper_source()}.",
        "Rows are sorted by their score at longer lengths than those of the training, the best",
        "first; rows of other test sets than the standard one come last. Small figures are 95 %",
        "confidence intervals over the test samples, or over the images that these were cut from",
        "where their number is given. ± is the standard deviation over the seeds. A label leaves",
        "out the preset `fast`. Trials, which change settings of a preset, are folded away; more",
        "of them are in [experiments.md](experiments.md). Scores of single steps are those of the",
        "inductive models; [PROTOCOL.md](PROTOCOL.md#step-scores) defines them.",
        "",
    ]
    for task in TASKS.values():
        own = [result for result in results if result.task.name == task.name]
        if own:
            lines += _task_section(task, own, notes.get(task.name, ""))
    return "\n".join(lines)


def curve_pictures(results: Sequence[Result]) -> dict[str, str]:
    """Return the pictures of the page by their names: the training curves of each task."""
    pictures = {}
    for task in TASKS.values():
        trained = _trained([r for r in results if r.task.name == task.name])
        if trained:
            curves = [read_curve(_run_label(r), r.curve) for r in trained]
            pictures[_picture(task)] = draw_curves(curves)
    return pictures


def _picture(task: Task) -> str:
    return f"curves/{task.name}.svg"


def _run_label(result: Result) -> str:
    return f"{result.label}, seed {result.seed}"


def _trained(results: Sequence[Result]) -> list[Result]:
    """Return the results of trainings, trials last."""
    return sorted((r for r in results if r.curve), key=lambda r: (r.is_trial, r.label))


def _task_section(task: Task, results: Sequence[Result], notes: str) -> list[str]:
    lines = [f"## {task.title}", "", *([notes, ""] if notes else [])]
    trials: list[str] = []
    for metric in task.metrics:
        rows = task_rows(task, results, metric)
        models, tried = _split_trials(rows)
        arrow = "lower is better" if metric.lower_is_better else "higher is better"
        head = (
            f"{metric.name[:1].upper()}{metric.name[1:]} in {metric.unit} by number of "
            f"{task.unit} ({arrow}); trained on {lengths_text(task.train.counts)}."
        )
        if models:
            lines += [head, "", *markdown_table(models, "model", with_samples=True), ""]
        if tried:
            trials += [head, "", *markdown_table(tried, "trial", with_samples=True), ""]
    lines += _step_section(task, results)
    trained = _trained(results)
    if trained:
        lines += [*_training_table(trained), ""]
        lines += [f"![Losses of these runs by step]({_picture(task)})", ""]
    if trials:
        lines += ["<details><summary>Trials</summary>", "", *trials, "</details>", ""]
    return lines


def _step_section(task: Task, results: Sequence[Result]) -> list[str]:
    """Return the step scores of the models that have them, on the standard test set."""
    runs: dict[str, tuple[int, list[StepScores]]] = {}
    for row in task_rows(task, results, task.metric):
        if row.compares and not row.is_trial and (steps := row_steps(row, results)):
            runs[in_table(row.label)] = row.seeds or 1, steps
    return [*markdown_steps(runs, task.unit, max(task.train.counts)), ""] if runs else []


def _split_trials(rows: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    return [row for row in rows if not row.is_trial], [row for row in rows if row.is_trial]


def _training_table(trained: Sequence[Result]) -> list[str]:
    lines = [
        "| run | steps × batch size | parameters | training time | machine | training loss |",
        "|---" * 6 + "|",
    ]
    for result in trained:
        assert result.config is not None and result.training_seconds is not None
        training = result.config.training
        lines.append(
            f"| {in_table(_run_label(result))} "
            f"| {training.steps:,} × {training.batch_size} | {result.parameters:,} "
            f"| {result.training_seconds / 60:.1f} min | {in_table(result.machine)} "
            f"| {_losses(result.curve)} |"
        )
    return lines


def _losses(curve: Sequence[Mapping[str, float]]) -> str:
    """Return the loss at the beginning, at each quarter of the steps, and at the end.

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

"""Write the results table of the README from the files in results/.

make readme       # this, and docs/RESULTS.md
"""

import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from benchmark.evaluation.scores import Column
from benchmark.registry import TASKS
from benchmark.results.tables import Row, paper_rows, read_results, result_label, result_row
from benchmark.tasks.task import Task

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
BEGIN, END = "<!-- results: make readme -->", "<!-- end of results -->"
HEAD = (
    "| model | the longest trained on | a little longer | the longest tested on |\n"
    "|---|---|---|---|"
)


def table(results: list[dict[str, Any]]) -> str:
    """The first metric of each task at three lengths: docs/RESULTS.md has them all."""
    lines = [HEAD]
    for task in TASKS.values():
        if own := shown([r for r in results if r["config"]["task"] == task.name]):
            lines += _task_lines(task, own)
    return "\n".join(lines)


def shown(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Runs of the presets as they are: trials with other options, and what was scored before its
    training was at its end, are in docs/RESULTS.md. Weights of ours that are scored once more are
    shown where their run is not."""
    usual = [r for r in results if not any("=" in change for change in r["changes"])]
    trained = {_model(r) for r in usual if "curve" in r}
    again = [r for r in usual if "curve" not in r and "training" in r["config"]]
    hidden = [r for r in again if _model(r) in trained or r["config"]["preset"] != "fast"]
    return [r for r in usual if r not in hidden or r["changes"]]


def _model(result: dict[str, Any]) -> tuple[str, str]:
    return result["config"]["model"], result["config"]["preset"]


def _task_lines(task: Task, results: list[dict[str, Any]]) -> list[str]:
    runs: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for result in results:
        runs[result_label(result)].append(result)
    ours = [result_row(label, group, task.metric) for label, group in runs.items()]
    columns = three_lengths(task)
    low = ", low is good" if task.metric == "edit distance" else ""
    named = [f"*{_spelled(task, column)}*" for column in columns]
    head = f"| **{task.title}**: {task.metric} in %{low} | {' | '.join(named)} |"
    paper = [row for row in paper_rows(task) if any(n in row.figures for n in columns)]
    rows = [_row(row, columns, "") for row in paper]
    return [head, *rows, *(_row(row, columns, "**") for row in ours)]


def three_lengths(task: Task) -> list[Column]:
    """Where it is seen whether a model goes beyond its training; ICDAR's blocks are of all
    lengths in both splits, and the paper gives a figure over those of two and more lines."""
    trained, tested = max(task.train.counts), task.test.counts
    longer = [n for n in tested if n > trained]
    return [trained, longer[0], longer[-1]] if longer else [1, 2, "2+"]


def _spelled(task: Task, column: Column) -> str:
    if column == "2+":
        return f"2 and more {task.counted}"
    return f"{column} {task.counted if column != 1 else task.counted.removesuffix('s')}"


def _row(row: Row, columns: list[Column], mark: str) -> str:
    cells = [f"{mark}{row.figures[n]:.2f}{mark}" if n in row.figures else "–" for n in columns]
    return f"| {mark}{row.label}{mark} | {' | '.join(cells)} |"


def filled(page: str, results: list[dict[str, Any]]) -> str:
    """The page with the table between its marks."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        sys.exit(f"{README.name}: the marks {BEGIN} and {END} are gone")
    return f"{before}{BEGIN}\n\n{table(results)}\n\n{END}{after}"


def main() -> None:
    page = filled(README.read_text("utf-8"), read_results(ROOT / "results"))
    README.write_text(page, "utf-8")
    print(f"{README.name}: written")


if __name__ == "__main__":
    main()

"""Files of the leaderboard: a page of Markdown, and evaluation results for Hugging Face.

The evaluation results are the `model-index` of a model card, in YAML. To show them on the page of a
model, copy them between the two lines `---` at the top of its README.md. (The newer folder
`.eval_results/` takes scores on datasets that are registered as benchmarks of the Hub only.)
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from benchmark.results.leaderboard import Leaderboard, Standing
from benchmark.results.tables import Span, in_table, paper_source, samples_words
from benchmark.tasks.task import Task

_ROLES = {"trained": "trained lengths", "longer": "longer, mean", "longest": "longest"}
# Hugging Face has a task for reading text in images, but none for counting objects.
_TASK_TYPES = {"reading": "image-to-text", "counting": "object-counting"}


def leaderboard_page(boards: Sequence[Leaderboard]) -> str:
    """Return the leaderboard of all tasks as Markdown, without trials."""
    lines = [
        "# Leaderboard",
        "",
        "Written by `ivl-bench report`. Models are sorted by their score at longer lengths than",
        "those of the training, the best first. The best of the models that were tested at all",
        "lengths of a column is in bold. Rows in italics are the paper's:",
        f"{paper_source()}.",
    ]
    for board in boards:
        lines += ["", *_task_lines(board)]
    return "\n".join([*lines, ""])


def _task_lines(board: Leaderboard) -> Iterator[str]:
    metric = board.metric
    better = "lower" if metric.lower_is_better else "higher"
    columns = [f"{span.title}{_role(span)}" for span in board.columns]
    yield f"## {board.task.title}"
    yield ""
    yield f"{metric.name[:1].upper()}{metric.name[1:]} in {metric.unit}, {better} is better."
    yield ""
    yield _line(["model", *columns, "seeds", "test samples"])
    yield _line(["---"] * (len(columns) + 3))
    for standing in board.standings:
        if not standing.row.is_trial:
            yield _line(_cells(board, standing))


def _role(span: Span) -> str:
    return f" ({_ROLES[span.role]})" if span.role else ""


def _cells(board: Leaderboard, standing: Standing) -> list[str]:
    row = standing.row
    label = in_table(row.label)
    scores = [
        f"**{cell.markdown}**" if board.is_best(standing, k) else cell.markdown
        for k, cell in enumerate(standing.cells)
    ]
    samples = samples_words(row.samples, row.images)
    return [f"*{label}*" if row.is_paper else label, *scores, str(row.seeds or "–"), samples]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def evaluation_files(boards: Sequence[Leaderboard]) -> dict[str, str]:
    """Return the evaluation results of each model by the name of its file.

    The paper's models and trials have none.
    """
    files: dict[str, str] = {}
    for board in boards:
        for standing in board.standings:
            if not (standing.row.is_paper or standing.row.is_trial):
                name = _file_name(f"{board.task.name} {standing.row.label}", files)
                index = {"model-index": [_model(board, standing)]}
                files[name] = "\n".join([*_yaml(index), ""])
    return files


def _file_name(text: str, taken: dict[str, str]) -> str:
    stem = re.sub(r"\W+", "-", text, flags=re.ASCII).strip("-")[:120] or "model"
    names = (f"{stem}{'' if k == 1 else f'-{k}'}.eval.yaml" for k in range(1, len(taken) + 2))
    return next(name for name in names if name not in taken)


def _model(board: Leaderboard, standing: Standing) -> dict[str, Any]:
    task, row = board.task, standing.row
    metrics = [
        {
            "type": re.sub(r"\W+", "-", board.metric.name),
            "value": cell.value,
            "name": f"{board.metric.name} in {board.metric.unit}, "
            f"{cell.only + ' of ' if cell.only else ''}{span.title}{_role(span)}",
        }
        for span, cell in zip(board.columns, standing.cells, strict=True)
        if cell.value is not None
    ]
    result = {"task": _task(task), "dataset": _dataset(board, standing), "metrics": metrics}
    return {"name": f"{task.name}, {row.label}", "results": [result]}


def _task(task: Task) -> dict[str, str]:
    return {"type": _TASK_TYPES[task.kind], "name": f"{task.kind} {task.unit}"}


def _dataset(board: Leaderboard, standing: Standing) -> dict[str, Any]:
    row = standing.row
    args = {
        "content_sha256": row.results[0].test_data,
        "samples": row.samples,
        "images": row.images,
        "seeds": row.seeds,
    }
    return {
        "type": board.task.dataset,
        "name": board.task.title,
        "split": board.task.test.name,
        "args": {name: value for name, value in args.items() if value is not None},
    }


def _yaml(value: Any) -> Iterator[str]:
    """Yield the lines of names, lists and scalars as YAML, in which JSON's scalars are valid.

    >>> list(_yaml({"a": [{"b": 1, "c": "x: y"}]}))
    ['a:', '- b: 1', '  c: "x: y"']
    """
    if isinstance(value, list):
        for item in value:
            first, *rest = _yaml(item)
            yield f"- {first}"
            yield from (f"  {line}" for line in rest)
    elif isinstance(value, dict):
        for name, item in value.items():
            if isinstance(item, dict | list):
                yield f"{name}:"
                yield from (line if isinstance(item, list) else f"  {line}" for line in _yaml(item))
            else:
                yield f"{name}: {json.dumps(item, ensure_ascii=False)}"
    else:
        yield json.dumps(value, ensure_ascii=False)

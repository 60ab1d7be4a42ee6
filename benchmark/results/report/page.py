"""The report page: one HTML file that needs nothing else."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmark.registry import TASKS
from benchmark.results.report.entries import Entry
from benchmark.results.report.player import Playback, task_player
from benchmark.results.report.step_charts import steps_json
from benchmark.results.report.tables import (
    Table,
    leaderboard_json,
    row_hues,
    table_json,
    task_tables,
)
from benchmark.results.report.template import fill_template
from benchmark.results.tables import lengths_text, paper_source
from benchmark.tasks.task import ReadingTask, Task
from ivl_shards import UserError
from ivl_shards.disk import write_whole
from ivl_shards.progress import Report, no_report


def write_page(
    entries: Sequence[Entry],
    unfinished: Sequence[str],
    out: Path,
    playback: Playback,
    report: Report = no_report,
) -> None:
    """Write the report as one page."""
    if not out.parent.is_dir() or out.is_dir():
        raise UserError(f"{out}: cannot be written: give --out a file in a folder that exists")
    report(0)
    shown = [task for task in TASKS.values() if any(e.task.name == task.name for e in entries)]
    tasks = []
    for task in shown:
        own = [entry for entry in entries if entry.task.name == task.name]
        player = task_player(task, own, playback, report)
        tasks.append({**_task_json(task, own), "player": player})
    values = {
        "source": paper_source(),
        "runs": len(entries),
        "unfinished": list(unfinished),
        "tasks": tasks,
    }
    write_whole(out, fill_template("page.html", values))


def _task_json(task: Task, entries: Sequence[Entry]) -> dict[str, Any]:
    tables = task_tables(task, entries)
    hues = row_hues(tables)
    return {
        "name": task.name,
        "title": task.title,
        "kind": task.kind,
        "unit": task.unit,
        "symbols": task.alphabet_note if isinstance(task, ReadingTask) else "",
        "trained": [min(task.train.counts), max(task.train.counts)],
        "trained_on": lengths_text(task.train.counts),
        "leaderboard": leaderboard_json(task, entries),
        "tables": [table_json(table, hues) for table in tables],
        "curves": _curves(tables[0], hues),
        "steps": steps_json(tables[0].rows, entries, hues),
        "runs": [_about(entry) for entry in entries],
    }


def _curves(table: Table, hues: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return the training curves in the hues of the tables."""
    return [
        {
            "name": result.config.name if result.config else result.label,
            "label": f"{row.label}, seed {result.seed}",
            "trial": row.is_trial,
            "hue": hues[row.label],
            "loss": _points(result.curve, "loss"),
            "validation": _points(result.curve, "validation"),
        }
        for row in table.rows
        for result in row.results
        if result.curve
    ]


def _points(curve: Sequence[dict[str, float]], name: str) -> list[tuple[float, float]]:
    """Return steps and losses; those of a diverged training may not be numbers."""
    return [(p["step"], p[name]) for p in curve if name in p and math.isfinite(p[name])]


def _about(entry: Entry) -> dict[str, Any]:
    """Return the facts about a run besides its scores."""
    result = entry.result
    config, seconds = result.config, result.training_seconds
    return {
        "run": entry.name,
        "model": entry.label,
        "seed": config.seed if config else None,
        "steps": config.training.steps if config else None,
        "batch": config.training.batch_size if config else None,
        "parameters": result.parameters,
        "minutes": None if seconds is None else round(seconds / 60, 1),
        "machine": result.machine,
        "commit": result.environment.get("commit") or "",
        "test": result.test_data[:12],
    }

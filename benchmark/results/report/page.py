"""Page: all of a report as one file that needs nothing else."""

import math
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from benchmark.results.report.entries import Entry
from benchmark.results.report.player import task_player
from benchmark.results.report.tables import Table, line_hues, table_json, task_tables
from benchmark.results.report.template import fill_template
from benchmark.results.tables import paper_source
from benchmark.tasks import TASKS, Task
from ivl_shards import UserError
from ivl_shards.disk import write_whole
from ivl_shards.generation.recipe import format_counts
from ivl_shards.progress import Report, no_report


def write_page(
    entries: Sequence[Entry],
    unfinished: Sequence[str],
    out: Path,
    data: Path,
    samples: int,
    report: Report = no_report,
    named: Collection[str] = (),
) -> None:
    """Write the page; `samples` are played for each inductive run. Models of third parties are
    played if they are `named`: see `benchmark.bench.load_model`."""
    if not out.parent.is_dir() or out.is_dir():
        raise UserError(f"{out}: cannot be written: give --out a file in a folder that exists")
    report(0)
    shown = [task for task in TASKS.values() if any(e.task is task for e in entries)]
    tasks = []
    for task in shown:
        own = [entry for entry in entries if entry.task is task]
        player = task_player(task, own, data, samples, report, named)
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
    return {
        "name": task.name,
        "title": task.title,
        "kind": task.kind,
        "counted": task.counted,
        "symbols": task.symbols,
        "trained": [min(task.train.counts), max(task.train.counts)],
        "trained_on": format_counts(task.train.counts).replace("-", "–"),
        "tables": [table_json(task, table) for table in tables],
        "curves": _curves(tables[0]),
        "runs": [_about(entry) for entry in entries],
    }


def _curves(table: Table) -> list[dict[str, Any]]:
    """Training curves in the hues of the table."""
    return [
        {
            "name": entry.name,
            "label": f"{entry.label}, seed {entry.result['config']['seed']}",
            "hue": hue,
            "loss": _points(entry.result["curve"], "loss"),
            "validation": _points(entry.result["curve"], "validation"),
        }
        for line, hue in zip(table.lines, line_hues(table.lines), strict=True)
        for entry in line.entries
        if entry.result.get("curve")
    ]


def _points(curve: list[dict[str, float]], name: str) -> list[tuple[float, float]]:
    """Steps and losses; a training that went astray may hold what is no number."""
    return [(p["step"], p[name]) for p in curve if name in p and math.isfinite(p[name])]


def _about(entry: Entry) -> dict[str, Any]:
    """What there is to know of a run besides its scores."""
    result, config = entry.result, entry.config
    around = result.get("surroundings", {})
    seconds = result.get("training_seconds")
    return {
        "run": entry.name,
        "model": entry.label,
        "seed": config.seed if config else None,
        "steps": config.training.steps if config else None,
        "batch": config.training.batch if config else None,
        "parameters": result.get("parameters"),
        "minutes": None if seconds is None else round(seconds / 60, 1),
        "machine": f"{around.get('machine', '')}, {around.get('threads', '?')} threads",
        "commit": around.get("commit") or "",
        "test": entry.tested_on[:12],
    }

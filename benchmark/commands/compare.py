"""ivl-bench compare: is one model better than another on the same test set?"""

import json
from pathlib import Path

import click

from benchmark.commands.options import DATA, PATH, RESULT_JSON, TEST
from benchmark.commands.predictions import read_for_test_set
from benchmark.data.datasets import DataFolder, TestSet
from benchmark.data.test_sets import set_words
from benchmark.evaluation.compare import compare, comparison_table
from benchmark.evaluation.predictions import stated_test_data
from ivl_shards import UserError


@click.command("compare")
@click.argument("first", metavar="A", type=PATH)
@click.argument("second", metavar="B", type=PATH)
@click.option("--task", "task_name", help="The task; default: the one that the files name.")
@DATA
@TEST
@RESULT_JSON
def compare_command(
    first: Path,
    second: Path,
    task_name: str | None,
    data: Path,
    test: Path | None,
    as_json: bool,
) -> None:
    """Compare the predictions of two models for one test set.

    Prints both scores at each length, their difference with a 95 % interval, and whether that
    excludes 0. The interval is that of a paired bootstrap: the same samples, or the same
    photographs that samples were cut from, are drawn for both.

    Example: ivl-bench compare a.jsonl b.jsonl --task coloured-shapes --test test.h5
    """
    _require_same_test_set(first, second)
    test_set = TestSet(DataFolder(data, test=test))
    task, dataset, ours = read_for_test_set(first, task_name, test_set)
    _, _, theirs = read_for_test_set(second, task.name, test_set)
    found = compare(task, dataset, ours.rows, theirs.rows)
    tested = set_words(task, dataset)
    if as_json:
        names = {"a": ours.model, "b": theirs.model, "task": task.name}
        about = {"test_data": ours.test_data, "test_set": tested}
        scores = [each.to_json() for each in found]
        click.echo(json.dumps({**names, **about, "comparisons": scores}, indent=1))
        return
    names_of = [f"{p.model} ({path.name})" for p, path in ((ours, first), (theirs, second))]
    click.echo(f"Test set: {tested}")
    click.echo(comparison_table(task, names_of, found))


def _require_same_test_set(first: Path, second: Path) -> None:
    """Raise unless two files are of one test set, before that is opened or generated."""
    checksums = [stated_test_data(path) for path in (first, second)]
    if checksums[0] != checksums[1]:
        raise UserError(
            f"{second}: its predictions are for another test set than those of {first}, with the "
            f"content checksum {checksums[1][:16]}… instead of {checksums[0][:16]}…"
        )

"""ivl-bench predict and score: predictions out of our models, and scores of anyone's."""

import time
from pathlib import Path
from typing import Any

import click

from benchmark.commands.options import (
    BEAM,
    DATA,
    DEVICE,
    LEXICON,
    NAMED,
    PATH,
    QUIET,
    RESULT_JSON,
    TEST,
    THREADS,
    print_results,
    use_threads,
)
from benchmark.data.datasets import DataFolder, TestSet
from benchmark.data.test_sets import set_differences
from benchmark.evaluation.decoding import Decoding
from benchmark.evaluation.evaluate import predict_all, score_predictions
from benchmark.evaluation.predictions import (
    Predictions,
    check_rows,
    read_predictions,
    stated_task,
    write_predictions,
)
from benchmark.models.load import find_weights, load_model
from benchmark.registry import find_task
from benchmark.results.result import Result, scores_of
from benchmark.run import store_result
from benchmark.tasks.task import Task
from benchmark.training.processes import join_processes
from ivl_shards import UserError
from ivl_shards.format.reader import Dataset
from ivl_shards.generation.recipe import require
from ivl_shards.options import Counts
from ivl_shards.progress import show_progress

_COUNTS = click.option(
    "--counts",
    "--lines",
    "counts",
    type=Counts(),
    help="Numbers of lines or objects to test; default: those of the paper.",
)
_N = click.option(
    "--n", type=int, default=200, show_default=True, help="Test samples of each count."
)


@click.command("predict")
@click.argument("weights", metavar="RUN|WEIGHTS")
@click.option("--out", type=PATH, required=True, help="File of predictions to write (.jsonl).")
@_COUNTS
@_N
@DATA
@TEST
@NAMED
@DEVICE
@THREADS
@LEXICON
@BEAM
@QUIET
def predict_command(weights: str, out: Path, **options: Any) -> None:
    """Write the predictions of a trained model, one line for each sample of the test set.

    Example: ivl-bench predict toy-shapes-inductive-fast --out predictions.jsonl
    """
    use_threads(options["threads"])
    require(out.parent.is_dir(), f"{out.parent}: no such folder: make it first")
    require(options["n"] >= 1, f"--n {options['n']}: at least 1")
    config, model = load_model(find_weights(weights), options["named"])
    Decoding(options["lexicon"], options["beam"]).apply(model)
    task = find_task(config.task)
    folder = DataFolder(options["data"], test=options["test"])
    dataset = TestSet(folder, options["counts"], options["n"]).open(task)
    with (
        join_processes(options["device"]) as processes,
        show_progress(len(dataset), options["quiet"]) as report,
    ):
        rows = predict_all(task, model, dataset, processes.device, report)
    checksum = dataset.attributes["content_sha256"]
    write_predictions(out, Predictions(task.name, config.model, checksum, tuple(rows)))
    if not options["quiet"]:
        click.echo(f"{out}: {len(rows):,} predictions")


@click.command("score")
@click.argument("predictions", type=PATH)
@click.option("--task", "task_name", help="The task; default: the one that the file names.")
@click.option("--results", type=PATH, help="Folder to put the result into.")
@_COUNTS
@_N
@DATA
@TEST
@RESULT_JSON
def score_command(predictions: Path, task_name: str | None, **options: Any) -> None:
    """Score predictions of any program on a test set.

    The file has a line of JSON for each sample; docs/PROTOCOL.md specifies it.

    Example: ivl-bench score predictions.jsonl --task text-blocks --test test.h5
    """
    require(options["n"] >= 1, f"--n {options['n']}: at least 1")
    test = TestSet(
        DataFolder(options["data"], test=options["test"]), options["counts"], options["n"]
    )
    result = score_file(predictions, task_name, test)
    if options["results"] is not None:
        store_result(result, options["results"])
    print_results([result], options["as_json"])


def score_file(path: Path, task_name: str | None, test: TestSet) -> Result:
    """Return the scores of a file of predictions."""
    begun = time.monotonic()
    task, dataset, found = read_for_test_set(path, task_name, test)
    return Result(
        task=task,
        model=found.model,
        preset="",
        config=None,
        changes=(),
        test_data=found.test_data,
        test_differs=set_differences(task, dataset),
        **scores_of(score_predictions(task, dataset, found.rows, begun)),
    )


def read_for_test_set(
    path: Path, task_name: str | None, test: TestSet
) -> tuple[Task, Dataset, Predictions]:
    """Read a file of predictions, which must be for every row of a test set."""
    stated = stated_task(path)
    if task_name is not None and task_name != stated:
        raise UserError(f"{path}: its predictions are for {stated}, not for {task_name}")
    task = find_task(stated)
    found = read_predictions(path, task.kind)
    dataset = test.open(task)
    checksum = dataset.attributes["content_sha256"]
    if found.test_data != checksum:
        raise UserError(
            f"{path}: its predictions are for another test set, with the content checksum "
            f"{found.test_data[:16]}…; that of {dataset.path} is {checksum[:16]}…: predict this "
            "one, or name the other with --test"
        )
    check_rows(path, found.rows, len(dataset))
    return task, dataset, found

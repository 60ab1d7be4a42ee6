"""ivl-bench crossval: score each photograph by a model that was trained without it."""

from pathlib import Path

import click

from benchmark.commands.options import (
    DATA,
    DEVICE,
    PATH,
    QUIET,
    RESULT_JSON,
    THREADS,
    print_each,
    use_threads,
)
from benchmark.crossval import cross_validate
from benchmark.data.datasets import DataFolder
from benchmark.models.build import build_model
from benchmark.registry import find_task, find_training
from benchmark.run import Run, store_result
from benchmark.training.processes import join_processes
from benchmark.training.run_folder import Config
from benchmark.training.settings import TRAINING_OPTIONS, parse_change
from ivl_shards.generation.recipe import require


@click.command("crossval")
@click.option(
    "--model",
    "name",
    default="inductive",
    show_default=True,
    metavar="NAME|MODULE:CLASS",
    help="inductive, end-to-end, or a class of your own.",
)
@click.option(
    "--task",
    "task_name",
    default="dota-planes",
    show_default=True,
    help="A task whose samples are cut from photographs.",
)
@click.option("--preset", default="fast", show_default=True, help="fast or paper.")
@click.option("--folds", type=int, default=5, show_default=True, help="Number of folds.")
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="NAME=VALUE",
    help="Change a training setting or an option of the model, for example steps=1000.",
)
@click.option(
    "--try",
    "tried",
    multiple=True,
    metavar="NAME=VALUE",
    help="Score the same weights once more with this option of the model, for example "
    "thresholds=0.35,0.15; can be repeated.",
)
@DATA
@click.option(
    "--out",
    type=PATH,
    default=Path("runs"),
    show_default=True,
    help="Folder of the runs, one for each fold.",
)
@click.option("--results", type=PATH, help="Folder to put the results into.")
@click.option("--seed", type=int, default=0, show_default=True, help="Random seed.")
@DEVICE
@THREADS
@RESULT_JSON
@QUIET
def crossval_command(
    name: str,
    task_name: str,
    preset: str,
    folds: int,
    changes: tuple[str, ...],
    tried: tuple[str, ...],
    data: Path,
    out: Path,
    results: Path | None,
    seed: int,
    device: str,
    threads: int | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Cross-validate: make choices without the test set.

    The photographs of the training set are divided into folds. For each fold a model is trained on
    the others and scored on this one, at all lengths of the validation set. The table shows the
    scores over all folds. A stopped command resumes when it is given again.

    Example: ivl-bench crossval --task dota-planes --set steps=1000 --try thresholds=0.35,0.15
    """
    require(folds >= 2, f"--folds {folds}: at least 2")
    require(0 <= seed < 2**62, f"--seed {seed}: a whole number from 0 on")
    use_threads(threads)
    task = find_task(task_name)
    training = find_training(task, name, preset, dict(map(parse_change, changes)))
    variants = [dict([parse_change(text)]) for text in tried]
    for variant in ({}, *variants):
        (option,) = variant or ("",)
        require(option not in TRAINING_OPTIONS, f"--try {option}: a setting of the training: --set")
        build_model(name, task, preset, {**training.model, **variant})
    config = Config(task.name, name, preset, seed, training)
    with join_processes(device) as processes:
        require(processes.world == 1, "crossval runs in one process, not under torchrun")
        run = Run(config, DataFolder(data), out, processes, changes, quiet=quiet)
        found = cross_validate(run, folds, [{}, *variants])
    if results is not None:
        for result in found:
            store_result(result, results)
    print_each(found, as_json)

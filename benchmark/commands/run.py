"""ivl-bench run: train a model and score it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from benchmark.commands.options import (
    BEAM,
    DATA,
    DEVICE,
    LEXICON,
    PATH,
    QUIET,
    RESULT_JSON,
    SPLIT,
    TEST,
    THREADS,
    print_results,
    use_threads,
)
from benchmark.data.datasets import DataFolder, Scored
from benchmark.evaluation.decoding import Decoding
from benchmark.models.build import build_model
from benchmark.models.inductive_ocr import INDUCTIVE_OCR
from benchmark.models.load import load_initial
from benchmark.registry import find_task, find_training
from benchmark.run import Run, run_one
from benchmark.training.checkpoints import SAVE_EVERY
from benchmark.training.processes import join_processes
from benchmark.training.run_folder import Config
from benchmark.training.settings import parse_change
from ivl_shards import open_dataset
from ivl_shards.generation.recipe import require


@dataclass(frozen=True)
class RunOptions:
    """The options of `ivl-bench run`."""

    name: str
    task_name: str
    preset: str
    init_name: str | None
    data: Path
    train: Path | None
    test: Path | None
    split: Scored
    out: Path
    results: Path | None
    seed: int
    seeds: int
    device: str
    threads: int | None
    save_every: float
    changes: tuple[str, ...]
    lexicon: str | None
    beam: int | None
    as_json: bool
    quiet: bool

    def __post_init__(self) -> None:
        require(self.seeds >= 1, f"--seeds {self.seeds}: at least 1")
        require(0 <= self.seed < 2**62, f"--seed {self.seed}: a whole number from 0 on")
        alone = self.split == "test" or self.test is None
        require(alone, "--split val: leave --test out")
        require(self.save_every >= 0, f"--save-every {self.save_every:g}: 0 or more seconds")


@click.command("run")
@click.option(
    "--model",
    "name",
    required=True,
    metavar="NAME|MODULE:CLASS",
    help="inductive, end-to-end, or a class of your own.",
)
@click.option(
    "--task", "task_name", default="toy-shapes", show_default=True, help="See ivl-bench tasks."
)
@click.option(
    "--preset",
    default="fast",
    show_default=True,
    help="fast or paper; for toy-shapes also demo, a short training.",
)
@click.option(
    "--init",
    "init_name",
    metavar="RUN|WEIGHTS",
    help="Start from the weights of another run of the same model, to fine-tune them.",
)
@DATA
@click.option(
    "--train", type=PATH, metavar="FILE", help="Train on this dataset instead of the task's own."
)
@TEST
@SPLIT
@click.option(
    "--out",
    type=PATH,
    default=Path("runs"),
    show_default=True,
    help="Folder of the runs, each in a folder of its own.",
)
@click.option("--results", type=PATH, help="Folder to put a copy of the result into.")
@click.option("--seed", type=int, default=0, show_default=True, help="Random seed.")
@click.option(
    "--seeds",
    type=int,
    default=1,
    show_default=True,
    help="Number of trainings, one after another, with seeds from --seed on; the table shows "
    "their mean and standard deviation.",
)
@DEVICE
@THREADS
@click.option(
    "--save-every",
    type=float,
    default=SAVE_EVERY,
    show_default=True,
    metavar="SECONDS",
    help="Time between two checkpoints, from which a stopped run resumes.",
)
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="NAME=VALUE",
    help="Change a training setting or an option of the model, for example steps=100.",
)
@LEXICON
@BEAM
@RESULT_JSON
@QUIET
def run_command(**values: Any) -> None:
    """Generate missing data, train, score, and print the table beside the paper's.

    A run that was stopped resumes when the same command is given again.

    Example: ivl-bench run --model inductive --task coloured-shapes

    Example: ivl-bench run --model inductive --train mine.h5 --test mine-test.h5
    """
    options = RunOptions(**values)
    use_threads(options.threads)
    task, name = find_task(options.task_name), options.name
    require(
        name != INDUCTIVE_OCR,
        f"--model {name}: is not trained itself: its finder is that of --model inductive; "
        f"score it with ivl-bench eval --model {name} --task {task.name}",
    )
    training = find_training(task, name, options.preset, dict(map(parse_change, options.changes)))
    # What is impossible is reported before anything is generated.
    model = build_model(name, task, options.preset, training.model)
    decoding = Decoding(options.lexicon, options.beam)
    decoding.apply(model)
    init, init_label = load_initial(options.init_name, model) if options.init_name else (None, "")
    data = DataFolder(options.data, options.train, options.test)
    own_data = open_dataset(options.train).attributes["content_sha256"] if options.train else ""
    found = []
    with join_processes(options.device) as processes:
        for seed in range(options.seed, options.seed + options.seeds):
            config = Config(task.name, name, options.preset, seed, training, init_label, own_data)
            found.append(
                run_one(
                    Run(
                        config,
                        data,
                        options.out,
                        processes,
                        options.changes,
                        decoding,
                        init,
                        options.results,
                        options.save_every,
                        options.quiet,
                        options.split,
                    )
                )
            )
    if processes.first:
        print_results(found, options.as_json, as_list=True)

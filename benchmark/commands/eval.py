"""ivl-bench eval: score trained weights, an off-the-shelf reader or a trivial rule."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from benchmark.baselines.engines import ENGINES
from benchmark.baselines.ocr import PLACES, score_ocr
from benchmark.baselines.trivial import RULES, score_rule
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
from benchmark.data.datasets import DataFolder, Scored, TestSet
from benchmark.evaluation.decoding import Decoding
from benchmark.models.inductive_ocr import INDUCTIVE_OCR
from benchmark.models.load import find_weights
from benchmark.registry import find_task
from benchmark.results.result import Result
from benchmark.run import score_weights, store_result
from benchmark.training.processes import join_processes
from ivl_shards.errors import did_you_mean
from ivl_shards.generation.recipe import require
from ivl_shards.options import Counts


@dataclass(frozen=True)
class EvalOptions:
    """The options of `ivl-bench eval`."""

    weights: str | None
    name: str | None
    task_name: str
    place: str | None
    counts: tuple[int, ...] | None
    n: int
    results: Path | None
    data: Path
    test: Path | None
    device: str
    threads: int | None
    lexicon: str | None
    beam: int | None
    true_memory: bool
    split: Scored
    as_json: bool
    quiet: bool

    def __post_init__(self) -> None:
        given = self.weights is not None or self.name is not None
        require(given, "give RUN|WEIGHTS or --model")
        require(self.n >= 1, f"--n {self.n}: at least 1")


@click.command("eval")
@click.argument("weights", metavar="RUN|WEIGHTS", type=str, required=False)
@click.option(
    "--model",
    "name",
    metavar="NAME|MODULE:CLASS",
    help="Instead of weights: ocr (RapidOCR) or tesseract, on blocks of text; or inductive-ocr, "
    "the bundled line finder with RapidOCR's recogniser; or a trivial rule, distinct-colours for "
    "coloured shapes and canvas-height for toy shapes. With weights: inductive-ocr, or the "
    "class that the weights name, which is then imported.",
)
@click.option(
    "--task",
    "task_name",
    default="icdar-blocks",
    show_default=True,
    help="With --model: the task, such as icdar-blocks or text-blocks.",
)
@click.option(
    "--on",
    "place",
    type=click.Choice(PLACES),
    help="With --model: read whole scenes and assign the words found to their blocks, the "
    "default for icdar-blocks, or read each block alone.",
)
@click.option(
    "--counts",
    "--lines",
    "counts",
    type=Counts(),
    help="Numbers of lines or objects to test; default: those of the paper.",
)
@click.option("--n", type=int, default=200, show_default=True, help="Test samples of each count.")
@click.option("--results", type=PATH, help="Folder to put the result into.")
@SPLIT
@DATA
@TEST
@DEVICE
@THREADS
@LEXICON
@BEAM
@click.option(
    "--true-memory",
    is_flag=True,
    help="Inductive models: score every step with the true memory as well, to see how errors "
    "accumulate.",
)
@RESULT_JSON
@QUIET
def eval_command(**values: Any) -> None:
    """Score a trained model: a run's folder, a file of weights, or bundled weights.

    Or score an off-the-shelf reader or a trivial rule, to compare with.

    Example: ivl-bench eval toy-shapes-inductive-fast --lines 1-100

    Example: ivl-bench eval toy-shapes-inductive-fast --true-memory

    Example: ivl-bench eval runs/toy-shapes-inductive-fast-seed0 --split val

    Example: ivl-bench eval --model ocr --task icdar-blocks

    Example: ivl-bench eval --model inductive-ocr --task icdar-blocks

    Example: ivl-bench eval --model distinct-colours --task coloured-shapes
    """
    options = EvalOptions(**values)
    use_threads(options.threads)
    result = _score(options)
    if options.results is not None:
        store_result(result, options.results)
    print_results([result], options.as_json)


def _score(options: EvalOptions) -> Result:
    decoding = Decoding(options.lexicon, options.beam)
    data = DataFolder(options.data, test=options.test)
    test = TestSet(data, options.counts, options.n, options.split)
    weights, name = options.weights, options.name
    if weights is None and name == INDUCTIVE_OCR:
        weights = f"{find_task(options.task_name).name}-inductive-fast"
    if weights is None:
        assert name is not None
        alone = (*ENGINES, INDUCTIVE_OCR, *RULES)
        hint = did_you_mean(name, alone)
        require(name in alone, f"--model {name}{hint}: without weights, {' or '.join(alone)}")
        require(options.split == "test", f"--split val: {name} has nothing to choose")
        require(not options.true_memory, f"--true-memory: {name} has no memory")
        task = find_task(options.task_name)
        if name in RULES:
            require(decoding.is_greedy, f"--lexicon, --beam: {name} decodes nothing")
            require(options.place is None, f"--on: is for {' or '.join(ENGINES)}")
            return score_rule(name, task, test, options.quiet)
        return score_ocr(name, options.place, task, test, decoding, options.quiet)
    require(name not in ENGINES and name not in RULES, f"give either RUN|WEIGHTS or --model {name}")
    named = () if name is None else (name,)
    with join_processes(options.device) as processes:
        path = find_weights(weights)
        return score_weights(
            path,
            test,
            decoding,
            processes.device,
            named,
            options.quiet,
            options.true_memory,
        )

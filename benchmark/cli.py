"""Command line of the benchmark.

ivl-bench run --model inductive
ivl-bench run --model end-to-end --task coloured-shapes
ivl-bench eval runs/toy-shapes-inductive-fast-seed0 --counts 1-100
ivl-bench report --out report.html
ivl-bench read photo.jpg --out steps.html
ivl-bench tasks
ivl-bench models icdar-blocks-inductive-fast
"""

import importlib
import json
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import torch

from benchmark.baselines.engines import ENGINES
from benchmark.baselines.ocr import PLACES, score_ocr
from benchmark.data.datasets import DataFolder, TestSet
from benchmark.evaluation.decoding import Decoding
from benchmark.files import require_file
from benchmark.models.build import build_model
from benchmark.models.inductive_ocr import DESCRIPTION, INDUCTIVE_OCR
from benchmark.models.load import bundled_weights, find_weights, load_initial, load_reader
from benchmark.reading.blocks import open_picture
from benchmark.reading.photographs import ReadPicture, read_block, read_photograph
from benchmark.registry import MODELS, TASKS, find_task, find_training
from benchmark.results.cards import (
    RESULTS,
    bundled_cards,
    bundled_notes,
    card_text,
    models_page,
    read_card,
    stored_results,
)
from benchmark.results.report import find_entries, write_page
from benchmark.results.report.player import Playback
from benchmark.results.report.steps import StepsFile
from benchmark.results.result import Result
from benchmark.results.results_page import curve_pictures, read_notes, results_page
from benchmark.results.tables import read_results, text_tables
from benchmark.run import Run, run_one, score_weights, store_result
from benchmark.training.checkpoints import SAVE_EVERY
from benchmark.training.processes import join_processes
from benchmark.training.run_folder import Config, RunFolder
from benchmark.training.settings import parse_change
from ivl_shards import UserError, open_dataset
from ivl_shards.disk import write_whole
from ivl_shards.errors import did_you_mean
from ivl_shards.generation.recipe import format_counts, require
from ivl_shards.options import Counts, run, version_option
from ivl_shards.progress import show_progress

_PATH = click.Path(path_type=Path)
# The bundled reader of photographs.
_PHOTO_READER = "icdar-blocks-inductive-fast"
_LEXICON = click.option(
    "--lexicon",
    metavar="FILE|default",
    help="Reading: predict only words of this lexicon, a file with one word per line; default: the "
    "words that text blocks are generated from.",
)
_BEAM = click.option(
    "--beam",
    type=int,
    metavar="N",
    help="Reading: width of the beam search; default: greedy decoding, or 32 with a lexicon.",
)
_NAMED = click.option(
    "--model",
    "named",
    multiple=True,
    metavar="MODULE:CLASS",
    help="Import this class, which the weights name. Without this option a name in a file is "
    "never imported.",
)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
_RESULT_JSON = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
_QUIET = click.option("--quiet", is_flag=True, help="Print nothing but the table and errors.")
_THREADS = click.option(
    "--threads", type=int, help="Number of CPU threads; default: one for each core."
)
_DEVICE = click.option("--device", default="cpu", show_default=True, help="cpu, cuda …")
_DATA = click.option(
    "--data",
    type=_PATH,
    default=Path("data"),
    show_default=True,
    help="Folder of the datasets; missing ones are generated there.",
)
_TEST = click.option(
    "--test", type=_PATH, metavar="FILE", help="Test on this dataset instead of the task's own."
)


def use_threads(threads: int | None) -> None:
    """Set the number of CPU threads."""
    require(threads is None or threads >= 1, f"--threads {threads}: at least 1")
    if threads:
        torch.set_num_threads(threads)


class _Limits(click.Group):
    """Commands that end in one line where torch finds no more memory."""

    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except RuntimeError as error:
            if "memory" not in str(error):
                raise  # a bug
            raise MemoryError from None


@click.group(cls=_Limits, epilog="Example: ivl-bench run --model inductive")
@click.option(
    "--plugin",
    "plugins",
    multiple=True,
    metavar="MODULE",
    help="Import this module first: it registers tasks, models or metrics.",
)
@version_option()
def cli(plugins: tuple[str, ...]) -> None:
    """Train models on short visual sequences and score them on long ones."""
    for name in plugins:
        import_plugin(name)


def import_plugin(name: str) -> None:
    """Import a module of the user's, from the current folder too."""
    if "" not in sys.path:
        sys.path.insert(0, "")  # as with python -m
    try:
        importlib.import_module(name)
    except (ImportError, SyntaxError, ValueError) as error:
        raise UserError(f"--plugin {name}: cannot be imported ({error})") from None


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
        require(self.save_every >= 0, f"--save-every {self.save_every:g}: 0 or more seconds")


@cli.command("run")
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
@click.option("--preset", default="fast", show_default=True, help="fast or paper.")
@click.option(
    "--init",
    "init_name",
    metavar="RUN|WEIGHTS",
    help="Start from the weights of another run of the same model, to fine-tune them.",
)
@_DATA
@click.option(
    "--train", type=_PATH, metavar="FILE", help="Train on this dataset instead of the task's own."
)
@_TEST
@click.option(
    "--out",
    type=_PATH,
    default=Path("runs"),
    show_default=True,
    help="Folder of the runs, each in a folder of its own.",
)
@click.option("--results", type=_PATH, help="Folder to put a copy of the result into.")
@click.option("--seed", type=int, default=0, show_default=True, help="Random seed.")
@click.option(
    "--seeds",
    type=int,
    default=1,
    show_default=True,
    help="Number of trainings, with seeds from --seed on; the table shows their mean.",
)
@_DEVICE
@_THREADS
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
@_LEXICON
@_BEAM
@_RESULT_JSON
@_QUIET
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
                    )
                )
            )
    if processes.first:
        _print_results(found, options.as_json, as_list=True)


def _print_results(results: list[Result], as_json: bool, as_list: bool = False) -> None:
    if as_json:
        stored = [result.to_json() for result in results]
        click.echo(json.dumps(stored if as_list else stored[0], indent=1))
        return
    seeds = f", mean of {len(results)} seeds" if len(results) > 1 else ""
    click.echo(text_tables(results[0].task, results[0].label + seeds, results))


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
    as_json: bool
    quiet: bool

    def __post_init__(self) -> None:
        given = self.weights is not None or self.name is not None
        require(given, "give RUN|WEIGHTS or --model")
        require(self.n >= 1, f"--n {self.n}: at least 1")


@cli.command("eval")
@click.argument("weights", metavar="RUN|WEIGHTS", type=str, required=False)
@click.option(
    "--model",
    "name",
    metavar="NAME|MODULE:CLASS",
    help="Instead of weights: ocr (RapidOCR) or tesseract, on blocks of text; or inductive-ocr, "
    "the bundled line finder with RapidOCR's recogniser. With weights: inductive-ocr, or the "
    "class that the weights name, which is then imported.",
)
@click.option(
    "--task",
    "task_name",
    default="icdar-blocks",
    show_default=True,
    help="With --model: what to read, icdar-blocks or text-blocks.",
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
@click.option("--results", type=_PATH, help="Folder to put the result into.")
@_DATA
@_TEST
@_DEVICE
@_THREADS
@_LEXICON
@_BEAM
@_RESULT_JSON
@_QUIET
def eval_command(**values: Any) -> None:
    """Score a trained model: a run's folder, a file of weights, or bundled weights.

    Or score an off-the-shelf reader, to compare with.

    Example: ivl-bench eval toy-shapes-inductive-fast --lines 1-100

    Example: ivl-bench eval --model ocr --task icdar-blocks

    Example: ivl-bench eval --model inductive-ocr --task icdar-blocks
    """
    options = EvalOptions(**values)
    use_threads(options.threads)
    result = _score(options)
    if options.results is not None:
        store_result(result, options.results)
    _print_results([result], options.as_json)


def _score(options: EvalOptions) -> Result:
    decoding = Decoding(options.lexicon, options.beam)
    test = TestSet(DataFolder(options.data, test=options.test), options.counts, options.n)
    weights, name = options.weights, options.name
    if weights is None and name == INDUCTIVE_OCR:
        weights = f"{find_task(options.task_name).name}-inductive-fast"
    if weights is None:
        assert name is not None
        alone = (*ENGINES, INDUCTIVE_OCR)
        hint = did_you_mean(name, alone)
        require(name in ENGINES, f"--model {name}{hint}: without weights, {' or '.join(alone)}")
        task = find_task(options.task_name)
        return score_ocr(name, options.place, task, test, decoding, options.quiet)
    require(name not in ENGINES, "give either RUN|WEIGHTS or --model ocr")
    named = () if name is None else (name,)
    with join_processes(options.device) as processes:
        path = find_weights(weights)
        return score_weights(path, test, decoding, processes.device, named, options.quiet)


@cli.command("read")
@click.argument("pictures", metavar="PICTURE...", nargs=-1, required=True, type=_PATH)
@click.option(
    "--weights",
    default=_PHOTO_READER,
    show_default=True,
    metavar="RUN|FILE|NAME",
    help="The reader: a run's folder, a file of weights, or bundled weights.",
)
@_NAMED
@click.option(
    "--block",
    "is_block",
    is_flag=True,
    help="Each picture shows one block of text: do not search for blocks in it.",
)
@click.option(
    "--min-confidence",
    type=float,
    default=0.0,
    show_default=True,
    metavar="X",
    help="Leave out lines that are read with less confidence, 0 to 1.",
)
@click.option(
    "--out",
    type=_PATH,
    metavar="FILE.html|FILE.png",
    help="Write the steps of each block: a page to play them on, or one picture.",
)
@_LEXICON
@_BEAM
@click.option(
    "--threads",
    type=int,
    default=1,
    show_default=True,
    help="Number of CPU threads; photographs are read in small pieces, which gain "
    "little from more.",
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print blocks and lines with their corners in pixels as JSON.",
)
@click.option("--quiet", is_flag=True, help="Print nothing but the text and errors.")
def read_command(
    pictures: tuple[Path, ...],
    weights: str,
    named: tuple[str, ...],
    is_block: bool,
    min_confidence: float,
    out: Path | None,
    lexicon: str | None,
    beam: int | None,
    threads: int,
    as_json: bool,
    quiet: bool,
) -> None:
    """Read the text of photographs, block by block and line by line.

    Prints every line after its confidence, with an empty line between blocks.

    Example: ivl-bench read photo.jpg

    Example: ivl-bench read *.jpg --min-confidence 0.8 --out steps.html
    """
    require(0 <= min_confidence <= 1, f"--min-confidence {min_confidence:g}: from 0 to 1")
    use_threads(threads)
    _require_pictures(pictures, out)
    steps = None if out is None else StepsFile(out, weights)
    task, model = load_reader(find_weights(weights), named)
    Decoding(lexicon, beam).apply(model)
    found = []
    with show_progress(len(pictures), quiet, "pictures") as report:
        report(0)
        for path in pictures:
            pixels = open_picture(path, task.channels)
            if is_block or task.letterbox is None:
                blocks = [read_block(model, task, pixels)]
            else:
                blocks = read_photograph(model, task, pixels, report)
            read = ReadPicture(str(path), [block.confident(min_confidence) for block in blocks])
            found.append(read.to_json())
            if steps is not None:
                steps.add(read, pixels)
            report(1, path.name)
    if steps is not None:
        steps.write()
    if as_json:
        click.echo(json.dumps({"weights": weights, "pictures": found}, indent=1))
    else:
        _print_text(found, quiet)


def _require_pictures(paths: tuple[Path, ...], out: Path | None) -> None:
    """Raise unless all paths are those of files, none of them of weights or about to be
    written."""
    bundled = {path.stem for path in bundled_weights()}
    for path in paths:
        is_weights = path.suffix == ".safetensors" or str(path) in bundled
        with suppress(OSError, ValueError):  # no such name can be; said below
            is_weights |= RunFolder(path).weights.is_file()
        require(not is_weights, f"{path}: weights, not a picture: give --weights {path}")
        require_file(path)
        same = out is not None and out.exists() and out.samefile(path)
        require(not same, f"--out {out}: is a picture to read: give --out another name")


def _print_text(pictures: list[dict[str, Any]], quiet: bool) -> None:
    """Print lines after their confidence, with an empty line between blocks."""
    for k, picture in enumerate(pictures):
        name = click.format_filename(picture["picture"])
        if len(pictures) > 1:
            click.echo("\n" * bool(k) + f"{name}:")
        blocks = [
            "\n".join(f"{line['confidence']:.2f}\t{line['text']}" for line in block["lines"])
            for block in picture["blocks"]
        ]
        if blocks:
            click.echo("\n\n".join(blocks))
        elif not quiet:
            click.echo(f"{name}: no text found", err=True)


@cli.command("tasks", epilog="Example: ivl-bench tasks")
@_JSON
def tasks_command(as_json: bool) -> None:
    """List the tasks."""
    if as_json:
        tasks = [
            {
                "name": task.name,
                "kind": task.kind,
                "train": task.train.counts,
                "test": task.test.counts,
                "metrics": [metric.name for metric in task.metrics],
            }
            for task in TASKS.values()
        ]
        click.echo(json.dumps(tasks, indent=1))
        return
    for task in TASKS.values():
        click.echo(
            f"{task.name:<16} {task.kind} {task.unit}: trained on "
            f"{format_counts(task.train.counts)}, tested on {format_counts(task.test.counts)}; "
            f"{', '.join(metric.name for metric in task.metrics)}"
        )


@cli.command("models")
@click.argument("weights", metavar="[RUN|WEIGHTS]", required=False)
@click.option(
    "--results",
    type=_PATH,
    default=RESULTS,
    show_default="those of the project",
    help="Folder of the results that cards take their scores from.",
)
@click.option(
    "--out", type=_PATH, metavar="FILE.md", help="Write the cards of all bundled weights to a page."
)
@_NAMED
@_JSON
def models_command(
    weights: str | None, results: Path, out: Path | None, named: tuple[str, ...], as_json: bool
) -> None:
    """List the models and the bundled weights, or print the card of some weights.

    A card states the training data and time, the scores, the limits and the terms of use.

    Example: ivl-bench models

    Example: ivl-bench models icdar-blocks-inductive-fast
    """
    require(weights is None or out is None, "--out: is for all bundled weights: leave the name out")
    if weights is not None:
        card = read_card(find_weights(weights), stored_results(results), named)
        click.echo(json.dumps(card.to_json(), indent=1) if as_json else card_text(card))
    elif out is not None:
        _write_pages(out, {out.name: models_page(bundled_cards(results))})
    elif as_json:
        cards = {card.name: card.to_json() for card in bundled_cards(results)}
        click.echo(json.dumps({"models": _descriptions(), "trained": cards}, indent=1))
    else:
        for name, text in _descriptions().items():
            click.echo(f"{name:<13} {text}")
        click.echo("MODULE:CLASS a class of yours that derives from benchmark.Model")
        for path in bundled_weights():
            about = bundled_notes(path).about
            click.echo(f"{path.stem:<32} {path.stat().st_size / 1e6:4.1f} MB  {about}")


def _descriptions() -> dict[str, str]:
    return {
        **{name: entry.description for name, entry in MODELS.items()},
        INDUCTIVE_OCR: DESCRIPTION,
    }


def _write_pages(out: Path, texts: Mapping[str, str]) -> None:
    """Write a page, and what belongs to it, into its folder."""
    try:
        for name, text in texts.items():
            path = out.parent / name
            path.parent.mkdir(exist_ok=True)
            write_whole(path, text.encode())
    except OSError as error:
        raise UserError(f"{out}: cannot be written ({error.strerror}): use another --out") from None
    click.echo(f"{out}: written")


@cli.command("results", epilog="Example: ivl-bench results results --out docs/RESULTS.md")
@click.argument("folder", type=_PATH, default=Path("results"))
@click.option(
    "--out",
    type=_PATH,
    default=Path("docs/RESULTS.md"),
    show_default=True,
    help="The page to write.",
)
def results_command(folder: Path, out: Path) -> None:
    """Write the results page from all results in a folder, with its training curves."""
    results = read_results(folder)
    page = results_page(results, read_notes(folder))
    _write_pages(out, {out.name: page, **curve_pictures(results)})


@cli.command("report")
@click.argument("places", metavar="[RUN|RESULT]...", nargs=-1, type=_PATH)
@click.option(
    "--out", type=_PATH, default=Path("report.html"), show_default=True, help="The page to write."
)
@click.option(
    "--data",
    type=_PATH,
    default=Path("data"),
    show_default=True,
    help="Folder of the datasets; runs whose test set it lacks are not played.",
)
@_NAMED
@click.option(
    "--samples",
    type=int,
    default=6,
    show_default=True,
    help="Test images to play for each inductive run, failures first.",
)
@_THREADS
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
def report_command(
    places: tuple[Path, ...],
    out: Path,
    data: Path,
    named: tuple[str, ...],
    samples: int,
    threads: int | None,
    quiet: bool,
) -> None:
    """Write the report: tables, charts, and the inductive loop step by step, on one page.

    Without arguments it covers all runs in runs/ and all results in results/.

    Example: ivl-bench report runs/toy-shapes-* --out report.html
    """
    require(samples >= 0, f"--samples {samples}: at least 0")
    use_threads(threads)
    entries, unfinished = find_entries(places)
    with show_progress(len(entries), quiet, "runs") as report:
        write_page(entries, unfinished, out, Playback(data, samples, named), report)
    if not quiet:
        size = out.stat().st_size / 1e6
        click.echo(f"{out}: written, {len(entries)} runs, {size:.1f} MB")


def main() -> None:
    """Entry point of `ivl-bench`."""
    run(cli, "ivl-bench")

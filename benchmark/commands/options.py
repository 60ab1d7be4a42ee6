"""Options that several commands share, and the output of results."""

import json
from collections.abc import Mapping
from pathlib import Path

import click
import torch

from benchmark.results.result import Result
from benchmark.results.step_results import step_table
from benchmark.results.tables import text_tables
from ivl_shards import UserError
from ivl_shards.disk import write_whole
from ivl_shards.generation.recipe import require

PATH = click.Path(path_type=Path)
LEXICON = click.option(
    "--lexicon",
    metavar="FILE|default",
    help="Reading: predict only words of this lexicon, a file with one word per line; default: the "
    "words that text blocks are generated from.",
)
BEAM = click.option(
    "--beam",
    type=int,
    metavar="N",
    help="Reading: width of the beam search; default: greedy decoding, or 32 with a lexicon.",
)
NAMED = click.option(
    "--model",
    "named",
    multiple=True,
    metavar="MODULE:CLASS",
    help="Import this class, which the weights name. Without this option a name in a file is "
    "never imported.",
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
RESULT_JSON = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
QUIET = click.option("--quiet", is_flag=True, help="Print nothing but the table and errors.")
THREADS = click.option(
    "--threads", type=int, help="Number of CPU threads; default: one for each core."
)
DEVICE = click.option("--device", default="cpu", show_default=True, help="cpu, cuda …")
DATA = click.option(
    "--data",
    type=PATH,
    default=Path("data"),
    show_default=True,
    help="Folder of the datasets; missing ones are generated there.",
)
SPLIT = click.option(
    "--split",
    type=click.Choice(["test", "val"]),
    default="test",
    show_default=True,
    help="Score on the test set, once a model is finished, or on the validation set, to make "
    "choices.",
)
TEST = click.option(
    "--test", type=PATH, metavar="FILE", help="Test on this dataset instead of the task's own."
)


def use_threads(threads: int | None) -> None:
    """Set the number of CPU threads."""
    require(threads is None or threads >= 1, f"--threads {threads}: at least 1")
    if threads:
        torch.set_num_threads(threads)


def print_results(results: list[Result], as_json: bool, as_list: bool = False) -> None:
    if as_json:
        stored = [result.to_json() for result in results]
        click.echo(json.dumps(stored if as_list else stored[0], indent=1))
        return
    seeds = f", mean of {len(results)} seeds" if len(results) > 1 else ""
    task, label = results[0].task, results[0].label + seeds
    click.echo(text_tables(task, label, results))
    steps = [result.steps for result in results if result.steps is not None]
    if len(steps) == len(results):
        click.echo("\n" + step_table(label, task.unit, steps, results[0].trained_to))


def print_each(results: list[Result], as_json: bool) -> None:
    """Print results that are of different models, one after another."""
    if as_json:
        click.echo(json.dumps([result.to_json() for result in results], indent=1))
        return
    for k, result in enumerate(results):
        click.echo("\n" * (k > 0) + text_tables(result.task, result.label, [result]))


def write_pages(out: Path, texts: Mapping[str, str]) -> None:
    """Write a page, and what belongs to it, into its folder, and say so."""
    write_beside(out, texts)
    click.echo(f"{out}: written")


def write_beside(out: Path, texts: Mapping[str, str]) -> None:
    """Write texts into the folder of a page, each under its name."""
    try:
        for name, text in texts.items():
            path = out.parent / name
            path.parent.mkdir(exist_ok=True)
            write_whole(path, text.encode())
    except OSError as error:
        raise UserError(f"{out}: cannot be written ({error.strerror}): use another --out") from None

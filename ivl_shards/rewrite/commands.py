"""Commands: `ivl-shards take`, `split`, `reshard` and `merge`."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from ivl_shards.errors import UserError
from ivl_shards.format.reader import open_dataset
from ivl_shards.generation.knobs import Decorator
from ivl_shards.generation.recipe import require
from ivl_shards.options import announce, ignore, writing_options
from ivl_shards.progress import show_progress
from ivl_shards.rewrite.operations import (
    Planned,
    plan_merge,
    plan_reshard,
    plan_split,
    plan_take,
)

_PATH = click.Path(path_type=Path)
_SOURCE_IMAGE = "source_image"


def _out(**options: Any) -> Decorator:
    return click.option("--out", required=True, type=_PATH, **options)


@click.command(epilog='Example: ivl-shards take in.h5 --where "line_count <= 3" --out short.h5')
@click.argument("dataset", type=_PATH)
@click.option(
    "--where",
    multiple=True,
    help="Condition on the labels, such as 'line_count <= 3 and alignment == 0'. If given several "
    "times, all must hold.",
)
@click.option("--rows", default="", help="Rows to choose from: 0-999 or 0-99,500-599.")
@click.option("--n", type=int, help="Size of a random sample of these.")
@click.option("--seed", type=int, default=0, show_default=True, help="Random seed of the sample.")
@click.option("--split", help="Name of the split; that of the dataset by default.")
@_out(help="Dataset to write.")
@writing_options()
def take(dataset: Path, out: Path, quiet: bool, **options: Any) -> None:
    """Copy some samples of a dataset to a new one, in the same order."""
    selection = {name: options.pop(name) for name in ("where", "rows", "n", "seed", "split")}
    _write([plan_take(dataset, out, **selection)], quiet, options)


@click.command(
    epilog="Example: ivl-shards split in.h5 --fractions 0.9,0.1 --out train.h5 --out val.h5"
)
@click.argument("dataset", type=_PATH)
@click.option("--fractions", required=True, help="Fraction of the samples for each --out: 0.9,0.1.")
@click.option(
    "--by",
    default="",
    metavar="FIELD",
    help="Keep samples with the same value together: with source_image, no two parts share a "
    "photograph.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Random seed.")
@click.option("--names", help="Names of the splits: train,val. By default those of the files.")
@_out(multiple=True, help="Dataset to write, once for each fraction.")
@writing_options()
def split(
    dataset: Path,
    fractions: str,
    by: str,
    seed: int,
    names: str | None,
    out: Sequence[Path],
    quiet: bool,
    **options: Any,
) -> None:
    """Copy the samples of a dataset to several new ones that share none, at random."""
    named = None if names is None else names.split(",")
    parts = plan_split(dataset, out, _fractions(fractions), by=by, seed=seed, names=named)
    if not by and not quiet and _SOURCE_IMAGE in open_dataset(dataset).schema:
        click.echo(
            f"{dataset}: samples of one photograph may be in several parts: to keep them together, "
            f"use --by {_SOURCE_IMAGE}",
            err=True,
        )
    _write(parts, quiet, options)


def _fractions(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise UserError(f"--fractions {text}: write for example 0.9,0.1") from None


@click.command(epilog="Example: ivl-shards reshard in.h5 --shard-size 1000 --out out.h5")
@click.argument("dataset", type=_PATH)
@click.option("--one-file", is_flag=True, help="Write a single file, however large.")
@_out(help="Dataset to write.")
@writing_options()
def reshard(dataset: Path, one_file: bool, out: Path, quiet: bool, **options: Any) -> None:
    """Copy a dataset to files of another size. The content and its checksum stay the same."""
    planned = plan_reshard(dataset, out)
    if one_file:
        require(options["shard_size"] is None, "give either --shard-size or --one-file")
        options["shard_size"] = planned.content.total
    _write([planned], quiet, options)


@click.command(epilog="Example: ivl-shards merge a.h5 b.h5 --out c.h5")
@click.argument("datasets", nargs=-1, required=True, type=_PATH)
@click.option("--split", help="Name of the split; by default those of the datasets, joined.")
@_out(help="Dataset to write.")
@writing_options()
def merge(
    datasets: Sequence[Path], split: str | None, out: Path, quiet: bool, **options: Any
) -> None:
    """Copy the samples of several datasets to one. Their fields must be the same."""
    _write([plan_merge(datasets, out, split=split)], quiet, options)


COMMANDS = (take, split, reshard, merge)


def _write(parts: Sequence[Planned], quiet: bool, options: dict[str, Any]) -> None:
    """Write the datasets with a progress bar, and print a summary of each."""
    for planned in parts:
        begun = time.monotonic()
        with show_progress(planned.content.total, quiet) as report:
            tell = ignore if quiet else announce
            made = planned.write(report=report, announce=tell, **options)
        if not quiet:
            seconds = time.monotonic() - begun
            did = f"{made.rendered:,} copied in {seconds:.1f} s"
            content = open_dataset(made.path).attributes["content_sha256"]
            click.echo(
                f"{planned.out}: {made.samples:,} samples, "
                f"{did if made.rendered else 'already complete'}, content sha256 {content[:16]}…"
            )

"""ivl-bench read: read the text of photographs."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from benchmark.commands.options import (
    BEAM,
    LEXICON,
    NAMED,
    PATH,
    use_threads,
)
from benchmark.evaluation.decoding import Decoding
from benchmark.files import require_file
from benchmark.models.load import bundled_weights, find_weights, load_reader
from benchmark.reading.blocks import open_picture
from benchmark.reading.photographs import ReadPicture, read_block, read_photograph
from benchmark.results.report.steps import StepsFile
from benchmark.training.run_folder import RunFolder
from ivl_shards.generation.recipe import require
from ivl_shards.progress import show_progress

# The bundled reader of photographs.
_PHOTO_READER = "icdar-blocks-inductive-fast"


@click.command("read")
@click.argument("pictures", metavar="PICTURE...", nargs=-1, required=True, type=PATH)
@click.option(
    "--weights",
    default=_PHOTO_READER,
    show_default=True,
    metavar="RUN|FILE|NAME",
    help="The reader: a run's folder, a file of weights, or bundled weights.",
)
@NAMED
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
    type=PATH,
    metavar="FILE.html|FILE.png",
    help="Write the steps of each block: a page to play them on, or one picture.",
)
@LEXICON
@BEAM
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

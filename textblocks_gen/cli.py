"""Command line of the text blocks.

textblocks-gen --lines 1-10 --n 500000 out.h5
textblocks-gen --lines 3-5 --n 1000 --fonts DIR --backgrounds DIR --lexicon words.txt out.h5
"""

import logging
from pathlib import Path
from typing import Any

import click

from ivl_shards.format.reader import open_dataset
from ivl_shards.generation.knobs import knob_options, take_knobs
from ivl_shards.generation.recipe import require
from ivl_shards.inspect.sheet import write_sheet
from ivl_shards.options import (
    generate_and_report,
    generator_options,
    run,
    total_samples,
    version_option,
)
from ivl_shards.remote import Location
from textblocks_gen import TEXT, Inputs, TextRecipe, complete

_PICTURES = (".png", ".jpg", ".jpeg")
_PLACE = click.Path(path_type=Path)


@click.command(epilog="Example: textblocks-gen --lines 3-5 --total 10000 --split train train.h5")
@version_option()
@generator_options("lines", default="1-10")
@click.option("--fonts", type=_PLACE, help="Folder of fonts; the installed catalogue by default.")
@click.option("--lexicon", type=_PLACE, help="File of words, one a line; English by default.")
@click.option("--text", type=_PLACE, help="File of running text, to draw instead of single words.")
@click.option("--backgrounds", type=_PLACE, help="Folder of photographs; textures by default.")
@click.option("--preview", type=_PLACE, help="Also draw a contact sheet, such as sheet.png.")
@knob_options(TextRecipe)
def cli(
    out: Location,
    counts: tuple[int, ...],
    n: int | None,
    total: int | None,
    preview: Path | None,
    **options: Any,
) -> None:
    """Generate blocks of several lines of text on textures or photographs."""
    logging.basicConfig(format="%(message)s", level=logging.ERROR if options["quiet"] else None)
    knobs = take_knobs(TextRecipe, options)
    shared = {name: options.pop(name) for name in ("seed", "split", "dense_memory")}
    recipe = TextRecipe(counts, total_samples(counts, n, total), **shared, **knobs)
    if preview is not None:
        require(preview.parent.is_dir(), f"{preview.parent}: no such folder: make it first")
        require(preview.suffix in _PICTURES, f"--preview {preview}: name it .png or .jpg")
    places = [options.pop(name) for name in ("fonts", "lexicon", "backgrounds", "text")]
    source = Inputs(*(path and path.absolute() for path in places))
    generate_and_report(TEXT, complete(recipe, source), out, source=source, **options)
    if preview is not None:
        write_sheet(open_dataset(out), preview)


def main() -> None:
    """Run `textblocks-gen`."""
    run(cli, "textblocks-gen")

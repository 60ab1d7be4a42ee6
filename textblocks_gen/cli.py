"""Command line of the text blocks.

textblocks-gen --lines 1-10 --n 500000 out.h5
textblocks-gen --lines 3-5 --n 1000 --fonts DIR --backgrounds DIR --lexicon words.txt out.h5
"""

import logging
from pathlib import Path
from typing import Any

import click

from ivl_shards.options import (
    Decorator,
    Size,
    generate_and_report,
    generator_options,
    run,
    total_samples,
    version_option,
)
from textblocks_gen import TEXT, Source, TextRecipe, complete

_PLACE = click.Path(path_type=Path)


def _chance(name: str, help_: str) -> Decorator:
    default = getattr(TextRecipe, name)
    option = f"--{name.replace('_', '-')}"
    return click.option(option, type=float, default=default, show_default=True, help=help_)


@click.command(epilog="Example: textblocks-gen --lines 3-5 --total 10000 --split train train.h5")
@version_option()
@generator_options("lines", default="1-10")
@click.option("--fonts", type=_PLACE, help="Folder of fonts; the installed catalogue by default.")
@click.option("--lexicon", type=_PLACE, help="File of words, one a line; English by default.")
@click.option("--backgrounds", type=_PLACE, help="Folder of photographs; textures by default.")
@click.option(
    "--size",
    type=Size(),
    show_default=True,
    metavar="WIDTHxHEIGHT",
    default=f"{TextRecipe.width}x{TextRecipe.height}",
    help="Of the images in pixels.",
)
@click.option(
    "--words",
    type=(int, int),
    show_default=True,
    metavar="LEAST MOST",
    default=(TextRecipe.fewest_words, TextRecipe.most_words),
    help="Words in a line.",
)
@click.option(
    "--line-height",
    type=(float, float),
    show_default=True,
    metavar="LEAST MOST",
    default=(TextRecipe.smallest_line, TextRecipe.largest_line),
    help="Height of a line over that of the image; the same for any number of lines.",
)
@click.option(
    "--rotation",
    type=float,
    default=TextRecipe.rotation,
    show_default=True,
    help="Greatest turn in degrees.",
)
@click.option(
    "--shear", type=float, default=TextRecipe.shear, show_default=True, help="Greatest shear."
)
@click.option(
    "--foreshortening",
    type=float,
    default=TextRecipe.foreshortening,
    show_default=True,
    help="Greatest perspective shortening of one side.",
)
@_chance("perspective", "How often the transform is a perspective one, not affine.")
@_chance("upper_case", "How often a block is in capitals.")
@_chance("title_case", "How often words begin with a capital.")
@_chance("punctuation", "How often a word is followed by a mark.")
@_chance("digits", "How often a word is a number.")
@_chance("shadow", "How often text casts a shadow.")
@_chance("outline", "How often text has an outline.")
@_chance("blur", "How often text is blurred.")
@_chance("noise", "How often the image is grainy.")
@click.option(
    "--contrast",
    type=int,
    default=TextRecipe.contrast,
    show_default=True,
    help="Least difference in brightness of text and ground, of 255.",
)
@click.option(
    "--quality", type=int, default=TextRecipe.quality, show_default=True, help="Of the JPEG."
)
@click.option("--char-quads", is_flag=True, help="Also store the quad of every character.")
def cli(
    out: Path, counts: tuple[int, ...], n: int | None, total: int | None, split: str, seed: int,
    dense_memory: bool, fonts: Path | None, lexicon: Path | None, backgrounds: Path | None,
    size: tuple[int, int], words: tuple[int, int], line_height: tuple[float, float],
    **options: Any,
) -> None:  # fmt: skip
    """Make blocks of several lines of text on textures or photographs."""
    logging.basicConfig(format="%(message)s", level=logging.ERROR if options["quiet"] else None)
    knobs = {name: options.pop(name) for name in list(options) if name in _KNOBS}
    recipe = TextRecipe(
        counts, total_samples(counts, n, total), seed, split, dense_memory,
        height=size[1], width=size[0], fewest_words=words[0], most_words=words[1],
        smallest_line=line_height[0], largest_line=line_height[1], **knobs,
    )  # fmt: skip
    source = Source(*(path and path.absolute() for path in (fonts, lexicon, backgrounds)))
    generate_and_report(TEXT, complete(recipe, source), out, source=source, **options)


_KNOBS = set(TextRecipe.__dataclass_fields__)


def main() -> None:
    """Entry point of `textblocks-gen`."""
    run(cli, "textblocks-gen")

"""Command line of the shapes.

shapes-gen coloured --counts 3-5 --total 10000 --split train train.h5
shapes-gen coloured --counts 3-10 --n 200 test.h5
shapes-gen toy --lines 1-10,15,20 --n 200 toy-test.h5
"""

from pathlib import Path
from typing import Any

import click

from ivl_shards.options import (
    generate_and_report,
    generator_options,
    run,
    total_samples,
    version_option,
)
from shapes_gen.coloured import COLOURED, ColouredRecipe
from shapes_gen.toy import TOY, ToyRecipe


@click.group(epilog="Example: shapes-gen toy --lines 1-10 --n 200 toy-test.h5")
@version_option()
def cli() -> None:
    """Make datasets of shapes: coloured ones to count, toy ones to read."""


@cli.command(
    epilog="Example: shapes-gen coloured --counts 3-5 --total 10000 --split train train.h5"
)
@generator_options("counts", default="3-10")
@click.option(
    "--size",
    type=int,
    default=ColouredRecipe.size,
    show_default=True,
    help="Height and width of the images in pixels.",
)
@click.option(
    "--radius",
    type=(float, float),
    show_default=True,
    metavar="LEAST MOST",
    default=(ColouredRecipe.smallest, ColouredRecipe.largest),
    help="Radius of the circle around a shape in pixels.",
)
@click.option(
    "--spacing",
    type=float,
    default=ColouredRecipe.spacing,
    show_default=True,
    help="Least distance of centres over the sum of radii; 1: no shapes overlap.",
)
@click.option(
    "--contrast",
    type=float,
    default=ColouredRecipe.contrast,
    show_default=True,
    help="Least colour distance to the ground and to neighbours, of 765.",
)
@click.option(
    "--sigma",
    type=float,
    default=ColouredRecipe.sigma,
    show_default=True,
    help="Width of the memory's gaussian peaks in pixels.",
)
def coloured(
    out: Path,
    counts: tuple[int, ...],
    n: int | None,
    total: int | None,
    split: str,
    seed: int,
    dense_memory: bool,
    size: int,
    radius: tuple[float, float],
    spacing: float,
    contrast: float,
    sigma: float,
    **options: Any,
) -> None:
    """Coloured circles, triangles and squares, to be counted."""
    recipe = ColouredRecipe(
        counts,
        total_samples(counts, n, total),
        seed,
        split,
        dense_memory,
        size,
        *radius,
        spacing,
        contrast,
        sigma,
    )
    generate_and_report(COLOURED, recipe, out, **options)


@cli.command(epilog="Example: shapes-gen toy --lines 1-10,15,20 --n 200 toy-test.h5")
@generator_options("lines", default="1-10,15,20")
@click.option(
    "--per-line", type=int, default=ToyRecipe.per_line, show_default=True, help="Shapes in a line."
)
def toy(
    out: Path,
    counts: tuple[int, ...],
    n: int | None,
    total: int | None,
    split: str,
    seed: int,
    dense_memory: bool,
    per_line: int,
    **options: Any,
) -> None:
    """Lines of small and large squares, triangles and circles, to be read."""
    recipe = ToyRecipe(counts, total_samples(counts, n, total), seed, split, dense_memory, per_line)
    generate_and_report(TOY, recipe, out, **options)


def main() -> None:
    """Entry point of `shapes-gen`."""
    run(cli, "shapes-gen")

"""Command line of the shapes.

shapes-gen coloured --counts 3-5 --total 10000 --split train train.h5
shapes-gen coloured --counts 3-10 --n 200 test.h5
shapes-gen toy --lines 1-10,15,20 --n 200 toy-test.h5
"""

from typing import Any

import click

from ivl_shards.generation.knobs import knob_options, take_knobs
from ivl_shards.options import (
    generate_and_report,
    generator_options,
    run,
    total_samples,
    version_option,
)
from ivl_shards.remote import Location
from shapes_gen.coloured import COLOURED, ColouredRecipe
from shapes_gen.toy import TOY, ToyRecipe


@click.group(epilog="Example: shapes-gen toy --lines 1-10 --n 200 toy-test.h5")
@version_option()
def cli() -> None:
    """Generate datasets of shapes: coloured ones to count, toy ones to read."""


@cli.command(
    epilog="Example: shapes-gen coloured --counts 3-5 --total 10000 --split train train.h5"
)
@generator_options("counts", default="3-10")
@knob_options(ColouredRecipe)
def coloured(
    out: Location,
    counts: tuple[int, ...],
    n: int | None,
    total: int | None,
    split: str,
    seed: int,
    dense_memory: bool,
    **options: Any,
) -> None:
    """Generate coloured circles, triangles and squares, to be counted."""
    knobs = take_knobs(ColouredRecipe, options)
    samples = total_samples(counts, n, total)
    recipe = ColouredRecipe(counts, samples, seed, split, dense_memory, **knobs)
    generate_and_report(COLOURED, recipe, out, **options)


@cli.command(epilog="Example: shapes-gen toy --lines 1-10,15,20 --n 200 toy-test.h5")
@generator_options("lines", default="1-10,15,20")
@knob_options(ToyRecipe)
def toy(
    out: Location,
    counts: tuple[int, ...],
    n: int | None,
    total: int | None,
    split: str,
    seed: int,
    dense_memory: bool,
    **options: Any,
) -> None:
    """Generate lines of small and large squares, triangles and circles, to be read."""
    knobs = take_knobs(ToyRecipe, options)
    samples = total_samples(counts, n, total)
    recipe = ToyRecipe(counts, samples, seed, split, dense_memory, **knobs)
    generate_and_report(TOY, recipe, out, **options)


def main() -> None:
    """Run `shapes-gen`."""
    run(cli, "shapes-gen")

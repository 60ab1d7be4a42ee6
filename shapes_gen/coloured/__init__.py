"""Coloured shapes: circles, triangles and squares, to be counted (section 4.2 of the paper)."""

from collections.abc import Callable

from ivl_shards import Generator, Sample
from ivl_shards.generation.generator import drawn_samples
from shapes_gen.coloured.about import NAME, about
from shapes_gen.coloured.recipe import ColouredRecipe
from shapes_gen.coloured.render import render, schema, size


def start(recipe: ColouredRecipe, source: None) -> Callable[[int], Sample]:
    """The function from a row of the dataset to its sample."""
    return drawn_samples(NAME, recipe, render)


COLOURED = Generator(
    name=NAME,
    version="1",
    task="coloured-shapes",
    licence="CC0-1.0",
    schema=schema,
    size=size,
    start=start,
    metadata=about,
)

__all__ = ["COLOURED", "ColouredRecipe"]

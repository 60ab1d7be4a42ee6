"""Toy shapes: lines of five squares, triangles and circles, to be read (the paper's appendix)."""

from collections.abc import Callable

from ivl_shards import Generator, Sample
from ivl_shards.generation.generator import drawn_samples
from shapes_gen.toy.about import NAME, about
from shapes_gen.toy.recipe import ToyRecipe
from shapes_gen.toy.render import render, schema, size


def start(recipe: ToyRecipe, source: None) -> Callable[[int], Sample]:
    """The function from a row of the dataset to its sample."""
    return drawn_samples(NAME, recipe, render)


TOY = Generator(
    name=NAME,
    version="1",
    task="toy-shapes",
    licence="CC0-1.0",
    schema=schema,
    size=size,
    start=start,
    metadata=about,
)

__all__ = ["TOY", "ToyRecipe"]

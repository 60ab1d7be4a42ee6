"""Toy shapes: lines of five squares, triangles and circles, to be read (the paper's appendix)."""

import shlex
from collections.abc import Callable

from ivl_shards import Generator, Metadata, ResponsibleUse, Sample
from ivl_shards.generation.generator import drawn_samples
from shapes_gen.toy.recipe import ToyRecipe
from shapes_gen.toy.render import render, schema, size

NAME = "shapes-gen toy"

DESCRIPTION = (
    "Binary images of small and large squares, triangles and circles in lines, to be read line by "
    "line like text. Each sample carries the spatial memory of an ideal reader at every step: the "
    "boxes of the lines read so far. It asks whether a model trained on few lines still reads "
    "many."
)
GROWING = (
    "Images grow with the number of lines; where counts differ they are padded to the largest."
)
LIMITS: tuple[str, ...] = (
    "Drawn shapes on an empty background: a model that reads them need not read text.",
    "The boxes of two lines never overlap, unlike those of real text.",
    GROWING,
    "The paper gives no sizes in pixels; those in the recipe are this toolkit's.",
)

RESPONSIBLE = ResponsibleUse(
    uses=(
        "Made to test whether models that read one line at a time, trained on few lines, still "
        "read many.",
        "Not made to train models for photographs or text.",
    ),
    biases=("The shapes of a line are drawn at random from six classes; nothing else occurs.",),
    personal_information=("None: all images are drawn by a program.",),
    social_impact="None is expected beyond research on reading sequences.",
    synthetic=True,
)


def metadata(recipe: ToyRecipe, source: None) -> Metadata:
    """Return what the card of a dataset says; nothing in it is other people's."""
    command = shlex.join([*NAME.split(), *recipe.options("--lines")])
    limits = LIMITS
    if recipe.canvas_lines is not None:
        limits = tuple(limit for limit in LIMITS if limit != GROWING)
    return Metadata("Toy Shapes", DESCRIPTION, command, limits=limits, responsible=RESPONSIBLE)


def start(recipe: ToyRecipe, source: None) -> Callable[[int], Sample]:
    """Return the function from a row of the dataset to its sample."""
    return drawn_samples(NAME, recipe, render)


TOY = Generator(
    name=NAME,
    version="1",
    task="toy-shapes",
    licence="CC0-1.0",
    schema=schema,
    size=size,
    start=start,
    metadata=metadata,
)

__all__ = ["TOY", "ToyRecipe"]

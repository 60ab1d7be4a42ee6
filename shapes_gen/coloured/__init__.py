"""Coloured shapes: circles, triangles and squares, to be counted (section 4.2 of the paper)."""

import shlex
from collections.abc import Callable

from ivl_shards import Generator, Metadata, ResponsibleUse, Sample
from ivl_shards.generation.generator import drawn_samples
from shapes_gen.coloured.recipe import ColouredRecipe
from shapes_gen.coloured.render import render, schema, size

NAME = "shapes-gen coloured"

DESCRIPTION = (
    "Circles, triangles and squares of random size, colour and position on a plain background, to "
    "be counted one by one. Each sample carries the spatial memory of an ideal counter at every "
    "step: gaussian peaks at the centres of the objects counted so far. It asks whether a model "
    "trained on few objects still counts many."
)
HARD = (
    " This is the hard variant: colours repeat, shapes and background are shaded and textured, "
    "some shapes have outlines, and some overlap, so that the number of colours is not the count."
)
LIMITS = (
    "Drawn shapes, not photographs: what holds here need not hold for real objects.",
    "Shapes may overlap a little where spacing is below 1; `box` is that of the whole shape.",
    "The order of the objects is that of painting and has no meaning: a trainer draws its own.",
    "The paper gives neither sizes nor colours; those in the recipe are this toolkit's.",
)

RESPONSIBLE = ResponsibleUse(
    uses=(
        "Made to test whether models that count one object at a time, trained on images with few "
        "objects, still count many.",
        "Not made to train detectors for photographs.",
    ),
    biases=(
        "Kinds, colours, sizes and places of the shapes are drawn at random within the recipe's "
        "ranges; nothing else occurs.",
    ),
    personal_information=("None: all images are drawn by a program.",),
    social_impact="None is expected beyond research on visual counting.",
    synthetic=True,
)


def metadata(recipe: ColouredRecipe, source: None) -> Metadata:
    """Return what the card of a dataset says; nothing in it is other people's."""
    command = shlex.join([*NAME.split(), *recipe.options()])
    title, text = "Coloured Shapes", DESCRIPTION
    if recipe.hard:
        title, text = (
            "Hard Coloured Shapes",
            DESCRIPTION.replace(" on a plain background", "") + HARD,
        )
    return Metadata(title, text, command, limits=LIMITS, responsible=RESPONSIBLE)


def start(recipe: ColouredRecipe, source: None) -> Callable[[int], Sample]:
    """Return the function from a row of the dataset to its sample."""
    return drawn_samples(NAME, recipe, render)


COLOURED = Generator(
    name=NAME,
    version="1",
    task="coloured-shapes",
    licence="CC0-1.0",
    schema=schema,
    size=size,
    start=start,
    metadata=metadata,
)

__all__ = ["COLOURED", "ColouredRecipe"]

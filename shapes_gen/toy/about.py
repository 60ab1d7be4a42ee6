"""About the toy shapes: what their card says."""

import shlex

from ivl_shards import About
from shapes_gen.toy.recipe import ToyRecipe

NAME = "shapes-gen toy"

DESCRIPTION = (
    "Binary images of small and large squares, triangles and circles in lines, to be read line by "
    "line like text. Each sample carries the spatial memory of an ideal reader at every step: the "
    "boxes of the lines read so far. Made to ask whether a model trained on few lines still reads "
    "many."
)
LIMITS = (
    "Drawn shapes on an empty ground: a model that reads them need not read text.",
    "The boxes of two lines never overlap, unlike those of real text.",
    "Images grow with the number of lines; where counts differ they are padded to the largest.",
    "The paper gives no sizes in pixels; those in the recipe are this toolkit's.",
)


def about(recipe: ToyRecipe, source: None) -> About:
    """Title, description, command, and limits; nothing in it is other people's."""
    command = shlex.join([*NAME.split(), *recipe.options("--lines")])
    return About("Toy Shapes", DESCRIPTION, command, limits=LIMITS)

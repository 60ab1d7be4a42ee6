"""One line a generator: what the shared promises are tested on."""

from dataclasses import dataclass

from ivl_shards import Generator, Recipe
from photos import PHOTOS, PhotoRecipe
from shapes_gen import COLOURED, TOY, ColouredRecipe, ToyRecipe


@dataclass(frozen=True)
class Case:
    """A generator, a small recipe of it, and the content it gives on every machine."""

    generator: Generator
    recipe: Recipe
    content: str


CASES = {
    "coloured": Case(
        COLOURED,
        ColouredRecipe(counts=(0, 3, 10), total=1100, seed=5),
        "bbb1f48b46564c28873a07d42828ddd7ec7fd64b7f90540b07ad15b8a9efa0e8",
    ),
    "coloured-dense": Case(
        COLOURED,
        ColouredRecipe(counts=(1, 2), total=40, size=64, dense_memory=True),
        "2364e385fb783e6dcf504ad9e12ff51533960f621ba0cbec6bd8d30f4e012c18",
    ),
    "toy": Case(
        TOY,
        ToyRecipe(counts=(1, 3, 20), total=1100, seed=5, split="train"),
        "3e64e4c315480b579b797c8fcbb1538ed1ae1e21a55efa78d219d4810c2a9be9",
    ),
    "photos": Case(
        PHOTOS,
        PhotoRecipe(counts=(1, 2), total=600),
        "8f7384b94b87bd30c3a975fd3885a7254efe696f531be0a191587390e07dbe78",
    ),
}

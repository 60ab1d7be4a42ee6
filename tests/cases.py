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
        "138cd19647bec4db9d8eaa0eaaa49f4200c45290756a3e194ca09d6424bb1a02",
    ),
    "coloured-dense": Case(
        COLOURED,
        ColouredRecipe(counts=(1, 2), total=40, size=64, dense_memory=True),
        "027ad2e21f767d0ac1b8516bbb5e07bd38cb39e7d3ad8742acc5293139cb4b21",
    ),
    "toy": Case(
        TOY,
        ToyRecipe(counts=(1, 3, 20), total=1100, seed=5, split="train"),
        "33ea66ab2e46d14696623faab0939c898594e8f24e1737c06aed51efc85a1d4a",
    ),
    "photos": Case(
        PHOTOS,
        PhotoRecipe(counts=(1, 2), total=600),
        "8c163bab8312fbf7d2c699de69286fadbfe6fbd174c709340e9a1ded4832810a",
    ),
}

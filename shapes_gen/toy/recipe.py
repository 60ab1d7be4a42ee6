"""Recipe of the toy shapes: every knob, its default and where that comes from."""

from dataclasses import dataclass

from ivl_shards import Recipe
from ivl_shards.generation.recipe import require


@dataclass(frozen=True)
class ToyRecipe(Recipe):
    """Knobs of the toy shapes. Lengths are in pixels."""

    per_line: int = 5
    """Shapes in a line; the paper's."""
    small: int = 8
    """Height and width of a small shape."""
    large: int = 14
    """Height and width of a large shape."""
    cell: int = 20
    """Room for one shape, in which it moves about."""
    gap: int = 4
    """Most space between two lines, beside that in their cells."""
    margin: int = 14
    """Space on either side of a line; its lines, and the block, move about in it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(min(self.counts) >= 1, "0 lines: a block has at least 1")
        require(1 <= self.per_line <= 100, f"{self.per_line} shapes a line: between 1 and 100")
        require(
            4 <= self.small < self.large < self.cell <= 256,
            f"small {self.small}, large {self.large}, cell {self.cell}: "
            "must rise, from 4 or more to 256 or less",
        )
        require(0 <= self.gap <= 256, f"gap {self.gap}: between 0 and 256")
        require(0 <= self.margin <= 256, f"margin {self.margin}: between 0 and 256")


def canvas(recipe: ToyRecipe, lines: int) -> tuple[int, int]:
    """Height and width of an image with that many lines."""
    height = lines * (recipe.cell + recipe.gap) + 2 * recipe.margin - recipe.gap
    return height, recipe.per_line * recipe.cell + 2 * recipe.margin

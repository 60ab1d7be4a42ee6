"""Recipe of the toy shapes: every knob, its default and its range."""

from dataclasses import dataclass

from ivl_shards import Recipe
from ivl_shards.generation.knobs import knob
from ivl_shards.generation.recipe import require


@dataclass(frozen=True)
class ToyRecipe(Recipe):
    """Knobs of the toy shapes."""

    # The paper's number.
    per_line: int = knob(5, "Shapes in a line.", 1, 100)
    small: int = knob(8, "Height and width of a small shape.", 4, 254, unit="pixels")
    large: int = knob(14, "Height and width of a large shape.", 5, 255, unit="pixels")
    cell: int = knob(
        20, "Side of the square in which a shape is placed at random.", 6, 256, unit="pixels"
    )
    gap: int = knob(4, "Maximum space between the cells of two lines.", 0, 256, unit="pixels")
    margin: int = knob(
        14, "Space on either side, in which the block and its lines move.", 0, 256, unit="pixels"
    )
    canvas_lines: int | None = knob(
        None,
        "Number of lines that every canvas has space for; without it, that of the image's lines.",
        1,
        10_000,
        type_=int,
        added_later=True,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        require(min(self.counts) >= 1, "--lines 0: a block has at least 1 line")
        require(
            self.small < self.large < self.cell,
            f"--small {self.small} --large {self.large} --cell {self.cell}: "
            "each must be larger than the one before",
        )
        require(
            self.canvas_lines is None or max(self.counts) <= self.canvas_lines,
            f"--canvas-lines {self.canvas_lines}: {max(self.counts)} lines do not fit",
        )


def canvas(recipe: ToyRecipe, lines: int) -> tuple[int, int]:
    """Return height and width of an image with that many lines."""
    lines = recipe.canvas_lines or lines
    height = lines * (recipe.cell + recipe.gap) + 2 * recipe.margin - recipe.gap
    return height, recipe.per_line * recipe.cell + 2 * recipe.margin

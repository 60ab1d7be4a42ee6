"""Recipe of the coloured shapes: every knob, its default and where that comes from."""

import math
from dataclasses import dataclass

from ivl_shards import Recipe
from ivl_shards.generation.recipe import require

# Random discs jam at about 0.55 of the area; up to here a layout is found after a few tries.
_DENSEST = 0.38


@dataclass(frozen=True)
class ColouredRecipe(Recipe):
    """Knobs of the coloured shapes. Lengths are in pixels."""

    size: int = 128
    """Height and width; the paper's."""
    smallest: float = 7.0
    """Least radius of the circle around a shape."""
    largest: float = 14.0
    """Greatest radius of the circle around a shape."""
    spacing: float = 0.9
    """Least distance of two centres over the sum of their radii; below 1 shapes may overlap a
    little, as in a crowd, but at 0.9 each stays at least four fifths visible."""
    contrast: float = 150.0
    """Least colour distance to the ground and to every shape it may touch, of 765."""
    sigma: float = 2.5
    """Of the gaussian peaks in the memory."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(
            2.0 <= self.smallest <= self.largest,
            f"radius {self.smallest:g} to {self.largest:g}: give two numbers of 2 or more, "
            "the smaller first",
        )
        require(
            self.size >= 2 * self.largest + 2,
            f"size {self.size}: shapes of radius {self.largest:g} need at least "
            f"{math.ceil(2 * self.largest + 2)}",
        )
        require(self.size <= 8192, f"size {self.size}: at most 8192")
        require(0.8 <= self.spacing <= 4, f"spacing {self.spacing:g}: between 0.8 and 4")
        require(0 <= self.contrast <= 250, f"contrast {self.contrast:g}: between 0 and 250")
        require(0.1 <= self.sigma <= self.size, f"sigma {self.sigma:g}: between 0.1 and the size")
        most = self.most()
        require(
            max(self.counts) <= most,
            f"{max(self.counts)} shapes do not fit: at most {most} of radius {self.smallest:g} "
            f"on {self.size}×{self.size}; use a larger --size or a smaller --radius",
        )

    def most(self) -> int:
        """How many shapes surely fit."""
        radius = self.spacing * self.smallest  # of the discs that may not overlap
        side = self.size - 2 * (self.smallest + 1) + 2 * radius
        return max(1, int(_DENSEST * side**2 / (math.pi * radius**2)))

"""Recipe of the coloured shapes: every knob, its default and its range."""

import math
from dataclasses import dataclass

from ivl_shards import Recipe
from ivl_shards.generation.knobs import knob
from ivl_shards.generation.recipe import require

# Random discs jam at about 0.55 of the area; up to here a layout is found after a few tries.
_DENSEST = 0.38


@dataclass(frozen=True)
class ColouredRecipe(Recipe):
    """Knobs of the coloured shapes."""

    # The paper's size.
    size: int = knob(128, "Height and width of the images.", 1, 8192, unit="pixels")
    smallest: float = knob(
        7.0, "Radius of the circle around a shape.", 2, 4095, unit="pixels", option="--radius"
    )
    largest: float = knob(14.0, option="--radius")
    # Below 1 shapes may overlap a little, as in a crowd, but at 0.9 each stays at least four
    # fifths visible.
    spacing: float = knob(
        0.9, "Minimum distance of centres over the sum of radii; at 1 no shapes overlap.", 0.8, 4
    )
    contrast: float = knob(
        150.0,
        "Minimum colour distance to the background and to every shape it may touch.",
        0,
        250,
        unit="of 765",
    )
    sigma: float = knob(
        2.5, "Standard deviation of the memory's gaussian peaks.", 0.1, 8192, unit="pixels"
    )
    hard: bool = knob(
        False,
        "Repeated colours, shading, texture, outlines, and more overlap.",
        added_later=True,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        require(
            self.size >= 2 * self.largest + 2,
            f"--size {self.size}: shapes of radius {self.largest:g} need at least "
            f"{math.ceil(2 * self.largest + 2)}",
        )
        require(
            self.sigma <= self.size,
            f"--sigma {self.sigma}: must not exceed the size of the images, {self.size}",
        )
        most = self.most()
        require(
            max(self.counts) <= most,
            f"{max(self.counts)} shapes do not fit: at most {most} of radius {self.smallest:g} "
            f"on {self.size}×{self.size}; use a larger --size or a smaller --radius",
        )

    def most(self) -> int:
        """Return how many shapes surely fit into an image."""
        radius = self.spacing * self.smallest  # of the discs that may not overlap
        side = self.size - 2 * (self.smallest + 1) + 2 * radius
        return max(1, int(_DENSEST * side**2 / (math.pi * radius**2)))

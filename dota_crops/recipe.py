"""Recipe of the crops: every knob, its default and where that comes from."""

from dataclasses import dataclass
from typing import NoReturn

from dota_crops.labels import CATEGORIES
from dota_crops.rule import parse_cut
from ivl_shards import Recipe, UserError
from ivl_shards.errors import did_you_mean
from ivl_shards.generation.recipe import require

TRAIN = "train"
# See the table in docs/DOTA.md: below, high counts give few crops; above, they look alike.
_TEST_OVERLAP = 0.75


@dataclass(frozen=True)
class DotaRecipe(Recipe):
    """Knobs of the crops. "Crop pixels" are those of the resized crop, "source pixels" those of
    DOTA's image.

    `total` is how many crops are asked for; in a finished dataset it is how many there are, and
    `asked` says how many were wanted.
    """

    split: str = "val"
    """DOTA's own; its folders share no image, so neither do two datasets of two splits."""
    category: str = "plane"
    """A class of DOTA; the paper's are airplanes."""
    images: int | None = None
    """Use at most so many source images, drawn by the seed; the paper trains on 100."""
    size: int = 128
    """Height and width of a crop in crop pixels; the paper's."""
    cut: str = "reject"
    """What to do with an object at the edge of a window: `reject` the window, `keep>=0.7` (count
    it when at least that part of it is inside), or `centre` (count it when its centre is)."""
    smallest: float = 8.0
    """Least size of an object, the square root of its area, in crop pixels. Looked at by
    eye: at 8 planes are small but clear, at 6 those on ships' decks are lost in them."""
    margin: float = 1.0
    """With `reject`: crop pixels between the edge and any object, inside or out, because the
    labels are drawn by hand and a wing may reach beyond its quad."""
    zoom: float = 1.0
    """Most crop pixels a source pixel: 1 never enlarges; beyond 1.5 a crop is a blur."""
    largest: int = 4096
    """Most source pixels a side of a window: bounds what is in memory of a huge image."""
    overlap: float | None = None
    """Most of the smaller of two windows of one image and count that the other may cover; by
    default 1 (no limit) for the split train and 0.75 for others."""
    turns: bool | None = None
    """Whether windows are also mirrored and turned by right angles, which makes crops for
    training but no new ones to test on; by default only for the split train."""
    effort: int = 96
    """Window sizes tried on each image."""
    quality: int = 95
    """Of the JPEG; at 95 no difference to the pixels can be seen even enlarged."""
    sigma: float = 2.5
    """Of the gaussian peaks in the memory, in crop pixels."""
    asked: int | None = None
    """Set by `generate`: crops asked for."""
    source_sha256: str = ""
    """Set by `generate`: SHA-256 over names and content of the images and labels used."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.overlap is None:
            object.__setattr__(self, "overlap", 1.0 if self.split == TRAIN else _TEST_OVERLAP)
        if self.turns is None:
            object.__setattr__(self, "turns", self.split == TRAIN)
        require(
            self.category in CATEGORIES,
            f"category '{self.category}' is not one of DOTA's"
            f"{did_you_mean(self.category, CATEGORIES)}: {', '.join(CATEGORIES)}",
        )
        require(max(self.counts) <= 1000, f"{max(self.counts)} objects: at most 1000 a crop")
        require(self.images is None or self.images >= 1, "0 images: use at least 1")
        require(16 <= self.size <= 1024, f"size {self.size}: between 16 and 1024")
        parse_cut(self.cut)
        require(
            1 <= self.smallest <= self.size,
            f"smallest {self.smallest:g}: between 1 and the size {self.size}",
        )
        require(0 <= self.margin <= self.size / 4, f"margin {self.margin:g}: 0 to a quarter of it")
        require(0.05 <= self.zoom <= 16, f"zoom {self.zoom:g}: between 0.05 and 16")
        require(
            self.size / self.zoom <= self.largest <= 65_536,
            f"largest {self.largest}: between size / zoom = {self.size / self.zoom:g} and 65536",
        )
        require(0 <= self.limit <= 1, f"overlap {self.limit:g}: between 0 and 1")
        require(1 <= self.effort <= 10_000, f"effort {self.effort}: between 1 and 10000")
        require(50 <= self.quality <= 100, f"quality {self.quality}: between 50 and 100")
        require(0.1 <= self.sigma <= self.size, f"sigma {self.sigma:g}: between 0.1 and the size")

    @property
    def limit(self) -> float:
        """The overlap that is allowed."""
        return 1.0 if self.overlap is None else self.overlap

    def place(self, row: int) -> NoReturn:
        """Not known from a recipe: rows lie in the order of the source images."""
        raise UserError("rows of crops are grouped by image: read the field object_count")

    def wanted(self) -> dict[int, int]:
        """How many crops of each count are asked for, spread evenly."""
        share, rest = divmod(self.total, len(self.counts))
        return {count: share + (k < rest) for k, count in enumerate(self.counts)}

"""Recipe of the crops: every knob, its default and its range."""

from dataclasses import dataclass
from typing import ClassVar, NoReturn

from dota_crops.contrast import VISIBLE
from dota_crops.cut_rule import parse_cut
from dota_crops.labels import CATEGORIES
from ivl_shards import Recipe, UserError
from ivl_shards.generation.knobs import knob
from ivl_shards.generation.recipe import require

TRAIN = "train"
_LARGEST_CROP = 1024


@dataclass(frozen=True)
class DotaRecipe(Recipe):
    """Knobs of the crops. "Crop pixels" are those of the resized crop, "source pixels" those of
    DOTA's image.

    `total` is how many crops are asked for; in a finished dataset it is how many there are, and
    `asked` is how many were asked for.
    """

    defaults_by: ClassVar[str] = "split"

    split: str = "val"
    """DOTA's own; its folders share no image, so neither do two datasets of two splits."""
    # The paper's are airplanes.
    category: str = knob("plane", "Class of the objects.", choices=CATEGORIES, metavar="CLASS")
    # The paper trains on 100.
    images: int | None = knob(
        None, "Maximum number of source images, drawn by the seed; all by default.", 1, type_=int
    )
    # The paper's size.
    size: int = knob(128, "Height and width of a crop.", 16, _LARGEST_CROP, unit="pixels")
    cut: str = knob(
        "reject",
        "What to do with objects at the edge: reject the window, count those with at least that "
        "part inside, or count those whose centre is inside.",
        metavar="reject|keep>=0.7|centre",
    )
    # Chosen by eye: at 8 planes are small but clear, at 6 those on ships' decks are lost.
    smallest: float = knob(
        8.0,
        "Minimum size of an object (the square root of its area).",
        1,
        _LARGEST_CROP,
        unit="crop pixels",
    )
    # Labels are drawn by hand, and a wing may reach beyond its quad.
    margin: float = knob(
        1.0,
        "Minimum distance between the edge and any object, inside or outside; for --cut reject.",
        0,
        _LARGEST_CROP / 4,
        unit="crop pixels",
    )
    # 1 never enlarges; beyond 1.5 a crop is a blur.
    zoom: float = knob(1.0, "Maximum enlargement of a window.", 0.05, 16)
    # Bounds how much of a huge image is in memory.
    largest: int = knob(4096, "Maximum side of a window.", 1, 65_536, unit="source pixels")
    # See the table in docs/DOTA.md: below 0.75 high counts give few crops; above they look alike.
    overlap: float = knob(
        0.75,
        "Maximum part of the smaller of two windows of one image and count that the other may "
        "cover.",
        0,
        1,
        train=1.0,
    )
    # Windows that overlap less may still show the same objects, in one count or in two.
    shared: float = knob(
        0.8,
        "Maximum part of the objects in two crops of one image, whatever their counts, that are in "
        "both (intersection over union).",
        0,
        1,
        train=1.0,
    )
    visible: bool = knob(
        False, f"Only windows whose objects all have a contrast of {VISIBLE:g} or more."
    )
    # Makes more crops to train on, but no new ones to test on.
    turns: bool = knob(False, "Mirror windows and turn them by right angles.", train=True)
    effort: int = knob(96, "Window sizes tried on each image.", 1, 10_000)
    # At 95 no difference to the pixels can be seen, even enlarged.
    quality: int = knob(95, "Quality of the JPEG images.", 50, 100)
    sigma: float = knob(
        2.5,
        "Standard deviation of the memory's gaussian peaks.",
        0.1,
        _LARGEST_CROP,
        unit="crop pixels",
    )
    asked: int | None = None
    """Number of crops asked for; set by `generate`."""
    source_sha256: str = ""
    """SHA-256 over names and content of the images and labels used; set by `generate`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(max(self.counts) <= 1000, f"--counts {max(self.counts)}: at most 1000 a crop")
        parse_cut(self.cut)
        for option, value, most in (
            ("--smallest", self.smallest, self.size),
            ("--margin", self.margin, self.size / 4),
            ("--sigma", self.sigma, self.size),
        ):
            require(
                value <= most,
                f"{option} {value:g}: at most {most:g} for crops of --size {self.size}",
            )
        least = self.size / self.zoom
        require(
            self.largest >= least,
            f"--largest {self.largest}: must be at least --size / --zoom = {least:g}",
        )

    def place(self, row: int) -> NoReturn:
        """Refuse: rows lie in the order of the source images, which a recipe does not know."""
        raise UserError("rows of crops are grouped by image: read the field object_count")

    def wanted(self) -> dict[int, int]:
        """Return how many crops of each count are asked for, spread evenly."""
        share, rest = divmod(self.total, len(self.counts))
        return {count: share + (k < rest) for k, count in enumerate(self.counts)}

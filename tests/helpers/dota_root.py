"""A tiny DOTA: dark images with light squares, and their labels."""

from pathlib import Path

import cv2
import numpy as np

# Corners of a square of 24 pixels, turned a little, around its centre.
_CORNERS = np.array([[-14, -9], [9, -14], [14, 9], [-9, 14]])
HEADER = "imagesource:GoogleEarth\ngsd:0.25\n"


def squares(seed: int, number: int = 24, size: int = 600) -> np.ndarray:
    """Quads (number, 4, 2) on a loose grid, so that none overlap."""
    rng = np.random.default_rng(seed)
    cells = rng.permutation(100)[:number]
    centres = np.stack([cells % 10, cells // 10], 1) * (size // 10) + size // 20
    return (centres + rng.integers(-10, 11, centres.shape))[:, None] + _CORNERS


def label_lines(quads: np.ndarray, category: str = "plane") -> str:
    """Lines of a label file."""
    rows = (" ".join(str(v) for v in quad.reshape(-1)) for quad in quads)
    return "".join(f"{row} {category} {k % 2}\n" for k, row in enumerate(rows))


def add_image(
    root: Path,
    name: str,
    quads: np.ndarray,
    *,
    split: str = "val",
    size: int = 600,
    labels: str = "labelTxt",
    suffix: str = ".png",
) -> Path:
    """Write an image and its labels; the path of the labels."""
    for folder in ("images", labels):
        (root / split / folder).mkdir(parents=True, exist_ok=True)
    pixels = np.full((size, size, 3), (60, 50, 40), np.uint8)
    for quad in quads:
        cv2.fillConvexPoly(pixels, quad.astype(np.int32), (200, 220, 240))
    assert cv2.imwrite(str(root / split / "images" / f"{name}{suffix}"), pixels)
    path = root / split / labels / f"{name}.txt"
    path.write_text(HEADER + label_lines(quads))
    return path


def make_root(root: Path, images: int = 3, **options: str) -> Path:
    """A folder with so many images."""
    for k in range(images):
        add_image(root, f"P{k:04d}", squares(k), **options)
    return root

"""A tiny ICDAR 2013: scenes whose every word is a rectangle of a colour of its own."""

import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

NAMES = {
    "test": ("Test", "gt_img_{}.txt", "img_{}.jpg"),
    "train": ("Training", "gt_{}.txt", "{}.jpg"),
}
LINES = {
    "test": '{}, {}, {}, {}, "{}"',
    "train": '{} {} {} {} "{}"',
}


@dataclass(frozen=True)
class Painted:
    """A word and the colour that its box is filled with."""

    box: tuple[int, int, int, int]
    text: str
    colour: tuple[int, int, int]


def paint_words(rng: np.random.Generator, number: int) -> list[Painted]:
    """A sign of one to three lines of words, and a word far from it."""
    height = int(rng.integers(20, 40))
    boxes, y = [], int(rng.integers(10, 30))
    many = int(rng.integers(1, 4))  # words a line, so that lines are about as long
    for _ in range(1 + number % 3):
        x = int(rng.integers(10, 40))
        for _ in range(many):
            width = int(rng.integers(60, 90))
            boxes.append((x, y, x + width, y + height))
            x += width + height // 2
        y += height + 8
    boxes.append((480, 400, 560, 440))
    colours = rng.integers(0, 256, size=(len(boxes), 3)).tolist()
    return [
        Painted(box, f"w{number}x{k}", (r, g, b))
        for k, (box, (r, g, b)) in enumerate(zip(boxes, colours, strict=True))
    ]


def make_tree(
    root: Path, split: str = "test", scenes: int = 12, missing: tuple[int, ...] = ()
) -> dict[str, list[Painted]]:
    """Write ground truth and pictures below `root`; the words of each scene by its image."""
    folder, truth_name, image_name = NAMES[split]
    truths = root / f"Challenge2_{folder}_Task1_GT"
    images = root / f"Challenge2_{folder}_Task12_Images"
    truths.mkdir(parents=True)
    images.mkdir()
    rng = np.random.default_rng(3)
    painted = {}
    for number in range(1, scenes + 1):
        words = paint_words(rng, number)
        lines = [LINES[split].format(*word.box, word.text) for word in words]
        (truths / truth_name.format(number)).write_text("\n".join(lines) + "\n")
        if number not in missing:
            picture = Image.new("RGB", (640, 480), (128, 128, 128))
            draw = ImageDraw.Draw(picture)
            for word in words:
                x0, y0, x1, y1 = word.box
                draw.rectangle((x0, y0, x1 - 1, y1 - 1), word.colour)
            picture.save(images / image_name.format(number), quality=98, subsampling=0)
        painted[image_name.format(number)] = words
    return painted


def pack(root: Path, inside: str = "") -> None:
    """Replace each folder below `root` by a zip file, as the official site has them."""
    for folder in [path for path in root.iterdir() if path.is_dir()]:
        with zipfile.ZipFile(root / f"{folder.name}.zip", "w") as packed:
            for file in folder.iterdir():
                packed.write(file, f"{inside}{file.name}")
                file.unlink()
        folder.rmdir()

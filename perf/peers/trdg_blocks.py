"""Blocks of text by trdg, in its own environment: trdg_blocks.py SOURCES COUNT OUT

It makes single lines, on backgrounds, turned a little; they are stacked to blocks here. SOURCES
has lexicon.txt, fonts and backgrounds. No step map is made.
"""

import contextlib
import random
import sys
from pathlib import Path

from PIL import Image
from trdg.generators import GeneratorFromStrings

SIZE = 256
# Height of a line; ours have 0.05 to 0.07 of the image's.
LINE = (13, 18)


def line_of_text(words: list[str], fonts: list[str], backgrounds: str) -> Image.Image:
    """A line of 3–5 words as wide as the block."""
    while True:  # it gives nothing where text and ground are alike; it costs little then
        text = " ".join(random.choices(words, k=random.randint(3, 5)))
        lines = GeneratorFromStrings(
            [text],
            fonts=fonts,
            size=random.randint(*LINE),
            width=SIZE,
            margins=(0, 5, 0, 5),
            skewing_angle=1,
            random_skew=True,
            text_color="#000000,#ffffff",
            alignment=random.randint(0, 2),
            background_type=3,
            image_dir=backgrounds,
            word_split=True,  # word by word; letter by letter, as by default, takes twice the time
        )
        image, _ = next(lines)
        if image is not None:
            return image


def main() -> None:
    """Make COUNT blocks as JPEG."""
    sources, count, out = Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    random.seed(0)
    words = (sources / "lexicon.txt").read_text("utf-8").split()
    fonts = sorted(str(path) for path in (sources / "fonts").glob("*.[to]tf"))
    backgrounds = str(sources / "backgrounds")
    grounds = [Image.open(path).convert("RGB") for path in Path(backgrounds).iterdir()]
    for k in range(count):
        block, top, face = (
            random.choice(grounds).crop((0, 0, SIZE, SIZE)),
            20,
            [random.choice(fonts)],
        )
        for _ in range(random.randint(3, 5)):
            with contextlib.redirect_stdout(None):  # it prints where it gives nothing
                line = line_of_text(words, face, backgrounds)
            block.paste(line, (0, top))
            top += line.height + random.randint(1, 5)
        block.save(out / f"{k}.jpg", quality=90)


if __name__ == "__main__":
    main()

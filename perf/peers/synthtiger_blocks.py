"""Blocks of text by SynthTIGER, in its own environment: synthtiger_blocks.py SOURCES COUNT OUT

As its example of several lines does it: a text layer a line, stacked, transformed as one group,
over a crop of a background. SOURCES has lexicon.txt, fonts and backgrounds. Without a step map,
which it does not know; with `masks` as fourth argument one is made from the mask of each line.
"""

import random
import sys
import zlib
from pathlib import Path

import cv2
import numpy as np
from synthtiger import components, layers

SIZE, MARGIN = 256, 5
# Sizes of type that give lines as tall as ours, 0.05 to 0.07 of the image.
TYPE = (12, 16)


def block(corpus, font, colour, texture, slant) -> tuple[layers.Group, layers.Layer]:
    """The lines in their places and the ground beneath."""
    face, shade = font.sample(), colour.data(colour.sample())
    lines, top, align = [], 0, random.choice((0, 0.5, 1))
    for _ in range(random.randint(3, 5)):
        words = (corpus.data(corpus.sample()) for _ in range(random.randint(3, 5)))
        kind = dict(face, size=random.randint(*TYPE))
        line = layers.TextLayer(" ".join(words), color=shade, **kind)
        line.topleft = (-align * line.width, top)
        top += line.height + random.randint(1, 5)
        lines.append(line)
    group = layers.Group(lines)
    slant.apply([group])
    group.size = group.size * min(1, *((SIZE - 2 * MARGIN) / group.size))
    room = SIZE - 2 * MARGIN - group.size
    group.topleft = MARGIN + room * (random.random(), random.random())
    wide, tall = texture._get_size(path := texture._sample_texture())
    x, y = random.randint(0, wide - SIZE), random.randint(0, tall - SIZE)
    crop = {"path": path, "x": x, "y": y, "w": SIZE, "h": SIZE}
    return group, layers.Layer(texture.data(texture.sample(crop)))


def step_map(group: layers.Group) -> bytes:
    """Number of the line at each pixel, packed."""
    steps = np.zeros((SIZE, SIZE), np.uint8)
    for number, line in enumerate(group.layers, 1):
        steps[line.output((0, 0, SIZE, SIZE))[..., 3] > 0] = number
    return zlib.compress(steps.tobytes(), 1)


def main() -> None:
    """Make COUNT blocks as JPEG."""
    sources, count, out = Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    masks = sys.argv[4:] == ["masks"]
    random.seed(0)
    np.random.seed(0)
    parts = (
        components.BaseCorpus(paths=[str(sources / "lexicon.txt")], weights=[1]),
        components.BaseFont(paths=[str(sources / "fonts")], weights=[1]),
        components.RGB(),
        components.BaseTexture(paths=[str(sources / "backgrounds")], weights=[1]),
        components.Perspective(percents=((0.85, 1),)),
    )
    for k in range(count):
        group, ground = block(*parts)
        image = (group + ground).output((0, 0, SIZE, SIZE))[..., 2::-1]
        packed = cv2.imencode(".jpg", image, (cv2.IMWRITE_JPEG_QUALITY, 90))[1]
        (out / f"{k}.jpg").write_bytes(packed.tobytes())
        if masks:
            (out / f"{k}.steps").write_bytes(step_map(group))


if __name__ == "__main__":
    main()

"""Stand-ins for the two datasets whose photographs are not ours to show.

They are drawn, but laid out on disk as DOTA and ICDAR 2013 are, so that the real tools cut the
pictures of the README from them.
"""

from pathlib import Path

import cv2
import matplotlib
import numpy as np
from PIL import Image, ImageDraw, ImageFont
from PIL.ImageFont import FreeTypeFont

# Half of an airplane from nose to tail, x to its right and y ahead, in lengths of the fuselage.
_HALF = [
    (0.0, 0.5),
    (0.035, 0.44),
    (0.045, 0.14),
    (0.46, -0.1),
    (0.46, -0.17),
    (0.045, -0.06),
    (0.035, -0.36),
    (0.16, -0.45),
    (0.16, -0.5),
    (0.0, -0.46),
]
_PLANE = np.array(_HALF + [(-x, y) for x, y in _HALF[-2:0:-1]])
_SHIFT = 4  # OpenCV's fixed-point coordinates: sixteenths of a pixel

Box = tuple[int, int, int, int]

_SIGNS = {
    "Way out": ("#0d5c3d", "#ffffff"),
    "Harbour café\nopen daily\nfrom nine": ("#f2ead8", "#5b2a1a"),
    "Please keep\nthis gate closed\nat all times\nthank you": ("#f4c318", "#181818"),
    "Reading room\nfirst floor\nPrints and maps\nsecond floor\nLecture hall\nthird floor": (
        "#23395d",
        "#f4f4f4",
    ),
}


def draw_airport(root: Path, split: str, seed: int) -> None:
    """Draw an apron with planes in rows, and write their quads, as an image of DOTA."""
    rng = np.random.default_rng(seed)
    pixels = _apron(rng, 900)
    quads = []
    for row in range(4):
        for column in range(5):
            if rng.random() < 0.25:
                continue
            middle = np.array([120 + 165 * column, 150 + 200 * row]) + rng.uniform(-14, 14, 2)
            size, turn = rng.uniform(78, 104), rng.normal(0.4 if row % 2 else -2.6, 0.25)
            quads.append(_draw_plane(pixels, rng, middle, size, turn))
    for folder in ("images", "labelTxt"):
        (root / split / folder).mkdir(parents=True, exist_ok=True)
    grain = rng.normal(0, 3, pixels.shape[:2])[..., None]
    noisy = np.clip(cv2.GaussianBlur(pixels, (0, 0), 0.7) + grain, 0, 255).astype(np.uint8)
    cv2.imwrite(str(root / split / "images" / f"P{seed:04d}.png"), noisy[..., ::-1])
    lines = [" ".join(f"{v:.1f}" for v in quad.ravel()) + " plane 0" for quad in quads]
    text = "imagesource:drawn\ngsd:0.4\n" + "\n".join(lines) + "\n"
    (root / split / "labelTxt" / f"P{seed:04d}.txt").write_text(text)


def _apron(rng: np.random.Generator, side: int) -> np.ndarray:
    """Draw concrete in slabs, grass at the edge, yellow lines to taxi along."""
    shade = cv2.resize(rng.normal(0, 1, (9, 9)), (side, side), interpolation=cv2.INTER_CUBIC)
    fine = cv2.GaussianBlur(rng.normal(0, 1, (side, side)), (0, 0), 2)
    ground = np.array([146.0, 144, 138]) + (7 * shade + 14 * fine)[..., None]
    for at in range(0, side, 50):
        ground[at : at + 1] -= 9
        ground[:, at : at + 1] -= 9
    grass = np.array([92.0, 108, 70]) + (9 * shade + 34 * fine)[..., None]
    ground[-70:], ground[:34] = grass[-70:], grass[:34]
    pixels = np.clip(ground, 0, 255).astype(np.uint8)
    for y in (250, 650):
        cv2.line(pixels, (0, y), (side, y), (196, 168, 60), 3, cv2.LINE_AA)
    return pixels


def _draw_plane(
    pixels: np.ndarray, rng: np.random.Generator, middle: np.ndarray, size: float, turn: float
) -> np.ndarray:
    """Draw a plane with its shadow; the corners around it, (4, 2)."""
    spin = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]]) * size
    livery = rng.choice([(236, 238, 240), (222, 226, 232), (244, 240, 230)])
    for offset, colour in (((7, 9), (86, 86, 84)), ((0, 0), livery)):
        _fill(pixels, _PLANE @ spin.T + middle + offset, colour)
    accent = rng.choice([(40, 74, 140), (168, 44, 40), (30, 110, 90), (70, 70, 76)])
    _fill(pixels, _PLANE[6:13] @ spin.T + middle, accent)
    for x in (-0.2, 0.2):  # the engines
        pod = np.array([(x - 0.02, 0.1), (x + 0.02, 0.1), (x + 0.02, -0.03), (x - 0.02, -0.03)])
        _fill(pixels, pod @ spin.T + middle, (150, 154, 160))
    corners = np.array([(-0.46, 0.5), (0.46, 0.5), (0.46, -0.5), (-0.46, -0.5)])
    quad: np.ndarray = corners @ spin.T + middle
    return quad


def _fill(pixels: np.ndarray, points: np.ndarray, colour: np.ndarray | tuple[int, ...]) -> None:
    fixed = np.rint(points * (1 << _SHIFT)).astype(np.int32)
    cv2.fillPoly(pixels, [fixed], [int(c) for c in colour], cv2.LINE_AA, _SHIFT)


def draw_streets(root: Path) -> None:
    """Draw signs on walls, with the boxes of their words, as the test split of ICDAR 2013."""
    truths, images = root / "Challenge2_Test_Task1_GT", root / "Challenge2_Test_Task12_Images"
    for folder in (truths, images):
        folder.mkdir(parents=True)
    for number, (text, colours) in enumerate(_SIGNS.items(), 1):
        picture, boxes = _street(text, colours, np.random.default_rng(number))
        picture.save(images / f"img_{number}.jpg", quality=92)
        lines = [f'{x0}, {y0}, {x1}, {y1}, "{word}"' for (x0, y0, x1, y1), word in boxes]
        (truths / f"gt_img_{number}.txt").write_text("\n".join(lines) + "\n", "utf-8")


def _street(
    text: str, colours: tuple[str, str], rng: np.random.Generator
) -> tuple[Image.Image, list[tuple[Box, str]]]:
    """Draw a sign on bricks; return the boxes of its words too."""
    picture = Image.fromarray(_bricks(rng, 640, 480))
    draw, font = ImageDraw.Draw(picture), face(40)
    lines = text.split("\n")
    wide = max(draw.textlength(line, font) for line in lines)
    left, top = 320 - wide / 2, 240 - 29 * len(lines)
    sign = (left - 34, top - 22, left + wide + 34, top + 58 * len(lines) + 14)
    draw.rounded_rectangle([v + 5 for v in sign], 12, "#3c2a24")
    draw.rounded_rectangle(sign, 12, colours[0], colours[1], 4)
    boxes = []
    for row, line in enumerate(lines):
        x = 320 - draw.textlength(line, font) / 2
        for word in line.split(" "):
            draw.text((x, top + 58 * row), word, colours[1], font)
            x0, y0, x1, y1 = draw.textbbox((x, top + 58 * row), word, font)
            boxes.append(((round(x0), round(y0), round(x1), round(y1)), word))
            x += draw.textlength(f"{word} ", font)
    pixels = cv2.GaussianBlur(np.asarray(picture), (0, 0), 0.8)
    light = np.linspace(1.05, 0.82, 640)[None, :, None]
    noisy = pixels * light + rng.normal(0, 4, (480, 640, 1))
    return Image.fromarray(np.clip(noisy, 0, 255).astype(np.uint8)), boxes


def _bricks(rng: np.random.Generator, width: int, height: int) -> np.ndarray:
    """Draw a wall."""
    wall = np.empty((height, width, 3))
    wall[:] = (176, 168, 158)
    for row, y in enumerate(range(0, height, 26)):
        for x in range(-40 * (row % 2), width, 80):
            colour = np.array([150, 84, 66]) + rng.normal(0, 11) + rng.normal(0, 5, 3)
            wall[y + 2 : y + 25, max(0, x + 2) : x + 79] = colour
    wall += cv2.GaussianBlur(rng.normal(0, 24, (height, width)), (0, 0), 1.2)[..., None]
    return np.clip(wall, 0, 255).astype(np.uint8)


def face(size: int, bold: bool = True) -> FreeTypeFont:
    """Return a font that is here wherever the toolkit is."""
    name = "DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf"
    return ImageFont.truetype(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / name, size)

"""Whether a small network can tell text blocks from photographs of text, and a sheet to try it.

.venv/bin/python perf/realism.py                       # IVL_DATA says where ICDAR-2013 is
.venv/bin/python perf/realism.py --backgrounds FOLDER  # with photographs behind the text
.venv/bin/python perf/realism.py --sheet sheet.png     # real blocks on the left, ours on the right
.venv/bin/python perf/realism.py --sheet sheet.png --mixed     # in any order: which are real?

Real are the blocks of ICDAR-2013's training images as `icdar-blocks` cuts them; for each there is
one of ours with as many lines (at most four). Ours are taken whole, 256×256, and also cut as the
real ones are: the lines with half a line's height around them. All are made 64×64 and stored as
JPEG of one quality, so that neither size nor file tells them apart. A network of three
convolutions is trained on four fifths and asked about the rest, five times over; photographs that
share a source image are never on both sides. 50 % is chance.

Without ICDAR-2013 the sheet is made with drawn stand-ins.
"""

import argparse
import os
import sys
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import cv2
import numpy as np
import torch
from measure import Figure, at_most, show, stated
from PIL import Image, ImageDraw, ImageFont

import icdar_blocks
from ivl_shards import Sample, UserError, open_dataset
from textblocks_gen import Inputs, TextRecipe, complete, start
from textblocks_gen.recipe import STYLES

SIDE, QUALITY, FOLDS, EPOCHS = 64, 85, 5, 40
LINES = (1, 2, 3, 4)
# Around the lines of a block, over their mean height, as `icdar-blocks` has it.
MARGIN = icdar_blocks.IcdarRecipe.margin
# Of the sheet: the height of a tile, the greatest width, and tiles of a kind in each of its rows.
TALL, WIDEST, ACROSS, GAP = 110, 330, 4, 8
STAND_INS = Path(__file__).parents[1] / "tools" / "pictures"


def small(image: np.ndarray) -> np.ndarray:
    """Make an image as small as the network takes it."""
    resized = cv2.resize(image, (SIDE, SIDE), interpolation=cv2.INTER_AREA)
    encoded = cv2.imencode(".jpg", resized, (cv2.IMWRITE_JPEG_QUALITY, QUALITY))[1]
    return cv2.imdecode(encoded, cv2.IMREAD_COLOR)


def real_samples(folder: Path, split: str) -> Iterator[Sample]:
    """Yield the blocks of a split of ICDAR-2013."""
    plan = icdar_blocks.plan_dataset(icdar_blocks.group_split(folder, split))
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary) / "real.h5"
        icdar_blocks.generate(plan, path, workers=1)
        yield from open_dataset(path)


def real_images(data: Path) -> tuple[list[np.ndarray], list[int], list[int]]:
    """Return real blocks, the number of the image each is from, and how many lines it has."""
    found, groups, lines = [], [], []
    for sample in real_samples(data / "icdar13", "train"):
        found.append(cv2.cvtColor(np.asarray(sample.image), cv2.COLOR_RGB2BGR))
        groups.append(zlib.crc32(np.ravel(sample["source_image"])[0]))
        lines.append(sample.length)
    return found, groups, lines


def stand_ins() -> tuple[list[np.ndarray], list[int]]:
    """Return drawn blocks in place of real ones, and how many lines each has."""
    sys.path.append(str(STAND_INS))
    from stand_ins import draw_streets

    with tempfile.TemporaryDirectory() as temporary:
        draw_streets(Path(temporary) / "icdar")
        samples = list(real_samples(Path(temporary) / "icdar", "test"))
    images = [cv2.cvtColor(np.asarray(sample.image), cv2.COLOR_RGB2BGR) for sample in samples]
    return images, [sample.length for sample in samples]


def synthetic_images(recipe: TextRecipe, lines: Sequence[int], source: Inputs) -> list[Sample]:
    """Return blocks with given numbers of lines, more than four counting as four."""
    make = start(complete(recipe, source), source)
    taken = dict.fromkeys(LINES, 0)
    found = []
    for count in lines:
        count = min(count, LINES[-1])
        # Counts take turns in a dataset.
        found.append(make(taken[count] * len(LINES) + LINES.index(count)))
        taken[count] += 1
    return found


def whole(sample: Sample) -> np.ndarray:
    """Return the image of a block."""
    return cv2.imdecode(np.asarray(sample["image"]), cv2.IMREAD_COLOR)


def cut(sample: Sample) -> np.ndarray:
    """Return a block as `icdar-blocks` would cut it from its image."""
    image, quads = whole(sample), np.asarray(sample["line_quad"])
    low, high = quads.min(axis=(0, 1)), quads.max(axis=(0, 1))
    rim = MARGIN * float(np.ptp(quads[..., 1], axis=1).mean())
    left, top = np.maximum(np.floor(low - rim), 0).astype(int)
    right, bottom = np.ceil(high + rim).astype(int)
    return image[top:bottom, left:right]


def network() -> torch.nn.Module:
    """Return three convolutions and a linear layer."""
    layers: list[torch.nn.Module] = []
    for a, b in ((3, 16), (16, 32), (32, 64)):
        layers += [torch.nn.Conv2d(a, b, 3, 2, 1), torch.nn.BatchNorm2d(b), torch.nn.ReLU()]
    return torch.nn.Sequential(
        *layers,
        torch.nn.AdaptiveAvgPool2d(1),
        torch.nn.Flatten(),
        torch.nn.Dropout(0.3),
        torch.nn.Linear(64, 1),
    )


def accuracy(real: list[np.ndarray], groups: list[int], synthetic: list[np.ndarray]) -> float:
    """Return the mean accuracy over held-out folds; both classes count the same."""
    images = torch.tensor(np.stack(real + synthetic)).permute(0, 3, 1, 2).float() / 128 - 1
    labels = torch.tensor([1.0] * len(real) + [0.0] * len(synthetic))
    fold = torch.tensor([g % FOLDS for g in groups] + [k % FOLDS for k in range(len(synthetic))])
    found = []
    for held_out in range(FOLDS):
        torch.manual_seed(held_out)
        model = network()
        optimiser = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-2)
        train = torch.nonzero(fold != held_out).ravel()
        for _ in range(EPOCHS):
            for batch in train[torch.randperm(len(train))].split(32):
                seen = images[batch]
                if torch.rand(1) < 0.5:
                    seen = seen.flip(3)
                loss = torch.nn.functional.binary_cross_entropy_with_logits(
                    model(seen).ravel(), labels[batch]
                )
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
        model.eval()
        with torch.no_grad():
            right = (model(images[fold == held_out]).ravel() > 0) == (
                labels[fold == held_out] > 0.5
            )
        truth = labels[fold == held_out] > 0.5
        found.append((right[truth].float().mean() + right[~truth].float().mean()).item() / 2)
    return float(np.mean(found))


def figures(data: Path, backgrounds: Path | None, seed: int) -> list[Figure]:
    """Measure both styles, whole and cut as the real blocks are."""
    images, groups, lines = real_images(data)
    real = [small(image) for image in images]
    seen, source = {}, Inputs(backgrounds=backgrounds)
    for style in STYLES:
        shared = {"split": "train", "style": style, "seed": seed}
        square = TextRecipe(LINES, 4 * len(real), height=256, width=256, **shared)
        for how, recipe in ((whole, square), (cut, TextRecipe(LINES, 4 * len(real), **shared))):
            made = synthetic_images(recipe, lines, source)
            seen[style, how] = accuracy(real, groups, [small(how(sample)) for sample in made])
    what = f"told from {len(real)} real blocks"
    found = []
    for how, name in ((whole, "whole"), (cut, "cut as they are")):
        paper, scene = 100 * seen["paper", how], 100 * seen["scene", how]
        found += [
            stated(f"paper style {what}, {name}", paper, "%"),
            at_most(f"scene style {what}, {name}", scene, "%", 75),
            at_most(f"scene style less paper style, {name}", scene - paper, "points", 0),
        ]
    return found


def sheet(data: Path, backgrounds: Path | None, rows: int, seed: int, mixed: bool) -> Image.Image:
    """Draw real blocks on the left and as many of ours on the right, or all in any order."""
    try:
        real, _, lines = real_images(data)
    except UserError as error:
        print(f"{error}: drawn stand-ins instead")
        real, lines = stand_ins()
    rng = np.random.default_rng(seed)
    chosen = [int(k) for k in rng.permutation(len(real))] * rows * ACROSS
    chosen = chosen[: rows * ACROSS]
    recipe = TextRecipe(LINES, 4 * len(chosen), split="train", style="scene", seed=seed)
    ours = synthetic_images(recipe, [lines[k] for k in chosen], Inputs(backgrounds=backgrounds))
    tiles = [tile(real[k]) for k in chosen] + [tile(cut(sample)) for sample in ours]
    if mixed:
        order = rng.permutation(len(tiles))
        print("real, by row and column:", where_real(order, len(chosen)))
        return lay_out([tiles[k] for k in order], 2 * ACROSS)
    both = []
    for k in range(0, len(chosen), ACROSS):
        both += tiles[k : k + ACROSS] + tiles[len(chosen) + k : len(chosen) + k + ACROSS]
    return lay_out(both, 2 * ACROSS, ("real", "ours"))


def where_real(order: np.ndarray, count: int) -> str:
    """Return where the first `count` tiles are in a given order."""
    places = [divmod(k, 2 * ACROSS) for k in np.flatnonzero(order < count).tolist()]
    return ", ".join(f"{row + 1}.{column + 1}" for row, column in places)


def tile(image: np.ndarray) -> Image.Image:
    """Return a block in the size that it has on the sheet."""
    scale = min(TALL / image.shape[0], WIDEST / image.shape[1])
    size = (max(round(image.shape[1] * scale), 1), max(round(image.shape[0] * scale), 1))
    resized = cv2.resize(
        image, size, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC
    )
    return Image.fromarray(cv2.cvtColor(resized, cv2.COLOR_BGR2RGB))


def lay_out(tiles: list[Image.Image], across: int, heads: Sequence[str] = ()) -> Image.Image:
    """Put tiles in rows, each in the middle of its cell, with a head for each half."""
    top, cell = 24 if heads else 0, (WIDEST + GAP, TALL + GAP)
    rows = -(-len(tiles) // across)
    page = Image.new("RGB", (across * cell[0] + GAP, top + rows * cell[1] + GAP), "#fafaf8")
    for k, image in enumerate(tiles):
        row, column = divmod(k, across)
        x = GAP + column * cell[0] + (WIDEST - image.width) // 2
        page.paste(image, (x, top + GAP + row * cell[1] + (TALL - image.height) // 2))
    for k, head in enumerate(heads):
        place = (GAP + k * across // len(heads) * cell[0], 5)
        ImageDraw.Draw(page).text(place, head, "#6a6a66", ImageFont.load_default(16))
    return page


def main() -> None:
    """Measure, or draw the sheet."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backgrounds", type=Path, help="folder of photographs")
    parser.add_argument("--seed", type=int, default=0, help="of our blocks")
    parser.add_argument("--sheet", type=Path, help="draw real blocks beside ours, and end")
    parser.add_argument("--rows", type=int, default=12, help="of the sheet")
    parser.add_argument("--mixed", action="store_true", help="all in any order")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    data = Path(os.environ.get("IVL_DATA", "data"))
    try:
        if chosen.sheet:
            page = sheet(data, chosen.backgrounds, chosen.rows, chosen.seed, chosen.mixed)
            page.save(chosen.sheet)
        else:
            show("Real or synthetic", figures(data, chosen.backgrounds, chosen.seed))
    except (UserError, OSError, ValueError) as error:
        sys.exit(f"perf/realism.py: {error}")


if __name__ == "__main__":
    main()

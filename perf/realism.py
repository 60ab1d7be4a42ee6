"""Whether a small network can tell text blocks from photographs of text.

.venv/bin/python perf/realism.py                       # IVL_DATA says where ICDAR-2013 is
.venv/bin/python perf/realism.py --backgrounds FOLDER  # with photographs behind the text

Real are the blocks of ICDAR-2013's training images as `icdar-blocks` cuts them; synthetic are as
many blocks of 1–4 lines of each style, 256×256. All are made 64×64 and stored as JPEG of one
quality, so that neither size nor file tells them apart. A network of three
convolutions is trained on four fifths and asked about the rest, five times over; photographs that
share a source image are never on both sides. 50 % is chance.
"""

import argparse
import os
import tempfile
import zlib
from pathlib import Path

import cv2
import numpy as np
import torch
from measure import Figure, at_most, show, stated

import icdar_blocks
from ivl_shards import open_dataset
from textblocks_gen import Source, TextRecipe, complete, start
from textblocks_gen.recipe import STYLES

SIDE, QUALITY, FOLDS, EPOCHS = 64, 85, 5, 40


def small(image: np.ndarray) -> np.ndarray:
    """Make an image as small as the network takes it."""
    resized = cv2.resize(image, (SIDE, SIDE), interpolation=cv2.INTER_AREA)
    encoded = cv2.imencode(".jpg", resized, (cv2.IMWRITE_JPEG_QUALITY, QUALITY))[1]
    return cv2.imdecode(encoded, cv2.IMREAD_COLOR)


def real_images(data: Path) -> tuple[list[np.ndarray], list[int]]:
    """Return windows around real blocks, and the number of the image each is from."""
    plan = icdar_blocks.plan_dataset(icdar_blocks.group_split(data / "icdar13", "train"))
    found, groups = [], []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "real.h5"
        icdar_blocks.generate(plan, path, workers=1)
        for sample in open_dataset(path):
            found.append(small(cv2.cvtColor(np.asarray(sample.image), cv2.COLOR_RGB2BGR)))
            groups.append(zlib.crc32(np.ravel(sample["source_image"])[0]))
    return found, groups


def synthetic_images(style: str, count: int, backgrounds: Path | None) -> list[np.ndarray]:
    """Return as many blocks of a style."""
    source = Source(backgrounds=backgrounds)
    recipe = TextRecipe((1, 2, 3, 4), count, split="realism", style=style, height=256, width=256)
    make = start(complete(recipe, source), source)
    return [small(cv2.imdecode(make(row)["image"], cv2.IMREAD_COLOR)) for row in range(count)]


def network() -> torch.nn.Module:
    """Return three convolutions and a linear layer."""
    layers: list[torch.nn.Module] = []
    for a, b in ((3, 16), (16, 32), (32, 64)):
        layers += [torch.nn.Conv2d(a, b, 3, 2, 1), torch.nn.BatchNorm2d(b), torch.nn.ReLU()]
    return torch.nn.Sequential(
        *layers, torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Dropout(0.3),
        torch.nn.Linear(64, 1),
    )  # fmt: skip


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


def figures(data: Path, backgrounds: Path | None) -> list[Figure]:
    """Measure both styles."""
    real, groups = real_images(data)
    seen = {
        style: accuracy(real, groups, synthetic_images(style, len(real), backgrounds))
        for style in STYLES
    }
    what = f"told from {len(real)} real blocks"
    return [
        stated(f"paper style {what}", 100 * seen["paper"], "%"),
        at_most(f"scene style {what}", 100 * seen["scene"], "%", 75),
        at_most("scene style less paper style", 100 * (seen["scene"] - seen["paper"]), "%", 0),
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backgrounds", type=Path, help="folder of photographs")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    data = Path(os.environ.get("IVL_DATA", "data"))
    show("Real or synthetic", figures(data, chosen.backgrounds))

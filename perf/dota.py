"""Speed of dota-crops: crops a CPU-second once images are decoded, and decoding against OpenCV.

IVL_DATA=… python perf/dota.py
"""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import cv2

from dota_crops import DotaRecipe, make_plan
from dota_crops.contrast import contrasts
from dota_crops.extract import extract
from dota_crops.picture import open_picture

WANTED = 300  # crops a CPU-second
TOTAL = 20_000
IMAGES = 12
ROUNDS = 5


def cpu_seconds(work: Callable[[], object]) -> float:
    """CPU time of all threads of this process."""
    begun = time.process_time()
    work()
    return time.process_time() - begun


def main() -> None:
    """Print the table."""
    if "IVL_DATA" not in os.environ:
        sys.exit("IVL_DATA does not say where the real data lies")
    root = Path(os.environ["IVL_DATA"]) / "dota"
    begun = time.process_time()
    plan = make_plan(DotaRecipe((3, 4, 5), TOTAL, split="train", images=100), root)
    searching = time.process_time() - begun

    chosen = range(0, len(plan.scenes), max(1, len(plan.scenes) // IMAGES))
    cropping, crops = 0.0, 0
    for k in chosen:
        scene = plan.scenes[k]
        picture = open_picture(scene.path, scene.height * scene.width)
        levels = contrasts(picture, scene.quads, scene.height, scene.width)
        own = [crop for crop in plan.crops if crop.scene == k]
        crops += len(own)
        cropping += cpu_seconds(
            lambda own=own, scene=scene, picture=picture, levels=levels: [  # type: ignore[misc]
                extract(plan.recipe, scene, crop, picture, levels) for crop in own
            ]
        )
    each = cropping / crops
    whole = TOTAL / (searching + TOTAL * each)
    print(f"{'search, CPU-seconds for ' + format(TOTAL, ',') + ' crops':52} {searching:8.1f}")
    print(f"{'crops a CPU-second, image decoded':52} {1 / each:8.0f}")
    print(f"{'  over the ' + str(WANTED) + ' wanted':52} {1 / each / WANTED:8.2f}")
    print(f"{'crops a CPU-second, search included':52} {whole:8.0f}")
    print(f"{'  over the ' + str(WANTED) + ' wanted':52} {whole / WANTED:8.2f}")

    # Alternating, and the least of several rounds, because other work comes and goes.
    scenes = [plan.scenes[k] for k in chosen]
    ours, theirs = [], []
    for _ in range(ROUNDS):
        ours.append(cpu_seconds(lambda: [open_picture(s.path, s.height * s.width) for s in scenes]))
        theirs.append(cpu_seconds(lambda: [cv2.imread(str(s.path)) for s in scenes]))
    print(f"{'decoding: time of ours / time of cv2.imread':52} {min(ours) / min(theirs):8.2f}")


if __name__ == "__main__":
    main()

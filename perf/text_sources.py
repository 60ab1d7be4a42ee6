"""What fonts, lexicon and backgrounds cost: python perf/text_sources.py

Needs no installed catalogue; with one, it is measured, too. docs/FONTS.md refers to it.
"""

import io
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from fontTools.ttLib import TTFont
from PIL import ImageFont

import fonts
from fonts.catalogue import installed_faces, is_catalogue
from fonts.places import catalogue_folder
from textblocks_gen.backgrounds.pool import PoolRecipe, crop, make_pool
from textblocks_gen.words.lexicon import load_lexicon


def seconds(work: Callable[[], object], times: int = 1) -> float:
    """Time of one call, the best of three rounds."""
    rounds = []
    for _ in range(3):
        begun = time.perf_counter()
        for _ in range(times):
            work()
        rounds.append((time.perf_counter() - begun) / times)
    return min(rounds)


def opening(faces: tuple[fonts.Face, ...]) -> tuple[float, float]:
    """Milliseconds to open a face compressed (woff2) and plain."""
    packed, plain = [], []
    for face in faces:
        content = face.path.read_bytes()
        with TTFont(io.BytesIO(content)) as font:
            font.flavor = "woff2"
            font.save(file := io.BytesIO())
        woff2 = file.getvalue()
        packed.append(seconds(lambda data=woff2: ImageFont.truetype(io.BytesIO(data), 40)))
        plain.append(seconds(lambda data=content: ImageFont.truetype(io.BytesIO(data), 40)))
    return float(np.mean(packed)) * 1e3, float(np.mean(plain)) * 1e3


def main() -> None:
    """Print the table."""
    packaged = fonts.packaged_faces()
    catalogue = installed_faces(catalogue_folder()) if is_catalogue(catalogue_folder()) else ()
    packed, plain = opening((catalogue or packaged)[::40])
    print(f"open a face: woff2 {packed:.2f} ms, ttf {plain:.2f} ms: {packed / plain:.0f} times")
    print(f"packaged faces: {len(packaged)}, load {seconds(fonts.packaged_faces) * 1e3:.0f} ms")
    if catalogue:
        size = sum(Path(face.path).stat().st_size for face in catalogue) / 1e6
        load = seconds(lambda: installed_faces(catalogue_folder()))
        print(f"catalogue: {len(catalogue):,} faces, {size:.0f} MB, load {load * 1e3:.0f} ms")
    print(f"lexicon: {len(load_lexicon().words):,} words")
    pool = make_pool(PoolRecipe(256, 384))
    made = seconds(lambda: make_pool(PoolRecipe(256, 384)))
    size = sum(image.nbytes for image in pool.images) / 1e6
    print(f"textures: a pool of {len(pool.images)}, {size:.0f} MB, made in {made:.2f} s")
    scenes = seconds(lambda: make_pool(PoolRecipe(256, 384, scenes=True))) - made
    print(f"scenes: beside the textures, made in {scenes:.2f} s")
    rng = np.random.Generator(np.random.Philox(0))
    canvas = np.zeros((256, 384, 3), np.uint8)
    cut = seconds(lambda: crop(pool, rng, canvas, (80, 60, 300, 200)), times=2000)
    print(f"background: a crop of 256×384 in {cut * 1e6:.0f} µs")


if __name__ == "__main__":
    main()

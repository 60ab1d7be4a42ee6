"""Backgrounds: the same pixels everywhere, quick crops, and no photograph that spoils a run."""

import hashlib
import logging
import shutil
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ivl_shards import UserError
from textblocks_gen.backgrounds import (
    Pool,
    crop,
    make_pool,
    photograph_pool,
    texture_fingerprint,
    texture_pool,
)
from textblocks_gen.textures import TEXTURES


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(seed))


def photograph(path: Path, width: int = 500, height: int = 400, seed: int = 0, **options) -> Path:
    coarse = np.random.default_rng(seed).integers(0, 256, (8, 8, 3), np.uint8)
    image = Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC)
    path.parent.mkdir(parents=True, exist_ok=True)
    image.save(path, **options)
    return path


# Raise _TEXTURES_VERSION when these change: recipes name the textures by it.
PIXELS = "f529b89b9081c350a298c09568463ce7ad54fd1585718db8887b6d2866f41582"


def test_textures_are_these_very_pixels() -> None:
    digest = hashlib.sha256()
    for image in texture_pool(seed=1, height=64, width=96, count=len(TEXTURES)).images:
        digest.update(image.tobytes())
    assert digest.hexdigest() == PIXELS


def test_a_texture_depends_on_seed_and_number_alone() -> None:
    three, five = (texture_pool(7, 64, 96, count).images for count in (3, 5))
    assert all((a == b).all() for a, b in zip(three, five, strict=False))
    assert not (texture_pool(8, 64, 96, 1).images[0] == three[0]).all()
    assert texture_fingerprint(7, 64, 96) != texture_fingerprint(8, 64, 96)


@pytest.mark.parametrize("texture", TEXTURES, ids=lambda texture: texture.__name__)
def test_textures_are_surfaces_one_can_write_on(texture) -> None:
    for seed in range(6):
        image = texture(rng(seed), 200, 300)
        assert image.shape == (200, 300, 3) and image.dtype == np.uint8
        assert image.flags.c_contiguous
        grey = image.mean(2)
        assert 1 < grey.std() < 60, "neither flat nor wild"
        assert (grey >= 254).mean() < 0.2, "not burnt out"


def test_crops_stay_within_the_canvas_and_are_ones_own() -> None:
    pool = texture_pool(0, 100, 150, count=3)
    before = [image.copy() for image in pool.images]
    seen = set()
    random = rng()
    for _ in range(60):
        background = crop(pool, random, 100, 150)
        assert background.pixels.shape == (100, 150, 3) and background.pixels.dtype == np.uint8
        assert background.pixels.flags.c_contiguous and background.pixels.flags.writeable
        background.pixels[:] = 0
        seen.add(background.image)
    assert seen == {0, 1, 2}
    assert all((a == b).all() for a, b in zip(before, pool.images, strict=True))


def test_a_crop_is_a_piece_of_the_image_mirrored_or_not_and_shifted() -> None:
    ramp = np.arange(120, dtype=np.uint8) + 60
    image = np.ascontiguousarray(np.broadcast_to(ramp[None, :, None], (90, 120, 3)))
    pool = Pool((image,), "")
    steps, shifts = set(), set()
    random = rng()
    for _ in range(200):
        row = crop(pool, random, 90, 120).pixels[0, :, 0].astype(int)
        steps.add(int(row[1] - row[0]))
        shifts.add(int(row.min()) - 60)
    assert steps == {1, -1}
    assert min(shifts) >= -28 and max(shifts) <= 12 and len(shifts) > 25


def test_the_same_draws_give_the_same_crop() -> None:
    pool = texture_pool(0, 100, 150, count=3)
    first, second = (crop(pool, rng(5), 100, 150) for _ in range(2))
    assert (first.pixels == second.pixels).all() and first.image == second.image


def test_a_crop_costs_little_more_than_a_copy() -> None:
    pool = texture_pool(0, 256, 384, count=6)
    random = rng()

    def median(work) -> float:
        times = []
        for _ in range(1000):
            begun = time.perf_counter()
            work()
            times.append(time.perf_counter() - begun)
        return float(np.median(times))

    copying = median(lambda: pool.images[0][20:276, 30:414].copy())
    # A copy takes some 25 µs and the budget is 60 µs; a ratio holds on a busy machine, too.
    assert median(lambda: crop(pool, random, 256, 384)) < 6 * copying


def test_photographs_of_all_formats_below_a_folder(tmp_path: Path) -> None:
    for number, suffix in enumerate(["jpg", "png", "webp", "bmp", "tiff", "JPEG"]):
        photograph(tmp_path / f"deep/{number}/photo.{suffix}", seed=number)
    (tmp_path / "notes.txt").write_text("not a photograph")
    pool = make_pool(tmp_path, seed=0, height=256, width=384)
    assert len(pool.images) == 6
    assert crop(pool, rng(), 256, 384).pixels.shape == (256, 384, 3)


def test_grey_palette_and_transparent_images_become_rgb(tmp_path: Path) -> None:
    for mode in ("L", "P", "RGBA", "LA", "1", "I;16"):
        path = tmp_path / f"{mode.replace(';', '')}.png"
        Image.new("L", (400, 300), 90).convert(mode if mode != "I;16" else "I").convert(mode).save(
            path
        )
    Image.new("CMYK", (400, 300)).save(tmp_path / "print.jpg")
    pool = photograph_pool(tmp_path, 0, 256, 384)
    assert len(pool.images) == 7
    assert all(image.ndim == 3 and image.shape[2] == 3 for image in pool.images)


def test_unreadable_ones_are_skipped_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    good = photograph(tmp_path / "good.jpg")
    content = good.read_bytes()
    (tmp_path / "truncated.jpg").write_bytes(content[: len(content) // 2])
    (tmp_path / "empty.png").write_bytes(b"")
    (tmp_path / "text.webp").write_text("hello")
    photograph(tmp_path / "tiny.png", 40, 30)
    with caplog.at_level(logging.WARNING):
        pool = photograph_pool(tmp_path, 0, 256, 384)
    assert len(pool.images) == 1
    for name in ("truncated.jpg", "empty.png", "text.webp", "tiny.png"):
        (line,) = [r.getMessage() for r in caplog.records if name in r.getMessage()]
        assert "skipped: " in line and "\n" not in line


def test_none_left_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not a folder"):
        make_pool(tmp_path / "nothing", 0, 256, 384)
    with pytest.raises(UserError, match="has no photographs"):
        make_pool(tmp_path, 0, 256, 384)
    (tmp_path / "bad.jpg").write_bytes(b"bad")
    with pytest.raises(UserError, match="none of its 1 photographs can be used"):
        make_pool(tmp_path, 0, 256, 384)


def test_memory_is_bounded_and_the_canvas_covered(tmp_path: Path) -> None:
    photograph(tmp_path / "large.jpg", 4000, 3000)
    photograph(tmp_path / "wide.jpg", 3000, 300)
    photograph(tmp_path / "small.jpg", 200, 150)
    for height, width in ((256, 384), (300, 300)):
        for image in photograph_pool(tmp_path, 0, height, width).images:
            assert image.shape[0] >= height and image.shape[1] >= width
            assert image.shape[0] * image.shape[1] <= 640 * 480 * 4
    (large,) = (i for i in photograph_pool(tmp_path, 0, 256, 384).images if i.shape[0] > 400)
    assert large.shape == (480, 640, 3)


def test_which_photographs_are_taken_depends_on_the_seed(tmp_path: Path) -> None:
    for number in range(8):
        photograph(tmp_path / f"{number}.png", seed=number)
    one, again, other = (photograph_pool(tmp_path, seed, 256, 384, limit=3) for seed in (1, 1, 2))
    assert len(one.images) == 3
    assert one.fingerprint == again.fingerprint != other.fingerprint
    shutil.copytree(tmp_path, tmp_path.parent / "moved")
    moved = photograph_pool(tmp_path.parent / "moved", 1, 256, 384, limit=3)
    assert moved.fingerprint == one.fingerprint
    assert all((a == b).all() for a, b in zip(one.images, moved.images, strict=True))


def test_a_photograph_is_turned_as_its_camera_was(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was held upright
    photograph(tmp_path / "upright.jpg", 600, 400, exif=exif)
    (image,) = photograph_pool(tmp_path, 0, 300, 200).images
    assert image.shape[0] > image.shape[1]

"""Backgrounds: the same pixels everywhere, quick crops, and no photograph that spoils a run."""

import hashlib
import logging
import shutil
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from ivl_shards import UserError
from textblocks_gen.backgrounds.pool import (
    Pool,
    PoolRecipe,
    crop,
    drawn_pool,
    make_pool,
    photograph_pool,
)
from textblocks_gen.backgrounds.readability import calm_behind
from textblocks_gen.backgrounds.scenes import SCENES
from textblocks_gen.backgrounds.textures import TEXTURES
from textblocks_gen.holdout import SPLITS


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(seed))


SIZE = (256, 384)
MIDDLE = (100, 80, 280, 180)
"""Where text is meant to be on a canvas of that size."""


def cut(pool: Pool, random: np.random.Generator, size=SIZE, text=MIDDLE, scenes=0.0):
    """A crop on a canvas of its own, and the number of its image."""
    canvas = np.zeros((*size, 3), np.uint8)
    return canvas, crop(pool, random, canvas, text, scenes)


def photographs(folder: Path, seed: int = 0, height: int = 256, width: int = 384) -> Pool:
    return photograph_pool(PoolRecipe(height, width, seed, folder))


def photograph(path: Path, width: int = 500, height: int = 400, seed: int = 0, **options) -> Path:
    coarse = np.random.default_rng(seed).integers(0, 256, (8, 8, 3), np.uint8)
    image = Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC)
    path.parent.mkdir(parents=True, exist_ok=True)
    image.save(path, **options)
    return path


# Raise _TEXTURES_VERSION when these change: recipes name the textures by it.
PIXELS = "f529b89b9081c350a298c09568463ce7ad54fd1585718db8887b6d2866f41582"


SCENE_PIXELS = "f7722fb529955dc228921146dfb68f256532df3cd677cf839db9be168aa6c6d7"


def test_textures_are_these_very_pixels() -> None:
    digest = hashlib.sha256()
    for image in drawn_pool(PoolRecipe(64, 96, seed=1), len(TEXTURES)).images:
        digest.update(image.tobytes())
    assert digest.hexdigest() == PIXELS


def test_a_texture_depends_on_seed_and_number_alone() -> None:
    three, five = (drawn_pool(PoolRecipe(64, 96, 7), count).images for count in (3, 5))
    assert all((a == b).all() for a, b in zip(three, five, strict=False))
    assert not (drawn_pool(PoolRecipe(64, 96, 8), 1).images[0] == three[0]).all()
    assert PoolRecipe(64, 96, 7).fingerprint != PoolRecipe(64, 96, 8).fingerprint


@pytest.mark.parametrize("texture", TEXTURES, ids=lambda texture: texture.__name__)
def test_textures_are_surfaces_one_can_write_on(texture) -> None:
    for seed in range(6):
        image = texture(rng(seed), 200, 300)
        assert image.shape == (200, 300, 3) and image.dtype == np.uint8
        assert image.flags.c_contiguous
        grey = image.mean(2)
        assert 1 < grey.std() < 60, "neither flat nor wild"
        assert (grey >= 254).mean() < 0.2, "not burnt out"


def test_crops_leave_the_pool_as_it_is() -> None:
    pool = drawn_pool(PoolRecipe(100, 150), 3)
    before = [image.copy() for image in pool.images]
    seen = set()
    random = rng()
    for _ in range(60):
        pixels, number = cut(pool, random, (100, 150), (20, 20, 120, 80))
        assert pixels.std() > 0
        pixels[:] = 0
        seen.add(number)
    assert seen == {0, 1, 2}
    assert all((a == b).all() for a, b in zip(before, pool.images, strict=True))


def test_a_crop_is_a_piece_of_the_image_mirrored_or_not_and_shifted() -> None:
    ramp = np.arange(120, dtype=np.uint8) + 60
    image = np.ascontiguousarray(np.broadcast_to(ramp[None, :, None], (90, 120, 3)))
    pool = Pool((image,), "")
    steps, shifts = set(), set()
    random = rng()
    for _ in range(200):
        row = cut(pool, random, (90, 120), (0, 0, 120, 90))[0][0, :, 0].astype(int)
        steps.add(int(row[1] - row[0]))
        shifts.add(int(row.min()) - 60)
    assert steps == {1, -1}
    assert min(shifts) >= -28 and max(shifts) <= 12 and len(shifts) > 25


def test_the_same_draws_give_the_same_crop() -> None:
    pool = drawn_pool(PoolRecipe(100, 150), 3)
    first, second = (cut(pool, rng(5), (100, 150), (20, 20, 120, 80)) for _ in range(2))
    assert (first[0] == second[0]).all() and first[1] == second[1]


def test_a_crop_costs_little_more_than_a_copy() -> None:
    pool = drawn_pool(PoolRecipe(256, 384), 6)
    random, canvas = rng(), np.zeros((*SIZE, 3), np.uint8)
    crop(pool, random, canvas, MIDDLE)  # sums up the images, once

    def median(work) -> float:
        times = []
        for _ in range(1000):
            begun = time.perf_counter()
            work()
            times.append(time.perf_counter() - begun)
        return float(np.median(times))

    copying = median(lambda: pool.images[0][20:276, 30:414].copy())
    # A copy takes some 25 µs and the budget is 60 µs; a ratio holds on a busy machine, too.
    assert median(lambda: crop(pool, random, canvas, MIDDLE)) < 6 * copying


def test_photographs_of_all_formats_below_a_folder(tmp_path: Path) -> None:
    for number, suffix in enumerate(["jpg", "png", "webp", "bmp", "tiff", "JPEG"]):
        photograph(tmp_path / f"deep/{number}/photo.{suffix}", seed=number)
    (tmp_path / "notes.txt").write_text("not a photograph")
    pool = make_pool(PoolRecipe(256, 384, 0, tmp_path))
    assert len(pool.images) == 6
    assert cut(pool, rng())[0].std() > 0


def test_grey_palette_and_transparent_images_become_rgb(tmp_path: Path) -> None:
    for mode in ("L", "P", "RGBA", "LA", "1", "I;16"):
        path = tmp_path / f"{mode.replace(';', '')}.png"
        Image.new("L", (400, 300), 90).convert(mode if mode != "I;16" else "I").convert(mode).save(
            path
        )
    Image.new("CMYK", (400, 300)).save(tmp_path / "print.jpg")
    pool = photographs(tmp_path)
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
        pool = photographs(tmp_path)
    assert len(pool.images) == 1
    for name in ("truncated.jpg", "empty.png", "text.webp", "tiny.png"):
        (line,) = [r.getMessage() for r in caplog.records if name in r.getMessage()]
        assert "skipped: " in line and "\n" not in line


def test_none_left_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not a folder"):
        make_pool(PoolRecipe(256, 384, 0, tmp_path / "nothing"))
    with pytest.raises(UserError, match="has no photographs"):
        make_pool(PoolRecipe(256, 384, 0, tmp_path))
    (tmp_path / "bad.jpg").write_bytes(b"bad")
    with pytest.raises(UserError, match="none of its 1 photographs can be used"):
        make_pool(PoolRecipe(256, 384, 0, tmp_path))


def test_memory_is_bounded_and_the_canvas_covered(tmp_path: Path) -> None:
    photograph(tmp_path / "large.jpg", 4000, 3000)
    photograph(tmp_path / "wide.jpg", 3000, 300)
    photograph(tmp_path / "small.jpg", 200, 150)
    for height, width in ((256, 384), (300, 300)):
        for image in photographs(tmp_path, 0, height, width).images:
            assert image.shape[0] >= height and image.shape[1] >= width
            assert image.shape[0] * image.shape[1] <= 640 * 480 * 4
    (large,) = (i for i in photographs(tmp_path).images if i.shape[0] > 400)
    assert large.shape == (480, 640, 3)


def test_which_photographs_are_taken_depends_on_the_seed(tmp_path: Path) -> None:
    for number in range(8):
        photograph(tmp_path / f"{number}.png", seed=number)
    one, again, other = (
        photograph_pool(PoolRecipe(256, 384, seed, tmp_path), limit=3) for seed in (1, 1, 2)
    )
    assert len(one.images) == 3
    assert one.fingerprint == again.fingerprint != other.fingerprint
    shutil.copytree(tmp_path, tmp_path.parent / "moved")
    moved = photograph_pool(PoolRecipe(256, 384, 1, tmp_path.parent / "moved"), limit=3)
    assert moved.fingerprint == one.fingerprint
    assert all((a == b).all() for a, b in zip(one.images, moved.images, strict=True))


def test_a_photograph_is_turned_as_its_camera_was(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was held upright
    photograph(tmp_path / "upright.jpg", 600, 400, exif=exif)
    (image,) = photographs(tmp_path, 0, 300, 200).images
    assert image.shape[0] > image.shape[1]


def test_scenes_are_these_very_pixels() -> None:
    """Raise _SCENES_VERSION when they change: recipes name the scenes by it."""
    digest = hashlib.sha256()
    for number, scene in enumerate(SCENES):
        digest.update(scene(rng(number), 120, 160).tobytes())
    assert digest.hexdigest() == SCENE_PIXELS


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.__name__)
def test_scenes_have_a_place_for_text_and_more_than_that(scene) -> None:
    flat = 0
    for seed in range(4):
        image = scene(rng(seed), 240, 320)
        assert image.shape == (240, 320, 3) and image.dtype == np.uint8
        grey = image.mean(2)
        assert 3 < grey.std() < 90
        pieces = [
            grey[y : y + 48, x : x + 96].std() for y in range(0, 192, 16) for x in range(0, 224, 16)
        ]
        flat += min(pieces) < 16
    assert flat == 4, "text of a fifth of the image's height has a quiet place"


def test_scenes_are_taken_as_often_as_asked_for() -> None:
    image = np.zeros((60, 90, 3), np.uint8)
    pool = Pool((image,) * 5, "", scenes=2)
    for share in (0.0, 0.25, 1.0):
        random = rng()
        found = [cut(pool, random, (50, 80), (0, 0, 80, 50), share)[1] for _ in range(400)]
        assert abs(np.mean([number >= 3 for number in found]) - share) < 0.07
    assert PoolRecipe(64, 96).fingerprint != PoolRecipe(64, 96, scenes=True).fingerprint


def test_text_is_put_where_an_image_is_quiet() -> None:
    """Half of the image is noise, half is plain, and the text fits into the plain half."""
    image = np.full((300, 600, 3), 120, np.uint8)
    image[:, :300] = rng().integers(0, 256, (300, 300, 1), np.uint8)
    pool, random = Pool((image,), ""), rng()
    spread = [
        cut(pool, random, (200, 300), (100, 80, 200, 120))[0][80:120, 100:200].std()
        for _ in range(60)
    ]
    assert np.mean(np.array(spread) < 5) > 0.9


def test_splits_share_no_drawn_image() -> None:
    pools = [drawn_pool(PoolRecipe(64, 96, split=split), 4).images for split in SPLITS]
    seen = {image.tobytes() for pool in pools for image in pool}
    assert len(seen) == 12
    assert len({PoolRecipe(64, 96, split=split).fingerprint for split in ("", *SPLITS)}) == 4


def test_splits_share_no_photograph(tmp_path: Path) -> None:
    for number in range(60):
        photograph(tmp_path / f"{number}.png", 80, 70, seed=number)
    pools = [photograph_pool(PoolRecipe(64, 64, 0, tmp_path, split=split)) for split in SPLITS]
    contents = [{image.tobytes() for image in pool.images} for pool in pools]
    assert sum(map(len, contents)) == 60 == len(set.union(*contents))
    assert len(contents[0]) > 35


def test_a_photograph_with_text_is_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip("rapidocr")
    photograph(tmp_path / "plain.jpg")
    with Image.open(photograph(tmp_path / "sign.jpg")) as file:
        image = file.convert("RGB")
    ImageDraw.Draw(image).rectangle((60, 120, 440, 260), "white")
    ImageDraw.Draw(image).text((90, 150), "PRIVATE", "black", font=ImageFont.load_default(80))
    image.save(tmp_path / "sign.jpg")
    with caplog.at_level(logging.WARNING):
        assert len(photographs(tmp_path).images) == 1
    (line,) = [record.getMessage() for record in caplog.records]
    assert "1 of 2 photographs have text" in line and "sign.jpg" in line and "PRIVATE" in line


def test_without_the_extra_a_line_says_that_text_is_not_looked_for(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("textblocks_gen.backgrounds.pool.has_ocr", lambda: False)
    photograph(tmp_path / "plain.jpg")
    with caplog.at_level(logging.WARNING):
        assert len(photographs(tmp_path).images) == 1
    (line,) = [record.getMessage() for record in caplog.records]
    assert "ivl[ocr]" in line and "\n" not in line


def test_a_photograph_is_looked_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rapidocr")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    photograph(tmp_path / "photos/plain.jpg")
    seen: list[Path] = []
    monkeypatch.setattr(
        "textblocks_gen.backgrounds.screening.text_in", lambda path: seen.append(path) or ""
    )
    for _ in range(2):
        photographs(tmp_path / "photos")
    assert len(seen) == 1
    (cache,) = (tmp_path / "cache/ivl").glob("text-in-photographs-*.json")
    for damage in (b"", b"[1, 2]", b"{", b'{"a": 1}', b"\xff\xfe"):
        cache.write_bytes(damage)
        assert len(photographs(tmp_path / "photos").images) == 1


def test_only_what_lies_behind_text_is_calmed() -> None:
    """A busy ground, dark to light: behind the text its range fits, elsewhere nothing changed."""
    ground = rng().integers(0, 256, (200, 300, 1), np.uint8).repeat(3, axis=2)
    steps = np.zeros((200, 300), np.uint8)
    steps[90:110, 100:200] = 1
    before = ground.copy()
    low, high = calm_behind(ground, steps, (96, 86, 204, 114), 65.0)
    behind = ground[steps > 0]
    assert high - low <= 65
    assert np.percentile(behind, 96) - np.percentile(behind, 4) <= 70
    assert np.array_equal(ground[:40], before[:40]) and np.array_equal(
        ground[:, :40], before[:, :40]
    )
    assert np.ptp(ground) == 255, "the photograph as a whole is not fogged"


def test_a_ground_that_is_calm_is_left_alone() -> None:
    ground = rng().integers(100, 140, (80, 120, 3), np.uint8)
    steps = np.ones((80, 120), np.uint8)
    before = ground.copy()
    low, high = calm_behind(ground, steps, (0, 0, 120, 80), 65.0)
    assert np.array_equal(ground, before) and 100 <= low < high < 140

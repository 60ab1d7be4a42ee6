"""Source images: the same pixels whether held or streamed, and memory that stays small."""

import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest
import pyvips

from dota_crops.picture import Streamed, Whole, open_picture, read_header
from dota_root import add_image, squares
from ivl_shards import UserError, open_dataset

HUGE = 20_000
# Pixels alone would be 1,200 MB.
MOST_MEGABYTES = 450

WINDOWS = [(0, 0, 700, 90), (5, 3, 130, 500), (200, 250, 300, 351), (0, 600, 700, 900)]


@pytest.fixture
def pixels() -> np.ndarray:
    noise = np.random.default_rng(0).integers(256, size=(900, 700, 3), dtype=np.uint8)
    return cv2.GaussianBlur(noise, (0, 0), 3)


@pytest.mark.parametrize("suffix", [".png", ".jpg", ".tif"])
def test_a_streamed_image_has_the_pixels_of_a_held_one(
    tmp_path: Path, suffix: str, pixels: np.ndarray
) -> None:
    path = tmp_path / f"image{suffix}"
    cv2.imwrite(str(path), pixels)
    held, streamed = open_picture(path, 900 * 700), open_picture(path, HUGE * HUGE)
    assert isinstance(held, Whole) and isinstance(streamed, Streamed)
    for window in [*WINDOWS, WINDOWS[0]]:  # the last goes back to the top
        assert np.array_equal(streamed.window(*window), held.window(*window))


def test_grey_and_transparent_images_have_three_channels(
    tmp_path: Path, pixels: np.ndarray
) -> None:
    for name, stored in (("grey", pixels[..., 0]), ("rgba", np.dstack([pixels, pixels[..., :1]]))):
        path = tmp_path / f"{name}.png"
        cv2.imwrite(str(path), stored)
        held, streamed = Whole(path).window(0, 0, 9, 9), Streamed(path).window(0, 0, 9, 9)
        assert held.shape == (9, 9, 3) and np.array_equal(held, streamed)


def test_an_orientation_tag_does_not_turn_the_image(tmp_path: Path, pixels: np.ndarray) -> None:
    """Labels mean the pixels as they are stored."""
    path = tmp_path / "turned.jpg"
    image = pyvips.Image.new_from_array(pixels).copy()
    image.set_type(pyvips.GValue.gint_type, "orientation", 6)
    image.jpegsave(str(path))
    assert (read_header(path).height, read_header(path).width) == (900, 700)
    assert Whole(path).window(0, 0, 700, 900).shape == (900, 700, 3)


def test_damage_inside_a_file_is_one_line(tmp_path: Path, pixels: np.ndarray) -> None:
    path = tmp_path / "damaged.png"
    cv2.imwrite(str(path), pixels)
    data = bytearray(path.read_bytes())
    data[1000:1400] = bytes(400)
    path.write_bytes(data)
    for kind in (Whole, Streamed):
        with pytest.raises(UserError, match=r"damaged\.png: damaged"):
            kind(path).window(0, 0, 700, 900)


@pytest.mark.slow
def test_an_image_of_20000_pixels_a_side_is_cropped_in_bounded_memory(tmp_path: Path) -> None:
    # Labels first, for a small image in whose place the huge one is put: three groups of planes.
    groups = [squares(k, 9) + [k * 9_000, k * 9_000] for k in range(3)]
    add_image(tmp_path, "P1", np.concatenate(groups), suffix=".jpg")
    # Red rises to the right, green downwards: where a crop comes from can be read off it.
    ramp = pyvips.Image.xyz(HUGE, HUGE) * (255 / HUGE)
    image = tmp_path / "val/images/P1.jpg"
    ramp.bandjoin(0).cast("uchar").copy(interpretation="srgb").jpegsave(str(image), Q=75)
    code = f"""
from dota_crops import DotaRecipe, generate
from ivl_shards import open_dataset
recipe = DotaRecipe((3, 4), 60, effort=8, smallest=3, largest=2_000)
generate(recipe, {str(tmp_path / "a.h5")!r}, root={str(tmp_path)!r}, workers=1)
# The peak of this program alone; what getrusage tells includes the process that started it.
status = open("/proc/self/status").read()
print(int(status.split("VmHWM:")[1].split()[0]) // 1024)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < MOST_MEGABYTES
    dataset = open_dataset(tmp_path / "a.h5")
    assert {int(sample["window"][1]) // 9_000 for sample in dataset} == {0, 1, 2}
    for sample in dataset:
        x0, y0, x1, y1 = sample["window"] * (255 / HUGE)
        red, green, blue = sample.image.mean((0, 1))
        assert abs(red - (x0 + x1) / 2) < 2 and abs(green - (y0 + y1) / 2) < 2 and blue < 2

"""Planes: what training changes in a crop does not touch what is counted."""

import numpy as np
import pytest
import torch

from benchmark.models import build_model
from benchmark.models.counting_encoders import PhotoEncoder, even
from benchmark.presets import training_for
from benchmark.tasks import find_task
from benchmark.tasks.dota_planes import _SMALLEST, add_clutter, augment

CENTRES = np.array([[20.5, 30.5], [64.5, 70.5], [100.5, 25.5]], np.float32)
SIZES = np.array([12.0, 9.0, 16.0], np.float32)


def crop() -> np.ndarray:
    """Grey ground with a blue disc for each plane, half as wide as its size."""
    y, x = np.mgrid[:128, :128] + 0.5
    image = np.full((128, 128, 3), 90, np.uint8)
    for (cx, cy), size in zip(CENTRES, SIZES, strict=True):
        image[np.hypot(x - cx, y - cy) < size / 4] = (0, 0, 255)
    return image


@pytest.mark.parametrize("seed", range(40))
def test_centres_move_with_their_planes(seed: int) -> None:
    changed, moved = augment(crop(), CENTRES, SIZES, np.random.default_rng(seed))
    assert changed.shape == (128, 128, 3) and changed.dtype == np.uint8
    assert (moved > 0).all() and (moved < 128).all()
    y, x = np.mgrid[:128, :128] + 0.5
    tint = changed[..., 2].astype(float) - changed[..., 0]
    if tint.max() < 20:
        return  # a photograph without colours
    for cx, cy in moved:
        near = np.hypot(x - cx, y - cy) < 12
        weight = np.clip(tint, 0, None) * near
        found = (weight * x).sum() / weight.sum(), (weight * y).sum() / weight.sum()
        assert np.hypot(found[0] - cx, found[1] - cy) < 1.5


def test_no_plane_becomes_too_small_to_be_tested_on() -> None:
    """Beyond what turning the crop takes, which must stay in the image."""
    apart = np.hypot(*(CENTRES[0] - CENTRES[1]))
    shrunk = []
    for seed in range(60):
        _, moved = augment(crop(), CENTRES, SIZES, np.random.default_rng(seed))
        shrunk.append(np.hypot(*(moved[0] - moved[1])) / apart)
    assert min(shrunk) * SIZES.min() >= min(_SMALLEST, SIZES.min() / np.sqrt(2)) - 1e-3
    assert max(shrunk) <= 1 + 1e-6


@pytest.mark.parametrize("seed", range(40))
def test_clutter_keeps_off_the_planes(seed: int) -> None:
    image = crop()
    cluttered = add_clutter(image, CENTRES, SIZES, np.random.default_rng(seed))
    y, x = np.mgrid[:128, :128] + 0.5
    for (cx, cy), size in zip(CENTRES, SIZES, strict=True):
        there = np.hypot(x - cx, y - cy) < size
        assert np.array_equal(cluttered[there], image[there])


def test_the_encoder_sees_the_same_whatever_else_there_is() -> None:
    """What is far away does not change what is seen here, if mean and contrast stay."""
    torch.manual_seed(0)
    encoder = PhotoEncoder(3, 16).eval()
    small = torch.rand(1, 3, 256, 256)
    seen, more = encoder(small), encoder(torch.cat([small, small.flip(2)], 2))
    assert seen.shape == (1, 16, 64, 64)
    assert torch.allclose(seen[:, :, :20], more[:, :, :20], atol=1e-5)


@pytest.mark.parametrize("size", [(128, 128), (101, 67)])
def test_a_counter_of_planes_takes_any_size(size: tuple[int, int]) -> None:
    task = find_task("dota-planes")
    options = training_for(task, "inductive", "fast").model
    model = build_model("inductive", task, "fast", options).eval()
    step = model.step(model.encode(torch.rand(1, 3, *size)), torch.zeros(1, *size))
    assert step.delta.shape == (1, *size)


def test_a_mirrored_image_is_seen_mirrored() -> None:
    torch.manual_seed(0)
    task = find_task("dota-planes")
    options = training_for(task, "inductive", "fast").model
    model = build_model("inductive", task, "fast", options).eval()
    image, memory = torch.rand(1, 3, 64, 48), torch.rand(1, 64, 48)
    seen = model.step(model.encode(image), memory).delta
    mirrored = model.step(model.encode(image.flip(3)), memory.flip(2)).delta
    assert torch.allclose(mirrored.flip(2), seen, atol=1e-5)


def test_a_dark_photograph_is_seen_as_a_bright_one() -> None:
    image = torch.rand(1, 3, 32, 32)
    assert torch.allclose(even(0.2 * image), even(image), atol=0.02)
    assert bool(even(torch.full((1, 3, 32, 32), 0.4)).isfinite().all())

"""Planes: what training changes in a crop does not touch what is counted."""

import numpy as np
import pytest
import torch
from torch.nn.functional import avg_pool2d, max_pool2d

from benchmark.data.augmentation import (
    MAX_PLANES,
    MIN_SIZE,
    Scene,
    add_clutter,
    augment_planes,
    distort_tones,
    erase_planes,
    paste_patch,
    random_affine,
    recolour_planes,
)
from benchmark.models.build import build_model
from benchmark.models.contract import Model
from benchmark.models.counting_encoders import PhotoEncoder, local_contrast, standardise
from benchmark.models.equivariant import EquivariantNorm
from benchmark.models.peaks import draw_peaks
from benchmark.models.photo_counter import lowest_counted, rescale_memory
from benchmark.registry import find_task, find_training

CENTRES = np.array([[20.5, 30.5], [64.5, 70.5], [100.5, 25.5]], np.float32)
SIZES = np.array([12.0, 9.0, 16.0], np.float32)


def crop() -> np.ndarray:
    """Grey ground with a blue disc for each plane, half as wide as its size."""
    y, x = np.mgrid[:128, :128] + 0.5
    image = np.full((128, 128, 3), 90, np.uint8)
    for (cx, cy), size in zip(CENTRES, SIZES, strict=True):
        image[np.hypot(x - cx, y - cy) < size / 4] = (0, 0, 255)
    return image


SCENE = Scene(crop(), CENTRES, SIZES)


def away(scene: Scene) -> np.ndarray:
    """How far each pixel is from each plane, in sizes of it, (planes, H, W)."""
    y, x = np.mgrid[:128, :128] + 0.5
    cx, cy = scene.centres.T[..., None, None]
    return np.hypot(x - cx, y - cy) / scene.sizes[:, None, None]


def blue(image: np.ndarray) -> np.ndarray:
    return image[..., 2].astype(float) - image[..., 0]


def found(image: np.ndarray, near: np.ndarray) -> np.ndarray:
    """The middle of what is blue there."""
    y, x = np.mgrid[:128, :128] + 0.5
    weight = blue(image).clip(0) * near
    return np.array([(weight * x).sum(), (weight * y).sum()]) / weight.sum()


@pytest.mark.parametrize("seed", range(40))
def test_centres_move_with_their_planes(seed: int) -> None:
    ground = np.full((128, 128, 3), 60, np.uint8) if seed % 2 else None
    moved = random_affine(SCENE, ground, np.random.default_rng(seed))
    assert moved.image.shape == (128, 128, 3) and moved.image.dtype == np.uint8
    assert (moved.centres > 0).all() and (moved.centres < 128).all()
    assert (moved.sizes <= SIZES).all()
    for centre, near in zip(moved.centres, away(moved) < 0.7, strict=True):
        assert np.hypot(*(found(moved.image, near) - centre)) < 0.5


def test_a_smaller_crop_lies_on_the_ground_it_is_given() -> None:
    ground = np.full((128, 128, 3), (200, 40, 40), np.uint8)
    seen = [random_affine(SCENE, ground.copy(), np.random.default_rng(k)).image for k in range(20)]
    assert any((image == ground).all(2).mean() > 0.2 for image in seen)


def test_planes_are_repainted_and_nothing_else() -> None:
    image, other = crop(), False
    far = (away(SCENE) > 1.2).all(0)
    for seed in range(20):
        painted = recolour_planes(SCENE, np.random.default_rng(seed))
        assert np.array_equal(painted[far], image[far])
        assert (painted[30, 20] != image[30, 20]).any()
        other |= bool(painted[30, 20, 0] > 90)  # the other way round: redder than the ground
    assert other


def test_planes_are_erased() -> None:
    assert blue(SCENE.image).max() == 255
    assert blue(erase_planes(SCENE)).max() < 5


@pytest.mark.parametrize("seed", range(60))
def test_pieces_of_another_crop_bring_their_planes_or_none(seed: int) -> None:
    """Every blue disc of the other crop that is laid here is a plane, with its centre and size;
    those that are here already stay as they are."""
    plain = Scene(np.full((128, 128, 3), 120, np.uint8), CENTRES[:1], SIZES[:1])
    rng, scene = np.random.default_rng(seed), plain
    for _ in range(6):
        scene = paste_patch(scene, SCENE, rng)
    assert 1 <= len(scene.centres) == len(scene.sizes) <= MAX_PLANES
    assert np.array_equal(scene.centres[0], CENTRES[0])
    near = away(scene)
    assert (scene.image[near[0] < 0.75] == 120).all()
    for centre, there in zip(scene.centres[1:], near[1:], strict=True):
        assert np.hypot(*(found(scene.image, there < 0.6) - centre)) < 0.5
    elsewhere = (near[1:] > 0.4).all(0)
    assert blue(scene.image)[elsewhere].max() < 60


def test_planes_are_borrowed_at_all() -> None:
    scene, rng = SCENE, np.random.default_rng(0)
    for _ in range(20):
        scene = paste_patch(scene, SCENE, rng)
    assert len(scene.centres) == MAX_PLANES


@pytest.mark.parametrize("seed", range(20))
def test_other_film_loses_no_plane(seed: int) -> None:
    """What is seen in a crop is still there: darker than its ground, if it was."""
    image = crop()
    image[30:36, 17:24] = 10
    seen = distort_tones(image, np.random.default_rng(seed)).astype(float).mean(2)
    assert seen[31:35, 19:22].mean() < seen[20:45, 5:40].mean() - 0.5 * seen[20:45, 5:40].std()


def test_no_plane_becomes_too_small_to_be_tested_on() -> None:
    """Beyond what turning the crop takes, which must stay in the image."""
    scenes = [augment_planes(SCENE, SCENE, np.random.default_rng(seed)) for seed in range(60)]
    smallest = min(float(scene.sizes.min()) for scene in scenes)
    assert smallest >= min(MIN_SIZE, SIZES.min() / np.sqrt(2)) - 1e-3


@pytest.mark.parametrize("seed", range(40))
def test_clutter_keeps_off_the_planes(seed: int) -> None:
    cluttered = add_clutter(SCENE, np.random.default_rng(seed))
    there = (away(SCENE) < 1).any(0)
    assert np.array_equal(cluttered[there], SCENE.image[there])


@pytest.mark.parametrize(("alone", "off"), [(False, 1e-5), (True, 3e-3)])
def test_the_encoder_sees_the_same_whatever_else_there_is(alone: bool, off: float) -> None:
    """What is far away does not change what is seen here, if mean and contrast stay; only fields
    that are normalised by the image alone know its edges, and what lies behind them, a little."""
    torch.manual_seed(0)
    encoder = PhotoEncoder(3, (2, 2, 3)).eval()
    if not alone:
        for unit in (encoder.near[1], encoder.middle[1], encoder.middle[2]):
            unit.norm1 = EquivariantNorm(2).eval()
    small = torch.rand(1, 3, 256, 256)
    with torch.no_grad():
        seen, more = encoder(small), encoder(torch.cat([small, small.flip(2)], 2))
    assert seen.shape == (1, 16, 64, 64) and float(seen.std()) > 0.03
    assert torch.allclose(seen[:, :, :20], more[:, :, :20], rtol=0, atol=off)


def untrained() -> Model:
    """The counter of planes, as it begins."""
    task = find_task("dota-planes")
    options = find_training(task, "inductive", "fast").model
    return build_model("inductive", task, "fast", options).eval()


@pytest.mark.parametrize("size", [(128, 128), (101, 67)])
def test_a_counter_of_planes_takes_any_size(size: tuple[int, int]) -> None:
    model = untrained()
    step = model.step(model.encode(torch.rand(1, 3, *size)), torch.zeros(1, *size))
    assert step.delta.shape == (1, *size)


def test_a_mirrored_image_is_seen_mirrored() -> None:
    torch.manual_seed(0)
    model = untrained()
    image, memory = torch.rand(1, 3, 64, 48), torch.rand(1, 64, 48)
    seen = model.step(model.encode(image), memory).delta
    mirrored = model.step(model.encode(image.flip(3)), memory.flip(2)).delta
    assert torch.allclose(mirrored.flip(2), seen, atol=1e-5)
    turned = model.step(model.encode(image.mT), memory.mT).delta
    assert torch.allclose(turned.mT, seen, atol=1e-5)


def test_a_dark_photograph_is_seen_as_a_bright_one() -> None:
    image = torch.rand(1, 3, 32, 32)
    assert torch.allclose(standardise(0.2 * image), standardise(image), atol=0.02)
    assert bool(standardise(torch.full((1, 3, 32, 32), 0.4)).isfinite().all())


def test_a_faint_square_stands_out_as_a_clear_one_does() -> None:
    torch.manual_seed(0)
    image = 0.5 + 0.02 * torch.randn(1, 3, 64, 128)
    image[:, :, 28:36, 28:36] += 0.4
    faint = 0.5 + (image - 0.5) / 4
    there, faintly = local_contrast(image), local_contrast(faint)
    assert faintly[0, 0, 28:36, 28:36].mean() > 0.7 * there[0, 0, 28:36, 28:36].mean()


def test_the_lowest_that_was_counted_is_that_of_the_marks() -> None:
    """However high what is left is, and whatever the marks' places between the cells."""
    centres = torch.tensor([[[20.3, 30.8], [29.0, 31.0], [50.5, 12.2]]])
    sigmas, size = torch.tensor([2.5]), (48, 64)
    heights = torch.tensor([[0.9, 0.6, 0.2]])
    first = avg_pool2d(draw_peaks(centres, heights, sigmas, size)[:, None], 2)[:, 0]
    for counted, lowest in (([], 0.0), ([0], 0.9), ([0, 1], 0.6), ([0, 1, 2], 0.2)):
        shown = torch.tensor([[float(k in counted) for k in range(3)]])
        memory = draw_peaks(centres, shown, sigmas, size)
        heights, number = lowest_counted(first, memory)
        assert float(heights[0]) == pytest.approx(lowest, rel=0.15)
        assert int(number[0]) == len(counted)


@pytest.mark.parametrize("place", [16.0, 16.5, 17.0, 17.3])
def test_a_mark_is_one_wherever_it_lies(place: float) -> None:
    """On the edge between two cells as well, where both are equally high."""
    memory = draw_peaks(
        torch.tensor([[[place, 20.0]]]), torch.ones(1, 1), torch.tensor([2.5]), (48, 64)
    )
    assert int(lowest_counted(torch.ones(1, 24, 32), memory)[1][0]) == 1


@pytest.mark.parametrize("scale", [0.75, 1.0, 1.25])
def test_marks_are_as_wide_in_every_scale(scale: float) -> None:
    """A counter knows them in one width only, however large it sees an image."""
    centres, shown = torch.tensor([[[20.0, 30.0], [44.0, 16.0]]]), torch.ones(1, 2)
    sigmas, size = torch.tensor([2.5]), (round(48 * scale), round(64 * scale))
    seen = rescale_memory(draw_peaks(centres, shown, sigmas, (48, 64)), scale, size)
    wanted = draw_peaks(scale * centres, shown, sigmas, size)
    assert float((seen - wanted).abs().max()) < 0.1


def test_a_crop_is_seen_in_several_scales() -> None:
    """Each of them has its say in what is found."""
    torch.manual_seed(0)
    model = untrained()
    image, memory = torch.rand(1, 3, 64, 48), torch.zeros(1, 64, 48)
    found = []
    for scales in ((0.8,), (1.0,), (0.8, 1.0)):
        model.scales = scales
        found.append(model.step(model.encode(image), memory).delta.logit())
    assert not torch.allclose(found[0], found[1], atol=1e-3)
    assert torch.allclose((found[0] + found[1]) / 2, found[2], atol=2e-2)


_ROW = [0.5] * 5


@pytest.mark.parametrize(
    ("heights", "count"),
    [
        ([0.9, 0.8, 0.36], 2),
        ([0.6, 0.5, 0.36], 3),
        ([0.5, 0.4, 0.25], 2),
        ([0.2, 0.1, 0.1], 0),
        # As many as in training, and beyond: less is enough.
        ([*_ROW[1:], 0.28], 4),
        ([*_ROW, 0.28], 6),
        ([*_ROW, 0.28, 0.22], 6),
        ([*_ROW, 0.22], 5),
    ],
)
def test_counting_ends_where_certainty_drops(
    heights: list[float], count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether a peak is a plane depends on how high those counted were in the same photograph."""
    places = [[16.0, 16], [48, 16], [32, 48], [16, 32], [48, 32], [16, 48], [48, 48]]
    centres, sigmas = torch.tensor([places[: len(heights)]]), torch.tensor([2.5])
    model = untrained()

    def maps(seen: torch.Tensor, memory: torch.Tensor) -> torch.Tensor:
        left = [
            h * (memory[0, int(y), int(x)] < 0.5)
            for h, (x, y) in zip(heights, centres[0], strict=True)
        ]
        peaks = draw_peaks(centres, torch.tensor([left]), sigmas, (64, 64))
        return max_pool2d(peaks, 2).logit(eps=1e-6)

    monkeypatch.setattr(model, "maps", maps)
    model.scales, model.thresholds = (1.0,), ((0.5, 0.3), (0.4, 0.25))
    assert model.predict(torch.rand(1, 3, 64, 64)) == [count]

"""Planes: augmentation keeps the count right, and the photo counter's features and thresholds."""

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
from benchmark.models.photo_counter import PhotoCounter, lowest_counted, rescale_memory
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


def distances(scene: Scene) -> np.ndarray:
    """Return the distance of each pixel from each plane over the plane's size, (planes, H, W)."""
    y, x = np.mgrid[:128, :128] + 0.5
    cx, cy = scene.centres.T[..., None, None]
    return np.hypot(x - cx, y - cy) / scene.sizes[:, None, None]


def blue(image: np.ndarray) -> np.ndarray:
    return image[..., 2].astype(float) - image[..., 0]


def found(image: np.ndarray, near: np.ndarray) -> np.ndarray:
    """Return the centre of the blue pixels in a region."""
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
    for centre, near in zip(moved.centres, distances(moved) < 0.7, strict=True):
        assert np.hypot(*(found(moved.image, near) - centre)) < 0.5


def test_a_smaller_crop_is_placed_on_the_given_ground() -> None:
    ground = np.full((128, 128, 3), (200, 40, 40), np.uint8)
    images = [
        random_affine(SCENE, ground.copy(), np.random.default_rng(k)).image for k in range(20)
    ]
    assert any((image == ground).all(2).mean() > 0.2 for image in images)


def test_planes_are_recoloured_and_nothing_else() -> None:
    image, inverted = crop(), False
    far = (distances(SCENE) > 1.2).all(0)
    for seed in range(20):
        recoloured = recolour_planes(SCENE, np.random.default_rng(seed))
        assert np.array_equal(recoloured[far], image[far])
        assert (recoloured[30, 20] != image[30, 20]).any()
        inverted |= bool(recoloured[30, 20, 0] > 90)  # redder than the ground
    assert inverted


def test_planes_are_erased() -> None:
    assert blue(SCENE.image).max() == 255
    assert blue(erase_planes(SCENE)).max() < 5


@pytest.mark.parametrize("seed", range(60))
def test_every_plane_of_a_pasted_patch_is_counted(seed: int) -> None:
    """Every blue disc that is pasted is a plane with its centre and size; the planes of the crop
    itself are not changed."""
    plain = Scene(np.full((128, 128, 3), 120, np.uint8), CENTRES[:1], SIZES[:1])
    rng, scene = np.random.default_rng(seed), plain
    for _ in range(6):
        scene = paste_patch(scene, SCENE, rng)
    assert 1 <= len(scene.centres) == len(scene.sizes) <= MAX_PLANES
    assert np.array_equal(scene.centres[0], CENTRES[0])
    near = distances(scene)
    assert (scene.image[near[0] < 0.75] == 120).all()
    for centre, distance in zip(scene.centres[1:], near[1:], strict=True):
        assert np.hypot(*(found(scene.image, distance < 0.6) - centre)) < 0.5
    elsewhere = (near[1:] > 0.4).all(0)
    assert blue(scene.image)[elsewhere].max() < 60


def test_planes_are_pasted_up_to_the_maximum() -> None:
    scene, rng = SCENE, np.random.default_rng(0)
    for _ in range(20):
        scene = paste_patch(scene, SCENE, rng)
    assert len(scene.centres) == MAX_PLANES


@pytest.mark.parametrize("seed", range(20))
def test_a_dark_plane_stays_visible_when_tones_are_distorted(seed: int) -> None:
    image = crop()
    image[30:36, 17:24] = 10
    grey = distort_tones(image, np.random.default_rng(seed)).astype(float).mean(2)
    assert grey[31:35, 19:22].mean() < grey[20:45, 5:40].mean() - 0.5 * grey[20:45, 5:40].std()


def test_no_plane_becomes_smaller_than_those_of_the_test_set() -> None:
    """Except by rotation: a rotated crop must still fit into the image."""
    scenes = [augment_planes(SCENE, SCENE, np.random.default_rng(seed)) for seed in range(60)]
    smallest = min(float(scene.sizes.min()) for scene in scenes)
    assert smallest >= min(MIN_SIZE, SIZES.min() / np.sqrt(2)) - 1e-3


@pytest.mark.parametrize("seed", range(40))
def test_clutter_keeps_off_the_planes(seed: int) -> None:
    cluttered = add_clutter(SCENE, np.random.default_rng(seed))
    near = (distances(SCENE) < 1).any(0)
    assert np.array_equal(cluttered[near], SCENE.image[near])


@pytest.mark.parametrize(("instance_norm", "tolerance"), [(False, 1e-5), (True, 3e-3)])
def test_features_do_not_depend_on_what_is_far_away(instance_norm: bool, tolerance: float) -> None:
    """As long as mean and contrast of the image stay; fields with instance normalisation depend on
    the rest of the image a little."""
    torch.manual_seed(0)
    encoder = PhotoEncoder(3, (2, 2, 3)).eval()
    if not instance_norm:
        for unit in (encoder.near[1], encoder.middle[1], encoder.middle[2]):
            unit.norm1 = EquivariantNorm(2).eval()
    small = torch.rand(1, 3, 256, 256)
    with torch.no_grad():
        features, more = encoder(small), encoder(torch.cat([small, small.flip(2)], 2))
    assert features.shape == (1, 16, 64, 64) and float(features.std()) > 0.03
    assert torch.allclose(features[:, :, :20], more[:, :, :20], rtol=0, atol=tolerance)


def untrained() -> Model:
    """Build the counter of planes with its initial weights."""
    task = find_task("dota-planes")
    options = find_training(task, "inductive", "fast").model
    return build_model("inductive", task, "fast", options).eval()


@pytest.mark.parametrize("size", [(128, 128), (101, 67)])
def test_a_counter_of_planes_takes_any_size(size: tuple[int, int]) -> None:
    model = untrained()
    step = model.step(model.encode(torch.rand(1, 3, *size)), torch.zeros(1, *size))
    assert step.delta.shape == (1, *size)


def test_a_counter_of_planes_is_equivariant() -> None:
    torch.manual_seed(0)
    model = untrained()
    image, memory = torch.rand(1, 3, 64, 48), torch.rand(1, 64, 48)
    delta = model.step(model.encode(image), memory).delta
    mirrored = model.step(model.encode(image.flip(3)), memory.flip(2)).delta
    assert torch.allclose(mirrored.flip(2), delta, atol=1e-5)
    transposed = model.step(model.encode(image.mT), memory.mT).delta
    assert torch.allclose(transposed.mT, delta, atol=1e-5)


def test_a_dark_photograph_is_normalised_to_a_bright_one() -> None:
    image = torch.rand(1, 3, 32, 32)
    assert torch.allclose(standardise(0.2 * image), standardise(image), atol=0.02)
    assert bool(standardise(torch.full((1, 3, 32, 32), 0.4)).isfinite().all())


def test_a_faint_square_stands_out_like_a_clear_one() -> None:
    torch.manual_seed(0)
    image = 0.5 + 0.02 * torch.randn(1, 3, 64, 128)
    image[:, :, 28:36, 28:36] += 0.4
    faint = 0.5 + (image - 0.5) / 4
    clear, weak = (local_contrast(each)[0, 0, 28:36, 28:36].mean() for each in (image, faint))
    assert weak > 0.7 * clear


def test_the_lowest_peak_counted_is_one_of_those_in_the_memory() -> None:
    """Whatever the heights of the remaining peaks, and wherever the peaks are between cells."""
    centres = torch.tensor([[[20.3, 30.8], [29.0, 31.0], [50.5, 12.2]]])
    sigmas, size = torch.tensor([2.5]), (48, 64)
    heights = torch.tensor([[0.9, 0.6, 0.2]])
    first = avg_pool2d(draw_peaks(centres, heights, sigmas, size)[:, None], 2)[:, 0]
    for counted, lowest in (([], 0.0), ([0], 0.9), ([0, 1], 0.6), ([0, 1, 2], 0.2)):
        drawn = torch.tensor([[float(k in counted) for k in range(3)]])
        memory = draw_peaks(centres, drawn, sigmas, size)
        assert float(lowest_counted(first, memory)[0]) == pytest.approx(lowest, rel=0.15)


@pytest.mark.parametrize("scale", [0.75, 1.0, 1.25])
def test_peaks_of_the_memory_have_the_same_width_at_every_scale(scale: float) -> None:
    """Because a counter is trained with one width only."""
    centres, drawn = torch.tensor([[[20.0, 30.0], [44.0, 16.0]]]), torch.ones(1, 2)
    sigmas, size = torch.tensor([2.5]), (round(48 * scale), round(64 * scale))
    memory = rescale_memory(draw_peaks(centres, drawn, sigmas, (48, 64)), scale, size)
    expected = draw_peaks(scale * centres, drawn, sigmas, size)
    assert float((memory - expected).abs().max()) < 0.1


def test_predictions_are_averaged_over_the_scales() -> None:
    torch.manual_seed(0)
    model = untrained()
    image, memory = torch.rand(1, 3, 64, 48), torch.zeros(1, 64, 48)
    deltas = []
    for scales in ((0.8,), (1.0,), (0.8, 1.0)):
        model.scales = scales
        deltas.append(model.step(model.encode(image), memory).delta.logit())
    assert not torch.allclose(deltas[0], deltas[1], atol=1e-3)
    assert torch.allclose((deltas[0] + deltas[1]) / 2, deltas[2], atol=2e-2)


_ROW = [0.5] * 5


@pytest.mark.parametrize(
    ("heights", "count"),
    [
        ([0.9, 0.8, 0.36], 2),
        ([0.6, 0.5, 0.36], 3),
        ([0.5, 0.4, 0.25], 2),
        ([0.2, 0.1, 0.1], 0),
        # The same at any step, also beyond the numbers of training.
        ([*_ROW[1:], 0.32], 5),
        ([*_ROW, 0.32], 6),
        ([*_ROW, 0.28], 5),
    ],
)
def test_counting_ends_where_confidence_drops(heights: list[float], count: int) -> None:
    """Whether a peak is a plane depends on the heights of those counted in the same photograph."""
    points = [[16.0, 16], [48, 16], [32, 48], [16, 32], [48, 32], [16, 48], [48, 48]]
    centres, sigmas = torch.tensor([points[: len(heights)]]), torch.tensor([2.5])

    class FixedPeaks(PhotoCounter):
        """A counter that finds peaks of the given heights, except those in the memory."""

        def maps(self, encoded: torch.Tensor, memory: torch.Tensor) -> torch.Tensor:
            left = [
                h * (memory[0, int(y), int(x)] < 0.5)
                for h, (x, y) in zip(heights, centres[0], strict=True)
            ]
            peaks = draw_peaks(centres, torch.tensor([left]), sigmas, (64, 64))
            return max_pool2d(peaks, 2).logit(eps=1e-6)

    model = FixedPeaks(3, fields=(2, 2, 2), step=1, reach=1).eval()
    model.scales, model.thresholds = (1.0,), (0.5, 0.3)
    assert model.predict(torch.rand(1, 3, 64, 64)) == [count]

"""Drawn planes: they are where they are said to be, as large, and harm nothing else."""

import numpy as np
import pytest

from benchmark.tasks.aerial import _MOST, _SMALLEST, Scene, draw
from benchmark.tasks.drawn import KINDS, REACH, lay_plane, polygons

GROUND = np.full((128, 128, 3), (120, 110, 90), np.uint8)
MIDDLE = np.array([60.3, 70.8])
Y, X = np.mgrid[:128, :128] + 0.5


def changed(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    return np.abs(after.astype(float) - before).max(2)


@pytest.mark.parametrize("seed", range(30))
def test_a_plane_is_as_large_as_it_is_said_to_be(seed: int) -> None:
    corners = np.concatenate(polygons(np.random.default_rng(seed)))
    span, length = np.ptp(corners, axis=0)
    assert np.sqrt(span * length) == pytest.approx(1, abs=0.15)
    assert np.allclose(np.sort(corners[:, 0]), np.sort(-corners[:, 0]))  # both sides are alike


@pytest.mark.parametrize("seed", range(30))
def test_a_plane_is_drawn_in_its_place_and_nothing_elsewhere(seed: int) -> None:
    difference = changed(GROUND, lay_plane(GROUND, MIDDLE, 20.0, np.random.default_rng(seed)))
    away = np.maximum(abs(X - MIDDLE[0]), abs(Y - MIDDLE[1]))
    assert difference[away > REACH * 20 + 1].max() == 0
    seen = difference > 12
    assert seen.sum() > 0.1 * 20**2
    middle = np.array([X[seen].mean(), Y[seen].mean()])
    assert np.hypot(*(middle - MIDDLE)) < 0.25 * 20


def test_a_plane_at_the_edge_is_cut_there() -> None:
    image = lay_plane(GROUND, np.array([3.0, 125.0]), 30.0, np.random.default_rng(0))
    assert image.shape == GROUND.shape and (image != GROUND).any()


@pytest.mark.parametrize("seed", range(20))
def test_in_a_grey_photograph_planes_are_grey(seed: int) -> None:
    grey = np.full((64, 64, 3), 70, np.uint8)
    image = lay_plane(grey, np.array([32.0, 32.0]), 20.0, np.random.default_rng(seed))
    assert np.ptp(image, axis=2).max() <= 1


def test_every_plane_is_of_one_of_the_kinds() -> None:
    assert sum(kind.share for kind in KINDS) == pytest.approx(1)


@pytest.mark.parametrize("seed", range(30))
def test_drawn_planes_join_those_that_are_there(seed: int) -> None:
    """Each has a centre and a size, is whole, keeps off the others, and there are never more than
    training may have."""
    rng = np.random.default_rng(seed)
    scene = Scene(GROUND, np.array([[30.0, 30.0]], np.float32), np.array([14.0], np.float32))
    for _ in range(12):
        drawn = draw(scene, rng)
        if len(drawn.centres) == len(scene.centres):
            assert drawn is scene
            continue
        difference = changed(scene.image, drawn.image)
        (x, y), size = drawn.centres[-1], drawn.sizes[-1]
        assert size >= _SMALLEST and 0.7 * size < min(x, y, 128 - x, 128 - y)
        assert difference[int(y) - 3 : int(y) + 4, int(x) - 3 : int(x) + 4].max() > 12
        for (ox, oy), other in zip(scene.centres, scene.sizes, strict=True):
            away = np.hypot(X - ox, Y - oy)
            assert difference[away < 0.4 * other].max() == 0
        scene = drawn
    assert 1 < len(scene.centres) == len(scene.sizes) <= _MOST

"""Coloured shapes: the count is never in doubt."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ivl_shards import Sample, UserError
from shapes_gen import COLOURED, ColouredRecipe
from shapes_gen.coloured.layout import distance

VISIBLE = 0.8


def samples(recipe: ColouredRecipe):
    make = COLOURED.start(recipe, None)
    return (make(row) for row in range(recipe.total))


def inside(sample: Sample, k: int, margin: float = 1) -> np.ndarray:
    """Pixels so far within the ideal shape, from the labels alone, (H, W) bool."""
    x0, y0, x1, y1 = (float(v) for v in sample["box"][k])
    height, width = sample.image.shape[:2]
    y, x = np.mgrid[:height, :width] + 0.5
    if sample["kind"][k] == 0:
        return (x - (x0 + x1) / 2) ** 2 + (y - (y0 + y1) / 2) ** 2 < ((x1 - x0) / 2 - margin) ** 2
    if sample["kind"][k] == 2:
        across, down = (x > x0 + margin) & (x < x1 - margin), (y > y0 + margin) & (y < y1 - margin)
        return across & down
    from_axis = np.abs(x - (x0 + x1) / 2) / ((x1 - x0) / 2)
    return (y < y1 - margin) & (from_axis < (y - y0 - 3 * margin) / (y1 - y0))


@settings(max_examples=60)
@given(st.integers(0, 2**31), st.integers(0, 30))
@example(7251413, 26)  # has a triangle of 20 pixels
def test_every_object_is_there_seen_and_told_apart(seed: int, count: int) -> None:
    sample = next(samples(ColouredRecipe(counts=(count,), total=1, seed=seed)))
    assert len(sample["centres"]) == len(sample["kind"]) == len(sample["box"]) == count
    ground = tuple(int(v) for v in sample.image[0, 0])  # shapes keep off the edge
    for k in range(count):
        x0, y0, x1, y1 = sample["box"][k]
        assert 0 <= x0 < x1 <= 128 and 0 <= y0 < y1 <= 128  # noqa: PT018
        body = inside(sample, k)
        assert body.sum() >= 20  # the smallest triangle, however it lies on the pixel grid
        own = (sample.image[body] == sample["colour"][k]).all(axis=1)
        assert own.mean() >= VISIBLE, "hidden, or not the colour it is labelled with"
        assert distance(tuple(int(c) for c in sample["colour"][k]), ground) >= 150
    for a in range(count):
        for b in range(a):
            apart = np.linalg.norm(sample["centres"][a] - sample["centres"][b])
            assert apart > 4 * float(sample["sigma"]), "their peaks in the memory merge"


def test_boxes_and_areas_are_those_of_what_is_painted() -> None:
    """One shape alone: how much of each pixel it covers follows from the mix of two colours."""
    area_of = {0: lambda w, h: np.pi * w * h / 4, 1: lambda w, h: w * h / 2, 2: lambda w, h: w * h}
    for sample in samples(ColouredRecipe(counts=(1,), total=150)):
        image, ground = sample.image.astype(float), sample.image[0, 0].astype(float)
        toward = sample["colour"][0] - ground
        covered = (image - ground) @ toward / (toward @ toward)  # (H, W), 0 to 1
        x0, y0, x1, y1 = (float(v) for v in sample["box"][0])
        area = area_of[int(sample["kind"][0])](x1 - x0, y1 - y0)
        assert abs(covered.sum() / area - 1) < 0.06
        columns, rows = np.flatnonzero(covered.max(0) > 0.3), np.flatnonzero(covered.max(1) > 0.3)
        assert abs(columns[0] - x0) <= 1.5 and abs(columns[-1] + 1 - x1) <= 1.5  # noqa: PT018
        assert abs(rows[0] - y0) <= 2.5 and abs(rows[-1] + 1 - y1) <= 1.5  # noqa: PT018


def test_shapes_that_touch_differ_in_colour() -> None:
    touching = 0
    for sample in samples(ColouredRecipe(counts=(20,), total=40)):
        image = sample.image.astype(int)
        owner = np.full(image.shape[:2], -1)
        for k in range(20):
            owner[inside(sample, k)] = k
        # Bodies less than three pixels apart: what is between them is the smoothed edge.
        for dy, dx in ((0, 3), (3, 0)):
            a, b = owner[: 128 - dy, : 128 - dx], owner[dy:, dx:]
            meet = (a >= 0) & (b >= 0) & (a != b)
            for i, j in {(int(i), int(j)) for i, j in zip(a[meet], b[meet], strict=True)}:
                touching += 1
                colours = (tuple(int(c) for c in sample["colour"][n]) for n in (i, j))
                assert distance(*colours) >= 150
    assert touching > 20


def test_all_that_can_vary_does() -> None:
    recipe = ColouredRecipe(counts=(5,), total=300)
    found = list(samples(recipe))
    kinds = np.concatenate([s["kind"] for s in found])
    assert np.bincount(kinds, minlength=3).min() > 400  # of 1,500
    centres = np.concatenate([s["centres"] for s in found])
    assert centres.min() < 12
    assert centres.max() > 116
    grounds = {tuple(s.image[0, 0].tolist()) for s in found}
    assert len(grounds) > 290
    widths = np.concatenate([s["box"][:, 2] - s["box"][:, 0] for s in found])
    assert widths.max() > 2 * widths.min()


def test_no_objects_is_a_count_too(make) -> None:
    dataset = make(ColouredRecipe(counts=(0,), total=3))
    assert dataset[0].length == 0
    assert (dataset[0].image == dataset[0].image[0, 0]).all()
    assert not dataset[0].memory(0).any()
    assert dataset[0]["centres"].shape == (0, 2)


def test_a_hundred_fit_at_512(make) -> None:
    dataset = make(ColouredRecipe(counts=(100,), total=4, size=512))
    assert {len(s["centres"]) for s in dataset} == {100}


@pytest.mark.parametrize("size", [32, 50, 128])
def test_the_largest_allowed_number_always_fits(size: int) -> None:
    most = ColouredRecipe(counts=(1,), total=1, size=size).most()
    recipe = ColouredRecipe(counts=(most,), total=25, size=size)
    assert all(len(s["centres"]) == most for s in samples(recipe))
    with pytest.raises(UserError, match=f"at most {most} of radius 7"):
        ColouredRecipe(counts=(most + 1,), total=1, size=size)


def test_shapes_stay_apart_when_asked_to() -> None:
    for sample in samples(ColouredRecipe(counts=(12,), total=20, spacing=1.2)):
        for k in range(12):
            own = (sample.image[inside(sample, k)] == sample["colour"][k]).all(axis=1)
            assert own.mean() > 0.95  # all but a smoothed pixel or two at the edge


@settings(max_examples=60)
@given(st.integers(0, 2**31), st.integers(0, 12))
def test_every_hard_object_is_there_and_visible(seed: int, count: int) -> None:
    sample = next(samples(ColouredRecipe(counts=(count,), total=1, seed=seed, hard=True)))
    assert sample.length == len(sample["centres"]) == len(sample["box"]) == count
    owner = np.full((128, 128), -1)
    for k in range(count):
        owner[inside(sample, k, 0)] = k
    for k in range(count):
        x0, y0, x1, y1 = sample["box"][k]
        assert 0 <= x0 < x1 <= 128 and 0 <= y0 < y1 <= 128  # noqa: PT018
        visible = owner == k
        assert visible.sum() >= 0.7 * inside(sample, k, 0).sum()
        # Shading, stripes and noise change a colour by less than 40; outlines are of another one.
        off = np.abs(sample.image[visible].astype(int) - sample["colour"][k]).max(axis=1)
        assert (off < 40).mean() > 0.1, "not the colour it is labelled with"
    for a in range(count):
        for b in range(a):
            apart = np.linalg.norm(sample["centres"][a] - sample["centres"][b])
            assert apart > 4 * float(sample["sigma"]), "their peaks in the memory merge"


def test_colours_do_not_tell_how_many_hard_objects_there_are() -> None:
    found = list(samples(ColouredRecipe(counts=tuple(range(3, 11)), total=400, hard=True)))
    right = [len(np.unique(s["colour"], axis=0)) == s.length for s in found]
    assert np.mean(right) < 0.1  # even for who knows the true colours


def test_hard_objects_overlap() -> None:
    touched = []
    for sample in samples(ColouredRecipe(counts=(8,), total=40, hard=True)):
        bodies = [inside(sample, k, 0) for k in range(8)]
        touched += [
            any((bodies[k] & bodies[j]).any() for j in range(8) if j != k) for k in range(8)
        ]
    assert np.mean(touched) > 0.15


def test_many_hard_objects_fit_too() -> None:
    most = ColouredRecipe(counts=(1,), total=1).most()
    found = samples(ColouredRecipe(counts=(most,), total=5, hard=True))
    assert {s.length for s in found} == {most}


def test_a_knob_that_was_added_later_is_stored_where_it_is_used() -> None:
    """Recipes of earlier versions stay what they are, so their datasets are not stale."""
    assert "hard" not in ColouredRecipe(counts=(3,), total=1).to_json()
    assert '"hard": true' in ColouredRecipe(counts=(3,), total=1, hard=True).to_json()

"""The memory of every step, against the paper's definition written out naively."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ivl_shards import Sample
from ivl_shards.format.memory import PeakMemory, StepMemory, step_map

SIZE = (24, 32)


@st.composite
def boxes(draw: st.DrawFn) -> list[tuple[int, int, int, int]]:
    """Boxes in the image; they may overlap or cover each other."""
    found = []
    for _ in range(draw(st.integers(0, 6))):
        x0, y0 = draw(st.integers(0, SIZE[1] - 1)), draw(st.integers(0, SIZE[0] - 1))
        found.append(
            (x0, y0, draw(st.integers(x0 + 1, SIZE[1])), draw(st.integers(y0 + 1, SIZE[0])))
        )
    return found


@given(boxes())
def test_one_map_holds_the_union_of_the_first_boxes_at_every_step(found) -> None:
    memory = StepMemory(step_map(found, SIZE), len(found))
    union = np.zeros(SIZE)
    for t in range(len(found) + 1):
        assert np.array_equal(memory.at(t), union)
        if t < len(found):
            x0, y0, x1, y1 = found[t]
            union[y0:y1, x0:x1] = 1
            assert np.array_equal(memory.at(t) + memory.delta(t), union)
    assert not memory.delta(len(found)).any()


def test_a_step_map_holds_more_than_255_lines() -> None:
    found = [(0, y, 2, y + 1) for y in range(300)]
    memory = StepMemory(step_map(found, (300, 2)), 300)
    assert [int(memory.at(t).sum()) for t in (0, 255, 256, 300)] == [0, 510, 512, 600]


def quads(found, by: float = 0.0) -> np.ndarray:
    """Boxes as polygons, (L, 4, 2), moved right and down."""
    corners = [[(x0, y0), (x1, y0), (x1, y1), (x0, y1)] for x0, y0, x1, y1 in found]
    return np.array(corners, float).reshape(-1, 4, 2) + by


@given(boxes())
def test_a_box_is_the_polygon_with_its_corners(found) -> None:
    assert np.array_equal(step_map(quads(found), SIZE), step_map(found, SIZE))


def test_pixel_centres_on_an_edge() -> None:
    """Those on the left and the upper edge are inside, others only of closed polygons."""
    on_centres = quads([(1, 1, 3, 2)], by=0.5)
    assert step_map(on_centres, (4, 5)).tolist()[1] == [0, 1, 1, 0, 0]
    closed = step_map(on_centres, (4, 5), closed=True)
    assert closed.tolist() == [[0] * 5, [0, 1, 1, 1, 0], [0, 1, 1, 1, 0], [0] * 5]


points = st.lists(st.tuples(st.floats(0, SIZE[1]), st.floats(0, SIZE[0])), max_size=5)


@given(points, st.floats(0.5, 6))
def test_peaks_are_the_sum_of_gaussians(centres, sigma: float) -> None:
    memory = PeakMemory(np.array(centres).reshape(-1, 2), sigma, SIZE)
    for t in range(len(centres) + 1):
        seen, left = np.zeros(SIZE), np.zeros(SIZE)
        for k, (cx, cy) in enumerate(centres):
            for r in range(SIZE[0]):
                d2 = (np.arange(SIZE[1]) + 0.5 - cx) ** 2 + (r + 0.5 - cy) ** 2
                (seen if k < t else left)[r] += np.exp(-d2 / (2 * sigma**2))
        assert np.allclose(memory.at(t), seen, atol=1e-5)
        assert np.allclose(memory.delta(t), left, atol=1e-5)


def counting_sample() -> Sample:
    centres = np.array([[4.5, 4.5], [20.5, 8.5], [9.5, 20.5]], np.float32)
    image = np.zeros((*SIZE, 3), np.uint8)
    fields = {"image": image, "centres": centres, "sigma": np.float32(2), "n": np.int32(3)}
    return Sample(fields, "n")


def test_objects_can_be_counted_in_any_order() -> None:
    sample = counting_sample()
    first = sample.memory(1, order=[2, 0, 1])
    assert np.unravel_index(first.argmax(), SIZE) == (20, 9)
    assert np.allclose(sample.memory(3), sample.memory(3, order=[2, 0, 1]))
    with pytest.raises(ValueError, match="once each"):
        sample.memory(1, order=[0, 0, 1])


@pytest.mark.parametrize("t", [-1, 4])
def test_a_step_that_is_not_there_is_an_error(t: int) -> None:
    for ask in (counting_sample().memory, counting_sample().delta):
        with pytest.raises(IndexError, match="0 to 3"):
            ask(t)


def test_lines_have_one_order() -> None:
    fields = {"image": np.zeros(SIZE, np.uint8), "steps": np.zeros(SIZE, np.uint8), "n": 1}
    with pytest.raises(ValueError, match="one order"):
        Sample(fields, "n").memory(0, order=[0])

"""Toy shapes: what is labelled is what can be read."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ivl_shards import Sample, UserError, open_dataset
from shapes_gen import TOY, ColouredRecipe, ToyRecipe, generate, stream
from shapes_gen.toy.render import CLASSES


def sample_of(lines: int, seed: int = 0, row: int = 0, canvas_lines: int | None = None) -> Sample:
    recipe = ToyRecipe(counts=(lines,), total=row + 1, seed=seed, canvas_lines=canvas_lines)
    return TOY.start(recipe, None)(row)


def components(line: np.ndarray) -> list[np.ndarray]:
    """Shapes of a line, left to right: runs of columns that have ink."""
    ink = line.any(axis=0)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], ink.view(np.int8), [0]])))
    shapes = [line[:, a:b] for a, b in zip(edges[::2], edges[1::2], strict=True)]
    return [shape[shape.any(axis=1)] for shape in shapes]


def name(shape: np.ndarray) -> str:
    """What a person would call it."""
    assert shape.shape[0] == shape.shape[1]
    size = "small" if shape.shape[0] < 11 else "large"
    if shape.all():
        return f"{size} square"
    corners = [bool(shape[r, c]) for r in (0, -1) for c in (0, -1)]
    return f"{size} triangle" if corners == [False, False, True, True] else f"{size} circle"


@settings(max_examples=60)
@given(st.integers(0, 2**31), st.integers(1, 25), st.sampled_from([None, 25]))
def test_the_picture_read_by_eye_gives_the_labels(
    seed: int, lines: int, canvas_lines: int | None
) -> None:
    sample = sample_of(lines, seed, canvas_lines=canvas_lines)
    assert len(sample["label"]) == lines
    assert set(np.unique(sample.image)) <= {0, 255}
    covered = np.zeros_like(sample.image)
    last = 0
    for k, (x0, y0, x1, y1) in enumerate(sample["line_box"].tolist()):
        assert last < y0 + 1  # top to bottom, none overlap
        last = y1
        line = sample.image[y0:y1, x0:x1] > 0
        assert [name(s) for s in components(line)] == [CLASSES[c] for c in sample["label"][k]]
        for edge in (line[0], line[-1], line[:, 0], line[:, -1]):
            assert edge.any(), "the box is not tight"
        assert (sample["steps"][y0:y1, x0:x1] == k + 1).all()
        covered[y0:y1, x0:x1] = 1
    assert not sample.image[covered == 0].any(), "ink outside the boxes"
    assert np.array_equal(sample["steps"] > 0, covered > 0)


def test_the_canvas_grows_with_the_lines_and_suits_two_poolings() -> None:
    sizes = [sample_of(n).image.shape for n in (1, 3, 10, 20)]
    assert sizes == [(48, 128), (96, 128), (264, 128), (504, 128)]
    assert all(h % 4 == 0 and w % 4 == 0 for h, w in sizes)


def test_a_fixed_canvas_says_nothing_about_the_lines() -> None:
    assert {sample_of(n, canvas_lines=20).image.shape for n in (1, 3, 20)} == {(504, 128)}
    with pytest.raises(UserError, match="--canvas-lines 2: 3 lines do not fit"):
        sample_of(3, canvas_lines=2)


def test_lines_on_a_fixed_canvas_are_close_or_far_apart_and_anywhere() -> None:
    boxes = np.stack([sample_of(3, row=r, canvas_lines=20)["line_box"] for r in range(300)])
    between = (boxes[:, 1:, 1] - boxes[:, :-1, 3]).ravel()
    assert (between < 10).mean() > 0.2  # as on a full canvas
    assert between.max() > 100
    assert boxes[:, 0, 1].min() < 20
    assert boxes[:, 2, 3].max() > 480


def test_nothing_can_be_read_off_absolute_position() -> None:
    """The same line and shape number stand in many places."""
    boxes = np.stack([sample_of(3, row=r)["line_box"] for r in range(300)])  # (300, 3, 4)
    assert (np.ptp(boxes[:, :, 0], axis=0) >= 20).all()
    assert (np.ptp(boxes[:, :, 1], axis=0) >= 20).all()
    # A row of pixels that is the first line in one image is the second in another.
    assert boxes[:, 0, 1].max() > boxes[:, 1, 1].min()


def test_all_classes_are_equally_frequent() -> None:
    labels = np.concatenate([sample_of(10, row=r)["label"].ravel() for r in range(60)])
    assert np.bincount(labels, minlength=6).min() > 400  # of 3,000


def test_lines_of_other_lengths_and_many_lines(make) -> None:
    dataset = make(ToyRecipe(counts=(1, 300), total=2, per_line=2))
    assert dataset[0]["label"].shape == (1, 2)
    assert dataset[1].length == 300
    assert int(dataset[1]["steps"].max()) == 300


def test_a_block_without_lines_is_refused() -> None:
    with pytest.raises(UserError, match="at least 1"):
        ToyRecipe(counts=(0, 1), total=1)


@pytest.mark.parametrize("recipe", [ToyRecipe((1, 3), 4), ColouredRecipe((3, 4), 4)])
def test_a_stream_is_the_dataset_without_files(tmp_path, recipe) -> None:
    generate(recipe, tmp_path / "data.h5", workers=1)
    for ours, theirs in zip(stream(recipe), open_dataset(tmp_path / "data.h5"), strict=False):
        assert all(np.array_equal(ours[field], theirs[field]) for field in ours)

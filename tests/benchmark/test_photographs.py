"""Photographs: lines of any height are found on a canvas and read at full resolution."""

from pathlib import Path

import cv2
import numpy as np
import pytest
import torch
from torch import Tensor

from benchmark.data.batches import TrainingSet
from benchmark.data.letterbox import letterbox_at_scale
from benchmark.models.inductive_ocr import cut_line
from benchmark.models.line_reader import LineReader
from benchmark.models.pyramid_finder import PyramidFinder
from benchmark.models.step import Step
from benchmark.models.strips import Band, StripShape, band_quads, cut_strips, quad_bands
from benchmark.reading.multi_scale import (
    ReadStep,
    ScaleReading,
    merge_scales,
    read_at_scales,
    read_views,
)
from benchmark.registry import find_task
from benchmark.tasks.task import Split
from commands import assert_one_line
from ivl_shards import open_dataset
from textblocks_gen import TextRecipe, generate

ICDAR = find_task("icdar-blocks")
CANVAS = (320, 448)


class Ruler:
    """A finder of white rows on black: the topmost that is not in the memory is the next."""

    def __init__(self, confidence: float = 1.0) -> None:
        self.confidence = confidence
        self.bands: list[Band] = []

    def encode(self, images: Tensor) -> Tensor:
        return images

    def update(self, memory: Tensor, delta: Tensor) -> Tensor:
        return (memory + delta).clamp(0, 1)

    def find(self, encoded: Tensor, memory: Tensor) -> Step:
        left = (encoded.mean(1) > 0.5) & (memory < 0.5)  # (N, H, W)
        delta, quads = torch.zeros_like(memory), torch.zeros(len(memory), 4, 2)
        for k, lit in enumerate(left):
            rows = torch.nonzero(lit.any(1))[:, 0]
            if not len(rows):
                continue
            top = int(rows[0])
            gaps = torch.nonzero(rows.diff() > 1)[:, 0]
            bottom = int(rows[gaps[0]] if len(gaps) else rows[-1]) + 1
            columns = torch.nonzero(lit[top:bottom].any(0))[:, 0]
            x0, x1 = int(columns[0]), int(columns[-1]) + 1
            delta[k, top:bottom, x0:x1] = 1
            quads[k] = torch.tensor([[x0, top], [x1, top], [x1, bottom], [x0, bottom]])
        stop = (delta.amax((1, 2)) == 0).float()
        return Step(delta, stop, band=quad_bands(quads))

    def read_lines(self, picture: np.ndarray, band: Band) -> list[tuple[str, float]]:
        self.bands.append(band)
        heights = band.heights.mean(1).tolist()
        return [(f"{height:.0f} px" if height > 2 else "", self.confidence) for height in heights]


def bars(*places: tuple[int, int, int, int]) -> np.ndarray:
    picture = np.zeros((1000, 1400, 3), np.uint8)
    for x0, y0, x1, y1 in places:
        picture[y0:y1, x0:x1] = 255
    return picture


def test_lines_found_on_the_canvas_are_read_where_they_are_in_the_picture() -> None:
    places = [(100, 100, 1300, 200), (100, 400, 700, 450), (500, 700, 1300, 950)]
    reading = read_at_scales(Ruler(), bars(*places), CANVAS)
    assert len(reading.lines) == 3
    for line, (x0, y0, x1, y1) in zip(reading.lines, places, strict=True):
        truth = np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]])
        # The canvas has a third of the picture's resolution.
        assert np.abs(line.quad - truth).max() <= 4
        assert abs(int(line.text.split()[0]) - (y1 - y0)) <= 6
    assert reading.steps[-1].stop, "the last step, which finds nothing, is kept"


def test_of_lines_found_at_several_scales_the_most_confident_is_kept() -> None:
    class Shy(Ruler):
        """Confident only in what it found at the second scale."""

        def read_lines(self, picture: np.ndarray, band: Band) -> list[tuple[str, float]]:
            half = len(band.left) // 2
            rows = range(len(band.left))
            return [("far" if row >= half else "near", 0.9 if row >= half else 0.3) for row in rows]

    picture = bars((100, 100, 1300, 200), (100, 500, 700, 600))
    assert read_at_scales(Shy(), picture, CANVAS, (1.0, 0.5)).texts == ["far", "far"]
    merged = read_at_scales(Ruler(), picture, CANVAS, (1.0, 0.5))
    assert len(merged.lines) == 2, "a line found at both scales is kept once"
    assert [line.quad[0, 1] for line in merged.lines] == sorted(q.quad[0, 1] for q in merged.lines)


def test_a_line_that_is_found_at_one_scale_only_is_kept() -> None:
    top, bottom = (np.array([[0, y], [9, y], [9, y + 4], [0, y + 4]], float) for y in (0, 50))
    empty = np.zeros((2, 2))

    def reading(*lines: tuple[np.ndarray, str, float]) -> ScaleReading:
        steps = [ReadStep(empty, empty, empty, False, *line) for line in lines]
        return ScaleReading(letterbox_at_scale(bars(), CANVAS, 1.0), steps, steps)

    merged = merge_scales(
        [reading((top, "one", 0.9)), reading((top, "ome", 0.5), (bottom, "two", 0.4))]
    )
    assert merged.texts == ["one", "two"]


def test_a_picture_without_text_has_no_lines() -> None:
    reading = read_at_scales(Ruler(), bars(), CANVAS, (1.0, 0.5))
    assert reading.lines == [] and reading.texts == []


def test_small_pictures_are_enlarged_four_times_at_most() -> None:
    view = letterbox_at_scale(np.zeros((10, 20, 3), np.uint8), CANVAS, 1.0)
    assert max(view.scale) <= 4
    assert view.pixels.shape == (*CANVAS, 3)


@pytest.mark.parametrize("degrees", [0, 7, -20])
def test_a_line_is_rectified(degrees: float) -> None:
    """Left half red, right half green, however tilted the line is."""
    angle = np.radians(degrees)
    along = np.array([np.cos(angle), np.sin(angle)])
    down = np.array([-np.sin(angle), np.cos(angle)])
    centre, half, height = np.array([300.0, 200.0]), 150.0, 40.0
    corners = [
        centre + x * half * along + y * height / 2 * down
        for x, y in ((-1, -1), (1, -1), (1, 1), (-1, 1))
    ]
    picture = np.zeros((400, 600, 3), np.uint8)
    quad = np.array(corners)
    middle = [(quad[0] + quad[1]) / 2, (quad[3] + quad[2]) / 2]
    left = np.array([quad[0], middle[0], middle[1], quad[3]])
    right = np.array([middle[0], quad[1], quad[2], middle[1]])
    cv2.fillConvexPoly(picture, np.rint(left).astype(np.int32), (255, 0, 0))
    cv2.fillConvexPoly(picture, np.rint(right).astype(np.int32), (0, 255, 0))
    cut = cut_line(picture, quad)
    rows, columns = cut.shape[:2]
    assert rows == 48 and columns == pytest.approx(48 * (300 + 6.4) / (40 + 6.4), abs=1)
    inner = cut[rows // 4 : -rows // 4]
    assert (inner[:, columns // 8 : columns * 3 // 8, 0] > 250).all()
    assert (inner[:, columns * 5 // 8 : columns * 7 // 8, 1] > 250).all()


def test_a_line_without_area_has_no_pixels() -> None:
    assert cut_line(np.zeros((9, 9, 3), np.uint8), np.full((4, 2), 3.0)).size == 0


@pytest.mark.parametrize("factor", [2, 4, 6])
def test_tall_lines_are_averaged_not_sampled(factor: int) -> None:
    """A strip of an enlarged image with fine noise is close to that of the small image."""
    rng = np.random.default_rng(0)
    small = cv2.GaussianBlur(rng.random((60, 400), np.float32), (0, 0), 1.5)
    large = cv2.resize(small, None, fx=factor, fy=factor, interpolation=cv2.INTER_CUBIC)
    noisy = large + rng.choice([-0.5, 0.5], large.shape).astype(np.float32)
    band = Band(torch.tensor([[50.0, 30]]), torch.tensor([[350.0, 30]]), torch.full((1, 2), 24.0))
    wanted = cut_strips(torch.from_numpy(small)[None, None], band, StripShape(32, 720))
    found = cut_strips(
        torch.from_numpy(noisy)[None, None], band / (1 / factor), StripShape(32, 720)
    )
    assert found.columns.tolist() == wanted.columns.tolist()
    used = int(wanted.columns)
    pair = np.corrcoef(
        wanted.pixels[0, 0, :, :used].flatten(), found.pixels[0, 0, :, :used].flatten()
    )
    sampled = large + rng.choice([-0.5, 0.5], large.shape).astype(np.float32)
    alone = np.corrcoef(large.flatten(), sampled.flatten())[0, 1]
    assert pair[0, 1] > alone, "less noise than single pixels have"


def test_strips_of_lines_of_all_heights_keep_their_order() -> None:
    image = torch.rand(1, 1, 320, 448)
    heights = torch.tensor([16.0, 150.0, 40.0, 70.0])
    ends = torch.tensor([[60.0, 160.0]]), torch.tensor([[400.0, 160.0]])
    band = Band(ends[0].repeat(4, 1), ends[1].repeat(4, 1), heights[:, None].repeat(1, 2))
    together = cut_strips(image.expand(4, -1, -1, -1), band, StripShape(32, 720))
    for k in range(4):
        alone = cut_strips(image, band[torch.tensor([k])], StripShape(32, 720))
        used = int(alone.columns)
        assert int(together.columns[k]) == used
        torch.testing.assert_close(together.pixels[k, :, :, :used], alone.pixels[0, :, :, :used])


def test_the_pyramid_finder_depends_on_the_whole_canvas_and_the_memory() -> None:
    torch.manual_seed(0)
    finder = PyramidFinder(1, ((2, 2), (2, 2), (1, 2)), 8, 8).eval().double()
    image = torch.rand(1, 1, 320, 448, dtype=torch.float64)
    features = finder.look(image)
    logits, stop = finder(features, torch.zeros(1, 320, 448))
    assert logits.shape == (1, 80, 56) and stop.shape == (1,)
    other = image.clone()
    other[:, :, :40] = 1 - other[:, :, :40]
    changed, _ = finder(finder.look(other), torch.zeros(1, 320, 448))
    assert (changed[0, -8:] - logits[0, -8:]).abs().max() > 1e-12, "the far end has an effect"
    memory = torch.zeros(1, 320, 448)
    memory[:, :100] = 1
    assert (finder(features, memory)[0] - logits).abs().max() > 1e-6


def test_a_reader_of_lines_of_any_height_finds_without_reading() -> None:
    torch.manual_seed(0)
    model = LineReader(
        1,
        "ab",
        scales="many",
        finder=8,
        step=8,
        rows=32,
        layers="residual",
        reader=(4, 4, 4, 4, 8),
        hidden=8,
    ).eval()
    picture = np.random.default_rng(0).integers(0, 255, (200, 300, 3), np.uint8)
    (reading,) = read_views(model, picture, [letterbox_at_scale(picture, CANVAS, 1.0)])
    step = model.find(model.encode(torch.rand(2, 3, *CANVAS)), torch.zeros(2, *CANVAS))
    assert step.band is not None and band_quads(step.band).shape == (2, 4, 2)
    assert all(0 <= s.confidence <= 1 and s.quad.shape == (4, 2) for s in reading.steps)


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory):
    path = tmp_path_factory.mktemp("scenes") / "scenes.h5"
    generate(TextRecipe((1, 2, 3), 12, seed=3, split="train", style="scene"), path)
    return open_dataset(path)


def test_synthetic_blocks_on_the_canvas_keep_their_lines(scenes) -> None:
    """Quads are transformed with the pixels, and the step map has each line."""
    assert ICDAR.preprocess is not None
    for row, sample in enumerate(scenes):
        changed = ICDAR.preprocess(sample, np.random.default_rng(row), scenes)
        assert changed.image.shape == (*CANVAS, 3)
        quads = changed["line_quad"]
        assert len(quads) == sample.length
        assert (quads >= -1).all() and (quads <= [CANVAS[1] + 1, CANVAS[0] + 1]).all()
        assert sorted(set(np.unique(changed["steps"])) - {0}) == list(range(1, sample.length + 1))


def test_a_fraction_of_the_samples_is_synthetic(scenes) -> None:
    real, synthetic = scenes[:4], scenes[4:]

    def is_synthetic(fraction: float) -> list[bool]:
        mixed = TrainingSet(real, synthetic, fraction)
        names = {s["line_text"].tobytes() for s in synthetic}
        return [mixed.sample(0, p)["line_text"].tobytes() in names for p in range(60)]

    assert not any(is_synthetic(0.0)) and all(is_synthetic(1.0))
    mixed = is_synthetic(0.7)
    assert 0.5 < np.mean(mixed) < 0.9 and mixed == is_synthetic(0.7)


def test_a_task_without_synthetic_samples_refuses_the_option(run, tmp_path: Path) -> None:
    result = run(
        "ivl-bench",
        "run",
        "--model",
        "inductive",
        "--set",
        "synthetic=0.5",
        "--set",
        "steps=1",
        "--out",
        tmp_path / "runs",
        "--data",
        tmp_path,
    )
    assert_one_line(result, 2, "synthetic", "toy-shapes")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "--model", "inductive-ocr", "--task", "icdar-blocks"], "ivl-bench eval"),
        (["eval", "toy-shapes-end-to-end-fast", "--model", "inductive-ocr"], "does not find lines"),
        (["eval", "--model", "inductive-ocr", "--lexicon", "default"], "has its own decoding"),
        (["eval", "--model", "inductive-orc"], "did you mean 'inductive-ocr'"),
    ],
)
def test_inductive_ocr_is_refused_in_one_line(run, arguments: list[str], message: str) -> None:
    assert_one_line(run("ivl-bench", *arguments), 2, message)


def test_blocks_of_twenty_lines_have_lines_of_the_usual_height(tmp_path: Path) -> None:
    task = find_task("text-blocks")
    heights = []
    for lines in (10, 20):
        path = tmp_path / f"{lines}.h5"
        task.generate(Split("test", (lines,), 6), 0, path, tmp_path)
        dataset = open_dataset(path)
        heights.append(np.concatenate([s["line_height"] for s in dataset]))
    assert np.median(heights[0]) == pytest.approx(np.median(heights[1]), rel=0.1)
    assert heights[1].max() < 1.3 * heights[0].max()

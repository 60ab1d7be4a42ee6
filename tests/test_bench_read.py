"""ivl-bench read: the lines of any picture, where they are, and one clear line if it is none."""

import json
import os
import struct
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from bars_reader import Bars
from benchmark.figure import draw_steps
from benchmark.fit import fit
from benchmark.models import InductiveModel, Step, build_model
from benchmark.models.strips import band_quads, quad_bands
from benchmark.presets import training_for
from benchmark.reading import open_picture, read_picture
from benchmark.run import Config
from benchmark.sizes import read_in_sizes
from benchmark.tasks import find_task
from benchmark.weights import save_tensors
from conftest import assert_one_line
from ivl_shards import UserError

TEXT = find_task("text-blocks")
# Where the reader of bars is found, and the packages under test.
WITH_TESTS = f"{Path(__file__).parent}:{Path(__file__).parents[1]}"

NAMED = ["--model", "bars_reader:Bars"]


def two_bars(height: int = 200, width: int = 400) -> np.ndarray:
    picture = np.full((height, width, 3), 255, np.uint8)
    picture[40:60, 100:300] = 0
    picture[120:150, 50:350] = 0
    return picture


def corners(x0: float, y0: float, x1: float, y1: float) -> np.ndarray:
    return np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]])


def test_lines_are_found_where_they_are_in_the_picture() -> None:
    reading = read_picture(Bars(TEXT), TEXT, two_bars())
    assert [line.text for line in reading.lines] == ["bar of 224", "bar of 336"]  # of the canvas
    for line, box in zip(reading.lines, [(100, 40, 300, 60), (50, 120, 350, 150)], strict=True):
        assert line.quad == pytest.approx(corners(*box), abs=2.5)
    assert len(reading.steps) == 3 and reading.steps[2].stop
    assert (reading.steps[1].memory == reading.steps[0].after).all()
    drawn = draw_steps(reading)
    assert drawn.height > 3 * 150 and len(drawn.getcolors(1 << 24) or []) > 10


class Unsure(InductiveModel):
    """Says the same thing at every step, and is as sure of it as the image is bright."""

    kind = "reading"

    def encode(self, images):
        return images

    def step(self, encoded, memory):
        n, _, height, width = encoded.shape
        delta = torch.zeros_like(memory)
        fill = memory.amax(2).sum(1).long()
        for k in range(n):
            delta[k, fill[k] : fill[k] + 10] = 1
        return Step(delta, (fill >= 40).float(), ["noise"] * n, encoded.mean((1, 2, 3)))

    def update(self, memory, delta):
        return (memory + delta).clamp(0, 1)

    def loss(self, batch):
        raise NotImplementedError


def test_of_several_sizes_the_surest_reading_counts() -> None:
    looks = [np.full((50, 50), shade, np.uint8) for shade in (100, 250, 240)]
    assert read_in_sizes(Unsure(), looks, torch.device("cpu")) == (1, ["noise"] * 4)
    assert read_in_sizes(Unsure(), looks[:1], torch.device("cpu")) == (0, [])


def test_what_a_model_is_not_sure_of_is_no_text() -> None:
    dark, bright = np.full((50, 50), 80, np.uint8), np.full((50, 50), 250, np.uint8)
    grey = replace(TEXT, channels=1)
    assert read_picture(Unsure(), grey, dark).lines == []
    assert [line.text for line in read_picture(Unsure(), grey, bright).lines] == ["noise"] * 4


@given(st.integers(1, 900), st.integers(1, 900), st.floats(0.1, 1.0), st.data())
def test_the_way_back_from_the_canvas(height: int, width: int, zoom: float, data) -> None:
    fitted = fit(np.zeros((height, width), np.uint8), (320, 448), zoom)
    assert fitted.pixels.shape == (320, 448)
    point = np.array([data.draw(st.floats(0, width)), data.draw(st.floats(0, height))])
    there = point * fitted.scale + fitted.offset
    assert (there >= 0).all() and (there <= [448, 320]).all()
    assert fitted.back(there) == pytest.approx(point, abs=1e-6 * max(height, width))


@given(st.floats(-0.5, 0.5), st.floats(5, 40), st.floats(5, 40), st.floats(50, 300))
def test_bands_and_quads_are_the_same_lines(
    turn: float, first: float, second: float, length: float
) -> None:
    along = torch.tensor([np.cos(turn), np.sin(turn)], dtype=torch.float64)
    down = torch.stack([-along[1], along[0]])
    left, right = torch.tensor([40.0, 90.0]), torch.tensor([40.0, 90.0]) + length * along
    ends = left - first / 2 * down, right - second / 2 * down
    quad = torch.stack([*ends, right + second / 2 * down, left + first / 2 * down])
    assert torch.allclose(band_quads(quad_bands(quad[None]))[0], quad)


def test_pictures_are_turned_as_their_camera_noted(tmp_path: Path) -> None:
    path = tmp_path / "turned.jpg"
    picture = Image.fromarray(two_bars())
    turned = Image.Exif()
    turned[0x0112] = 6
    picture.rotate(90, expand=True).save(path, exif=turned)
    assert open_picture(path, 1).shape == (200, 400)
    assert open_picture(path, 3).shape == (200, 400, 3)


def save_weights(path: Path, task_name: str, name: str) -> Path:
    """Weights of a model that has not learnt anything."""
    torch.manual_seed(0)
    task = find_task(task_name)
    training = training_for(task, name, "fast")
    tensors = build_model(name, task, "fast", training.model).state_dict()
    config = Config(task_name, name, "fast", 0, training).to_json()
    save_tensors(path, tensors, {"config": config, "seconds": 1.0})
    return path


@pytest.fixture
def bars(tmp_path: Path) -> Path:
    """Weights of the reader of bars."""
    return save_weights(tmp_path / "bars.safetensors", "text-blocks", "bars_reader:Bars")


@pytest.mark.slow
def test_a_picture_is_read(run, tmp_path: Path, bars: Path) -> None:
    Image.fromarray(two_bars()).save(tmp_path / "block.png")
    arguments = ["read", "block.png", bars.name, "--out", "steps.png"]
    unnamed = run("ivl-bench", *arguments, PYTHONPATH=WITH_TESTS)
    assert_one_line(unnamed, 2, "bars.safetensors", "--model bars_reader:Bars")
    arguments += NAMED
    done = run("ivl-bench", *arguments, PYTHONPATH=WITH_TESTS)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "bar of 224\nbar of 336\n"
    assert Image.open(tmp_path / "steps.png").width > 1000
    printed = run("ivl-bench", *arguments, "--json", PYTHONPATH=WITH_TESTS)
    lines = json.loads(printed.stdout)["lines"]
    assert lines[0]["text"] == "bar of 224"
    assert np.array(lines[0]["quad"]) == pytest.approx(corners(100, 40, 300, 60), abs=2.5)


@pytest.mark.slow
@pytest.mark.parametrize("size", [(1, 1), (20_000, 20), (20, 20_000), (300, 300)])
def test_where_there_is_nothing_nothing_is_read(run, tmp_path: Path, bars: Path, size) -> None:
    Image.new("RGB", size, "white").save(tmp_path / "empty.png")
    done = run("ivl-bench", "read", "empty.png", bars.name, *NAMED, PYTHONPATH=WITH_TESTS)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["missing.png", "bars.safetensors"], "missing.png: no such file"),
        (["broken.jpg", "bars.safetensors"], "broken.jpg: not a readable picture"),
        (["text.txt", "bars.safetensors"], "text.txt: not a readable picture"),
        ([".", "bars.safetensors"], ".: not a file"),
        (["block.jpg", "missing"], "missing: no such run"),
        (["block.jpg", "block.jpg"], "not a whole safetensors file"),
        (["block.jpg", "count.safetensors"], "does not read line by line"),
        (["block.jpg", "whole.safetensors"], "does not read line by line"),
        (["block.jpg", "bars.safetensors", "--lexicon", "default"], "--lexicon"),
        (["block.jpg", "reader.safetensors", "--lexicon", "broken.jpg"], "broken.jpg, line 1"),
        (["block.jpg", "reader.safetensors", "--lexicon", "odd.txt"], "odd.txt"),
        (["block.jpg", "reader.safetensors", "--beam", "0"], "--beam 0"),
        (["block.jpg", "bars.safetensors", "--out", "missing/steps.png"], "cannot be written"),
    ],
    ids=lambda value: str(value)[-40:],
)
def test_what_cannot_be_read_is_one_line(
    run, tmp_path: Path, bars: Path, arguments: list[str], says: str
) -> None:
    picture = Image.new("RGB", (40, 30), "white")
    picture.save(tmp_path / "block.jpg")
    whole = (tmp_path / "block.jpg").read_bytes()
    (tmp_path / "broken.jpg").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "text.txt").write_text("no picture")
    (tmp_path / "odd.txt").write_text("日本\n")
    save_weights(tmp_path / "count.safetensors", "coloured-shapes", "inductive")
    save_weights(tmp_path / "whole.safetensors", "toy-shapes", "end-to-end")
    save_weights(tmp_path / "reader.safetensors", "text-blocks", "inductive")
    done = run("ivl-bench", "read", *arguments, *NAMED, PYTHONPATH=WITH_TESTS)
    assert_one_line(done, 2, says)


def test_transparent_pictures_are_read_on_white(tmp_path: Path) -> None:
    """Black letters on nothing, as a drawing program saves them."""
    ink = 255 - two_bars()[..., 0]
    black = np.zeros_like(two_bars())
    Image.fromarray(np.dstack([black, ink])).save(tmp_path / "rgba.png")
    Image.fromarray(np.dstack([black[..., 0], ink])).save(tmp_path / "la.png")
    Image.fromarray(ink // 255).save(tmp_path / "palette.png", transparency=0)
    for name in ("rgba.png", "la.png", "palette.png"):
        off = open_picture(tmp_path / name, 3).astype(int) - two_bars()
        assert abs(off).max() <= 1, name
        reading = read_picture(Bars(TEXT), TEXT, open_picture(tmp_path / name, 3))
        assert [line.text for line in reading.lines] == ["bar of 224", "bar of 336"], name


def test_pictures_of_other_numbers_are_scaled_or_refused(tmp_path: Path) -> None:
    grey = two_bars()[..., 0]
    for name, values in {
        "one.tif": (grey / 255).astype(np.float32),
        "bytes.tif": grey.astype(np.float32),
        "sixteen.png": grey.astype(np.uint16) * 257,
        "whole.tif": grey.astype(np.int32),
    }.items():
        Image.fromarray(values).save(tmp_path / name)
        assert (open_picture(tmp_path / name, 1) == grey).all(), name
    for values in (grey * 1e4, grey - 300.0, np.where(grey > 0, np.nan, 0)):
        Image.fromarray(values.astype(np.float32)).save(tmp_path / "odd.tif")
        with pytest.raises(UserError, match="odd.tif: shades from"):
            open_picture(tmp_path / "odd.tif", 1)


def test_only_pictures_are_opened_and_none_too_large(tmp_path: Path) -> None:
    """PostScript would be handed to another program, Ghostscript."""
    Image.new("RGB", (40, 30)).save(tmp_path / "page.eps")
    (tmp_path / "page.eps").rename(tmp_path / "page.png")
    os.mkfifo(tmp_path / "pipe.png")
    # A PNG whose first lines speak of a picture of 8,000,000,000 pixels.
    Image.new("L", (40, 30)).save(tmp_path / "large.png")
    data = bytearray((tmp_path / "large.png").read_bytes())
    data[16:24] = struct.pack(">II", 80_000, 100_000)
    data[29:33] = struct.pack(">I", zlib.crc32(data[12:29]))
    (tmp_path / "large.png").write_bytes(data)
    Image.new("1", (10_000, 4_100)).save(tmp_path / "wide.png")
    for name, says in {
        "page.png": "not a readable picture", "pipe.png": "not a file",
        "large.png": "not a readable picture", "wide.png": "shrink it first",
    }.items():  # fmt: skip
        with pytest.raises(UserError, match=says):
            open_picture(tmp_path / name, 1)

"""ivl-bench read: the lines of any picture, block by block, and one clear line for bad input."""

import json
import os
import re
import struct
import zlib
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageDraw, ImageFont

from bars_reader import Bars, Odd
from benchmark.data.letterbox import letterbox
from benchmark.models.build import build_model
from benchmark.models.contract import InductiveModel
from benchmark.models.step import Step
from benchmark.models.strips import band_quads, quad_bands
from benchmark.reading.blocks import open_picture, read_picture
from benchmark.reading.figure import draw_steps
from benchmark.reading.photographs import ReadPicture, read_block, read_photograph
from benchmark.registry import find_task, find_training
from benchmark.results.report.steps import StepsFile
from benchmark.training.run_folder import Config
from benchmark.training.weights import save_tensors
from commands import HELPERS, ROOT, assert_one_line, complaints_of
from ivl_shards import UserError

TEXT = find_task("text-blocks")
# Folders of the reader of bars and of the packages under test.
WITH_TESTS = f"{HELPERS}:{ROOT}"

NAMED = ["--model", "bars_reader:Bars"]


def two_bars(height: int = 200, width: int = 400) -> np.ndarray:
    picture = np.full((height, width, 3), 255, np.uint8)
    picture[40:60, 100:300] = 0
    picture[120:150, 50:350] = 0
    return picture


def two_signs(height: int = 600, width: int = 800) -> np.ndarray:
    """Draw a photograph with a sign of two lines at the upper left, and one of one line below."""
    picture = np.full((height, width, 3), 255, np.uint8)
    picture[50:80, 100:300] = 0
    picture[100:130, 100:260] = 0
    picture[480:520, 450:700] = 0
    return picture


def corners(x0: float, y0: float, x1: float, y1: float) -> np.ndarray:
    return np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]])


def test_lines_are_found_where_they_are_in_the_picture() -> None:
    reading = read_picture(Bars(TEXT), TEXT, two_bars())
    lengths = [int(line.text.removeprefix("bar of ")) for line in reading.lines]
    assert lengths == pytest.approx([224, 336], rel=0.03)  # in pixels of the canvas
    for line, box in zip(reading.lines, [(100, 40, 300, 60), (50, 120, 350, 150)], strict=True):
        assert line.quad == pytest.approx(corners(*box), abs=2.5)
    assert len(reading.steps) == 3 and reading.steps[2].stop
    assert (reading.steps[1].memory == reading.steps[0].after).all()
    drawn = draw_steps(reading)
    assert drawn.height > 3 * 100 and len(drawn.getcolors(1 << 24) or []) > 10


class Unsure(InductiveModel):
    """Predicts the same text at every step, with the brightness of the image as confidence."""

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


def test_lines_have_the_confidence_of_the_model() -> None:
    grey = replace(TEXT, channels=1)
    for shade in (80, 250):
        lines = read_picture(Unsure(), grey, np.full((50, 50), shade, np.uint8)).lines
        assert lines and {line.text for line in lines} == {"noise"}
        for line in lines:
            assert line.confidence == pytest.approx(shade / 255, abs=0.01)


def test_blocks_are_found_where_they_are_in_a_photograph() -> None:
    first, second = read_photograph(Bars(TEXT), TEXT, two_signs())
    assert first.box == pytest.approx((100, 50, 300, 130), abs=25)
    assert second.box == pytest.approx((450, 480, 700, 520), abs=25)
    for line, box in zip(
        first.reading.lines + second.reading.lines,
        [(100, 50, 300, 80), (100, 100, 260, 130), (450, 480, 700, 520)],
        strict=True,
    ):
        assert line.text.startswith("bar of ")
        assert line.quad == pytest.approx(corners(*box), abs=4)


@pytest.mark.parametrize("scale", [0.25, 0.5, 2.0, 4.0])
def test_blocks_are_found_at_any_resolution(scale: float) -> None:
    picture = cv2.resize(two_signs(), None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    blocks = read_photograph(Bars(TEXT), TEXT, picture)
    assert [len(block.reading.lines) for block in blocks] == [2, 1]
    found = np.array([block.box for block in blocks]) / scale
    assert found == pytest.approx(np.array([(100, 50, 300, 130), (450, 480, 700, 520)]), abs=25)


@pytest.mark.parametrize("shape", [(1, 1), (20, 4000), (4000, 20), (300, 300)])
def test_a_photograph_without_text_is_one_block_without_lines(shape: tuple[int, int]) -> None:
    (block,) = read_photograph(Bars(TEXT), TEXT, np.full((*shape, 3), 255, np.uint8))
    assert block.box == (0, 0, *shape[::-1]) and block.reading.lines == []


@given(st.integers(1, 900), st.integers(1, 900), st.floats(0.1, 1.0), st.data())
def test_letterboxing_can_be_inverted(height: int, width: int, scale: float, data) -> None:
    boxed = letterbox(np.zeros((height, width), np.uint8), (320, 448), scale)
    assert boxed.pixels.shape == (320, 448)
    point = np.array([data.draw(st.floats(0, width)), data.draw(st.floats(0, height))])
    on_canvas = point * boxed.scale + boxed.offset
    assert (on_canvas >= 0).all() and (on_canvas <= [448, 320]).all()
    assert boxed.back(on_canvas) == pytest.approx(point, abs=1e-6 * max(height, width))


@given(st.floats(-0.5, 0.5), st.floats(5, 40), st.floats(5, 40), st.floats(50, 300))
def test_quads_are_converted_to_bands_and_back(
    angle: float, first: float, second: float, length: float
) -> None:
    along = torch.tensor([np.cos(angle), np.sin(angle)], dtype=torch.float64)
    down = torch.stack([-along[1], along[0]])
    left, right = torch.tensor([40.0, 90.0]), torch.tensor([40.0, 90.0]) + length * along
    ends = left - first / 2 * down, right - second / 2 * down
    quad = torch.stack([*ends, right + second / 2 * down, left + first / 2 * down])
    assert torch.allclose(band_quads(quad_bands(quad[None]))[0], quad)


def test_pictures_are_rotated_by_their_exif_orientation(tmp_path: Path) -> None:
    path = tmp_path / "rotated.jpg"
    picture = Image.fromarray(two_bars())
    exif = Image.Exif()
    exif[0x0112] = 6
    picture.rotate(90, expand=True).save(path, exif=exif)
    assert open_picture(path, 1).shape == (200, 400)
    assert open_picture(path, 3).shape == (200, 400, 3)


def save_weights(path: Path, task_name: str, name: str) -> Path:
    """Save the weights of an untrained model."""
    torch.manual_seed(0)
    task = find_task(task_name)
    training = find_training(task, name, "fast")
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
    arguments = ["read", "block.png", "--block", "--weights", bars.name, "--out", "steps.png"]
    unnamed = run("ivl-bench", *arguments, PYTHONPATH=WITH_TESTS)
    assert_one_line(unnamed, 2, "bars.safetensors", "--model bars_reader:Bars")
    arguments += NAMED
    done = run("ivl-bench", *arguments, PYTHONPATH=WITH_TESTS)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "1.00\tbar of 219\n1.00\tbar of 327\n"
    assert "1 of 1 pictures" in done.stderr
    assert Image.open(tmp_path / "steps.png").width > 1000
    printed = run("ivl-bench", *arguments, "--json", "--quiet", PYTHONPATH=WITH_TESTS)
    assert printed.stderr == ""
    (picture,) = json.loads(printed.stdout)["pictures"]
    (block,) = picture["blocks"]
    assert picture["picture"] == "block.png" and block["box"] == [0, 0, 400, 200]
    line = block["lines"][0]
    assert (line["text"], line["confidence"]) == ("bar of 219", 1.0)
    assert np.array(line["quad"]) == pytest.approx(corners(100, 40, 300, 60), abs=2.5)


@pytest.mark.slow
def test_photographs_are_read_block_by_block(run, tmp_path: Path, bars: Path) -> None:
    Image.fromarray(two_signs()).save(tmp_path / "signs.png")
    Image.fromarray(np.full((60, 90, 3), 255, np.uint8)).save(tmp_path / "empty.jpg")
    arguments = ["read", "signs.png", "empty.jpg", "--weights", bars.name, *NAMED]
    done = run("ivl-bench", *arguments, "--quiet", PYTHONPATH=WITH_TESTS)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(
        r"signs\.png:\n1\.00\tbar of \d+\n1\.00\tbar of \d+\n\n1\.00\tbar of \d+\n\nempty\.jpg:\n",
        done.stdout,
    ), done.stdout
    alone = run("ivl-bench", "read", "empty.jpg", *arguments[3:], PYTHONPATH=WITH_TESTS)
    assert (alone.returncode, alone.stdout) == (0, "")
    assert alone.stderr.splitlines()[-1] == "empty.jpg: no text found"


@pytest.mark.slow
def test_a_photograph_is_read_without_naming_weights(run, tmp_path: Path) -> None:
    """Lines of low confidence can be left out."""
    picture = Image.new("RGB", (640, 480), "#dddddd")
    draw = ImageDraw.Draw(picture)
    draw.text((200, 200), "STATION", "#202020", ImageFont.load_default(60))
    picture.save(tmp_path / "photo.jpg")
    done = run("ivl-bench", "read", "photo.jpg", "--json")
    assert done.returncode == 0, done.stderr
    (found,) = json.loads(done.stdout)["pictures"]
    assert [line["text"] for line in found["blocks"][0]["lines"]] == ["STATION"]
    confident = run("ivl-bench", "read", "photo.jpg", "--min-confidence", "1")
    assert confident.stdout == "" and "photo.jpg: no text found" in confident.stderr


@pytest.mark.slow
@pytest.mark.parametrize("size", [(1, 1), (20_000, 20), (20, 20_000), (300, 300)])
def test_nothing_is_read_in_an_empty_picture(run, tmp_path: Path, bars: Path, size) -> None:
    Image.new("RGB", size, "white").save(tmp_path / "empty.png")
    for out in ("steps.html", "steps.png"):
        arguments = ["empty.png", "--weights", bars.name, "--out", out, *NAMED]
        done = run("ivl-bench", "read", *arguments, PYTHONPATH=WITH_TESTS)
        assert (done.returncode, done.stdout) == (0, "")
        assert done.stderr.splitlines()[-1] == "empty.png: no text found"
        assert (tmp_path / out).stat().st_size < 1_000_000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.png"], "missing.png: no such file"),
        (["block.jpg", "missing.png"], "missing.png: no such file"),
        (["broken.jpg"], "broken.jpg: not a readable picture"),
        (["text.txt"], "text.txt: not a readable picture"),
        (["."], ".: not a file"),
        (["x" * 300], "cannot be read"),
        (["block.jpg", "bars.safetensors"], "give --weights bars.safetensors"),
        (["block.jpg", "text-blocks-inductive-fast"], "give --weights text-blocks-inductive-fast"),
        (["block.jpg", "run"], "give --weights run"),
        (["block.jpg", "--weights", "missing"], "missing: no such run"),
        (["block.jpg", "--weights", "block.jpg"], "not a whole safetensors file"),
        (["block.jpg", "--weights", "count.safetensors"], "does not read line by line"),
        (["block.jpg", "--weights", "whole.safetensors"], "does not read line by line"),
        (["block.jpg", "--weights", "bars.safetensors", "--lexicon", "default"], "--lexicon"),
        (["block.jpg", "--lexicon", "broken.jpg"], "broken.jpg, line 1"),
        (["block.jpg", "--lexicon", "odd.txt"], "odd.txt"),
        (["block.jpg", "--beam", "0"], "--beam 0"),
        (["block.jpg", "--threads", "0"], "--threads 0"),
        (["block.jpg", "--min-confidence", "1.5"], "--min-confidence 1.5"),
        (["block.jpg", "--min-confidence", "nan"], "--min-confidence nan"),
        (["block.jpg", "--out", "missing/steps.png"], "cannot be written"),
        (["block.jpg", "--out", "missing/steps.html"], "cannot be written"),
        (["block.jpg", "--out", "./block.jpg"], "is a picture to read"),
        (["block.jpg", "--out", "steps.pdf"], "name it .html, .png or .jpg"),
        (["block.jpg", "--out", "steps"], "name it .html, .png or .jpg"),
    ],
    ids=lambda value: str(value)[-40:],
)
def test_bad_input_is_one_line(
    run, tmp_path: Path, bars: Path, arguments: list[str], message: str
) -> None:
    picture = Image.new("RGB", (40, 30), "white")
    picture.save(tmp_path / "block.jpg")
    whole = (tmp_path / "block.jpg").read_bytes()
    (tmp_path / "broken.jpg").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "text.txt").write_text("no picture")
    (tmp_path / "odd.txt").write_text("日本\n")
    save_weights(tmp_path / "count.safetensors", "coloured-shapes", "inductive")
    save_weights(tmp_path / "whole.safetensors", "toy-shapes", "end-to-end")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "weights.safetensors").write_bytes(bars.read_bytes())
    before = sorted(tmp_path.iterdir())
    done = run("ivl-bench", "read", *arguments, *NAMED, PYTHONPATH=WITH_TESTS)
    assert_one_line(done, 2, message)
    assert sorted(tmp_path.iterdir()) == before


def written_page(folder: Path, model: InductiveModel, *names: str) -> Path:
    """Write the page of steps of some pictures with two signs each."""
    steps = StepsFile(folder / "steps.html", "</script><b>weights")
    for name in names:
        blocks = read_photograph(model, TEXT, two_signs())
        steps.add(ReadPicture(name, blocks), two_signs())
    steps.write()
    return folder / "steps.html"


def test_text_that_was_read_cannot_break_the_page(tmp_path: Path) -> None:
    text = written_page(tmp_path, Odd(TEXT), "</script><b>.png").read_text("utf-8")
    assert "</script><" not in text.split('id="data">')[1].split("</script>")[0]
    assert text.count("</script>") == 3  # the page's own
    assert not re.search(r"""(src|href)=["']?(http|//)""", text)


@pytest.mark.browser
def test_the_page_plays_the_steps_of_each_block(tmp_path: Path, browser) -> None:
    path = written_page(tmp_path, Odd(TEXT), "one.png", "<b>two.png")
    for width, scheme in ((1200, "light"), (390, "dark")):
        page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
        complaints = complaints_of(page)
        page.goto(path.as_uri())
        page.wait_for_selector(".player[data-shown='0:0:0']")
        assert page.inner_text("h1") == "one.png"
        assert page.inner_text("#summary") == "3 lines in 2 blocks, read by </script><b>weights."
        assert page.inner_text(".stage output").startswith("</script><b>")
        assert "confidence 1.00" in page.inner_text(".stage output")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        page.wait_for_selector(".player[data-shown='0:0:2']")
        assert page.inner_text(".stage output") == "end"
        page.locator(".found g").last.click()
        page.wait_for_selector(".player[data-shown='0:1:0']")
        pressed = page.locator(".texts button[aria-pressed=true]")
        assert pressed.count() == 1 and pressed.inner_text().startswith("block 2")
        page.select_option("select", "1")
        page.wait_for_selector(".player[data-shown='1:0:0']")
        assert page.inner_text("h1") == "<b>two.png"
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert complaints == []
        page.close()


def test_the_steps_are_drawn_below_each_other(tmp_path: Path) -> None:
    steps = StepsFile(tmp_path / "steps.png", "bars")
    block = read_block(Bars(TEXT), TEXT, two_bars())
    single = draw_steps(block.reading)
    for name in ("one.png", "two.png"):
        steps.add(ReadPicture(name, [block]), two_bars())
    steps.write()
    with Image.open(tmp_path / "steps.png") as drawn:
        assert drawn.width == single.width and drawn.height > 2 * single.height
    many = StepsFile(tmp_path / "steps.webp", "bars")  # no WebP is higher than 16,383 pixels
    many.add(ReadPicture("many.png", [block] * 60), two_bars())
    with pytest.raises(UserError, match="cannot be written"):
        many.write()
    assert not (tmp_path / "steps.webp").exists()


def test_transparent_pictures_are_read_on_white(tmp_path: Path) -> None:
    """Black letters on a transparent background, as drawing programs save them."""
    ink = 255 - two_bars()[..., 0]
    black = np.zeros_like(two_bars())
    Image.fromarray(np.dstack([black, ink])).save(tmp_path / "rgba.png")
    Image.fromarray(np.dstack([black[..., 0], ink])).save(tmp_path / "la.png")
    Image.fromarray(ink // 255).save(tmp_path / "palette.png", transparency=0)
    for name in ("rgba.png", "la.png", "palette.png"):
        off = open_picture(tmp_path / name, 3).astype(int) - two_bars()
        assert abs(off).max() <= 1, name
        reading = read_picture(Bars(TEXT), TEXT, open_picture(tmp_path / name, 3))
        assert len(reading.lines) == 2, name


def test_pictures_that_are_not_8_bit_are_scaled_or_refused(tmp_path: Path) -> None:
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
        with pytest.raises(UserError, match="odd.tif: grey values from"):
            open_picture(tmp_path / "odd.tif", 1)


def test_only_pictures_are_opened_and_none_too_large(tmp_path: Path) -> None:
    """For PostScript, Pillow would start Ghostscript."""
    Image.new("RGB", (40, 30)).save(tmp_path / "page.eps")
    (tmp_path / "page.eps").rename(tmp_path / "page.png")
    os.mkfifo(tmp_path / "pipe.png")
    # A PNG whose header states 8,000,000,000 pixels.
    Image.new("L", (40, 30)).save(tmp_path / "large.png")
    data = bytearray((tmp_path / "large.png").read_bytes())
    data[16:24] = struct.pack(">II", 80_000, 100_000)
    data[29:33] = struct.pack(">I", zlib.crc32(data[12:29]))
    (tmp_path / "large.png").write_bytes(data)
    Image.new("1", (10_000, 4_100)).save(tmp_path / "wide.png")
    for name, message in {
        "page.png": "not a readable picture",
        "pipe.png": "not a file",
        "large.png": "not a readable picture",
        "wide.png": "shrink it first",
    }.items():
        with pytest.raises(UserError, match=message):
            open_picture(tmp_path / name, 1)

"""The contact sheet, and the gallery page in a real browser."""

import base64
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from commands import complaints_of
from given import make_given
from ivl_shards.format.outlines import find_outlines
from ivl_shards.inspect.sheet import draw_tile
from ivl_shards.inspect.statistics import pick_samples
from photos import PhotoRecipe
from shapes_gen import ColouredRecipe, ToyRecipe

RECIPES = {
    "coloured": ColouredRecipe((0, 3, 10), 30),
    "toy": ToyRecipe((1, 20), 30),
    "photos": PhotoRecipe((1, 2), 10),
}


@pytest.mark.parametrize("name", RECIPES)
def test_the_sheet_shows_every_count_and_the_memory(make, run, tmp_path: Path, name: str) -> None:
    make(RECIPES[name])
    result = run("ivl-shards", "preview", "data.h5", "--out", "sheet.png", "--limit", 3)
    assert result.returncode == 0, result.stderr
    sheet = np.asarray(Image.open(tmp_path / "sheet.png"))
    assert sheet.shape[1] >= 3 * 40
    # More colours than the picture has: the steps are tinted, first red and last violet.
    tinted = (np.ptp(sheet.astype(int), axis=2) > 100).sum()
    assert tinted > 100


def test_samples_are_picked_from_all_counts(make) -> None:
    picked = pick_samples(make(RECIPES["coloured"]), 9)
    assert {count: len(found) for count, found in picked.items()} == {0: 3, 3: 3, 10: 3}
    few = pick_samples(make(ColouredRecipe(tuple(range(20)), 40), "other.h5"), 5)
    assert len(few) == 5
    assert {0, 19} <= set(few)


def test_the_sheet_outlines_lines_and_words(tmp_path: Path) -> None:
    dataset = make_given("text", tmp_path)
    sample, outlines = dataset[1], find_outlines(dataset.schema)
    assert [o.noun for o in outlines] == ["line", "word", "char"]
    # Characters alone: nothing is drawn, they would hide the text.
    none, lines, both, all_ = (
        np.asarray(draw_tile(sample, 2, some)).astype(int)  # (H, W, 3)
        for some in (outlines[2:], outlines[:1], outlines[:2], outlines)
    )
    ys, xs = np.nonzero((lines != none).any(2))
    corners = 2 * sample["line_quad"].reshape(-1, 2)
    assert np.abs(corners.min(0) - (xs.min(), ys.min())).max() <= 2
    assert np.abs(corners.max(0) - (xs.max(), ys.max())).max() <= 2
    assert (both != lines).any()
    assert np.array_equal(both, all_)


def canvas(page) -> np.ndarray:
    """What is drawn, (H, W, 3)."""
    url = page.evaluate("document.getElementById('view').toDataURL()")
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(url.split(",")[1]))).convert("RGB"))


def open_page(browser, path: Path) -> tuple[Any, list[str]]:
    """The page, and what it complains of."""
    page = browser.new_page()
    complaints = complaints_of(page)
    page.goto(path.as_uri())
    page.wait_for_selector("canvas[data-shown='0:0']")
    return page, complaints


@pytest.mark.browser
@pytest.mark.parametrize("name", RECIPES)
def test_the_gallery_pages_and_steps(make, run, browser, tmp_path: Path, name: str) -> None:
    dataset = make(RECIPES[name])
    assert run("ivl-shards", "preview", "data.h5", "--out", "gallery.html").returncode == 0
    page, complaints = open_page(browser, tmp_path / "gallery.html")
    page.click("#next")
    page.wait_for_selector("canvas[data-shown='1:0']")
    sample = dataset[1]
    assert f"Sample 1 of {len(dataset)}" in page.inner_text("#what")

    # Each step of the slider draws the memory of that step, the last one all of it.
    drawn = [canvas(page)]
    for t in range(1, sample.length + 1):
        page.locator("#step").fill(str(t))
        page.wait_for_selector(f"canvas[data-shown='1:{t}']")
        drawn.append(canvas(page))
    assert len({pixels.tobytes() for pixels in drawn}) == sample.length + 1
    changed = (drawn[1] != drawn[0]).any(axis=2)
    assert (changed <= (sample.memory(1) + sample.delta(0) + sample.delta(1) > 0)).all()

    # Without the overlay it is the image itself.
    page.uncheck("#overlay")
    plain = canvas(page)
    wanted = sample.image if sample.image.ndim == 3 else sample.image[..., None]
    assert np.abs(plain.astype(int) - wanted).max() <= (3 if name == "photos" else 0)

    page.keyboard.press("ArrowRight")
    page.wait_for_selector("canvas[data-shown='2:0']")
    page.click("#previous")
    page.click("#previous")
    page.click("#previous")
    page.wait_for_selector(f"canvas[data-shown='{len(dataset) - 1}:0']")
    page.click("#play")
    page.wait_for_selector(f"canvas[data-shown='{len(dataset) - 1}:1']")
    assert complaints == []
    page.close()


def drawn_quads(page, selector: str) -> np.ndarray:
    """Corners of the polygons, (K, 4, 2), in pixels of the image."""
    points = page.eval_on_selector_all(selector, "all => all.map(p => p.getAttribute('points'))")
    return np.array([text.split() for text in points], float).reshape(-1, 4, 2)


@pytest.mark.browser
def test_the_gallery_shows_quads_and_the_text_of_the_step(run, browser, tmp_path: Path) -> None:
    dataset = make_given("text", tmp_path)
    assert run("ivl-shards", "preview", "data.h5", "--out", "gallery.html").returncode == 0
    page, complaints = open_page(browser, tmp_path / "gallery.html")
    page.click("#next")
    sample = dataset[1]
    for t in range(sample.length + 1):
        page.locator("#step").fill(str(t))
        page.wait_for_selector(f"canvas[data-shown='1:{t}']")
        said = sample["line_text"][t].decode() if t < sample.length else "(end)"
        assert page.inner_text("#says") == said
        lines = drawn_quads(page, "#quads .steps polygon")
        assert np.abs(lines - sample["line_quad"]).max() < 0.006
        assert len(drawn_quads(page, "#quads .seen")) == t
        assert len(drawn_quads(page, "#quads .next")) == (t < sample.length)
    assert np.abs(drawn_quads(page, "[data-noun=word] *") - sample["word_quad"]).max() < 0.006
    # The overlay lies on the image, however large it is shown.
    one, two = page.locator("#view").bounding_box(), page.locator("#quads").bounding_box()
    assert all(abs(one[side] - two[side]) < 0.5 for side in one)
    page.uncheck("#outlined")
    page.wait_for_function("!document.querySelector('#quads polygon')")
    assert complaints == []
    page.close()


@pytest.mark.browser
@pytest.mark.parametrize("name", ["dota", "icdar", "photos"])
def test_the_gallery_shows_what_there_is(run, browser, tmp_path: Path, name: str) -> None:
    dataset = make_given(name, tmp_path)
    assert run("ivl-shards", "preview", "data.h5", "--out", "gallery.html").returncode == 0
    page, complaints = open_page(browser, tmp_path / "gallery.html")
    assert page.is_visible("#outlined") == (name != "photos")
    assert page.is_visible("#says") == (name != "dota")
    if name != "dota":
        field = "text" if name == "photos" else "line_text"
        assert page.inner_text("#says") == dataset[0][field][0].decode()
    shown = drawn_quads(page, "#quads .steps polygon")
    assert len(shown) == (0 if name == "photos" else dataset[0].length)
    assert complaints == []
    page.close()

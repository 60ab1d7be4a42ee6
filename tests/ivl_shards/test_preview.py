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
    """Return what is drawn, (H, W, 3)."""
    url = page.evaluate("document.getElementById('view').toDataURL()")
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(url.split(",")[1]))).convert("RGB"))


def open_page(browser, path: Path, **options: Any) -> tuple[Any, list[str]]:
    """Open the page with its first sample drawn; return it with a list of its errors."""
    page = browser.new_page(**options)
    complaints = complaints_of(page)
    page.goto(path.as_uri())
    page.wait_for_selector("canvas[data-shown]")
    return page, complaints


def rows(page) -> list[int]:
    """Return the positions in the dataset of the samples in the grid, in its order."""
    return [int(row) for row in page.evaluate("DATA.samples.map(s => s.row)")]


def show(page, k: int) -> None:
    """Click on thumbnail `k`, and wait for its sample."""
    page.locator(".thumbnails button").nth(k).click()
    page.wait_for_selector(f"canvas[data-shown='{k}:0']")


@pytest.mark.browser
@pytest.mark.parametrize("name", RECIPES)
def test_the_gallery_pages_and_steps(make, run, browser, tmp_path: Path, name: str) -> None:
    dataset = make(RECIPES[name])
    assert run("ivl-shards", "preview", "data.h5", "--out", "gallery.html").returncode == 0
    page, complaints = open_page(browser, tmp_path / "gallery.html")
    last = len(dataset) - 1
    show(page, last)
    page.click("#previous")
    page.wait_for_selector(f"canvas[data-shown='{last - 1}:0']")
    row = rows(page)[last - 1]
    sample = dataset[row]
    assert f"Sample {row}: {sample.length} " in page.inner_text("#what")

    # Each step of the slider draws the memory of that step, the last one all of it.
    drawn = [canvas(page)]
    for t in range(1, sample.length + 1):
        page.locator("#step").fill(str(t))
        page.wait_for_selector(f"canvas[data-shown='{last - 1}:{t}']")
        drawn.append(canvas(page))
    assert len({pixels.tobytes() for pixels in drawn}) == sample.length + 1
    changed = (drawn[1] != drawn[0]).any(axis=2)
    assert (changed <= (sample.memory(1) + sample.delta(0) + sample.delta(1) > 0)).all()

    # Without the overlay it is the image itself.
    page.uncheck("#overlay")
    plain = canvas(page)
    wanted = sample.image if sample.image.ndim == 3 else sample.image[..., None]
    assert np.abs(plain.astype(int) - wanted).max() <= (3 if name == "photos" else 0)

    page.click("#next")
    page.click("#play")
    page.wait_for_selector(f"canvas[data-shown='{last}:1']")
    page.click("#next")
    page.wait_for_selector("canvas[data-shown='0:0']")
    page.click("#previous")
    page.wait_for_selector(f"canvas[data-shown='{last}:0']")
    assert complaints == []
    page.close()


@pytest.mark.browser
def test_the_grid_has_samples_of_every_length(make, run, browser, tmp_path: Path) -> None:
    dataset = make(ColouredRecipe(tuple(range(3, 11)), 80))
    assert (
        run("ivl-shards", "preview", "data.h5", "--out", "gallery.html", "--limit", 24).returncode
        == 0
    )
    page, complaints = open_page(browser, tmp_path / "gallery.html")
    assert page.inner_text("#chosen") == "24 of 80 samples, a few of each length"
    assert page.locator("#samples h3").all_inner_texts() == [f"{n} objects" for n in range(3, 11)]
    lengths = dataset.lengths[rows(page)].tolist()
    assert lengths == [n for n in range(3, 11) for _ in range(3)]
    thumbnails = page.locator(".thumbnails img")
    assert thumbnails.count() == 24
    assert thumbnails.nth(4).get_attribute("alt") == f"Sample {rows(page)[4]}, 4 objects"

    # The page opens on a sample of middle length, half of it seen.
    assert page.inner_text("#what").endswith(": 6 objects")
    assert page.inner_text("#stepname") == "t = 3 of 6"
    assert page.locator("[aria-current]").count() == 1

    show(page, 23)
    assert page.inner_text("#position") == f"Sample {rows(page)[23]}"
    assert page.locator("#view").bounding_box()["y"] >= 0, "scrolled to the sample"
    assert complaints == []
    page.close()


@pytest.mark.browser
def test_the_gallery_works_without_a_mouse(make, run, browser, tmp_path: Path) -> None:
    make(RECIPES["coloured"])
    assert run("ivl-shards", "preview", "data.h5", "--out", "gallery.html").returncode == 0
    page, complaints = open_page(browser, tmp_path / "gallery.html")
    first = page.evaluate("DATA.first")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector(f"canvas[data-shown='{first + 1}:0']")
    page.keyboard.press("Space")
    page.wait_for_selector(f"canvas[data-shown='{first + 1}:1']")
    page.keyboard.press("Space")
    assert page.inner_text("#play") == "▶ Play"
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector(f"canvas[data-shown='{first}:0']")

    # The grid is one tab stop, and the arrows move within it.
    page.locator("[aria-current]").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_selector(f"canvas[data-shown='{first + 1}:0']")
    assert page.evaluate("document.activeElement.matches('[aria-current]')")
    assert page.locator(".thumbnails button[tabindex='0']").count() == 1

    # On the slider, arrows change the step instead.
    page.locator("#step").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_selector(f"canvas[data-shown='{first + 1}:1']")
    assert complaints == []
    page.close()


@pytest.mark.browser
@pytest.mark.parametrize("name", ["text", "icdar", "dota", "toy"])
def test_a_phone_shows_the_gallery_without_scrolling_sideways(
    run, browser, tmp_path: Path, name: str
) -> None:
    make_given(name, tmp_path)
    assert run("ivl-shards", "preview", "data.h5", "--out", "gallery.html").returncode == 0
    phone = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
    page, complaints = open_page(browser, tmp_path / "gallery.html", **phone)
    for folded in (True, False):
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        assert page.is_visible("#fields") != folded, "labels are folded at first"
        page.tap("#what")
    box = page.locator("#picture").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    assert complaints == []
    page.close()


def drawn_quads(page, selector: str) -> np.ndarray:
    """Return the corners of the polygons, (K, 4, 2), in pixels of the image."""
    points = page.eval_on_selector_all(selector, "all => all.map(p => p.getAttribute('points'))")
    return np.array([text.split() for text in points], float).reshape(-1, 4, 2)


@pytest.mark.browser
def test_the_gallery_shows_quads_and_the_text_of_the_step(run, browser, tmp_path: Path) -> None:
    dataset = make_given("text", tmp_path)
    assert run("ivl-shards", "preview", "data.h5", "--out", "gallery.html").returncode == 0
    page, complaints = open_page(browser, tmp_path / "gallery.html")
    k = len(dataset) - 1
    show(page, k)
    sample = dataset[rows(page)[k]]
    for t in range(sample.length + 1):
        page.locator("#step").fill(str(t))
        page.wait_for_selector(f"canvas[data-shown='{k}:{t}']")
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
    show(page, 0)
    sample = dataset[rows(page)[0]]
    assert page.is_visible("#outlined") == (name != "photos")
    assert page.is_visible("#says") == (name != "dota")
    if name != "dota":
        field = "text" if name == "photos" else "line_text"
        assert page.inner_text("#says") == sample[field][0].decode()
    shown = drawn_quads(page, "#quads .steps polygon")
    assert len(shown) == (0 if name == "photos" else sample.length)
    assert complaints == []
    page.close()

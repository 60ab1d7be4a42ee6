"""The contact sheet, and the gallery page in a real browser."""

import base64
import io
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ivl_shards.pick import pick_samples
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


@pytest.fixture(scope="module")
def browser():
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("no Chromium: on Debian, apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-gpu"]
        )
        yield running
        running.close()


def canvas(page) -> np.ndarray:
    """What is drawn, (H, W, 3)."""
    url = page.evaluate("document.getElementById('view').toDataURL()")
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(url.split(",")[1]))).convert("RGB"))


@pytest.mark.browser
@pytest.mark.parametrize("name", RECIPES)
def test_the_gallery_pages_and_steps(make, run, browser, tmp_path: Path, name: str) -> None:
    dataset = make(RECIPES[name])
    assert run("ivl-shards", "preview", "data.h5", "--out", "gallery.html").returncode == 0
    page = browser.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda r: None if r.url.startswith(("file:", "data:"))
            else complaints.append(r.url))  # fmt: skip
    page.goto((tmp_path / "gallery.html").as_uri())
    page.wait_for_selector("canvas[data-shown='0:0']")
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

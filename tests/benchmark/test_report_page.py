"""The report's page in a real browser."""

import base64
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from commands import ROOT, complaints_of
from reports import FOUR, READER, THREE, copies, write


def open_page(browser, path: Path, **options) -> tuple[Any, list[str]]:
    page = browser.new_page(**options)
    complaints = complaints_of(page)
    page.goto(path.as_uri())
    page.wait_for_selector("#coloured-shapes .player[data-shown='0:0:0']")
    return page, complaints


def canvas(page, place: int) -> np.ndarray:
    """Return the pixels of a panel in the player of coloured shapes, (H, W, 3)."""
    stage = page.locator("#coloured-shapes .stage canvas").nth(place)
    url = stage.evaluate("canvas => canvas.toDataURL()")
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(url.split(",")[1]))).convert("RGB"))


@pytest.mark.browser
def test_the_page_shows_all_of_it(whole: Path, browser) -> None:
    page, complaints = open_page(browser, whole)
    assert "4 runs on 2 tasks" in page.inner_text("#summary")
    for name in ("toy-shapes", "coloured-shapes"):
        lengths, losses, *survival = page.locator(f"#{name} .chart").all()
        # The paper's two rows and our two, ours with their confidence bands.
        assert lengths.locator("path.series").count() == 4
        assert lengths.locator("path.band").count() == 2
        assert lengths.locator("rect.shade").count() == 1
        assert losses.locator("path.series").count() == 4
        assert page.locator(f"#{name} .legend >> nth=0 >> button").count() == 4
        assert page.locator(f"#{name} .legend >> nth=1 >> button").count() == 2
        for chart in survival:  # of models that take steps, with the training range shaded
            assert chart.locator("path.series").count() >= 1
            assert chart.locator("rect.shade").count() == 1
    page.click("#coloured-shapes .legend button >> nth=0")
    assert page.locator("#coloured-shapes .chart >> nth=0 >> path.series").count() == 3
    ticks = page.locator("#toy-shapes .chart >> nth=0").locator("text")
    assert "0.1" not in ticks.all_text_contents()
    page.check("#toy-shapes input[type=checkbox]")
    assert "0.1" in ticks.all_text_contents()
    assert page.locator("#leaderboard table").count() == 2  # one for each task
    assert page.locator("#leaderboard tbody tr").count() == 8
    assert complaints == []
    page.close()


@pytest.mark.browser
def test_the_page_begins_with_pictures_of_the_steps(whole: Path, browser) -> None:
    page, complaints = open_page(browser, whole)
    assert page.locator("main > section").first.get_attribute("id") == "glance"
    films = {film.get_attribute("href"): film for film in page.locator("#glance .film").all()}
    assert set(films) == {"#toy-shapes", "#coloured-shapes"}
    # The model counts three: a sample of three is right, one of five is not.
    counted = films["#coloured-shapes"]
    assert counted.locator("span").all_text_contents() == ["1", "2", "3", "end"]
    card = page.locator("#glance .card", has=page.locator("[href='#coloured-shapes']"))
    assert "it counts 3 objects" in card.inner_text() and "✓ right" in card.inner_text()
    # 300 by 150 is a canvas that nothing was drawn on.
    page.wait_for_function(
        "[...document.querySelectorAll('#glance canvas')].every(c => c.width / c.height !== 2)"
    )
    assert complaints == []
    page.close()


@pytest.mark.browser
def test_the_player_steps_as_the_model_did(whole: Path, browser) -> None:
    page, complaints = open_page(browser, whole)
    player = page.locator("#coloured-shapes .player")
    # The model counts three: samples of five are failures, and come first.
    assert [b.inner_text() for b in player.locator(".samples button").all()] == [
        "✗ 5 objects",
        "✗ 5 objects",
        "✗ 5 objects",
        "✓ 3 objects",
    ]
    assert player.locator(".predictions tbody td").all_inner_texts() == ["count", "5", "3 ✗", "4 ✗"]
    player.focus()
    for step in range(4):
        page.wait_for_selector(f"#coloured-shapes .player[data-shown='0:0:{step}']")
        _, before, delta, picked, after = (canvas(page, k).any(2) for k in range(5))
        assert before.sum() == step and before[0, :step].all()
        assert delta.sum() == 3 - step
        assert picked.sum() == (step < 3) and after.sum() == min(step + 1, 3)
        output = page.inner_text("#coloured-shapes .stage output")
        assert output == str(step + 1) if step < 3 else output.startswith("end")
        page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector("#coloured-shapes .player[data-shown='0:0:2']")
    assert page.locator(".otherwise:visible").count() == 0
    page.keyboard.press("Home")
    player.locator(".play").click()
    page.wait_for_selector("#coloured-shapes .player[data-shown='0:0:1']")
    player.locator(".samples button").last.click()
    page.wait_for_selector("#coloured-shapes .player[data-shown='0:3:0']")
    assert player.locator(".predictions tbody td").all_inner_texts() == ["count", "3", "3", "4 ✗"]
    player.locator(".strip button").nth(3).click()
    page.wait_for_selector("#coloured-shapes .player[data-shown='0:3:3']")
    assert player.locator(".next").is_disabled()
    # Without a click, keys reach the player that one looks at.
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector("#coloured-shapes .player[data-shown='0:3:2']")
    assert complaints == []
    page.close()


@pytest.mark.browser
def test_tables_sort(whole: Path, browser) -> None:
    page, complaints = open_page(browser, whole)

    board = "#leaderboard [data-task=coloured-shapes]"

    def column(k: int) -> list[str]:
        return page.locator(f"{board} tbody td:nth-child({k})").all_inner_texts()

    def scores(k: int) -> list[float]:
        """Return the scores of a column, in which those that are missing come last."""
        texts = column(k)
        known = [float(text.split()[0]) for text in texts if text != "–"]
        assert texts[len(known) :] == ["–"] * (4 - len(known))
        return known

    page.click(f"{board} thead button >> nth=2")
    assert page.locator(f"{board} th >> nth=2").get_attribute("aria-sort") == "ascending"
    shown = scores(3)
    assert 1 < len(shown) < 4 and shown == sorted(shown)
    page.focus(f"{board} thead button >> nth=2")
    page.keyboard.press("Enter")
    assert scores(3) == shown[::-1]
    page.click(f"{board} thead button >> nth=0")
    assert column(1) == sorted(column(1))
    assert complaints == []
    page.close()


@pytest.mark.browser
@pytest.mark.parametrize("width", [360, 390])
def test_on_a_phone_the_scores_are_in_sight(browser, tmp_path: Path, width: int) -> None:
    path = write(tmp_path, tmp_path / "page.html", ROOT / "results")
    page = browser.new_page(viewport={"width": width, "height": 740})
    complaints = complaints_of(page)
    page.goto(path.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for table in page.locator("#leaderboard table").all():
        # The first column stands still; all scores are beside it without scrolling.
        assert edge(table, "th:first-child") < 0.4 * width
        scores = table.locator("thead th").count() - 3  # model, seeds, samples
        assert edge(table, f"th:nth-child({1 + scores})") <= width
    for table in page.locator("section:not(#leaderboard) .scroll:visible table").all():
        assert edge(table, "th:nth-child(4)") <= width
        table.evaluate("table => { table.parentElement.scrollLeft = 1000; }")
        assert edge(table, "th:first-child") < 0.4 * width
    assert complaints == []
    page.close()


def edge(table, head: str) -> float:
    """Return where a column ends, in pixels from the left edge of the window."""
    box = table.locator(f"thead {head}").bounding_box()
    return float(box["x"] + box["width"])


@pytest.mark.browser
def test_a_report_of_trials_alone_shows_them(browser, tmp_path: Path) -> None:
    path = write(tmp_path, tmp_path / "page.html", ROOT / "results" / "ablations")
    page = browser.new_page()
    page.goto(path.as_uri())
    assert page.is_checked("#leaderboard input.trials")
    rows = page.locator("#leaderboard [data-task=coloured-shapes] tbody tr:not(.paper)")
    assert rows.count() > 1
    page.close()


@pytest.mark.browser
def test_trials_are_shown_on_demand(browser, tmp_path: Path) -> None:
    path = write(tmp_path, tmp_path / "page.html", ROOT / "results")
    page = browser.new_page()
    complaints = complaints_of(page)
    page.goto(path.as_uri())
    places = {
        # Two trials are of other test sets.
        "#leaderboard [data-task=coloured-shapes] tbody tr": (5, 10),
        "#coloured-shapes .card > .scroll:visible table[aria-label*='by number'] tbody tr": (6, 13),
        "#coloured-shapes .bar + .pair .card:nth-child(1) .legend button": (6, 13),
        "#coloured-shapes .bar + .pair .card:nth-child(2) .legend button": (6, 13),
    }

    def counts() -> list[int]:
        return [page.locator(place).count() for place in places]

    hidden, shown = map(list, zip(*places.values(), strict=True))
    assert counts() == hidden
    assert "steps=500" not in page.inner_text("main")
    page.check("#leaderboard input.trials")
    assert counts() == shown
    assert page.is_checked("#coloured-shapes input.trials")  # one switch for the whole page
    page.uncheck("#coloured-shapes input.trials")
    assert counts() == hidden
    assert page.locator("#dota-planes input.trials").count() == 0  # it has no trials
    assert complaints == []
    page.close()


@pytest.mark.browser
def test_one_table_shows_the_metric_that_is_selected(browser, tmp_path: Path) -> None:
    path = write(tmp_path, tmp_path / "page.html", ROOT / "results")
    page = browser.new_page()
    complaints = complaints_of(page)
    page.goto(path.as_uri())
    tables = "#text-blocks .card > .scroll:visible table[aria-label*='by number']"
    select = "#text-blocks select.metric"
    names = page.locator(f"{select} option").all_inner_texts()
    assert names == ["word recall", "word precision", "edit distance", "line count"]
    recall = page.inner_text(tables)
    page.select_option(select, label="edit distance")
    assert page.locator(tables).count() == 1 and page.inner_text(tables) != recall
    headings = page.locator("#text-blocks h3").all_inner_texts()
    assert headings[0] == "Edit distance in %"
    assert "Edit distance by number of lines (lower is better)" in headings
    assert page.is_visible("#text-blocks .pair input[type=checkbox]")  # a logarithmic scale
    page.select_option(select, label="word recall")
    assert page.inner_text(tables) == recall
    assert not page.is_visible("#text-blocks .pair input[type=checkbox]")
    assert complaints == []
    page.close()


@pytest.mark.browser
def test_the_page_fits_a_phone_the_dark_and_paper(whole: Path, browser) -> None:
    phone, complaints = open_page(browser, whole, viewport={"width": 360, "height": 740})
    assert phone.evaluate("document.documentElement.scrollWidth") <= 360
    assert complaints == []
    phone.close()
    page, complaints = open_page(browser, whole, color_scheme="dark")
    ground = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(ground) == "rgb(22, 22, 24)"
    page.emulate_media(media="print")
    assert page.evaluate(ground) == "rgb(255, 255, 255)"
    assert not page.is_visible("#coloured-shapes .stage")
    assert page.is_visible("#coloured-shapes .strip")
    # Whatever can be pressed says what it is.
    assert (
        page.evaluate(
            "[...document.querySelectorAll('button, input, select')].filter(one => "
            "!one.textContent && !one.ariaLabel && !one.labels?.length).length"
        )
        == 0
    )
    assert complaints == []
    page.close()


@pytest.mark.browser
def test_a_long_name_leaves_the_figures_in_sight(here: Path, browser, tmp_path: Path) -> None:
    copies(here, tmp_path / "runs", THREE, range(1))
    (result,) = (tmp_path / "runs").rglob("result.json")
    about = json.loads(result.read_text())
    about["changes"] = [f"lexicon{k} of somebody" for k in range(12)]
    result.write_text(json.dumps(about))
    path = write(here, tmp_path / "page.html", tmp_path / "runs")
    page, _ = open_page(browser, path, viewport={"width": 1200, "height": 900})
    assert "lexicon11 of somebody" in page.inner_text("table.first")
    assert page.evaluate(
        "[...document.querySelectorAll('table.first')]"
        ".every(table => table.scrollWidth <= table.parentElement.clientWidth)"
    )
    page.close()


@pytest.mark.browser
def test_twenty_runs_are_small_and_quick(here: Path, browser, tmp_path: Path) -> None:
    for name, seeds in ((THREE, range(5)), (READER, range(10)), (FOUR, range(5))):
        copies(here, tmp_path / "runs", name, seeds)
    path = write(here, tmp_path / "page.html", tmp_path / "runs", samples=6)
    assert path.stat().st_size < 15e6
    seconds = []
    for _ in range(3):  # a busy machine may be slow once
        page, complaints = open_page(browser, path)
        seconds.append(
            page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd") / 1000
        )
        assert "20 runs on 2 tasks" in page.inner_text("#summary")
        assert page.locator("#toy-shapes select:not(.metric) option").count() == 10
        page.select_option("#toy-shapes select:not(.metric)", "7")
        page.wait_for_selector("#toy-shapes .player[data-shown='7:0:0']")
        assert complaints == []
        page.close()
    assert min(seconds) < 2

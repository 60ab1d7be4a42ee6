"""The page of ICDAR scenes in a real browser."""

import pytest

from commands import complaints_of
from icdar_blocks import group_split
from icdar_blocks.page import describe_rule, write_page
from icdar_blocks.rule import LITERAL, PUBLISHED, choose
from icdar_tree import make_tree


@pytest.mark.browser
def test_scenes_show_their_blocks_and_can_be_found(tmp_path, browser) -> None:
    painted = make_tree(tmp_path, scenes=12, missing=(2,))
    write_page(group_split(tmp_path, "test"), tmp_path / "scenes.html")
    page = browser.new_page()
    complaints = complaints_of(page)
    page.goto((tmp_path / "scenes.html").as_uri())
    assert page.inner_text("#shown") == "12 of 12 scenes"
    assert page.locator("rect.word").count() == sum(map(len, painted.values()))
    assert page.locator("rect.block").count() == 24
    first = page.locator("rect.word").first
    x0, y0, x1, y1 = painted["img_1.jpg"][0].box
    drawn = [float(first.get_attribute(name)) for name in ("x", "y", "width", "height")]
    assert drawn == [x0, y0, x1 - x0, y1 - y0]

    page.select_option("#least", "3")
    assert page.inner_text("#shown") == "4 of 12 scenes"
    page.select_option("#least", "0")
    page.fill("#find", "img_2")
    assert page.locator("figure:visible b").inner_text() == "img_2 (no picture)"
    page.fill("#find", "w7x0")
    assert page.locator("figure:visible b").inner_text() == "img_7"
    page.wait_for_selector("figure:visible image")
    assert not first.is_visible()
    page.fill("#find", "")
    page.check("[data-part=words]")
    assert first.is_visible()
    assert complaints == []


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_fits_its_window_and_says_its_rule(tmp_path, browser, width: int) -> None:
    make_tree(tmp_path, scenes=6)
    write_page(group_split(tmp_path, "test"), tmp_path / "scenes.html")
    page = browser.new_page(viewport={"width": width, "height": 844})
    page.goto((tmp_path / "scenes.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.inner_text(".rule") == describe_rule(PUBLISHED)
    page.close()


def test_a_rule_is_told_in_plain_words() -> None:
    published, literal = describe_rule(PUBLISHED), describe_rule(LITERAL)
    assert "their tops differ by at most 0.5 times" in published
    assert "overlap by at least 33% of the larger one's area" in published
    assert "stretched to 2 times its height" in literal
    assert "This is done once" in literal
    for choice in ("vertical=bottoms", "horizontal=centres", "of=smaller", "growth=2.5", "rise=1"):
        assert describe_rule(choose(PUBLISHED, [choice])) != published
    assert "Rule(" not in published

"""`make docs` builds a site that is complete and works offline."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote

import pytest

from commands import ROOT, complaints_of

pytestmark = pytest.mark.skipif(
    not (find_spec("material") and find_spec("mkdocstrings")),
    reason="no mkdocs-material or mkdocstrings: pip install -c constraints.txt '.[docs]'",
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    built = subprocess.run(
        [*command, "--site-dir", folder], cwd=ROOT, capture_output=True, text=True, timeout=250
    )
    assert built.returncode == 0, built.stderr
    return folder


class Page(HTMLParser):
    """What a page links to, what it loads, and the places in it that can be linked to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name in ("id", "name") and value:
                self.places.add(value)
            elif (name, tag) == ("href", "a") and value:
                self.links.append(value)
            elif (name == "src" or (name, tag) == ("href", "link")) and value:
                self.loaded.append(value)


def test_every_link_of_the_site_leads_somewhere(site: Path) -> None:
    pages = {path: Page(path.read_text("utf-8")) for path in site.rglob("*.html")}
    assert len(pages) > 20
    for path, page in pages.items():
        if path.name == "404.html":  # its links are absolute: it is shown at any address
            continue
        for link in {*page.links, *page.loaded}:
            if re.match(r"(https?|mailto|data):", link):
                assert link not in page.loaded, f"{path.name} loads {link}"
                continue
            target, _, place = link.partition("#")
            found = (path.parent / unquote(target)).resolve() if target else path
            assert found.exists(), f"{path.name}: {link}"
            if place and found in pages:
                assert unquote(place) in pages[found].places, f"{path.name}: {link}"


def test_pages_show_pictures_results_and_the_python_interface(site: Path) -> None:
    home = Page((site / "index.html").read_text("utf-8"))
    assert "pictures/loop.jpg" in home.loaded
    assert any("curves" in each for each in Page((site / "RESULTS.html").read_text()).loaded)
    described = Page((site / "api" / "ivl_shards.html").read_text("utf-8")).places
    assert {"ivl_shards.open_dataset", "ivl_shards.Dataset.where"} <= described
    steps = Page((site / "api" / "torch_datasets.html").read_text("utf-8")).places
    assert "ivl_shards.torch_datasets.InductiveSteps" in steps


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 1280])
def test_a_page_fits_the_screen_and_fetches_nothing(browser, site: Path, width: int) -> None:
    page = browser.new_page(viewport={"width": width, "height": 800})
    complaints = complaints_of(page)
    for name in ("index", "RESULTS", "TEXTBLOCKS", "PERFORMANCE", "api/ivl_shards"):
        page.goto((site / f"{name}.html").as_uri())
        page.wait_for_load_state("networkidle")
        root = "document.documentElement"
        wider = page.evaluate(f"{root}.scrollWidth - {root}.clientWidth")
        assert wider <= 0, f"{name} is {wider} pixels wider than a screen of {width}"
    assert complaints == []
    page.close()


@pytest.mark.browser
def test_search_works_from_the_disk(browser, site: Path) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto((site / "index.html").as_uri())
    page.keyboard.press("/")
    page.keyboard.type("step map")
    page.wait_for_selector(".md-search-result__item", timeout=20_000)
    page.close()

"""What README and docs tell people to type works as it stands, and what they say is not stale."""

import re
import shlex
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PIL import Image

from benchmark.results.cards import bundled_cards, models_page
from benchmark.results.results_page import curve_pictures, read_notes, results_page
from benchmark.results.tables import read_results
from commands import ROOT, tool
from pages import (
    OTHER_PAGES,
    PAGES,
    READ_IN_ORDER,
    SLOW,
    expanded,
    made_small,
    named_files,
    read,
    steps,
)

every_page = pytest.mark.parametrize("page", [*PAGES, *OTHER_PAGES])


@pytest.fixture
def in_background(tmp_path: Path) -> Iterator[Callable[[list[str]], None]]:
    """Start a command as a shell does for `command &`; end it after the test."""
    started: list[subprocess.Popen[bytes]] = []

    def start(words: list[str]) -> None:
        started.append(
            subprocess.Popen([tool(words[0]), *words[1:]], cwd=tmp_path, stderr=subprocess.DEVNULL)
        )

    yield start
    for process in reversed(started):  # workers before their scheduler
        process.terminate()
    for process in started:
        process.wait(30)


def wait_for_port(port: int, seconds: float = 60) -> None:
    """Wait until somebody listens at a port, as who types the next command does."""
    end = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            assert time.monotonic() < end, f"nobody listens at port {port}"
            time.sleep(0.1)


def free_port() -> int:
    """Return a port that nobody listens at."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@pytest.mark.parametrize(
    "page", [pytest.param(p, marks=pytest.mark.slow) if p in SLOW else p for p in PAGES]
)
def test_every_command_works(
    page: str, run, in_background, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    PAGES[page](tmp_path)
    found = steps(page)
    assert found
    port = free_port()  # instead of Dask's own, which may be in use here
    for k, (language, line) in enumerate(found):
        if language == "python":
            exec(line, {"__name__": "__main__"})
            continue
        words = shlex.split(line.replace("tcp://127.0.0.1:8786", f"tcp://127.0.0.1:{port}"))
        if words == ["dask", "scheduler", "&"]:
            in_background([*words[:-1], "--port", str(port), "--no-dashboard"])
            wait_for_port(port)
            continue
        if words[-1] == "&":
            in_background(words[:-1])
            continue
        settings = dict(w.split("=", 1) for w in words if re.match(r"[A-Z]+=", w))
        words = made_small(words[len(settings) :], k, tmp_path)
        if words[0] == "mkdir":
            (tmp_path / words[1]).mkdir()
            continue
        result = run(*expanded(words, tmp_path), **settings)
        assert result.returncode == 0, f"{line}: {result.stderr}"


def test_no_page_is_forgotten() -> None:
    pages = {"README.md", *(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))}
    assert pages == {*PAGES, *OTHER_PAGES}


@pytest.mark.parametrize("page", [page for page in PAGES if page not in READ_IN_ORDER])
def test_every_python_example_works(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = re.findall(r"```python\n(.*?)```", read(page), re.DOTALL)
    files = named_files(page).values()  # these are run as commands
    if examples := [text for text in found if text not in files]:
        PAGES[page](tmp_path)
    for example in examples:
        exec(example.replace("20_000", "24"), {"__name__": "__main__"})


@every_page
def test_every_link_leads_somewhere(page: str) -> None:
    for target in re.findall(r'(?:\]\(|src=")([^)"]+)[)"]', read(page)):
        if target.startswith("https://"):
            continue
        path, _, anchor = target.partition("#")
        found = (ROOT / page).parent.joinpath(path) if path else ROOT / page
        assert found.exists(), target
        assert not anchor or anchor in anchors(found.read_text("utf-8")), target


def anchors(text: str) -> set[str]:
    """Return the names that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize(
    "page", ["docs/ARCHITECTURE.md", "docs/CONTRIBUTING.md", "docs/PROTOCOL.md", "docs/SECURITY.md"]
)
def test_files_that_a_page_names_exist(page: str) -> None:
    named = re.findall(r"`(\w+/[\w./]*)`", read(page))
    # Folders inside a package are named without it.
    packages = (ROOT, ROOT / "ivl_shards", ROOT / "benchmark", ROOT / "textblocks_gen")
    missing = [path for path in named if not any((each / path).exists() for each in packages)]
    assert named
    assert missing == []


# --- what would go stale -------------------------------------------------------------------


def test_the_tables_are_those_of_the_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "tools")
    import readme_results

    results = read_results(ROOT / "results")
    assert (
        read("docs/RESULTS.md").strip()
        == results_page(results, read_notes(ROOT / "results")).strip()
    ), "make readme"
    assert curve_pictures(results) == {
        f"curves/{path.name}": path.read_text("utf-8") for path in ROOT.glob("docs/curves/*")
    }, "make readme"
    assert read("README.md") == readme_results.filled(read("README.md"), results), "make readme"


def test_the_model_cards_are_those_of_the_weights() -> None:
    assert read("docs/MODELS.md") == models_page(bundled_cards(ROOT / "results")), "make readme"


def test_pictures_are_small_and_made_by_their_script(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs" / "pictures")
    import make

    kept = {path.stem: path for path in (ROOT / "docs" / "pictures").glob("*.jpg")}
    assert set(kept) == set(make.PICTURES)
    assert sum(path.stat().st_size for path in kept.values()) < 1_500_000
    for name in ("coloured-shapes", "dota-planes", "icdar-blocks"):
        made = make.PICTURES[name](tmp_path)
        assert made.size == Image.open(kept[name]).size

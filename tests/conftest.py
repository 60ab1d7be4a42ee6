"""What tests share: tiny datasets made by one helper, and the tools run as a user runs them."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

import shapes_gen
from commands import tool
from ivl_shards import Dataset, generate, open_dataset
from photos import PHOTOS, PhotoRecipe

# Tests draw with the faces of the pinned Python packages, whatever fonts are installed here.
os.environ["IVL_FONTS"] = "/nonexistent"

# Tests that go side by side have a core each; torch reads this when it is first imported.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")

# Time limits of single examples would make tests fail on a busy machine.
settings.register_profile("ivl", deadline=None)
settings.load_profile("ivl")

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Dataset]:
    """Make a dataset from a recipe and open it."""

    def made(recipe, name: str = "data.h5", **options) -> Dataset:
        path = tmp_path / name
        options.setdefault("workers", 1)
        if isinstance(recipe, PhotoRecipe):
            generate(PHOTOS, recipe, path, **options)
        else:
            shapes_gen.generate(recipe, path, **options)
        return open_dataset(path)

    return made


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run an installed command in the test's folder."""

    def ran(command: str, *arguments: object, timeout: float = 120, **environment: str):
        return subprocess.run(
            [tool(command), *map(str, arguments)],
            cwd=tmp_path,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=timeout,
        )

    return ran


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Four font packages in a folder, and a stand-in for npm that installs them from there."""
    from font_files import make_client, make_shelf, on_path

    entries = make_shelf(tmp_path / "shelf")
    for name, value in on_path(make_client(tmp_path / "bin"), tmp_path / "shelf").items():
        monkeypatch.setenv(name, value)
    return tmp_path / "shelf", entries


@pytest.fixture(scope="module")
def browser():
    """The system's Chromium, headless."""
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


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with runs of tiny models, to report on."""
    from reports import make_runs, standard_test_sets  # which bring torch along

    folder = make_runs(tmp_path_factory.mktemp("report"))
    with standard_test_sets(folder / "data"):
        yield folder


@pytest.fixture(scope="module")
def whole(here: Path) -> Path:
    """The page of all these runs."""
    from reports import write

    return write(here, here / "page.html", here / "runs")

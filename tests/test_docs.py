"""What README and docs tell people to type works as it stands."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

import shapes_gen
import textblocks_gen
from dota_root import add_image, label_lines, make_root, squares
from font_files import SOURCES, small_font
from icdar_tree import make_tree
from shapes_gen import ColouredRecipe, ToyRecipe
from textblocks_gen import TextRecipe

ROOT = Path(__file__).parents[1]


def given_datasets(folder: Path) -> None:
    shapes_gen.generate(ColouredRecipe((3, 10), 70), folder / "test.h5", workers=1)
    shapes_gen.generate(ToyRecipe((1, 3), 4), folder / "toy-test.h5", workers=1)
    textblocks_gen.generate(TextRecipe((1, 3), 4), folder / "text.h5", workers=1)

    (folder / "data").mkdir()
    for split in ("train", "test"):
        coloured = ColouredRecipe((1, 2), 24, split=split, size=48)
        shapes_gen.generate(coloured, folder / f"data/coloured-shapes-{split}.h5", workers=1)
        toy = ToyRecipe((2,), 24, split=split)
        shapes_gen.generate(toy, folder / f"data/toy-shapes-{split}.h5", workers=1)


def given_nothing(folder: Path) -> None:
    pass


def given_fonts(folder: Path) -> None:
    (folder / "my-fonts").mkdir()
    (folder / "my-fonts" / "mine.ttf").write_bytes(small_font(SOURCES[0]))


def given_dota(folder: Path) -> None:
    for split in ("train", "val"):
        make_root(folder / "DOTA", images=1, split=split)
    ships = squares(9)
    add_image(folder / "DOTA", "P0009", ships).write_text(label_lines(ships, "ship"))
    make_root(folder / "data" / "dota", images=1)  # where it is looked for by default


def given_icdar(folder: Path) -> None:
    for split in ("train", "test"):
        make_tree(folder / "ICDAR2013", split, scenes=4)
    (folder / "boxes.txt").write_text('0, 1, 50, 21, "Mind"\n60, 0, 90, 20, "gap"\n')


# Each page, and what its reader has beforehand.
PAGES: dict[str, Callable[[Path], None]] = {
    "README.md": given_datasets,
    "docs/SHARDS.md": given_datasets,
    "docs/SHAPES.md": given_nothing,
    "docs/TEXTBLOCKS.md": given_nothing,
    "docs/FONTS.md": given_fonts,
    "docs/DOTA.md": given_dota,
    "docs/ICDAR.md": given_icdar,
}
# What cannot be run here: `make` runs these tests, and the others go over the network.
NOT_RUN = ("make ", "pip ", "ivl-fonts install")
every_page = pytest.mark.parametrize("page", PAGES)


def read(page: str) -> str:
    return (ROOT / page).read_text("utf-8")


def commands(page: str) -> list[str]:
    """The lines of plain blocks; what tools print is in blocks of `text`."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", read(page), re.DOTALL | re.MULTILINE)
    lines = [line for language, block in blocks if not language for line in block.splitlines()]
    typed = [line.split("#")[0].strip() for line in lines]
    return [line for line in typed if line and not line.startswith(NOT_RUN)]


def made_small(words: list[str], k: int) -> list[str]:
    """The same command with fewer samples, and results under names of their own."""
    words = [f"out-{k}" if word == "out/" else word for word in words]
    for option, number in (("--n", "2"), ("--total", "24")):
        if option in words:
            words[words.index(option) + 1] = number
    if words[0] in ("shapes-gen", "textblocks-gen"):
        words[-1] = f"{k}.h5"
    if words[:2] == ["ivl-bench", "run"]:
        words += ["--set", "steps=2", "--set", "batch=2", "--threads", "1"]
    if words[:2] == ["ivl-bench", "eval"]:
        words += ["--n", "1", "--threads", "1"]
    return words


@every_page
def test_every_command_works(page: str, run, tmp_path: Path) -> None:
    PAGES[page](tmp_path)
    found = commands(page)
    assert len(found) >= 3
    for k, line in enumerate(found):
        result = run(*made_small(shlex.split(line), k))
        assert result.returncode == 0, f"{line}: {result.stderr}"


@every_page
def test_every_python_example_works(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    PAGES[page](tmp_path)
    for example in re.findall(r"```python\n(.*?)```", read(page), re.DOTALL):
        exec(example.replace("20_000", "24"), {})


@pytest.mark.parametrize("page", [*PAGES, "docs/FORMAT.md"])
def test_every_link_leads_somewhere(page: str) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", read(page)):
        if not target.startswith("https://"):
            assert (ROOT / page).parent.joinpath(target).exists(), target

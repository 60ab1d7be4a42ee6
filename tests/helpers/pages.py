"""The pages of the docs: their examples, and what their readers have beforehand."""

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from PIL import Image

import icdar_blocks
import shapes_gen
import textblocks_gen
from commands import ROOT, own_data, tool
from dota_root import add_image, label_lines, make_root, squares
from font_files import SOURCES, small_font
from icdar_tree import make_tree
from ivl_shards import open_dataset
from ivl_shards.export.formats import export
from shapes_gen import ColouredRecipe, ToyRecipe
from textblocks_gen import TextRecipe


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


def given_export(folder: Path) -> None:
    given_datasets(folder)
    dataset = open_dataset(folder / "test.h5")
    list(export(dataset, "parquet", folder / "coloured-parquet"))


def given_nothing(folder: Path) -> None:
    pass


def given_novel(folder: Path) -> None:
    (folder / "novel.txt").write_text("Déjà vu: the café on the corner was open. " * 9, "utf-8")


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


def given_files_of_extend(folder: Path) -> None:
    """The files that docs/EXTEND.md shows, and data for what it adds a model and a metric to."""
    for name, text in named_files("docs/EXTEND.md").items():
        (folder / name).write_text(text, "utf-8")
    Image.new("RGB", (90, 60), "white").save(folder / "photo.jpg")
    given_datasets(folder)


def given_text(folder: Path) -> None:
    """Data for all tasks, a photograph, and somebody's result."""
    given_datasets(folder)
    for split in ("train", "test"):
        recipe = TextRecipe((1, 2), 12, split=split)
        textblocks_gen.generate(recipe, folder / f"data/text-blocks-{split}.h5", workers=1)
        make_tree(folder / "ICDAR2013", split, scenes=6)
        plan = icdar_blocks.plan_dataset(icdar_blocks.group_split(folder / "ICDAR2013", split))
        icdar_blocks.generate(plan, folder / f"data/icdar-blocks-{split}.h5", workers=1)
    Image.new("RGB", (90, 60), "white").save(folder / "photo.jpg")
    (folder / "results").mkdir()
    found = next((ROOT / "results").rglob("*.json"))
    shutil.copyfile(found, folder / "results" / "mine.json")


# Each page, and what its reader has beforehand.
PAGES: dict[str, Callable[[Path], None]] = {
    "README.md": given_nothing,
    "docs/TUTORIAL.md": given_nothing,
    "docs/SHARDS.md": given_export,
    "docs/SHAPES.md": given_nothing,
    "docs/TEXTBLOCKS.md": given_novel,
    "docs/FONTS.md": given_fonts,
    "docs/DOTA.md": given_dota,
    "docs/ICDAR.md": given_icdar,
    "docs/BENCHMARK.md": given_text,
    "docs/EXTEND.md": given_files_of_extend,
    "docs/CONTRIBUTING.md": given_nothing,
}
# These train: they take longer than a few seconds.
SLOW = ("README.md", "docs/TUTORIAL.md", "docs/BENCHMARK.md", "docs/EXTEND.md")
# Their Python examples use what the commands before them have written.
READ_IN_ORDER = ("README.md", "docs/TUTORIAL.md")
# Pages without commands, and why their examples are in order nevertheless.
OTHER_PAGES = {
    "docs/ARCHITECTURE.md": "has none; test_imports.py checks who imports whom",
    "docs/PROTOCOL.md": "its example is run by test_predictions.py",
    "docs/SCALE.md": "has none; perf/scale.py measures what it says",
    "docs/FORMAT.md": "its examples are run by test_third_party_tools.py",
    "docs/SECURITY.md": "has none; what it says is tested where it names the tests",
    "docs/RESULTS.md": "written from results/, see below",
    "docs/MODELS.md": "written from the weights and results/, see below",
    "docs/experiments.md": "has no examples: tables of what was tried",
    "docs/PERFORMANCE.md": "written by make perf",
}
# What is not run here, and why.
NOT_RUN = {
    "make ": "make test runs these tests; the other targets take minutes",
    "pip ": "goes over the network, and make test has done it",
    "ivl-fonts install": "downloads hundreds of megabytes; test_fonts_install.py has a small one",
    "ivl-bench crossval": "trains on DOTA for an hour; test_validation.py has a small one",
    "ivl-bench eval --model ocr": "reads for minutes; test_baselines.py has a short one",
}


def read(page: str) -> str:
    return (ROOT / page).read_text("utf-8")


def named_files(page: str) -> dict[str, str]:
    """The examples whose first line is a comment with the name of a file."""
    found = re.findall(r"```python\n(# (\w+\.py)\n.*?)```", read(page), re.DOTALL)
    return {name: text for text, name in found}


def steps(page: str) -> list[tuple[str, str]]:
    """Return what a reader of a page does, in order: ("", a command) or ("python", an example).

    Commands are the lines of plain blocks. Python examples are among the steps of pages that are
    read in order, and what they print follows as ("text", …) where the page shows it.
    """
    found = []
    for language, block in re.findall(
        r"^```(\w*)\n(.*?)^```", read(page), re.DOTALL | re.MULTILINE
    ):
        if language == "":
            typed = [line.split("#")[0].strip() for line in block.splitlines()]
            found += [("", each) for each in typed if each and not each.startswith(tuple(NOT_RUN))]
        is_example = language == "python" and page in READ_IN_ORDER
        is_output = language == "text" and found and found[-1][0] == "python"
        if is_example or is_output:
            found.append((language, block))
    return found


def made_small(words: list[str], k: int, folder: Path) -> list[str]:
    """Return the same command with fewer samples, and another name for a file that exists."""
    words = [f"out-{k}" if word == "out/" else word for word in words]
    for option, number in (("--n", "2"), ("--total", "24")):
        if option in words:
            words[words.index(option) + 1] = number
    if words[0] in ("shapes-gen", "textblocks-gen") and (folder / words[-1]).exists():
        words[-1] = f"{k}.h5"
    if "run" in words[:6] and words[0] in ("ivl-bench", "torchrun"):
        task = words[words.index("--task") + 1] if "--task" in words else "toy-shapes"
        words += ["--set", "steps=2", "--set", "batch_size=2", "--threads", "1"]
        if "--train" not in words and "--plugin" not in words:  # smaller than the task's own
            own = own_data(Path("data"), task)
            words += own[: own.index("--test")] if "--split" in words else own
        if task == "icdar-blocks":
            words += ["--set", "synthetic=0"]
    if "eval" in words[:4] and words[0] == "ivl-bench":
        words += ["--n", "1", "--threads", "1"]
    return words


def expanded(words: list[str], folder: Path) -> Iterator[str]:
    """What a shell makes of the words: files for stars, and the scripts of our environment."""
    for word in words:
        if "*" in word:
            yield from sorted(str(path.relative_to(folder)) for path in folder.glob(word))
        elif word.startswith("tests/"):
            yield str(ROOT / word)
        elif word == "ivl-bench" and words[0] == "torchrun":
            yield tool(word)  # torchrun looks it up on the PATH
        else:
            yield word.removeprefix(".venv/bin/")

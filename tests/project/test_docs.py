"""What README and docs tell people to type works as it stands, and what they say is not stale."""

import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PIL import Image

import icdar_blocks
import shapes_gen
import textblocks_gen
from benchmark.data.batches import data_file
from benchmark.results.cards import bundled_cards, models_page
from benchmark.results.tables import read_remarks, read_results, results_curves, results_page
from benchmark.tasks import find_task
from commands import ROOT
from dota_root import add_image, label_lines, make_root, squares
from font_files import SOURCES, small_font
from icdar_tree import make_tree
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
    scenes = TextRecipe((1, 2), 12, split="train", style="scene")
    task = find_task("icdar-blocks")
    assert task.synthetic is not None
    textblocks_gen.generate(scenes, data_file(task, task.synthetic, folder / "data"), workers=1)
    Image.new("RGB", (90, 60), "white").save(folder / "photo.jpg")
    (folder / "results").mkdir()
    found = next((ROOT / "results").rglob("*.json"))
    shutil.copyfile(found, folder / "results" / "mine.json")


# Each page, and what its reader has beforehand.
PAGES: dict[str, Callable[[Path], None]] = {
    "README.md": given_files_of_extend,
    "docs/SHARDS.md": given_datasets,
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
SLOW = ("README.md", "docs/BENCHMARK.md", "docs/EXTEND.md")
# Pages without commands, and why their examples are in order nevertheless.
OTHER_PAGES = {
    "docs/ARCHITECTURE.md": "has none; test_imports.py checks who imports whom",
    "docs/FORMAT.md": "its examples are run by test_third_party_tools.py",
    "docs/SECURITY.md": "has none; what it says is tested where it names the tests",
    "docs/RESULTS.md": "written from results/, see below",
    "docs/MODELS.md": "written from the weights and results/, see below",
    "docs/PERFORMANCE.md": "written by make perf",
}
# What is not run here, and why.
NOT_RUN = {
    "make ": "make test runs these tests; the other targets take minutes",
    "pip ": "goes over the network, and make test has done it",
    "ivl-fonts install": "downloads hundreds of megabytes; test_fonts_install.py has a small one",
    "ivl-bench eval --model ocr": "reads for minutes; see test_bench_baselines.py",
}
every_page = pytest.mark.parametrize("page", PAGES)


def read(page: str) -> str:
    return (ROOT / page).read_text("utf-8")


def named_files(page: str) -> dict[str, str]:
    """The examples whose first line is a comment with the name of a file."""
    found = re.findall(r"```python\n(# (\w+\.py)\n.*?)```", read(page), re.DOTALL)
    return {name: text for text, name in found}


def commands(page: str) -> list[str]:
    """The lines of plain blocks; what tools print is in blocks of `text`."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", read(page), re.DOTALL | re.MULTILINE)
    lines = [line for language, block in blocks if not language for line in block.splitlines()]
    typed = [line.split("#")[0].strip() for line in lines]
    return [line for line in typed if line and not line.startswith(tuple(NOT_RUN))]


def made_small(words: list[str], k: int) -> list[str]:
    """The same command with fewer samples, and results under names of their own."""
    words = [f"out-{k}" if word == "out/" else word for word in words]
    for option, number in (("--n", "2"), ("--total", "24")):
        if option in words:
            words[words.index(option) + 1] = number
    if words[0] in ("shapes-gen", "textblocks-gen"):
        words[-1] = f"{k}.h5"
    if words[:2] == ["ivl-bench", "run"] or words[0] == "torchrun":
        words += ["--set", "steps=2", "--set", "batch=2", "--threads", "1"]
    if words[:2] == ["ivl-bench", "eval"]:
        words += ["--n", "1", "--threads", "1"]
    return words


def expanded(words: list[str], folder: Path) -> Iterator[str]:
    """What a shell makes of the words: files for stars, and the scripts of our environment."""
    for word in words:
        if "*" in word:
            yield from sorted(str(path.relative_to(folder)) for path in folder.glob(word))
        elif word.startswith("tests/"):
            yield str(ROOT / word)
        else:
            yield word.removeprefix(".venv/bin/")


@pytest.fixture
def scheduler() -> Iterator[str]:
    """The address of a Dask cluster that is as small as can be."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=":0", silence_logs=50
    ) as cluster:
        yield cluster.scheduler_address


@pytest.mark.parametrize(
    "page", [pytest.param(p, marks=pytest.mark.slow) if p in SLOW else p for p in PAGES]
)
def test_every_command_works(
    page: str, run, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    PAGES[page](tmp_path)
    found = commands(page)
    assert found
    for k, line in enumerate(found):
        if "tcp://host:8786" in line:
            line = line.replace("tcp://host:8786", request.getfixturevalue("scheduler"))
        words = shlex.split(line)
        settings = dict(w.split("=", 1) for w in words if re.match(r"[A-Z]+=", w))
        words = made_small(words[len(settings) :], k)
        if words[0] == "mkdir":
            (tmp_path / words[1]).mkdir()
            continue
        result = run(*expanded(words, tmp_path), **settings)
        assert result.returncode == 0, f"{line}: {result.stderr}"


def test_no_page_is_forgotten() -> None:
    pages = {"README.md", *(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))}
    assert pages == {*PAGES, *OTHER_PAGES}


@every_page
def test_every_python_example_works(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = re.findall(r"```python\n(.*?)```", read(page), re.DOTALL)
    files = named_files(page).values()  # these are run as commands
    if examples := [text for text in found if text not in files]:
        PAGES[page](tmp_path)
    for example in examples:
        exec(example.replace("20_000", "24"), {})


@pytest.mark.parametrize("page", [*PAGES, *OTHER_PAGES])
def test_every_link_leads_somewhere(page: str) -> None:
    for target in re.findall(r'(?:\]\(|src=")([^)"#]+)[)"]', read(page)):
        if not target.startswith("https://"):
            assert (ROOT / page).parent.joinpath(target).exists(), target


# --- what would go stale -------------------------------------------------------------------


def test_the_tables_are_those_of_the_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs")
    import readme_results

    results = read_results(ROOT / "results")
    assert (
        read("docs/RESULTS.md").strip()
        == results_page(results, read_remarks(ROOT / "results")).strip()
    ), "make readme"
    assert results_curves(results) == {
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

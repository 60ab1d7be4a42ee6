"""What README and docs tell people to type works as it stands."""

import re
import shlex
from pathlib import Path

import pytest

import shapes_gen
import textblocks_gen
from shapes_gen import ColouredRecipe, ToyRecipe
from textblocks_gen import TextRecipe

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    *(ROOT / "docs" / name for name in ("SHARDS.md", "SHAPES.md", "TEXTBLOCKS.md")),
]


def commands(page: Path) -> list[str]:
    blocks = re.findall(r"```\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
    lines = [line.split("#")[0].strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line and not line.startswith("make ")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_works(page: Path, run, tmp_path: Path) -> None:
    shapes_gen.generate(ColouredRecipe((3, 10), 4), tmp_path / "given.h5", workers=1)
    shapes_gen.generate(ToyRecipe((1, 3), 4), tmp_path / "toy-test.h5", workers=1)
    textblocks_gen.generate(TextRecipe((1, 3), 4), tmp_path / "text.h5", workers=1)
    found = commands(page)
    assert len(found) >= 3
    for k, line in enumerate(found):
        words = shlex.split(line)
        if words[0] in ("shapes-gen", "textblocks-gen"):
            # The same command with fewer samples, under a name of its own.
            numbers = [i + 1 for i, word in enumerate(words) if word in ("--n", "--total")]
            words[numbers[0]] = "2" if "--n" in words else "24"
            words[-1] = f"{k}.h5"
        else:
            words = [f"out-{k}" if word == "out/" else word for word in words]
            words = ["given.h5" if word == "test.h5" else word for word in words]
        result = run(*words)
        assert result.returncode == 0, f"{line}: {result.stderr}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_python_example_works(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shapes_gen.generate(ColouredRecipe((3, 10), 70), "test.h5", workers=1)
    for example in re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL):
        exec(example, {})


@pytest.mark.parametrize("page", [*PAGES, ROOT / "docs" / "FORMAT.md"], ids=lambda p: p.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text("utf-8")):
        if not target.startswith("https://"):
            assert (page.parent / target).exists(), target

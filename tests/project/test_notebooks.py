"""The notebooks in docs/notebooks run from top to bottom and print what they show."""

import contextlib
import io
import os
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from commands import ROOT

NOTEBOOKS = ROOT / "docs" / "notebooks"
WHOLE = os.environ.get("IVL_NOTEBOOKS") == "whole"
"""Whether to train the counter as long as its notebook does: minutes."""


def run(name: str, folder: Path, **changes: str) -> list[tuple[str, str | None]]:
    """Run the cells of a notebook in one namespace.

    Return what each printed, with what the notebook shows below the cell. `changes` are other
    values for names in capitals.
    """
    text = (NOTEBOOKS / name).read_text("utf-8")
    for variable, value in changes.items():
        text, found = re.subn(
            rf"^{variable} = [^#\n]*", f"{variable} = {value}  ", text, flags=re.M
        )
        assert found == 1, variable
    cells = re.findall(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", text, re.S | re.M)
    assert cells
    namespace = {"__name__": "__main__"}
    results = []
    for code, shown in cells:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, namespace)
        results.append((printed.getvalue(), shown or None))
    return results


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    return tmp_path


def assert_same_picture(made: Path, kept: Path) -> None:
    """The picture of the page is the one that its code draws, up to rounding and fonts."""
    first, second = (np.asarray(Image.open(path).convert("L"), float) for path in (made, kept))
    assert first.shape == second.shape
    assert np.abs(first - second).mean() < 2


@pytest.mark.slow
def test_memory(folder: Path) -> None:
    for printed, shown in run("memory.md", folder):
        assert shown is None or printed == shown
    assert_same_picture(folder / "steps.png", NOTEBOOKS / "steps.png")


@pytest.mark.slow
def test_reuse(folder: Path) -> None:
    pytest.importorskip("datasets")
    results = run("reuse.md", folder)
    assert sum(shown is not None for _, shown in results) >= 4
    for printed, shown in results:
        assert shown is None or printed == shown


@pytest.mark.slow
@pytest.mark.timeout(3600 if WHOLE else 300)
def test_counter(folder: Path) -> None:
    changes = {} if WHOLE else {"STEPS": "4", "PER_COUNT": "1"}
    results = run("counter.md", folder, **changes)
    assert (folder / "missed.png").exists()
    table = next(printed for printed, _ in results if printed.startswith("objects"))
    exact = {int(row.split()[0]): float(row.split()[1][:-1]) for row in table.splitlines()[1:]}
    assert list(exact) == [3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20]
    if WHOLE:
        assert min(exact[n] for n in (3, 4, 5)) > 90
        assert exact[20] < 90  # what the page says it cannot do


def test_the_counter_is_short() -> None:
    """The model and the loop that counts take 40 lines, as the page says."""
    text = (NOTEBOOKS / "counter.md").read_text("utf-8")
    code = re.findall(r"^```python\n(.*?)^```", text, re.S | re.M)
    wanted = [cell for cell in code if "class Counter" in cell or "optimizer.step()" in cell]
    lines = [line for cell in wanted for line in cell.splitlines() if line.strip()]
    assert len(wanted) == 2
    assert len(lines) <= 40

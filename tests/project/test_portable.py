"""What runs on Linux runs on Windows and macOS: nothing of ours needs a POSIX system."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import shapes_gen
from commands import HELPERS, ROOT
from ivl_shards import open_dataset
from shapes_gen import ColouredRecipe, ToyRecipe

PACKAGES = (
    *("ivl_shards", "fonts", "textblocks_gen", "shapes_gen", "dota_crops", "icdar_blocks"),
    *("benchmark", "ivl_launch"),
)
# Imported before anything is taken away: they chose their code for this system.
THIRD_PARTIES = (
    *("concurrent.futures.process", "h5py", "numpy", "cv2", "PIL.Image", "numba", "click", "tqdm"),
    *("filelock", "matplotlib.font_manager", "multiprocessing.connection", "pyvips", "shapely"),
    *("tempfile", "uharfbuzz", "zlib_ng.zlib_ng"),
)

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/fd").exists(), reason="looks up open files in Linux's /proc"
)


def like_windows(code: str, folder: Path, *, torch: bool = False) -> str:
    """Run code in an interpreter that pretends to run on Windows; return what it printed."""
    third_parties = (*THIRD_PARTIES, "torch", "torch.distributed") if torch else THIRD_PARTIES
    prelude = f"import like_windows; like_windows.pretend({third_parties!r})\n"
    path = os.pathsep.join([str(ROOT), str(HELPERS)])
    ran = subprocess.run(
        [sys.executable, "-c", prelude + code],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=250,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def every_module() -> list[str]:
    found = ["ivl_launch"]
    for package in PACKAGES[:-1]:
        for path in (ROOT / package).rglob("*.py"):
            parts = path.relative_to(ROOT).with_suffix("").parts
            if parts[-1] not in ("__init__", "__main__"):
                found.append(".".join(parts))
    return found


@pytest.mark.slow
def test_every_module_is_imported_without_posix(tmp_path: Path) -> None:
    code = f"""
import importlib
for name in {every_module()!r}:
    importlib.import_module(name)
print("imported")
"""
    assert like_windows(code, tmp_path, torch=True) == "imported\n"


def test_a_dataset_is_read_and_verified_without_posix(tmp_path: Path) -> None:
    shapes_gen.generate(ToyRecipe((1, 3), 8), tmp_path / "toy.h5", workers=1, shard_size=3)
    shapes_gen.generate(ColouredRecipe((3, 5), 4), tmp_path / "one.h5", workers=1)
    code = """
import json
from pathlib import Path
from ivl_shards import open_dataset
from ivl_shards.inspect.verify import problems

found = {}
for name in ("toy.h5", "one.h5"):
    dataset = open_dataset(name)
    sample = dataset[-1]
    found[name] = [len(dataset), int(sample.image.sum()), float(sample.memory(1).sum())]
    assert list(problems(Path(name))) == []
print(json.dumps(found))
"""
    found = json.loads(like_windows(code, tmp_path))
    for name, (samples, pixels, memory) in found.items():
        dataset = open_dataset(tmp_path / name)
        sample = dataset[-1]
        assert samples == len(dataset)
        assert pixels == int(sample.image.sum())
        assert memory == float(sample.memory(1).sum())


def test_a_dataset_is_generated_and_exported_without_posix(tmp_path: Path) -> None:
    shapes_gen.generate(ToyRecipe((1, 3), 8), tmp_path / "here.h5", workers=1, shard_size=3)
    code = """
import shapes_gen
from pathlib import Path
from ivl_shards import open_dataset
from ivl_shards.cli import cli

for _ in range(2):
    shapes_gen.generate(shapes_gen.ToyRecipe((1, 3), 8), "toy.h5", workers=1, shard_size=3)
shapes_gen.generate(shapes_gen.ColouredRecipe((3, 5), 4), "one.h5", workers=1)
for arguments in (
    ("info", "toy.h5"),
    ("verify", "toy.h5"),
    ("preview", "toy.h5", "--out", "sheet.png"),
    ("export", "toy.h5", "--format", "files", "out"),
    ("card", "toy.h5"),
):
    cli(arguments, standalone_mode=False)
"""
    like_windows(code, tmp_path)
    made, here = (open_dataset(tmp_path / name) for name in ("toy.h5", "here.h5"))
    assert made.attributes["content_sha256"] == here.attributes["content_sha256"]
    assert len(list((tmp_path / "out").glob("[0-9]*.json"))) == 8
    left = {path.name for path in tmp_path.iterdir()}
    assert not [name for name in left if name.endswith((".tmp", ".lock"))]
    folders = [path for path in tmp_path.iterdir() if path.is_dir() and path.suffix == ".shards"]
    assert all(child.suffix == ".h5" for folder in folders for child in folder.iterdir())


def test_the_pretence_would_be_noticed(tmp_path: Path) -> None:
    """Code that needs POSIX fails in the pretended interpreter."""
    for code in (
        "import fcntl",
        "import os; os.pread",
        "import os; os.open('.', os.O_RDONLY)",
        "f = open('a', 'w'); import os; os.replace('a', 'b')",
        "import signal; signal.SIGHUP",
    ):
        with pytest.raises(AssertionError, match="Error"):
            like_windows(code, tmp_path)

"""Crafted and damaged datasets: every command ends in lines, in time, in bounds, at home."""

import os
import shutil
import sys
from pathlib import Path

import pytest

import shapes_gen
from crafted import ACCEPTED, KINDS, craft, flip, reseal
from fuzzing import LONG, cases, untouched, watched
from given import make_given
from ivl_shards import UserError, cli, open_dataset
from shapes_gen import ColouredRecipe

pytestmark = [pytest.mark.fuzz, pytest.mark.slow]

COMMANDS = (
    ("info", "data.h5"),
    ("info", "--json", "data.h5"),
    ("verify", "data.h5"),
    ("card", "--quiet", "data.h5"),
    ("preview", "data.h5", "--out", "sheet.png"),
    ("preview", "data.h5", "--out", "page.html"),
    *(("export", "--quiet", "--format", f, "data.h5", f) for f in ("files", "coco", "webdataset")),
)


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sound datasets to be changed, and a file that none of them may touch."""
    folder = tmp_path_factory.mktemp("bases")
    for name in ("coloured", "toy", "photos", "dense"):
        (folder / name).mkdir()
        make_given(name, folder / name)
    (folder / "index").mkdir()
    shapes_gen.generate(
        ColouredRecipe((1, 2), 12), folder / "index" / "data.h5", workers=1, shard_size=6
    )
    (folder / "secret").mkdir()
    shutil.copy(folder / "coloured" / "data.h5", folder / "secret" / "secret.h5")
    return folder


def command(folder: Path, *arguments: str) -> None:
    os.chdir(folder)
    sys.argv = ["ivl-shards", *arguments]
    cli.main()


def read_all(folder: Path) -> None:
    """Read a dataset as a program would."""
    try:
        dataset = open_dataset(folder / "data.h5")
        for sample in dataset:
            assert sample.memory(0).shape == sample.image.shape[:2]
        for batch in dataset.batches(4, shuffle=0, fields=["image"]):
            assert len(batch["image"])
    except UserError:
        sys.exit(2)


def check(folder: Path, commands: tuple[tuple[str, ...], ...], secret: Path) -> set[int | None]:
    """Run commands on a dataset; their exit codes."""
    codes = set()
    with untouched(secret):
        for arguments in commands:
            outcome = watched(lambda arguments=arguments: command(folder, *arguments))
            outcome.check(lines=21 if arguments[0] == "verify" else None)
            assert not [path for path in outcome.opened if is_foreign(path, folder)]
            codes.add(outcome.code)
    left = [path.name for path in folder.iterdir() if path.name.endswith(".tmp")]
    assert not left
    return codes


def is_foreign(path: str, folder: Path) -> bool:
    """Whether a file is neither in the dataset's folder nor of Python and its packages."""
    known = (folder, sys.prefix, sys.base_prefix, "/dev/", "/proc/", "/usr/", "/sys/", "/etc/ld.so")
    ours = Path(cli.__file__).parents[1]
    return Path(path).is_absolute() and not path.startswith(tuple(map(str, (*known, ours))))


def test_there_are_many_kinds() -> None:
    assert len(KINDS) >= 200


@pytest.mark.parametrize("share", range(8))
def test_crafted_files(bases: Path, tmp_path: Path, share: int) -> None:
    secret = bases / "secret" / "secret.h5"
    for k, name in list(enumerate(KINDS))[share :: 8 if LONG else 160]:
        kind = KINDS[name]
        folder = tmp_path / "case"
        shutil.copytree(bases / kind.base, folder)
        craft(folder / "data.h5", kind, secret)
        # Every command sees one kind in seven; every kind, two commands and the reader.
        some = (("verify", "data.h5"), COMMANDS[k % len(COMMANDS)])
        try:
            codes = check(folder, COMMANDS if k % 7 == 0 else some, secret)
            watched(lambda folder=folder: read_all(folder)).check()
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from None
        if name in ACCEPTED:
            assert codes <= {0, 1}, name  # 1: what was sealed anew has another content
        shutil.rmtree(folder)


@pytest.mark.parametrize("base", ["coloured", "toy", "photos", "dense", "index"])
def test_changed_bytes(bases: Path, tmp_path: Path, base: str) -> None:
    secret = bases / "secret" / "secret.h5"
    for seed in cases(6, 300):
        folder = tmp_path / str(seed)
        shutil.copytree(bases / base, folder)
        flip(folder / "data.h5", seed)
        try:
            # Not by the reader in this process: some of these make HDF5 itself crash or hang,
            # which only a process of its own survives, as every command has.
            check(folder, (COMMANDS[seed % len(COMMANDS)], ("verify", "data.h5")), secret)
        except AssertionError as error:
            raise AssertionError(f"{base}, seed {seed}: {error}") from None
        shutil.rmtree(folder)


def test_shards_that_are_no_files(bases: Path, tmp_path: Path) -> None:
    """A pipe would wait for ever, a device never end."""
    for make in (os.mkfifo, lambda path: path.symlink_to("/dev/zero"), Path.mkdir):
        folder = tmp_path / "case"
        shutil.copytree(bases / "index", folder)
        shard = sorted(folder.glob("*.shards/*.h5"))[0]
        shard.unlink()
        make(shard)
        check(folder, COMMANDS, bases / "secret" / "secret.h5")
        shutil.rmtree(folder)
    folder = tmp_path / "pipe"
    folder.mkdir()
    os.mkfifo(folder / "data.h5")
    check(folder, COMMANDS, bases / "secret" / "secret.h5")


def test_files_that_are_hardly_hdf5(tmp_path: Path, bases: Path) -> None:
    contents = (b"", b"\x89HDF\r\n\x1a\n", os.urandom(5000), b"ivl-shards 1.1\n" * 100)
    for k, data in enumerate(contents):
        (tmp_path / str(k)).mkdir()
        path = tmp_path / str(k) / "data.h5"
        path.write_bytes(data)
        check(path.parent, COMMANDS, bases / "secret" / "secret.h5")
        path.write_bytes(bytes(512) + data)
        reseal(path)
        check(path.parent, COMMANDS, bases / "secret" / "secret.h5")

"""Caches and installed files: what is damaged is noticed, and made again, never used."""

import os
import shutil
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from commands import assert_one_line
from font_files import Shelf
from fonts import default_faces
from fonts.catalogue import INDEX, installed_faces
from fonts.install import install
from fonts.places import cache_folder, recall, remember, write_atomically
from ivl_shards import UserError, open_dataset
from textblocks_gen.typesetting.typeface import Typefaces, load_typefaces
from textblocks_gen.words.lexicon import default_lexicon, load_lexicon

FEW = ("--lines", "1", "--n", 4, "--workers", 1, "--quiet")
DAMAGES = {
    "a flipped bit": lambda data: (
        data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 16]) + data[len(data) // 2 + 1 :]
    ),
    "cut short": lambda data: data[: len(data) * 2 // 3],
    "empty": lambda data: b"",
    "something else": lambda data: b"\x93NUMPY" + bytes(200),
}


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    default_faces()  # which fill the cache that is shared by all tests
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return cache_folder()


def files_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


@pytest.fixture
def fonts(tmp_path: Path) -> Path:
    folder = tmp_path / "faces"
    folder.mkdir()
    for face in [f for f in default_faces() if not f.caps_only][:20:10]:
        shutil.copy(face.path, folder)
    return folder


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_cache_gives_the_same_dataset(
    run, tmp_path: Path, cache: Path, fonts: Path, damage: str
) -> None:
    """Whichever file of the cache it is: outlines, words or verdicts."""
    assert run("textblocks-gen", *FEW, "--fonts", "faces", "first.h5").returncode == 0
    good = {path: path.read_bytes() for path in files_in(cache) if "numba" not in str(path)}
    assert len({path.name.split("-")[0] for path in good}) >= 3
    for path, data in good.items():
        path.write_bytes(DAMAGES[damage](data))
    again = run("textblocks-gen", *FEW, "--fonts", "faces", "again.h5")
    assert (again.returncode, again.stderr) == (0, "")
    first, second = (open_dataset(tmp_path / name).attributes for name in ("first.h5", "again.h5"))
    assert first["content_sha256"] == second["content_sha256"]
    assert {path: path.read_bytes() for path in good} == good  # made again, for the next time
    assert [path for path in files_in(cache) if path.name.endswith(".tmp")] == []


def test_a_file_of_the_cache_does_not_pass_for_another(cache: Path) -> None:
    remember("one", b"of one")
    assert recall("one") == b"of one"
    (cache / "one").rename(cache / "two")
    assert recall("two") is None and recall("one") is None


def test_outlines_come_out_of_the_cache_as_they_went_in(cache: Path) -> None:
    faces = default_faces()[:2]
    made, stored = (load_typefaces(faces, " ABCabc", 20.0) for _ in range(2))
    for field in fields(Typefaces):
        one, other = getattr(made, field.name), getattr(stored, field.name)
        assert one.dtype == other.dtype and np.array_equal(one, other)
        assert other.flags.aligned and not other.flags.writeable


def test_without_a_cache_the_work_goes_on(cache: Path) -> None:
    cache.parent.mkdir(parents=True)
    cache.write_text("a file where the folder should be")
    assert len(load_typefaces(default_faces()[:1], " AB", 20.0)) == 1
    default_lexicon.cache_clear()
    assert len(load_lexicon().words) > 85_000


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    """A temporary name that can be guessed is a way to have any file of the user overwritten."""
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / f".file.{os.getpid()}.tmp").symlink_to(victim)
    write_atomically(tmp_path / "file", b"content")
    assert victim.read_text() == "mine"
    assert (tmp_path / "file").read_bytes() == b"content"


def test_a_flipped_bit_in_an_installed_font_is_noticed(
    shelf: Shelf,
    tmp_path: Path,
) -> None:
    folder = tmp_path / "to"
    install(folder, shelf[1])
    assert len(installed_faces(folder, shelf[1])) == 4
    font = folder / "face-1.ttf"
    font.write_bytes(DAMAGES["a flipped bit"](font.read_bytes()))
    assert [face.id for face in installed_faces(folder, shelf[1])] == ["face-0", "face-2", "face-3"]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_index_of_fonts_is_one_line_and_installing_mends_it(
    shelf: Shelf,
    tmp_path: Path,
    run,
    damage: str,
) -> None:
    folder = tmp_path / "to"
    install(folder, shelf[1])
    index = folder / INDEX
    good = index.read_bytes()
    index.write_bytes(DAMAGES[damage](good))
    with pytest.raises(UserError, match="is damaged: run `ivl-fonts install`"):
        installed_faces(folder, shelf[1])
    assert_one_line(run("ivl-fonts", "list", "to"), 2, "is damaged")
    assert install(folder, shelf[1]).added == 4
    assert index.read_bytes() == good


def test_leftovers_of_a_killed_installation_go(
    shelf: Shelf,
    tmp_path: Path,
) -> None:
    folder = tmp_path / "to"
    (folder / ".incoming-1-48-0/cache").mkdir(parents=True)
    (folder / f"face-1.ttf.{'0' * 32}.tmp").write_bytes(b"half a font")
    install(folder, shelf[1])
    assert [path.name for path in folder.iterdir() if path.name.startswith(".")] == [".lock"]

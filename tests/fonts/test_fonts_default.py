"""The default: the catalogue if it is installed, else faces of Python packages; and the command."""

import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

import fonts
from font_files import SOURCES, make_client, make_shelf, on_path, small_font
from fonts import sources
from fonts.catalogue import INDEX
from fonts.install import install
from ivl_shards import UserError


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user who has installed nothing."""
    monkeypatch.setenv("IVL_FONTS", str(tmp_path / "catalogue"))
    fonts.default_faces.cache_clear()
    yield tmp_path
    fonts.default_faces.cache_clear()


def command(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    tool = str(Path(sys.executable).with_name("ivl-fonts"))
    return subprocess.run(
        [tool, *map(str, arguments)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_packaged_faces_are_used_and_the_log_says_so_once(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        faces = fonts.default_faces()
        assert fonts.load() == faces
    (record,) = caplog.records
    assert "ivl-fonts install" in record.getMessage()
    assert len(faces) >= 40 and len({face.family for face in faces}) >= 10
    assert [face.id for face in faces] == sorted(face.id for face in faces)
    for face in faces:
        assert face.covers("Aa Zz 0123456789 .,!?-")
        assert not any(sign in face.id for sign in ("cmsy", "cmex", "STIXSiz", "LastResort"))


def test_the_catalogue_is_used_once_installed(
    home: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    entries = make_shelf(home / "shelf")
    for name, value in on_path(make_client(home / "bin"), home / "shelf").items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("fonts.catalogue.catalogue_manifest", lambda: entries)
    monkeypatch.setattr(sources, "catalogue_manifest", lambda: entries)
    install(home / "catalogue", entries)
    assert [face.id for face in fonts.default_faces()] == [entry.id for entry in entries]
    assert caplog.records == []
    # Half a catalogue is used, too, but not silently.
    fonts.default_faces.cache_clear()
    (home / "catalogue/face-1.ttf").unlink()
    assert len(fonts.default_faces()) == 3
    assert "3 of 4 faces" in caplog.text


def test_a_damaged_index_is_one_clear_line(home: Path) -> None:
    (home / "catalogue").mkdir()
    (home / "catalogue" / INDEX).write_text("{half")
    with pytest.raises(UserError, match=r"catalogue.json: is damaged"):
        fonts.default_faces()


def test_check_prints_a_table_and_an_exit_code(tmp_path: Path) -> None:
    folder = tmp_path / "fonts"
    folder.mkdir()
    (folder / "good.ttf").write_bytes(small_font(SOURCES[0]))
    done = command("check", folder)
    assert done.returncode == 0 and "1 of 1 faces can be used" in done.stdout
    (folder / "bad.ttf").write_bytes(b"bad")
    done = command("check", folder)
    assert done.returncode == 1
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("bad.ttf")]
    assert "rejected  " in line
    (folder / "good.ttf").unlink()
    done = command("check", folder)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
    assert command("check", tmp_path / "nowhere").returncode == 2


def test_list_and_preview_of_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "fonts"
    folder.mkdir()
    (folder / "good.ttf").write_bytes(small_font(SOURCES[0]))
    assert "good.ttf" in command("list", folder).stdout
    (face,) = json.loads(command("list", folder, "--json").stdout)
    assert face["id"] == "good.ttf" and "A" in face["characters"]
    done = command("preview", folder, "--out", tmp_path / "sheet.png")
    assert done.returncode == 0, done.stderr
    with Image.open(tmp_path / "sheet.png") as sheet:
        assert sheet.getextrema()[0] < 50  # there is ink
    done = command("preview", folder, "--out", tmp_path / "no/where.png")
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1


def test_folders_follow_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    from fonts.places import cache_folder, catalogue_folder

    monkeypatch.delenv("IVL_FONTS", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", "/some/data")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative/is/ignored")
    assert catalogue_folder() == Path("/some/data/ivl/fonts")
    assert cache_folder() == Path.home() / ".cache/ivl"
    monkeypatch.setenv("IVL_FONTS", "/my/fonts")
    assert catalogue_folder() == Path("/my/fonts")

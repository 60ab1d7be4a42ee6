"""Installing: checked, resumable, by package name, with licences, and safe to run twice."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from commands import ROOT
from font_files import (
    LICENCE,
    SOURCES,
    Shelf,
    calls,
    put_package,
    small_font,
)
from fonts import install as installation
from fonts.catalogue import installed_faces, read_index
from fonts.face import fingerprint
from fonts.glyphs import Glyphs
from fonts.install import install
from fonts.manifest import catalogue_manifest
from ivl_shards import Stopped, UserError


def left_overs(folder: Path) -> list[str]:
    return [p.name for p in folder.iterdir() if "incoming" in p.name or p.name.endswith(".tmp")]


def test_installed_faces_are_checked_and_keep_their_licences(shelf: Shelf, tmp_path: Path) -> None:
    folder, entries = tmp_path / "to", shelf[1]
    reports: list[int] = []
    outcome = install(folder, entries, reports.append)
    assert (outcome.faces, outcome.added, sum(reports)) == (4, 4, 4)
    faces = installed_faces(folder, entries)
    assert [face.id for face in faces] == [entry.id for entry in entries]
    assert [face.sha256 for face in faces] == [entry.sha256 for entry in entries]
    for face in faces:
        assert face.path.with_suffix(".LICENSE.txt").read_bytes() == LICENCE
        assert face.covers("The quick brown fox") and not face.covers("naïve")
    assert left_overs(folder) == []


def test_the_plain_form_draws_the_same_pixels(shelf: Shelf, tmp_path: Path) -> None:
    install(tmp_path / "to", shelf[1])
    for face, source in zip(installed_faces(tmp_path / "to", shelf[1]), SOURCES, strict=True):
        plain, packed = Glyphs(face.path), Glyphs(small_font(source, flavour="woff2"))
        for letter in "AgQx&":
            assert (plain.ink(letter) == packed.ink(letter)).all()


def test_packages_are_asked_for_by_name_in_one_call(shelf: Shelf, tmp_path: Path) -> None:
    install(tmp_path / "to", shelf[1])
    assert calls(shelf[0]) == [[entry.spec for entry in shelf[1]]]


def test_a_second_run_asks_for_nothing(shelf: Shelf, tmp_path: Path) -> None:
    install(tmp_path / "to", shelf[1])
    assert install(tmp_path / "to", shelf[1]).added == 0
    assert len(calls(shelf[0])) == 1


@pytest.mark.parametrize("spoil", ["face-1.ttf", "face-1.LICENSE.txt"])
def test_a_damaged_or_missing_file_is_fetched_again(
    shelf: Shelf, tmp_path: Path, spoil: str
) -> None:
    folder = tmp_path / "to"
    install(folder, shelf[1])
    good = (folder / spoil).read_bytes()
    (folder / spoil).write_bytes(good[:-1] + b"!")
    assert install(folder, shelf[1]).added == 1
    (folder / spoil).unlink()
    assert install(folder, shelf[1]).added == 1
    assert (folder / spoil).read_bytes() == good


def test_a_wrong_checksum_is_refused_and_what_is_right_is_kept(
    shelf: Shelf, tmp_path: Path
) -> None:
    put_package(shelf[0], shelf[1][2], b"something else")
    with pytest.raises(UserError, match=r"@shelf/face-2@1.0.0: .*not the pinned file: sha256"):
        install(tmp_path / "to", shelf[1])
    assert sorted(read_index(tmp_path / "to")) == ["face-0", "face-1"]
    assert not (tmp_path / "to/face-2.ttf").exists()
    assert left_overs(tmp_path / "to") == []


def test_a_wrong_licence_is_refused(shelf: Shelf, tmp_path: Path) -> None:
    font = small_font(SOURCES[0], flavour="woff2")
    put_package(shelf[0], shelf[1][0], font, licence=b"All rights reserved.")
    with pytest.raises(UserError, match="LICENSE is not the pinned file"):
        install(tmp_path / "to", shelf[1])


def test_a_damaged_package_is_one_clear_line(shelf: Shelf, tmp_path: Path) -> None:
    tarball = shelf[0] / shelf[1][0].tarball
    tarball.write_bytes(tarball.read_bytes()[:200])
    with pytest.raises(UserError, match="face-0@1.0.0: the package is damaged"):
        install(tmp_path / "to", shelf[1])


def test_a_missing_package_stops_after_all_others_came(shelf: Shelf, tmp_path: Path) -> None:
    (shelf[0] / shelf[1][1].tarball).unlink()
    with pytest.raises(Stopped, match=r"1 of 4 faces did not come.*face-1@.*E404") as stop:
        install(tmp_path / "to", shelf[1])
    assert "\n" not in str(stop.value)
    assert len(installed_faces(tmp_path / "to", shelf[1])) == 3
    assert len(calls(shelf[0])) == 1 + 4  # all in one call, then one by one, and no third time


def test_no_registry_stops_at_once(
    shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installation, "_BATCH", 1)
    monkeypatch.setattr(installation, "_CLIENTS", 1)
    for entry in shelf[1]:
        (shelf[0] / entry.tarball).unlink()
    with pytest.raises(Stopped, match="4 of 4 faces did not come"):
        install(tmp_path / "to", shelf[1])
    assert len(calls(shelf[0])) == 3


_INSTALL = """\
import json, sys
from pathlib import Path
from fonts import install as installation
from fonts.manifest import Entry
installation._BATCH = 1
entries = [Entry(**fields) for fields in json.loads(Path(sys.argv[1]).read_text())]
installation.install(Path(sys.argv[2]), entries)
"""


def start(shelf: Shelf, folder: Path, slow: float) -> subprocess.Popen[bytes]:
    manifest = shelf[0] / "manifest.json"
    manifest.write_text(json.dumps([asdict(entry) for entry in shelf[1]]))
    command = [sys.executable, "-c", _INSTALL, str(manifest), str(folder)]
    return subprocess.Popen(command, env={**os.environ, "SLOW": str(slow)})


def test_killed_and_run_again_it_goes_on(shelf: Shelf, tmp_path: Path) -> None:
    folder, reference = tmp_path / "to", tmp_path / "reference"
    install(reference, shelf[1])
    process = start(shelf, folder, slow=0.5)
    deadline = time.monotonic() + 30
    while not read_index(folder) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    there = set(read_index(folder))
    assert 1 <= len(there) < 4
    assert install(folder, shelf[1]).added == 4 - len(there)
    for path in reference.glob("face-*"):
        assert (folder / path.name).read_bytes() == path.read_bytes()
    assert read_index(folder) == read_index(reference)


def test_two_runs_at_once_do_no_harm(shelf: Shelf, tmp_path: Path) -> None:
    processes = [start(shelf, tmp_path / "to", slow=0.1) for _ in range(2)]
    assert [process.wait(60) for process in processes] == [0, 0]
    assert len(installed_faces(tmp_path / "to", shelf[1])) == 4
    assert len(calls(shelf[0])) == 4  # the second waited, and found all done
    assert left_overs(tmp_path / "to") == []


def test_the_fingerprint_depends_on_content_alone(shelf: Shelf, tmp_path: Path) -> None:
    install(tmp_path / "one", shelf[1])
    install(tmp_path / "two", shelf[1][::-1])
    one, two = (installed_faces(tmp_path / name, shelf[1]) for name in ("one", "two"))
    assert fingerprint(one) == fingerprint(two)
    assert fingerprint(one) != fingerprint(one[:3])
    assert fingerprint(one) != fingerprint((replace(one[0], sha256="0" * 64), *one[1:]))


def test_without_npm_one_line_says_what_to_install(tmp_path: Path) -> None:
    tool = Path(sys.executable).with_name("ivl-fonts")
    empty = {**os.environ, "PATH": str(tmp_path)}
    if Path(sys.executable).with_name("npm").exists():
        pytest.skip("this Python brings an npm of its own")
    command = [str(tool), "install", "--to", str(tmp_path / "to")]
    done = subprocess.run(command, env=empty, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    lines = done.stderr.strip().splitlines()
    assert "install Node.js" in lines[-1] and "ivl[fonts]" in lines[-1]
    assert "Traceback" not in done.stderr


def test_the_manifest_pins_every_face() -> None:
    entries = catalogue_manifest()
    assert len(entries) >= 1200
    assert len({e.id for e in entries}) == len({e.sha256 for e in entries}) == len(entries)
    for entry in entries:
        assert len(entry.sha256) == len(entry.licence_sha256) == 64
        assert entry.integrity.startswith("sha512-")
        assert entry.version[0].isdigit()
        assert entry.licence in {"OFL-1.1", "Apache-2.0", "UFL-1.0"}
        assert "/" not in entry.id


def test_the_page_on_fonts_tells_the_manifests_figures() -> None:
    page = (ROOT / "docs/FONTS.md").read_text("utf-8")
    entries = catalogue_manifest()
    figures = [f"{len(entries):,} faces", f"{sum(e.caps_only for e in entries)} of capitals only"]
    for field in ("style", "licence"):
        tally = Counter(getattr(entry, field) for entry in entries)
        figures += [f"{count:,} {value}" for value, count in tally.items()]
    figures.append(f"{sum(entry.tarball_bytes for entry in entries) / 1e6:.0f} MB of packages")
    assert [figure for figure in figures if figure not in page] == []

"""Install: the catalogue's faces, fetched by package name, checked, and kept with licences.

Whatever happens (a kill, a full disk, a second run) the index names only faces that are
complete, and the next run goes on with the others.
"""

import fcntl
import hashlib
import os
import shutil
import sys
import tarfile
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from string import ascii_uppercase

from fonts.catalogue import (
    Installed,
    font_path,
    licence_path,
    looks_installed,
    read_index,
    write_index,
)
from fonts.glyphs import Glyphs
from fonts.manifest import Entry, catalogue_manifest
from fonts.npm import Packing, find_client
from fonts.outlines import BROKEN, read_names, to_ttf
from fonts.places import write_atomically
from ivl_shards.errors import Stopped, UserError

# Packages a call of the client: enough to share its start, few enough to keep disk use low.
_BATCH = 48
# Clients at a time: while one's tarballs are unpacked the others download.
_CLIENTS = 3
# Calls without any result, one after the other, after which there is no registry to be reached.
_IN_VAIN = 3
_INCOMING = ".incoming-"

Report = Callable[[int], None]


@dataclass(frozen=True)
class Outcome:
    """What an installation did."""

    folder: Path
    faces: int
    """In the catalogue now."""
    added: int


def install(
    folder: Path, manifest: Sequence[Entry] | None = None, report: Report = lambda faces: None
) -> Outcome:
    """Bring a folder to the whole catalogue.

    Parameters
    ----------
    folder
        Made if it is missing. Faces that are there and right are kept.
    manifest
        The pinned faces; the package's own by default.
    report
        Called with the number of faces that have been added; first with those already there.
    """
    entries = catalogue_manifest() if manifest is None else manifest
    with _locked(folder):
        index = read_index(folder)
        wanted = [e for e in entries if not _is_right(folder, e, index)]
        report(len(entries) - len(wanted))
        if wanted:
            _fetch(folder, wanted, index, report)
    return Outcome(folder, len(entries), len(wanted))


def _fetch(
    folder: Path, wanted: Sequence[Entry], index: dict[str, Installed], report: Report
) -> None:
    """Fetch faces in batches, and once more, one by one, those that did not come.

    One package that is not in the registry makes the client deliver none of its batch.
    """
    client = find_client()
    missing, complaint = list(wanted), ""
    for size in (_BATCH, 1):
        before, in_vain = len(missing), 0
        with closing(_packed(folder, client, missing, size)) as batches:
            for batch, packed, said in batches:
                complaint = said or complaint
                arrived = [e for e in batch if (packed / e.tarball).is_file()]
                in_vain = 0 if arrived else in_vain + 1
                if in_vain == _IN_VAIN:
                    break
                _unpack_all(folder, arrived, packed, index)
                report(len(arrived))
                missing = [e for e in missing if e not in arrived]
        if not missing or (len(missing) == before and in_vain == _IN_VAIN):
            break
    if missing:
        raise Stopped(
            f"{len(missing):,} of {len(wanted):,} faces did not come, the first is "
            f"{missing[0].spec}; npm says: {complaint or 'nothing'}; what came is kept: run the "
            "same command again to go on"
        )


def _unpack_all(
    folder: Path, entries: Sequence[Entry], packed: Path, index: dict[str, Installed]
) -> None:
    try:
        for entry in entries:
            index[entry.id] = _unpack(folder, entry, packed / entry.tarball)
    finally:
        write_index(folder, index)  # also when a later one is wrong: those before it are good


def _packed(
    folder: Path, client: str, entries: Sequence[Entry], size: int
) -> Generator[tuple[Sequence[Entry], Path, str]]:
    """Batches as they arrive: the entries, the folder of their tarballs, npm's complaint."""
    batches = iter([entries[i : i + size] for i in range(0, len(entries), size)])
    number = 0
    running: list[tuple[Sequence[Entry], Packing]] = []

    def start(count: int) -> None:
        nonlocal number
        for batch in islice(batches, count):
            place = folder / f"{_INCOMING}{os.getpid()}-{size}-{number}"
            running.append((batch, Packing(client, [e.spec for e in batch], place.absolute())))
            number += 1

    try:
        start(_CLIENTS)
        while running:
            batch, packing = running[0]
            said = packing.wait()
            start(1)
            yield batch, packing.folder, said
            packing.close()
            running.pop(0)
    finally:
        for _, packing in running:
            packing.close()


def _unpack(folder: Path, entry: Entry, tarball: Path) -> Installed:
    """Take a face and its licence out of a tarball, check both, and put them in their place."""
    font = _member(tarball, entry, entry.file, entry.sha256)
    licence = _member(tarball, entry, "LICENSE", entry.licence_sha256)
    try:
        plain = to_ttf(font)
        temporary = tarball.with_suffix(".ttf")
        temporary.write_bytes(plain)
        drawn = Glyphs(plain).drawn(read_names(temporary, 0).mapped)
    except BROKEN as error:
        raise UserError(f"{entry.spec}: {entry.file} does not open: {error}") from None
    if not drawn.issuperset(ascii_uppercase):
        raise UserError(f"{entry.spec}: {entry.file} does not draw all letters on this machine")
    write_atomically(licence_path(folder, entry), licence)
    write_atomically(font_path(folder, entry), plain)
    return Installed(
        sha256=entry.sha256,
        ttf_sha256=hashlib.sha256(plain).hexdigest(),
        ttf_bytes=len(plain),
        characters="".join(sorted(drawn)),
    )


def _member(tarball: Path, entry: Entry, name: str, sha256: str) -> bytes:
    try:
        with tarfile.open(tarball) as tar:
            file = tar.extractfile(f"package/{name}")
            content = file.read() if file else b""
    except KeyError:
        raise UserError(f"{entry.spec}: {name} is not in the package") from None
    except (tarfile.TarError, OSError, EOFError) as error:
        raise UserError(f"{entry.spec}: the package is damaged: {error}") from None
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise UserError(
            f"{entry.spec}: {name} is not the pinned file: sha256 {found[:16]}… instead of "
            f"{sha256[:16]}…; nothing of it was kept: check the registry that npm is set to"
        )
    return content


def _is_right(folder: Path, entry: Entry, index: dict[str, Installed]) -> bool:
    """Whether a face is there, to the last bit, with its licence."""
    if not looks_installed(folder, entry, index):
        return False
    return (
        _sha256_of(font_path(folder, entry)) == index[entry.id].ttf_sha256
        and _sha256_of(licence_path(folder, entry)) == entry.licence_sha256
    )


def _sha256_of(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep a second installation waiting; the lock goes with the process, however it ends."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / ".lock").open("wb")
    except OSError as error:
        raise UserError(f"{folder}: cannot be written: {error.strerror}") from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"{folder}: waiting for another installation to end", file=sys.stderr)
            fcntl.flock(lock, fcntl.LOCK_EX)
        for left_over in folder.glob(f"{_INCOMING}*"):  # of a run that was killed
            shutil.rmtree(left_over, ignore_errors=True)
        yield

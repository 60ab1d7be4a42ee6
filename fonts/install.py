"""Install: the catalogue's faces, fetched by package name, checked, and kept with licences.

Whatever happens (a kill, a full disk, a second run) the index names only faces that are
complete, and the next run goes on with the others.
"""

import gzip
import hashlib
import io
import os
import shutil
import sys
import tarfile
import zlib
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from string import ascii_uppercase

from filelock import FileLock, Timeout

from fonts.catalogue import (
    Installed,
    font_path,
    is_installed,
    licence_path,
    read_index,
    write_index,
)
from fonts.glyphs import Glyphs
from fonts.manifest import Entry, catalogue_manifest
from fonts.npm import Packing, find_client
from fonts.outlines import BROKEN, read_names, to_ttf
from fonts.places import write_atomically
from ivl_shards.disk import drop_temporary
from ivl_shards.errors import Damage, Stopped, UserError

# Packages a call of the client: enough to share its start, few enough to keep disk use low.
_BATCH = 48
# Clients at a time: while one's tarballs are unpacked the others download.
_CLIENTS = 3
# Calls without any result, one after the other, after which the registry counts as unreachable.
_IN_VAIN = 3
_INCOMING = ".incoming-"
_LICENCE = "LICENSE"
# The largest package of the catalogue has 11 MB, which hardly shrink, and the largest font 0.4 MB.
_MOST_UNPACKED = 128 << 20
_MOST_MEMBERS = 20_000
_MOST_BYTES = 16 << 20

Report = Callable[[int], None]


@dataclass(frozen=True)
class Outcome:
    """The result of an installation."""

    folder: Path
    faces: int
    """Number of faces in the catalogue now."""
    added: int


def install(
    folder: Path, manifest: Sequence[Entry] | None = None, report: Report = lambda faces: None
) -> Outcome:
    """Install the whole catalogue into a folder.

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
        index = _index(folder)
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
    """Yield batches as they arrive: the entries, the folder of their tarballs, npm's error."""
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
    found = read_package(tarball, entry)
    font = _checked(found, entry, entry.file, entry.sha256)
    licence = _checked(found, entry, _LICENCE, entry.licence_sha256)
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


def read_package(tarball: Path, entry: Entry) -> dict[str, bytes]:
    """Return the font and the licence of a package, by their names in it.

    Everything is bounded before it is read: the unpacked archive, its members, and each of them.
    Links and whatever lies elsewhere are passed over.
    """
    wanted = {f"package/{name}": name for name in (entry.file, _LICENCE)}
    found = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(_unzipped(tarball)), mode="r:") as tar:
            for member in islice(tar, _MOST_MEMBERS):
                if member.name not in wanted or not member.isreg():
                    continue
                if member.size > _MOST_BYTES:
                    raise UserError(f"{entry.spec}: {wanted[member.name]} is too large for a font")
                file = tar.extractfile(member)
                assert file is not None  # it is a regular file
                found[wanted[member.name]] = file.read()
    # ValueError: a number in a head is none. RecursionError: heads of heads.
    except (tarfile.TarError, OSError, EOFError, ValueError, RecursionError, zlib.error) as error:
        raise UserError(f"{entry.spec}: the package is damaged: {error}") from None
    return found


def _unzipped(tarball: Path) -> bytes:
    """Return the content of a gzip file; ValueError if that is more than any package has."""
    with gzip.open(tarball) as file:
        content = file.read(_MOST_UNPACKED + 1)
    if len(content) > _MOST_UNPACKED:
        raise ValueError(f"unpacks to more than {_MOST_UNPACKED >> 20} MB")
    return content


def _checked(found: dict[str, bytes], entry: Entry, name: str, sha256: str) -> bytes:
    if name not in found:
        raise UserError(f"{entry.spec}: {name} is not in the package")
    digest = hashlib.sha256(found[name]).hexdigest()
    if digest != sha256:
        raise UserError(
            f"{entry.spec}: {name} is not the pinned file: sha256 {digest[:16]}… instead of "
            f"{sha256[:16]}…; nothing of it was kept: check the registry that npm is set to"
        )
    return found[name]


def _index(folder: Path) -> dict[str, Installed]:
    """Return the index; where it is damaged an empty one, so that all is fetched again."""
    try:
        return read_index(folder)
    except Damage:
        return {}


def _is_right(folder: Path, entry: Entry, index: dict[str, Installed]) -> bool:
    """Tell whether a face is there, to the last bit, with its licence."""
    if not is_installed(folder, entry, index):
        return False
    try:
        licence = licence_path(folder, entry).read_bytes()
    except OSError:
        return False
    return hashlib.sha256(licence).hexdigest() == entry.licence_sha256


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep a second installation waiting; the lock goes with the process, however it ends."""
    lock = FileLock(folder / ".lock")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=0)
    except Timeout:
        print(f"{folder}: waiting for another installation to end", file=sys.stderr)
        lock.acquire()
    except OSError as error:
        raise UserError(f"{folder}: cannot be written: {error.strerror}") from None
    try:
        for left_over in folder.glob(f"{_INCOMING}*"):  # of a run that was killed
            shutil.rmtree(left_over, ignore_errors=True)
        drop_temporary(folder, in_use=True)
        yield
    finally:
        lock.release()

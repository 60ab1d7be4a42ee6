"""Small fonts, packages and a stand-in for the npm client, all made from installed fonts."""

import hashlib
import io
import os
import sys
import tarfile
from importlib.util import find_spec
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont

from fonts.manifest import Entry

Shelf = tuple[Path, tuple[Entry, ...]]
"""A folder of font packages, and their entries in the manifest."""

ASCII = "".join(map(chr, range(32, 127)))
LICENCE = b"Do with it what you like.\n"
# One a package: plain, hand-drawn, bold, italic.
SOURCES = (
    "font_caladea/files/Caladea-Regular.ttf",
    "font_intuitive/files/Intuitive.ttf",
    "font_fredoka_one/files/FredokaOne-Regular.ttf",
    "font_caladea/files/Caladea-Italic.ttf",
)

_NPM = """\
#!{python}
import os, pathlib, shutil, sys, time
shelf = pathlib.Path(os.environ["SHELF"])
options = dict(a[2:].split("=", 1) for a in sys.argv[2:] if a.startswith("--") and "=" in a)
specs = [a for a in sys.argv[2:] if not a.startswith("--")]
with (shelf / "calls").open("a") as calls:
    print(*specs, file=calls)
files = []
for spec in specs:
    name, version = spec.lstrip("@").replace("/", "-").rsplit("@", 1)
    files.append(shelf / f"{{name}}-{{version}}.tgz")
    if not files[-1].exists():  # like npm: one that is missing, and none is delivered
        print("npm error code E404", f"npm error 404 Not Found: {{spec}}", sep="\\n",
              file=sys.stderr)
        sys.exit(1)
for file in files:
    time.sleep(float(os.environ.get("SLOW", "0")))
    shutil.copy(file, options["pack-destination"])
"""


def installed(name: str) -> Path:
    """A font file of an installed package."""
    package, below = name.split("/", 1)
    spec = find_spec(package)
    assert spec is not None and spec.submodule_search_locations is not None
    return Path(spec.submodule_search_locations[0]) / below


def small_font(name: str, text: str = ASCII, flavour: str | None = None) -> bytes:
    """A font file with nothing but some characters in it."""
    options = subset.Options(flavor=flavour, notdef_outline=True, name_IDs=["*"])
    with TTFont(installed(name), recalcTimestamp=False) as font:
        chosen = subset.Subsetter(options)
        chosen.populate(text=text)
        chosen.subset(font)
        font.flavor = flavour
        file = io.BytesIO()
        font.save(file)
    return file.getvalue()


def edited(name: str, edit, text: str = ASCII) -> bytes:
    """A small font after an edit."""
    with TTFont(io.BytesIO(small_font(name, text))) as font:
        edit(font)
        file = io.BytesIO()
        font.save(file)
    return file.getvalue()


def make_shelf(folder: Path) -> tuple[Entry, ...]:
    """A folder of npm packages, one a font, and the manifest that pins them."""
    folder.mkdir()
    entries = []
    for number, source in enumerate(SOURCES):
        font = small_font(source, flavour="woff2")
        entry = Entry(
            id=f"face-{number}",
            family=f"Face {number}",
            package=f"@shelf/face-{number}",
            version="1.0.0",
            integrity="",
            file=f"files/face-{number}.woff2",
            sha256=hashlib.sha256(font).hexdigest(),
            bytes=len(font),
            licence="OFL-1.1",
            licence_sha256=hashlib.sha256(LICENCE).hexdigest(),
            style="serif",
            caps_only=False,
            tarball_bytes=0,
        )
        put_package(folder, entry, font)
        entries.append(entry)
    return tuple(entries)


def put_package(folder: Path, entry: Entry, font: bytes, licence: bytes = LICENCE) -> None:
    """Put the package of an entry on the shelf, with whatever content."""
    with tarfile.open(folder / entry.tarball, "w:gz") as tar:
        for name, content in ((entry.file, font), ("LICENSE", licence)):
            member = tarfile.TarInfo(f"package/{name}")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))


def make_client(folder: Path) -> Path:
    """A folder to put on the path, with an `npm` in it that serves a shelf."""
    folder.mkdir()
    client = folder / "npm"
    client.write_text(_NPM.format(python=sys.executable))
    client.chmod(0o755)
    return folder


def calls(shelf: Path) -> list[list[str]]:
    """What the client has been asked for, call by call."""
    log = shelf / "calls"
    return [line.split() for line in log.read_text().splitlines()] if log.exists() else []


def on_path(client: Path, shelf: Path) -> dict[str, str]:
    """The environment in which the client is found."""
    return {"PATH": f"{client}{os.pathsep}{os.environ['PATH']}", "SHELF": str(shelf)}

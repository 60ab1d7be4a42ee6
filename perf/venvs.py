"""Environments: other people's packages, each in a virtual environment of its own.

They ask for versions that cannot be had together with ours. Made once, in the user's cache, and
found there by the next run.
"""

import hashlib
import shutil
import subprocess
import venv
from pathlib import Path

from fonts.places import cache_folder
from ivl_shards import UserError

# Everything is named, and nothing resolved: peers ask for versions that cannot be had together,
# for libraries of desktops where the headless ones do, and for torch where they do without.
_IMAGES = ("numpy==1.23.5", "pillow==9.5.0", "opencv-python-headless==4.8.1.78")
_RIGHT_TO_LEFT = ("arabic-reshaper==2.1.3", "python-bidi==0.4.2", "six")
PACKAGES = {
    "trdg": (
        "trdg==1.8.0",
        *_IMAGES,
        *_RIGHT_TO_LEFT,
        "requests",
        "urllib3",
        "idna",
        "certifi",
        "charset-normalizer",
        "tqdm",
        "wikipedia",
        "beautifulsoup4",
        "soupsieve",
        "typing-extensions",
        "diffimg==0.2.3",
        "future",
        "setuptools==69.5.1",
    ),
    "synthtiger": (
        "synthtiger==1.2.1",
        *_IMAGES,
        *_RIGHT_TO_LEFT,
        "blend-modes==2.1.0",
        "fonttools",
        "imgaug==0.4.0",
        "imageio==2.31.1",
        "scikit-image==0.20.0",
        "lazy-loader",
        "networkx",
        "tifffile==2023.4.12",
        "PyWavelets==1.4.1",
        "shapely==2.0.6",
        "scipy==1.10.1",
        "matplotlib==3.7.5",
        "contourpy==1.1.1",
        "cycler",
        "kiwisolver",
        "pyparsing",
        "python-dateutil",
        "packaging",
        "pygame",
        "pytweening",
        "pyyaml",
        "regex",
    ),
}
SCRIPTS = Path(__file__).parent / "peers"


def environment(name: str) -> Path | None:
    """The interpreter of a package's environment, or None, and a line that says why."""
    try:
        return _make_environment(name, PACKAGES[name])
    except UserError as error:
        print(f"{error}: left out", flush=True)
        return None


def _make_environment(name: str, packages: tuple[str, ...]) -> Path:
    """The interpreter of an environment with these packages, and no others: all that is needed
    must be named."""
    # Named by its contents, so that another list of packages makes another environment.
    tag = hashlib.sha256("\n".join(packages).encode()).hexdigest()[:8]
    folder = cache_folder() / "peers" / f"{name}-{tag}"
    python, whole = folder / "bin" / "python", folder / "installed"
    if whole.is_file():
        return python
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, with_pip=True)
    # Wheels, where there are any: to compile old ones takes ten minutes.
    options = ("--quiet", "--disable-pip-version-check", "--no-deps", "--prefer-binary")
    installed = subprocess.run(
        [python, "-m", "pip", "install", *options, *packages], capture_output=True, text=True
    )
    if installed.returncode:
        reason = (installed.stderr.strip() or "pip failed").splitlines()[-1]
        raise UserError(f"{name} cannot be installed: {reason}")
    whole.touch()
    return python

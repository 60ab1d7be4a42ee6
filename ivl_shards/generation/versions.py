"""Versions: the packages that determine the content of a dataset, compared between machines."""

import contextlib
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

import cv2

from ivl_shards.format.metadata import versions
from ivl_shards.generation.generator import Generator

# Required packages that do not influence the content of a sample.
_NEUTRAL = {"click", "filelock", "h5py", "tqdm", "zlib-ng"}


def content_versions(generator: Generator) -> dict[str, str]:
    """Return the versions, in this process, of everything that determines the content."""
    packages = {
        name: number
        for name, number in versions().items()
        if name not in _NEUTRAL and not name.startswith("opencv")
    }
    # OpenCV has several package names, and the library that pyvips binds has its own.
    packages["opencv"] = cv2.__version__
    with contextlib.suppress(PackageNotFoundError):
        packages["pyvips-binary"] = version("pyvips-binary")
    return {generator.name: _installed_version(generator), **packages}


def _installed_version(generator: Generator) -> str:
    """Return the version of a generator as installed here.

    A generator unpickled from another process has the version of that process, but its code is
    imported from this machine.
    """
    parts = generator.start.__module__.split(".")
    for k in range(len(parts), 0, -1):
        module = sys.modules.get(".".join(parts[:k]))
        for value in vars(module).values() if module else ():
            if isinstance(value, Generator) and value.name == generator.name:
                return value.version
    return generator.version  # its code was pickled too


def difference(ours: Mapping[str, str], theirs: Mapping[str, str]) -> str:
    """Describe the versions that differ; empty if none do."""
    return ", ".join(
        f"{name} {theirs.get(name, 'missing')} instead of {ours.get(name, 'none')}"
        for name in [*ours, *(set(theirs) - set(ours))]
        if ours.get(name) != theirs.get(name)
    )

"""Launch: start a command line, or say in one line that the memory limit is too low for it.

Numba, OpenCV and torch take hundreds of megabytes of address space. Under a lower limit
(`ulimit -v`) importing them fails in many ways, crashes among them, before our code could say why.
So this module imports only the standard library, and checks the limit first.
"""

import importlib
import os
import sys

# Megabytes of address space that a command needs for the smallest job, rounded up.
_GENERATE, _DRAW_TEXT, _TRAIN = 800, 1300, 1600

COMMANDS = {
    "dota-crops": ("dota_crops.cli", _GENERATE),
    "icdar-blocks": ("icdar_blocks.cli", _GENERATE),
    "ivl-bench": ("benchmark.cli", _TRAIN),
    "ivl-fonts": ("fonts.cli", _GENERATE),
    "ivl-shards": ("ivl_shards.cli", _GENERATE),
    "shapes-gen": ("shapes_gen.cli", _GENERATE),
    "textblocks-gen": ("textblocks_gen.cli", _DRAW_TEXT),
}
"""The module and the address space in megabytes of each command."""


def dota_crops() -> None:
    """Run `dota-crops`."""
    _launch("dota-crops")


def icdar_blocks() -> None:
    """Run `icdar-blocks`."""
    _launch("icdar-blocks")


def ivl_bench() -> None:
    """Run `ivl-bench`."""
    _launch("ivl-bench")


def ivl_fonts() -> None:
    """Run `ivl-fonts`."""
    _launch("ivl-fonts")


def ivl_shards() -> None:
    """Run `ivl-shards`."""
    _launch("ivl-shards")


def shapes_gen() -> None:
    """Run `shapes-gen`."""
    _launch("shapes-gen")


def textblocks_gen() -> None:
    """Run `textblocks-gen`."""
    _launch("textblocks-gen")


def _launch(name: str) -> None:
    module, megabytes = COMMANDS[name]
    if _memory_limit() < megabytes << 20:
        print(
            f"{name}: needs {megabytes:,} MB of address space: "
            "raise the limit (ulimit -v), then run the same command again",
            file=sys.stderr,
        )
        sys.exit(1)
    if name == "ivl-shards":
        # It forks (ivl_shards/guard.py), which is safe only without threads of numpy's BLAS.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    importlib.import_module(module).main()


def _memory_limit() -> float:
    """Return the limit on address space in bytes; infinite if there is none."""
    try:
        import resource
    except ImportError:  # not a POSIX system
        return float("inf")
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return float("inf") if limit == resource.RLIM_INFINITY else limit

"""Which packages may import which (docs/ARCHITECTURE.md), checked in the source."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from commands import ROOT

ALLOWED = {
    "benchmark": {
        "dota_crops",
        "fonts",
        "icdar_blocks",
        "ivl_shards",
        "shapes_gen",
        "textblocks_gen",
        "torch",
    },
    "dota_crops": {"ivl_shards"},
    "fonts": {"ivl_shards"},
    "icdar_blocks": {"ivl_shards"},
    "ivl_shards": set(),
    "shapes_gen": {"ivl_shards"},
    "textblocks_gen": {"fonts", "ivl_shards"},
}


def modules(package: str) -> dict[str, Path]:
    """Return the files of a package by module name."""
    found = {}
    for path in (ROOT / package).rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(tree: ast.AST) -> Iterator[str]:
    """Yield what is imported: `a.b` for `import a.b`, `a.b.c` for `from a.b import c`.

    Imports inside functions count, those for type checkers alone do not.
    """
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0 and node.module, "imports are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)):
            yield from imports(node)


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


# The PyTorch datasets, which nothing imports before a user asks for them.
WITH_TORCH = "ivl_shards.torch_datasets"


@pytest.mark.parametrize("package", ALLOWED)
def test_a_package_imports_only_what_it_may(package: str) -> None:
    for name, path in modules(package).items():
        if name == WITH_TORCH:
            continue
        others = {found.split(".")[0] for found in imports(parsed(path))}
        wrong = others & (set(ALLOWED) | {"torch"}) - {package} - ALLOWED[package]
        assert not wrong, f"{name} imports {wrong}"


def test_only_the_format_imports_h5py() -> None:
    for package in ALLOWED:
        for name, path in modules(package).items():
            uses = any(found.split(".")[0] == "h5py" for found in imports(parsed(path)))
            assert not uses or name.startswith("ivl_shards.format."), f"{name} imports h5py"


def graph_of(package: str) -> dict[str, set[str]]:
    """Return which modules of a package each of its modules imports, in functions too."""
    found = modules(package)
    graph = {}
    for name, path in found.items():
        # In `from a import b`, b is a module of a or a name in it.
        wanted = imports(parsed(path))
        needed = {each if each in found else each.rpartition(".")[0] for each in wanted}
        graph[name] = needed & found.keys() - {name}
    return graph


@pytest.mark.parametrize("package", ALLOWED)
def test_no_package_has_an_import_cycle(package: str) -> None:
    try:
        TopologicalSorter(graph_of(package)).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


def test_what_counts_as_an_import() -> None:
    code = ast.parse("import a\nif TYPE_CHECKING:\n    import b\ndef f():\n    from c import d")
    assert set(imports(code)) == {"a", "c.d"}
    assert "ivl_shards.format.schema" in graph_of("ivl_shards")["ivl_shards.format.reader"]


def test_datasets_need_no_torch() -> None:
    """Neither reading nor generating them: importing torch takes seconds and much memory."""
    names = [
        name
        for package in ("ivl_shards", "shapes_gen", "dota_crops", "icdar_blocks", "textblocks_gen")
        for name in modules(package)
        if not name.endswith("__main__") and name != WITH_TORCH
    ]
    code = f"import sys, {', '.join(names)}; assert 'torch' not in sys.modules"
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr

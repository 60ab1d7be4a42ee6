"""Who may import whom (docs: the rooms), checked in the source."""

import ast
from pathlib import Path

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


def imported(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
    return found


def test_each_room_imports_only_what_it_may() -> None:
    rooms = set(ALLOWED)
    for room, allowed in ALLOWED.items():
        for path in (ROOT / room).rglob("*.py"):
            others = imported(path) & (rooms | {"torch"}) - {room}
            assert others <= allowed, f"{path.relative_to(ROOT)} imports {others - allowed}"

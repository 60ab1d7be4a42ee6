"""Write the option tables of the documentation from the recipes.

make readme       # this, and the results
"""

from pathlib import Path
from typing import Any

from dota_crops import DotaRecipe
from icdar_blocks import IcdarRecipe, Rule
from ivl_shards.generation.knobs import knob_table
from shapes_gen import ColouredRecipe, ToyRecipe
from textblocks_gen import TextRecipe
from textblocks_gen.recipe import STYLES

DOCS = Path(__file__).parents[1] / "docs"
TABLES: dict[str, dict[str, tuple[type[Any], tuple[str, ...]]]] = {
    "TEXTBLOCKS.md": {"textblocks-gen": (TextRecipe, STYLES)},
    "SHAPES.md": {
        "shapes-gen coloured": (ColouredRecipe, ()),
        "shapes-gen toy": (ToyRecipe, ()),
    },
    "DOTA.md": {"dota-crops": (DotaRecipe, ("train", "val"))},
    "ICDAR.md": {
        "icdar-blocks": (IcdarRecipe, ()),
        "icdar-blocks rules": (Rule, ("literal", "published")),
    },
}
"""Page → name of a table → recipe, and the variants whose defaults it shows."""
END = "<!-- end of options -->"


def filled(page: str, name: str, table: str) -> str:
    """Return a page with a table between its marks."""
    begin = f"<!-- options of {name}: written by tools/option_tables.py -->"
    before, found, rest = page.partition(begin)
    _, ended, after = rest.partition(END)
    if not found or not ended:
        raise SystemExit(f"the marks {begin} and {END} are missing")
    return f"{before}{begin}\n\n{table}\n{END}{after}"


def page_with_tables(name: str) -> str:
    """Return a page of the documentation with its tables as the recipes have them."""
    page = (DOCS / name).read_text("utf-8")
    for title, (recipe, variants) in TABLES[name].items():
        page = filled(page, title, knob_table(recipe, *variants))
    return page


if __name__ == "__main__":
    for name in TABLES:
        (DOCS / name).write_text(page_with_tables(name), "utf-8")
        print(f"docs/{name}: written")

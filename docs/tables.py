"""Write the tables of the documentation that are derived from code.

.venv/bin/python docs/tables.py
"""

from pathlib import Path

from ivl_shards.generation.knobs import knob_table
from textblocks_gen import TextRecipe
from textblocks_gen.recipe import STYLES

BEGIN, END = "<!-- knobs: written by docs/tables.py -->\n", "<!-- end of knobs -->"


def write_table(page: Path, table: str) -> None:
    """Replace what stands between the two marks of a page."""
    before, rest = page.read_text("utf-8").split(BEGIN)
    _, after = rest.split(END)
    page.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}", "utf-8")


if __name__ == "__main__":
    write_table(Path(__file__).with_name("TEXTBLOCKS.md"), knob_table(TextRecipe, *STYLES))

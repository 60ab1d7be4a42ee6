"""Template: a page of this folder with its style, scripts and data in one file."""

import json
from importlib.resources import files
from typing import Any


def fill_template(name: str, values: Any) -> bytes:
    """Return a page that needs nothing else; its script finds the values as JSON in `#data`."""
    folder = files("benchmark.results.report")
    page = folder.joinpath(name).read_text("utf-8")
    for place, part in (("/*STYLE*/", "style.css"), ("/*PLAYER*/", "player.js")):
        page = page.replace(place, folder.joinpath(part).read_text("utf-8"))
    # "<" could end, or open, something in the element that the data stands in.
    text = json.dumps(values, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")
    # "replace": names of folders may hold bytes that are no text.
    return page.replace("/*DATA*/", text).encode("utf-8", "replace")

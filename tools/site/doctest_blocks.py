"""Griffe extension: show the doctests of docstrings as code, wherever they stand."""

import re
from typing import Any

from griffe import Extension, Object

# A paragraph that begins with a prompt, up to the next empty line.
_EXAMPLE = re.compile(r"^(?P<block>>>> .*(?:\n.+)*)", re.MULTILINE)


class DoctestBlocks(Extension):
    """Put doctests between fences: Markdown would take their prompts for quotations."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = _EXAMPLE.sub(_fenced, obj.docstring.value)


def _fenced(found: re.Match[str]) -> str:
    return f"```pycon\n{found['block']}\n```"

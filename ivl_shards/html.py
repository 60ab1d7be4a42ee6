"""HTML: texts of files in the pages that we write."""

import json
from typing import Any


def script_json(data: Any) -> str:
    """JSON for a script element of an HTML page.

    A text in it may hold `</script>` or `<!--`, which would end the element or swallow the page.

    >>> script_json("<!--<script>")
    '"\\\\u003c!--\\\\u003cscript>"'
    """
    return json.dumps(data, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")

"""Hooks of mkdocs.yml: pages that are not in docs/, and links that lead out of it.

README.md becomes the home page and CHANGELOG.md a page; each package gets a page of its API. Files
outside docs/ that a page links to are copied to the site as plain text, because the site works
without a repository on the network.
"""

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
PAGES = {"README.md": "index.md", "CHANGELOG.md": "changelog.md"}
"""Pages outside docs/, and their names on the site."""
API = {
    "ivl_shards": "ivl_shards",
    "torch_datasets": "ivl_shards.torch_datasets",
    "textblocks_gen": "textblocks_gen",
    "shapes_gen": "shapes_gen",
    "icdar_blocks": "icdar_blocks",
    "dota_crops": "dota_crops",
    "fonts": "fonts",
    "benchmark": "benchmark",
}
"""Pages of the API reference, and the module that each describes."""
# Searches in pages that are opened from a disk; Material for MkDocs would fetch it.
_SHIM, _SHIM_ADDRESS = "assets/javascripts/iframe-worker.js", "https://unpkg.com/iframe-worker/shim"
_LINK = re.compile(r'(\]\(|src=")([^)"#\s]+)')


def on_files(files: Files, config: Any) -> Files:
    """Add the pages and files that are not in docs/."""
    for path, name in PAGES.items():
        text = (ROOT / path).read_text("utf-8")
        files.append(File.generated(config, name, content=text))
    for name, module in API.items():
        text = f"# {module}\n\n::: {module}\n"
        files.append(File.generated(config, f"api/{name}.md", content=text))
    for path in sorted(_linked_sources(files)):
        text = (ROOT / path).read_text("utf-8")
        files.append(File.generated(config, _copy_name(path), content=text))
    shim = ROOT / "tools" / "site" / "iframe-worker.js"
    files.append(File.generated(config, _SHIM, abs_src_path=str(shim)))
    return files


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Use the copy of a script on the site instead of the one on the network."""
    folder = posixpath.dirname(page.file.dest_uri) or "."
    return output.replace(_SHIM_ADDRESS, posixpath.relpath(_SHIM, folder))


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Make links lead to where their target is on the site."""
    name = page.file.src_uri
    outside = {there: here for here, there in PAGES.items()}
    written = outside.get(name, f"docs/{name}")  # where the page is in the repository

    def changed(found: re.Match[str]) -> str:
        start, target = found.groups()
        if re.match(r"\w+:", target):
            return found[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(written), target))
        return start + posixpath.relpath(_place(path), posixpath.dirname(name) or ".")

    return _LINK.sub(changed, markdown)


def _place(path: str) -> str:
    """Return where a file of the repository is on the site, relative to its home page."""
    if path in PAGES:
        return PAGES[path]
    return path.removeprefix("docs/") if path.startswith("docs/") else _copy_name(path)


def _copy_name(path: str) -> str:
    return f"source/{path}.txt"


def _linked_sources(files: Files) -> set[str]:
    """Return the files outside docs/ that pages link to."""
    found = set()
    for file in files.documentation_pages():
        outside = {there: here for here, there in PAGES.items()}
        written = outside.get(file.src_uri, f"docs/{file.src_uri}")
        for _, target in _LINK.findall(file.content_string):
            path = posixpath.normpath(posixpath.join(posixpath.dirname(written), target))
            known = path in PAGES or path.startswith("docs/")
            if not known and (ROOT / path).is_file():
                found.add(path)
    return found

"""What mkdocs asks while it builds: pages and pictures that are no files of docs/, their place in the navigation, links to them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from mkdocs.structure.files import File, Files

import generated


def on_config(config: Any) -> Any:
    """Adds the pages of all methods to the navigation, and pages that mkdocs.yml does not place."""
    left = generated.unplaced(config["nav"])
    for section in config["nav"]:
        if "In depth" in section:
            section["In depth"] += left
        if "Methods" in section:
            section["Methods"].append({"One by one": [{page.names[0]: page.uri} for page in generated.method_pages()]})
    return config


def on_files(files: Files, config: Any) -> Files:
    for uri, content in generated.contents():
        files.append(File.generated(config, uri, content=content))
    return files


SEARCH = {"tasks/": 2.0, "guides/": 1.5, "api.md": 0.2, "changelog.md": 0.1, "architecture.md": 0.2, "methods/each/": 0.5}
"""Beginning of an address -> weight of its pages in the search: people search for a task more often than for a name of the API."""


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Links to files that are pages here under another name, and the page's weight in the search."""
    weight = next((weight for start, weight in SEARCH.items() if page.file.src_uri.startswith(start)), None)
    if weight is not None:
        page.meta.setdefault("search", {})["boost"] = weight
    return generated.relinked(markdown, page.file.src_uri)

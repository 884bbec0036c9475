"""The site without mkdocs: its navigation, all links and anchors, pictures, and what is generated from the registry."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
import yaml

import inertica as ia
from documents import PAGES, ROOT
from inertica.campaign.stored import stored
from inertica.estimators.options import option_names

sys.path.insert(0, str(ROOT / "docs" / "make"))
import generated
import pictures

DOCS = ROOT / "docs"
LINK = re.compile(r"(?<!\\)\]\((?P<target>[^)\s]*)\)")


def prose(page: Path) -> str:
    """A page without its code."""
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S))


def anchors(page: Path) -> set[str]:
    """Headings as GitHub and mkdocs name them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    words = (re.sub(r"[^\w\s-]", "", heading).strip().lower() for heading in re.findall(r"^#+ (.+)$", text, flags=re.M))
    return {re.sub(r"[-\s]+", "-", word) for word in words}


@pytest.fixture(scope="module")
def nav() -> list[object]:
    return yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]


def test_navigation_names_pages_that_exist_and_each_once(nav):
    placed = generated.placed(nav)
    assert not [name for name in placed if not (DOCS / name).is_file() and name not in generated.names()]
    assert len(set(placed)) == len(placed)


def test_pages_that_the_navigation_does_not_place_are_added(nav):
    """A new page need not be named in mkdocs.yml: it comes last under In depth."""
    assert any("In depth" in section for section in nav) and any("Methods" in section for section in nav)
    here = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")}
    assert set(generated.unplaced(nav)) == here - set(generated.placed(nav))
    assert "identify.md" in generated.unplaced([{"In depth": ["check.md"]}])


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md"], ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for found in LINK.finditer(prose(page)):
        target, _, anchor = found["target"].partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        there = (page.parent / target).resolve() if target else page
        if not there.is_file() and there.is_relative_to(DOCS):
            assert str(there.relative_to(DOCS)) in generated.names(), f"{found['target']} leads nowhere"
            continue
        assert there.exists(), f"{found['target']} leads nowhere"
        if anchor:
            assert anchor in anchors(there), f"{there.name} has no heading '{anchor}'; it has {sorted(anchors(there))}"


def test_links_out_of_docs_become_links_of_the_site():
    text = "[a](../README.md#how-well-how-fast) [b](identify.md) [c](https://x.org/y) ![d](methods/online.svg)"
    assert generated.relinked(text, "comparison.md") == text.replace("../README.md", "index.md")
    assert generated.relinked("[x](docs/methods/iv.md)", "index.md") == "[x](methods/iv.md)"
    assert generated.relinked("[x](../../examples/cluster.py)", "guides/cluster.md") == "[x](../examples/cluster.py)"


def test_every_picture_is_drawn_by_make_docs():
    """By docs/make/pictures.py, or, those of the studio, by docs/make/studio.py."""
    files = [path.relative_to(DOCS) for kind in ("png", "svg", "jpg", "gif", "webp") for path in DOCS.rglob(f"*.{kind}")]
    assert {path.name for path in files if path.parent.name != "studio"} == set(pictures.COMMANDS)
    makefile = (ROOT / "Makefile").read_text()
    for rule, script in (("pictures", "pictures.py"), ("tour", "studio.py")):
        assert re.search(rf"^docs: .*\b{rule}\b", makefile, flags=re.M) and f"docs/make/{script}" in makefile
    for words in pictures.COMMANDS.values():
        assert words[0] == "-m" or (ROOT / words[0]).is_file()


def test_every_method_has_a_page_with_all_its_options():
    pages = generated.method_pages()
    assert sorted(name for page in pages for name in page.names) == sorted(ia.METHODS)
    for page in pages:
        text = page.text()
        assert all(f"| `{option}` |" in text for m in page.methods for option in option_names(m))
        assert all(need.value in text for m in page.methods for need in m.needs)
        assert all(name in text for name in page.names)
        for found in LINK.finditer(text):
            assert (DOCS / page.uri).parent.joinpath(found["target"]).resolve().is_file(), found["target"]


def test_settings_say_what_they_mean():
    """An option without words is a field that no docstring names."""
    silent = [
        f"{page.names[0]}: {row.split('|')[1].strip()}"
        for page in generated.method_pages()
        for row in page.text().splitlines()
        if row.startswith("| `") and not row.split("|")[-2].strip()
    ]
    assert not silent


def test_pictures_of_methods_show_the_stored_table():
    drawn, caption = pictures.measured(["didim", "pc-didim"]) or (b"", "")
    assert b"<svg" in drawn and "fits a point" in caption
    lines = [line for line in pictures.lines() if line.method == "didim" and line.noise == "row 1"]
    assert lines and {line.error for line in lines} == {
        100.0 * s.d_par
        for s in stored()
        if (s.line.place.method, s.line.place.noise, s.line.place.loop) == ("didim", "row 1", "known") and s.line.rows[0]
    }
    assert pictures.measured(["no such method"]) is None


def test_the_api_page_has_every_public_name():
    text = generated.api()
    assert all(f".{name}\n" in text for name in ia.__all__ if name not in ("METHODS", "__version__"))

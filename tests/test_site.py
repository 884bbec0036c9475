"""The site without mkdocs: its navigation, all links and anchors, pictures, and what is generated from the registry."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

import inertica as ia
from documents import PAGES, ROOT
from inertica.campaign.stored import measured, percent, stored
from inertica.estimators.options import option_names

sys.path.insert(0, str(ROOT / "docs" / "make"))
import generated
import pictures
import told

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


def test_what_pages_of_methods_say_of_errors_comes_from_the_tables():
    ml = measured("ml", noise="row 3")
    assert ml is not None and told.filled("{ml at row 3} off") == f"{percent(ml.d_par)} off"
    assert re.fullmatch(r"[\d.]+ to [\d.]+ %", told.filled("{ekf, ml, cloe at row 3}"))
    with pytest.raises(ia.InputError, match="no shipped campaign has: nonsense at row 1"):
        told.filled("{nonsense at row 1}")
    by_hand = re.findall(r"[\d.]+ %", (DOCS / "make" / "told.yaml").read_text(encoding="utf-8"))
    assert by_hand == ["30 %"]  # the DIDIM paper's limit of essential parameters, which is no measurement


def test_links_out_of_docs_become_links_of_the_site():
    text = "[a](../README.md#what-it-is-better-at) [b](identify.md) [c](https://x.org/y) ![d](methods/online.svg)"
    assert generated.relinked(text, "comparison.md") == text.replace("../README.md", "index.md")
    assert generated.relinked("[x](docs/methods/iv.md)", "index.md") == "[x](methods/iv.md)"
    assert generated.relinked("[x](../../examples/cluster.py)", "guides/cluster.md") == "[x](../examples/cluster.py)"


def test_every_picture_is_drawn_by_make_docs():
    """Files that are there, and files that pages show, are those that its scripts write."""
    files = {path for kind in ("png", "svg", "jpg", "gif", "webp") for path in DOCS.rglob(f"*.{kind}")}
    assert files == pictures.drawn()
    makefile = (ROOT / "Makefile").read_text()
    for rule, script in (("pictures", "pictures.py"), ("report", "report.py"), ("tour", "studio.py")):
        assert re.search(rf"^docs: .*\b{rule}\b", makefile, flags=re.M) and f"docs/make/{script}" in makefile
    for words in pictures.COMMANDS.values():
        assert words[0] == "-m" or (ROOT / words[0]).is_file()


def test_pages_show_pictures_that_make_docs_draws():
    shown = set()
    for page in PAGES:
        text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
        for found in re.finditer(r"!\[[^]]*\]\((?P<md>[^)\s]+)\)|<img[^>]*src=\"(?P<html>[^\"]+)\"", text):
            target = found["md"] or found["html"]
            assert not re.match(r"[a-z]+:", target), f"{page.name} shows a picture from elsewhere: {target}"
            shown.add((page.parent / target).resolve())
    assert shown and shown <= {path.resolve() for path in pictures.drawn()}


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


SECTIONS = (
    "Criterion", "Algorithm", "Needs", "Assumptions", "Settings", "When it fails", "Measured", "What to expect", "Reference",
)  # fmt: skip


def sections(text: str) -> dict[str, str]:
    return dict(part.split("\n", 1) for part in text.split("\n## ")[1:])


@pytest.mark.parametrize("page", generated.method_pages(), ids=lambda page: page.names[0])
def test_every_page_of_a_method_is_whole(page):
    """All sections with something in them, lines of a shipped table to draw, a reference that docs/references.md has."""
    parts = sections(page.text("picture.svg", "caption"))
    assert set(SECTIONS) <= set(parts) and all(len(parts[section].strip()) > 4 for section in SECTIONS)
    assert re.search(r"^    \S", parts["Criterion"], flags=re.M)
    assert any(line.method in page.names for line in pictures.lines())
    named = [paper for paper in PAPERS if paper.lower() in parts["Reference"].lower()]
    assert named or "no paper of its own" in parts["Reference"]
    assert all(paper in (DOCS / "references.md").read_text(encoding="utf-8") for paper in named)


@pytest.mark.slow
def test_every_page_of_a_method_has_its_picture():
    written = dict(generated.contents())
    for page in generated.method_pages():
        measured = sections(str(written[page.uri]))["Measured"]
        (picture,) = re.findall(r"!\[[^]]*\]\(([^)]+)\)", measured)
        drawn = written[page.uri.replace(f"{page.names[0]}.md", picture)]
        assert b"<svg" in drawn and len(drawn) > 10_000 and "fits a point" in measured


PAPERS = (
    "the survey", "the DIDIM paper", "the consistent-parameters paper", "the Jaco2 paper", "the Frisch paper",
    "Cao and Schwartz 2000", "Van Huffel and Vandewalle", "Rucker and Wensing 2022",
)  # fmt: skip


def test_settings_say_what_they_mean():
    """An option without words is a field that no docstring names."""
    silent = [
        f"{page.names[0]}: {row.split('|')[1].strip()}"
        for page in generated.method_pages()
        for row in page.text().splitlines()
        if row.startswith("| `") and (not row.split("|")[-2].strip() or row.split("|")[-2].startswith(" as for "))
    ]
    assert not silent


def test_pictures_of_methods_show_the_stored_table():
    drawn, caption = pictures.measured(["didim", "pc-didim"]) or (b"", "")
    assert b"<svg" in drawn and "fits a point" in caption
    lines = [line for line in pictures.lines() if line.method == "didim" and line.noise == "row 1"]
    known = [
        s
        for s in stored()
        if (s.line.place.method, s.line.place.noise, s.line.place.loop, s.line.place.decimate) == ("didim", "row 1", "known", 1)
        and s.rows
    ]
    for line in lines:  # of several tables the one with most fits
        robot = dict(line.place)["robot"]
        best = max((s for s in known if s.line.place.robot == robot), key=lambda s: s.rows)
        assert (line.error, line.fits) == (100.0 * best.d_par, best.rows)
    assert {dict(line.place)["robot"] for line in lines} == {"tx40", "rv2sq"}
    assert pictures.measured(["no such method"]) is None


def test_pictures_are_of_campaigns_that_their_panels_show():
    robots = {panel["robot"] for _, panel in pictures.PANELS}
    assert {dict(line.place)["robot"] for line in pictures.lines()} == robots
    for names in (["didim"], ["cls-3"], ["frisch"]):  # other campaigns have more fits of these, on other robots
        drawn, caption = pictures.measured(names) or (b"", "")
        assert names[0].encode() in drawn
        assert not any(f"`{other}`" in caption for other in ("didim", "jaco2", "frisch")), caption


QUESTIONS = {
    "rosbag": "tasks/ur-rosbag.html",
    "UR5e": "tasks/ur-rosbag.html",
    "Franka": "tasks/franka.html",
    "currents": "guides/currents.html",
    "frictionloss": "tasks/mujoco.html",
    "armature": "tasks/mujoco.html",
    "Isaac Lab": "tasks/isaac-lab.html",
    "ROS 2": "tasks/ros2-control.html",
    "payload": "payload.html",
    "no masses": "tasks/no-masses.html",
}
"""What newcomers type into the search of the site -> the page that answers it."""


@pytest.mark.slow
def test_the_search_of_the_site_answers_newcomers_first(tmp_path):
    """The built site's own index and program of the search, run by node in place of the browser."""
    if find_spec("mkdocs") is None or find_spec("material") is None:
        pytest.skip("mkdocs-material is not installed (the extra docs)")
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    build = [sys.executable, "-m", "mkdocs", "build", "-q", "-f", str(ROOT / "mkdocs.yml"), "-d", str(tmp_path)]
    subprocess.run(build, check=True, cwd=ROOT, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"})
    script = Path(__file__).with_name("site_search.js")
    asked = subprocess.run(["node", str(script), str(tmp_path), *QUESTIONS], check=True, capture_output=True, text=True)
    hits = json.loads(asked.stdout)
    first = {question: next(iter(hits[question]), "").partition("#")[0] for question in QUESTIONS}
    assert first == QUESTIONS


def test_the_api_page_is_the_public_list():
    named = [line.removeprefix("::: ").rpartition(".")[2] for line in generated.api().splitlines() if line.startswith(":::")]
    assert sorted(named) == ia.__all__

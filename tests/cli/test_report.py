"""`inertica report`: the page again, of one result or several, on paper where a browser is; `identify` leaves its command line."""

import json
import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest
from lxml import html

import chromium
import pair
from inertica.cli.main import main
from inertica.report import browser
from inertica.workflow.identify.result import Result

FIXED = ("--method", "wls", "--cutoff", "10", "--delay", "0", "--friction", "viscous,coulomb", "--quick")


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    """Folder of a result, from logs in a folder of their own."""
    place = tmp_path_factory.mktemp("report")
    for file in pair.files():
        shutil.copy(file, place)
    words = [place / "pair.urdf", place / "run1.csv", "--validate", place / "run2.csv", "-o", place / "result", *FIXED]
    assert main(["identify", *map(str, words)]) == 0
    return place / "result"


def said(capsys, *words):
    assert main([*map(str, words)]) == 0
    return capsys.readouterr()


def test_the_page_is_written_again_and_holds_the_command_line(result, capsys):
    first = (result / "report.html").read_text()
    capsys.readouterr()
    document = json.loads(said(capsys, "report", result, "--json").out)
    assert document["files"] == [str(result / "report.html")] and document["warnings"] == []
    tree = html.fromstring((result / "report.html").read_text())
    command = tree.get_element_by_id("provenance").findtext(".//code")
    assert command == Result.load(result).command and command.startswith("inertica identify ") and "--cutoff 10" in command
    assert len(tree.xpath("//figure[@class='plot']")) == len(html.fromstring(first).xpath("//figure[@class='plot']"))


def test_logs_that_moved_are_found_where_one_says_and_missed_aloud(result, capsys, tmp_path):
    moved, place = tmp_path / "moved", result.parent
    moved.mkdir()
    for k in (1, 2):
        shutil.move(place / f"run{k}.csv", moved)
    answer = said(capsys, "report", result, "-o", tmp_path / "a.html")
    assert "the report is without identification" in answer.err and "were not there" in (tmp_path / "a.html").read_text()
    answer = said(capsys, "report", result, "-o", tmp_path / "b.html", "--logs", moved)
    assert answer.err == "" and "were not there" not in (tmp_path / "b.html").read_text()
    for k in (1, 2):
        shutil.move(moved / f"run{k}.csv", place)


def test_several_results_need_a_place_and_get_one_page(result, capsys, tmp_path):
    assert "-o FILE" in pair.refused(capsys, "report", result, result)
    said(capsys, "report", result, result, "-o", tmp_path / "both.html")
    assert "side by side" in (tmp_path / "both.html").read_text()


def test_without_a_browser_there_is_a_sentence_and_no_work(result, capsys, monkeypatch):
    monkeypatch.setattr(browser.shutil, "which", lambda name: None)
    assert "install Chromium, or open the HTML file and print it" in pair.refused(capsys, "report", result, "--pdf")


def commands():
    """Every command line of docs/report.md."""
    text = (Path(__file__).parents[2] / "docs" / "report.md").read_text()
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    return [line.split("#")[0].strip() for block in blocks for line in block.splitlines() if line.startswith("inertica")]


@pytest.fixture(scope="module")
def place(result, tmp_path_factory):
    """A folder with what docs/report.md talks about; its logs say what the controller followed."""
    folder = tmp_path_factory.mktemp("docs")
    (folder / "archive").mkdir()
    for name in ("run1.csv", "run2.csv"):
        table = np.loadtxt(result.parent / name, delimiter=",", skiprows=1)
        both = np.column_stack([table, table[:, 1:3] + 0.01])
        np.savetxt(folder / "archive" / name, both, delimiter=",", header=f"{pair.HEADER},qr1,qr2", comments="", fmt="%.12g")
    words = [result.parent / "pair.urdf", folder / "archive" / "run1.csv", "--validate", folder / "archive" / "run2.csv", *FIXED]
    assert main(["identify", *map(str, words), "-o", str(folder / "result")]) == 0
    for name in ("monday", "friday"):
        shutil.copytree(folder / "result", folder / name)
    return folder


@pytest.mark.parametrize("line", commands())
def test_every_command_of_the_documentation_runs(line, place, monkeypatch, capsys):
    if "--pdf" in line and chromium.where() is None:
        pytest.skip("no Chromium on this machine")
    monkeypatch.chdir(place)
    words = shlex.split(line)[1:]
    capsys.readouterr()
    document = json.loads(said(capsys, *words, "--json").out)
    files = document.get("files", [document.get("file")])
    assert document["warnings"] == [] and all((place / file).stat().st_size > 1000 for file in files)

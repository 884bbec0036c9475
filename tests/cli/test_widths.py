"""What commands print, at 80 and 100 columns: a robot of seven joints, folders and files with long names, every number whole."""

from __future__ import annotations

import io
import re
import shutil
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from campaign import small
from inertica.cli import console
from inertica.cli import main as command_line
from inertica.cli.console import Answer, write
from inertica.excitation.files import catalog_trajectory
from inertica.experiment import Experiment
from inertica.logs.log import Log
from inertica.robot import inertia
from inertica.robot.layout import Parameters
from inertica.robot.load import load

WIDTHS = (80, 100)
WIDE = 2000
LONG = Path("recorded on the robot in the corner of the laboratory") / "second day after lunch with the new cable"
EMPTY = LONG / "identification-motion-with-a-name-that-says-everything-about-it.csv.gz"
FULL = LONG / "a-motion-with-the-gripper-and-a-name-that-says-everything-too.csv.gz"
RESULT = LONG / "result of the identification of the third drive, before its repair"
OTHER = LONG / "result of the identification of the third drive, after its repair"
FIXED = ("--cutoff", "30", "--delay", "0", "--friction", "viscous,coulomb", "--gravity=0,0,-9.81")
LOAD = inertia.from_com(2.5, [0.02, 0.03, 0.05], np.diag([0.006, 0.007, 0.004]))


def recorded(seed: int, load_at_end: np.ndarray | None = None) -> Log:
    made = Experiment.of(load("panda7"), noise="standard", threads=1)
    if load_at_end is not None:
        values = np.array(made.truth.values)
        values[made.truth.layout.link(6)] += load_at_end
        made = replace(made, truth=Parameters(made.truth.layout, values, made.truth.shapes))
    return made.run(catalog_trajectory("panda7").trajectory, seed=seed)[0].sliced(0.0, 3.0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    there = tmp_path_factory.mktemp("widths")
    (there / LONG).mkdir(parents=True)
    recorded(1).save(there / EMPTY)
    recorded(2, LOAD).save(there / FULL)
    return there


@pytest.fixture
def printed(folder: Path, monkeypatch: pytest.MonkeyPatch):
    """Runs a command once, and what it prints at each width, with no width to speak of besides."""
    monkeypatch.chdir(folder)

    def run(words: Sequence[object]) -> dict[int, str]:
        at: dict[int, str] = {}

        def written(answer: Answer, said: Sequence[str], as_json: bool) -> None:
            for width in (*WIDTHS, WIDE):
                monkeypatch.setenv("COLUMNS", str(width))
                monkeypatch.setattr(console, "COLUMNS", width)
                with redirect_stdout(io.StringIO()) as stream:
                    write(answer, said, as_json)
                at[width] = stream.getvalue()

        monkeypatch.setattr(command_line, "write", written)
        assert command_line.main([str(word) for word in words]) in (0, 1)
        return at

    return run


def fits(at: dict[int, str]) -> None:
    """No line too long, and every word with a digit in it is whole: values, intervals, names of parameters."""
    whole = set(re.findall(r"[^\s,;:()]*\d[^\s,;:()]*", at[WIDE]))
    assert whole
    for width in WIDTHS:
        assert max(map(len, at[width].splitlines())) <= width
        assert not [word for word in whole if word not in at[width]]
        assert "\N{HORIZONTAL ELLIPSIS}" not in re.sub(r"\S*[A-Za-z-]{4}\S*|\N{HORIZONTAL ELLIPSIS}[a-z]", "", at[width])


def identified(printed, log: Path, result: Path) -> dict[int, str]:
    return printed(["identify", "panda7", log, "--full", "--quick", "--method", "pc-wls", *FIXED, "-o", result])


def test_results_and_what_follows_from_them(printed, folder):
    said = identified(printed, EMPTY, RESULT)
    fits(said)
    assert all(f"written to {LONG}" in " ".join(said[width].split()) for width in WIDTHS)
    for words in (["truth", RESULT, "panda7"], ["predict", RESULT, FULL], ["export", RESULT, "--mjcf", LONG / "identified.xml"]):
        fits(printed(words))
    shutil.copytree(folder / RESULT, folder / OTHER)
    fleet = printed(["fleet", RESULT, OTHER, "-o", LONG / "fleet.csv"])
    fits(fleet)
    assert all("\N{HORIZONTAL ELLIPSIS}" in fleet[width] and RESULT.name not in fleet[width] for width in WIDTHS)


@pytest.mark.parametrize(
    "words",
    [
        ["check", "panda7", EMPTY],
        ["compare", "panda7", EMPTY, "--validate", FULL, "--methods", "ols,wls", *FIXED],
        ["check-model", "panda7"],
        ["show", "panda7"],
        ["fit-loop", "panda7", EMPTY],
        ["campaign", "shipped", "didim"],
        ["advise", "--loop", "unknown", "--rate", "1000"],
        ["dynamics", "panda7", "--at=0,0.3,1.2,0,0.5,0,0.1"],
    ],
    ids=lambda words: words[0],
)
def test_tables(words, printed):
    fits(printed(words))


@pytest.mark.slow
def test_a_campaign(printed, folder):
    spec = small.written(folder, small.TEXT.replace("runs: 4", "runs: 2").replace("starts: 2", "starts: 1"))
    store = LONG / "store of a campaign with a name that goes on and on and on"
    for words in (
        ["campaign", spec.name, "-o", store, "--workers", "1"],
        ["campaign", "tables", store],
        ["campaign", "status", store],
    ):
        fits(printed(words))


@pytest.mark.slow
def test_loads_gains_and_friction(printed, folder):
    identified(printed, EMPTY, RESULT)
    fits(printed(["payload", "panda7", "--unloaded", EMPTY, "--loaded", FULL, "-o", LONG / "load"]))
    fits(printed(["payload", "--robot-from", RESULT, "--loaded", FULL]))
    gains = np.linspace(6.0, 12.0, 7)
    for log, seed, body in ((EMPTY, 1, None), (FULL, 2, LOAD)):
        torque = recorded(seed, body)
        signals = {"q": torque.need("q"), "i": torque.need("tau") / gains}
        replace(torque, signals=signals, channels=()).save(folder / LONG / f"current-{log.name}")
    empty, full = (LONG / f"current-{log.name}" for log in (EMPTY, FULL))
    fits(printed(["drive-gains", "panda7", "--unloaded", empty, "--loaded", full, "--mass", "2.5", "--cutoff", "30"]))
    (folder / LONG / "experiment.yaml").write_text(
        f"loads: {{gripper: {{}}}}\nlogs:\n  - {{log: {EMPTY.name}, load: none}}\n  - {{log: {FULL.name}, load: gripper}}\n"
    )
    fits(printed(["loads", "panda7", LONG / "experiment.yaml"]))
    fits(printed(["watch", "panda7", EMPTY, "--every", "1"]))
    fits(printed(["friction", "panda7", EMPTY, "--joints", "1,2"]))


@pytest.mark.slow
@pytest.mark.parametrize("words", [["didim", "--seeds", "1"], ["jaco2", "--seeds", "1"], ["frisch", "--quick"]], ids=" ".join)
def test_published_studies(words, printed):
    fits(printed(["reproduce", *words]))

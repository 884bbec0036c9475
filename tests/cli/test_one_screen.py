"""`inertica identify` prints one screen: the gain, the verdict with its reasons, joints, files, next step, and the verdict again."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace

import pytest
from real_records import DATA, RECORDS, Record, Window

import pair
from inertica.cli.console import collected_warnings, held_warnings
from inertica.cli.main import main
from inertica.errors import ModelWarning
from inertica.report.digest import MOST_JOINTS, SCREEN, digest
from inertica.report.verdict_words import verdict_words
from inertica.robot.load import load
from inertica.workflow.identify.verdict import verdict

QUICK = ("--cutoff", "10", "--delay", "0", "--friction", "viscous,coulomb", "--method", "wls")
EVERY_LOG = [pytest.param(record, window, id=f"{record.name} {window.name}") for record in RECORDS for window in record.windows]


def printed(capsys, *words: object) -> list[str]:
    """Lines on stdout and stderr together."""
    assert main(["identify", *map(str, words)]) == 0
    streams = capsys.readouterr()
    return [*streams.err.splitlines(), *streams.out.splitlines()]


def check_screen(lines: list[str]) -> None:
    assert len(lines) <= SCREEN == 40 and max(map(len, lines)) <= 100
    verdicts = [line for line in lines if line.startswith("Verdict: ")]
    assert len(verdicts) == 2 and verdicts[0] == verdicts[1] == lines[-1]
    assert any(line.startswith("The model you came with ") for line in lines[:2])
    assert any(line.startswith("Next: ") for line in lines)
    assert not [line for line in lines if "Warning" in line]


def test_one_screen_of_a_simulated_log(capsys, tmp_path):
    robot, fit, other = pair.files()
    lines = printed(capsys, robot, fit, "--validate", other, *QUICK, "-o", tmp_path / "out")
    check_screen(lines)
    text = " ".join(" ".join(lines).split())
    for joint in load(robot).robot.joint_names:
        assert any(joint in line.split() for line in lines)
    assert "report.html" in text and "identified.urdf" in text and "More with --full and in the report: " in text
    count = len(json.loads((tmp_path / "out" / "result.json").read_text())["warnings"])
    assert f"report: {count} warning" in text


def test_the_first_line_states_the_residuals_of_the_document(capsys):
    robot, fit, other = pair.files()
    lines = printed(capsys, robot, fit, "--validate", other, *QUICK)
    assert main(["identify", robot, fit, "--validate", other, *QUICK, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    before, after = (100.0 * residual["raw"]["all"] for residual in (document["before"], document["residual"][other]))
    assert lines[0].startswith(f"The model you came with leaves {before:.2f} %, the identified one {after:.2f} %")
    assert lines[-1] == f"Verdict: {document['verdict']['level']}. {document['verdict']['headline']}."


@pytest.mark.parametrize("width", [60, 80, 100])
@pytest.mark.parametrize("most", [24, 30, 40])
def test_reasons_give_way_and_are_counted(width: int, most: int, monkeypatch):
    """Whatever there is to say, the screen holds; what it leaves out is said."""
    words = verdict_words(pair.identified())
    long = replace(words, details=tuple(f"Reason {k} is a sentence of some length about joint {k}." * 3 for k in range(30)))
    monkeypatch.setattr("inertica.report.digest.verdict_words", lambda *_: long)
    lines = [line.text for line in digest(pair.identified(), ("out/result.json", "out/report.html"), None, width, most)]
    shown = [line for line in lines if line.startswith("* Reason")]
    assert len(lines) <= most or not shown
    assert all(len(line) <= width for line in lines)
    if shown:
        assert f"* and {30 - len(shown)} more" in lines


def test_a_robot_of_many_joints_shows_those_that_are_missed_most():
    result = pair.identified()
    assert result.description.robot.n <= MOST_JOINTS
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("inertica.report.digest.MOST_JOINTS", 1)
        lines = [line.text for line in digest(result)]
    name = verdict(result).data_set
    after = result.residuals[name].raw.per_joint
    worst = result.description.robot.joint_names[max(range(2), key=lambda j: after[j])]
    rows = [line.split() for line in lines]
    assert "and 1 joint, predicted better" in lines
    assert [row[1] for row in rows if len(row) > 1 and row[1] in result.description.robot.joint_names] == [worst]


def test_warnings_are_held_for_a_count_and_shown_when_a_command_fails(capsys):
    with collected_warnings() as shown, held_warnings() as held:
        warnings.warn(ModelWarning("link 3 has mass 0"), stacklevel=1)
        warnings.warn("invalid value encountered in divide", RuntimeWarning, stacklevel=1)
    assert held == ["link 3 has mass 0"] and not shown and capsys.readouterr().err == ""

    def fails() -> None:
        with held_warnings():
            warnings.warn(ModelWarning("link 3 has mass 0"), stacklevel=1)
            raise ZeroDivisionError

    with collected_warnings() as shown, pytest.raises(ZeroDivisionError):
        fails()
    assert shown == ["link 3 has mass 0"] and capsys.readouterr().err == "inertica: warning: link 3 has mass 0\n"


def test_warnings_of_other_packages_do_not_reach_the_user(capsys):
    with collected_warnings() as shown:
        warnings.warn("invalid value encountered in divide", RuntimeWarning, stacklevel=1)
    assert not shown and capsys.readouterr().err == ""


@pytest.mark.slow
@pytest.mark.parametrize(("record", "window"), EVERY_LOG)
def test_one_screen_of_every_real_record(record: Record, window: Window, tmp_path, capsys):
    """Every record with torque or current, by all defaults, everything written."""
    if not DATA.is_dir():
        pytest.skip(f"no real data in {DATA}")
    card = record.card(tmp_path)
    check_screen(printed(capsys, card, window.path(record.folder), "-o", tmp_path / "out"))

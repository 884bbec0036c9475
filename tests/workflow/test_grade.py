"""The grade of a model file: what is missing or impossible in it, and the torque of logs that it misses."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from lxml import etree

import inertica as ia
from documents import ROOT
from inertica.cli.main import main
from inertica.report.badge import COLOURS, badge
from inertica.workflow.grade import LETTERS, Grade

ARM, LOG = ROOT / "examples" / "data" / "arm.urdf", ROOT / "examples" / "data" / "run1.csv.gz"


def changed(folder: Path, pattern: str, new: str, count: int = 0) -> Path:
    """The arm of the examples with a piece of its text replaced."""
    text, changes = re.subn(pattern, new, ARM.read_text(), count=count, flags=re.DOTALL)
    assert changes
    (folder / "changed.urdf").write_text(text)
    return folder / "changed.urdf"


def letters(graded: Grade) -> dict[str, str]:
    """Subject -> its worst letter."""
    out: dict[str, str] = {}
    for f in graded.findings:
        out[f.subject.value] = max(out.get(f.subject.value, "A"), f.grade)
    return out


def test_the_grade_is_the_worst_letter_of_all_findings() -> None:
    graded = ia.grade(ARM)
    assert letters(graded) == {"links": "A", "masses": "A", "drive inertia": "B", "friction": "B"} and graded.letter == "B"
    assert {ia.grade(name).letter for name in ("tx40", "rv2sq", "scara4")} == {"A"}


def test_a_link_that_cannot_exist_fails(tmp_path: Path) -> None:
    graded = ia.grade(changed(tmp_path, 'iyy="0.012" iyz="0" izz="0.012"', 'iyy="0.012" iyz="0" izz="0.9"'))
    (finding,) = [f for f in graded.findings if f.subject == "links"]
    assert graded.letter == "F" and finding.joints == (2,) and "triangle" in finding.detail


def test_no_masses_and_placeholders_are_told(tmp_path: Path) -> None:
    assert letters(ia.grade(changed(tmp_path, r"<inertial>.*?</inertial>", "")))["masses"] == "D"
    same = (
        '<inertial><origin xyz="0 0 0.05"/><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
    )
    assert letters(ia.grade(changed(tmp_path, r"<inertial>.*?</inertial>", same)))["masses"] == "D"


def test_an_inertia_in_other_units_is_larger_than_the_robot(tmp_path: Path) -> None:
    graded = ia.grade(
        changed(
            tmp_path,
            'ixx="0.001" ixy="0" ixz="0" iyy="0.005" iyz="0" izz="0.005"',
            'ixx="1e3" ixy="0" ixz="0" iyy="5e3" iyz="0" izz="5e3"',
        )
    )
    (finding,) = [f for f in graded.findings if f.subject == "masses"]
    assert finding.joints == (3,) and finding.grade == "C" and finding.value > finding.limit


def test_friction_and_armature_make_an_a(tmp_path: Path) -> None:
    (tmp_path / "card.yaml").write_text(
        f"model: {ARM}\nfriction: [viscous, coulomb]\narmature: true\n"
        "parameters: {Ia1: 0.02, Ia2: 0.02, Ia3: 0.02, Fv1: 0.2, Fv2: 0.2, Fc3: 0.3}\n"
    )
    assert ia.grade(tmp_path / "card.yaml").letter == "A"


def test_a_log_tells_how_much_torque_is_missed(tmp_path: Path) -> None:
    """The same figure as `identify` states for the model that came in, up to the filters of both."""
    graded = ia.grade(ARM, [LOG])
    (finding,) = [f for f in graded.findings if f.subject == "residual"]
    before = ia.identify(ARM, [LOG], quick=True).before
    assert before is not None and finding.value == pytest.approx(before.residual.raw.all, rel=0.05)
    assert finding.grade == "C" and finding.log == "run1.csv.gz" and graded.residuals["run1.csv.gz"].raw.all == finding.value


def test_repeats_and_jitter_of_a_recorder_are_no_torque(tmp_path: Path) -> None:
    """Positions of a moving joint tell the band of the motion; its derivatives would tell that of the recorder."""
    import gzip

    header, *rows = gzip.decompress(LOG.read_bytes()).decode().splitlines()
    repeated = [rows[k - 1] if k % 17 == 5 else row for k, row in enumerate(rows)]
    stamped = [f"{row.partition(',')[0]},{other.partition(',')[2]}" for row, other in zip(rows, repeated, strict=True)]
    (tmp_path / "repeats.csv").write_text("\n".join([header, *stamped]) + "\n")
    (clean,) = ia.grade(ARM, [LOG]).residuals.values()
    (dirty,) = ia.grade(ARM, [tmp_path / "repeats.csv"]).residuals.values()
    assert dirty.raw.all == pytest.approx(clean.raw.all, rel=0.1)


def test_the_command_says_it_and_writes_a_badge(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sign = tmp_path / "grade.svg"
    assert main(["grade", str(ARM), "--badge", str(sign), "--at-least", "B"]) == 0
    assert capsys.readouterr().out.rstrip().endswith("Grade: B")
    assert main(["grade", str(ARM), "--at-least", "A", "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["grade"] == "B" and {f["subject"] for f in document["findings"]} == {
        "links",
        "masses",
        "drive inertia",
        "friction",
    }
    root = etree.fromstring(sign.read_bytes())
    assert root.get("aria-label") == "inertica grade of arm: B"
    assert main(["grade", str(tmp_path / "no.urdf")]) == 2 and main(["grade", str(ARM), str(ARM)]) == 2


@pytest.mark.parametrize("letter", LETTERS)
def test_white_text_can_be_read_on_every_badge(letter: str) -> None:
    def luminance(colour: str) -> float:
        parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        r, g, b = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    assert 1.05 / (luminance(COLOURS[letter]) + 0.05) >= 4.5
    assert "<script" not in badge(letter, '"><script>')


def test_a_log_of_impossible_size_is_no_share_of_torque(tmp_path: Path) -> None:
    log = ia.read_log(LOG)
    for symbol in ("q", "tau"):
        huge = ia.Log.from_arrays(log.t, {**log.signals, symbol: 1e300 * log.signals[symbol]}, log.joints)
        with pytest.raises(ia.InputError, match="a size that cannot be computed with"):
            ia.grade(ARM, [huge])

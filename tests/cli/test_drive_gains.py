"""`inertica drive-gains` on the command line: what it refuses (the numbers are in tests/workflow/test_drive_gains.py)."""

from __future__ import annotations

import pytest

from inertica.cli.main import main


def test_help_has_examples(capsys) -> None:
    assert main(["drive-gains", "--help"]) == 0
    said = capsys.readouterr().out
    assert "inertica drive-gains arm.urdf" in said and "--form" in said


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--mass", "2"], "--unloaded"),
        (["--unloaded", "a.csv", "--mass", "2"], "needs logs that carry it"),
        (["--unloaded", "a.csv", "--weighed=2:3"], "'2:3' should be a joint, kg and a point"),
        (["--unloaded", "a.csv", "--weighed=2:-3:1,0,0"], "should be a joint, kg and a point"),
        (["--unloaded", "a.csv", "--pose=1,2"], "--pose is that of --weighed"),
        (["--unloaded", "a.csv", "--law", "--mass", "2"], "leave --mass out"),
        (["--unloaded", "a.csv", "--accuracy=-1"], "a relative standard deviation, not -1"),
        (["--unloaded", "a.csv", "--twice", "b.csv"], "go with logs of one of them"),
        (["--unloaded", "a.csv", "--loaded", "b.csv", "--mass", "2", "--com=1,x,0"], "'1,x,0' should be numbers"),
        (["--unloaded", "a.csv", "--loaded", "b.csv", "--mass", "0"], "a number of kg greater than zero"),
        (["--unloaded", "a.csv", "--loaded", "b.csv", "--mass", "2"], "no such file or folder"),
    ],
)
def test_bad_input_is_one_sentence(words, sentence, capsys) -> None:
    assert main(["drive-gains", "tx40", *words]) == 2
    assert sentence in capsys.readouterr().err

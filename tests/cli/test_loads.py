"""`inertica loads` on the command line: what it refuses (the numbers are in tests/workflow/test_loads.py)."""

from __future__ import annotations

from inertica.cli.main import main


def test_bad_input_is_one_sentence(tmp_path, capsys) -> None:
    path = tmp_path / "experiment.yaml"
    path.write_text("logs:\n  - {log: a.csv, load: none}\n")
    assert main(["loads", "tx40", str(path)]) == 2
    assert "no log carries a load" in capsys.readouterr().err
    path.write_text("loads: {disc: {mass: -1}}\nlogs:\n  - {log: a.csv, load: disc}\n")
    assert main(["loads", "tx40", str(path)]) == 2
    assert "experiment.yaml:1" in capsys.readouterr().err
    path.write_text("loads: {disc: {mass: 1, inertia: [1, 0, 0, 1, 0, 1]}}\nlogs:\n  - {log: a.csv, load: disc}\n")
    assert main(["loads", "tx40", str(path)]) == 2
    assert "about its centre of mass" in capsys.readouterr().err
    assert main(["loads", "--help"]) == 0
    assert "inertica loads card.yaml experiment.yaml" in capsys.readouterr().out

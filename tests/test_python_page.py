"""docs/python.md: a call for every command, and every call exists."""

import re
from pathlib import Path

import inertica as ia
from inertica.cli.main import COMMANDS

PAGE = (Path(__file__).parents[1] / "docs" / "python.md").read_text(encoding="utf-8")
NOT_CALLS = {"completion"}  # belongs to the shell


def test_every_command_has_a_call():
    rows = "\n".join(line.split("|")[1] for line in PAGE.splitlines() if line.startswith("| `"))
    missing = [name for name in COMMANDS if name not in NOT_CALLS and not re.search(rf"`{name}\b(?!-)", rows)]
    assert not missing, f"commands without a call in docs/python.md: {missing}"


def test_every_call_exists():
    for name, attribute in re.findall(r"\bia\.(\w+)(?:\.(\w+))?", PAGE):
        found = getattr(ia, name)
        assert not attribute or hasattr(found, attribute)


def test_calls_take_what_the_page_says(tmp_path):
    """The short ones, on the smallest robots."""
    (log,) = ia.simulate("planar2", duration=2.0)
    log.save(tmp_path / "log.npz")
    quality = ia.check("planar2", [tmp_path / "log.npz"])
    assert quality.robot == "planar2" and quality.findings
    reduced = ia.reduce("planar2", [log], method="ols")
    assert len(reduced.estimate.beta) == reduced.reduction.base.rank
    found = ia.excite("planar2", seconds=0.5, harmonics=3, grid=20)
    ia.save_trajectory(found.trajectory, tmp_path / "t.yaml", robot="planar2")
    assert ia.load_trajectory(tmp_path / "t.yaml").period == 10.0

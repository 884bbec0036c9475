"""Several robots of one type in one table."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import inertica as ia
from inertica.cli.main import main
from inertica.errors import InputError
from inertica.report.fleet import _pooled

FIXED = {"delay": 0.0, "friction": ("viscous", "coulomb"), "quick": True, "method": "wls"}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Three arms, of which the last has a heavier second link and more friction in its first joint."""
    folder = tmp_path_factory.mktemp("fleet")
    robot = ia.load("scara2")
    other = replace(robot, prior=robot.prior.replaced({"M2": robot.prior["M2"] + 1.0, "Fc1": 1.3 * robot.prior["Fc1"]}))
    for k, one in enumerate((robot, robot, other)):
        log = ia.simulate(one, noise="standard", seed=10 + k)[0]
        ia.identify(robot, [replace(log, origin=replace(log.origin, path=folder / f"{k}.csv"))], **FIXED).save(folder / f"arm{k}")
    return [str(folder / f"arm{k}") for k in range(3)]


def test_what_differs_is_named_and_nothing_else(folders) -> None:
    alike = ia.fleet(folders[:2])
    assert not alike.differing and len(alike.parameters) == 8 and alike.names == ("arm0", "arm1")
    found = ia.fleet(folders)
    assert {"ZZ1", "Fc1"} <= {p.name for p in found.differing} <= {"ZZ1", "Fc1", "Fv1"}
    share = next(p for p in found.parameters if p.name == "Fc1")
    assert 0.08 < share.between / share.mean < 0.24  # 0.157 for equal weights


def test_the_command(folders, tmp_path, capsys) -> None:
    assert main(["fleet", *folders, "-o", str(tmp_path / "t.csv"), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["results"] == ["arm0", "arm1", "arm2"] and document["left_out"] == []
    lines = (tmp_path / "t.csv").read_text().splitlines()
    assert len(lines) == 9 and lines[0].startswith("parameter,mean,std,between,p,arm0 value,arm0 std")
    assert main(["fleet", *folders]) == 0
    assert "differ by more than chance" in capsys.readouterr().out


def test_robots_that_are_alike_differ_by_chance_as_often_as_stated() -> None:
    rng = np.random.default_rng(0)
    s = np.array([1.0, 2.0, 0.5, 1.0])
    found = [_pooled(5.0 + s * rng.standard_normal(4), s) for _ in range(2000)]
    assert np.mean([p < 0.05 for *_, p in found]) == pytest.approx(0.05, abs=0.015)
    apart = [_pooled(5.0 + 3.0 * rng.standard_normal(4) + s * rng.standard_normal(4), s)[2] ** 2 for _ in range(4000)]
    assert np.mean(apart) == pytest.approx(9.0, rel=0.1)


def test_what_cannot_be_put_together_is_said(folders) -> None:
    with pytest.raises(InputError, match="at least two"):
        ia.fleet(folders[:1])
    with pytest.raises(InputError, match="2 names were given for 3"):
        ia.fleet(folders, ["a", "b"])

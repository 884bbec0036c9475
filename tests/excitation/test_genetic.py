"""The genetic algorithm finds motions within their limits, better than chance, and is reached by the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import inertica as ia
from inertica.cli.main import main
from inertica.errors import InputError
from inertica.excitation import DesignOptions, Fourier, Search, design, load_trajectory, robot_constraints
from inertica.excitation.genetic import _children


def found(search: Search) -> ia.excitation.Design:
    robot = ia.load("scara2")
    base, engine = ia.base_model(robot.layout), ia.Engine(robot.layout)
    family = Fourier.still(6.0, robot.home, 5)
    return design(
        engine, base, family, constraints=robot_constraints(robot, engine), rng=3, options=DesignOptions(search=search, grid=60)
    )


def test_it_keeps_limits_and_beats_as_many_random_candidates() -> None:
    few = found(Search(optimiser="ga", evaluations=240))
    many = found(Search(optimiser="ga", evaluations=240 * 40))
    chance = found(Search(random=240 * 40, evaluations=0, rounds=0))
    assert many.feasible and many.violations == ()
    assert many.value < 0.9 * chance.value and many.value <= few.value
    assert found(Search(optimiser="ga", evaluations=240 * 40)).value == many.value  # of the same seed


def test_children_are_blends_of_winners() -> None:
    rng = np.random.default_rng(0)
    x = np.vstack([np.zeros((50, 3)), np.ones((50, 3))])
    merits = np.concatenate([np.zeros(50), np.ones(50)])
    born = _children(x, merits, 4000, np.zeros(3), rng)
    assert born.min() >= -0.5 and born.max() <= 1.5
    assert 0.2 < born.mean() < 0.3  # a loser is a parent where both of a pair are: one in four


def test_by_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "motion.yaml"
    words = ["excite", "scara2", "-o", str(path), "--optimiser", "ga", "--seconds", "2", "--period", "6", "--json"]
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out)["feasible"]
    assert load_trajectory(path).period == 6.0
    with pytest.raises(InputError, match="unknown optimiser 'gaa'"):
        Search(optimiser="gaa")  # type: ignore[arg-type]

"""Identification from torque alone: regular start, gains that follow the estimate, by the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import inertica as ia
from inertica.cli.main import main
from inertica.estimators.closed_loop.didim import Didim
from inertica.estimators.closed_loop.start import Regular
from inertica.estimators.options import with_options
from inertica.experiment import ControlLoop, Experiment
from inertica.identifiability.base import base_model
from inertica.logs.log import Log


def torque_alone(log: Log, path: Path) -> str:
    """The log's clock, reference and torque in a file."""
    n = log.n
    columns = np.column_stack([log.t, log.need("qr"), log.need("tau")])
    heads = ["t", *(f"qr{j + 1}" for j in range(n)), *(f"tau{j + 1}" for j in range(n))]
    np.savetxt(path, columns, delimiter=",", header=",".join(heads), comments="")
    return str(path)


def identified(capsys: pytest.CaptureFixture[str], robot: str, log: str, *words: str) -> dict:
    command = ["identify", robot, log, "--method", "didim", "--start", "regular", "--retune", "--quick", "--json", *words]
    assert main([*command, "--option", "check-loop=no"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_arm_of_the_paper(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The printed loop of 1 and 10 rad/s, which the motion `torque` is made for; gains tuned for what the catalog states."""
    description = ia.load("scara2")
    truth = base_model(description.layout).beta(description.prior.values)
    for seed in (1, 2):
        (log,) = ia.simulate("scara2", "torque", noise="standard", seed=seed)
        found = identified(capsys, "scara2", torque_alone(log, tmp_path / f"{seed}.csv"))
        values, std = (np.array([row[key] for row in found["base"]]) for key in ("value", "std"))
        assert np.linalg.norm(values - truth) < 0.005 * np.linalg.norm(truth)
        assert np.abs(values - truth).max() < 0.01
        assert np.mean(((values - truth) / std) ** 2) < 10.0  # ended within 2.5 % per iteration, so not to the last deviation


@pytest.mark.slow
def test_a_robot_of_six_joints_with_a_guess_of_what_its_gains_were_tuned_for(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    description = ia.load("tx40")
    assert ControlLoop.of(description).tuned_for is None
    truth = base_model(description.layout).beta(description.prior.values)
    (log,) = ia.simulate("tx40", noise="standard", seed=3)
    found = identified(capsys, "tx40", torque_alone(log, tmp_path / "log.csv"))
    values, std = (np.array([row[key] for row in found["base"]]) for key in ("value", "std"))
    assert np.mean(((values - truth) / std) ** 2) < 3.0


def test_what_the_gains_were_tuned_for(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert with_options(Didim(retune=True), {"tuned-for": "3.7,0.06"}) == Didim(retune=True, tuned_for=(3.7, 0.06))
    np.testing.assert_allclose(ControlLoop.of(ia.load("scara2")).tuned_for, [3.759, 0.061])
    (log,) = ia.simulate("scara2", noise="standard", duration=1.0)
    path = torque_alone(log, tmp_path / "log.csv")
    for words, said in (
        (("--tuned-for", "3.7"), "2 numbers above zero, one per joint, not 3.7"),
        (("--tuned-for", "3.7,-1"), "2 numbers above zero"),
        (("--tuned-for", "3.7,x"), "takes a number, not 'x'"),
    ):
        assert main(["identify", "scara2", path, "--method", "didim", "--retune", *words]) == 2
        assert said in capsys.readouterr().err


def test_a_wrong_guess_does_not_bias() -> None:
    """The last iterations have the gains as stated where nobody states what they were tuned for; a stated inertia is believed."""
    from dataclasses import replace

    from inertica.estimators.base import Problem
    from inertica.preprocessing.filters import Unfiltered
    from inertica.preprocessing.prepare import prepare
    from inertica.preprocessing.recipe import Recipe

    description = ia.load("scara2")
    loop = replace(ControlLoop.of(description).with_gains(kp=[7.5, 10.0], kv=[112.77, 2.44]), tuned_for=None)
    motion = ia.catalog_trajectory("scara2").trajectory
    (log,) = Experiment(description, loop, description.prior, None).run(motion)
    base = base_model(description.layout)
    prepared = prepare(log, Recipe(filter=Unfiltered()))
    heavier = replace(description.prior, values=1.5 * description.prior.values)
    problem = Problem(base, (prepared,), heavier, loop, references=(motion,))
    truth = base.beta(description.prior.values)
    guessed = Didim(start=Regular(), retune=True, check_loop=False).estimate(problem)
    believed = Didim(start=Regular(), retune=True, check_loop=False, tuned_for=(1.5 * 3.759, 1.5 * 0.061)).estimate(problem)
    off = [float(np.linalg.norm(e.beta - truth) / np.linalg.norm(truth)) for e in (guessed, believed)]
    assert off[0] < 0.003 and off[1] > 3.0 * off[0]
    assert guessed.loop is not None and not guessed.loop.gains

"""The whole way with closed loops: logs from MuJoCo, links that are off, all defaults."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import inertica as ia
from inertica.errors import InputError
from mujoco_loops import FOUR_BAR, PARALLELOGRAM, record

REFUSED = {
    "excite": lambda path: ia.excite(path),
    "simulate": lambda path: ia.simulate(path, duration=1.0),
    "actuators": lambda path: ia.actuators(path, ["log.csv"]),
    "fit_loop": lambda path: ia.fit_loop(path, ["log.csv"]),
}


@pytest.mark.parametrize("job", REFUSED)
def test_jobs_that_look_at_the_tree_alone_refuse_loops(tmp_path, job) -> None:
    path = tmp_path / "arm.xml"
    path.write_text(PARALLELOGRAM)
    with pytest.raises(InputError, match="is not for robots with closed loops, in which elbow, pin follow from other joints"):
        REFUSED[job](str(path))


def test_the_inertia_of_the_drives_is_checked_alone(tmp_path) -> None:
    path = tmp_path / "arm.xml"
    path.write_text(PARALLELOGRAM)
    assert ia.check_model(ia.load(path).prior, configurations=20).consistent


MACHINES = {
    "parallelogram": (PARALLELOGRAM, ["yaw", "shoulder", "drive"], 0.6, {"mass='2'": "mass='2.6'", "mass='1.5'": "mass='1.2'"}),
    "four-bar": (FOUR_BAR, ["motor"], 1.2, {"mass='1'": "mass='1.3'", "mass='.9'": "mass='.7'"}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MACHINES)
def test_identified_from_wrong_links_it_predicts_another_record(tmp_path, name) -> None:
    """Nearly as well as the true model with the same filter; the file that comes out is the mechanism, in MuJoCo, too."""
    text, drives, reach, wrong = MACHINES[name]
    true, guess = tmp_path / "true.xml", tmp_path / "guess.xml"
    true.write_text(text)
    for right, off in wrong.items():
        text = text.replace(right.replace("'", '"'), off.replace("'", '"'))
    guess.write_text(text)
    first, second = (record(tmp_path / f"run{k}.csv", true, drives, k, reach=reach) for k in range(2))
    result = ia.identify(guess, [first], validate=[second])
    log = ia.read_log(second, result.description)
    motion = ia.prepare(log, result.recipe)
    ind, used = list(result.description.robot.independent), slice(500, -500)

    def missed(parameters: ia.Parameters) -> float:
        tau = ia.Engine(parameters.layout).inverse_dynamics(motion.q, motion.dq, motion.ddq, parameters)
        return float(np.linalg.norm((motion.tau - tau)[used, ind]))

    assert missed(result.parameters) < 1.1 * missed(ia.load(true).prior)
    written = mujoco.MjModel.from_xml_path(str(result.save(tmp_path / "out") / "model.xml"))
    assert written.neq == 1

"""Drive gains from a weighed part, a trusted link, equal drives or loads, and a control law; torques are Pinocchio's and MuJoCo's."""

from __future__ import annotations

from functools import cache

import mujoco
import numpy as np
import pinocchio as pin
import pytest

import inertica as ia
from inertica.errors import InputError
from inertica.logs.log import Log
from inertica.robot.description import Description
from inertica.robot.load import load
from inertica.workflow.identify.settings import Settings
from inertica.workflow.payload.drive_gains import drive_gains, drive_gains_by_law
from trio import JOINTS, folder, friction, links, model_file, motion

GAINS = np.array([8.0, -11.0, 8.0])
FIXED = Settings(cutoff=10.0, delay=0.0, friction=("viscous", "coulomb"))


def arm() -> Description:
    """Our description, whose links but for the hand have other masses."""
    wrong = folder() / "wrong.urdf"
    wrong.write_text(model_file().read_text().replace('value="2"', 'value="1"').replace('value="1.5"', 'value="2.0"'))
    return load(wrong)


@cache
def record(mass: float = 1.0, seed: int = 0) -> Log:
    """Currents along sums of sines."""
    rng = np.random.default_rng(seed)
    t, q, dq, ddq = motion(seed)
    tau = links(mass, q, dq, ddq) + friction(dq) + 0.02 * rng.normal(size=q.shape)
    return Log.from_arrays(t, {"q": q + 1e-6 * rng.normal(size=q.shape), "i": tau / GAINS}, JOINTS)


def held(found: ia.DriveGains, truth: np.ndarray) -> bool:
    return bool(np.all((found.intervals[:, 0] <= truth) & (truth <= found.intervals[:, 1])))


def scale_reading() -> ia.Weighed:
    """What a scale reads that holds the arm 0.5 m from the shoulder, by Pinocchio's gravity."""
    model = pin.buildModelFromUrdf(str(model_file()))
    torque = pin.computeGeneralizedGravity(model, model.createData(), np.array([0.2, 0.3, -0.4]))[0]
    # 0.5 m along the upper arm, tilted by 0.2 rad: the lever is horizontal
    return ia.Weighed("shoulder", abs(torque) / (9.81 * 0.5 * np.cos(0.2)), (0.5, 0.0, 0.0), (0.2, 0.3, -0.4), 0.002)


@pytest.mark.parametrize(
    ("known", "width"),
    [((scale_reading(),), 0.04), ((ia.TrustedLink(3, 0.005),), 0.15), ((scale_reading(), ia.Alike((1, 3), 0.002)), 0.02)],
)
def test_gains_are_absolute_where_something_has_a_kilogram_in_it(known, width) -> None:
    found = drive_gains(arm(), unloaded=[record()], known=known, settings=FIXED)
    assert found.reference is None and held(found, GAINS)
    assert np.all(np.abs(found.values / GAINS - 1.0) < width)
    assert found.document()["scale"] == "absolute" and found.document()["load"] is None
    assert found.card.startswith("torque: {from: current, gain: [")


@pytest.mark.parametrize("known", [(), (ia.Alike(("shoulder", "wrist"), 1e-3),)])
def test_without_a_kilogram_gains_are_relative_and_it_is_said(known) -> None:
    found = drive_gains(arm(), unloaded=[record()], known=known, settings=FIXED)
    assert found.reference is not None and found.values[found.reference] == pytest.approx(1.0)
    assert held(found, GAINS / GAINS[found.reference] * (1.0 + 1e-5)) or held(found, GAINS / GAINS[found.reference])
    assert found.card == "" and found.document()["scale"].startswith("relative to ")
    assert any("remains free" in s for s in found.sentences)


def test_the_common_factor_remains_free_with_two_equal_loads() -> None:
    heavier = [record(1.0 + m, seed) for m, seed in ((0.8, 1), (1.6, 2))]
    found = drive_gains(
        arm(), unloaded=[record()], loaded=heavier[:1], twice=heavier[1:], frame=(0.1, 0.05, 0.02), settings=FIXED
    )
    assert found.reference is not None and found.document()["load"] is None
    truth = GAINS / GAINS[found.reference]
    assert np.all(np.abs(found.values / truth - 1.0) < 0.05)


LAW = """
<mujoco><option timestep="0.0005"/><worldbody>
  <body><joint name="shoulder" axis="0 1 0" armature="0.05" damping="0.5"/>
    <geom type="capsule" size=".03" fromto="0 0 0 .3 0 0" mass="2"/>
  <body pos="0.3 0 0"><joint name="elbow" axis="0 0 1" armature="0.03" damping="0.3"/>
    <geom type="capsule" size=".03" fromto="0 0 0 .3 0 0" mass="1"/></body></body>
</worldbody></mujoco>
"""


def test_the_control_law_says_what_a_unit_of_current_is_worth() -> None:
    rng, kp, kd, gains = np.random.default_rng(0), np.array([400.0, 150.0]), np.array([20.0, 8.0]), np.array([9.0, -4.0])
    model = mujoco.MjModel.from_xml_string(LAW)
    data, rows = mujoco.MjData(model), []
    for k in range(20000):
        t = k * 0.0005
        phase = 2.0 * np.pi * t * np.array([[0.4, 0.7], [0.9, 1.3]])
        qr = 0.4 * np.sin(phase).sum(axis=0)
        dqr = 0.4 * (np.cos(phase) * phase / max(t, 1e-9)).sum(axis=0) if t else np.zeros(2)
        tau = kp * (qr - data.qpos) + kd * (dqr - data.qvel)
        data.qfrc_applied[:] = tau
        if k % 4 == 0:
            rows.append([t, *data.qpos, *qr, *(tau / gains)])
        mujoco.mj_step(model, data)
    table = np.array(rows)
    signals = {"q": table[:, 1:3] + 1e-5 * rng.normal(size=(len(table), 2)), "qr": table[:, 3:5], "i": table[:, 5:7]}
    log = Log.from_arrays(table[:, 0], signals, ("shoulder", "elbow"))
    (folder() / "arm.xml").write_text(LAW)
    card = folder() / "card.yaml"
    card.write_text("model: arm.xml\nloop: {law: pd, kp: [400, 150], kd: [20, 8], rate: 2000}\n")
    found = drive_gains_by_law(card, logs=[log], accuracy=1e-3)
    assert held(found, gains) and np.all(np.abs(found.values / gains - 1.0) < 0.02)
    assert found.form == "law" and not found.sentences


def test_what_cannot_be_used_is_said() -> None:
    description, logs = arm(), [record()]

    def refused(sentence: str, **words: object) -> None:
        with pytest.raises(InputError, match=sentence):
            drive_gains(description, unloaded=logs, settings=FIXED, **words)  # type: ignore[arg-type]

    refused("do not turn joint 1", known=[ia.Weighed(1, 2.0, (0.0, 0.0, 0.3))])
    refused("3 positions, one for each joint", known=[ia.Weighed(1, 2.0, (0.3, 0.0, 0.0), (0.0,))])
    refused("has no joint 'knee'", known=[ia.TrustedLink("knee")])
    refused("two different ones at least", known=[ia.Alike((1, "shoulder"))])
    refused("needs logs that carry it", mass=2.0)
    refused("go with logs of one of them", twice=logs)
    refused("the form unscaled needs logs with a load of known mass", form="unscaled")

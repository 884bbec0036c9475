"""Robots to and from Pinocchio and MuJoCo: the same torques in either program."""

import sys

import mujoco
import numpy as np
import pinocchio as pin
import pytest

import pair
from inertica.dynamics.engine import Engine
from inertica.errors import InputError
from inertica.robot.load import load
from inertica.robot.terms import Counterbalance, Spring
from inertica.workflow.export.exchange import from_mujoco, from_pinocchio, to_mujoco, to_pinocchio


def rigid(parameters, q, dq, ddq):
    """Torques without friction."""
    names = [n for n in parameters.layout.names if n[:2] in ("Fv", "Fc", "of")]
    return Engine(parameters.layout, threads=1).inverse_dynamics(q, dq, ddq, parameters.replaced(dict.fromkeys(names, 0.0)))


@pytest.mark.parametrize("name", ["tx40", "scara4", "jaco2"])
def test_to_and_from_pinocchio(name, tmp_path):
    """jaco2 has link frames off their joint axes, scara4 a sliding joint."""
    description = load(name)
    model = to_pinocchio(description)
    data, n = model.createData(), description.robot.n
    q, dq, ddq = np.random.default_rng(0).normal(size=(3, 8, n))
    wanted = rigid(description.prior, q, dq, ddq)
    found = np.array([pin.rnea(model, data, *rows) for rows in zip(q, dq, ddq, strict=True)])
    assert np.abs(found - wanted).max() < 1e-10 * np.abs(wanted).max()
    again = from_pinocchio(model, tmp_path / "arm.xml")
    assert np.abs(rigid(again.prior, q, dq, ddq) - wanted).max() < 1e-9 * np.abs(wanted).max()
    assert again.robot.joint_names == description.robot.joint_names
    assert again.robot.limits.velocity == pytest.approx(description.robot.limits.velocity)
    assert again.robot.limits.torque == pytest.approx(description.robot.limits.torque)
    assert (tmp_path / "arm.yaml").is_file()
    for name in {"Fc1", "Fv1"} & set(description.layout.names):
        assert again.prior[name] == pytest.approx(description.prior[name])


def test_a_urdf_of_pinocchio_with_branches_is_the_urdf_read_here(tmp_path):
    """Joints in Pinocchio's order, an endless joint with two coordinates among them."""
    (tmp_path / "pair.urdf").write_text(pair.URDF)
    ours = load(tmp_path / "pair.urdf")
    again = from_pinocchio(pin.buildModelFromUrdf(str(tmp_path / "pair.urdf")))
    q, dq, ddq = np.random.default_rng(1).normal(size=(3, 8, 2))
    assert rigid(again.prior, q, dq, ddq) == pytest.approx(rigid(ours.prior, q, dq, ddq), abs=1e-9)
    assert again.robot.limits.upper[1] == np.inf and [j.link for j in again.robot.joints] == ["upper", "lower"]


def test_joints_of_other_kinds_are_refused():
    model = pin.Model()
    model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "floating")
    with pytest.raises(InputError, match=r"joint floating .* one axis"):
        from_pinocchio(model)


def test_to_and_from_mujoco(tmp_path):
    (tmp_path / "pair.xml").write_text(pair.MJCF)
    description = load(tmp_path / "pair.xml")
    spec = to_mujoco(description)
    model = spec.compile()
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    data = mujoco.MjData(model)
    q, dq, ddq = np.random.default_rng(2).normal(size=(3, 5, 2))
    values = description.prior.replaced({"Fc1": 0.0, "Fc2": 0.0})
    wanted = Engine(values.layout, threads=1).inverse_dynamics(q, dq, ddq, values)
    for k in range(5):
        data.qpos[:], data.qvel[:], data.qacc[:] = q[k], dq[k], ddq[k]
        mujoco.mj_inverse(model, data)
        assert data.qfrc_inverse == pytest.approx(wanted[k], abs=1e-9)
    again = from_mujoco(spec)
    assert rigid(again.prior, q, dq, ddq) == pytest.approx(rigid(description.prior, q, dq, ddq), abs=1e-9)
    assert again.source.path.is_file()


def test_springs_go_to_mujoco_and_back(tmp_path):
    (tmp_path / "pair.xml").write_text(pair.MJCF)
    plain = load(tmp_path / "pair.xml")
    springs = plain.with_terms((*plain.layout.terms, Spring(0, 0.4), Spring(1, -0.2)))
    values = springs.prior.replaced({"Ks1": 30.0, "Ks2": 4.0})
    again = from_mujoco(to_mujoco(values))
    q, dq, ddq = np.random.default_rng(2).normal(size=(3, 5, 2))
    assert rigid(again.prior, q, dq, ddq) == pytest.approx(rigid(values, q, dq, ddq), abs=1e-8)
    with pytest.warns(match="a Pinocchio model has no place for Ks1, Ks2"):
        to_pinocchio(values)


def test_what_has_no_place_is_told():
    description = load("tx40")
    description = description.with_terms((*description.layout.terms, Counterbalance(1)))
    with pytest.warns(match="has no place for Kbs2"):
        to_pinocchio(description.prior.replaced({"Kbs2": 1.0}))


def test_a_missing_package_is_a_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "pinocchio", None)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match=r"pip install pin$"):
        to_pinocchio("tx40")
    with pytest.raises(InputError, match="pip install pandas"):
        load("tx40").prior.to_pandas()

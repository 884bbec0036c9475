"""USD files: read again by OpenUSD itself, simulated by the textbook from what it says, and names that are no names there."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import inertica as ia
from documents import ROOT
from inertica.dynamics.engine import Engine
from inertica.escape import usd_string
from inertica.estimators.actuators.values import ActuatorValues
from inertica.robot.options import plain_layout
from inertica.workflow.export.actuator_format import Destination
from inertica.workflow.export.joint_actuators import JointActuators
from inertica.workflow.export.usd import write_usd

SINGLE = 1e-6
"""Relative agreement of numbers in single precision after a few products."""


def actuators_of(robot: str, **values: object) -> JointActuators:
    """A robot of the catalog with links that could exist, and servos."""
    described = ia.load(robot)
    links = ia.repair(described.prior.on(plain_layout(described.robot))).parameters
    return JointActuators(described, links, ActuatorValues.of(described.robot.n, **values), origin="a test")


def opened(actuators: JointActuators, folder: Path):
    usd = pytest.importorskip("pxr.Usd", reason="usd-core is not installed here")
    path = folder / "robot.usda"
    path.write_bytes(write_usd(actuators, Destination(folder, (4, 0))).content)
    return usd.Stage.Open(str(path))


def parsed(stage):
    """What the parser of UsdPhysics finds, by kind."""
    from pxr import UsdPhysics

    return UsdPhysics.LoadUsdPhysicsFromRange(stage, ["/"])


def rotation(quaternion) -> np.ndarray:
    """Of a quaternion w x y z."""
    w, v = quaternion.GetReal(), np.array(quaternion.GetImaginary(), float)
    cross = np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])
    return np.eye(3) + 2.0 * w * cross + 2.0 * cross @ cross


def pinocchio_model(stage):
    """The robot as UsdPhysics states it: frames of joints in both bodies, masses about their own axes."""
    pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed here")
    from pxr import UsdPhysics

    def frame(position, quaternion):
        return pin.SE3(rotation(quaternion), np.array(position, float))

    model, body, order = pin.Model(), {}, []
    scene = next(UsdPhysics.Scene(p) for p in stage.Traverse() if p.IsA(UsdPhysics.Scene))
    model.gravity.linear = scene.GetGravityMagnitudeAttr().Get() * np.array(scene.GetGravityDirectionAttr().Get(), float)
    waiting = []
    for prim in stage.Traverse():
        if prim.IsA(UsdPhysics.FixedJoint):  # to the world
            (base,) = UsdPhysics.Joint(prim).GetBody1Rel().GetTargets()
            assert not UsdPhysics.Joint(prim).GetBody0Rel().GetTargets()
            body[base] = (0, pin.SE3.Identity())
        elif prim.IsA(UsdPhysics.Joint):
            waiting.append(prim)
    while waiting:
        ready = next(p for p in waiting if UsdPhysics.Joint(p).GetBody0Rel().GetTargets()[0] in body)
        waiting.remove(ready)
        joint = UsdPhysics.Joint(ready)
        (mother,), (child,) = joint.GetBody0Rel().GetTargets(), joint.GetBody1Rel().GetTargets()
        at, placed = body[mother]
        before = frame(joint.GetLocalPos0Attr().Get(), joint.GetLocalRot0Attr().Get())
        after = frame(joint.GetLocalPos1Attr().Get(), joint.GetLocalRot1Attr().Get())
        kind = pin.JointModelPZ() if ready.IsA(UsdPhysics.PrismaticJoint) else pin.JointModelRZ()
        assert ready.GetAttribute("physics:axis").Get() == "Z"
        number = model.addJoint(at, kind, placed * before, ready.GetName())
        masses = UsdPhysics.MassAPI(stage.GetPrimAtPath(child))
        axes = rotation(masses.GetPrincipalAxesAttr().Get())
        central = axes @ np.diag(np.array(masses.GetDiagonalInertiaAttr().Get(), float)) @ axes.T
        inertia = pin.Inertia(masses.GetMassAttr().Get(), np.array(masses.GetCenterOfMassAttr().Get(), float), central)
        model.appendBodyToJoint(number, inertia, after.inverse())
        body[child] = (number, after.inverse())
        order.append(ready.GetName())
    return pin, model, order


@pytest.mark.parametrize("robot", ["tx40", "panda7", "scara4", "planar2"])
def test_torques_of_what_openusd_reads(robot: str, tmp_path: Path) -> None:
    """By Pinocchio, whose model is made of nothing but what OpenUSD says of the file."""
    actuators = actuators_of(robot)
    pin, model, order = pinocchio_model(opened(actuators, tmp_path))
    names = list(actuators.names)
    assert sorted(order) == sorted(names)
    at = [model.joints[model.getJointId(name)].idx_v for name in names]
    q, dq, ddq = np.random.default_rng(4).uniform(-1.0, 1.0, (3, 20, len(names)))
    bodies = actuators.links.replaced({n: 0.0 for n in actuators.links.layout.names if n[:2] in ("Ia", "Fv", "Fc")})
    ours = np.asarray(Engine(bodies.layout).inverse_dynamics(q, dq, ddq, bodies.values))
    data, theirs = model.createData(), np.empty_like(ours)
    for k in range(20):
        states = np.zeros((3, model.nv))
        states[:, at] = q[k], dq[k], ddq[k]
        theirs[k] = pin.rnea(model, data, *states)[at]
    np.testing.assert_allclose(theirs, ours, rtol=0.0, atol=SINGLE * np.abs(ours).max())


def test_drives_friction_and_limits_per_degree(tmp_path: Path) -> None:
    robot = ia.load("scara4").robot
    slides = [joint.prismatic for joint in robot.joints]
    assert any(slides) and not all(slides)
    v: dict[str, list[float]] = {
        "kp": [1.0, 2.0, 3.0, 4.0],
        "kd": [0.1, 0.2, 0.3, 0.4],
        "torque_limit": [math.inf, 7.0, 8.0, 9.0],
        "armature": [0.01, 0.02, 0.03, 0.04],
        "coulomb": [1.0, 2.0, 3.0, 4.0],
        "viscous": [0.5, 0.6, 0.7, 0.8],
    }
    stage = opened(actuators_of("scara4", **v), tmp_path)
    from pxr import UsdPhysics

    joints = {prim.GetName(): prim for prim in stage.Traverse() if prim.IsA(UsdPhysics.Joint)}
    for j, joint in enumerate(robot.joints):
        prim, instance = joints[joint.name], "linear" if slides[j] else "angular"
        degree = 1.0 if slides[j] else math.pi / 180.0
        drive = UsdPhysics.DriveAPI.Get(prim, instance)
        assert prim.HasAPI(UsdPhysics.DriveAPI, instance) and drive.GetTypeAttr().Get() == "force"
        assert drive.GetStiffnessAttr().Get() == pytest.approx(v["kp"][j] * degree, rel=SINGLE)
        assert drive.GetDampingAttr().Get() == pytest.approx(v["kd"][j] * degree, rel=SINGLE)
        limit = v["torque_limit"][j] if math.isfinite(v["torque_limit"][j]) else robot.limits.torque[j]
        assert drive.GetMaxForceAttr().Get() == pytest.approx(limit)
        assert f"PhysxJointAxisAPI:{instance}" in prim.GetMetadata("apiSchemas").GetAddedOrExplicitItems()
        axis = {
            name: prim.GetAttribute(f"physxJointAxis:{instance}:{name}").Get()
            for name in ("armature", "staticFrictionEffort", "dynamicFrictionEffort", "viscousFrictionCoefficient")
        }
        wanted = (v["armature"][j], v["coulomb"][j], v["coulomb"][j], v["viscous"][j] * degree)
        assert list(axis.values()) == pytest.approx(wanted, rel=SINGLE)
        lower = UsdPhysics.PrismaticJoint(prim) if slides[j] else UsdPhysics.RevoluteJoint(prim)
        assert lower.GetLowerLimitAttr().Get() * degree == pytest.approx(robot.limits.lower[j], rel=SINGLE)


def test_it_is_one_articulation_that_openusd_takes(tmp_path: Path) -> None:
    """The parser of UsdPhysics finds one articulation, no joint without bodies, and links where forward kinematics has them."""
    actuators = actuators_of("tx40")
    stage = opened(actuators, tmp_path)
    from pxr import UsdGeom, UsdPhysics

    assert UsdGeom.GetStageMetersPerUnit(stage) == 1.0 and UsdPhysics.GetStageKilogramsPerUnit(stage) == 1.0
    assert UsdGeom.GetStageUpAxis(stage) == "Z"
    kinds = UsdPhysics.ObjectType
    found = parsed(stage)
    paths, articulations = found[kinds.Articulation]
    assert [str(path) for path in paths] == ["/tx40"] and all(d.isValid for d in articulations)
    revolute = found[kinds.RevoluteJoint][1]
    assert len(revolute) == 6 and all(d.isValid for d in revolute)
    assert len(found[kinds.FixedJoint][0]) == 1 and len(found[kinds.RigidBody][0]) == 7
    cache = UsdGeom.XformCache()
    for prim in stage.Traverse():  # both frames of every joint are one at zero
        if prim.IsA(UsdPhysics.RevoluteJoint):
            joint, ends = UsdPhysics.Joint(prim), []
            for body, p in ((joint.GetBody0Rel(), joint.GetLocalPos0Attr()), (joint.GetBody1Rel(), joint.GetLocalPos1Attr())):
                pose = cache.GetLocalToWorldTransform(stage.GetPrimAtPath(body.GetTargets()[0]))
                ends.append(np.array(pose.Transform(p.Get())))
            np.testing.assert_allclose(ends[0], ends[1], atol=SINGLE)


def test_a_base_that_floats_is_a_body_without_a_joint(tmp_path: Path) -> None:
    (tmp_path / "card.yaml").write_text(f"model: {(ROOT / 'examples' / 'data' / 'arm.urdf').as_posix()}\nbase: floating\n")
    described = ia.load(tmp_path / "card.yaml")
    assert described.robot.floating
    links = described.prior.on(plain_layout(described.robot)).replaced({"M0": 5.0, "XX0": 0.1, "YY0": 0.1, "ZZ0": 0.1})
    stage = opened(JointActuators(described, links, ActuatorValues.of(described.robot.n), origin="a test"), tmp_path)
    from pxr import UsdPhysics

    found, kinds = parsed(stage), UsdPhysics.ObjectType
    assert kinds.FixedJoint not in found and len(found[kinds.RevoluteJoint][0]) == described.robot.driven == 3
    (base,) = {j.GetBody0Rel().GetTargets()[0] for j in map(UsdPhysics.Joint, stage.Traverse()) if j} - {
        j.GetBody1Rel().GetTargets()[0] for j in map(UsdPhysics.Joint, stage.Traverse()) if j
    }
    assert UsdPhysics.MassAPI(stage.GetPrimAtPath(base)).GetMassAttr().Get() == 5.0


def test_without_gains_there_are_no_drives_but_a_sentence(tmp_path: Path) -> None:
    actuators = actuators_of("planar2", kp=[np.nan, 3.0], kd=[np.nan, 0.1], delay=[0.0, 0.004])
    written = write_usd(actuators, Destination(tmp_path, (4, 0)))
    first, second = actuators.names
    assert written.content.decode().count("physics:stiffness") == 1
    assert any(f"the gains of {first} are not known" in s for s in written.lost)
    assert any(f"no delay: send commands late by {second} 4 ms" in s for s in written.lost)


def test_a_link_that_cannot_exist_is_refused(tmp_path: Path) -> None:
    actuators = actuators_of("planar2")
    broken = replace(actuators, links=actuators.links.replaced({"M2": 0.0}))
    with pytest.raises(ia.InputError, match="PhysX takes only bodies that can exist"):
        write_usd(broken, Destination(tmp_path, (4, 0)))


def test_names_of_strangers(tmp_path: Path) -> None:
    """Names that USD does not take become ones that it does, none twice; the user's stand beside them."""
    actuators = actuators_of("planar2")
    robot = actuators.links.layout.robot
    joints = tuple(
        replace(j, name=f'{k}"\\ \u00e4{"-_"[k]}', link="fore-arm" if k else "fore_arm") for k, j in enumerate(robot.joints)
    )
    renamed = replace(robot, joints=joints, name='my "robot" 2')
    links = actuators.links.on(replace(actuators.links.layout, robot=renamed))
    actuators = replace(actuators, links=links, description=replace(actuators.description, robot=renamed))
    text = write_usd(actuators, Destination(tmp_path, (4, 0))).content.decode()
    assert f"displayName = {usd_string(joints[0].name)}" in text
    stage = opened(actuators, tmp_path)
    paths = [str(prim.GetPath()) for prim in stage.Traverse()]
    assert len(paths) == len(set(paths)) and "/my__robot__2/fore_arm_2" in paths
    from pxr import UsdPhysics

    shown = {prim.GetDisplayName() for prim in stage.Traverse() if prim.IsA(UsdPhysics.RevoluteJoint)}
    assert shown == {joint.name for joint in joints}

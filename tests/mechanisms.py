"""Mechanisms with closed loops, ours and inside Pinocchio."""

from __future__ import annotations

from math import pi

import numpy as np
import pinocchio as pin

from inertica.robot.closures import Frame, Meeting, Relation
from inertica.robot.formula import Formula
from inertica.robot.loops import complete, spread, with_loops
from inertica.robot.model import IDENTITY, ORIGIN, Joint, Robot, matrix, rotation_x, rotation_z
from referee import pinocchio_model

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
GRAVITY = (1.0, -9.0, -3.0)


class Parts(list[Joint]):
    """Joints by name, one after the other."""

    def put(self, name: str, on: str | None, axis=Z, at=ORIGIN, rotation=IDENTITY, slides: bool = False) -> None:
        parent = -1 if on is None else self.number(on)
        self.append(Joint(name, name, parent, matrix(np.array(rotation)), tuple(map(float, at)), axis, slides))

    def number(self, name: str) -> int:
        return next(k for k, joint in enumerate(self) if joint.name == name)

    def frame(self, name: str, at=ORIGIN, rotation=IDENTITY) -> Frame:
        return Frame(self.number(name), matrix(np.array(rotation)), tuple(map(float, at)), name)

    def robot(self, name: str, closures, passive: str, start=None) -> Robot:
        tree = Robot(name, tuple(self), GRAVITY)
        return with_loops(tree, closures, [self.number(word) for word in passive.split()], start=start)


def four_bar(crank=0.3, coupler=0.8, rocker=0.6, ground=1.0) -> Robot:
    """Planar, with a ratio that changes."""
    p = Parts()
    p.put("crank", None)
    p.put("coupler", "crank", at=(crank, 0, 0))
    p.put("rocker", None, at=(ground, 0, 0))
    return p.robot(
        "four-bar",
        [Meeting(p.frame("coupler", (coupler, 0, 0)), p.frame("rocker", (rocker, 0, 0)))],
        "coupler rocker",
        (0.5, 0.3, 1.5),
    )


def parallelogram_arm(link=0.4, crank=0.12) -> Robot:
    """A turret, an upper arm and a forearm that a rod turns: 3 drives, 5 joints, tilted axes in space."""
    p = Parts()
    p.put("turret", None, at=(0, 0, 0.3), rotation=rotation_x(0.3))
    p.put("upper", "turret", Y, (0.05, 0, 0.1))
    p.put("fore", "upper", Y, (0, 0, link))
    p.put("crank", "turret", Y, (0.05, 0, 0.1))
    p.put("rod", "crank", Y, (-crank, 0, 0))
    return p.robot("parallelogram", [Meeting(p.frame("rod", (0, 0, link)), p.frame("fore", (-crank, 0, 0)))], "rod fore")


def slider_crank(crank=0.2, rod=0.7) -> Robot:
    """A rotation that becomes a slide."""
    p = Parts()
    p.put("crank", None)
    p.put("rod", "crank", at=(crank, 0, 0))
    p.put("slide", None, X, slides=True)
    return p.robot("slider-crank", [Meeting(p.frame("rod", (rod, 0, 0)), p.frame("slide"))], "rod slide", (0.4, -0.5, 0.8))


def delta(base=0.2, platform=0.08, arm=0.25, rod=0.55) -> Robot:
    """Three arms and three rods with universal joints at both ends: the platform keeps its orientation."""
    p, sides = Parts(), [rotation_z(2 * pi * k / 3) for k in range(3)]
    for k, side in enumerate(sides):
        p.put(f"arm{k}", None, Y, side @ (base, 0, 0), side)
        p.put(f"a{k}", f"arm{k}", Y, (arm, 0, 0))
        p.put(f"b{k}", f"a{k}", X)
        p.put(f"c{k}", f"b{k}", X, (0, 0, -rod))
        p.put(f"d{k}", f"c{k}", Y)
    feet = [p.frame(f"d{k}", (-platform, 0, 0), side.T) for k, side in enumerate(sides)]
    passive = " ".join(f"a{k} b{k} c{k} d{k}" for k in range(3))
    start = np.tile([0.3, 0.0, 0.0, 0.0, 0.0], 3)
    start[1::5], start[4::5] = 0.05, -0.35
    return p.robot("delta", [Meeting(feet[0], foot, turning=False) for foot in feet[1:]], passive, start)


def ankle(rod=0.3, lever=0.06) -> Robot:
    """A foot on a universal joint, turned by two motors with rods."""
    p = Parts()
    p.put("pitch", None, Y)
    p.put("roll", "pitch", X)
    for side, y in (("l", 0.05), ("r", -0.05)):
        p.put(f"{side}_motor", None, Y, (0, y, rod))
        p.put(f"{side}_a", f"{side}_motor", Y, (-lever, 0, 0))
        p.put(f"{side}_b", f"{side}_a", X)
    tips = [(f"{side}_b", y) for side, y in (("l", 0.05), ("r", -0.05))]
    closures = [Meeting(p.frame(tip, (0, 0, -rod)), p.frame("roll", (-lever, y, 0))) for tip, y in tips]
    return p.robot("ankle", closures, "pitch roll l_a l_b r_a r_b")


def differential_wrist() -> Robot:
    """Two bevel gears turn a third one on a cage: relations of coordinates."""
    p = Parts()
    p.put("cage", None, Y)
    p.put("bevel", "cage", X)
    p.put("left", None, Y)
    p.put("right", None, Y)
    closures = [Relation(2, Formula("q1 + 2*q2", 4)), Relation(3, Formula("q1 - 2*q2 + 0.3*sin(q2)", 4))]
    return p.robot("differential", closures, "left right")


MECHANISMS = {f.__name__: f for f in (four_bar, parallelogram_arm, slider_crank, delta, ankle)}


def states(robot: Robot, count: int, seed: int, reach: float = 0.6) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Closed motions near the start."""
    rng = np.random.default_rng(seed)
    start = np.array(robot.loops.start)
    q, _ = spread(robot, start + rng.uniform(-reach, reach, (count, robot.n)))
    dq, ddq = rng.normal(size=(2, count, robot.n))
    return complete(robot, q, dq, ddq)


def inside_pinocchio(robot: Robot, tens: np.ndarray) -> tuple[pin.Model, pin.StdVec_RigidConstraintModel]:
    """The tree and its closures; frames of ours are given in the frame of the link, Pinocchio's in that of the joint."""
    model = pinocchio_model(robot, tens)
    out = pin.StdVec_RigidConstraintModel()
    for closure in robot.loops.closures:
        ends = []
        for frame in (closure.first, closure.second):
            ends += [frame.link + 1, pin.SE3(np.array(frame.rotation), np.array(frame.position) + robot.joints[frame.link].arm)]
        kind = pin.ContactType.CONTACT_3D if closure.turning else pin.ContactType.CONTACT_6D
        out.append(pin.RigidConstraintModel(kind, model, *ends, pin.ReferenceFrame.LOCAL))
    return model, out


def follow_in_pinocchio(robot: Robot, model: pin.Model, closures: pin.StdVec_RigidConstraintModel, q: np.ndarray) -> np.ndarray:
    """(dependent, independent) how the ones follow the others, from Pinocchio's Jacobians of both ends of every closure."""
    data = model.createData()
    pin.computeJointJacobians(model, data, q)
    rows = []
    for closure in closures:
        ends = []
        for joint, place in ((closure.joint1_id, closure.joint1_placement), (closure.joint2_id, closure.joint2_placement)):
            J = pin.getJointJacobian(model, data, joint, pin.ReferenceFrame.WORLD)
            at = (data.oMi[joint] * place).translation
            ends.append(np.vstack([J[:3] - pin.skew(at) @ J[3:], J[3:]]))
        rows.append((ends[1] - ends[0])[: 3 if closure.type == pin.ContactType.CONTACT_3D else 6])
    J = np.vstack(rows)
    return -np.linalg.pinv(J[:, robot.dependent], rcond=1e-9) @ J[:, robot.independent]


def rank(robot: Robot, rows: np.ndarray) -> int:
    """Numerical rank of stacked regressors with columns of unit length."""
    W = rows.reshape(-1, rows.shape[-1])
    norms = np.linalg.norm(W, axis=0)
    s = np.linalg.svd(W / np.where(norms > 1e-12 * norms.max(), norms, 1.0), compute_uv=False)
    return int(np.sum(s > 1e-9 * s[0]))

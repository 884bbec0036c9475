"""Rigid-body recursions on scalars of any type.

This is the one place where the physics is written.  Every function works on whatever the caller passes as scalars: floats, NumPy
lanes, or the symbols of the tracer, which turns these functions into straight-line kernels for one robot.  Vectors are lists
of three scalars in the coordinates of the link they belong to.

A link's inertia is its ten standard parameters about the origin of its own frame, in the layout's order: entries of the inertia
matrix (xx, xy, xz, yy, yz, zz), first moments (mx, my, mz), mass.  Torques are linear in them, which `regressor` makes explicit.

The acceleration of every point of a link follows from one matrix, U = [dw]x + [w]x[w]x: a point at r accelerates by U r relative
to the origin, the body feels the force m a + U (m c).  U is formed once per link and shared by all that need it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from inertica.robot.kinematics import Pose, Vector, add, cross, dot, poses, scale, times
from inertica.robot.model import Joint, outwards
from inertica.scalars import Scalar

__all__ = [
    "ZERO", "LinkMotion", "Pose", "Vector", "add", "inverse_dynamics", "mass_matrix", "motions", "poses", "regressor", "scale",
    "transmitted", "unit_wrenches",
]  # fmt: skip

ZERO = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class LinkMotion:
    """Motion of a link frame in its own coordinates; `a` includes gravity, so that a link at rest accelerates upwards."""

    w: Vector  # angular velocity
    dw: Vector  # angular acceleration
    a: Vector  # acceleration of the origin minus gravity
    U: Sequence[Vector]  # [dw]x + [w]x[w]x


def motions(poses: Sequence[Pose], dq: Vector, ddq: Vector, gravity: Vector) -> list[LinkMotion]:
    """From the base outwards: how every link moves."""
    # a base that accelerates against gravity gives the torques of a robot at rest in the field
    base = LinkMotion(ZERO, ZERO, scale(-1.0, gravity), (ZERO, ZERO, ZERO))
    out: dict[int, LinkMotion] = {-1: base}
    for i in outwards([pose.joint for pose in poses]):
        pose, joint, rate, acceleration = poses[i], poses[i].joint, dq[i], ddq[i]
        parent = out[joint.parent]
        w, dw = pose.to_child(parent.w), pose.to_child(parent.dw)
        a = pose.to_child(add(parent.a, times(parent.U, pose.point())))
        if joint.prismatic:
            coriolis = scale(2.0 * rate, cross(w, joint.axis))
            a = add(a, add(scale(acceleration, joint.axis), coriolis))
        else:
            dw = add(dw, add(scale(acceleration, joint.axis), scale(rate, cross(w, joint.axis))))
            w = add(w, scale(rate, joint.axis))
        U = _acceleration_matrix(w, dw)
        out[i] = LinkMotion(w, dw, add(a, times(U, joint.arm)), U)
    return [out[i] for i in range(len(poses))]


def inverse_dynamics(at: Sequence[Pose], dq: Vector, ddq: Vector, inertia: Sequence[Vector], gravity: Vector) -> list[Scalar]:
    """Joint torques of a motion (recursive Newton-Euler)."""
    moving = motions(at, dq, ddq, gravity)
    carried = [_wrench(m, chi) for m, chi in zip(moving, inertia, strict=True)]
    tau: list[Scalar] = [0.0] * len(at)
    for i in reversed(outwards([pose.joint for pose in at])):
        force, moment = _wrench_at_joint(at[i].joint, *carried[i])
        tau[i] = _axis_component(at[i].joint, force, moment)
        parent = at[i].joint.parent
        if parent >= 0:
            force, moment = _wrench_at_parent(at[i], force, moment)
            carried[parent] = (add(carried[parent][0], force), add(carried[parent][1], moment))
    return tau


def regressor(at: Sequence[Pose], dq: Vector, ddq: Vector, gravity: Vector) -> list[list[Scalar]]:
    """Matrix Y with tau = Y chi, chi the stacked ten parameters of every link; zero where the structure says so."""
    columns = []
    for link, m in enumerate(motions(at, dq, ddq, gravity)):
        for force, moment in _unit_wrenches(m):
            columns.append(_project(at, link, force, moment))
    return [list(row) for row in zip(*columns, strict=True)]


def unit_wrenches(at: Sequence[Pose], dq: Vector, ddq: Vector, gravity: Vector) -> list[list[list[Scalar]]]:
    """Per link the (10, 6) wrenches [force, moment] about its origin of its ten unit parameters, not yet projected on joints."""
    return [[[*force, *moment] for force, moment in _unit_wrenches(m)] for m in motions(at, dq, ddq, gravity)]


def transmitted(pose: Pose, force: Vector, moment: Vector) -> tuple[Scalar, Vector, Vector]:
    """What a joint transmits of a wrench about its link's origin: its torque, and the wrench about the parent's origin."""
    force, moment = _wrench_at_joint(pose.joint, force, moment)
    return _axis_component(pose.joint, force, moment), *_wrench_at_parent(pose, force, moment)


def mass_matrix(at: Sequence[Pose], inertia: Sequence[Vector]) -> list[list[Scalar]]:
    """The joint-space inertia matrix by composite bodies."""
    n = len(at)
    M: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
    composite = [list(chi) for chi in inertia]
    for j in reversed(outwards([pose.joint for pose in at])):
        force, moment = _wrench_at_joint(at[j].joint, *_unit_acceleration(at[j].joint, composite[j]))
        i = j
        while True:
            M[i][j] = M[j][i] = _axis_component(at[i].joint, force, moment)
            if at[i].joint.parent < 0:
                break
            force, moment = _wrench_at_parent(at[i], force, moment)
            i = at[i].joint.parent
            force, moment = _wrench_at_joint(at[i].joint, force, moment)
        parent = at[j].joint.parent
        if parent >= 0:
            composite[parent] = add(composite[parent], _in_parent(at[j], composite[j]))
    return M


def _acceleration_matrix(w: Vector, dw: Vector) -> list[list[Scalar]]:
    """U = [dw]x + [w]x[w]x, with which the point at r accelerates by U r relative to the origin."""
    xx, yy, zz = w[0] * w[0], w[1] * w[1], w[2] * w[2]
    xy, xz, yz = w[0] * w[1], w[0] * w[2], w[1] * w[2]
    return [
        [0.0 - (yy + zz), xy - dw[2], xz + dw[1]],
        [xy + dw[2], 0.0 - (xx + zz), yz - dw[0]],
        [xz - dw[1], yz + dw[0], 0.0 - (xx + yy)],
    ]


def _wrench(m: LinkMotion, chi: Vector) -> tuple[Vector, Vector]:
    """Force and moment about the link origin that give a body with parameters chi this motion."""
    xx, xy, xz, yy, yz, zz, *first, mass = chi
    w, dw, U = m.w, m.dw, m.U
    pxx, pyy, pzz = w[0] * w[0], w[1] * w[1], w[2] * w[2]
    force = add(scale(mass, m.a), times(U, first))
    moment = [  # I dw + w x I w, sorted by inertia entry
        xx * dw[0] - xy * U[2][0] + xz * U[1][0] + (zz - yy) * (w[1] * w[2]) + yz * (pyy - pzz),
        yy * dw[1] + xy * U[2][1] - yz * U[0][1] + (xx - zz) * (w[0] * w[2]) + xz * (pzz - pxx),
        zz * dw[2] - xz * U[1][2] + yz * U[0][2] + (yy - xx) * (w[0] * w[1]) + xy * (pxx - pyy),
    ]
    return force, add(moment, cross(first, m.a))


def _unit_wrenches(m: LinkMotion) -> list[tuple[Vector, Vector]]:
    """`_wrench` for each of the ten unit parameters."""
    w, dw, U, a = m.w, m.dw, m.U, m.a
    xx, yy, zz = w[0] * w[0], w[1] * w[1], w[2] * w[2]
    xy, xz, yz = w[0] * w[1], w[0] * w[2], w[1] * w[2]
    moments = [
        [dw[0], xz, 0.0 - xy],
        [0.0 - U[2][0], U[2][1], xx - yy],
        [U[1][0], zz - xx, 0.0 - U[1][2]],
        [0.0 - yz, dw[1], xy],
        [yy - zz, 0.0 - U[0][1], U[0][2]],
        [yz, 0.0 - xz, dw[2]],
    ]
    first = [
        ([U[0][k], U[1][k], U[2][k]], cross(unit, a))
        for k, unit in enumerate(((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)))
    ]
    return [(ZERO, moment) for moment in moments] + first + [(a, ZERO)]


def _project(at: Sequence[Pose], link: int, force: Vector, moment: Vector) -> list[Scalar]:
    """Joint torques of a wrench on one link; only its ancestors feel it."""
    tau: list[Scalar] = [0.0] * len(at)
    # joints that do not carry the link keep the constant 0.0, which the tracer recognises as zero by structure
    while link >= 0:
        tau[link], force, moment = transmitted(at[link], force, moment)
        link = at[link].joint.parent
    return tau


def _unit_acceleration(joint: Joint, chi: Vector) -> tuple[Vector, Vector]:
    """Wrench about the link origin that accelerates a body at rest by one unit of the joint's coordinate."""
    xx, xy, xz, yy, yz, zz, *first, mass = chi
    if joint.prismatic:
        return scale(mass, joint.axis), cross(first, joint.axis)
    a = cross(joint.axis, joint.arm)
    force = add(scale(mass, a), cross(joint.axis, first))
    moment = [dot(row, joint.axis) for row in ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))]
    return force, add(moment, cross(first, a))


def _wrench_at_joint(joint: Joint, force: Vector, moment: Vector) -> tuple[Vector, Vector]:
    """The same wrench about the joint's point instead of the link origin."""
    return force, add(moment, cross(joint.arm, force))


def _axis_component(joint: Joint, force: Vector, moment: Vector) -> Scalar:
    """The component that the drive of a joint feels: force along a prismatic axis, moment about a revolute one."""
    return dot(joint.axis, force if joint.prismatic else moment)


def _wrench_at_parent(pose: Pose, force: Vector, moment: Vector) -> tuple[Vector, Vector]:
    """A wrench about the joint's point, seen from the parent's origin."""
    force = pose.to_parent(force)
    return force, add(pose.to_parent(moment), cross(pose.point(), force))


def _in_parent(pose: Pose, chi: Vector) -> list[Scalar]:
    """The ten parameters of a body of the child, seen from the parent frame."""
    xx, xy, xz, yy, yz, zz, *first, mass = _shifted(chi, pose.joint.arm)
    inertia = _rotated_inertia(pose, [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    rotated_inertia = [inertia[0][0], inertia[0][1], inertia[0][2], inertia[1][1], inertia[1][2], inertia[2][2]]
    return _shifted([*rotated_inertia, *pose.to_parent(first), mass], pose.point())


def _shifted(chi: Vector, p: Vector) -> list[Scalar]:
    """The body seen from a parallel frame in which the present origin lies at p (Steiner)."""
    xx, xy, xz, yy, yz, zz, mx, my, mz, mass = chi
    # u = first moment + m p / 2: the products 2 p u hold the term of the first moment and that of m p^2 at once
    u = [mx + (0.5 * p[0]) * mass, my + (0.5 * p[1]) * mass, mz + (0.5 * p[2]) * mass]
    dx, dy, dz = p[0] * u[0], p[1] * u[1], p[2] * u[2]
    return [
        xx + 2.0 * (dy + dz),
        xy - (p[0] * u[1] + p[1] * u[0]),
        xz - (p[0] * u[2] + p[2] * u[0]),
        yy + 2.0 * (dx + dz),
        yz - (p[1] * u[2] + p[2] * u[1]),
        zz + 2.0 * (dx + dy),
        mx + p[0] * mass,
        my + p[1] * mass,
        mz + p[2] * mass,
        mass,
    ]


def _rotated_inertia(pose: Pose, I: Sequence[Vector]) -> list[list[Scalar]]:
    """R I R' from child to parent coordinates."""
    joint = pose.joint
    if joint.prismatic:
        return _congruent(joint.rotation, I)
    k = next((k for k in range(3) if abs(joint.axis[k]) == 1.0), None)
    if k is None:
        columns = [pose.to_parent(unit) for unit in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))]
        return _congruent([list(row) for row in zip(*columns, strict=True)], I)
    # about a coordinate axis k, with (i, j, k) a right-handed triple: half the products of the general form
    i, j = (k + 1) % 3, (k + 2) % 3
    c, s = pose.c, joint.axis[k] * pose.s
    t = s * (I[i][i] - I[j][j]) + 2.0 * (c * I[i][j])
    out: list[list[Scalar]] = [[0.0] * 3 for _ in range(3)]
    out[i][i], out[j][j], out[k][k] = I[i][i] - s * t, I[j][j] + s * t, I[k][k]
    out[i][j] = out[j][i] = c * t - I[i][j]
    out[i][k] = out[k][i] = c * I[i][k] - s * I[j][k]
    out[j][k] = out[k][j] = s * I[i][k] + c * I[j][k]
    return _congruent(joint.rotation, out)


def _congruent(R: Sequence[Vector], I: Sequence[Vector]) -> list[list[Scalar]]:
    """R I R' of a symmetric matrix."""
    half = [[dot(row, [I[0][k], I[1][k], I[2][k]]) for k in range(3)] for row in R]
    upper = {(i, k): dot(half[i], R[k]) for i in range(3) for k in range(i, 3)}
    return [[upper[min(i, k), max(i, k)] for k in range(3)] for i in range(3)]

"""A load in the words of others: a link of a URDF, a body of an MJCF, statements of robot controllers.

All take mass, centre of mass in the flange frame and inertia about the centre of mass:

* UR (URScript): `set_target_payload(m, cog, inertia)`, inertia `[Ixx, Iyy, Izz, Ixy, Ixz, Iyz]`, axes of the flange.
* Franka (libfranka): `Robot::setLoad(load_mass, F_x_Cload, load_inertia)`, the inertia matrix column by column, axes of the flange.
* KUKA (KRL): `LOAD_DATA`, centre in mm, principal moments J and the angles A, B, C (Z, Y', X'' in degrees) of their axes.
* ROS: a message `geometry_msgs/Inertia` as YAML, axes of the flange.
"""

from __future__ import annotations

import math
from xml.sax.saxutils import quoteattr

import numpy as np
from numpy.typing import ArrayLike

from inertica.arrays import Array
from inertica.escape import xml_comment
from inertica.robot import inertia
from inertica.robot.cardwrite import rpy_of
from inertica.robot.model import matrix
from inertica.robot.terms import RigidBody


def urdf_text(ten: ArrayLike, parent: str, pose: RigidBody, name: str = "load") -> str:
    """A link and its fixed joint, to be pasted into a URDF."""
    body = inertia.to_com(ten)
    six = zip(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), inertia.ten(body.inertia, np.zeros(3), 0.0)[:6], strict=True)
    entries = " ".join(f'{name}="{_word(value)}"' for name, value in six)
    return "\n".join(
        [
            f"<link name={quoteattr(name)}>",
            "  <inertial>",
            f'    <origin xyz="{_spaced(body.com)}" rpy="0 0 0"/>',
            f'    <mass value="{_word(body.mass)}"/>',
            f"    <inertia {entries}/>",
            "  </inertial>",
            "</link>",
            f'<joint name={quoteattr(f"{name}_joint")} type="fixed">',
            f'  <origin xyz="{_spaced(pose.position)}" rpy="{_spaced(rpy_of(pose.rotation))}"/>',
            f"  <parent link={quoteattr(parent)}/>",
            f"  <child link={quoteattr(name)}/>",
            "</joint>",
            "",
        ]
    )


def mjcf_text(ten: ArrayLike, parent: str, pose: RigidBody, name: str = "load") -> str:
    """A body to be pasted into the body of the link that carries it."""
    body = inertia.to_com(ten)
    xx, xy, xz, yy, yz, zz = inertia.ten(body.inertia, np.zeros(3), 0.0)[:6]
    R = np.array(pose.rotation)
    return "\n".join(
        [
            xml_comment(f"inside the body {quoteattr(parent)}"),
            f'<body name={quoteattr(name)} pos="{_spaced(pose.position)}" xyaxes="{_spaced([*R[:, 0], *R[:, 1]])}">',
            f'  <inertial pos="{_spaced(body.com)}" mass="{_word(body.mass)}" fullinertia="{_spaced([xx, yy, zz, xy, xz, yz])}"/>',
            "</body>",
            "",
        ]
    )


def statements(ten: ArrayLike) -> dict[str, str]:
    """Controller -> one statement to paste; the frame of the ten parameters must be the controller's flange frame."""
    body = inertia.to_com(ten)
    m, c, L = body.mass, body.com, body.inertia
    six = [L[0, 0], L[1, 1], L[2, 2], L[0, 1], L[0, 2], L[1, 2]]
    moments, (a, b, g) = _principal(L)
    mm = [1000.0 * x for x in c]
    kuka = (
        f"{{M {_short(m)},CM {{X {_short(mm[0])},Y {_short(mm[1])},Z {_short(mm[2])},A {_short(a)},B {_short(b)},C {_short(g)}}},"
        f"J {{X {_short(moments[0])},Y {_short(moments[1])},Z {_short(moments[2])}}}}}"
    )
    return {
        "UR": f"set_target_payload({_short(m)}, [{_listed(c)}], [{_listed(six)}])",
        "Franka": f"robot.setLoad({_short(m)}, {{{{{_listed(c)}}}}}, {{{{{_listed(L.T.ravel())}}}}});",
        "KUKA": f"LOAD_DATA[1]={kuka}",
        "ROS geometry_msgs/Inertia": ros_text(body),
    }


def ros_text(body: inertia.Body) -> str:
    """The message geometry_msgs/Inertia of a body as YAML."""
    places = {"ixx": (0, 0), "ixy": (0, 1), "ixz": (0, 2), "iyy": (1, 1), "iyz": (1, 2), "izz": (2, 2)}
    centre = ", ".join(f"{axis}: {_short(x)}" for axis, x in zip("xyz", body.com, strict=True))
    entries = ", ".join(f"{name}: {_short(body.inertia[place])}" for name, place in places.items())
    return f"{{m: {_short(body.mass)}, com: {{{centre}}}, {entries}}}"


def _principal(L: Array) -> tuple[Array, tuple[float, float, float]]:
    """Principal moments, and the angles A, B, C in degrees that turn the flange's axes into the principal ones."""
    moments, V = np.linalg.eigh(L)
    order = [int(k) for k in np.argmax(np.abs(V), axis=0)]
    if sorted(order) == [0, 1, 2]:  # each axis beside the flange's nearest one, so that the angles are small
        back = np.argsort(order)
        moments, V = moments[back], V[:, back]
        V = V * np.sign(np.diag(V))
    if np.linalg.det(V) < 0.0:
        V[:, 2] *= -1.0
    roll, pitch, yaw = rpy_of(matrix(V))
    return moments, (math.degrees(yaw), math.degrees(pitch), math.degrees(roll))


def _word(value: float) -> str:
    return repr(float(value))


def _spaced(values: ArrayLike) -> str:
    return " ".join(_word(v) for v in np.asarray(values, float))


def _short(value: float) -> str:
    """Six digits are more than any load is known to."""
    return f"{float(value) + 0.0:.6g}"


def _listed(values: ArrayLike) -> str:
    return ", ".join(_short(v) for v in np.asarray(values, float))

"""Friction with memory beside a result: LuGre laws that `inertica friction` found, carried by the folder of a result.

Laws of `identify` are functions of the present motion, and its parameters, intervals and predictions keep to them.  What was found of
the bristles is added to the result; models that are simulated (`export`'s sidecar) have it in place of the joints' own friction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from inertica.documents import infinite, plain
from inertica.errors import InputError
from inertica.robot.friction import LuGre, Offset, friction_terms
from inertica.robot.layout import Layout, Parameters
from inertica.workflow.identify.saved import read_stamped, stamped_text
from inertica.writing import write_whole

LUGRE = "lugre"
KEY = "bristles"
"""In result.json."""


@dataclass(frozen=True)
class JointFriction:
    """One joint's friction.

    Args:
        joint: its name.
        law: lugre, or coulomb where the log does not show bristles.
        values: sigma0, sigma1, sigma2, fc, fs, vs; Fv, Fc of a joint without bristles.
        std: of those that were found; infinite for what the log does not tell: fs is then fc, sigma1 zero.
        static: root mean square of the torque residual with viscous and Coulomb friction, N m.
        residual: the same with this law.
    """

    joint: str
    law: str
    values: Mapping[str, float]
    std: Mapping[str, float] = field(metadata=infinite())
    static: float
    residual: float


@dataclass(frozen=True)
class Bristles:
    """What was found of a robot's joints, and from which logs."""

    joints: tuple[JointFriction, ...]
    logs: tuple[str, ...] = ()

    @property
    def found(self) -> dict[int, JointFriction]:
        """Joints (0-based) with bristles."""
        return {j: one for j, one in enumerate(self.joints) if one.law == LUGRE}


def with_bristles(parameters: Parameters, bristles: Bristles) -> Parameters:
    """The same links and drives; joints that have bristles have them, and their offset, in place of their other friction."""
    layout, constants = parameters.layout, bristles.found
    retained = [
        t for t in layout.terms if not (t in friction_terms(layout.terms) and t.at in constants and not isinstance(t, Offset))
    ]
    laws = [LuGre(j, **one.values) for j, one in constants.items()]
    names = {p.name for t in (*retained, *laws) for p in t.parameters}
    bodies = {name for _, where in layout.bodies for name in layout.names[where]}
    fixed = frozenset(layout.fixed & (names | bodies))
    return parameters.on(Layout(layout.robot, (*retained, *laws), layout.payloads, fixed))


def write_bristles(folder: str | Path, bristles: Bristles, joints: tuple[str, ...]) -> None:
    """Write them into the result of a folder, in place of those that were there.

    Args:
        folder: of the result.
        bristles: what was found.
        joints: names of the result's joints; those of another robot are refused.
    """
    file = Path(folder) / "result.json"
    numbers = tuple(j.joint for j in bristles.joints)
    if numbers != joints:
        raise InputError(
            f"{folder} is a result of another robot: its joints are {', '.join(joints)}, the friction is that of {', '.join(numbers)}"
        )
    document = read_stamped(file)
    document[KEY] = plain(bristles)
    write_whole(file, stamped_text(document))

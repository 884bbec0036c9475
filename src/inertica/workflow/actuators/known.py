"""What the user knows of the actuators and of the links, from the call and from the card."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from inertica.arrays import Array
from inertica.dynamics.equations import Equations
from inertica.dynamics.kernels import Target
from inertica.errors import InputError
from inertica.estimators.actuators.fit import Name
from inertica.estimators.actuators.values import ActuatorValues
from inertica.numbers import whole
from inertica.robot.control import LAWS, stated_law
from inertica.robot.description import Description

LINKS_STD = 0.1
"""Relative standard deviation of the links' parameters where nothing is stated."""

FOUND_STD = 1.0
"""The same for links that are to be found."""


@dataclass(frozen=True, eq=False)
class Known:
    """What the user knows of the actuators.

    Args:
        values: of all joints; meaningless where not known.
        known: (quantity, joint).
        back_emf: (n,) viscous friction that the drives make, a part of what is found; zero where nothing is stated.
    """

    values: ActuatorValues
    known: frozenset[Name]
    back_emf: Array

    def of(self, joints: Sequence[int]) -> Known:
        place = {j: k for k, j in enumerate(joints)}
        known = frozenset((name, place[j]) for name, j in self.known if j in place)
        return Known(self.values.joints(list(joints)), known, self.back_emf[list(joints)])

    def notes(self, names: Sequence[str]) -> list[str]:
        """What the stated drives say of what will be found."""
        shares = [f"{b:.3g} ({name})" for b, name in zip(self.back_emf, names, strict=True) if b > 0.0]
        return [f"viscous friction holds the back-EMF of the drives, in N m s/rad: {', '.join(shares)}"] if shares else []


@dataclass(frozen=True, eq=False)
class Setup:
    """The robot as it is stated, and what computes.

    Args:
        description: the robot.
        known: of its actuators.
        links_std: (n,) relative standard deviation of every link's parameters.
        target: of simulations.
    """

    description: Description
    known: Known
    links_std: Array
    target: Target

    @property
    def names(self) -> tuple[str, ...]:
        return self.description.robot.joint_names

    @property
    def links(self) -> Array:
        """(n, 10) parameters of the links, payloads included."""
        values = list(self.description.prior.values)
        return np.array(Equations(self.description.layout).link_inertia(values), float)

    def links_of(self, joints: Sequence[int]) -> Array:
        return np.asarray(self.links[list(joints)].ravel())


def known_values(description: Description, kp: ArrayLike | None, kd: ArrayLike | None, limit: ArrayLike | None) -> Known:
    """Gains of the call, then those of the card."""
    n = description.robot.n
    by_name: dict[str, Array] = {}
    loop = description.loop
    if loop is not None:
        law, gains = stated_law(loop, n)
        if law not in LAWS or LAWS[law].memory:
            raise InputError(
                f"{description.name} states the control law '{law}'; actuators are found under laws without memory ("
                f"{', '.join(name for name, kind in LAWS.items() if not kind.memory)}): state "
                "loop: {law: pd, kp: [...], kd: [...]}, or leave the loop out so that its stiffness and damping are found"
            )
        by_name = {name: np.broadcast_to(x, (n,)) for name, x in LAWS[law].servo(gains).items()}
        if "saturation" in loop:
            by_name["torque_limit"] = np.array(loop["saturation"], float)
    back_emf = by_name.pop("viscous", np.zeros(n))
    for name, value in (("kp", kp), ("kd", kd), ("torque_limit", limit)):
        if value is not None:
            array = np.asarray(value, float)
            if array.ndim > 1 or array.size not in (1, n):
                raise InputError(f"{name} has {array.size} values; expected one, or one for each of {n} joints")
            by_name[name] = np.broadcast_to(array, (n,))
    known: set[Name] = set()
    values: dict[str, ArrayLike] = {}
    for name, array in by_name.items():
        least = 0.0 if name == "kd" else 1e-300
        for j in np.flatnonzero(np.isfinite(array)):
            if array[j] < least:
                raise InputError(f"{name} of joint {j + 1} should be greater than zero, not {array[j]:g}")
            known.add((name, int(j)))
        rest = np.inf if name == "torque_limit" else 1.0
        values[name] = np.where(np.isfinite(array), array, rest)
    usual: dict[str, ArrayLike] = {"kp": 1.0}
    return Known(ActuatorValues.of(n, **usual | values), frozenset(known), back_emf)


def links_deviation(description: Description, links: Sequence[int | str], stated: float | None) -> Array:
    """(n,) relative standard deviation of every link."""
    n = description.robot.n
    trust = description.trust
    usual = stated if stated is not None else float(trust.get("masses", trust.get("all", LINKS_STD)))
    if not 0.0 <= usual < 1.0:
        raise InputError(f"the uncertainty of the links should be a share of at least 0 and below 1, not {usual:g}")
    out = np.full(n, usual)
    for which in links:
        number = whole(which) if isinstance(which, str) else which
        out[description.robot.joint_index(which if number is None else number)] = FOUND_STD
    return out

"""Known masses that hung on a robot's links while single logs were recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from inertica.arrays import Array
from inertica.errors import InputError
from inertica.logs.log import Log
from inertica.numbers import whole
from inertica.robot.description import Description
from inertica.robot.inertia import from_com

HungMass = Sequence[float | str]
"""Mass in kg, its place x, y, z in the link's frame in m (by default the origin), the link's joint by number or name (the last)."""


def added_parameters(description: Description, masses: Mapping[str, HungMass], logs: Sequence[object]) -> dict[int, Array]:
    """Place in `logs` -> (10 n,) what its mass adds to the parameters of the links.

    Args:
        description: the robot.
        masses: name of a log, as it stands in `logs`, or the name of its file alone -> the mass.
        logs: of a fit or of a validation.
    """
    names = [str(log.origin if isinstance(log, Log) else log) for log in logs]
    out: dict[int, Array] = {}
    for wanted, mass in masses.items():
        places = [k for k, name in enumerate(names) if wanted in (name, Path(name.split("@")[0]).name)]
        if not places:
            raise InputError(f"a load is stated for '{wanted}', which is none of the logs: {', '.join(names)}")
        for k in places:
            out[k] = out.get(k, 0.0) + _point(description, wanted, mass)
    return out


def _point(description: Description, log: str, stated: HungMass) -> Array:
    numbers = [float(x) for x in stated[:4]]
    if len(stated) not in (1, 4, 5) or not np.all(np.isfinite(numbers)) or numbers[0] <= 0.0:
        raise InputError(
            f"the load of '{log}' should be a mass in kg greater than zero, or mass,x,y,z, or mass,x,y,z,joint; not "
            f"{', '.join(str(x) for x in stated)}"
        )
    robot = description.robot
    joint = robot.n - 1
    if len(stated) == 5:
        word = stated[4]
        number = whole(word) if isinstance(word, str) else int(word)
        joint = robot.joint_index(str(word) if number is None else number)
    out = np.zeros((robot.n, 10))
    out[joint] = from_com(numbers[0], np.array(numbers[1:] or [0.0, 0.0, 0.0]), np.zeros((3, 3)))
    return out.ravel()

"""Isaac Lab: actuators as configuration text, implicit ones and, for delays, explicit ones."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from inertica.escape import python_string
from inertica.workflow.export.actuator_format import ActuatorFile, ActuatorFormat, Destination, header, python_file
from inertica.workflow.export.joint_actuators import JointActuators

_HEAD = '''\
"""Actuators of {robot} for Isaac Lab, written by inertica {version} ({origin}); SI units.

    ArticulationCfg(..., actuators=ACTUATORS), or actuators=delayed_actuators(dt) for servos whose commands are late

Friction is an effort in Isaac Sim 5.0 and later; in 4.5 it was a coefficient.
"""

import math

from isaaclab.actuators import DelayedPDActuatorCfg, ImplicitActuatorCfg

'''

_DELAYED = '''

def delayed_actuators(dt):
    """Explicit actuators, one per joint, late by the whole numbers of physics steps of dt s around each delay."""
    out = {}
    for group in ACTUATORS.values():
        for expression in group.joint_names_expr:
            values = {
                field: getattr(group, field)[expression]
                for field in ("stiffness", "damping", "armature", "friction", "dynamic_friction", "viscous_friction")
            }
            if group.effort_limit_sim is not None:
                values["effort_limit"] = group.effort_limit_sim[expression]
            steps = DELAY.get(expression, 0.0) / dt
            out[expression] = DelayedPDActuatorCfg(
                joint_names_expr=[expression], min_delay=math.floor(steps + 1e-9), max_delay=math.ceil(steps - 1e-9), **values
            )
    return out
'''


def write_isaac_lab(actuators: JointActuators, to: Destination) -> ActuatorFile:
    """A module with the configuration of all joints; those with a torque limit are a group of their own."""
    v, driven = actuators.values, actuators.driven
    lines = [header(_HEAD, actuators, ISAAC_LAB.title), "ACTUATORS = {"]
    limited = [j for j in driven if np.isfinite(v.torque_limit[j])]
    for name, joints in (("limited", limited), ("unlimited", [j for j in driven if j not in limited])):
        if joints:
            lines += _group(actuators, name, joints)
    delays = {actuators.names.index(name): delay for name, delay in actuators.delayed().items()}
    lines += ["}", "", f"DELAY = {_by_joint(actuators, delays)}", '"""s by joint, of the command."""', ""]
    lines += [f"COMMAND_ZERO = {_by_joint(actuators, {actuators.names.index(k): z for k, z in actuators.shifted().items()})}"]
    lines += ['"""rad (m) by joint: the servo aims at command - zero."""', _DELAYED]
    delay = "implicit actuators of Isaac Lab have no delay: use delayed_actuators(dt) of the file"
    return python_file(lines, actuators, delay)


def _group(actuators: JointActuators, name: str, joints: list[int]) -> list[str]:
    v = actuators.values
    fields: dict[str, NDArray[np.float64]] = {
        "stiffness": v.kp, "damping": v.kd, "armature": v.armature, "friction": v.coulomb, "dynamic_friction": v.coulomb,
        "viscous_friction": v.viscous,
    } | ({"effort_limit_sim": v.torque_limit} if name == "limited" else {})  # fmt: skip
    names = ", ".join(_expression(actuators, j) for j in joints)
    return [
        f"    {python_string(name)}: ImplicitActuatorCfg(",
        f"        joint_names_expr=[{names}],",
        *(f"        {field}={_by_joint(actuators, {j: float(values[j]) for j in joints})}," for field, values in fields.items()),
        "    ),",
    ]


def _by_joint(actuators: JointActuators, values: dict[int, float]) -> str:
    return "{" + ", ".join(f"{_expression(actuators, j)}: {value!r}" for j, value in values.items()) + "}"


def _expression(actuators: JointActuators, j: int) -> str:
    """The name of a joint as the regular expression that matches nothing else."""
    return python_string(re.escape(actuators.names[j]))


ISAAC_LAB = ActuatorFormat("isaac-lab", "configuration for Isaac Lab", "_isaac_lab.py", write_isaac_lab)

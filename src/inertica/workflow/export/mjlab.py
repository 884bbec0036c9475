"""mjlab: position actuators as configuration text."""

from __future__ import annotations

import re

import numpy as np

from inertica.escape import python_string
from inertica.workflow.export.actuator_format import ActuatorFile, ActuatorFormat, Destination, header, python_file
from inertica.workflow.export.joint_actuators import JointActuators

_HEAD = '''\
"""Actuators of {robot} for mjlab, written by inertica {version} ({origin}); SI units.

    EntityCfg(spec_fn=..., articulation=ARTICULATION)
"""

import math

from mjlab.actuator import BuiltinPositionActuatorCfg
from mjlab.entity import EntityArticulationInfoCfg

TIMESTEP = 0.005
"""s of a step of the physics: set it to that of your simulation; delays are counted in it."""


def lag(delay):
    """A delay in s as the whole numbers of steps around it, between which mjlab draws."""
    return {{"delay_min_lag": math.floor(delay / TIMESTEP + 1e-9), "delay_max_lag": math.ceil(delay / TIMESTEP - 1e-9)}}

'''


def write_mjlab(actuators: JointActuators, to: Destination) -> ActuatorFile:
    """A module with one configuration per joint."""
    lines = [header(_HEAD, actuators, MJLAB.title), "ACTUATORS = ("]
    for j in actuators.driven:
        lines += _joint(actuators, j)
    lines += [")", "", "ARTICULATION = EntityArticulationInfoCfg(actuators=ACTUATORS)", ""]
    zeros = ", ".join(f"{python_string(name)}: {zero!r}" for name, zero in actuators.shifted().items())
    lines += [f"COMMAND_ZERO = {{{zeros}}}", '"""rad (m) by joint: the servo aims at command - zero."""', ""]
    delay = "mjlab delays by whole steps of the physics; set TIMESTEP in the file"
    return python_file(lines, actuators, delay)


def _joint(actuators: JointActuators, j: int) -> list[str]:
    v = actuators.values
    fields = {
        "stiffness": v.kp[j], "damping": v.kd[j], "effort_limit": v.torque_limit[j], "armature": v.armature[j],
        "frictionloss": v.coulomb[j], "viscous_damping": v.viscous[j],
    }  # fmt: skip
    out = [
        "    BuiltinPositionActuatorCfg(",
        f"        target_names_expr=({python_string(re.escape(actuators.names[j]))},),",
        *(f"        {name}={float(value)!r}," for name, value in fields.items() if np.isfinite(value)),
    ]
    if v.delay[j] > 0.0:
        out.append(f"        **lag({float(v.delay[j])!r}),")
    return [*out, "    ),"]


MJLAB = ActuatorFormat("mjlab", "configuration for mjlab", "_mjlab.py", write_mjlab)

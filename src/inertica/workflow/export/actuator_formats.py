"""Every target of exported actuators, by name."""

from __future__ import annotations

from inertica.workflow.export.actuator_format import ActuatorFormat
from inertica.workflow.export.isaac_lab import ISAAC_LAB
from inertica.workflow.export.mjlab import MJLAB
from inertica.workflow.export.mujoco_actuators import MUJOCO
from inertica.workflow.export.usd import USD

ACTUATOR_FORMATS: dict[str, ActuatorFormat] = {
    MUJOCO.name: MUJOCO,
    MJLAB.name: MJLAB,
    ISAAC_LAB.name: ISAAC_LAB,
    USD.name: USD,
}

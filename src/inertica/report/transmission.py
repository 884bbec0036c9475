"""What lies between motor and link: one line for the screen, a table for the report."""

from __future__ import annotations

import math
from collections.abc import Sequence

from inertica.numbers import NONE, number, span
from inertica.report import html
from inertica.workflow.identify.result import Result
from inertica.workflow.identify.transmission import JointTransmission, Quantity

TRANSMISSION, TITLE = "transmission", "Between motor and link"

COLUMNS = (
    "joint", "stiffness", "95 % interval", "damping", "motor inertia", "friction before the spring", "lag (ms)", "backlash (deg, mm)",
    "q - ql explained (%)", "by torque and sign (%)",
)  # fmt: skip


def transmission_line(result: Result) -> str:
    """Stiffness and backlash of every joint that shows them; empty where no log has both positions."""
    if not result.transmission.joints:
        return ""
    each = [f"joint {one.number} {_stiffness(one)}{_gap(one)}" for one in result.transmission.joints]
    shares = ", ".join(f"{100.0 * one.explained:.0f}" for one in result.transmission.joints)
    return f"{TITLE}: {'; '.join(each)}. Of q - ql {shares} % explained on data left out."


def transmission_rows(result: Result) -> list[list[str]]:
    """Cells of the table, joint by joint."""
    joints = result.description.robot.joints
    rows = []
    for one in result.transmission.joints:
        scale = 1e3 if joints[one.number - 1].prismatic else 180.0 / math.pi
        gap = NONE if one.backlash is None else _scaled(one.backlash, scale)
        share = f" ({100.0 * one.motor_share:.0f} %)" if math.isfinite(one.motor_share) else ""
        rows.append([
            f"{one.number} {one.joint}", f"{number(one.stiffness.value)} {one.stiffness.unit}", span(*one.stiffness.interval),
            _shown(one.damping), _shown(one.motor_inertia), f"{_shown(one.motor_coulomb)}{share}", _scaled(one.lag, 1e3), gap,
            f"{100.0 * one.explained:.1f}", f"{100.0 * one.plain:.1f}",
        ])  # fmt: skip
    return rows


def not_testable(result: Result) -> str:
    """Joints of which nothing can be told, and why; joints with the same reason together."""
    by_reason: dict[str, list[str]] = {}
    for joint, reason in result.transmission.not_testable.items():
        by_reason.setdefault(reason, []).append(joint)
    every = len(result.transmission.not_testable) == result.description.robot.driven
    parts = [f"{'all joints' if every and len(by_reason) == 1 else ', '.join(names)}: {why}" for why, names in by_reason.items()]
    return f"elasticity and backlash not testable of {'; of '.join(parts)}" if parts else ""


def transmission_section(result: Result) -> Sequence[str]:
    """Nothing where no log has positions of both sides."""
    if not result.transmission.joints:
        return []
    about = (
        "From motor-side and link-side positions: how far each drive bends under its torque. Motor inertia and friction are those "
        "before the spring. The lag is what of the bend grows with velocity: how much later ql was read, less viscous friction before "
        "the spring over the stiffness. The last columns are shares of the variance of q - ql on data left out."
    )
    left_out = not_testable(result)
    more = [html.paragraph(html.prose(f"{left_out[:1].upper()}{left_out[1:]}."), "soft")] if left_out else []
    table = html.table(TITLE, COLUMNS, transmission_rows(result), right=COLUMNS[1:])
    return [html.section(TRANSMISSION, TITLE, html.paragraph(html.prose(about)), table, *more)]


def _stiffness(one: JointTransmission) -> str:
    k = one.stiffness
    if not math.isfinite(k.interval[1]):
        return f"at least {number(k.interval[0], 3)} {k.unit}"
    return f"{number(k.value, 3)} ({span(*k.interval, digits=3)}) {k.unit}"


def _gap(one: JointTransmission) -> str:
    return "" if one.backlash is None else f", backlash {number(one.backlash.value, 3)} {one.backlash.unit}"


def _shown(quantity: Quantity | None) -> str:
    return NONE if quantity is None else f"{number(quantity.value)} ({span(*quantity.interval)}) {quantity.unit}"


def _scaled(quantity: Quantity, scale: float) -> str:
    low, high = (scale * end for end in quantity.interval)
    return f"{number(scale * quantity.value)} ({span(low, high)})"

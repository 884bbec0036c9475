"""Sentences on what the logs do not tell, and on what fixes the scale of torques."""

from __future__ import annotations

from collections.abc import Sequence

from inertica.estimators.actuators.values import QUANTITIES

SHORT = {"viscous": "viscous friction", "coulomb": "Coulomb friction", "zero": "zero", "torque_limit": "torque limit"}


def short(name: str) -> str:
    """A quantity in a sentence."""
    return SHORT.get(name, name)


def combination(parameters: Sequence[tuple[str, int]], relative: Sequence[float], names: Sequence[str]) -> str:
    """What is determined of quantities that the logs cannot tell apart.

    Args:
        parameters: (quantity, joint).
        relative: change of each along the direction that changes no position, as a share of itself where it cannot be negative.
        names: of the joints.
    """
    joints = list(dict.fromkeys(j for _, j in parameters))
    where = f"joint{'s' * (len(joints) > 1)} " + ", ".join(f"{j + 1} ({names[j]})" for j in joints)
    kinds = [name for name, _ in parameters]
    listed = _listed([short(name) + (f" {j + 1}" if len(joints) > 1 else "") for name, j in parameters])
    if len(parameters) == 1:
        return f"{listed} of {where} is not determined: {_why(kinds[0])}"
    if set(kinds) == {"kd", "viscous"} and len(joints) == 1:
        return (
            f"only the sum of kd and viscous friction of {where} is determined: both brake in proportion to the speed; state kd, or log "
            "the torque limit being reached"
        )
    scale = all(QUANTITIES[name].torque for name in kinds) and (min(relative) > 0.0 or max(relative) < 0.0)
    if scale and "kp" in kinds:
        ratios = [f"{short(name)}/kp" for name in dict.fromkeys(kinds) if name != "kp"]
        return (
            f"only ratios are determined for {where}, such as {_listed(ratios)}: the links say too little of the scale of torques; state kp "
            "in N m/rad (loop: {kp: ...} in the card), or hang a known mass on the joint"
        )
    return f"{listed} of {where} are determined only together; state one of them"


def _why(name: str) -> str:
    reasons = {
        "delay": "the commands change too slowly beside the error that is left",
        "coulomb": "the joint seldom reverses",
        "armature": "the joint accelerates too little, or its link is too uncertain beside it",
        "torque_limit": "it is hardly reached",
        "kp": "nothing known is moved by it",
    }
    return reasons.get(name, "the motion does not show it") + "; state it, or record steps and faster motion"


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def scale(joints: Sequence[str], stated: bool, told: bool, gravity: float, inertia: float, links_std: float) -> str:
    """What fixes the scale of torques of joints that influence each other.

    Args:
        joints: their names.
        stated: kp of some of them is.
        told: all kp are determined.
        gravity, inertia: rms torque of the links at rest and in motion, relative to that of the servos.
        links_std: relative uncertainty of the links.
    """
    who = _listed(list(joints))
    if stated:
        return f"the stated kp fixes the scale of torques of {who}"
    if not told:
        return f"nothing fixes the scale of torques of {who}: only ratios are determined"
    what = "gravity on the modelled links" if gravity >= inertia else "the inertia of the modelled links"
    return f"{what} ({100 * links_std:.3g} % uncertain) fixes the scale of torques of {who}"

"""Sentences on what the logs do not tell, and on what fixes the scale of torques."""

from __future__ import annotations

from collections.abc import Sequence

from inertica.estimators.actuators.values import QUANTITIES
from inertica.workflow.actuators.result import Combination

SHORT = {"viscous": "viscous friction", "coulomb": "Coulomb friction", "zero": "zero", "torque_limit": "torque limit"}

WHY = {
    "delay": "the commands change too slowly beside the error that is left",
    "coulomb": "the joint seldom reverses",
    "armature": "the joint accelerates too little, or its link is too uncertain beside it",
    "torque_limit": "it is hardly reached",
    "kp": "nothing known is moved by it",
}


def combination(parameters: Sequence[tuple[str, int]], relative: Sequence[float], names: Sequence[str]) -> str:
    """What is determined of quantities that the logs cannot tell apart.

    Args:
        parameters: (quantity, joint).
        relative: change of each along the direction that changes no position, as a share of itself where it cannot be negative.
        names: of the joints.
    """
    joints = list(dict.fromkeys(j for _, j in parameters))
    kinds = [name for name, _ in parameters]
    if len(joints) == 1:
        return _of_joints(kinds, _alike(relative), [f"{joints[0] + 1} ({names[joints[0]]})"])
    listed = _listed([f"{_short(name)} {j + 1}" for name, j in parameters])
    where = _listed([f"{j + 1} ({names[j]})" for j in joints])
    if _is_scale(kinds, _alike(relative)):
        return f"joints {where}: only ratios of {listed} are determined: {_SCALE}"
    return f"joints {where}: {listed} are determined only together; state one of them"


def sentences(found: Sequence[Combination], names: Sequence[str]) -> list[str]:
    """Every combination in words, joints of which the same is true in one sentence."""
    alike: dict[tuple[str, ...], list[Combination]] = {}
    out = []
    for c in found:
        if len(set(c.joints)) == 1:
            alike.setdefault(tuple(sorted(c.quantities)), []).append(c)
        else:
            out.append(c.text)
    for same in alike.values():
        if len(same) == 1:
            out.append(same[0].text)
            continue
        joints = sorted({c.joints[0] for c in same})
        shares = [_alike(c.direction) for c in same]
        out.append(_of_joints(same[0].quantities, all(shares), [f"{j} ({names[j - 1]})" for j in joints]))
    return out


_SCALE = (
    "the links say too little of the scale of torques; state kp in N m/rad (loop: in the card), or hang a known mass on the joint"
)


def _of_joints(kinds: Sequence[str], alike: bool, joints: Sequence[str]) -> str:
    """The same of each of some joints."""
    where = f"joint{'s' * (len(joints) > 1)} {_listed(joints)}: "
    listed = _listed([_short(name) for name in kinds])
    if len(kinds) == 1:
        why = WHY.get(kinds[0], "the motion does not show it")
        return f"{where}{listed} is not determined: {why}; state it, or record steps and faster motion"
    if set(kinds) == {"kd", "viscous"}:
        return (
            f"{where}only the sum of kd and viscous friction is determined: both brake in proportion to the speed; state kd, or reach "
            "the torque limit in a log"
        )
    if _is_scale(kinds, alike):
        ratios = [f"{_short(name)}/kp" for name in dict.fromkeys(kinds) if name != "kp"]
        return f"{where}only ratios are determined, such as {_listed(ratios)}: {_SCALE}"
    return f"{where}{listed} are determined only together; state one of them"


def _alike(changes: Sequence[float]) -> bool:
    """Whether all change in one direction."""
    return min(changes) > 0.0 or max(changes) < 0.0


def _is_scale(kinds: Sequence[str], alike: bool) -> bool:
    return alike and "kp" in kinds and all(QUANTITIES[name].torque for name in kinds)


def _short(name: str) -> str:
    return SHORT.get(name, name)


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def scale(joints: Sequence[str], stated: bool, told: bool, gravity: float, inertia: float, links_std: float) -> str:
    """What fixes the scale of torques of joints that influence each other.

    Args:
        joints: their names.
        stated: kp of some of them is.
        told: all kp are determined.
        gravity, inertia: sums of squares of the torques of links at rest, and of what motion adds.
        links_std: relative uncertainty of the links.
    """
    who = _listed(list(joints))
    if stated:
        return f"the stated kp fixes the scale of torques of {who}"
    if not told:
        return f"nothing fixes the scale of torques of {who}: only ratios are determined"
    what = "gravity on the modelled links" if gravity >= inertia else "the inertia of the modelled links"
    return f"{what} ({100 * links_std:.3g} % uncertain) fixes the scale of torques of {who}"

"""Sentences on what the logs do not tell, and on what fixes the scale of torques."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from inertica.estimators.actuators.values import QUANTITIES
from inertica.workflow.actuators.result import Combination

SHORT = {
    "viscous": "viscous friction", "coulomb": "Coulomb friction", "torque_limit": "torque limit", "stribeck": "Stribeck friction",
    "stribeck_speed": "Stribeck speed", "load_friction": "friction by load",
}  # fmt: skip

WHY = {
    "armature": "the joint accelerates too little, or its link is too uncertain beside it",
    "viscous": "the joint moves too slowly",
    "coulomb": "the joint seldom reverses",
    "delay": "the commands change too slowly",
    "zero": "the joint hardly moves",
    "kp": "nothing known is moved by it",
    "kd": "the joint moves too slowly",
    "torque_limit": "it is hardly reached",
    "stribeck": "the joint is hardly ever slow",
    "stribeck_speed": "the joint is hardly ever slow",
    "load_friction": "gravity on the joint hardly changes",
}

FEW = 3
"""Quantities of one joint whose combination is worth a sentence of its own."""

SCALE = "state kp in N m/rad (option kp, or loop: in the card), or hang a known mass on the joint"


def sentences(combinations: Sequence[Combination], names: Sequence[str]) -> list[str]:
    """What the logs do not tell, one sentence for all joints of which the same is true."""
    kinds: dict[tuple[str, ...], list[int]] = {}
    together: dict[str, list[int]] = {}
    scattered: dict[str, list[int]] = {}
    for c in combinations:
        joints = list(dict.fromkeys(c.joints))
        quantities = list(dict.fromkeys(c.quantities))
        if len(c.quantities) == 1:
            kinds.setdefault(("alone", quantities[0]), []).extend(joints)
        elif set(quantities) == {"kd", "viscous"} and len(joints) == 1:
            kinds.setdefault(("damping",), []).extend(joints)
        elif _is_scale(c):
            kinds.setdefault(("scale",), []).extend(joints)
        elif len(joints) == 1 and len(quantities) <= FEW:
            together.setdefault(_listed([_short(q) for q in quantities]), []).append(joints[0])
        else:
            for quantity, j in zip(c.quantities, c.joints, strict=True):
                scattered.setdefault(quantity, []).append(j)
    order = sorted(kinds.items(), key=lambda kind: ("scale", "damping", "alone").index(kind[0][0]))
    out = [_sentence(kind, _joints(joints, names)) for kind, joints in order]
    if together:
        words = [f"{which} of {_joints(joints, names)}" for which, joints in together.items()]
        out.append(f"determined only together: {'; '.join(words)}")
    rest = {q: [j for j in joints if not _named(kinds, q, j)] for q, joints in scattered.items()}
    if any(rest.values()):
        words = [f"{_short(q)} of {_numbers(joints)}" for q, joints in rest.items() if joints]
        out.append(f"hardly shown, each in exchange for others: {'; '.join(words)}")
    return out


def _named(kinds: Mapping[tuple[str, ...], Sequence[int]], quantity: str, joint: int) -> bool:
    """Whether another sentence says already that a quantity of a joint is not determined."""
    of = {("alone", quantity), *((("damping",),) if quantity in ("kd", "viscous") else ())}
    if QUANTITIES[quantity].torque:
        of.add(("scale",))
    return any(joint in kinds.get(kind, ()) for kind in of)


def _sentence(kind: tuple[str, ...], where: str) -> str:
    if kind[0] == "scale":
        return f"{where}: only ratios to kp are determined, such as armature/kp: {SCALE}"
    if kind[0] == "damping":
        return (
            f"{where}: only the sum of kd and viscous friction is determined: both brake in proportion to the speed; state kd, or "
            "reach the torque limit in a log"
        )
    return f"{where}: {_short(kind[1])} is not determined: {WHY[kind[1]]}"


def _is_scale(c: Combination) -> bool:
    alike = min(c.direction) > 0.0 or max(c.direction) < 0.0
    return alike and "kp" in c.quantities and all(QUANTITIES[name].torque for name in c.quantities)


def _joints(joints: Sequence[int], names: Sequence[str]) -> str:
    which = sorted(set(joints))
    return f"joint{'s' * (len(which) > 1)} {_listed([f'{j} ({names[j - 1]})' for j in which])}"


def _numbers(joints: Sequence[int]) -> str:
    which = sorted(set(joints))
    return f"joint{'s' * (len(which) > 1)} {_listed([str(j) for j in which])}"


def _short(name: str) -> str:
    return SHORT.get(name, name)


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


GRAVITY, INERTIA = "gravity on the modelled links", "the inertia of the modelled links"
HUNG, COMMANDED = "the stated load", "the recorded feed-forward torque"


def scale(joints: Sequence[str], stated: bool, separable: bool, sizes: Mapping[str, float], links_std: float) -> str:
    """What fixes the scale of torques of joints that influence each other.

    Args:
        joints: their names.
        stated: kp of some of them is.
        separable: all kp are determined.
        sizes: what has a known scale -> sum of squares of its torques.
        links_std: relative uncertainty of the links.
    """
    who = _listed(list(joints))
    if stated:
        return f"the stated kp fixes the scale of torques of {who}"
    if not separable:
        return f"nothing fixes the scale of torques of {who}: only ratios are determined"
    what = max(sizes, key=lambda name: sizes[name])
    uncertain = "" if what == COMMANDED else f" ({100 * links_std:.3g} % uncertain)"
    return f"{what}{uncertain} fixes the scale of torques of {who}"

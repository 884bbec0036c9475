"""Which constraints contradict each other: a smallest group, by name.

Each constraint is left out in turn, and stays out when the rest is still infeasible (deletion filter).  What remains is a group of
which every member is needed for the contradiction.  Links and drives that have nothing to do with it go out in one step each.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from inertica.errors import InputError
from inertica.physical.conesets import ConeSet, Plane
from inertica.physical.constraints import Block
from inertica.physical.interior import strictly_inside
from inertica.physical.scales import Reference

HELD = 1e-8
"""By how much constraints may miss each other and still count as touching, in reference sizes."""


class InfeasibleError(InputError):
    """Constraints that contradict each other, a smallest group of them named."""

    kind = "infeasible"


def conflict_error(reference: Reference, conflict: Sequence[Block]) -> InfeasibleError:
    """The error that names a group, and the fixed values that take part in it."""
    names = [block.name for block in conflict]
    # fixed values that none of the contradicting statements contains are not part of the contradiction
    taking_part = np.any([np.any(block.F != 0.0, axis=0) for block in conflict], axis=0) & reference.fixed
    fixed = [f"{n} = {v:g}" for n, v, t in zip(reference.layout.names, reference.values, taking_part, strict=True) if t]
    fixed_text = f", with the fixed values {', '.join(fixed)}" if fixed else ""
    robot = reference.layout.robot.name
    if len(names) == 1:
        return InfeasibleError(f"{robot}: no parameters satisfy the constraint '{names[0]}'{fixed_text}; drop or loosen it")
    return InfeasibleError(
        f"{robot}: these constraints exclude each other: {'; '.join(names)}{fixed_text}; drop or loosen one of them"
    )


def smallest_conflict(reference: Reference, blocks: Sequence[Block]) -> list[Block]:
    """Those of the blocks that have no common point, none of which can be left out; empty when the set is feasible."""
    left = list(blocks)
    if feasible(reference, left):
        return []
    size = max(1, len(left) // 4)
    while size:
        for start in range(0, len(left), size):
            gone = {id(b) for b in left[start : start + size]}
            rest = [b for b in left if id(b) not in gone]
            if len(rest) < len(left) and not feasible(reference, rest):
                left = rest
                break
        else:
            size //= 2
    return left


def feasible(reference: Reference, blocks: Sequence[Block]) -> bool:
    """Whether blocks (in the order of the cone data) have a common point, or miss one by no more than `HELD`."""
    if not blocks:
        return True
    equations = ConeSet.of_blocks([b for b in blocks if b.cone == "zero"], reference)
    plane = Plane.of(equations.F, equations.f)
    if plane.miss > HELD:
        return False
    cones = ConeSet.of_blocks([b for b in blocks if b.cone != "zero"], reference)
    return not cones.kinds or strictly_inside(cones.on(plane.origin, plane.N).loosened(HELD))[1] > 0.0

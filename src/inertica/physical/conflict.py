"""Which constraints contradict each other: a smallest group, by name.

Each constraint is left out in turn, and stays out when the rest is still infeasible (deletion filter).  What remains is a group of
which every member is needed for the contradiction.  Links and drives that have nothing to do with it go out in one step each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import clarabel
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from inertica.errors import InputError
from inertica.physical.constraints import Block

if TYPE_CHECKING:
    from inertica.physical.cone import Program

Array = NDArray[np.float64]

_ORDER = ("zero", "nonnegative", "second order", "semidefinite")


class InfeasibleError(InputError):
    """Constraints that contradict each other, a smallest group of them named."""


def conflict_error(program: Program, conflict: Sequence[Block]) -> InfeasibleError:
    """The error that names a group."""
    names = [block.name for block in conflict]
    robot = program.reference.layout.robot.name
    if len(names) == 1:
        return InfeasibleError(f"{robot}: no parameters satisfy the constraint '{names[0]}'; drop or loosen it")
    return InfeasibleError(f"{robot}: these constraints exclude each other: {'; '.join(names)}; drop or loosen one of them")


def smallest_conflict(program: Program) -> list[Block]:
    """Blocks that have no common point, none of which can be left out; empty when the set is feasible."""
    left = list(program.ordered)
    if feasible(program, left):
        return []
    size = max(1, len(left) // 4)
    while size:
        for start in range(0, len(left), size):
            gone = {id(b) for b in left[start : start + size]}
            rest = [b for b in left if id(b) not in gone]
            if len(rest) < len(left) and not feasible(program, rest):
                left = rest
                break
        else:
            size //= 2
    return left


def feasible(program: Program, blocks: Sequence[Block]) -> bool:
    """Whether blocks (in the order of the cone data) have a common point: the least violation of all is zero.

    Asked as min t with F x + f + t e in K for all blocks, e the middle of each cone, which always has an answer.
    """
    from inertica.physical.cone import Accuracy, cones_of, settings_of
    from inertica.physical.interior import cone_middle

    if not blocks:
        return True
    known = np.where(program.reference.free, 0.0, program.reference.values)
    F = np.vstack([b.F[:, program.free] for b in blocks]) * program.scale
    f = np.concatenate([b.value(known) for b in blocks])
    equations = sum(len(b.f) for b in blocks if b.cone == "zero")
    k, rows = F.shape[1], len(F)
    slack = np.concatenate([cone_middle(b.cone, len(b.f)) for b in blocks])
    # x, t, and for equations their misses up and down, all pressed towards zero
    miss = np.zeros((rows, 2 * equations))
    miss[:equations] = np.hstack([np.eye(equations), -np.eye(equations)])
    A = np.hstack([-F, -slack[:, None], -miss])
    floor = np.hstack([np.zeros((1 + 2 * equations, k)), -np.eye(1 + 2 * equations)])
    A = np.vstack([A[:equations], floor, A[equations:]])
    b = np.concatenate([f[:equations], np.zeros(len(floor)), f[equations:]])
    cones = cones_of(blocks)
    cones.insert(1 if equations else 0, clarabel.NonnegativeConeT(len(floor)))
    P = sp.csc_matrix((A.shape[1], A.shape[1]))
    q = np.concatenate([np.zeros(k), np.ones(len(floor))])
    answer = clarabel.DefaultSolver(P, q, sp.csc_matrix(A), b, cones, settings_of(Accuracy())).solve()
    return bool(q @ np.array(answer.x) < 1e-7)

"""What drives the model between samples, in compiled loops: a table, or a measured torque divided into what it is and its noise.

A measured torque is the true one and its noise.  A filter knows that noise as noise of the velocity; but the derivative of the
acceleration M^-1 (tau - h) by the parameters has it, too, and what errs with its own regressor is biased: the robot seems heavier, by
the square of the noise.  So parameters act along a calm torque, in which hardly any noise is left, and what the measured one
does beyond that is worked out with the parameters b of the start of the pass, whatever the filter holds by then:

    f(x, beta, tau) = f(x, beta, calm) + [f(x, b, tau) - f(x, b, calm)]
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from inertica.compiled import njit
from inertica.dynamics.llvm.stepping import advance_points, advance_rates
from inertica.estimators.recursive.factors import OPTIONS


class Drive(NamedTuple):
    """Tables of a transition.

    Args:
        table: (T, m) torque or reference of every step.
        calm: (T, m) torque along which parameters act, or empty where that is the table.
        start: (p,) parameters with which the difference of the two acts.
    """

    table: Any
    calm: Any
    start: Any


@njit(**OPTIONS)
def move_points(s: Any, drive: Any, first: int, last: int, z: Any, Z: Any, memory: Any, shift: Any, out: Any) -> None:
    """Points Z (L, size) -> out (L, 2n).

    `shift` (2n,) becomes what the torque as measured does beyond the calm one to the state of z (size,); it is in `out`.
    """
    if drive.calm.shape[0] == 0:
        advance_points(s, drive.table, first, last, Z, memory, out)
        return
    _shift(s, drive, first, last, z, memory, shift)
    advance_points(s, drive.calm, first, last, Z, memory, out)
    for p in range(out.shape[0]):
        for i in range(out.shape[1]):
            out[p, i] += shift[i]


@njit(**OPTIONS)
def move_rates(s: Any, drive: Any, first: int, last: int, z: Any, memory: Any, shift: Any, out: Any, F: Any) -> None:
    """A point (size,) -> out (2n,), and F (2n, size) the derivative; `shift` as above."""
    if drive.calm.shape[0] == 0:
        advance_rates(s, drive.table, first, last, z, memory, out, F)
        return
    _shift(s, drive, first, last, z, memory, shift)
    advance_rates(s, drive.calm, first, last, z, memory, out, F)
    for i in range(out.shape[0]):
        out[i] += shift[i]


@njit(**OPTIONS)
def _shift(s: Any, drive: Any, first: int, last: int, z: Any, memory: Any, shift: Any) -> None:
    states = shift.shape[0]
    point, one, other = np.zeros((1, z.shape[0])), np.zeros((1, states)), np.zeros((1, states))
    for i in range(z.shape[0]):
        point[0, i] = z[i] if i < states else drive.start[i - states]
    # copies: both runs start from what the controller remembers, and neither changes it
    advance_points(s, drive.table, first, last, point, memory.copy(), one)
    advance_points(s, drive.calm, first, last, point, memory.copy(), other)
    for i in range(states):
        shift[i] = one[0, i] - other[0, i]

"""Wrenches of many samples, components before samples: brought from link to link, and felt by joints.

A transform is (6, 6, count): row k is what the unit wrench k (force, then moment) is about the other origin.  Its lower left block is
zero, since a moment has no force.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from inertica.arrays import Array
from inertica.compiled import njit


@njit(nogil=True)
def through(wrenches: Array, transform: Array, out: Array) -> None:
    """(k, 6, count) wrenches about the other origin."""
    for row in range(len(wrenches)):
        for b in range(3):
            for s in range(out.shape[2]):
                force = 0.0
                moment = 0.0
                for a in range(3):
                    force += wrenches[row, a, s] * transform[a, b, s]
                    moment += wrenches[row, a, s] * transform[a, b + 3, s] + wrenches[row, a + 3, s] * transform[a + 3, b + 3, s]
                out[row, b, s] = force
                out[row, b + 3, s] = moment


@njit(nogil=True)
def seen_from_base(share: Array, transform: Array, out: Array) -> None:
    """(6, count) what a joint feels of unit wrenches about the other origin, from what it feels of those about its link's.

    Args:
        share: (6, count).
        transform: of wrenches on the link to the other origin.
    """
    # the inverse of [[A, B], [0, A]] with A orthogonal is [[A', -A'BA'], [0, A']]
    for s in range(out.shape[1]):
        for b in range(3):
            out[b + 3, s] = transform[0, b, s] * share[3, s] + transform[1, b, s] * share[4, s] + transform[2, b, s] * share[5, s]
        for b in range(3):
            felt = 0.0
            for a in range(3):
                rest = share[a, s]
                for c in range(3):
                    rest -= transform[a, c + 3, s] * out[c + 3, s]
                felt += transform[a, b, s] * rest
            out[b, s] = felt


@njit(nogil=True)
def products(axes: Array, wrenches: Array, wanted: NDArray[np.intp], out: Array) -> None:
    """Torques axes (n, 6, count) times wrenches (rows, 6, count) of (joint, row, place in out), one after the other."""
    for joint, row, place in wanted:
        for s in range(out.shape[1]):
            torque = 0.0
            for k in range(6):
                torque += axes[joint, k, s] * wrenches[row, k, s]
            out[place, s] = torque

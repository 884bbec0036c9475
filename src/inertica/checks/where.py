"""When something was found: stretches of time, of one joint or of all, for figures and programs."""

from __future__ import annotations

from itertools import pairwise
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from inertica.arrays import Array, Mask

MOST = 200
"""Stretches of a joint that are listed; where there are more, those nearest to each other are joined."""


class Stretch(TypedDict):
    """From one time to another in s; `joint` counts from 1, None when it is about all of them."""

    joint: int | None
    start: float
    end: float


def runs(mask: Mask) -> NDArray[np.intp]:
    """(k, 2) first and last index of every run of a mask."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8)))
    return np.column_stack([edges[::2], edges[1::2] - 1])


def stretches(t: Array, mask: Mask, joint: int | None = None) -> list[Stretch]:
    """Times between which samples are masked, in order; see `MOST`.

    Args:
        t: (N,) in s.
        mask: (N,).
        joint: counted from 0; None for all.
    """
    return spans([(float(t[a]), float(t[b])) for a, b in runs(mask)], joint)


def joint_stretches(t: Array, mask: Mask) -> list[Stretch]:
    """The same of every joint, mask (N, n)."""
    return [s for j in range(mask.shape[1]) for s in stretches(t, mask[:, j], j)]


def spans(intervals: list[tuple[float, float]], joint: int | None = None) -> list[Stretch]:
    """Stretches from pairs of times in order."""
    known = [(a, b) for a, b in intervals if np.isfinite(a) and np.isfinite(b)]
    if len(known) > MOST:
        between = np.array([second[0] - first[1] for first, second in pairwise(known)])
        cuts = [-1, *np.sort(np.argsort(between, kind="stable")[len(between) - MOST + 1 :]).tolist(), len(known) - 1]
        known = [(known[a + 1][0], known[b][1]) for a, b in pairwise(cuts)]
    return [Stretch(joint=None if joint is None else joint + 1, start=a, end=b) for a, b in known]

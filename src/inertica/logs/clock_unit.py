"""The unit of a clock that does not state it, told by recorded velocities: positions change by what they add up to.

A clock in milliseconds makes every recorded velocity, added up over time, a thousand times the change of position.  The ratio has no
unit, so that a robot of any size and speed is judged alike.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from inertica.arrays import Array

STRETCHES = 40
"""Parts of a record over which velocities are added up: long enough for steps of encoders not to count, short enough for drift."""

LIKE = 0.9
"""Correlation of both from which they say the same motion."""

OFF = 0.25
"""Part by which the ratio may differ from a power of 1000: velocities are filtered and late."""

UNITS: Mapping[str, float] = {"ms": 1e-3, "us": 1e-6, "ns": 1e-9}


def unit_by_velocity(t: Array, q: Array, dq: Array) -> str | None:
    """ms, us or ns where only that makes velocities (N, n) those of positions (N, n); None when the clock is right or nothing tells.

    Args:
        t: (N,) the clock as it stands in the file.
        q, dq: in SI units.
    """
    use = np.isfinite(t) & np.isfinite(q).all(axis=1) & np.isfinite(dq).all(axis=1)
    t, q, dq = t[use] - (t[use][0] if use.any() else 0.0), q[use], dq[use]
    forward = np.concatenate([[True], np.diff(t) > 0.0]) if len(t) else use[:0]
    t, q, dq = t[forward], q[forward], dq[forward]
    if len(t) < 2 * STRETCHES or not np.all(np.diff(t) > 0.0):
        return None
    added = np.vstack([np.zeros(q.shape[1]), np.cumsum(0.5 * np.diff(t)[:, None] * (dq[1:] + dq[:-1]), axis=0)])
    ends = np.linspace(0, len(t) - 1, STRETCHES + 1).astype(int)
    travelled, integrated = np.diff(q[ends], axis=0), np.diff(added[ends], axis=0)
    both = np.linalg.norm(travelled, axis=0) * np.linalg.norm(integrated, axis=0)
    moving = both > 0.0
    if not moving.any():
        return None
    like = np.sum(travelled * integrated, axis=0)[moving] / both[moving]
    ratio = (np.sum(travelled * integrated, axis=0)[moving] / np.sum(integrated[:, moving] ** 2, axis=0))[like > LIKE]
    if len(ratio) <= 0.5 * np.count_nonzero(moving):
        return None
    typical = float(np.median(ratio))
    return next((unit for unit, scale in UNITS.items() if abs(typical / scale - 1.0) < OFF), None)

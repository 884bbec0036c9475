"""Frames of links from the base outwards, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from inertica.compiled import njit


@njit(nogil=True, error_model="numpy")
def forward(
    q: Any, parent: Any, prismatic: Any, turned: Any, at: Any, along: Any, arm: Any, R: Any, origin: Any, axis: Any, pivot: Any
) -> None:
    """From the base outwards: R = R_parent turned exp(along q), as `Joint` says."""
    joint_rotation, fixed = np.empty((3, 3)), np.empty((3, 3))
    for m in range(q.shape[0]):
        for i in range(q.shape[1]):
            up, a, slide = parent[i], along[i], q[m, i] if prismatic[i] else 0.0
            angle = 0.0 if prismatic[i] else q[m, i]
            c, s = np.cos(angle), np.sin(angle)
            for r in range(3):
                for k in range(3):
                    joint_rotation[r, k] = (1.0 - c) * a[r] * a[k]
                joint_rotation[r, r] += c
            joint_rotation[0, 1] -= s * a[2]
            joint_rotation[0, 2] += s * a[1]
            joint_rotation[1, 0] += s * a[2]
            joint_rotation[1, 2] -= s * a[0]
            joint_rotation[2, 0] -= s * a[1]
            joint_rotation[2, 1] += s * a[0]
            for r in range(3):
                place = at[i, r] if up < 0 else origin[m, up, r]
                for k in range(3):
                    fixed[r, k] = turned[i, r, k]
                    if up >= 0:
                        place += R[m, up, r, k] * at[i, k]
                        fixed[r, k] = R[m, up, r, 0] * turned[i, 0, k]
                        fixed[r, k] += R[m, up, r, 1] * turned[i, 1, k] + R[m, up, r, 2] * turned[i, 2, k]
                pivot[m, i, r] = place
            for r in range(3):
                axis[m, i, r] = fixed[r, 0] * a[0] + fixed[r, 1] * a[1] + fixed[r, 2] * a[2]
                pivot[m, i, r] += slide * axis[m, i, r]
                origin[m, i, r] = pivot[m, i, r]
                for k in range(3):
                    R[m, i, r, k] = (
                        fixed[r, 0] * joint_rotation[0, k]
                        + fixed[r, 1] * joint_rotation[1, k]
                        + fixed[r, 2] * joint_rotation[2, k]
                    )
                    origin[m, i, r] += R[m, i, r, k] * arm[i, k]

"""Which faults are worth a fit where fits are slow: hypotheses in the order in which torque of the model explains the log.

A robot of n joints has 3 n (n - 1) / 2 exchanges of columns alone, and every fit grows with the cube of its parameters.  The torque m
of links as the model has them costs one pass of inverse dynamics per way of reading the positions.  What friction, a drive's
inertia or an offset could be of it is taken out of both m and the recorded torque t, by least squares on [dq, sign dq, ddq, 1]; then

    score = N sum_j log(min_a |g t_j - a m_j|^2 / |g t_j|^2 + floor^2),    1 / `SIZE` <= a <= `SIZE`,

for a gain g, from products of t and m alone: an exchange of torques and a gain are looked up.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from inertica.arrays import Array
from inertica.checks import ranges
from inertica.checks.hypotheses import Hypothesis
from inertica.checks.plausible import FLOOR, Judge
from inertica.physical.geometry_prior import capsules

SIZE = 10.0
"""Times that links may be larger or smaller than the model's: capsules that stand in for unknown links are off by as much."""


TOGETHER = 20
"""Ways to read the positions whose torques are computed in one pass: a pass over few samples takes hardly less time."""


def by_model(judge: Judge, candidates: Sequence[Hypothesis]) -> list[Hypothesis]:
    """Candidates, those first that torque of the model's links explains best; other directions of gravity before all."""
    turned = [h for h in candidates if h.gravity is not None]
    groups: dict[object, list[Hypothesis]] = {}
    for h in candidates:
        if h.gravity is None:
            groups.setdefault((h.columns, h.turn, h.zero), []).append(h)
    scored, readings = [], list(groups.values())
    for first in range(0, len(readings), TOGETHER):
        several = readings[first : first + TOGETHER]
        for group, model in zip(several, _model_torques(judge, several), strict=True):
            scored += list(zip(_scores(judge, model, group), group, strict=True))
    return [*turned, *(h for _, h in sorted(scored, key=lambda pair: pair[0]))]


def _links(judge: Judge) -> Array:
    """(P,) the model's links; capsules where it says nothing of any."""
    values = np.where(judge.links, judge.prior.values, 0.0)
    if not judge.knows_links:
        for j, body in enumerate(capsules(judge.engine.layout.robot)):
            values[judge.engine.layout.link(j)] = body
    return values


def _model_torques(judge: Judge, groups: Sequence[Sequence[Hypothesis]]) -> list[Array]:
    """(N, n) of the model's links under each of some ways to read the positions, in one pass."""
    q, dq, ddq = (
        np.vstack(each) for each in zip(*((judge.under(group[0]) or judge.rows).motion for group in groups), strict=True)
    )
    torques = judge.engine.inverse_dynamics(q, dq, ddq, _links(judge), judge.prior.shapes)
    return np.split(np.asarray(torques), len(groups))


def _scores(judge: Judge, model: Array, group: Sequence[Hypothesis]) -> list[float]:
    """Of hypotheses that read the positions alike."""
    rows, n, count = judge.under(group[0]) or judge.rows, judge.engine.n, len(judge.rows.q)
    others = np.stack([rows.dq, np.sign(rows.dq), rows.ddq, np.ones((count, n))], axis=2).swapaxes(0, 1)  # (n, N, 4)
    # columns of unit length: the projection must not depend on units
    Q = np.linalg.qr(others / np.maximum(np.linalg.norm(others, axis=1, keepdims=True), np.finfo(float).tiny))[0]
    recorded = judge.rows.tau
    m = model.T - (Q @ (Q.swapaxes(1, 2) @ model.T[:, :, None]))[:, :, 0]  # (n, N)
    part = Q.swapaxes(1, 2) @ recorded  # (n, 4, n): of every recorded torque, read as joint j's
    tt = np.maximum((recorded**2).sum(axis=0) - (part**2).sum(axis=1), 0.0)
    tm, mm, whole = m @ recorded, (m**2).sum(axis=1), (recorded**2).sum(axis=0)
    price = ranges.price(judge.engine.layout.robot, rows.q)
    joint, out = np.arange(n), []
    for h in group:
        k = np.array(h.torques or joint)
        g = np.array(h.gain or np.ones(n))
        both, square = g * tm[joint, k], g**2 * whole[k]
        a = np.clip(both / np.where(mm > 0.0, mm, 1.0), 1.0 / SIZE, SIZE)
        left = np.maximum(g**2 * tt[joint, k] - 2.0 * a * both + a**2 * mm, 0.0)
        live = square > 0.0
        out.append(price + judge.counts * float(np.sum(np.log(left[live] / square[live] + FLOOR**2))))
    return out

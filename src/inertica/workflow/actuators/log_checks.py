"""What makes actuators hard to find in a log of commands and positions: one sentence for all joints of which it is true."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from inertica.estimators.actuators.fit import scatter
from inertica.estimators.actuators.record import Array, Record
from inertica.estimators.actuators.values import ActuatorValues

FEWEST_REVERSALS = 4
"""Of a joint in all logs: each shows Coulomb friction and zero once, and a joint that reverses less often shows them beside noise."""

FEWEST_CHANGES = 10
"""Samples at which a command changes."""

RARELY = 3.0
"""Samples, of those in which a joint is commanded to move, for each change of its command."""

SWING = 0.05
"""Share of the largest excursion that a motion must come back by to count as a reversal."""

THROUGHOUT = 0.5
"""Share of the moving time that a drive may be at its limit."""


def motion_findings(records: Sequence[Record], moving: Sequence[int]) -> dict[str, list[int]]:
    """Sentence -> joints (0-based) of which it is true."""
    out: dict[str, list[int]] = {}
    for j in moving:
        reversals = sum(_reversals(r.q[r.use[:, j], j]) for r in records)
        changes = [np.flatnonzero(np.diff(r.commands["q"][:, j])) for r in records]
        count = sum(map(len, changes))
        gaps = np.concatenate([np.diff(c) for c in changes])
        if reversals < FEWEST_REVERSALS:
            out.setdefault(
                "hardly reverses: Coulomb friction and zero of the command show at reversals; command it to and fro", []
            ).append(j)
        if count < FEWEST_CHANGES:
            out.setdefault(f"is commanded in less than {FEWEST_CHANGES} steps: delay and damping rest on these alone", []).append(
                j
            )
        elif len(gaps) and np.median(gaps) >= RARELY:
            out.setdefault(
                f"has a command that changes every {np.median(gaps):g} samples: if the servo is sent commands in between, log those",
                [],
            ).append(j)
    return out


def saturation_findings(records: Sequence[Record], values: ActuatorValues, moving: Sequence[int]) -> dict[str, list[int]]:
    """The same of drives that are at their limit most of the time that they move, the values being those found."""
    out: dict[str, list[int]] = {}
    for j in moving:
        share = _saturated(records, values, j)
        if share > THROUGHOUT:
            part = f"{100 * share:.0f} % of the time that it moves"
            sentence = f"is at its torque limit for {part}: gains and delay hardly show; command smaller steps"
            out.setdefault(sentence, []).append(j)
    return out


def in_words(findings: Mapping[str, Sequence[int]], names: Sequence[str]) -> list[str]:
    """Sentences with the joints in front."""
    return [f"joint {', '.join(f'{j + 1} ({names[j]})' for j in joints)} {text}" for text, joints in findings.items()]


def _saturated(records: Sequence[Record], values: ActuatorValues, j: int) -> float:
    """Share of the moving time at which the servo asks for more than its limit."""
    limit, beyond, total = values.torque_limit[j], 0, 0
    if not np.isfinite(limit):
        return 0.0
    for record in records:
        dq = np.gradient(record.q[:, j], record.t)
        demanded = values.kp[j] * (record.commands["q"][:, j] - record.q[:, j] - values.zero[j]) - values.kd[j] * dq
        moves = record.use[:, j] & (np.abs(dq) > SWING * np.abs(dq).max(initial=0.0))
        beyond += int(np.count_nonzero(moves & (np.abs(demanded) >= limit)))
        total += int(np.count_nonzero(moves))
    return beyond / total if total else 0.0


def _reversals(q: Array) -> int:
    """Turns of a motion that come back by more than a share of its excursion, and more than noise does."""
    if len(q) < 2:
        return 0
    least = max(SWING * float(np.ptp(q)), 6.0 * scatter(q))
    turns, low, high, direction = 0, q[0], q[0], 0
    for x in q:
        low, high = min(low, x), max(high, x)
        if direction >= 0 and high - x > least:
            turns, direction, low, high = turns + (direction > 0), -1, x, x
        elif direction <= 0 and x - low > least:
            turns, direction, low, high = turns + (direction < 0), 1, x, x
    return turns

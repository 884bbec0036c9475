"""Whether predictions round off dry friction near standstill, joint by joint, by raw torque left out.

Fits leave rows near reversals and at rest out, so that nothing in them tells what friction does there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from inertica.arrays import Array, Mask
from inertica.dynamics.engine import Engine
from inertica.guard import ShortAndLong, compare
from inertica.logs.breaks import recordings
from inertica.preprocessing.motion import Motion
from inertica.preprocessing.periods import part_labels
from inertica.robot.layout import Layout, Parameters
from inertica.robot.natural import levers
from inertica.workflow.decisions.correction import BLOCKS, THIRDS
from inertica.workflow.identify.choice import Choice, candidates
from inertica.workflow.identify.prediction import held_direction
from inertica.workflow.identify.reasons import RoundedFriction
from inertica.workflow.identify.standstill import HELD, Standstill, friction_jump, rounding

SUBJECT = "friction near standstill"

WIDTHS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1)
"""Widths that are tried, as shares of a joint's own largest speed; friction is held otherwise."""

LEAST = 0.02
"""Share by which rounding must lower the squared error of a joint's torque."""

NO_JUMP = 1e-6
"""Share of a joint's largest torque; smooth friction changes by less from standstill to next to nothing."""

SAMPLES = 50_000
"""Samples that are looked at, spread evenly over all motions."""


@dataclass(frozen=True, eq=False)
class RoundingErrors:
    """Squared errors of predictions with friction held and rounded.

    Args:
        errors: (recordings, blocks, 1 + widths, n) of raw torque, held friction first; logs that go on with each other are one.
        sizes: (recordings, blocks, n) squares of that torque.
        speeds: (n,) largest speed of every joint.
        jumps: (n,) whether the friction of a joint jumps with its own velocity alone; others are held throughout.
    """

    errors: Array
    sizes: Array
    speeds: Array
    jumps: Mask

    @classmethod
    def of(
        cls, parameters: Parameters, motions: Sequence[Motion], engine: Engine, leave_out: Sequence[Mask] | None = None
    ) -> RoundingErrors:
        """Of what parameters predict.

        Args:
            parameters: of predictions.
            motions: whose torque is predicted.
            engine: of the parameters' layout.
            leave_out: (N,) per motion, samples not to look at, besides those with wrong values and those at which all joints rest.
        """
        # where all joints stand, friction may be anything inside its band and says nothing of the next stop
        use = [~(m.spoiled | m.resting.all(axis=1)) for m in motions]
        if leave_out is not None:
            use = [used & ~mask for used, mask in zip(use, leave_out, strict=True)]
        speeds = np.max([np.abs(m.dq[u]).max(axis=0, initial=0.0) for m, u in zip(motions, use, strict=True)], axis=0)
        step = max(-(-sum(np.count_nonzero(u) for u in use) // SAMPLES), 1)
        alone, jumps = ~coupled(parameters.layout), np.zeros(len(speeds), bool)
        recording = recordings([m.log.t for m in motions])
        blocks = _blocks(motions, recording)
        errors = np.zeros((recording[-1] + 1, BLOCKS, 1 + len(WIDTHS), len(speeds)))
        sizes = np.zeros((recording[-1] + 1, BLOCKS, len(speeds)))

        def dynamics(q: Array, dq: Array, ddq: Array) -> Array:
            return np.asarray(engine.inverse_dynamics(q, dq, ddq, parameters))

        for k, m, used, block in zip(recording, motions, use, blocks, strict=True):
            if not len(at := np.flatnonzero(used)[::step]):
                continue
            q, dq, ddq, tau = m.q[at], m.dq[at], m.ddq[at], m.tau_raw[at]
            held, sharp = dynamics(q, held_direction(m)[at], ddq), dynamics(q, dq, ddq)
            jump = friction_jump(dynamics, q, dq, ddq, speeds)
            part = block[at]
            predicted = [held] + [sharp + jump * rounding(dq, np.maximum(w * speeds, 1e-300)) for w in WIDTHS]
            rounds = alone & (np.abs(jump).max(axis=0) > NO_JUMP * np.abs(sharp).max(axis=0))
            jumps |= rounds
            for i, each in enumerate(predicted):
                miss = np.nan_to_num(tau - np.where(rounds, each, held))
                np.add.at(errors[k, :, i], part, miss**2)
            np.add.at(sizes[k], part, np.nan_to_num(tau) ** 2)
        return cls(errors, sizes, speeds, jumps)

    @property
    def best(self) -> NDArray[np.intp]:
        """(n,) what predicts every joint best: 0 for held friction, else the number of the width from 1 on."""
        return _best(self.errors.sum(axis=(0, 1)))

    def standstill(self, chosen: NDArray[np.intp]) -> Standstill:
        widths = [WIDTHS[i - 1] * float(v) if i else None for i, v in zip(chosen, self.speeds, strict=True)]
        return Standstill(tuple(widths)) if np.any(chosen) else HELD


def _blocks(motions: Sequence[Motion], recording: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """(N,) per motion, the block of its recording that each sample belongs to."""
    out: list[NDArray[np.intp]] = []
    for k in range(recording[-1] + 1):
        several = [m for m, r in zip(motions, recording, strict=True) if r == k]
        lengths = [len(m) for m in several]
        labels = part_labels(sum(lengths), BLOCKS, several[0].period if len(several) == 1 else None)
        out += np.split(labels, np.cumsum(lengths)[:-1])
    return out


def choose_standstill(parameters: Parameters, motions: Sequence[Motion], engine: Engine) -> tuple[Standstill, Choice | None]:
    """Rounded friction for the joints whose raw torque left out it predicts better; no choice where no friction jumps.

    Blocks, thirds of every recording, and whole recordings where there are several (logs that go on with each other are one) are left
    out in turn: the width of each is chosen on all others.  The parameters are those of the fit to all of the data; leaving a block
    out hardly changes them, and both sides of the comparison have the same.  A joint's friction is rounded where that pays
    (`ShortAndLong`) and whole recordings are no worse.

    Args:
        parameters: of predictions.
        motions: that were fitted, as predictions are made from them.
        engine: of the parameters' layout.
    """
    data = RoundingErrors.of(parameters, motions, engine)
    if not data.jumps.any():
        return HELD, None
    blocks, sizes = data.errors.sum(axis=0), data.sizes.sum(axis=0)
    thirds, third_sizes = (np.array([x[third].sum(axis=0) for third in THIRDS]) for x in (blocks, sizes))
    short, long = _left_out(blocks), _left_out(thirds)
    both = [
        ShortAndLong(compare(short[:, j], blocks[:, 0, j], sizes[:, j]), compare(long[:, j], thirds[:, 0, j], third_sizes[:, j]))
        for j in range(len(data.speeds))
    ]
    pays = np.array([each.pays for each in both])
    if len(data.errors) > 1:
        whole = data.errors.sum(axis=1)
        pays &= _left_out(whole).sum(axis=0) <= whole[:, 0].sum(axis=0)
    chosen = np.where(pays, data.best, 0)
    weights = levers(parameters.layout.robot) ** 2
    bounds = np.where(pays, short, blocks[:, 0]) if chosen.any() else short
    compared = compare(*(x @ weights for x in (bounds, blocks[:, 0], sizes)))
    scores = {"held": compared.score_without, "rounded": compared.score}
    if not chosen.any():
        why = RoundedFriction(False, compared)
        return HELD, Choice(
            SUBJECT, "held", why, True, candidates(scores, "held"), compared.score_without, compared.score_without
        )
    return data.standstill(chosen), Choice(
        SUBJECT, _words(chosen), RoundedFriction(True, compared), True, candidates(scores, "rounded"), compared.score,
        compared.score_without,
    )  # fmt: skip


def coupled(layout: Layout) -> Mask:
    """(n,) joints whose friction jumps with the velocity of other joints, too."""
    out = np.zeros(layout.robot.n, bool)
    out[[joint for term in layout.terms for joint, _ in term.reversals]] = True
    return out


def _best(errors: Array) -> NDArray[np.intp]:
    """(n,) the best of (candidates, n) squared errors; the first unless another is better by what counts."""
    best = np.argmin(errors, axis=0)
    return np.where(np.min(errors, axis=0) < (1.0 - LEAST) * errors[0], best, 0)


def _left_out(errors: Array) -> Array:
    """(parts, n) squared errors of parts, (parts, candidates, n), each with what is best on all others."""
    total = errors.sum(axis=0)
    return np.array([np.take_along_axis(part, _best(total - part)[None], axis=0)[0] for part in errors])


def _words(chosen: NDArray[np.intp]) -> str:
    """1 % of the largest speed (joint 1, 3), 5 % (joint 2)"""
    parts: list[str] = []
    for i in sorted({int(i) for i in chosen if i}):
        joints = ", ".join(str(j + 1) for j in np.flatnonzero(chosen == i))
        speed = "" if parts else " of the largest speed"
        parts.append(f"{100 * WIDTHS[i - 1]:g} %{speed} (joint {joints})")
    return ", ".join(parts)

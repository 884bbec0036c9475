"""Torque that ripples with a joint's position: cogging of motors, teeth of gears, poles of torque sensors.

The raw residual of joint j is held against cos(k q_j) and sin(k q_j), k ripples a turn, for every k that the range of its motion can
tell apart.  Ripple is faster than what filters leave to the fit, so the torque is taken as it was recorded; averages over a few
samples only save time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from inertica.arrays import Array
from inertica.estimators.base import Estimate, Problem
from inertica.estimators.covariance import Colour, colours
from inertica.estimators.intervals import standard_parameters
from inertica.estimators.linear.irls import bisquare_weights, robust_scales
from inertica.preprocessing.motion import Motion
from inertica.threads import one_thread

AVERAGES = 2.5
"""Averages over a few samples that the finest ripple has at the 95th percentile of a joint's speed."""

FEWEST, MOST, MOST_SLIDING = 3.0, 200.0, 60.0
"""Ripples over the range of motion, ripples a turn, and over the range of a sliding joint: slower ones look like the dynamics, faster
ones are too small to matter."""

LONGEST = 30_000
"""Averages of a record that are looked at, from its middle."""

CHUNK = 64
"""k worked out together."""

SPACING = 0.8
"""Between neighbouring k, as a part of what the range of motion can tell apart."""


@dataclass(frozen=True)
class Wave:
    """A ripple: sin(k q + phase) in the torque of a joint (from 0)."""

    joint: int
    k: float


@dataclass(frozen=True, eq=False)
class Harmonics:
    """Ripple of one joint.

    Args:
        joint: from 0.
        k: (K,) ripples a turn (of a sliding joint: 2 pi times ripples per m).
        size: (K, 2) amplitudes of cosine and sine.
        spread: (K, 2, 2) covariance of the amplitudes; None where only amplitudes were asked for.
    """

    joint: int
    k: Array
    size: Array
    spread: Array | None


def wave_numbers(problem: Problem) -> list[Array]:
    """Per joint the k to look at; none for a joint that hardly moves."""
    out = []
    for j in range(problem.base.layout.robot.n):
        reach = max(float(np.ptp(m.q[:, j])) for m in problem.motions)
        if reach == 0.0:
            out.append(np.zeros(0))
            continue
        step = 2.0 * np.pi / reach
        if problem.base.layout.robot.joints[j].prismatic:
            out.append(np.arange(FEWEST, MOST_SLIDING, SPACING) * step)
        elif SPACING * step > 1.0:
            out.append(np.arange(FEWEST * step, MOST, SPACING * step))
        else:  # whole turns tell whole numbers apart
            out.append(np.arange(np.ceil(FEWEST * max(step, 1.0)), MOST))
    return out


def harmonics(problem: Problem, estimate: Estimate, wanted: list[Array], spreads: bool = True) -> list[Harmonics]:
    """Ripple in the raw residuals of an estimate.

    Args:
        problem: what was fitted.
        estimate: its parameters.
        wanted: per joint the k to look at.
        spreads: work out covariances, too.
    """
    with one_thread():
        records = [_averaged(problem, estimate, k, wanted) for k in range(len(problem.motions))]
        scale = robust_scales([r for _, r, _ in records], [u for *_, u in records], len(estimate.beta))
        weighed = []
        for q, r, use in records:
            weight = np.sqrt(bisquare_weights(r / scale)) * use
            weighed.append((q, r * weight, weight, colours(r * weight, use, len(estimate.beta)) if spreads else None))
        return [_joint(j, k, [(q[:, j], r[:, j], w[:, j], c[j] if c else None) for q, r, w, c in weighed])
                for j, k in enumerate(wanted)]  # fmt: skip


def _averaged(problem: Problem, estimate: Estimate, number: int, wanted: list[Array]) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Position, raw residual and which of them take part: averages over a few samples of one motion."""
    motion = problem.motions[number]
    prior = problem.prior if problem.prior is not None else problem.base.layout.zeros()
    chi = standard_parameters(estimate, prior)
    predicted = problem.engine.inverse_dynamics(motion.q, motion.dq, motion.ddq, chi, prior.shapes)
    residual = np.where(np.isfinite(motion.tau_raw), motion.tau_raw - predicted, 0.0)
    use: NDArray[np.bool_] = ~(motion.mask[:, None] | motion.resting) & np.isfinite(motion.tau_raw)
    fastest = _fastest(motion, wanted)
    together = max(1, int(motion.rate / (AVERAGES * fastest))) if fastest > 0.0 else 1
    count = len(motion) // together

    def blocks(x: NDArray) -> NDArray:
        return x[: count * together].reshape(count, together, -1)

    first = max(0, (count - LONGEST) // 2)
    middle = slice(first, first + LONGEST)
    complete = np.asarray(blocks(use).all(axis=1))[middle]
    return blocks(motion.q).mean(axis=1)[middle], np.where(complete, blocks(residual).mean(axis=1)[middle], 0.0), complete


def _fastest(motion: Motion, wanted: list[Array]) -> float:
    """Hz of the finest ripple that is looked for, over the joints at their usual speeds."""
    speeds = np.quantile(np.abs(motion.dq), 0.95, axis=0)
    finest = np.array([k.max(initial=0.0) for k in wanted])
    return float(np.max(finest * speeds)) / (2.0 * np.pi)


def _joint(joint: int, wanted: Array, records: list[tuple[Array, Array, Array, Colour | None]]) -> Harmonics:
    """A few k at a time."""
    parts = [_amplitudes(wanted[k : k + CHUNK], records) for k in range(0, max(len(wanted), 1), CHUNK)]
    size = np.concatenate([part[0] for part in parts])
    spread = np.concatenate([part[1] for part in parts]) if records[0][3] is not None else None
    return Harmonics(joint, wanted, size, spread)


def _amplitudes(wanted: Array, records: list[tuple[Array, Array, Array, Colour | None]]) -> tuple[Array, Array]:
    """Amplitudes (K, 2) and their covariance (K, 2, 2)."""
    K = len(wanted)
    u, H, V = np.zeros((K, 2)), np.zeros((K, 2, 2)), np.zeros((K, 2, 2))
    for q, r, weight, colour in records:
        wave = _waves(wanted, q) * weight
        u += np.column_stack([wave.real @ r, wave.imag @ r])
        H += _products(wave)
        if colour is not None:
            V += _products(colour.coloured(wave.real) + 1j * colour.coloured(wave.imag))
    inverse = np.linalg.pinv(H, hermitian=True)
    return np.einsum("kij,kj->ki", inverse, u), inverse @ V @ inverse


def _waves(wanted: Array, q: Array) -> NDArray[np.complex128]:
    """(K, M) exp(i k q), each from the one before: the k are evenly spaced."""
    out = np.empty((len(wanted), len(q)), complex)
    if len(wanted):
        out[0] = np.exp(1j * wanted[0] * q)
        out[1:] = np.exp(1j * (wanted[-1] - wanted[0]) / max(len(wanted) - 1, 1) * q)
        np.multiply.accumulate(out, axis=0, out=out)
    return out


def _products(wave: NDArray[np.complex128]) -> Array:
    """(K, 2, 2) sums of squares and products of real and imaginary parts."""
    cosine, sine = wave.real, wave.imag
    a, b, c = (np.einsum("ki,ki->k", x, y) for x, y in ((cosine, cosine), (cosine, sine), (sine, sine)))
    return np.stack([np.stack([a, b], axis=-1), np.stack([b, c], axis=-1)], axis=-2)

"""Several results of one robot: which differences between them are more than chance.

Parameters.  Of two results from different logs the difference d of a base parameter has the variance s1^2 + s2^2, and all together
d' (C1 + C2)^-1 d is chi-square distributed when the robot was the same.  Results that share a log err together; the standard
deviation of their difference is then at most s1 + s2, which is what they are held against: what is called different is, what is not
may still be.
Single parameters are judged by p values after Holm, so that one of many differs by chance with the stated level.

Predictions.  On a log that all results predict, the errors of two are compared stretch by stretch: the mean of the logarithm of their
ratio against its own scatter (paired t test), so that a noisy log is no excuse and no advantage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from inertica.arrays import Array
from inertica.report.data import Record
from inertica.workflow.identify.inputs import IDENTIFICATION
from inertica.workflow.identify.result import Result

LEVEL = 0.05
SMALLEST = 1e-15
"""P values below are not told apart."""

STRETCHES = 12
"""Pieces of a log that errors are compared on."""


@dataclass(frozen=True)
class Difference:
    """One base parameter in two results.

    Args:
        name: of the parameter.
        first, second: values.
        std: of the difference; the largest it can be when the results share logs.
        p: probability of a difference this large by chance, of this parameter alone.
        adjusted: the same of the whole list (Holm).
    """

    name: str
    first: float
    second: float
    std: float
    p: float
    adjusted: float

    @property
    def differs(self) -> bool:
        return self.adjusted < LEVEL


@dataclass(frozen=True)
class Pair:
    """Two results' parameters.

    Args:
        differences: of the base parameters that both have with the same meaning.
        left_out: how many have no counterpart, or no standard deviation.
        shared: whether a log was fitted by both.
        p: of all together; NaN when they share logs.
    """

    differences: tuple[Difference, ...]
    left_out: int
    shared: bool
    p: float

    @property
    def sentence(self) -> str:
        """What was found, in words."""
        differing = [d.name for d in self.differences if d.differs]
        count = len(self.differences)
        if not count:
            return "No base parameter means the same in both and has a known uncertainty, so none can be compared."
        sentence = f"{len(differing)} of {count} base parameters differ by more than chance"
        sentence += f" ({', '.join(differing[:8])}{', ...' if len(differing) > 8 else ''})." if differing else "."
        if self.shared:
            sentence += (
                " Both were fitted to the same log and err together: only differences beyond the sum of both uncertainties count."
            )
        elif np.isfinite(self.p):
            verdict = (
                "they speak of different robots, loads or models" if self.p < LEVEL else "nothing speaks against the same robot"
            )
            sentence += f" All together {verdict} ({probability(self.p)})."
        if self.left_out:
            sentence += f" {self.left_out} lack a counterpart of the same meaning, or an uncertainty, and are not compared."
        return sentence


@dataclass(frozen=True)
class Contest:
    """Two predictions of one log.

    Args:
        log: its name.
        first, second: relative error of the low-passed torque.
        ratio: geometric mean over stretches of the second's error to the first's.
        p: that a ratio this far from one comes by chance; NaN with fewer than three stretches.
    """

    log: str
    first: float
    second: float
    ratio: float
    p: float

    @property
    def sentence(self) -> str:
        if not self.p < LEVEL:
            return "no difference beyond chance"
        better, share = ("second", 1.0 - self.ratio) if self.ratio < 1.0 else ("first", 1.0 - 1.0 / self.ratio)
        return f"the {better} is better, errors {100 * share:.1f} % smaller"


def probability(p: float) -> str:
    """`p = 0.03`; below what can be computed only that."""
    return f"p = {p:.2g}" if p >= SMALLEST else f"p < {SMALLEST:g}"


def compare_parameters(first: Result, second: Result) -> Pair:
    """Hold the base parameters of two results against each other.

    Examples:
        >>> pair = ia.compare_parameters(ia.Result.load("monday"), ia.Result.load("friday"))
    """
    a, b = (dict(zip(zip(r.estimate.base.names, r.estimate.base.relations, strict=True), range(r.estimate.base.rank), strict=True))
            for r in (first, second))  # fmt: skip
    known = [m for m in a if m in b and np.isfinite(first.estimate.std[a[m]]) and np.isfinite(second.estimate.std[b[m]])]
    rows, columns = np.array([a[m] for m in known], int), np.array([b[m] for m in known], int)
    shared = share_data(first, second)
    x, y = first.estimate.beta[rows], second.estimate.beta[columns]
    s1, s2 = first.estimate.std[rows], second.estimate.std[columns]
    std = s1 + s2 if shared else np.hypot(s1, s2)
    z = np.abs(x - y) / np.where(std > 0.0, std, np.inf)
    p = normal_tail(z)
    C1, C2 = first.estimate.covariance, second.estimate.covariance
    together = np.nan
    if known and not shared and C1 is not None and C2 is not None:
        together = _all_together(x - y, C1[np.ix_(rows, rows)] + C2[np.ix_(columns, columns)])
    compared = zip(known, x, y, std, p, holm(p), strict=True)
    differences = tuple(Difference(m[0], float(u), float(v), float(s), float(k), float(h)) for m, u, v, s, k, h in compared)
    return Pair(differences, max(len(a), len(b)) - len(known), shared, together)


def compare_predictions(first: Record, second: Record) -> Contest:
    """Hold the errors of two results on the same log against each other, stretch by stretch."""
    errors = [r.smooth - r.smooth_predicted for r in (first, second)]
    measured = first.smooth
    good = np.isfinite(errors[0]).all(axis=1) & np.isfinite(errors[1]).all(axis=1) & np.isfinite(measured).all(axis=1)
    size = np.sqrt(np.mean(measured[good] ** 2, axis=0))
    weight = np.where(size > 0.0, 1.0 / np.where(size > 0.0, size, 1.0), 0.0)  # every joint counts by its own torque
    squares = [np.sum((e[good] * weight) ** 2, axis=1) for e in errors]
    total = float(np.sum((measured[good] * weight) ** 2))
    blocks = [np.array([part.sum() for part in np.array_split(s, STRETCHES)]) for s in squares]
    log_ratio = 0.5 * np.log(np.maximum(blocks[1], 1e-300) / np.maximum(blocks[0], 1e-300))
    relative = [float(np.sqrt(s.sum() / total)) if total > 0.0 else np.nan for s in squares]
    return Contest(first.source, relative[0], relative[1], float(np.exp(log_ratio.mean())), paired_p(log_ratio))


def share_data(first: Result, second: Result) -> bool:
    """Whether some samples were fitted by both: the same file, and slices of it that overlap."""
    one, other = ([_slice(name) for name in r.logs.get(IDENTIFICATION, ())] for r in (first, second))
    return any(a[0] == b[0] and max(a[1], b[1]) < min(a[2], b[2]) for a in one for b in other)


def _slice(name: str) -> tuple[str, float, float]:
    """File, and the times between which it was read."""
    file, _, interval = name.rpartition("@")
    low, _, high = interval.partition(":")
    try:
        return (file, float(low or "-inf"), float(high or "inf")) if file else (name, -np.inf, np.inf)
    except ValueError:  # a name with an @ of its own
        return name, -np.inf, np.inf


def paired_p(values: ArrayLike) -> float:
    """Two-sided p value of a mean of zero by Student's t; NaN for fewer than three values."""
    from scipy.special import stdtr

    v = np.asarray(values, float)
    if len(v) < 3:
        return float("nan")
    scatter = float(v.std(ddof=1))
    if scatter <= 1e-12 * max(1.0, float(np.abs(v).max())):
        return 1.0 if abs(float(v.mean())) <= 1e-12 else 0.0
    return float(2.0 * stdtr(len(v) - 1, -abs(float(v.mean())) / (scatter / np.sqrt(len(v)))))


def normal_tail(z: ArrayLike) -> Array:
    """Two-sided p values of standard normal deviations."""
    from scipy.special import erfc

    return np.asarray(erfc(np.asarray(z, float) / np.sqrt(2.0)))


def holm(p: Sequence[float] | Array) -> Array:
    """P values adjusted for their number by Holm's step-down rule."""
    values = np.asarray(p, float)
    order = np.argsort(values)
    stepped = np.maximum.accumulate(values[order] * (len(values) - np.arange(len(values))))
    out = np.empty(len(values))
    out[order] = np.minimum(stepped, 1.0)
    return out


def _all_together(d: Array, C: Array) -> float:
    from scipy.special import chdtrc

    scale = np.sqrt(np.diag(C))
    values, vectors = np.linalg.eigh(C / np.outer(scale, scale))
    keep = values > 1e-10 * values.max()
    squared = (vectors.T @ (d / scale))[keep] ** 2 / values[keep]
    return float(chdtrc(int(keep.sum()), float(squared.sum())))

"""Lack of fit: does the residual hold what the model leaves out, and which error of the model would explain it.

Every family of errors (see `model_errors`, `ripple`) is held against the residuals.  Filters and reversals leave traces of their own
there, which without a model error pass for one in most fits; so sizes are compared with those in replicas, the experiment simulated
in its known loop with the estimate and taken through the same preprocessing and fit:

    z = (d - mean d_r) / (std sqrt(1 + 1/R)),

Bonferroni within a family.  Where there are no replicas, nothing is tested, and that is said (but for elasticity that shows at once,
see `compliance`).  Families that alarm are sorted out one
after the other: the one with the least p is fitted, too, and the others are tested again on what is left.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import log_ndtr

from inertica.documents import Derived
from inertica.errors import InputError
from inertica.estimators.base import Estimate, Problem
from inertica.validation.compliance import TOGETHER, fast_compliance
from inertica.validation.misfit_words import MisfitScales, finding, measured
from inertica.validation.model_errors import Direction
from inertica.validation.ripple import Harmonics, Wave, harmonics, wave_numbers
from inertica.validation.score_tests import Scores, scores, size_of

LEVEL = 0.0025
"""Of each family: nine of them together raise a false alarm in at most 2.3 % of clean fits, if deviations were exactly normal."""

FEWEST = 2
"""Replicas below which there is nothing to compare with."""

MEDIAN = 2.0 * np.log(2.0)
"""Of a chi-square variable with two degrees of freedom."""

MOST_BYTES = 2e9
"""Rows and directions of longer records are not built."""

POSITION, ELASTICITY = "position", "elasticity"
FAMILIES = (POSITION, "velocity", "load", "time", "reversal", ELASTICITY, "tilt", "length", "delay")
"""What the residual is held against; in words in `misfit_words`."""

ONE_SIDED = (ELASTICITY, "reversal")
"""Families whose errors cannot be negative."""

NO_REPLICAS = "the control loop is not known, so there is no simulated fit to compare the residuals with"


@dataclass(frozen=True)
class FamilyTest:
    """One family of errors.

    Args:
        family: one of `FAMILIES`.
        tested: whether there was something to test, and to compare with.
        why: not, if not.
        joint: with the largest deviation, from 1; None for errors of the whole robot.
        z: largest deviation, in standard deviations.
        p: probability of such a deviation in a fit without model error, over the whole family.
        size: of the error that would explain it, in words.
        flagged: that it is there after all that was found before is accounted for.
    """

    family: str
    tested: bool
    why: str = ""
    joint: int | None = None
    z: float = 0.0
    p: float = 1.0
    size: str = ""
    flagged: bool = False


@dataclass(frozen=True)
class LackOfFit(Derived):
    """Every family, and what was found.

    Args:
        tests: one for each family.
        named: flagged families, the likeliest first.
        replicas: simulated fits that the residuals were compared with.
        level: probability of a false alarm of each family.
    """

    tests: tuple[FamilyTest, ...]
    named: tuple[str, ...] = ()
    replicas: int = 0
    level: float = LEVEL

    DERIVED: ClassVar[Mapping[str, str]] = {"findings": "findings"}

    @classmethod
    def untested(cls, why: str) -> LackOfFit:
        return cls(tuple(FamilyTest(family, False, why) for family in FAMILIES))

    @property
    def findings(self) -> tuple[str, ...]:
        """A sentence for each flagged family, the likeliest first."""
        flagged = [self[family] for family in self.named]
        return tuple(finding(test.family, test.joint, test.size, also=k > 0) for k, test in enumerate(flagged))

    def __getitem__(self, family: str) -> FamilyTest:
        return next(t for t in self.tests if t.family == family)


def lack_of_fit(
    problem: Problem,
    estimate: Estimate,
    replicas: Sequence[tuple[Problem, Estimate]],
    reason: str = "",
    level: float = LEVEL,
) -> LackOfFit:
    """Test an estimate for errors of its model.

    Args:
        problem: what was fitted, with measured positions.
        estimate: its parameters, by any method.
        replicas: the same experiment simulated in its loop with the estimate, prepared and fitted alike.
        reason: why there are none, if so.
        level: probability of a false alarm of each family.
    """
    if any("q" not in m.log.signals for m in problem.motions):
        return LackOfFit.untested("no position was recorded")
    case, spring = MisfitScales.of(problem, estimate), _fast(problem)
    if len(replicas) < FEWEST:
        return _spring_alone(spring, case, reason or NO_REPLICAS)
    if size_of(problem) > MOST_BYTES:
        return _spring_alone(spring, case, "the record is too long to keep all directions in memory; state a lower cut-off")
    data_scores = scores(problem, estimate)
    linear = _Linear(data_scores, tuple(scores(p, e, data_scores.scale) for p, e in replicas))
    ripple = _ripple_test(problem, estimate, replicas)
    return _sorted_out(linear, ripple, spring, case, level)


def _fast(problem: Problem) -> _Deviation:
    """Elasticity that shows without replicas."""
    compliance = fast_compliance([m.log for m in problem.motions])
    j = compliance.joint
    if j is None:
        return _Deviation()
    # Fisher's transform: arctanh of a correlation has variance 1 over samples whatever its size
    z = float(np.arctanh(min(compliance.correlation[j], 1.0 - 1e-9)) - np.arctanh(TOGETHER)) * np.sqrt(compliance.samples)
    log_p = float(log_ndtr(-z))
    return _Deviation(Direction(ELASTICITY, j, "compliance"), j, z, log_p, compliance.compliance[j])


def _spring_alone(spring: _Deviation, case: MisfitScales, why: str) -> LackOfFit:
    """What can be said without replicas."""
    if spring.index is None:
        return LackOfFit.untested(why)
    tests = [FamilyTest(f, False, why) if f != ELASTICITY else _test(f, spring, True, case) for f in FAMILIES]
    return LackOfFit(tuple(tests), (ELASTICITY,))


def _sorted_out(linear: _Linear, ripple: _Deviation, spring: _Deviation, case: MisfitScales, level: float) -> LackOfFit:
    """The likeliest family first; those that follow are tested on what it leaves."""
    first = {family: linear.deviation(family) for family in FAMILIES if family != POSITION} | {POSITION: ripple}
    if spring.index is not None:
        first[ELASTICITY] = spring
    now = dict(first)
    named: list[str] = []
    while True:
        likely = min((f for f in FAMILIES if f not in named), key=lambda f: now[f].log_p, default=POSITION)
        explained = now[likely]
        if likely in named or explained.index is None or explained.log_p >= np.log(level):
            break
        named.append(likely)
        if likely != POSITION:
            linear = linear.given(likely)
            now |= {f: linear.deviation(f) for f in FAMILIES if f != POSITION and f not in named}
    tests = tuple(_test(family, first[family], family in named, case) for family in FAMILIES)
    return LackOfFit(tests, tuple(named), len(linear.replicas), level)


def _test(family: str, deviation: _Deviation, flagged: bool, case: MisfitScales) -> FamilyTest:
    if deviation.index is None:
        return FamilyTest(family, False, case.untestable(family))
    words = measured(family, deviation.index, deviation.size, case)
    joint = None if deviation.joint is None else deviation.joint + 1
    return FamilyTest(family, True, "", joint, float(deviation.z), float(np.exp(deviation.log_p)), words, flagged)


@dataclass(frozen=True, eq=False)
class _Deviation:
    """The largest deviation within a family: where, how many standard deviations, log of its probability, size of the error."""

    index: Direction | Wave | None = None
    joint: int | None = None
    z: float = 0.0
    log_p: float = 0.0
    size: float = 0.0


@dataclass(frozen=True, eq=False)
class _Linear:
    """Scores of a fit and of its replicas."""

    data: Scores
    replicas: tuple[Scores, ...]

    def given(self, family: str) -> _Linear:
        known = self.data.members(family)
        return _Linear(self.data.given(known), tuple(s.given(known) for s in self.replicas))

    def deviation(self, family: str) -> _Deviation:
        testable = self.data.testable & np.all([s.testable for s in self.replicas], axis=0)
        members = [i for i in self.data.members(family) if testable[i]]
        if not members:
            return _Deviation()
        R = len(self.replicas)
        d = np.array([s.sizes[members] for s in self.replicas])
        std = self.data.std[members]
        # one factor for the family: few replicas tell the scale of each deviation badly, that of all of them well
        scatter = np.sqrt(np.mean(np.sum((d - d.mean(axis=0)) ** 2, axis=0) / (R - 1) / std**2))
        away = self.data.sizes[members] - d.mean(axis=0)
        # 1 + 1/R: the mean of the replicas has a variance of its own
        z = away / (std * np.sqrt(1.0 + 1.0 / R) * max(1.0, float(scatter)))
        sides = 1.0 if family in ONE_SIDED else 2.0
        i = int(np.argmax(z if family in ONE_SIDED else np.abs(z)))
        # Bonferroni over the family; logarithms, since tails of large deviations underflow
        log_p = min(0.0, float(np.log(sides * len(z)) + log_ndtr(-z[i] if family in ONE_SIDED else -abs(z[i]))))
        direction = self.data.directions[members[i]]
        return _Deviation(direction, direction.joint, float(z[i]), log_p, float(away[i]))


def _ripple_test(problem: Problem, estimate: Estimate, replicas: Sequence[tuple[Problem, Estimate]]) -> _Deviation:
    wanted = wave_numbers(problem)
    if not any(len(k) for k in wanted):
        return _Deviation()
    data_harmonics = harmonics(problem, estimate, wanted)
    others = [harmonics(p, e, wanted, spreads=False) for p, e in replicas]
    joints = [_ripple_of(h, [o[h.joint] for o in others]) for h in data_harmonics if len(h.k)]
    count = sum(len(h.k) for h in data_harmonics)
    square, joint, k, amplitude = max(joints, key=lambda x: x[0])
    log_p = min(0.0, float(np.log(count) - 0.5 * square))  # of a chi-square with two degrees of freedom
    return _Deviation(Wave(joint, k), joint, float(np.sqrt(square)), log_p, amplitude)


def _ripple_of(data_harmonics: Harmonics, others: Sequence[Harmonics]) -> tuple[float, int, float, float]:
    """Largest deviation (squared) of one joint, the joint, its k and amplitude.

    The middle one of all k tells how large deviations without a ripple are, where the residuals' autocovariance promises too little.
    """
    if data_harmonics.spread is None:
        raise InputError("deviations of harmonics need their covariance")
    away = data_harmonics.size - np.mean([o.size for o in others], axis=0)
    square = np.einsum("ki,kij,kj->k", away, np.linalg.pinv(data_harmonics.spread, hermitian=True), away) / (
        1.0 + 1.0 / len(others)
    )
    # most harmonics hold no ripple, so that their middle one shows what noise alone reaches
    square = square / max(1.0, float(np.median(square)) / MEDIAN)
    i = int(np.argmax(square))
    return float(square[i]), data_harmonics.joint, float(data_harmonics.k[i]), float(np.hypot(*away[i]))

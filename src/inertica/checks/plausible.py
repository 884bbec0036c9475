"""A fit that stays plausible: links near the model's, friction that brakes; what a log is held against.

A free fit of base parameters explains some faults away, with negative inertia or with friction that drives: a joint that counts the
other way round where no gravity acts, torques a thousand times too large.  So the standard parameters are fitted around the model's
values, which may be off by tens of percent and a few of them by much more (Student's t with 3 degrees of freedom),

    minimise  sum_j N_j log(rho_j^2 + floor_j^2) + 3 sum_k log(1 + x_k^2 / 3) + log det A + scale,
              rho_j = |tau_j - W_j chi| / |tau_j|,   x_k = (chi_k - model_k) / spread_k,

by reweighting.  A is the curvature at the minimum: its determinant is the price of parameters that the model leaves free.  `scale`
holds the size of the links' torque against the model's.  Twice a logarithm of a probability up to a constant, the sum ranks
hypotheses, whatever units they put the torques in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from inertica.arrays import Array, Mask
from inertica.checks import ranges
from inertica.checks.hypotheses import AS_RECORDED, Hypothesis
from inertica.checks.plainfit import Observed
from inertica.dynamics.engine import Engine
from inertica.dynamics.equations import Equations
from inertica.robot.description import Description
from inertica.robot.layout import Parameters
from inertica.robot.loops import complete, spread
from inertica.robot.natural import longest_link
from inertica.robot.plain import plain_friction


@dataclass(frozen=True, eq=False)
class Observation:
    """Regressor of one joint: columns from the first that is not zero to the last.

    Args:
        columns: numbers of their parameters.
        X: (M, k).
    """

    columns: slice
    X: Array

    @classmethod
    def of(cls, columns: Sequence[int], X: Array) -> Observation:
        first, last = min(columns, default=0), max(columns, default=-1)
        out = np.zeros((len(X), last + 1 - first))
        out[:, np.asarray(columns, np.intp) - first] = X
        return cls(slice(first, last + 1), out)

    @cached_property
    def products(self) -> Array:
        """(k, k) X'X."""
        return np.asarray(self.X.T @ self.X)

    def torque(self, chi: Array) -> Array:
        """(M,) of parameters."""
        return np.asarray(self.X @ chi[self.columns])


FLOOR = 0.03
"""Relative residual below which a joint counts as explained."""

ACCURACY = 0.01
"""Part of the largest weight that a joint holds: no sensor and no model of a smaller joint is held to more."""

MOST_ROWS = 50.0
"""Independent rows that a joint counts for at most: model errors do not average out over a longer log."""

LINK_SPREAD, DRIVE_SPREAD = 0.3, 2.0
"""Standard deviations around the model's values: of a link in parts of its mass and size, of a drive's or friction's own value."""

THINNEST = 1e-3
"""Size of a link of which the model says none, in lengths of the longest link."""

TAILS = 3.0
"""Degrees of freedom of the distribution around the model's values: a few may be far off, such as those of an unknown tool."""

SCALE_SPREAD, SCALE_SLACK = 0.7, 0.1
"""Standard deviation of log(torque of the links / the model's) of a joint: a factor of two, but for a tenth of its torque."""

RIDGE = 1e-12
"""Part of each diagonal entry that is added to it before a system is solved."""

LARGE_SAMPLES = 100
"""Samples of a large robot's log that hypotheses are fitted to: there are as many as pairs of joints, and the rows of hundreds of
parameters each."""

ROUNDS = 5
INERTIAL = ("inertia", "first_moment", "mass")


def with_friction(description: Description) -> Description:
    """The robot with viscous and Coulomb friction and an offset wherever it has none, so that these explain what they can."""
    names = set(description.layout.names)
    lacking = [t for t in plain_friction(description.robot.independent) if names.isdisjoint(p.name for p in t.parameters)]
    return description.with_terms((*description.layout.terms, *lacking)) if lacking else description


@dataclass(frozen=True, eq=False)
class ThinnedLog:
    """A log thinned out to the motion's bandwidth, standstill and masked samples left out.  All (M, n), torque low-passed."""

    q: Array
    dq: Array
    ddq: Array
    tau: Array

    @classmethod
    def of(cls, logs: Sequence[Observed]) -> ThinnedLog:
        parts = []
        for o in logs:
            rows, m = o.rows[o.use], o.motion
            parts.append((m.q[rows], m.dq[rows], m.ddq[rows], o.reduced(m.tau)[o.use]))
        return cls(*(np.vstack([p[k] for p in parts]) for k in range(4)))

    @property
    def motion(self) -> tuple[Array, Array, Array]:
        return self.q, self.dq, self.ddq

    def under(self, h: Hypothesis) -> ThinnedLog:
        """The rows with a fault undone."""
        return ThinnedLog(h.position(self.q), h.velocity(self.dq), h.velocity(self.ddq), h.torque(self.tau))

    def thinned(self, most: int) -> ThinnedLog:
        """At most so many rows, evenly picked."""
        M = len(self.q)
        return self if most >= M else self.where(np.linspace(0, M - 1, most).round().astype(int))

    def where(self, use: Mask | NDArray[np.intp]) -> ThinnedLog:
        """Some of the rows."""
        return ThinnedLog(self.q[use], self.dq[use], self.ddq[use], self.tau[use])


@dataclass(frozen=True, eq=False)
class HypothesisFit:
    """A plausible fit under a hypothesis.

    Args:
        residual: (n,) relative residual of each joint.
        overall: of all joints together.
        score: the minimised sum; smaller is better.
        chi: (P,) the parameters.
    """

    residual: Array
    overall: float
    score: float
    chi: Array


@dataclass(frozen=True)
class SimilarityScore:
    """How the torque of the fitted links compares with that of the model's.

    Args:
        distance: norm of the difference over the larger of both norms.
        scale: norm of the fitted links' torque over the model's.
        structured: 0-based joints whose torque is missed, and not because of noise.
    """

    distance: float
    scale: float
    structured: tuple[int, ...]


class Judge:
    """Fits of one set of rows under any hypothesis.

    Args:
        engine: the robot, see `with_friction`.
        prior: what the model says.
        rows: the log.
    """

    def __init__(self, engine: Engine, prior: Parameters, rows: ThinnedLog) -> None:
        self.engine, self.prior, self.rows = engine, prior, rows
        parameters = engine.layout.parameters
        self.lower = np.array([p.lower for p in parameters])
        self.links = np.array([p.kind in INERTIAL for p in parameters])
        self.fixed = np.array([p.fixed for p in parameters])
        self.spread = model_spread(prior)
        self.counts = min(float(len(rows.q)), MOST_ROWS)
        self._own = [[(e, k) for e, (i, k) in enumerate(engine.entries) if i == j] for j in range(engine.n)]

    @property
    def knows_links(self) -> bool:
        """Whether the model has masses to hold the log against."""
        return bool(np.isfinite(self.spread[self.links]).any())

    @cached_property
    def weight(self) -> float:
        """The largest torque (rms) by which a joint holds the model's weight; it does not depend on the units of the log."""
        still = np.zeros_like(self.rows.q)
        W = self.observe(ThinnedLog(self.rows.q, still, still, still), AS_RECORDED)
        return max(float(np.sqrt(np.mean(t**2))) for t in self._link_torque(W, self.prior.values).T)

    def under(self, h: Hypothesis) -> ThinnedLog | None:
        """The rows with a fault undone; None where closed loops of the robot cannot close then."""
        rows, robot = self.rows.under(h), self.engine.layout.robot
        if robot.loops is None or np.array_equal(rows.q, self.rows.q):
            return rows
        q, closes = spread(robot, rows.q)
        return (
            replace(rows, **dict(zip(("q", "dq", "ddq"), complete(robot, q, rows.dq, rows.ddq), strict=True)))
            if closes.all()
            else None
        )

    def fit(self, h: Hypothesis = AS_RECORDED) -> HypothesisFit:
        rows = self.under(h)
        if rows is None:
            return HypothesisFit(np.full(self.engine.n, np.inf), np.inf, np.inf, np.array(self.prior.values))
        W = self.observe(rows, h)
        gain = np.ones(self.engine.n) if h.gain is None else np.abs(h.gain)
        fit = self._minimised(W, rows.tau, gain)
        return replace(fit, score=fit.score + h.price + ranges.price(self.engine.layout.robot, rows.q))

    def similarity(self, fit: HypothesisFit, h: Hypothesis, badly: float) -> SimilarityScore:
        """The fitted links beside the model's; `badly` is the residual above which a joint counts as missed."""
        rows = self.under(h) or self.rows
        W = self.observe(rows, h)
        model, fitted = self._link_torque(W, self.prior.values), self._link_torque(W, fit.chi)
        sizes = float(np.linalg.norm(model)), float(np.linalg.norm(fitted))
        size = np.linalg.norm(rows.tau, axis=0)
        error = rows.tau - np.column_stack([of_joint.torque(fit.chi) for of_joint in W])
        missed = [j for j in range(self.engine.n) if fit.residual[j] > badly and size[j] > 0.05 * size.max()]
        distance = float(np.linalg.norm(model - fitted)) / max(*sizes, 1e-300)
        return SimilarityScore(distance, sizes[1] / max(sizes[0], 1e-300), tuple(j for j in missed if _structured(error[:, j])))

    def _link_torque(self, W: Sequence[Observation], chi: Array) -> Array:
        """(M, n) torque of the links alone."""
        inertial = np.where(self.links, chi, 0.0)
        return np.column_stack([of_joint.torque(inertial) for of_joint in W])

    def on(self, rows: ThinnedLog) -> Judge:
        """The same model on other rows."""
        return Judge(self.engine, self.prior, rows)

    @cached_property
    def by_geometry(self) -> Judge:
        """The same rows and a model that says nothing about its links: what geometry alone explains."""
        return Judge(self.engine, self.prior.with_values(np.where(self.links, 0.0, self.prior.values)), self.rows)

    @cached_property
    def _recorded(self) -> list[Observation]:
        """Of the rows as they are, which all hypotheses on torques share."""
        return self._observed(self.rows)

    def _observed(self, rows: ThinnedLog) -> list[Observation]:
        entries = self.engine.regressor_entries(rows.q, rows.dq, rows.ddq, self.prior.shapes)
        return [Observation.of([k for _, k in nonzero], entries[:, [e for e, _ in nonzero]]) for nonzero in self._own]

    def observe(self, rows: ThinnedLog, h: Hypothesis) -> list[Observation]:
        """Regressors of rows under a hypothesis that was undone in them already, joint by joint."""
        if h.of_torques and all(x is y for x, y in zip(rows.motion, self.rows.motion, strict=True)):
            return self._recorded
        if h.gravity is None:
            return self._observed(rows)
        turned = replace(self.engine.layout, robot=self.engine.layout.robot.with_gravity(h.gravity))
        q, dq, ddq = (list(x.T) for x in (rows.q, rows.dq, rows.ddq))
        out = []
        for Y in Equations(turned).regressor(q, dq, ddq, list(self.prior.shapes)):
            nonzero = [k for k, y in enumerate(Y) if not (np.isscalar(y) and y == 0.0)]
            columns = [np.broadcast_to(np.asarray(Y[k], float), (len(rows.q),)) for k in nonzero]
            out.append(Observation.of(nonzero, np.column_stack(columns) if nonzero else np.zeros((len(rows.q), 0))))
        return out

    def _minimised(self, W: Sequence[Observation], tau: Array, gain: Array) -> HypothesisFit:
        n, P, mean = len(W), self.engine.layout.size, self.prior.values
        size = np.sqrt(np.mean(tau**2, axis=0))
        live = [j for j in range(n) if size[j] > 0.0]
        spread = self._spread(W, size)
        normal = {j: _normal(W[j], spread, tau[:, j] - W[j].torque(mean), size[j]) for j in live}
        floor = np.hypot(FLOOR, ACCURACY * self.weight * gain / np.where(size > 0.0, size, 1.0))
        bounded = np.isfinite(self.lower) & (spread > 0.0) & ~self.links
        lowest = np.where(bounded, self.lower - mean, 0.0) / np.where(spread > 0.0, spread, 1.0)
        rho, x, trust = np.where(size > 0.0, 0.1, 0.0), np.zeros(P), np.ones(P)
        for _ in range(ROUNDS):
            A, b = np.diag(trust), np.zeros(P)
            for j, (columns, G, c, _) in normal.items():
                w = self.counts / (rho[j] ** 2 + floor[j] ** 2)
                A[columns, columns] += w * G
                b[columns] += w * c
            x = _at_least(A, b, lowest, bounded)
            trust = 1.0 / (1.0 + x**2 / TAILS)
            for j, (columns, G, c, yy) in normal.items():
                rho[j] = np.sqrt(max(yy - float(2.0 * x[columns] @ c - x[columns] @ G @ x[columns]), 0.0))
        chi = mean + spread * x
        score = self.counts * float(np.sum(np.log(rho[live] ** 2 + floor[live] ** 2)))
        score += TAILS * float(np.sum(np.log1p(x**2 / TAILS))) + float(np.linalg.slogdet(A)[1]) + self._scale(W, tau, chi)
        overall = float(np.linalg.norm(rho * size) / max(float(np.linalg.norm(size)), 1e-300))
        return HypothesisFit(rho, overall, score, chi)

    def _scale(self, W: Sequence[Observation], tau: Array, chi: Array) -> float:
        """The price of links whose torque has another size than the model's, joint by joint."""
        if not self.knows_links:
            return 0.0
        model, fitted = (np.linalg.norm(self._link_torque(W, v), axis=0) for v in (self.prior.values, chi))
        slack = SCALE_SLACK * np.linalg.norm(tau, axis=0)
        known = model + slack > 0.0
        return float(np.sum((np.log((fitted + slack)[known] / (model + slack)[known]) / SCALE_SPREAD) ** 2))

    def _spread(self, W: Sequence[Observation], size: Array) -> Array:
        """(P,) that of the model; what the model says nothing about may take as much torque as there is."""
        reach = np.zeros(self.engine.layout.size)
        for of_joint, torque in zip(W, size, strict=True):
            columns, column = of_joint.columns, np.sqrt(np.diag(of_joint.products) / len(of_joint.X))
            reach[columns] = np.maximum(reach[columns], np.where(column > 0.0, torque / np.where(column > 0.0, column, 1.0), 0.0))
        return np.where(self.fixed, 0.0, np.where(np.isfinite(self.spread), self.spread, reach))


def _normal(of_joint: Observation, spread: Array, tau: Array, size: float) -> tuple[slice, Array, Array, float]:
    """Normal equations of a joint, parameters over their spread, torques over their size: columns, products, right side, squares."""
    scale, count = spread[of_joint.columns] / size, len(tau)
    y = tau / size
    products = of_joint.products * np.outer(scale, scale / count)
    return of_joint.columns, products, scale * (of_joint.X.T @ y) / count, float(y @ y) / count


def model_spread(prior: Parameters) -> Array:
    """(P,) standard deviations around the model's values; infinite where it says nothing."""
    out = np.full(prior.layout.size, np.inf)
    for _, where in prior.layout.bodies:
        values = prior.values[where]
        M = float(values[9])
        if M > 0.0:
            gyration = np.sqrt(max(float(values[[0, 3, 5]].sum()), 0.0) / (2.0 * M))
            size = max(float(gyration), float(np.linalg.norm(values[6:9])) / M, THINNEST * longest_link(prior.layout.robot))
            out[where] = LINK_SPREAD * M * np.array([size**2] * 6 + [size] * 3 + [1.0])
    for _, where in prior.layout.drives:
        stated = np.abs(prior.values[where])
        out[where] = np.where(stated > 0.0, DRIVE_SPREAD * stated, np.inf)
    return out


def _at_least(A: Array, b: Array, lowest: Array, bounded: Mask) -> Array:
    """Minimum of x'Ax/2 - b'x with x >= lowest where bounded: those below are held there and the others found again."""
    held = np.zeros(len(b), bool)
    x = _solved(A, b)
    for _ in range(4):
        below = bounded & ~held & (x < lowest - 1e-9)
        if not below.any():
            break
        held |= below
        free = ~held
        x = np.where(held, lowest, 0.0)
        x[free] = _solved(A[np.ix_(free, free)], b[free] - A[np.ix_(free, held)] @ lowest[held])
    return x


def _solved(A: Array, b: Array) -> Array:
    """Solution of a positive definite system, its diagonal brought to one.

    Where the model says nothing, a parameter that a strong joint allows may be felt by a weak one: its entry is then so large that the
    ones that the prior adds are lost to rounding, and columns that depend on each other leave a singular matrix.  A part of `RIDGE`
    of every diagonal entry holds it regular and changes nothing else.
    """
    d = 1.0 / np.sqrt(np.diag(A))
    scaled = A * np.outer(d, d)
    scaled[np.diag_indices_from(scaled)] += RIDGE
    try:
        return np.asarray(d * cho_solve(cho_factor(scaled, check_finite=False), d * b, check_finite=False))
    except LinAlgError:  # lost to rounding
        return np.asarray(d * np.linalg.solve(scaled, d * b))


def _structured(error: Array) -> bool:
    """Whether neighbouring rows are wrong alike, as noise is not."""
    x = error - error.mean()
    power = float(x @ x)
    return power > 0.0 and float(x[1:] @ x[:-1]) > 0.5 * power

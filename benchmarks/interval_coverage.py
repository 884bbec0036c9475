"""Coverage of the intervals of physically consistent fits: how often they hold the truth when data and prior are drawn anew.

    python benchmarks/interval_coverage.py [--robot tx40 rv2sq scara2] [--prior euclidean ...] [--runs 400] [--strength S] [--json]

Every run draws the data and the prior of a robot whose true parameters are known, solves, and asks of every parameter whether its
95 % interval holds the truth.  A row passes when the pooled coverage is within 92-98 % and no parameter is below its 99.9 % binomial
band (the 0.05 % quantile: 364 of 400).

What is drawn.  The truth is fixed and repeated sampling is over data and prior: to the fit, the prior is one more measurement.
Data: z = R beta + e, e ~ N(0, I), R the factor of random states whose torques have a relative noise of `--noise`.  Prior: drawn around
the truth with the spread that its metric and strength state.

    quadratic priors (euclidean, observability, ridge, pullback)
        chi_0 = chi + W^-1 n, n standard normal: the weights W are stated beforehand, with the sizes or the metric of the true body.
    entropic, riemannian
        J_0 = L K^-1 L' with J = L L', K = h(N), N symmetric normal with variance 1 / strength (half of it off the diagonal) and h
        the function of the eigenvalues with d(h(N))^2 = |N|^2: strength d(truth, prior)^2 is chi-square, all directions are alike.
        Drives and friction likewise as 1x1 bodies.  Every J_0 is a real body; the metric is that of the drawn prior.

`--own-metric` takes sizes and metric of quadratic priors from the draw, as in use, where the truth is not known (the pullback prior
is then drawn like the last two, h(n) = 1 + n): the width of an interval then varies with the prior's error, an effect of the order
of the prior's relative standard deviation.

`--boundary` puts the truth on the very boundary of the feasible set: every link is made flat (the thinnest direction of its
pseudo-inertia gets no extent at all), armature and viscous friction of every joint are zero.  Only priors that are defined there
take part (euclidean, observability, ridge).  Constraints keep a margin of 1e-5 of a body's size from the boundary, so an interval
holds the truth when it comes within two margins of it (and the thousandth of a standard deviation to which ends are computed).

Priors on the cone keep fits off its boundary by themselves; so that constraints act on them, the mass of every link is stated to
`--bounds` (10 %).  `active` is the share of runs whose solution is held by a constraint, `one-sided` the share of intervals that
a constraint ends.
"""

from __future__ import annotations

import argparse
import json
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray
from scipy.special import lambertw
from scipy.stats import binom

import inertica as ia
from inertica.dynamics.tsqr import JointFactor
from inertica.estimators.consistent.strategy import Consistent
from inertica.identifiability.base import BaseModel, base_model
from inertica.identifiability.states import random_states
from inertica.physical.cone import Program
from inertica.physical.constraints import MARGIN, PHYSICAL, MassBounds
from inertica.physical.fit import Fit
from inertica.physical.priors import (
    BaseRidge,
    Entropic,
    Euclidean,
    Observability,
    Penalty,
    Prior,
    Pullback,
    Quadratic,
    Riemannian,
)
from inertica.physical.pseudo import pseudo_inertias
from inertica.physical.scales import Reference
from inertica.physical.uncertainty import profile_intervals
from inertica.robot import inertia
from inertica.robot.description import Description

Array = NDArray[np.float64]

PRIORS: dict[str, type] = {
    "euclidean": Euclidean,
    "observability": Observability,
    "ridge": BaseRidge,
    "pullback": Pullback,
    "entropic": Entropic,
    "riemannian": Riemannian,
}
CONE = ("pullback", "entropic", "riemannian")
STRENGTHS = {"ridge": 0.1, "entropic": 30.0, "riemannian": 30.0}
"""Where not 10; that of ridge is relative to the data."""
KNOWN = 1e-3
"""Part of a standard deviation to which ends are computed."""
LEVEL, BAND, POOLED = 0.95, 0.0005, (0.92, 0.98)


@dataclass(frozen=True)
class Study:
    """One row: a robot, a prior, and how noisy and strong they are."""

    robot: str
    prior: str
    strength: float
    noise: float
    samples: int
    bounds: float = 0.0
    own_metric: bool = False
    boundary: bool = False


@dataclass(frozen=True)
class Coverage:
    """What came out, shares of 1."""

    study: Study
    runs: int
    pooled: float
    worst: float
    worst_name: str
    band: float
    active: float
    one_sided: float

    @property
    def passed(self) -> bool:
        return POOLED[0] <= self.pooled <= POOLED[1] and self.worst >= self.band


@lru_cache
def setting(study: Study) -> tuple[BaseModel, Array, Array]:
    """A robot, its true parameters, and the factor R of its weighted observation matrix."""
    description = ia.load(study.robot)
    base = base_model(description.layout)
    truth = flattened(description) if study.boundary else description.prior.values
    states = random_states(description.layout, study.samples, seed=1)
    tau = base.engine.inverse_dynamics(states.q, states.dq, states.ddq, truth)
    factors = base.engine.factors(states.q, states.dq, states.ddq, tau, columns=[int(k) for k in base.retained])
    return base, truth, stacked(base, factors.joints, 1.0 / (study.noise * tau.std(axis=0)))


def flattened(description: Description) -> Array:
    """True parameters on the boundary of the feasible set."""
    values = np.array(description.prior.values)
    for _, where, size in Reference.of(description.layout, values).bodies:
        e, V = np.linalg.eigh(size.pseudo @ pseudo_inertias(values[where]) @ size.pseudo)
        back = np.diag(1.0 / np.diag(size.pseudo)) @ V
        values[where] = inertia.from_pseudo_inertia((back * np.concatenate([[0.0], e[1:]])) @ back.T)
    for k, p in enumerate(description.layout.parameters):
        if p.kind in ("armature", "viscous"):
            values[k] = 0.0
    return values


def stacked(base: BaseModel, joints: tuple[JointFactor, ...], weights: Array) -> Array:
    place = {int(k): i for i, k in enumerate(base.retained)}
    blocks = []
    for factor, weight in zip(joints, weights, strict=True):
        block = np.zeros((len(factor.columns), base.rank))
        block[:, [place[c] for c in factor.columns]] = factor.R
        blocks.append(weight * block)
    return np.asarray(np.linalg.qr(np.vstack(blocks), mode="r"))


def eigenvalue(prior: str, n: Array) -> Array:
    """h: the eigenvalue of K whose share of the distance is n^2; see the first lines."""
    match prior:
        case "pullback":
            return 1.0 + n
        case "riemannian":
            return np.exp(n)
        case _:  # x - log x = 1 + n^2 / 2 on either branch of Lambert's function
            left = -np.exp(-1.0 - 0.5 * n**2)
            return np.asarray(np.where(n < 0.0, -lambertw(left, 0).real, -lambertw(left, -1).real))


def drawn_body(prior: str, ten: Array, strength: float, rng: np.random.Generator) -> Array:
    """Ten parameters of a body around a true one."""
    L = np.linalg.cholesky(pseudo_inertias(ten))
    while True:
        N = rng.normal(size=(4, 4)) / np.sqrt(strength)
        n, U = np.linalg.eigh(0.5 * (N + N.T))
        K = eigenvalue(prior, n)
        if K.min() > 0.0:
            return np.asarray(inertia.from_pseudo_inertia(L @ (U / K) @ U.T @ L.T))


def drawn_scalar(prior: str, value: float, floor: float, signed: bool, strength: float, rng: np.random.Generator) -> float:
    """A drive or friction parameter around a true one; its size is its own, or the floor when that is larger."""
    while True:
        n = float(rng.normal() / np.sqrt(strength))
        if signed and prior != "pullback":
            return value / float(eigenvalue(prior, np.array(n)))
        if abs(n) < 0.95:  # chi_0 + max(|chi_0|, floor) n = value has one solution
            beyond = value / (1.0 + np.sign(value) * n)
            return beyond if abs(beyond) >= floor else value - floor * n


def drawn(study: Study, reference: Reference, fit: Fit, rng: np.random.Generator) -> tuple[Reference, Penalty]:
    """A prior around the truth, and what it costs to leave it."""
    kind: Prior = PRIORS[study.prior](study.strength)
    truth = reference.values
    if study.prior not in CONE or (study.prior == "pullback" and not study.own_metric):
        flat = kind.penalty(reference, fit)
        assert isinstance(flat, Quadratic)
        R = np.linalg.qr(flat.W, mode="r")
        centre = truth + np.linalg.solve(R, rng.normal(size=len(truth)))
        if not study.own_metric:
            return reference, Quadratic(flat.W, centre)
        own = Reference.of(reference.layout, centre)
        return own, kind.penalty(own, fit)
    values = np.array(truth)
    inside = np.zeros(len(truth), bool)
    for _, where, _ in reference.bodies:
        values[where], inside[where] = drawn_body(study.prior, truth[where], study.strength, rng), True
    floors = Reference.of(reference.layout).scale
    for k, p in enumerate(reference.layout.parameters):
        if not inside[k] and truth[k] != 0.0:
            values[k] = drawn_scalar(study.prior, truth[k], floors[k], p.lower == 0.0, study.strength, rng)
    own = Reference.of(reference.layout, values)
    return own, kind.penalty(own, fit)


def one_run(study: Study, run: int) -> tuple[Array, bool, Array]:
    """Whether each interval holds the truth; whether a constraint is active; which intervals are one-sided."""
    base, truth, R = setting(study)
    rng = np.random.default_rng([run, 1])
    fit = Fit(R, R @ base.beta(truth) + rng.normal(size=len(R)), np.array(base.T))
    reference, penalty = drawn(study, Reference.of(base.layout, truth), fit, rng)
    masses = {b.link + 1: truth[w][9] for b, w in base.layout.bodies}
    stated = MassBounds({k: ((1.0 - study.bounds) * m, (1.0 + study.bounds) * m) for k, m in masses.items()})
    program = Program(reference, (*PHYSICAL, stated) if study.bounds else PHYSICAL)
    found = Consistent().solve(program, fit, penalty)
    intervals = profile_intervals(program, fit, penalty, found.chi, level=LEVEL)
    near = 2.0 * MARGIN * reference.scale + KNOWN * intervals.free_std if study.boundary else 0.0
    return (intervals.lower - near <= truth) & (truth <= intervals.upper + near), bool(found.active), intervals.one_sided


def studied(study: Study, runs: int, processes: int) -> Coverage:
    with ProcessPoolExecutor(processes) as pool:
        out = list(pool.map(partial(one_run, study), range(runs), chunksize=10))
    inside = np.array([o[0] for o in out])
    share = inside.mean(axis=0)
    name = setting(study)[0].layout.names[int(share.argmin())]
    band = float(binom.ppf(BAND, runs, LEVEL)) / runs
    active, sided = float(np.mean([o[1] for o in out])), float(np.mean([o[2] for o in out]))
    return Coverage(study, runs, float(share.mean()), float(share.min()), name, band, active, sided)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robot", nargs="+", default=["tx40", "rv2sq", "scara2"])
    parser.add_argument("--prior", nargs="+", default=list(PRIORS), choices=list(PRIORS))
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--strength", type=float, help="of the prior; 10 is a relative standard deviation of 32 %%")
    parser.add_argument("--noise", type=float, default=0.5, help="of the torques, relative to their own size")
    parser.add_argument("--samples", type=int, default=150)
    parser.add_argument("--bounds", type=float, default=0.1, help="of link masses, with priors on the cone; 0 for none")
    parser.add_argument(
        "--own-metric", action="store_true", help="sizes and metric of the prior from the draw, not from the truth"
    )
    parser.add_argument("--boundary", action="store_true", help="truth on the boundary of the feasible set")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = []
    for robot in options.robot:
        for prior in (p for p in options.prior if not (options.boundary and p in CONE)):
            strength = options.strength or STRENGTHS.get(prior, 10.0)
            bounds = options.bounds if prior in CONE else 0.0
            study = Study(robot, prior, strength, options.noise, options.samples, bounds, options.own_metric, options.boundary)
            rows.append(studied(study, options.runs, options.processes))
            if not options.json:
                show(rows[-1], first=len(rows) == 1)
    if options.json:
        print(json.dumps([asdict(row) | {"passed": row.passed} for row in rows], indent=1))


def show(row: Coverage, first: bool) -> None:
    if first:
        print("robot    prior          strength  runs   active one-sided  pooled   worst            band")
    cells = f"{row.study.robot:8} {row.study.prior:14} {row.study.strength:8g} {row.runs:5d} {row.active:8.1%}"
    said = "passed" if row.passed else "FAILED"
    print(
        f"{cells} {row.one_sided:9.1%} {row.pooled:7.2%} {row.worst:7.2%} {row.worst_name:7} {row.band:7.2%} {said}", flush=True
    )


if __name__ == "__main__":
    main()

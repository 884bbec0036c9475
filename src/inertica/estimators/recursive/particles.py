"""`pf`: a particle filter on z = (dq, q, beta)  (survey, section 6.1; Arulampalam et al. 2002).

Every particle is advanced by the transition with process noise; because that noise is additive and positions are measured
directly, the measurement guides where a particle goes (the optimal proposal), and its weight is the likelihood of the measurement
before that:

    q' ~ q_pred + K (y - q_pred) + sqrt((1 - K) Q) e,   K = Q / (Q + R),   w <- w N(y; q_pred, Q + R)

Systematic resampling when the effective number of particles falls below a share of all; copies are then moved apart with a kernel
that leaves mean and covariance of the parameters as they are (Liu and West 2001).  In many dimensions particles are few: with
dozens of parameters expect little.  A measurement so precise that it would leave but a few particles counts only as much as
leaves a tenth.

Rao-Blackwellised, which is the default, a hundredth of what is uncertain lies in where the particles are, and the rest is a Gaussian
around each of them, since the state is linear in itself and nearly so in beta over such distances (`mixture`).
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from inertica.arrays import Array
from inertica.dynamics.transition import Transition
from inertica.errors import InputError
from inertica.estimators.base import Capability, Estimate, Need, Problem
from inertica.estimators.recursive.joint import COMPUTED, RECURSIVE, FilterOptions, reported
from inertica.estimators.recursive.passes import ROWS, FilterPass, arrays, driven, joined, kalman, noises, passed
from inertica.estimators.recursive.records import Record, transition
from inertica.estimators.recursive.tuning import Variances, again
from inertica.estimators.recursive.unknowns import PlainUnknowns

SHARE = 0.01
"""Of the covariance that lies in where the particles are, the rest in the Gaussians around them."""

ROUGH = 4e-6
"""Share of the first variance of parameters that is added at every sample where no other noise is stated."""


@dataclass(frozen=True)
class ParticleFilter(FilterOptions):
    """Particles in place of a covariance.

    Args:
        start, preset, tune, passes, longest_step, between, integrator: as for every filter; a pass begins with the last one's
            parameters.
        particles: how many; when not given 100, twice the unknowns where that is more, or the survey's 25 per parameter without
            Rao-Blackwell.
        least: effective share of the particles below which they are resampled.
        rao_blackwell: around every particle the rest of what is uncertain is a Gaussian with a Kalman filter of its own.
    """

    particles: int | None = None
    least: float = 0.5
    rao_blackwell: bool = True

    kind: ClassVar[str] = "pf"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 < self.least <= 1.0 or (self.particles is not None and self.particles < 2):
            raise InputError("a particle filter needs at least two particles, and resamples at a share of them between 0 and 1")

    @property
    def name(self) -> str:
        return self.kind + ("-ct" if self.computed else "")

    @property
    def capabilities(self) -> frozenset[Capability]:
        return super().capabilities | {Capability.RANDOM}

    def estimate(self, problem: Problem, rng: np.random.Generator | None = None) -> Estimate:
        problem.require(self)
        begun = time.perf_counter()
        draw = np.random.default_rng(0) if rng is None else rng
        beta = self.first(problem, draw)
        records, dt = self.records(problem, beta)
        v = self.variances(problem, records, beta)
        map = transition(problem, beta, dt, self.integrates(problem, dt))
        count = self.particles or (max(100, 2 * map.size) if self.rao_blackwell else 25 * len(beta))
        run = marginal_particles if self.rao_blackwell else particles
        if self.tune:
            v = self.tuned(v, beta, records, lambda kind, *arguments: kalman(kind, (0.0, 0.0, 0.0), map, *arguments))
        history = run(map, records, beta, v, count, self.least, draw)
        for _ in range(self.rounds - 1):
            v = again(v, history.covariance)
            history = run(map, records, history.beta, v, count, self.least, draw) if history.broke is None else history
        history = history.widened() if self.tune else history
        settings = self.settings(v) | {"particles": count}
        return reported(self.name, problem, PlainUnknowns(beta), history, self.rounds, time.perf_counter() - begun, settings)


@dataclass(frozen=True)
class ComputedTorqueParticles(ParticleFilter):
    """The same, driven by the torque that the simulated controller computes."""

    computed: ClassVar[bool] = True
    needs: ClassVar[frozenset[Need]] = COMPUTED
    method_capabilities: ClassVar[frozenset[Capability]] = RECURSIVE | {Capability.SIMULATES}
    without: ClassVar[frozenset[str]] = frozenset({"longest_step", "between"})


def particles(
    map: Transition, records: list[Record], beta: Array, v: Variances, count: int, least: float, draw: np.random.Generator
) -> FilterPass:
    """One pass over all records."""
    from inertica.dynamics.llvm.stepping import stepper  # imports Numba
    from inertica.estimators.recursive import cloud

    s, _code = stepper(map, False)
    n, d = map.n, map.size
    noise = noises(v, records[0], records)
    if len(noise.torque):  # each state drawn by itself
        noise = noise._replace(state=noise.state + np.mean(np.sum(noise.torque**2, axis=2), axis=0))
    if not np.any(v.parameter):  # particles need some, or soon all are copies of one
        some = ROUGH * v.first[2 * n :]
        noise = noise._replace(parameter=some, floor=some)
    spread, parts = np.sqrt(v.first), []
    Z = np.concatenate([np.zeros(2 * n), beta]) + spread * draw.standard_normal((count, d))
    for r in records:
        every = max(1, -(-len(r.t) // ROWS))
        # another record starts elsewhere: states are drawn anew, parameters go on
        Z[:, : 2 * n] = r.start + spread[: 2 * n] * draw.standard_normal((count, 2 * n))
        Z[:, n : 2 * n] = r.start[n:] + np.sqrt(np.minimum(v.first[n : 2 * n], v.measurement)) * draw.standard_normal((count, n))
        stored = arrays(len(r.t), n, d, every)
        at = cloud.run(s, r.table, r.steps, r.q, r.used, Z, noise, np.zeros(n * len(map.memory)), least, draw, stored)
        # particles end a record with equal weights, so that plain moments are those of the posterior
        mean, C = Z[:, 2 * n :].mean(axis=0), np.cov(Z[:, 2 * n :].T)
        parts.append(passed(r, stored, len(r.t) if at < 0 else at, every, np.atleast_2d(C), mean, 2 * n, at))
        if at >= 0:
            break
    return joined(parts)


def marginal_particles(
    map: Transition, records: list[Record], beta: Array, v: Variances, count: int, least: float, draw: np.random.Generator,
    share: float = SHARE,
) -> FilterPass:  # fmt: skip
    """One pass over all records, a Gaussian around every particle."""
    from inertica.dynamics.llvm.stepping import stepper  # imports Numba
    from inertica.estimators.recursive import mixture

    (s, _code), (rates, _more) = stepper(map, False), stepper(map, True)
    n, d = map.n, map.size
    begun, P, parts = np.array(beta, float), np.diag(v.first), list[FilterPass]()
    for r in records:
        every = max(1, -(-len(r.t) // ROWS))
        Z, noise = np.tile(np.concatenate([r.start, beta]), (count, 1)), noises(v, r, records)
        stored, memory = arrays(len(r.t), n, d, every), np.zeros(n * len(map.memory))
        with np.errstate(all="ignore"):
            at = mixture.run(s, rates, driven(r, begun), r.steps, r.q, r.used, Z, P, noise, memory, share, least, draw, stored)
        beta, whole = Z[:, 2 * n :].mean(axis=0), P + np.atleast_2d(np.cov(Z.T, bias=True))
        C = whole[2 * n :, 2 * n :]
        parts.append(passed(r, stored, len(r.t) if at < 0 else at, every, C, beta, 2 * n, at))
        if at >= 0:
            break
        P = np.diag(v.first)  # another record begins anew, but for what is known of the parameters
        P[2 * n :, 2 * n :] = C
    return joined(parts)

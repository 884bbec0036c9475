"""Drive gains from records without and with a known load (survey 9.5; Gautier and Briot 2011, 2012).

A log has currents i, and torques tau_j = K_j i_j with K_j = K_v K_r K_m (amplifier, reduction, torque constant; survey 2.3, DIDIM
eq. 9).  With the rows W of the base parameters and what the load adds to them, theta = (beta, phi, p) as in `load`,

    K_j i_j = W_j beta                          without load
    K_j i_j = W_j (beta + E phi + B p)          with load

is homogeneous in (K, theta) but for what is known of the load, its mass at least: that is what makes the gains absolute.  Three forms:

`tls`          total least squares with all error in the currents, where it is: min sum_j |i_j - W_j theta / K_j|^2 / s_j^2, s_j
               the joint's own noise.  Ordinary least squares of K_j i_j - W_j theta would favour small gains: i is noisy.
`constrained`  the same with links, drives and load that can exist.
`unscaled`     total least squares as printed: the right singular vector of the smallest singular value of
               [-W diag(i) 0; -W_L diag(i_L) -W_L B], all columns and joints alike, scaled so that the mass is the known one.

`tls` is solved in g = 1 / K by Gauss-Newton from a linear fit of each joint with parameters of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from inertica.arrays import Array
from inertica.dynamics.triangle import stacked_factor
from inertica.errors import InerticaError
from inertica.estimators.covariance import Influences, combination_covariance
from inertica.estimators.evidence import ScaledSvd
from inertica.estimators.observe import Observations
from inertica.threads import one_thread

STEPS = 50
SETTLED = 1e-8
"""Relative change of the cost at which Gauss-Newton has arrived."""

GUESSES = (1.0, -1.0, 0.25, -0.25, 4.0, -4.0)
"""Factors on the gain of a joint of which the known part of the load says nothing, tried before Gauss-Newton begins."""

PATTERNS = 7
"""Joints up to which all patterns of signs are tried."""

FAR = 30.0
"""Times the median of the gains beyond which one of them has lost its way."""

ROUNDING = 1e-6
"""Part of an unresolved direction below which a gain has no share in it."""

BLOCKS = 12
MASS = 9
"""Place of the mass among the ten parameters."""


@dataclass(frozen=True, eq=False)
class KnownLoad:
    """A load: which of its ten parameters are known, and their values, zero elsewhere."""

    known: NDArray[np.bool_]
    values: Array

    @property
    def unknown(self) -> int:
        return int(np.count_nonzero(~self.known))


@dataclass(frozen=True, eq=False)
class LoadSet:
    """Records with the same load, or with none: their observations, and the name of the load."""

    system: Observations
    load: str | None = None


@dataclass(frozen=True, eq=False)
class Statements:
    """What is known of gains and parameters besides loads: A (g, theta) = b, every row over its standard deviation.

    Args:
        A: (k, n + q), g = 1 / K first.
        b: (k,).
    """

    A: Array
    b: Array


@dataclass(frozen=True, eq=False)
class GainProblem:
    """Records with different loads, of some of which something is known; torques are currents times scale.

    Args:
        sets: of records, observations of the same base parameters; those that name the same load share it.
        columns: (b, 10) what a load adds (`identifiability.load`).
        friction: (b, f) directions of beta in which every set but the first has friction of its own.
        loads: by name.
        prior: (n,) relative standard deviation of prior gains, infinite for none; gains are relative to the prior ones then.
        statements: what else is known.
    """

    sets: tuple[LoadSet, ...]
    columns: Array
    friction: Array
    loads: Mapping[str, KnownLoad]
    prior: Array
    statements: Statements | None = None

    @property
    def n(self) -> int:
        return self.sets[0].system.n

    @property
    def size(self) -> int:
        """Of theta: base parameters, friction of every set but the first, unknown parameters of every load."""
        b, f = self.friction.shape
        return b + f * (len(self.sets) - 1) + sum(load.unknown for load in self.loads.values())

    @cached_property
    def places(self) -> dict[str, slice]:
        """Where the unknown parameters of every load are in theta."""
        b, f = self.friction.shape
        out, first = {}, b + f * (len(self.sets) - 1)
        for name, load in self.loads.items():
            out[name] = slice(first, first + load.unknown)
            first += load.unknown
        return out

    @cached_property
    def spaces(self) -> tuple[tuple[Observations, Array, Array], ...]:
        """Every set with the map from theta to what its rows multiply, and the part of that which is known."""
        b, f = self.friction.shape
        out = []
        for k, one in enumerate(self.sets):
            space, added = np.zeros((b, self.size)), np.zeros(b)
            space[:, :b] = np.eye(b)
            if k:
                space[:, b + f * (k - 1) : b + f * k] = self.friction
            if one.load is not None:
                load = self.loads[one.load]
                space[:, self.places[one.load]] = self.columns[:, ~load.known]
                added = self.columns @ np.where(load.known, load.values, 0.0)
            out.append((one.system, space, added))
        return tuple(out)

    def noise(self) -> Array:
        """(n,) standard deviation of a row of each joint, fitted alone."""
        return np.asarray(np.sqrt(np.mean(np.square([one.system.sigmas for one in self.sets]), axis=0)))

    def load(self, name: str, theta: Array) -> Array:
        """(10,) known and found parameters of a load."""
        out = np.where(self.loads[name].known, self.loads[name].values, 0.0)
        out[~self.loads[name].known] = theta[self.places[name]]
        return out


@dataclass(frozen=True, eq=False)
class Gains:
    """What was found.

    Args:
        factors: (n,) K over the scale that torques were given with; negative where the current counts the other way.
        relative_std: (n,) standard deviations of 1 / K, in parts of it.
        theta: base parameters, friction of every further set less that of the first, unknown parameters of the loads.
        loads: name -> (10,) parameters.
        sigma: (n,) noise of a row, in units of the scaled torque.
        iterations: of Gauss-Newton.
    """

    factors: Array
    relative_std: Array
    theta: Array
    loads: Mapping[str, Array]
    sigma: Array
    iterations: int

    def interval(self, width: float) -> Array:
        """(n, 2) of the factors, `width` standard deviations of 1 / K to either side; where 1 / K may be zero, and of either sign, the
        whole line."""
        g, spread = 1.0 / self.factors, np.abs(self.relative_std / self.factors)
        ends = np.column_stack([g - width * spread, g + width * spread])
        # not ends of different sign multiplied: tiny ones underflow
        through = (ends[:, 0] <= 0.0) & (ends[:, 1] >= 0.0)
        with np.errstate(divide="ignore"):
            out = np.sort(1.0 / ends, axis=1)
        out[through] = -np.inf, np.inf
        return out


def start_gains(problem: GainProblem) -> Array:
    """(n,) 1 / K of each joint alone, with parameters of its own beside what is known of the loads (survey's first form).

    A joint that does not feel what is known of the load takes the median of the others.
    """
    out, felt = np.full(problem.n, np.nan), np.zeros(problem.n)
    for j in range(problem.n):
        columns, known, y = [], [], []
        for system, space, added in problem.spaces:
            factor, where = system.factors[j], list(system.factors[j].columns)
            columns.append(factor.R @ space[where])
            known.append(factor.R @ added[where])
            y.append(factor.z)
        whole = stacked_factor(np.column_stack([np.vstack(columns), np.concatenate(known), np.concatenate(y)]))
        # rank by unit columns; dependent ones span no more than the others
        svd = ScaledSvd.of(whole[:, :-2])
        U = svd.U[:, : len(svd.s)][:, svd.known]
        # what the columns of the joint do not explain of the known load, and of the measured torque: their ratio is 1 / K
        alone, left = (x - U @ (U.T @ x) for x in (whole[:, -2], whole[:, -1]))
        felt[j] = float(np.linalg.norm(alone))
        if felt[j] > 0.0:
            out[j] = float(alone @ left) / felt[j] ** 2
    sigma = problem.noise()
    # joints that hardly feel the known load have gains of noise; the median is of the others
    trusted = felt / sigma > 0.05 * np.max(felt / sigma)
    usual = float(np.median(np.abs(out[trusted])))
    sure = trusted & np.isfinite(out) & (np.abs(out) > 0.05 * usual)
    return _guessed(problem, np.where(sure, out, usual), np.flatnonzero(~sure), sigma)


def start_from_model(problem: GainProblem, torque: Array, braking: NDArray[np.bool_]) -> tuple[Array, Array]:
    """(n,) 1 / K of each joint alone, for links as the model has them and friction of the joint's own, and (n,) how far what the links
    ask of the current stands out of its noise; 1 / K is the median where that is nothing.

    The sign is that with which friction brakes, where friction shows more than the links do.

    Args:
        problem: the records; those with loads are left out.
        torque: (b,) base parameters of links and drives by the model.
        braking: (f,) directions of friction that are no offset.
    """
    out, felt = np.full(problem.n, np.nan), np.zeros(problem.n)
    for j in range(problem.n):
        rows = []
        for one in problem.sets:
            if one.load is None:
                factor = one.system.factors[j]
                where = list(factor.columns)
                rows.append(np.column_stack([factor.R @ problem.friction[where], factor.R @ torque[where], factor.z]))
        whole = np.vstack(rows)
        columns, z = whole[:, :-1], whole[:, -1]
        values = _solved(columns, z)
        shown = np.abs(values) * np.linalg.norm(columns, axis=0)
        felt[j] = shown[-1]
        if values[-1] != 0.0:
            out[j] = values[-1]
        brakes = np.flatnonzero(np.append(braking, False))
        strongest = brakes[np.argmax(shown[brakes])] if len(brakes) else -1
        if shown[strongest] > felt[j]:
            out[j] = np.abs(out[j]) * np.sign(values[strongest])
    usual = float(np.nanmedian(np.abs(out)))
    return np.where(np.isfinite(out) & (out != 0.0), out, usual), felt / problem.noise()


def _guessed(problem: GainProblem, g: Array, unsure: NDArray[np.intp], sigma: Array) -> Array:
    """(n,) 1 / K with signs of unsure ones by what fits best of all patterns, then sizes one after the other, twice.

    From the wrong sign Gauss-Newton would have to pass through 1 / K = 0, where no current answers to any torque, or through infinity.
    Joints of a wrist know their signs by each other: all of them may have to change at once.
    """
    with one_thread():
        if 0 < len(unsure) <= PATTERNS:
            patterns = []
            for signs in product((1.0, -1.0), repeat=len(unsure)):
                patterns.append(np.array(g))
                patterns[-1][unsure] = np.abs(g[unsure]) * signs
            g = min(patterns, key=lambda trial: _cost(problem, trial, parameters_of(problem, trial, sigma), sigma))
        # twice: a factor found for one joint may change the best one of another
        for j in np.tile(unsure, 2):
            trials = [np.where(np.arange(problem.n) == j, factor * g, g) for factor in GUESSES]
            g = min(trials, key=lambda trial: _cost(problem, trial, parameters_of(problem, trial, sigma), sigma))
    return g


def total_least_squares(problem: GainProblem, start: Array | None = None) -> Gains:
    """The form `tls`."""
    sigma = problem.noise()
    g = start_gains(problem) if start is None else np.array(start, float)
    with one_thread():
        g, theta, cost, iterations = _descended(problem, g, sigma)
        usual = float(np.median(np.abs(g)))
        lost = np.flatnonzero((np.abs(g) > FAR * usual) | (np.abs(g) < usual / FAR))
        if len(lost):  # off to infinity or to zero, from where they do not come back by themselves
            other = np.array(g)
            # from the typical size of the others, with all signs tried again
            other[lost] = usual
            again = _descended(problem, _guessed(problem, other, lost, sigma), sigma)
            if again[2] < cost:
                g, theta, cost, iterations = again
        covariance = joint_covariance(problem, g, theta, sigma, np.arange(problem.n))
        svd = resolved(problem, g, theta, sigma)
    if np.any(g == 0.0):
        raise InerticaError("no current of some joint answers to any torque; was it recorded?")
    # along directions that no row resolves nothing has a variance
    free = np.any(np.abs(svd.Vt[~svd.known][:, : problem.n]) > ROUNDING, axis=0)
    std = np.where(free, np.inf, np.sqrt(np.diag(covariance)) / np.abs(g))
    return Gains(1.0 / g, std, theta, found_loads(problem, theta), sigma, iterations)


def _descended(problem: GainProblem, g: Array, sigma: Array) -> tuple[Array, Array, float, int]:
    """Gauss-Newton from a start: 1 / K, theta, cost and iterations."""
    theta = parameters_of(problem, g, sigma)
    cost, iterations = _cost(problem, g, theta, sigma), 0
    while iterations < STEPS:
        iterations += 1
        J, r = linearised(problem, g, theta, sigma)
        step = -_solved(J, r)
        size = 1.0
        while True:
            trial = g + size * step[: problem.n]
            best_theta = parameters_of(problem, trial, sigma)  # the best ones for these gains: variable projection
            value = _cost(problem, trial, best_theta, sigma)
            if value <= cost or size < 1e-6:
                break
            size *= 0.5
        done = cost - value <= SETTLED * cost
        if value <= cost:
            g, theta, cost = trial, best_theta, value
        if done:
            break
    return g, theta, cost, iterations


def unscaled(problem: GainProblem) -> Gains:
    """The form `unscaled`: total least squares as printed, no error in a particular column, no covariance; one load of known mass."""
    (name, load), n = next(iter(problem.loads.items())), problem.n
    q = problem.size - sum(x.unknown for x in problem.loads.values())
    rows = []
    for one, (system, space, _) in zip(problem.sets, problem.spaces, strict=True):
        for j, factor in enumerate(system.factors):
            block = np.zeros((len(factor.z) + 1, q + n + 10))
            where = list(factor.columns)
            block[:-1, :q] = -factor.R @ space[where, :q]
            block[:-1, q + j], block[-1, q + j] = factor.z, factor.rest
            if one.load is not None:
                block[:-1, q + n :] = -factor.R @ problem.columns[where]
            rows.append(block)
    with one_thread():
        # total least squares: the direction in which the columns are nearest to dependent
        v = np.linalg.svd(stacked_factor(*rows))[2][-1]
    # the singular vector is known up to a factor, which the known mass states
    v = v * load.values[MASS] / v[q + n + MASS]
    theta = np.concatenate([v[:q], v[q + n :][~load.known]])
    return Gains(v[q : q + n], np.full(n, np.inf), theta, {name: v[q + n :]}, problem.noise(), 1)


def found_loads(problem: GainProblem, theta: Array) -> dict[str, Array]:
    """Name -> (10,) known and found parameters."""
    return {name: problem.load(name, theta) for name in problem.loads}


def linearised(problem: GainProblem, g: Array, theta: Array, sigma: Array) -> tuple[Array, Array]:
    """Residuals of R factors (m,), prior gains and statements last, and derivatives (m, n + q) by g, theta; over the noise."""
    J, r = [], []
    for system, space, added in problem.spaces:
        for j, factor in enumerate(system.factors):
            where = list(factor.columns)
            torque = factor.R @ (space[where] @ theta + added[where])
            block = np.zeros((len(factor.z), problem.n + len(theta)))
            # d/dg of z - g tau(theta)
            block[:, j] = -torque
            block[:, problem.n :] = -g[j] * (factor.R @ space[where])
            J.append(block / sigma[j])
            r.append((factor.z - g[j] * torque) / sigma[j])
    stated = np.flatnonzero(np.isfinite(problem.prior))
    J.append(np.eye(problem.n, problem.n + len(theta))[stated] / problem.prior[stated, None])
    r.append((g - 1.0)[stated] / problem.prior[stated])
    if problem.statements is not None:
        J.append(problem.statements.A)
        r.append(problem.statements.A @ np.concatenate([g, theta]) - problem.statements.b)
    return np.vstack(J), np.concatenate(r)


def joint_covariance(problem: GainProblem, g: Array, theta: Array, sigma: Array, which: NDArray[np.intp]) -> Array:
    """(e, e) of some of (g, theta): residuals correlated in time, raised to what blocks of the records disagree on where that is more.

    Args:
        problem: the records.
        g, theta: the solution.
        sigma: (n,) noise of a row.
        which: (e,) places in (g, theta), the n gains first.
    """
    J, _ = linearised(problem, g, theta, sigma)
    half = ScaledSvd.of(stacked_factor(J)).half
    answer = half @ half[which].T  # (n + q, e): columns of (J'J)^-1
    influences, blocks = _influences(problem, g, theta, sigma, answer), np.zeros((len(which), len(which)))
    for of in influences:
        scores = np.sum([v * of.residual[:, j, None] for j, v in enumerate(of.V)], axis=0)
        sums = np.array([part.sum(axis=0) for part in np.array_split(scores, BLOCKS)])
        # scores of all rows add up to zero but for the prior's part
        sums -= sums.mean(axis=0)
        # variance of the sum from the spread of its parts, which holds for any correlation shorter than a part
        blocks += BLOCKS / (BLOCKS - 1) * sums.T @ sums
    noise = combination_covariance(influences, problem.n + len(theta))
    prior = answer[: problem.n] / problem.prior[:, None]  # what the prior gains do not know
    noise = noise + prior.T @ prior
    if problem.statements is not None:
        unsure = problem.statements.A @ answer
        noise = noise + unsure.T @ unsure
    factor = np.sqrt(np.maximum(1.0, np.diag(blocks) / np.maximum(np.diag(noise), 1e-300)))
    return np.asarray(factor[:, None] * noise * factor)


def resolved(problem: GainProblem, g: Array, theta: Array, sigma: Array) -> ScaledSvd:
    """Which directions of (g, theta) the records determine."""
    J, _ = linearised(problem, g, theta, sigma)
    return ScaledSvd.of(stacked_factor(J))


def _influences(problem: GainProblem, g: Array, theta: Array, sigma: Array, answer: Array) -> list[Influences]:
    """Per motion what its residuals do to the answer."""
    n, out = problem.n, list[Influences]()
    for system, space, added in problem.spaces:
        parts: dict[int, list[tuple[list[Array], Array, NDArray[np.bool_]]]] = {}
        carried = space @ theta + added
        for rows in system.rows():
            V, r = [], np.zeros((len(rows.y), n))
            for j, (W, where) in enumerate(zip(rows.W, system.columns, strict=True)):
                torque = W @ carried[where]
                r[:, j] = (rows.y[:, j] - g[j] * torque) / sigma[j] * rows.use[:, j]
                by_theta = g[j] * W @ (space[where] @ answer[n:])
                V.append((torque[:, None] * answer[j] + by_theta) / sigma[j] * rows.use[:, j, None])
            parts.setdefault(rows.motion, []).append((V, r, rows.use))
        for motion, group in parts.items():
            Vs = [np.concatenate([V[j] for V, _, _ in group]) for j in range(n)]
            r, use = np.concatenate([r for _, r, _ in group]), np.concatenate([u for _, _, u in group])
            out.append(Influences(Vs, r, use, system.periods[motion]))
    return out


def parameters_of(problem: GainProblem, g: Array, sigma: Array | None = None) -> Array:
    """theta for given 1 / K and noise of the rows: linear least squares."""
    sigma = problem.noise() if sigma is None else sigma
    J, r = linearised(problem, g, np.zeros(problem.size), sigma)
    return -_solved(J[:, problem.n :], r)


def _cost(problem: GainProblem, g: Array, theta: Array, sigma: Array) -> float:
    _, r = linearised(problem, g, theta, sigma)
    return float(r @ r)


def _solved(J: Array, r: Array) -> Array:
    """Least squares on the directions that are resolved."""
    whole = stacked_factor(np.column_stack([J, r]))
    svd = ScaledSvd.of(whole[:-1, :-1])
    return np.asarray(svd.half @ (svd.U[:, svd.known].T @ whole[:-1, -1]))


def revealed(torque: Sequence[Array], sigma: Array, least: float) -> NDArray[np.bool_]:
    """(n,) joints on which the weight of what is known of the load varies or stands out by `least` standard deviations of a row.

    Args:
        torque: per loaded motion (N, n) torque of gravity on what is known of the load, in units of the scaled torque.
        sigma: (n,) noise of a row.
        least: root mean square over sigma from which a joint counts.
    """
    size = np.sqrt(np.mean(np.concatenate(list(torque)) ** 2, axis=0))
    return np.asarray(size > least * sigma)

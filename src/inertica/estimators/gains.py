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

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from inertica.errors import InerticaError
from inertica.estimators.covariance import combination_covariance
from inertica.estimators.linear.least_squares import joint_sigmas
from inertica.estimators.observe import System
from inertica.estimators.solve import ScaledSvd
from inertica.threads import one_thread

Array = NDArray[np.float64]

STEPS = 50
SETTLED = 1e-8
"""Relative change of the cost at which Gauss-Newton has arrived."""

BLOCKS = 12
MASS = 9
"""Place of the mass among the ten parameters."""


@dataclass(frozen=True, eq=False)
class GainProblem:
    """Records without and with a load of which something is known; torques are currents times scale.

    Args:
        empty, full: observations of either set of records, of the same base parameters.
        columns: (b, 10) what the load adds (`identifiability.load`).
        own: (b, f) friction that the loaded records have of their own.
        known: (10,) which parameters of the load are known.
        load: (10,) their values, zero elsewhere.
        prior: (n,) relative standard deviation of prior gains, infinite for none; gains are relative to the prior ones then.
    """

    empty: System
    full: System
    columns: Array
    own: Array
    known: NDArray[np.bool_]
    load: Array
    prior: Array

    @property
    def n(self) -> int:
        return self.empty.n

    @property
    def spaces(self) -> tuple[tuple[System, Array, Array], ...]:
        """Either set with the map from theta to what its rows multiply, and the part of that which is known."""
        b, f, k = len(self.columns), self.own.shape[1], int(np.count_nonzero(~self.known))
        without = np.hstack([np.eye(b), np.zeros((b, f + k))])
        with_load = np.hstack([np.eye(b), self.own, self.columns[:, ~self.known]])
        return (self.empty, without, np.zeros(b)), (self.full, with_load, self.columns @ np.where(self.known, self.load, 0.0))

    def noise(self) -> Array:
        """(n,) standard deviation of a row of each joint, fitted alone."""
        sigmas = [joint_sigmas(system) for system in (self.empty, self.full)]
        return np.asarray(np.sqrt(np.mean(np.square(sigmas), axis=0)))


@dataclass(frozen=True, eq=False)
class Gains:
    """What was found.

    Args:
        factors: (n,) K over the scale that torques were given with; negative where the current counts the other way.
        relative_std: (n,) standard deviations of 1 / K, in parts of it.
        theta: base parameters, friction of the loaded records less that of the others, unknown parameters of the load.
        load: (10,) parameters of the load.
        sigma: (n,) noise of a row, in units of the scaled torque.
        iterations: of Gauss-Newton.
    """

    factors: Array
    relative_std: Array
    theta: Array
    load: Array
    sigma: Array
    iterations: int

    def interval(self, width: float) -> Array:
        """(n, 2) of the factors, `width` standard deviations of 1 / K to either side; infinite where 1 / K may be zero."""
        g, spread = 1.0 / self.factors, np.abs(self.relative_std / self.factors)
        ends = np.column_stack([g - width * spread, g + width * spread])
        through = ends[:, 0] * ends[:, 1] <= 0.0
        with np.errstate(divide="ignore"):
            out = np.sort(1.0 / ends, axis=1)
        out[through & (g > 0.0), 0], out[through & (g > 0.0), 1] = 1.0 / ends[through & (g > 0.0), 1], np.inf
        out[through & (g < 0.0), 0], out[through & (g < 0.0), 1] = -np.inf, 1.0 / ends[through & (g < 0.0), 0]
        return out


def start_gains(problem: GainProblem) -> Array:
    """(n,) 1 / K of each joint alone, with parameters of its own and the load as far as it is known (survey's first form).

    A joint that does not feel what is known of the load takes the median of the others.
    """
    out, felt = np.full(problem.n, np.nan), np.zeros(problem.n)
    (empty, _, _), (full, _, added) = problem.spaces
    E = np.any(problem.own != 0.0, axis=1)
    for j, (a, b) in enumerate(zip(empty.factors, full.factors, strict=True)):
        where = list(b.columns)
        own = np.asarray(E)[where]
        extra = b.R @ added[where]
        known = np.concatenate([np.zeros(len(a.z)), extra])
        rest = np.block([[a.R, np.zeros((len(a.z), int(own.sum())))], [b.R, b.R[:, own]]])
        svd = ScaledSvd.of(rest)
        U = svd.U[:, : len(svd.s)][:, svd.known]
        known, y = (x - U @ (U.T @ x) for x in (known, np.concatenate([a.z, b.z])))
        felt[j] = float(np.linalg.norm(known))
        if felt[j] > 0.0:
            out[j] = float(known @ y) / felt[j] ** 2
    sigma = problem.noise()
    trusted = felt / sigma > 0.05 * np.max(felt / sigma)
    usual = float(np.median(np.abs(out[trusted])))
    return np.where(trusted & np.isfinite(out) & (np.abs(out) > 0.05 * usual), out, usual)


def total_least_squares(problem: GainProblem, start: Array | None = None) -> Gains:
    """The form `tls`."""
    sigma = problem.noise()
    g = start_gains(problem) if start is None else np.array(start, float)
    with one_thread():
        theta = _parameters(problem, g, sigma)
        cost, iterations = _cost(problem, g, theta, sigma), 0
        while iterations < STEPS:
            iterations += 1
            J, r = linearised(problem, g, theta, sigma)
            step = -_solved(J, r)
            size = 1.0
            while True:
                trial = g + size * step[: problem.n]
                found = _parameters(problem, trial, sigma)  # the best ones for these gains: variable projection
                value = _cost(problem, trial, found, sigma)
                if value <= cost or size < 1e-6:
                    break
                size *= 0.5
            done = cost - value <= SETTLED * cost
            if value <= cost:
                g, theta, cost = trial, found, value
            if done:
                break
        covariance = gain_covariance(problem, g, theta, sigma)
    if np.any(g == 0.0):
        raise InerticaError("no current of some joint answers to any torque; was it recorded?")
    return Gains(1.0 / g, np.sqrt(np.diag(covariance)) / np.abs(g), theta, whole_load(problem, theta), sigma, iterations)


def unscaled(problem: GainProblem) -> Gains:
    """The form `unscaled`: total least squares as printed, no error in any particular column, no covariance."""
    n = problem.n
    b, f = problem.own.shape
    rows = []
    for loaded, (system, _, _) in enumerate(problem.spaces):
        for j, factor in enumerate(system.factors):
            block = np.zeros((len(factor.z) + 1, b + f + n + 10))
            where = list(factor.columns)
            block[:-1, where] = -factor.R
            block[:-1, b + f + j], block[-1, b + f + j] = factor.z, factor.rest
            if loaded:
                block[:-1, b : b + f] = -factor.R @ problem.own[where]
                block[:-1, b + f + n :] = -factor.R @ problem.columns[where]
            rows.append(block)
    with one_thread():
        v = np.linalg.svd(np.linalg.qr(np.vstack(rows), mode="r"))[2][-1]
    v = v * problem.load[MASS] / v[b + f + n + MASS]
    theta = np.concatenate([v[: b + f], v[b + f + n :][~problem.known]])
    infinite = np.full(n, np.inf)
    return Gains(v[b + f : b + f + n], infinite, theta, v[b + f + n :], problem.noise(), 1)


def whole_load(problem: GainProblem, theta: Array) -> Array:
    """(10,) known and found parameters of the load."""
    out = np.where(problem.known, problem.load, 0.0)
    k = int(np.count_nonzero(~problem.known))
    out[~problem.known] = theta[len(theta) - k :]
    return out


def linearised(problem: GainProblem, g: Array, theta: Array, sigma: Array) -> tuple[Array, Array]:
    """Residuals of R factors (m,), prior gains last, and their derivatives (m, n + q) by g and theta, in units of the noise."""
    J, r = [], []
    for system, space, added in problem.spaces:
        for j, factor in enumerate(system.factors):
            where = list(factor.columns)
            torque = factor.R @ (space[where] @ theta + added[where])
            block = np.zeros((len(factor.z), problem.n + len(theta)))
            block[:, j] = -torque
            block[:, problem.n :] = -g[j] * (factor.R @ space[where])
            J.append(block / sigma[j])
            r.append((factor.z - g[j] * torque) / sigma[j])
    said = np.flatnonzero(np.isfinite(problem.prior))
    block = np.eye(problem.n, problem.n + len(theta))[said] / problem.prior[said, None]
    return np.vstack([*J, block]), np.concatenate([*r, (g - 1.0)[said] / problem.prior[said]])


def gain_covariance(problem: GainProblem, g: Array, theta: Array, sigma: Array) -> Array:
    """(n, n) of g: residuals correlated in time, raised to what blocks of the records disagree on where that is more."""
    J, _ = linearised(problem, g, theta, sigma)
    half = ScaledSvd.of(_square(J)).half
    answer = half @ half[: problem.n].T  # (n + q, n): (J'J)^-1 of the gains
    listed, blocks = [], np.zeros((problem.n, problem.n))
    for V, r, use in _influences(problem, g, theta, sigma, answer):
        listed.append((V, r, use))
        moved = np.sum([v * r[:, j, None] for j, v in enumerate(V)], axis=0)
        sums = np.array([part.sum(axis=0) for part in np.array_split(moved, BLOCKS)])
        sums -= sums.mean(axis=0)
        blocks += BLOCKS / (BLOCKS - 1) * sums.T @ sums
    noise = combination_covariance(listed, problem.n + len(theta))
    prior = answer[: problem.n] / problem.prior[:, None]  # what the prior gains do not know
    noise = noise + prior.T @ prior
    factor = np.sqrt(np.maximum(1.0, np.diag(blocks) / np.maximum(np.diag(noise), 1e-300)))
    return np.asarray(factor[:, None] * noise * factor)


def _influences(
    problem: GainProblem, g: Array, theta: Array, sigma: Array, answer: Array
) -> list[tuple[list[Array], Array, NDArray[np.bool_]]]:
    """Per motion: what a residual of each joint does to the gains (m, n), residuals (m, n) and which take part."""
    n, out = problem.n, []
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
        for listed in parts.values():
            Vs = [np.concatenate([V[j] for V, _, _ in listed]) for j in range(n)]
            out.append((Vs, np.concatenate([r for _, r, _ in listed]), np.concatenate([u for _, _, u in listed])))
    return out


def _parameters(problem: GainProblem, g: Array, sigma: Array) -> Array:
    """theta for given gains: linear least squares."""
    q = problem.spaces[1][1].shape[1]
    J, r = linearised(problem, g, np.zeros(q), sigma)
    return -_solved(J[:, problem.n :], r)


def _cost(problem: GainProblem, g: Array, theta: Array, sigma: Array) -> float:
    _, r = linearised(problem, g, theta, sigma)
    return float(r @ r)


def _solved(J: Array, r: Array) -> Array:
    """Least squares on the directions that are resolved."""
    whole = _square(np.column_stack([J, r]))
    svd = ScaledSvd.of(whole[:-1, :-1])
    return np.asarray(svd.half @ (svd.U[:, svd.known].T @ whole[:-1, -1]))


def _square(A: Array) -> Array:
    """The R factor, square."""
    R = np.asarray(np.linalg.qr(A, mode="r"))
    return np.pad(R, [(0, A.shape[1] - len(R)), (0, 0)])


def revealed(problem: GainProblem, torque: Sequence[Array], sigma: Array, least: float) -> NDArray[np.bool_]:
    """(n,) joints on which the weight of what is known of the load varies or stands out by `least` standard deviations of a row.

    Args:
        problem: the records.
        torque: per loaded motion (N, n) torque of gravity on what is known of the load, in units of the scaled torque.
        sigma: (n,) noise of a row.
        least: root mean square over sigma from which a joint counts.
    """
    size = np.sqrt(np.mean(np.concatenate(list(torque)) ** 2, axis=0))
    return np.asarray(size > least * sigma)

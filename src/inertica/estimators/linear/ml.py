"""Maximum likelihood with errors in the motion as well as in the torque."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, solve_toeplitz

from inertica.arrays import Array
from inertica.dynamics.triangle import cholesky_factor
from inertica.dynamics.tsqr import Stacked
from inertica.estimators.base import Capability, Estimate, Need, NoiseLevels, Problem
from inertica.estimators.covariance import autocorrelation, score_covariance
from inertica.estimators.evidence import Solution
from inertica.estimators.iteration import StepTolerance
from inertica.estimators.linear.least_squares import MEASURED, Wls
from inertica.estimators.noise import noise_of
from inertica.estimators.solve import Composed, FitErrors, LinearSolve, Unconstrained, estimated
from inertica.robot.friction import DRY, FrictionLaw

Whitening = tuple[NDArray[np.bool_], Array, Array, Array, Array]

BLOCK = 2048
"""Samples linearised at a time: their dense Jacobians stay below 10 MB for six joints."""

MAX_CACHED = 65536
"""Samples up to which what was worked out for one estimate is kept: 80 MB for six joints."""

CERTAIN = 3.0
"""Standard deviations of a velocity from zero beyond which its sign is taken as known."""

HALVINGS = 8
"""A Gauss-Newton step is halved at most so often before it counts as useless."""


@dataclass(frozen=True)
class Ml(Composed):
    """min_beta 1/2 sum_k e_k' (G_k S G_k')^-1 e_k,  e_k = Y_b(s_k) beta - tau_k,  G_k = d e_k / d (q, dq, ddq, tau).

    s_k is the measured motion with noise variances S; the noise-free states are unknown, too, and eliminating them to first order
    leaves this criterion (survey, eq. 36 with the exponent -1).  There is no log det term: it belongs to states that are random,
    and here it would bias the estimate, while the criterion as it stands has the expected gradient zero at the truth.  Its
    gradient is exact, sum_k Y(s_k - S G' v)' v with v = (G S G')^-1 e to first order, from derivatives of regressor and torque by
    the engine; Gauss-Newton steps are halved until the criterion falls.

    Needs the noise levels: stated in the problem, else measured from repeated periods or from what the filter removed.  Assumes
    noise that is independent from sample to sample and of the torque (not so in a closed loop, nor after strong filtering; the
    covariance accounts for the correlation, the estimate does not).  Where noise of the velocity may decide the sign of dry friction
    the torque has no derivative to speak of, so these rows are left out.  Fails when noise goes round the control loop: the true
    acceleration then follows it, which looks like noise of the measured one (docs/methods/ml.md).  On decimated motions it sees
    decimated positions, not decimated columns.

    Args:
        certain: rows of a joint with dry friction are left out while its velocity is within so many standard deviations of zero.
        prewhiten: order of an autoregressive model that removes the colour of the residuals, 0 for none; for coloured torque
            errors.  Noise of the motion that is correlated in time would bias the result with it.
        solve: how each linearised problem is solved; a consistent strategy makes this PC-ML.
        stop: when it ends.
    """

    certain: float = CERTAIN
    prewhiten: int = 0
    solve: LinearSolve = field(default_factory=Unconstrained)
    stop: StepTolerance = field(default_factory=lambda: StepTolerance(step=1e-3, iterations=30))

    kind: ClassVar[str] = "ml"
    needs: ClassVar[frozenset[Need]] = MEASURED
    method_capabilities: ClassVar[frozenset[Capability]] = frozenset({Capability.RANDOM, Capability.COVARIANCE})

    def estimate(self, problem: Problem, rng: np.random.Generator | None = None) -> Estimate:
        start = time.perf_counter()
        problem.require(self)
        levels = noise_of(problem)
        thin = replace(problem, motions=tuple(m.decimated() for m in problem.motions))
        # a start near the minimum: the criterion is not convex in beta
        first = Wls(hac=False).estimate(thin)
        search = _GaussNewton(_Criterion(thin, levels, certain=self.certain), self, first.beta)
        search.run()
        if self.prewhiten:
            search.criterion = search.criterion.whitened(search.beta, self.prewhiten)
            search.run()
        return search.estimate(problem, levels[0].source, rng or np.random.default_rng(0), start)


@dataclass(frozen=True, eq=False)
class _Block:
    """Linearised samples: whitened misfit f (m, n), its Jacobian J (m, n, b), plain misfit e (m, n); zero where masked."""

    motion: int
    f: Array
    J: Array
    e: Array
    use: NDArray[np.bool_]


class _Criterion:
    """The likelihood of a problem, block by block.

    Args:
        problem: with motions at the rate they are used at.
        levels: noise of every motion.
        filters: (n, p) coefficients of autoregressive whitening filters.
        certain: of `Ml`.
    """

    def __init__(
        self, problem: Problem, levels: tuple[NoiseLevels, ...], filters: Array | None = None, certain: float = CERTAIN
    ) -> None:
        self.problem, self.levels, self.filters, self.certain = problem, levels, filters, certain
        self.system = problem.observations
        self._at: Array | None = None
        self._found: dict[tuple[int, int], Whitening] = {}
        self.n, self.b, self.shapes = self.system.n, problem.base.rank, self.system.shapes

    def whitened(self, beta: Array, order: int) -> _Criterion:
        """The same with filters fitted to the residuals at beta (Yule-Walker)."""
        f = np.concatenate([block.f for block in self.blocks(beta, jacobian=False)])
        rho = [autocorrelation(x, order) for x in f.T]
        return _Criterion(self.problem, self.levels, np.array([solve_toeplitz(r[:-1], r[1:]) for r in rho]), self.certain)

    def cost(self, beta: Array) -> float:
        return 0.5 * sum(float(np.sum(block.f**2)) for block in self.blocks(beta, jacobian=False))

    def linearised(self, beta: Array) -> Stacked:
        """min |R x - z| whose solution x is the Gauss-Newton estimate."""
        # products are several times faster than reflections; where columns are too near to dependent the slow way follows
        products = np.zeros((self.b + 1, self.b + 1))
        for rows in self._linear_rows(beta):
            products += rows.T @ rows
        R = cholesky_factor(products)
        if R is not None:
            return Stacked.of(R)
        stacked = Stacked.empty(self.b)  # columns that are nearly dependent
        for rows in self._linear_rows(beta):
            stacked = stacked.absorb(rows)
        return stacked

    def _linear_rows(self, beta: Array) -> Iterator[Array]:
        for block in self.blocks(beta):
            J = block.J.reshape(-1, self.b)
            rows = np.empty((len(J), self.b + 1))
            rows[:, :-1], rows[:, -1] = J, J @ beta - block.f.reshape(-1)
            yield rows

    def blocks(self, beta: Array, jacobian: bool = True) -> Iterator[_Block]:
        before: dict[int, _Block] = {}
        for number, part in self._parts():
            block = self._block(number, part, beta, jacobian)
            yield block if self.filters is None else self._filtered(block, before)

    def _parts(self) -> Iterator[tuple[int, slice]]:
        for number, motion in enumerate(self.problem.motions):
            for first in range(0, len(motion), BLOCK):
                yield number, slice(first, min(first + BLOCK, len(motion)))

    def _block(self, number: int, part: slice, beta: Array, jacobian: bool) -> _Block:
        use, e, G, S, L = self._whitening(number, part, beta)
        f = _forward(L, e[:, :, None])[:, :, 0]
        if not jacobian:
            return _Block(number, f, np.zeros((len(f), self.n, 0)), e, use)
        v = _solved(np.swapaxes(L, 1, 2), f[:, :, None])[:, :, 0]
        # the most likely noise-free state given e, to first order: s - S G'(G S G')^-1 e
        shift = S * np.einsum("kij,ki->kj", G, v)  # measured minus most likely states
        Y = self._entries(number, part) - self._entries(number, part, shift)
        # rows at the most likely states, not at the measured ones: that takes the attenuation bias out to first order
        J = _forward(L, self._dense(Y) * use[:, :, None])
        return _Block(number, f, J, e, use)

    def _whitening(self, number: int, part: slice, beta: Array) -> Whitening:
        """That of `_whitened`; what was worked out for the cost of a step is there for the next linearisation."""
        if self._at is None or not np.array_equal(self._at, beta):
            self._at, self._found = np.array(beta), {}
        key = number, part.start
        if key in self._found:
            return self._found[key]
        whitening = self._whitened(number, part, beta)
        if sum(len(motion) for motion in self.problem.motions) <= MAX_CACHED:
            self._found[key] = whitening
        return whitening

    def _whitened(self, number: int, part: slice, beta: Array) -> Whitening:
        """Rows in use, misfit, G of the motion (m, n, 3n), variances of the motion (3n,), Cholesky factors of G S G'."""
        motion, level, problem = self.problem.motions[number], self.levels[number], self.problem
        q, dq, ddq = motion.q[part], motion.dq[part], motion.ddq[part]
        use = ~(motion.mask[part, None] | motion.resting[part] | self._undecided(dq, level.dq))
        chi = problem.base.chi(beta, problem.fixed_values)
        tau = np.array(motion.tau[part])
        e = (problem.engine.inverse_dynamics(q, dq, ddq, chi, self.shapes) - tau) * use
        G = np.concatenate(problem.engine.torque_derivatives(q, dq, ddq, chi, self.shapes), axis=2) * use[:, :, None]
        S = np.concatenate([level.q, level.dq, level.ddq]) ** 2
        # stated noise of zero would make the covariance singular where G has no rank
        floor = 1e-9 * max(float(np.abs(motion.tau).max()), 1e-300)
        covariance = (G * S) @ np.swapaxes(G, 1, 2) + np.diag(np.maximum(level.tau, floor) ** 2)
        return use, e, G, S, np.linalg.cholesky(covariance)

    def _undecided(self, dq: Array, sd: Array) -> NDArray[np.bool_]:
        """(m, n) rows whose dry friction may have either sign."""
        out = np.zeros(dq.shape, bool)
        for term in self.problem.base.layout.terms:
            reversals = [(term.joint, {term.joint: 1.0})] if isinstance(term, FrictionLaw) and DRY in term.kinds else []
            for joint, factors in (*reversals, *term.reversals):
                speed = sum(f * dq[:, j] for j, f in factors.items())
                noise = np.sqrt(sum((f * sd[j]) ** 2 for j, f in factors.items()))
                out[:, joint] |= np.abs(speed) < self.certain * noise
        return out

    def _entries(self, number: int, part: slice, rates: Array | None = None) -> Array:
        """Regressor entries (m, E), or how they change along rates (m, 3n)."""
        motion, engine, n = self.problem.motions[number], self.problem.engine, self.n
        q, dq, ddq = motion.q[part], motion.dq[part], motion.ddq[part]
        if rates is None:
            return engine.regressor_entries(q, dq, ddq, self.shapes)
        return engine.regressor_rates((q, dq, ddq), [rates[:, :n], rates[:, n : 2 * n], rates[:, 2 * n :]], self.shapes)

    def _dense(self, entries: Array) -> Array:
        out = np.zeros((len(entries), self.n, self.b))
        for j, columns in enumerate(self.system.columns):
            out[:, j, columns] = entries[:, self.system.entries[j]]
        return out

    def _filtered(self, block: _Block, before: dict[int, _Block]) -> _Block:
        """A block with every whitened row less what the filter predicts from the rows before it; the first rows are dropped."""
        assert self.filters is not None
        order = self.filters.shape[1]
        last = before.get(block.motion)
        before[block.motion] = block
        f = _preceded(block.f, None if last is None else last.f, order)
        J = _preceded(block.J, None if last is None else last.J, order)
        use = _preceded(block.use, None if last is None else last.use, order)
        m = len(block.f)
        # one masked sample spoils all rows that its filter reaches
        clean = np.all([use[order - i : order - i + m] for i in range(order + 1)], axis=0)
        new_f, new_J = block.f.copy(), block.J.copy()
        for i in range(1, order + 1):
            new_f -= self.filters[:, i - 1] * f[order - i : order - i + m]
            new_J -= self.filters[:, i - 1, None] * J[order - i : order - i + m]
        return replace(block, f=new_f * clean, J=new_J * clean[:, :, None], use=clean)

    def remaining_noise(self, beta: Array, rng: np.random.Generator) -> Array:
        """(b, b) part of J'J that is noise of the motion along the states that explain the data equally well, by one draw."""
        out = np.zeros((self.b, self.b))
        for number, part in self._parts():
            use, _, G, S, L = self._whitening(number, part, beta)
            # one draw: over thousands of samples its mean is the expectation
            draw = np.sqrt(S) * rng.standard_normal((len(G), 3 * self.n))
            misfit = np.einsum("kij,kj->ki", G, draw) - self.levels[number].tau * rng.standard_normal((len(G), self.n))
            v = _solved(L @ np.swapaxes(L, 1, 2), misfit[:, :, None])[:, :, 0]
            along = draw - S * np.einsum("kij,ki->kj", G, v)
            J = _forward(L, self._dense(self._entries(number, part, along)) * use[:, :, None]).reshape(-1, self.b)
            out += J.T @ J
        return out


def _forward(L: Array, b: Array) -> Array:
    """L^-1 b of many lower triangular (m, n, n) and (m, n, k), by forward substitution for all of them at a time."""
    from inertica.estimators.linear.loops import forward  # imports Numba

    out = np.array(b, order="C")
    forward(L, out)
    return out


def _solved(A: Array, b: Array) -> Array:
    return np.asarray(np.linalg.solve(A, b), np.float64)


def _preceded(values: NDArray, last: NDArray | None, order: int) -> NDArray:
    """Values with `order` rows before them: the last ones of the previous block, or zeros."""
    head = np.zeros((order, *values.shape[1:]), values.dtype) if last is None else last[-order:]
    return np.concatenate([head, values])


class _GaussNewton:
    """Gauss-Newton iteration with step halving."""

    def __init__(self, criterion: _Criterion, method: Ml, beta: Array) -> None:
        self.criterion, self.method, self.beta = criterion, method, beta
        self.costs: list[float] = []
        self.steps: list[float] = []
        self.reason = ""
        self.solution: Solution

    def run(self) -> None:
        problem, method = self.criterion.problem, self.method
        solve = method.solve.prepared(problem)
        cost = self.criterion.cost(self.beta)
        self.reason = method.stop.exhausted
        for _ in range(method.stop.iterations):
            self.solution = solve(self.criterion.linearised(self.beta))
            step = self.solution.beta - self.beta
            size = method.stop.size(step, self.solution.spread)
            # the criterion is not quadratic in beta, since G depends on it
            for halving in range(HALVINGS):
                trial = self.beta + 0.5**halving * step
                reached = self.criterion.cost(trial)
                if reached < cost:
                    break
            improved = reached < cost
            if improved:
                self.beta, cost = trial, reached
            self.costs.append(cost)
            self.steps.append(size)
            if size <= method.stop.step:
                self.reason = method.stop.reached
                return
            if not improved:
                self.reason = "no step lowers the criterion any further"
                return

    def estimate(self, problem: Problem, source: str, rng: np.random.Generator, start: float) -> Estimate:
        criterion, b = self.criterion, self.criterion.b
        scored: list[tuple[int, Array, Array]] = []
        squares, counts, fitted, rows = np.zeros(criterion.n), np.zeros(criterion.n), 0.0, 0
        for block in criterion.blocks(self.beta):
            scored.append((block.motion, np.einsum("kjb,kj->kb", block.J, block.f), block.f))
            squares += np.sum(block.e**2, axis=0)
            counts += np.count_nonzero(block.use, axis=0)
            fitted += float(np.sum(block.f**2))
            rows += int(np.count_nonzero(block.use))
        S = score_covariance(scored, b)
        fisher, warnings = self._fisher(rng)
        solution = replace(self.solution, beta=self.beta, warnings=(*self.solution.warnings, *warnings), settings={})
        settings = {"noise": source, "prewhiten": self.method.prewhiten, "mean_square": fitted / max(rows - b, 1)}
        sigma = np.sqrt(squares / np.maximum(counts - b / criterion.n, 1.0))
        errors = FitErrors(sigma, fisher @ S @ fisher, plain=fisher)
        estimate = estimated(self.method.name, problem, solution, errors, start, settings=settings)
        history = {"criterion": tuple(self.costs), "step": tuple(self.steps)}
        return replace(estimate, iterations=len(self.steps), history=history, stop_reason=self.reason)

    def _fisher(self, rng: np.random.Generator) -> tuple[Array, tuple[str, ...]]:
        """Inverse of the information; noise that the Jacobian still carries is taken out of it."""
        sensitivity = self.solution.sensitivity
        if self.solution.unresolved.shape[1] or self.method.prewhiten:
            return sensitivity, ()
        scale = np.sqrt(np.maximum(np.diag(sensitivity), 1e-300))
        try:
            information = np.linalg.inv(sensitivity / np.outer(scale, scale))
            information -= self.criterion.remaining_noise(self.beta, rng) * np.outer(scale, scale)
            factor = cho_factor(information)
        except LinAlgError:
            return sensitivity, ("noise of the motion is as large as the excitation; standard deviations are too small",)
        return np.asarray(cho_solve(factor, np.eye(len(scale)))) * np.outer(scale, scale), ()

"""Output-error methods: parameters whose simulation reproduces the log best (survey, section 5).

    clie: min sum |tau - tau_s(beta)|^2_{Sigma^-1}   (closed-loop input error, eqs. 42-44)
    cloe: min sum |q - q_s(beta)|^2                  (closed-loop output error, eqs. 37-41)
    oloe: the same without the controller, driven by the measured torque over short horizons

CLIE equals CLOE weighted by the controller's gains, and feels the parameters more: a good controller hides them from the position.
Nonlinear least squares with b + 1 simulations per Jacobian, all lanes of one batch.  Local minima are possible; start from the
prior or from DIDIM.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from inertica.arrays import Array
from inertica.dynamics.resident import MemorySpace
from inertica.errors import InputError
from inertica.estimators.base import Capability, Estimate, Need, Problem
from inertica.estimators.closed_loop.gain_fit import GainSearch, GainStep
from inertica.estimators.closed_loop.iterated import SIMULATED, SIMULATES, ClosedLoopFit, LinearStep
from inertica.estimators.closed_loop.loop_simulation import LoopSimulator
from inertica.estimators.closed_loop.open_loop import OpenLoopSimulator
from inertica.estimators.closed_loop.optimisers import LevenbergMarquardt, Minimum, Optimiser
from inertica.estimators.closed_loop.outputs import Output, Position, Torque
from inertica.estimators.closed_loop.start import FromPrior, StartValues
from inertica.estimators.closed_loop.tangent_outputs import tangent_replays
from inertica.estimators.consistent.charts import BaseChart, Chart, ConsistentChart
from inertica.estimators.consistent.strategy import Consistent
from inertica.estimators.covariance import Scores, scores_of
from inertica.estimators.evidence import Evidence
from inertica.estimators.iteration import Stop
from inertica.estimators.observe import Observations, Rows
from inertica.estimators.solve import Composed, LinearSolve, ScaledSvd, Solution, Unconstrained
from inertica.experiment.track import Replay
from inertica.threads import one_thread

GAIN_NUDGE = 0.02
"""Perturbation of the logarithm of a gain factor in the Jacobian."""

RETRIES = 3
"""How often a perturbation that makes the loop unstable is taken ten times smaller."""


@dataclass(frozen=True)
class _OutputMethod(Composed, ABC):
    """Options shared by the methods; see the subclasses."""

    optimiser: Optimiser = field(default_factory=LevenbergMarquardt)
    start: StartValues = field(default_factory=FromPrior)
    stop: Stop = field(default_factory=Stop)
    solve: LinearSolve = field(default_factory=Unconstrained)
    estimate_gains: bool = False
    check_loop: bool = True
    jacobian: Literal["differences", "tangents"] = "differences"
    nudge: float = 5e-3
    integrator: Literal["euler", "rk2", "rk4", "variable"] = "rk4"
    hac: bool = True

    retune: ClassVar[bool] = False
    tuned_for: ClassVar[tuple[float, ...] | None] = None
    needs: ClassVar[frozenset[Need]] = SIMULATED
    method_capabilities: ClassVar[frozenset[Capability]] = SIMULATES
    without: ClassVar[frozenset[str]] = frozenset({"solve"})

    def __post_init__(self) -> None:
        if self.solve not in (Unconstrained(), Consistent()):
            raise InputError(
                f"method '{self.kind}' searches among simulations and solves no linear problem: it can be consistent or not, by "
                "`solve=Consistent()`, but takes no prior, solver or constraints with it; use pc-didim or pc-wls for those"
            )

    @property
    def capabilities(self) -> frozenset[Capability]:
        return super().capabilities - {Capability.TAKES_PRIOR}

    @property
    def consistent(self) -> bool:
        return Capability.CONSISTENT in self.capabilities

    def estimate(self, problem: Problem, rng: np.random.Generator | None = None) -> Estimate:
        problem.require(self)
        draw = np.random.default_rng(0) if rng is None else rng
        run = ClosedLoopFit(self, problem, rng)
        begun = run.simulate(run.start)
        if begun is None:
            return run.failed_start(self.name)
        fit = OutputFit(run, self, begun[0])
        minimum = self.optimiser.minimise(fit, fit.first, self.stop, draw)
        return fit.estimate(minimum)

    @abstractmethod
    def output(self) -> Output:
        """What is compared with the record."""

    def simulator(self, run: ClosedLoopFit) -> LoopSimulator:
        return run.simulator


@dataclass(frozen=True)
class Clie(_OutputMethod):
    """min sum_j |tau_j - tau_s,j(beta)|^2 / sigma_j^2, sigma_j from the joint's own fit to the simulated motion.

    Needs torque, loop and reference; no position.  As accurate as DIDIM, some ten times slower.

    Args:
        optimiser: Levenberg-Marquardt, or a derivative-free one.
        start: first estimate.
        stop: both criteria below 2.5 %, at most 10 iterations.
        solve: `Consistent()` to search in log-Cholesky coordinates, in which every point is a robot that can exist.  That is all
            it does here: there is no linear problem that its prior or solver could act on.
        estimate_gains: the gains of the loop as further unknowns, those that the torque tells from the parameters.
        check_loop: compare the stated control law with the log in the end.
        jacobian: differences of perturbed lanes, or exact tangents (use a smooth friction sign with those).
        nudge: perturbation of a parameter in the Jacobian, relative to the value that would explain all of the torque by itself.
            Not small: Coulomb friction jumps wherever a perturbation moves a velocity reversal across a sample, and these jumps,
            divided by a small perturbation, drown the derivative.
        integrator: euler, rk2 or rk4, one step per control period, or `variable`.
        hac: covariance that accounts for serial correlation of the residuals.
    """

    kind: ClassVar[str] = "clie"
    method_capabilities: ClassVar[frozenset[Capability]] = SIMULATES | {Capability.HOLDS_TORQUE}

    def output(self) -> Output:
        return Torque()


@dataclass(frozen=True)
class Cloe(_OutputMethod):
    """min sum |q - q_s(beta)|^2; velocity, both, or the tool's Cartesian position instead, if so asked.

    Args:
        observed: position, velocity, both, cartesian.
        optimiser, start, stop, solve, estimate_gains, check_loop, jacobian, nudge, integrator, hac: as for `Clie`.
    """

    observed: Literal["position", "velocity", "both", "cartesian"] = "position"

    kind: ClassVar[str] = "cloe"
    needs: ClassVar[frozenset[Need]] = SIMULATED | {Need.MOTION}

    def output(self) -> Output:
        return Position(self.observed)


@dataclass(frozen=True)
class Oloe(_OutputMethod):
    """Open-loop output error: the measured torque drives the model, which starts anew from the measured state every `horizon` seconds.

    A robot without its controller is a double integrator: errors grow with time squared, so horizons must be short, and noise of
    the measured state enters each of them.  For completeness; prefer `cloe`.

    Args:
        horizon: s from one measured state to the next.
        optimiser, start, stop, solve, check_loop, jacobian, nudge, integrator, hac: as for `Clie`.
    """

    horizon: float = 0.1

    kind: ClassVar[str] = "oloe"
    needs: ClassVar[frozenset[Need]] = SIMULATED | {Need.MOTION}
    method_capabilities: ClassVar[frozenset[Capability]] = SIMULATES | {Capability.HOLDS_TORQUE}
    without: ClassVar[frozenset[str]] = frozenset({"solve", "estimate_gains"})

    def output(self) -> Output:
        return Position("position")

    def simulator(self, run: ClosedLoopFit) -> LoopSimulator:
        if self.estimate_gains:
            raise InputError("there is no controller in an open-loop simulation, so its gains cannot be estimated")
        return OpenLoopSimulator(run.simulator, self.horizon)


class OutputFit:
    """The least-squares problem of one run, for the optimisers."""

    def __init__(self, run: ClosedLoopFit, method: _OutputMethod, begun: list[Replay]) -> None:
        self.run, self.method, self.problem = run, method, run.problem
        self.base, self.n = run.problem.base, run.simulator.n
        self.simulator = method.simulator(run)
        self.output = method.output()
        system = run.simulated(begun).observations.checked()
        self.weights = 1.0 / system.sigmas if isinstance(self.output, Torque) else self.output.weights(self.problem)
        self.use = self.output.use(self.problem)
        self.measured = self.output.measured(self.problem, self.weights, self.use)
        chart: Chart = ConsistentChart.of(self.problem) if method.consistent else BaseChart(self.base.rank)
        self.chart = chart
        self.free = self._identifiable_gains() if method.estimate_gains else np.zeros(0, np.intp)
        gains = len(self.free)
        self.first = np.concatenate([chart.coordinates(self.problem, run.start), np.zeros(gains)])
        # by the torque that a parameter explains, not by its value: zero values need steps, too
        self.nudge = method.nudge * _typical(system)
        self.longest = np.concatenate([chart.longest, np.full(gains, 1.0)])
        magnitude = np.abs(run.start)
        # a parameter that starts at zero gets a scale by the torque that it could explain
        in_beta = np.maximum(magnitude, 1e-3 * _typical(system))
        self.scale = np.concatenate([chart.scale(in_beta), np.full(gains, 0.1)])

    @property
    def size(self) -> int:
        return len(self.first)

    @property
    def _signal(self) -> str:
        return "tau" if isinstance(self.output, Torque) else "q"

    def _identifiable_gains(self) -> NDArray[np.intp]:
        """Unknown gains that the output tells from the parameters and from each other."""
        unknown = self.run.unknown
        assert unknown is not None
        step = GainSearch(self.run.simulator, unknown, (self._signal,)).step(self.run.start, np.zeros(unknown.size))
        return np.flatnonzero(step.free) if step is not None else np.arange(unknown.size)

    def beta(self, x: Array) -> Array:
        return self.chart.beta(x[: self.chart.size])[0]

    def logs(self, x: Array) -> Array | None:
        """(B, g) logarithms of all unknown gains at trial points (B, p); None when there are none."""
        unknown = self.run.unknown
        if unknown is None:
            return None
        out = np.zeros((len(x), unknown.size))
        out[:, self.free] = x[:, self.chart.size :]
        return out

    def residuals(self, x: Array) -> tuple[Array, NDArray[np.bool_]]:
        """(B, m) of unknowns (B, p), and which of them could be simulated."""
        out, stable = np.zeros((len(x), len(self.measured))), np.zeros(len(x), bool)
        for where, values, ok in self._simulated(*self._at(x)):
            out[where], stable[where] = np.asarray(values) - self.measured, ok
        return out, stable

    def costs(self, x: Array) -> Array:
        out = np.full(len(x), np.inf)
        for where, values, ok in self._simulated(*self._at(x)):
            place = MemorySpace.of(values)
            r = place.to_device(values) - place.to_device(self.measured)
            # sums are taken where the signals are: one number per run comes back from a GPU
            out[where] = np.where(ok, place.to_host((r**2).sum(axis=1)), np.inf)
        return out

    def _at(self, x: Array) -> tuple[Array, Array | None]:
        """Base parameters and logarithms of gains at trial points (B, p)."""
        return np.stack([self.beta(row) for row in x]), self.logs(x)

    def _simulated(self, betas: Array, logs: Array | None) -> Iterator[tuple[slice, Array, NDArray[np.bool_]]]:
        """Some points at a time: their (B, m) weighted outputs, and which could be simulated; outputs of others are zero."""
        unknown = self.run.unknown
        gains, drive = (None, None) if unknown is None or logs is None else (unknown.simulated(logs), unknown.drive(logs))
        for where, replays, ok in self.simulator.batches(betas, gains):
            seen = replays if drive is None else [replace(r, tau=r.tau / drive[where][:, None]) for r in replays]
            signals = self.output.simulated(self.problem, seen, self.weights, self.use)
            place = MemorySpace.of(signals)
            yield where, place.resident(place.xp.where(place.to_device(ok)[:, None], place.to_device(signals), 0.0)), ok

    def in_beta(self, x: Array) -> Array:
        """(b + gains, m) how the outputs change with base parameters and with logarithms of gain factors."""
        return self._tangents(x) if self.method.jacobian == "tangents" else self._differences(x)[0]

    def _differences(self, x: Array) -> tuple[Array, Array]:
        """(p, m) changes of the outputs over steps of the unknowns, and the outputs (m,) themselves, where they were computed.

        A step at which the loop is not stable is made smaller; after some tries the change counts as zero.
        """
        b, extra = self.base.rank, self.size - self.chart.size
        steps = np.concatenate([[0.0], self.nudge, np.full(extra, GAIN_NUDGE)])  # the first lane is the point itself
        missing, place, lanes = np.arange(len(steps)), MemorySpace(), None
        for _ in range(RETRIES):
            betas, points = np.tile(self.beta(x), (len(missing), 1)), np.tile(x, (len(missing), 1))
            for row, k in enumerate(missing):
                if 0 < k <= b:
                    betas[row, k - 1] += steps[k]
                elif k > b:
                    points[row, self.chart.size + k - 1 - b] += steps[k]
            stable = np.zeros(len(missing), bool)
            for where, values, ok in self._simulated(betas, self.logs(points)):
                if lanes is None:
                    place = MemorySpace.of(values)
                    lanes = place.xp.zeros((len(steps), len(self.measured)))
                lanes[place.to_device(missing[where][ok])] = place.to_device(values)[place.to_device(ok)]
                stable[where] = ok
            missing = missing[~stable]
            if not len(missing):
                break
            # a smaller nudge is a smaller change of the loop, which may then be stable
            steps[missing] *= 0.1
        assert lanes is not None
        change = (lanes[1:] - lanes[0]) / place.to_device(steps[1:, None])
        # still unstable after all tries: the parameter stays where it is in this step
        change[place.to_device(missing[missing > 0] - 1)] = 0.0
        return place.resident(change), place.resident(lanes[0])

    def _tangents(self, x: Array) -> Array:
        """The same, exactly."""
        logs, b = self.logs(x[None]), self.base.rank
        pairs = tangent_replays(self.simulator, self.beta(x), self.run.unknown, None if logs is None else logs[0])
        runs, rates = [run for run, _ in pairs], [rate for _, rate in pairs]
        change = self.output.moved(self.problem, runs, rates, self.weights, self.use)
        return np.concatenate([change[:b], change[b + self.free]])

    def normal(self, x: Array) -> tuple[Array, Array]:
        if self.method.jacobian == "tangents":
            change, outputs = self._tangents(x), self.residuals(x[None])[0][0] + self.measured
        else:
            change, outputs = self._differences(x)
        place = MemorySpace.of(change)
        J, off = place.to_device(change), place.to_device(outputs) - place.to_device(self.measured)
        with one_thread():
            G, g = place.in_library_thread(lambda: (place.to_host(J @ J.T), place.to_host(J @ off)))
        b, inner = self.base.rank, self.chart.beta(x[: self.chart.size])[1]
        along = np.zeros((len(G), self.size))
        along[:b, : self.chart.size], along[b:, self.chart.size :] = inner, np.eye(len(G) - b)
        return along.T @ G @ along, along.T @ g

    def std(self, G: Array, cost: float) -> Array:
        variance = cost / max(len(self.measured) - len(G), 1)
        with one_thread():
            # pinv, since base parameters that the motion does not excite make G singular
            C = np.linalg.pinv(G, rcond=1e-14, hermitian=True) * variance
        D = self.chart.spread
        part = C[: self.chart.size, : self.chart.size]
        return np.sqrt(np.maximum(np.diag(part if D is None else D @ part @ D.T), 0.0))

    def estimate(self, minimum: Minimum) -> Estimate:
        """The outcome with the covariances of eqs. 41 and 44."""
        run, watch = self.run, minimum.watch
        if not np.isfinite(minimum.cost):
            return run.failed_start(self.method.name)
        beta, J = self.beta(minimum.x), np.ascontiguousarray(np.asarray(self.in_beta(minimum.x)).T)
        self._hand_over_gains(minimum.x)
        r, _ = self.residuals(minimum.x[None])
        J_beta = self._beside_gains(J)
        step, evidence = _step(_linearised(self, J_beta, J_beta @ beta - r[0]), self.weights, self.method.hac, beta)
        if isinstance(self.method.solve, Consistent):
            evidence = replace(evidence, strategy=self.method.solve.prepared(self.problem))
        chi = self.chart.chi(minimum.x[: self.chart.size])
        step = replace(step, solution=replace(step.solution, chi=chi))
        out = run.estimate(self.method.name, watch, step, evidence, {})
        shaped = {"optimiser": self.method.optimiser.name, "jacobian": self.method.jacobian, "nudge": self.method.nudge}
        return replace(out, seconds=time.perf_counter() - run.begun, settings={**out.settings, **shaped})

    def _hand_over_gains(self, x: Array) -> None:
        """The gains found, with their standard deviations at the solution."""
        unknown, logs = self.run.unknown, self.logs(x[None])
        if unknown is None or logs is None:
            return
        std = np.full(unknown.size, np.inf)
        others = [k for k in range(unknown.size) if k not in self.free]
        search = GainSearch(self.run.simulator, unknown.without(others), (self._signal,))
        step = search.step(self.beta(x), logs[0][self.free])
        if step is not None:
            std[self.free] = step.std
        unresolved = tuple(int(k) for k in np.flatnonzero(np.isinf(std)))
        self.run.set_gains(logs[0], GainStep(np.zeros(unknown.size), std, unresolved))
        if self._signal == "q" and unresolved:
            self.run.notes.append(
                "positions alone do not tell gains from parameters: a common factor of both leaves the motion as it is; estimate "
                "gains with a method that fits the torque"
            )

    def _beside_gains(self, J: Array) -> Array:
        """(m, b) answers to the parameters less what unknown gains could answer as well, so that covariances allow for them."""
        b = self.base.rank
        if J.shape[1] == b:
            return J
        with one_thread():
            # the part of each parameter's response that no gain can imitate
            Q, _ = np.linalg.qr(J[:, b:])
            return np.asarray(J[:, :b] - Q @ (Q.T @ J[:, :b]))


def _linearised(fit: OutputFit, J: Array, y: Array) -> Observations:
    """The problem at its solution as a linear one, for the covariances: W is the Jacobian, y = r + J beta.

    Rows of every motion, channel by channel, unweighted, zero where masked.
    """
    rows, first, width = [], 0, fit.output.width(fit.problem)
    for k, use in enumerate(fit.use):
        m = len(use)
        W, Y = np.zeros((width, m, J.shape[1])), np.zeros((m, width))
        for j in range(width):
            used = use[:, j]
            count = int(np.count_nonzero(used))
            W[j][used] = J[first : first + count] / fit.weights[j]
            Y[used, j] = y[first : first + count] / fit.weights[j]
            first += count
        rows.append(Rows(k, tuple(W), Y, use))
    return fit.problem.observations.with_rows(rows, [np.arange(fit.base.rank, dtype=np.intp)] * width)


def _step(system: Observations, weights: Array, use_hac: bool, beta: Array) -> tuple[LinearStep, Evidence]:
    """Solution at beta with the spread of the Jacobian, and what the data say there, with serial correlation if so asked."""
    stacked, sigma = system.stacked(weights), system.residual_sigmas(beta)
    svd = ScaledSvd.of(stacked.R)
    spread = svd.half @ svd.half.T
    weighted = zip(weights, sigma, system.factors, strict=True)
    # score variance of white residuals whose size differs from the weights they were fitted with
    G = np.asarray(sum((w**2 * s) ** 2 * f.gram(len(beta)) for w, s, f in weighted))
    solution = Solution(beta, spread @ G @ spread, svd.condition, svd.unresolved, bread=spread)
    scores = scores_of(system, beta, weights) if use_hac else Scores(G, G)
    return LinearStep(solution, system, sigma), Evidence(stacked.R, stacked.z, scores)


def _typical(system: Observations) -> Array:
    """(b,) the value at which a parameter alone would explain as much torque as there is."""
    column, torque = np.zeros(system.base.rank), 0.0
    for factor in system.factors:
        column[list(factor.columns)] += np.sum(factor.R**2, axis=0)
        torque += float(factor.z @ factor.z) + factor.rest**2
    return np.sqrt(torque / np.maximum(column, 1e-12 * column.max()))

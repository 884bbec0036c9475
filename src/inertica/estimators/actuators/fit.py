"""Output error in closed loop: the quantities whose free runs on the logs' commands come closest to the measured positions.

    minimise  sum over joints of N_j log( sum over samples of (q - simulated q)^2 ) + kappa (priors)

The first part is the likelihood of normal residuals with a standard deviation of each joint's own.  Found are the free quantities, the
state at the start of every record, and by how much the links differ from the model file: those have the prior that is stated for them
and are no result but keep errors of the links out of the actuators.  kappa is the number of samples that say as much as one
independent sample (residuals are correlated in time), so that priors count as much as they should.

Gauss-Newton steps, damped as by Levenberg and Marquardt; the derivatives are exact (`dynamics.servo`).  A quantity v that cannot be
negative is found as log(v + c) with a small c: 20 % or ten times off are steps of one size, and zero can be reached and left again.
What the records do not tell stays where it began: a prior as wide as an order of magnitude either way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from inertica.arrays import Array
from inertica.errors import InputError
from inertica.estimators.actuators.arrow import Arrow
from inertica.estimators.actuators.links import LinkErrors
from inertica.estimators.actuators.record import Record
from inertica.estimators.actuators.simulation import Directions, Runs, Start
from inertica.estimators.actuators.start import link_inertia
from inertica.estimators.actuators.values import QUANTITIES, ActuatorValues

Name = tuple[str, int]

WIDE = float(np.log(10.0))
"""Standard deviation of the prior of a logarithm about its start."""

LEAP = 1.5
"""Largest change of a logarithm, or of a delay in samples, in one step."""

NEAR_ZERO = 0.1
"""Share of what a quantity competes with below which its logarithm becomes linear."""

TRIES = 12
"""Dampings that are tried before a search ends, each ten times the one before."""

ROUNDS = 4
"""Times that the correlation of residuals is found again at most."""


@dataclass(frozen=True)
class Effort:
    """How long a search goes on.

    Args:
        iterations: at most, in each round.
        gain: decrease of the criterion below which a step counts as none.
    """

    iterations: int = 40
    gain: float = 0.05


@dataclass(eq=False)
class Fit:
    """Quantities that were found in one group of joints.

    Args:
        runs: the joints and their records, with the links of the model file.
        free: (quantity, joint) of what was searched.
        values: of all quantities.
        starts: states at the start of every record.
        errors: how the links may be off.
        links: (L,) by how much they are, in standard deviations.
        correlation: kappa.
        criterion: of the data alone.
        residuals: per record (N, n), NaN where a sample does not count.
        iterations: steps taken.
        stop: why the search ended.
    """

    runs: Runs
    free: tuple[Name, ...]
    values: ActuatorValues
    starts: tuple[Start, ...]
    errors: LinkErrors
    links: Array
    correlation: float
    criterion: float
    residuals: list[Array]
    iterations: int = 0
    stop: str = ""
    history: list[float] = field(default_factory=list)

    @property
    def rms(self) -> Array:
        """(n,) residual of every joint."""
        return rms(self.residuals)

    @property
    def moved(self) -> Runs:
        """The same with the links as found."""
        return self.runs.with_links(self.errors.at(self.links))

    def derivatives(self, k: int) -> tuple[Array, Array]:
        """Positions of the k-th record and their derivatives in quantities, links and start."""
        return self.moved.derivatives(k, self.values, self.starts[k], Directions(self.free, self.errors.rates(self.links), True))


def rms(residuals: Sequence[Array]) -> Array:
    return np.asarray(np.sqrt(np.nanmean(np.concatenate(list(residuals)) ** 2, axis=0)))


def first_states(runs: Runs) -> tuple[Start, ...]:
    """Positions of the first samples; velocities where the first samples move by more than they scatter."""
    out = []
    for record in runs.records:
        q0, dq0 = np.zeros(runs.robot.n), np.zeros(runs.robot.n)
        for j, use in enumerate(record.use.T):
            t, q = record.t[use][:5], record.q[use, j][:5]
            slope = np.polyfit(t - t[0], q, 1)[0] if len(t) > 2 else 0.0
            # a slope through noise of a joint at rest would start it moving
            still = np.ptp(q) <= 4.0 * scatter(record.q[use, j])
            q0[j], dq0[j] = q[0], 0.0 if still else slope
        out.append(Start(q0, dq0))
    return tuple(out)


def scatter(q: Array) -> float:
    """Noise of positions, from third differences."""
    d = np.diff(q, 3)
    # 1.4826: median absolute deviation to standard deviation; 20 = 1 + 9 + 9 + 1, the squares of the weights 1 -3 3 -1
    return float(1.4826 * np.median(np.abs(d)) / np.sqrt(20.0)) if len(d) else 0.0


def state_deviations(record: Record) -> Array:
    """(2 n,) how far the state at the start may lie from that of the first samples: position by their scatter, speed by that of the
    motion."""
    dq = np.gradient(record.q, record.t, axis=0)
    speed = np.sqrt(np.mean(np.where(record.use, dq, 0.0) ** 2, axis=0))
    noise = np.array([scatter(record.q[use, j]) for j, use in enumerate(record.use.T)])
    return np.concatenate([np.maximum(noise, 1e-6 * speed * record.period) + 1e-12, speed + 1e-12])


def simulated(runs: Runs, values: ActuatorValues, starts: Sequence[Start]) -> list[Array]:
    """Residuals of free runs, measured minus simulated, NaN where a sample does not count."""
    out = []
    for k, record in enumerate(runs.records):
        r = record.q - runs.positions(k, values, starts[k])
        # a simulation that diverged ends in NaN, which would read as samples that do not count
        out.append(np.where(record.use, np.where(np.isfinite(r), r, np.inf), np.nan))
    return out


def criterion(residuals: Sequence[Array], floor: Array) -> float:
    """Sum over joints of N log(mean square), which has the floor of what encoders resolve."""
    return float(np.sum(per_joint(residuals, floor)))


def per_joint(residuals: Sequence[Array], floor: Array) -> Array:
    """(n,) the criterion of every joint; infinite where a simulation diverged."""
    r = np.concatenate(list(residuals))
    if np.any(np.isinf(r)) or np.any(np.all(np.isnan(r), axis=0)):
        return np.full(r.shape[1], np.inf)
    count = np.sum(~np.isnan(r), axis=0)
    mean = np.nansum(r * r, axis=0) / np.maximum(count, 1)
    # the likelihood with every joint's variance at its own best value; the floor keeps a perfect joint from minus infinity
    return np.asarray(count * np.log(mean + floor**2))


def correlation(residuals: Sequence[Array]) -> float:
    """Samples that say as much as one independent sample: the mean square of sums over stretches beside that of single samples.

    Stretches are as long as the square root of the record, the usual compromise between their number and their length.
    """
    times = []
    for j in range(residuals[0].shape[1]):
        sums, squares, count = 0.0, 0.0, 0
        for r in residuals:
            x = np.nan_to_num(r[:, j])
            length = max(1, round(np.sqrt(len(x))))
            parts = x[: len(x) // length * length].reshape(-1, length)
            sums, squares, count = sums + float(np.sum(parts.sum(axis=1) ** 2)), squares + float(np.sum(parts**2)), count + 1
        times.append(sums / squares if squares > 0.0 else 1.0)
    return float(max(1.0, np.median(times)))


def fit(
    runs: Runs, free: Sequence[Name], start: ActuatorValues, floor: Array, links_std: Array | float = 0.1,
    effort: Effort | None = None, say: Callable[[str], None] = lambda _: None,
) -> Fit:  # fmt: skip
    """The quantities `free`, everything else as in `start`.

    Args:
        runs: joints and records, with the links of the model file.
        free: (quantity, joint).
        start: where the search begins.
        floor: (n,) rad, below which a residual is the encoder's.
        links_std: relative standard deviation of the links, one number or one per link.
        effort: how long.
        say: progress.
    """
    search = _Search(runs, tuple(free), start, floor, LinkErrors(runs.links, links_std), effort or Effort(), say)
    return search.run()


def continued(
    fit: Fit, floor: Array, effort: Effort | None = None, say: Callable[[str], None] = lambda _: None, **changes: object
) -> Fit:
    """The fit again from where it ended, with records simulated otherwise (`Runs.with_records`: finest, standstill, hold)."""
    runs = fit.runs.with_records(fit.runs.records, **changes)
    search = _Search(runs, fit.free, fit.values, floor, fit.errors, effort or Effort(), say)
    return search.run(_Point(fit.values, fit.links, fit.starts))


@dataclass(frozen=True, eq=False)
class _Point:
    """Where the search stands."""

    values: ActuatorValues
    links: Array
    starts: tuple[Start, ...]


class _Search:
    def __init__(
        self, runs: Runs, free: tuple[Name, ...], begin: ActuatorValues, floor: Array, errors: LinkErrors, effort: Effort,
        say: Callable[[str], None],
    ) -> None:  # fmt: skip
        self.runs, self.free, self.floor, self.errors, self.effort, self.say = runs, free, floor, errors, effort, say
        self.n, self.p, self.l = runs.robot.n, len(free), errors.count
        self.begin = _Point(begin, np.zeros(self.l), first_states(runs))
        self.shift = shifts(runs, begin)
        self.period = period = float(np.median([record.period for record in runs.records]))
        spread = np.nanstd(np.concatenate([np.where(r.use, r.q, np.nan) for r in runs.records]), axis=0)
        # a unit of every coordinate: a logarithm has 1, a delay a sample, a zero the spread of the motion
        units = {"delay": np.full(self.n, period), "zero": np.maximum(spread, 1e-9)}
        self.unit = np.array([1.0 if QUANTITIES[name].positive else units[name][j] for name, j in free])
        self.wide = np.array([WIDE if QUANTITIES[name].positive else 10.0 for name, _ in free])
        self.state_std = [state_deviations(r) for r in runs.records]
        self.x0 = self._coordinates(begin)

    def run(self, point: _Point | None = None) -> Fit:
        point, total, history = point or self.begin, 0, list[float]()
        residuals = self._residuals(point)
        stop, kappa = "", correlation(residuals)
        for _ in range(ROUNDS):
            point, residuals, taken, stop = self._descend(point, residuals, kappa, history)
            total, last, kappa = total + taken, kappa, correlation(residuals)
            # it only weighs the prior, so that a factor of 1.6 does not matter
            if abs(np.log(kappa / last)) < 0.5:
                break
        data = criterion(residuals, self.floor)
        return Fit(
            self.runs, self.free, point.values, point.starts, self.errors, point.links, kappa, data, residuals, total, stop, history
        )  # fmt: skip

    def _descend(
        self, point: _Point, residuals: list[Array], kappa: float, history: list[float]
    ) -> tuple[_Point, list[Array], int, str]:
        best = criterion(residuals, self.floor) + kappa * self._prior(point)
        damping, small = 1e-2, 0
        for iteration in range(1, self.effort.iterations + 1):
            equations = self._normal(point, residuals, kappa)
            bound = self._at_zero(point, equations.g)
            whole, accepted = best, False
            for _ in range(TRIES):
                tried = self._moved(point, *self._step(equations, damping, bound))
                r = self._residuals(tried)
                whole = criterion(r, self.floor) + kappa * self._prior(tried)
                if np.isfinite(whole) and whole < best:
                    accepted = True
                    break
                # Levenberg and Marquardt: towards steepest descent until a step lowers the criterion
                damping = max(10.0 * damping, 1e-6)
            if not accepted:
                return point, residuals, iteration, "no step lowers the error"
            gain, best = best - whole, whole
            point, residuals = tried, r
            history.append(whole)
            damping = max(damping * 0.2, 1e-9)
            self.say(f"output error, step {len(history)}")
            small = small + 1 if gain < self.effort.gain * kappa else 0
            if small >= 2:
                return point, residuals, iteration, "settled"
        return point, residuals, self.effort.iterations, "the limit of iterations"

    def _runs(self, point: _Point) -> Runs:
        return self.runs.with_links(self.errors.at(point.links)) if self.l else self.runs

    def _residuals(self, point: _Point) -> list[Array]:
        return simulated(self._runs(point), point.values, point.starts)

    def _coordinates(self, values: ActuatorValues) -> Array:
        """(p,) in their units."""
        return np.array([
            np.log(getattr(values, name)[j] + self.shift[name][j] + 1e-300) if QUANTITIES[name].positive else getattr(values, name)[j]
            for name, j in self.free
        ]) / self.unit  # fmt: skip

    def _prior(self, point: _Point) -> float:
        out = float(np.sum(((self._coordinates(point.values) - self.x0) / self.wide) ** 2) + np.sum(point.links**2))
        for s, f, std in zip(point.starts, self.begin.starts, self.state_std, strict=True):
            out += float(np.sum(((np.concatenate([s.q - f.q, s.dq - f.dq])) / std) ** 2))
        return out

    def _normal(self, point: _Point, residuals: list[Array], kappa: float) -> Arrow:
        """Normal equations of data and prior: quantities in their units, links; states at the starts.

        kappa correlated samples count as one: instead of making the data weaker the prior is made stronger.
        """
        p, l, m = self.p, self.l, 2 * self.n
        out = Arrow.empty(p + l, len(point.starts), m)
        # a record whose simulation diverged does not say where to go
        followed = [k for k, r in enumerate(residuals) if not np.isinf(r).any()]
        if not followed:
            name = self.runs.records[0].name
            raise InputError(f"{name}: simulations diverge from where the search begins; are gains, links and units the robot's?")
        sigma = np.sqrt(rms([residuals[k] for k in followed]) ** 2 + self.floor**2)
        scale = np.concatenate([self._slopes(point.values), np.ones(l + m)])
        runs, wanted = self._runs(point), Directions(self.free, self.errors.rates(point.links), True)
        for k in followed:
            r = residuals[k]
            _, J = runs.derivatives(k, point.values, point.starts[k], wanted)
            weight = np.where(np.isnan(r), 0.0, 1.0 / sigma)
            J *= weight
            J *= scale[:, None, None]
            out.add(k, J.reshape(len(scale), -1), (np.nan_to_num(r) * weight).ravel())
        weights = np.concatenate([self.wide**-2, np.ones(l)])
        offsets = np.concatenate([self._coordinates(point.values) - self.x0, point.links])
        states = np.array(self.state_std) ** -2
        shift = np.array([[*(s.q - f.q), *(s.dq - f.dq)] for s, f in zip(point.starts, self.begin.starts, strict=True)])
        out.add_prior((kappa * weights, -kappa * weights * offsets), (kappa * states, -kappa * states * shift))
        return out

    def _slopes(self, values: ActuatorValues) -> Array:
        """(p,) derivative of every quantity in its coordinate."""
        return self.unit * np.array([
            getattr(values, name)[j] + self.shift[name][j] if QUANTITIES[name].positive else 1.0 for name, j in self.free
        ])  # fmt: skip

    def _at_zero(self, point: _Point, slopes: Array) -> NDArray[np.bool_]:
        """Coordinates that stay: quantities at their lower bound that the data would have lower."""
        out = np.zeros(len(slopes), bool)
        for i, (name, j) in enumerate(self.free):
            out[i] = getattr(point.values, name)[j] <= self._least(name) and slopes[i] <= 0.0
        return out

    def _least(self, name: str) -> float:
        """No command acts before it is given, but stamps of positions and commands may be a sample apart."""
        return 0.0 if QUANTITIES[name].positive else -self.period if name == "delay" else -np.inf

    def _step(self, equations: Arrow, damping: float, bound: NDArray[np.bool_]) -> tuple[Array, Array]:
        """Step of the damped equations, shortened so that no quantity leaps."""
        step, states = equations.solved(damping, bound)
        longest = float(np.abs(step[: self.p]).max(initial=0.0))
        share = min(1.0, LEAP / longest) if longest > 0.0 else 1.0
        return share * step, share * states

    def _moved(self, point: _Point, step: Array, states: Array) -> _Point:
        values = point.values
        changes = {name: np.array(getattr(values, name)) for name in dict.fromkeys(name for name, _ in self.free)}
        for (name, j), d, unit in zip(self.free, step[: self.p], self.unit, strict=True):
            if QUANTITIES[name].positive:
                c = self.shift[name][j]
                # a step in log(v + c): multiplies large values and can still reach zero
                changes[name][j] = max((changes[name][j] + c) * np.exp(d) - c, 0.0)
            else:
                changes[name][j] = max(changes[name][j] + d * unit, self._least(name))
        starts = [Start(s.q + d[: self.n], s.dq + d[self.n :]) for s, d in zip(point.starts, states, strict=True)]
        return _Point(values.changed(**changes), point.links + step[self.p :], tuple(starts))


def sizes(runs: Runs, values: ActuatorValues) -> dict[str, Array]:
    """(n,) what every quantity competes with: inertia and damping that show within a sampling interval, those of links and servo,
    the torque of typical command errors."""
    inertia = np.mean(np.concatenate([link_inertia(runs.robot, r.loaded(runs.links), r.q) for r in runs.records]), axis=0)
    error = np.sqrt(np.mean(np.concatenate([r.commands["q"] - r.q for r in runs.records]) ** 2, axis=0))
    period = float(np.median([r.period for r in runs.records]))
    damping = np.maximum(values.viscous + values.kd, values.kp * period)
    return {
        "armature": np.maximum(np.abs(inertia), values.kp * period**2),
        "viscous": damping,
        "kd": damping,
        "coulomb": values.kp * np.maximum(error, 1e-12),
        "kp": values.kp,
        "torque_limit": values.torque_limit,
        "stribeck": values.kp * np.maximum(error, 1e-12),
        "stribeck_speed": values.stribeck_speed,
        "load_friction": np.ones(values.n),
        "delay": np.full(values.n, period),
        "zero": np.maximum(error, 1e-12),
    }


def shifts(runs: Runs, values: ActuatorValues) -> dict[str, Array]:
    """c of log(v + c) by quantity, (n,); none for those that are never zero."""
    known_sizes = sizes(runs, values)
    return {
        name: np.zeros(values.n) if name in ("kp", "torque_limit", "stribeck_speed") else NEAR_ZERO * known_sizes[name]
        for name, kind in QUANTITIES.items()
        if kind.positive
    }


def promised(fit: Fit, floor: Array, values: ActuatorValues, extra: Sequence[Name]) -> Array:
    """(len(extra),) by how much the criterion would fall if one quantity more were searched with all others, were it quadratic.

    Args:
        fit: that ended.
        floor: as for `fit`.
        values: those of the fit, with the extra quantities where they leave the motion as it is.
        extra: quantities that the fit did not search.
    """
    search = _Search(fit.runs, (*fit.free, *extra), values, floor, fit.errors, Effort(), lambda _: None)
    H, g = search._normal(_Point(values, fit.links, fit.starts), fit.residuals, fit.correlation).reduced()
    p = len(fit.free)
    last = np.arange(p, p + len(extra))
    rest = np.setdiff1d(np.arange(len(H)), last)
    scale = 1.0 / np.sqrt(np.maximum(np.diag(H), 1e-300))
    H, g = H * scale * scale[:, None], g * scale
    factor = cho_factor(H[np.ix_(rest, rest)] + 1e-12 * np.eye(len(rest)), lower=True)
    across = cho_solve(factor, H[np.ix_(rest, last)])
    slope = g[last] - across.T @ g[rest]
    left = 1.0 - np.einsum("ij,ij->j", H[np.ix_(rest, last)], across)
    # none of them can be negative: one that the data would have negative promises nothing
    return np.where((slope > 0.0) & (left > 1e-9), np.maximum(slope, 0.0) ** 2 / np.maximum(left, 1e-9), 0.0)


def best_start(runs: Runs, candidates: Sequence[ActuatorValues], floor: Array) -> ActuatorValues:
    """The candidate whose free run comes closest, joint by joint where that is better still."""
    states = first_states(runs)
    scores = [criterion(simulated(runs, c, states), floor) for c in candidates]
    best = candidates[int(np.argmin(scores))]
    lowest = min(scores)
    for j in range(runs.robot.n):  # a joint may be better off with another cut-off than the rest
        for other in candidates:
            mixed = replace(
                best, **{q: np.where(np.arange(best.n) == j, getattr(other, q), getattr(best, q)) for q in QUANTITIES}
            )
            score = criterion(simulated(runs, mixed, states), floor)
            if score < lowest:
                best, lowest = mixed, score
    return best

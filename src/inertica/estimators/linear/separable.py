"""Nonlinear friction and delays by separable least squares, around any linear method."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from scipy.optimize import least_squares

from inertica.errors import InputError, nearest
from inertica.estimators.base import Capability, Estimate, Estimator, Need, Problem
from inertica.estimators.covariance import score_covariance
from inertica.estimators.linear.least_squares import MEASURED, Wls, joint_sigmas
from inertica.estimators.observe import Rows, System
from inertica.preprocessing.motion import Motion
from inertica.preprocessing.observe import decimated_mask
from inertica.preprocessing.resample import interpolant
from inertica.robot.layout import Parameters
from inertica.threads import one_thread

Array = NDArray[np.float64]

WIDEST = {"1": 4.0}
"""Factor by which a shape may leave its start either way, by unit; exponents less than velocities."""

FAR = 30.0

LONGEST = 0.05
"""s; delays stay below."""

_DELTA = 1e-5  # relative change of a shape for derivatives of the torque; central, so good to 1e-10


@dataclass(frozen=True)
class Fitted:
    """A shape or delay that was found; the standard deviation by the delta method, serial correlation included."""

    name: str
    value: float
    std: float
    unit: str


@dataclass(frozen=True, eq=False)
class SeparableFit:
    """What separable least squares found.

    Args:
        estimate: of the linear method with these shapes; its covariance knows that shapes were fitted, too.
        problem: with shapes in its prior and delays taken out of its motions.
        shapes, delays: what was fitted.
        evaluations: of the projected residual.
        stop_reason: why the search ended.
    """

    estimate: Estimate
    problem: Problem
    shapes: tuple[Fitted, ...]
    delays: tuple[Fitted, ...]
    evaluations: int
    stop_reason: str


@dataclass(frozen=True)
class Separable:
    """min_theta min_beta sum_j |W_j(theta) beta - y_j|^2 / sigma_j^2,  theta = log of the shapes, and delays of the joints.

    For given shapes (Stribeck velocity and exponent, width of a smooth sign) the model is linear, so beta is eliminated and only
    theta is searched (variable projection, Golub and Pereyra; Jacobian by Kaufman): a few Gauss-Newton steps from the best point
    of a small grid.  A delay d_j means y_j(t) = tau_j(motion at t - d_j): torque is recorded late.  The linear method is then run
    with what was found.

    Needs terms with shapes in the layout, or `delays`.  Assumes white torque noise when it compares thetas.  Shapes whose
    friction excess is near zero cannot be found; their standard deviation shows it, but not what filtering does: after decimation,
    what sticking at reversals leaves looks like friction at speeds of a few percent of a joint's usual one, with a small standard
    deviation.  Leave rows at reversals out (`Recipe.reversal`) and believe no slower shape.  Where signs are sharp, undecimated data
    know when a joint turned only to a part of a sample, and its delay no better: decimate, or use smooth friction.

    Args:
        method: the linear method.
        shapes: names of the shapes to fit (`vs1`, `es1`, `vc3`); all of the layout by default.
        delays: whether delays are fitted, too.
        grid: factors on the starting values of velocities that are tried first, joint by joint.
        step: relative change of theta at which the search ends.
    """

    method: Estimator = field(default_factory=Wls)
    shapes: tuple[str, ...] | None = None
    delays: bool = False
    grid: tuple[float, ...] = (0.2, 1.0, 5.0)
    step: float = 1e-4

    name: ClassVar[str] = "separable"
    needs: ClassVar[frozenset[Need]] = MEASURED
    capabilities: ClassVar[frozenset[Capability]] = frozenset({Capability.COVARIANCE})

    def estimate(self, problem: Problem, rng: np.random.Generator | None = None) -> Estimate:
        return self.fit(problem, rng).estimate

    def fit(self, problem: Problem, rng: np.random.Generator | None = None) -> SeparableFit:
        start = time.perf_counter()
        problem.require(self)
        search = _VariableProjection(problem, self._chosen(problem), self.delays)
        first = search.best_of(self.grid)
        lower, upper = search.bounds(first)
        found = least_squares(
            lambda x: search.at(x).misfit, first, lambda x: search.at(x).jacobian, (lower, upper), xtol=self.step, ftol=1e-10
        )  # fmt: skip
        end = search.at(np.asarray(found.x))
        shaped = search.applied(end.theta)
        estimate = self.method.estimate(shaped, rng)
        joint, alone = search.spreads(end)
        b = problem.base.rank
        factor = np.sqrt(np.diag(joint)[:b] / np.maximum(np.diag(alone), 1e-300))
        std = np.sqrt(np.diag(search.covariance(end, joint))[b:])
        shapes, delays = search.fitted(end.theta, std)
        reason = found.message.rstrip(".")
        estimate = replace(
            estimate,
            covariance=factor[:, None] * estimate.covariance * factor,
            iterations=int(found.njev),
            seconds=time.perf_counter() - start,
            stop_reason=reason,
            settings={**estimate.settings, "shapes": shapes, "delays": delays},
        )
        return SeparableFit(estimate, shaped, shapes, delays, int(found.nfev), reason)

    def _chosen(self, problem: Problem) -> list[int]:
        names = [s.name for s in problem.base.layout.shapes]
        for name in self.shapes or ():
            if name not in names:
                raise InputError(f"{problem.base.layout.robot.name} has no shape '{name}' to fit; {nearest(name, names)}")
        chosen = [i for i, name in enumerate(names) if self.shapes is None or name in self.shapes]
        if not chosen and not self.delays:
            raise InputError("separable least squares needs friction with shapes (stribeck, smooth), or delays to fit")
        return chosen


@dataclass(frozen=True, eq=False)
class _Point:
    """Projected misfit and its Jacobian at theta, compressed to p + 1 rows by a QR factorisation that keeps all norms."""

    theta: Array
    beta: Array
    system: System
    R: Array  # of [W D y], D = d tau / d theta
    misfit: Array
    jacobian: Array


class _VariableProjection:
    """The criterion over theta: log of the chosen shapes, then delays in s."""

    def __init__(self, problem: Problem, chosen: list[int], delays: bool) -> None:
        layout = problem.base.layout
        prior = problem.prior or layout.zeros()
        self.problem, self.chosen, self.n = replace(problem, prior=prior), chosen, layout.robot.n
        self.start = np.array(prior.shapes)
        self.delayed = self.n if delays else 0
        self.weights = np.ones(self.n)
        self._last: _Point | None = None
        self._splines: dict[int, CubicSpline] = {}

    def parts(self, theta: Array) -> tuple[Array, Array]:
        """Shapes of the layout, and delays (n,)."""
        shapes = self.start.copy()
        shapes[self.chosen] = np.exp(theta[: len(self.chosen)])
        delays = theta[len(self.chosen) :] if self.delayed else np.zeros(self.n)
        return shapes, delays

    def shaped(self, shapes: Array) -> Problem:
        prior = self.problem.prior
        assert prior is not None
        return replace(self.problem, prior=Parameters(prior.layout, prior.values, shapes, prior.origin))

    def best_of(self, grid: Sequence[float]) -> Array:
        """The start: for each joint the factor on its velocities with which the joint alone fits best."""
        shapes = self.problem.base.layout.shapes
        velocities = [i for i in self.chosen if shapes[i].unit != "1"]
        tried = []
        for factor in grid if velocities else (1.0,):
            changed = self.start.copy()
            changed[velocities] *= factor
            tried.append(joint_sigmas(System(self.shaped(changed))))
        best = np.argmin(tried, axis=0)
        self.weights = 1.0 / np.min(tried, axis=0)
        theta = np.log(self.start[self.chosen])
        for place, i in enumerate(self.chosen):
            joint = self._joint_of(shapes[i].name)
            if i in velocities and joint is not None:
                theta[place] += np.log(grid[best[joint]])
        return np.concatenate([theta, np.zeros(self.delayed)])

    def _joint_of(self, shape: str) -> int | None:
        for term, _ in self.problem.base.layout.drives:
            if any(s.name == shape for s in term.shapes):
                return term.joint
        return None

    def bounds(self, theta: Array) -> tuple[Array, Array]:
        units = [self.problem.base.layout.shapes[i].unit for i in self.chosen]
        room = np.log([WIDEST.get(unit, FAR) for unit in units])
        middle = np.log(self.start[self.chosen])
        far = np.full(self.delayed, LONGEST)
        lower, upper = np.concatenate([middle - room, -far]), np.concatenate([middle + room, far])
        return np.minimum(lower, theta - 1e-6), np.maximum(upper, theta + 1e-6)

    def at(self, theta: Array) -> _Point:
        if self._last is None or not np.array_equal(self._last.theta, theta):
            self._last = self._evaluate(np.array(theta))
        return self._last

    def _evaluate(self, theta: Array) -> _Point:
        shapes, delays = self.parts(theta)
        problem = self.shaped(shapes)
        system = System(problem) if not delays.any() else System(problem, None, self._delayed_rows(problem, delays))
        stacked = system.stacked(self.weights)
        scale = np.linalg.norm(stacked.R, axis=0)
        scale[scale == 0.0] = 1.0
        with one_thread():
            beta = np.linalg.lstsq(stacked.R / scale, stacked.z, rcond=1e-10)[0] / scale
            b, p = len(beta), len(theta)
            R = [np.zeros((0, b + p + 1)) for _ in range(self.n)]
            for _, block in self.augmented(system, beta, theta):
                R = [_absorbed(r, w * X) for r, w, X in zip(R, self.weights, block, strict=True)]
            full = _absorbed(np.zeros((b + p + 1, b + p + 1)), np.vstack(R))
        return _Point(theta, beta, system, full, full[b:, -1], -full[b:, b:-1])

    def augmented(self, system: System, beta: Array, theta: Array) -> list[tuple[int, list[Array]]]:
        """Per motion and joint the rows in use of [W, D, y]."""
        b, p = len(beta), len(theta)
        derivatives = [self._derivatives(motion, beta, theta) for motion in self.problem.motions]
        first: dict[int, int] = {}
        out = []
        for rows in system.rows():
            start = first.get(rows.motion, 0)
            first[rows.motion] = start + len(rows.y)
            D = derivatives[rows.motion][start : start + len(rows.y)]
            block = []
            for j, (W, columns) in enumerate(zip(rows.W, system.columns, strict=True)):
                X = np.zeros((len(W), b + p + 1))
                X[:, columns], X[:, b : b + p], X[:, -1] = W, D[:, j], rows.y[:, j]
                block.append(X * rows.use[:, j, None])
            out.append((rows.motion, block))
        return out

    def _derivatives(self, motion: Motion, beta: Array, theta: Array) -> Array:
        """(m, n, p) of the model's torque with respect to theta, decimated like the rows."""
        shapes, delays = self.parts(theta)
        problem, engine = self.problem, self.problem.engine
        chi = problem.base.chi(beta, problem.fixed_values)

        states = [self._states(motion, float(d)) for d in delays]
        out = np.zeros((len(motion), self.n, len(theta)))
        for k, i in enumerate(self.chosen):
            up, down = shapes.copy(), shapes.copy()
            up[i], down[i] = shapes[i] * np.exp(_DELTA), shapes[i] * np.exp(-_DELTA)
            for j in self._felt_by(i):
                change = engine.inverse_dynamics(*states[j], chi, up) - engine.inverse_dynamics(*states[j], chi, down)
                out[:, j, k] = change[:, j] / (2.0 * _DELTA)
        for j in range(self.delayed):
            torque = engine.inverse_dynamics(*states[j], chi, shapes)[:, j]
            out[:, j, len(self.chosen) + j] = -np.gradient(torque, motion.dt)
        flat = motion.decimator.decimate(out.reshape(len(out), -1))
        return flat.reshape(len(flat), self.n, len(theta))

    def _felt_by(self, shape: int) -> range | tuple[int, ...]:
        """Joints whose torque depends on a shape."""
        joint = self._joint_of(self.problem.base.layout.shapes[shape].name)
        return range(self.n) if joint is None else (joint,)

    def _states(self, motion: Motion, delay: float) -> tuple[Array, Array, Array]:
        """The motion as it was `delay` seconds earlier."""
        if delay == 0.0:
            return motion.q, motion.dq, motion.ddq
        key = id(motion)
        if key not in self._splines:
            self._splines[key] = CubicSpline(motion.t, np.hstack([motion.q, motion.dq, motion.ddq]))
        values = self._splines[key](np.clip(motion.t - delay, motion.t[0], motion.t[-1]))
        q, dq, ddq = np.split(values, 3, axis=1)
        return q, dq, ddq

    def _delayed_rows(self, problem: Problem, delays: Array) -> list[Rows]:
        """Rows whose joints see the motion as it was their delay earlier."""
        system = System(problem)
        out = []
        for number, motion in enumerate(problem.motions):
            W, y = [], []
            for j, delay in enumerate(delays):
                q, dq, ddq = self._states(motion, float(delay))
                own, torque = system.block(replace(motion, q=q, dq=dq, ddq=ddq), slice(None))
                W.append(motion.decimator.decimate(own[j]))
                y.append(torque[:, j])
            kept = motion.decimator.kept(len(motion))
            masked = decimated_mask(motion)[:, None] | motion.resting[kept]
            out.append(Rows(number, tuple(W), motion.decimator.decimate(np.column_stack(y)), ~masked))
        return out

    def spreads(self, end: _Point) -> tuple[Array, Array]:
        """(R'R)^-1 of beta and theta together, and of beta alone."""
        b = len(end.beta)
        R = end.R[:, :-1]
        scale = np.linalg.norm(R, axis=0)
        scale[scale == 0.0] = 1.0
        with one_thread():
            joint = np.linalg.pinv(R / scale, rcond=1e-10)
            alone = np.linalg.pinv(R[:b, :b] / scale[:b], rcond=1e-10)
        half, own = joint / scale[:, None], alone / scale[:b, None]
        return half @ half.T, own @ own.T

    def covariance(self, end: _Point, spread: Array) -> Array:
        """Of beta and theta, from the scores of all rows."""
        scored: list[tuple[int, Array, Array]] = []
        values = np.append(end.beta, np.zeros(len(end.theta)))
        for motion, block in self.augmented(end.system, end.beta, end.theta):
            r = np.column_stack([w * (X[:, -1] - X[:, :-1] @ values) for w, X in zip(self.weights, block, strict=True)])
            scores = np.asarray(sum(w * r[:, [j]] * X[:, :-1] for j, (w, X) in enumerate(zip(self.weights, block, strict=True))))
            scored.append((motion, scores, r))
        return np.asarray(spread @ score_covariance(scored, len(spread)) @ spread)

    def fitted(self, theta: Array, std: Array) -> tuple[tuple[Fitted, ...], tuple[Fitted, ...]]:
        shapes, delays = self.parts(theta)
        listed = self.problem.base.layout.shapes
        count = len(self.chosen)
        own = tuple(
            Fitted(listed[i].name, float(shapes[i]), float(shapes[i] * std[k]), listed[i].unit) for k, i in enumerate(self.chosen)
        )
        late = tuple(Fitted(f"delay{j + 1}", float(delays[j]), float(std[count + j]), "s") for j in range(self.delayed))
        return own, late

    def applied(self, theta: Array) -> Problem:
        """The problem with these shapes, and motions whose torque is read later by the delays."""
        shapes, delays = self.parts(theta)
        problem = self.shaped(shapes)
        if not delays.any():
            return problem
        return replace(problem, motions=tuple(_undelayed(motion, delays) for motion in problem.motions))


def _absorbed(R: Array, rows: Array) -> Array:
    """R of [R; rows]; columns that are zero throughout cost nothing."""
    there = np.flatnonzero(np.any(R != 0.0, axis=0) | np.any(rows != 0.0, axis=0))
    small = np.linalg.qr(np.vstack([R[:, there], rows[:, there]]), mode="r")
    out = np.zeros((max(len(R), len(small)), R.shape[1]))
    out[: len(small), there] = small
    return out


def _undelayed(motion: Motion, delays: Array) -> Motion:
    """The motion with the torque of every joint read later, as a recipe with these delays would."""

    def later(values: Array) -> Array:
        columns = []
        for j, delay in enumerate(delays):
            at = np.clip(motion.t + delay, motion.t[0], motion.t[-1])
            columns.append(interpolant(motion.t, values[:, j], motion.recipe.interpolation)(at))
        return np.column_stack(columns)

    whole = tuple((motion.recipe.delays(motion.n) + delays).tolist())
    return replace(motion, tau=later(motion.tau), tau_raw=later(motion.tau_raw), recipe=replace(motion.recipe, delay=whole))

"""What the Frisch paper simulated, as printed and as its tables arose: models, trajectory, noise, windows, Monte Carlo runs.

Three models of the same arm are needed.  The trajectory was optimised with links of 0.5 m and motor ratios 0.1, and the printed
parameters belong to that model.  Tables 3 and 4 were then made with the regressor of an arm of 1 m links and ratios 4 and 2, reduced
by the paper's Theorem 3 (which is wrong, see `svd_reduction`) with other eliminated parameters, and a tenth of the printed noise of
the motion.  The torques are products of the same wrong matrix, so that nothing contradicts itself on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
import yaml
from numpy.typing import NDArray

from inertica.arrays import Array
from inertica.dynamics.engine import Engine
from inertica.dynamics.tsqr import Stacked
from inertica.errors import FileError, InputError
from inertica.estimators.frisch.recursive import Bbrf
from inertica.estimators.frisch.scheme import Scheme
from inertica.estimators.frisch.selection import selected, within
from inertica.excitation.splines import QuinticPoints
from inertica.excitation.swarm import Descent
from inertica.excitation.trajectory import Samples
from inertica.identifiability.base import regrouping, triangle
from inertica.identifiability.states import random_states
from inertica.reproduce.rows import Row, Sheet
from inertica.robot.description import Description
from inertica.robot.files import catalog_path
from inertica.robot.formats.dh_read import describe
from inertica.robot.yamlfile import parse_yaml
from inertica.threads import one_thread

KEYS = ("beta1", "beta2", "mu1", "mu2", "Im2", "p6", "p7", "p8", "p9")

MATCHING, RIGHT_MODEL, ALL_ROWS, PRINTED_NOISE = (
    "as the tables arose",
    "right model",
    "right model, all rows",
    "right model, printed noise",
)
QUANTITIES = ("least vertex", "largest vertex", "selected", "absolute error")
RIGHT = {"cost": 20.697275, "cond": 10.8907, "sigma_max": 72.8038, "sigma_min": 6.6850}
"""Table 2 of the authors' points with the right regressor."""

ROBOT = "planar2"
ALONE = ("Fv1", "Fv2", "Fc1", "Fc2", "Im2")
"""Parameters that are identifiable alone, in the order of the tables; the authors bound the lower ends of these by zero."""

COMBINED = ("M1", "MX1", "ZZ1", "Im1", "M2", "MX2", "ZZ2")
WINDOW = 1000
RATE, SAMPLES, POINTS = 50.0, 4951, 100
STEP = 50
"""Rows between recorded bounds, for Figure 3."""

MOST_DROPPED = 20
"""Runs that the authors' rule may drop for each that it keeps."""

SHOWN = 30.0
"""Seconds of torque in Figure 4."""


@dataclass(frozen=True, eq=False)
class FrischModel:
    """The arm with its nine base parameters, in the order of the tables.

    Args:
        description: geometry and motors.
        eliminated: of COMBINED, regrouped.
        theorem3: reduced regressor as the paper prints it, Gamma_l1 - Gamma_l2 T'; the kept columns alone when not.
    """

    description: Description
    eliminated: tuple[str, ...] = ("M1", "Im1", "M2")
    theorem3: bool = False

    @classmethod
    def of(cls, lengths: Sequence[float], ratios: Sequence[float], eliminated: tuple[str, ...], theorem3: bool) -> FrischModel:
        """The catalog's arm with other link lengths and motor ratios."""
        path = catalog_path(ROBOT)
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
        first, second = (float(r) for r in ratios)
        document["dh"]["a"] = [float(a) for a in lengths]
        document["terms"][0]["formula"] = f"{first**2}*ddq1"
        document["terms"][1]["torque"] = {1: f"{second}*ddq2", 2: f"{second}*ddq1 + {second**2}*ddq2"}
        return cls(describe(parse_yaml(yaml.safe_dump(document), path)), eliminated, theorem3)

    @property
    def kept(self) -> tuple[str, ...]:
        return tuple(n for n in COMBINED if n not in self.eliminated)

    @cached_property
    def engine(self) -> Engine:
        return Engine(self.description.layout)

    @cached_property
    def regroup(self) -> Array:
        """(kept, eliminated) coefficients K: theta_d = theta_kept + K theta_eliminated."""
        layout = self.description.layout
        names = [*ALONE, *self.kept]
        states = random_states(layout, seed=0)
        retained, gone = (np.array([layout.index(n) for n in group], np.intp) for group in (names, self.eliminated))
        return regrouping(triangle(layout, states), retained, gone)[len(ALONE) :]

    def rows(self, motion: Samples) -> Array:
        """(2 m, 9) reduced regressor, joint by joint within each sample."""
        layout = self.description.layout
        Y = self.engine.regressor(*motion).reshape(-1, layout.size)
        alone, retained, gone = (Y[:, [layout.index(n) for n in names]] for names in (ALONE, self.kept, self.eliminated))
        return np.hstack([alone, retained + gone @ self.regroup.T if self.theorem3 else retained])

    def truth(self) -> Array:
        """(9,) base parameters of the description's values."""
        prior = self.description.prior
        alone, retained, gone = (np.array([prior[n] for n in names]) for names in (ALONE, self.kept, self.eliminated))
        return np.concatenate([alone, retained + self.regroup @ gone])


def right_model() -> FrischModel:
    """Links of 0.5 m, ratios 0.1, kept columns."""
    return FrischModel.of((0.5, 0.5), (0.1, 0.1), ("M1", "Im1", "M2"), theorem3=False)


def optimised_model() -> FrischModel:
    """The same arm with the regressor of Theorem 3, which Table 2 was optimised with."""
    return FrischModel.of((0.5, 0.5), (0.1, 0.1), ("M1", "Im1", "M2"), theorem3=True)


def tables_model() -> FrischModel:
    """What Tables 3 and 4 were computed with."""
    return FrischModel.of((1.0, 1.0), (4.0, 2.0), ("M1", "ZZ1", "MX2"), theorem3=True)


def read_points(path: str) -> tuple[Samples, Samples]:
    """The 100 optimised points and the noise draw of psi: below a heading the columns q, dq, ddq, then the noise of each."""
    try:
        z = np.loadtxt(path, delimiter=",", skiprows=1)
    except (OSError, ValueError) as error:
        raise FileError(
            Path(path), f"the points cannot be read ({error}); expected 12 columns of numbers below a heading"
        ) from None
    if z.ndim != 2 or z.shape != (POINTS, 12):
        raise FileError(
            Path(path), f"holds a table of the shape {z.shape}; expected {POINTS} points of 12 columns: q, dq, ddq, noise"
        )
    return Samples(*np.split(z[:, :6], 3, axis=1)), Samples(*np.split(z[:, 6:], 3, axis=1))


def trajectory_through(points: Samples) -> QuinticPoints:
    """Quintic polynomials, one second between points."""
    return QuinticPoints(np.arange(float(len(points.q))), *points, rest=False)


@dataclass(frozen=True)
class FrischCase:
    """One experiment.

    Args:
        name: of it.
        model: regressor of torques and fits.
        noise: standard deviations of q, dq, ddq, tau.
        authors_rule: windows as in the authors' code: one row more, only the first half of the rows, lower bounds of the first five
            parameters from the box of all data, and runs dropped whose box of all data misses a true value.
    """

    name: str
    model: FrischModel
    noise: tuple[float, ...]
    authors_rule: bool


@dataclass(frozen=True, eq=False)
class Outcome:
    """Monte Carlo runs of one case; arrays begin with the run.

    Args:
        case: which.
        truth: (9,).
        vertex_lower, vertex_upper: (runs, 9) box of all data.
        lower, upper: (runs, 9) box of `Bbrf`.
        selected: (runs, 9) point chosen by (24).
        least_squares: (runs, 9) the vertex with all noise on the torque.
        premise: (runs,) whether Kalman's condition holds.
        relations: (runs,) relations that some noise allows at once; 1 where the condition holds.
        refused: (runs,) share of windows that contradicted those before.
        dropped: runs that the authors' rule left out.
        path: (k, 2, 9, 3) mean, least and largest of the bounds over the runs while rows come in, and rows behind each of the k.
        torque: t, mean measured and mean reconstructed torque (m, 2), least and largest absolute error (m, 2).
    """

    case: FrischCase
    truth: Array
    vertex_lower: Array
    vertex_upper: Array
    lower: Array
    upper: Array
    selected: Array
    least_squares: Array
    premise: NDArray[np.bool_]
    relations: NDArray[np.intp]
    refused: Array
    dropped: int
    path: tuple[Array, Array]
    torque: tuple[Array, Array, Array, Array, Array]

    @property
    def runs(self) -> int:
        return len(self.selected)

    @property
    def error(self) -> Array:
        return np.abs(self.selected - self.truth)

    def against_least_squares(self) -> Array:
        """(9,) mean absolute error of the selected point over that of least squares."""
        return np.asarray(self.error.mean(axis=0) / np.abs(self.least_squares - self.truth).mean(axis=0))

    def covered(self) -> NDArray[np.bool_]:
        """(runs, 9) whether the final box holds the true value."""
        return (self.lower <= self.truth) & (self.truth <= self.upper)


@dataclass(eq=False)
class _Gathered:
    """Runs as they come in."""

    lists: dict[str, list[Array]] = field(default_factory=dict)
    path: list[Array] = field(default_factory=list)
    torque: list[tuple[Array, Array]] = field(default_factory=list)

    def add(self, **values: object) -> None:
        for name, value in values.items():
            self.lists.setdefault(name, []).append(np.asarray(value))

    def array(self, name: str) -> Array:
        return np.array(self.lists[name])


def monte_carlo(case: FrischCase, trajectory: QuinticPoints, runs: int, seed: int, say: Callable[[str], None]) -> Outcome:
    """The runs of a case; those with the same seed share their noise, whatever the case."""
    t = np.arange(SAMPLES) / RATE
    motion = trajectory(t)
    clean = case.model.rows(motion)
    truth = right_model().truth()
    torque, got, dropped, draw = clean @ truth, _Gathered(), 0, 0
    while len(got.path) < runs:
        rng = np.random.default_rng([seed, draw])
        draw += 1
        X = _data(case, motion, torque, rng)
        with one_thread():
            R = np.asarray(np.linalg.qr(X, mode="r"))
        scheme = Scheme.of_factor(R)
        if case.authors_rule and not np.all((scheme.lower <= truth) & (truth <= scheme.upper)):
            dropped += 1
            if dropped > MOST_DROPPED * runs:
                raise InputError(f"{case.name}: on this trajectory the box of all data misses a true value in almost every run")
            continue
        bbrf, path = _bounds(case, X, scheme)
        stacked = Stacked(R[:-1, :-1], -R[:-1, -1], abs(float(R[-1, -1])))
        theta, _ = selected(stacked, "norm", within(bbrf.lower, bbrf.upper))
        shown = X[: 2 * int(SHOWN * RATE)]
        got.path.append(path)
        got.torque.append((-shown[:, -1].reshape(-1, 2), (shown[:, :-1] @ theta).reshape(-1, 2)))
        got.add(vl=scheme.lower, vu=scheme.upper, lower=bbrf.lower, upper=bbrf.upper, selected=theta, ols=scheme.vertices[-1])
        got.add(premise=scheme.simplex_holds, relations=1 if scheme.simplex_holds else scheme.relations.count)
        got.add(refused=bbrf.refused / max(bbrf.windows, 1))
        if len(got.path) % 25 == 0:
            say(f"{case.name}: run {len(got.path)} of {runs}")
    return _outcome(case, truth, got, dropped, t)


def _data(case: FrischCase, motion: Samples, torque: Array, rng: np.random.Generator) -> Array:
    """[W, -tau] of the noisy motion and the noisy torque."""
    noisy = Samples(*(x + s * rng.standard_normal(x.shape) for x, s in zip(motion, case.noise[:3], strict=True)))
    measured = torque + case.noise[3] * rng.standard_normal(len(torque))
    return np.column_stack([case.model.rows(noisy), -measured])


def _bounds(case: FrischCase, X: Array, scheme: Scheme) -> tuple[Bbrf, Array]:
    """The box after all rows, and on the way (k, 2, 9)."""
    known = np.where(np.arange(9) < len(ALONE), 0.0, -np.inf)
    window = WINDOW
    if case.authors_rule:
        window, X = WINDOW + 1, X[: SAMPLES + 1]
        known = np.where(np.arange(9) < len(ALONE), np.maximum(0.0, scheme.lower), -np.inf)
    bbrf = Bbrf(9, window, known)
    bbrf.extend(X[:window])
    path = [np.stack([bbrf.lower, bbrf.upper])]
    for first in range(window, len(X), STEP):
        bbrf.extend(X[first : first + STEP])
        path.append(np.stack([bbrf.lower, bbrf.upper]))
    return bbrf, np.array(path)


def _outcome(case: FrischCase, truth: Array, got: _Gathered, dropped: int, t: Array) -> Outcome:
    path = np.array(got.path)
    seen = np.stack([path.mean(axis=0), path.min(axis=0), path.max(axis=0)], axis=-1)
    window = WINDOW + int(case.authors_rule)
    rows = window + STEP * np.arange(float(path.shape[1]))
    measured, predicted = (np.array(x) for x in zip(*got.torque, strict=True))
    apart = np.abs(measured - predicted)
    return Outcome(
        case,
        truth,
        got.array("vl"),
        got.array("vu"),
        got.array("lower"),
        got.array("upper"),
        got.array("selected"),
        got.array("ols"),
        got.array("premise").astype(bool),
        got.array("relations").astype(np.intp),
        got.array("refused"),
        dropped,
        (rows, seen),
        (t[: measured.shape[1]], measured.mean(axis=0), predicted.mean(axis=0), apart.min(axis=0), apart.max(axis=0)),
    )


@dataclass(frozen=True, eq=False)
class FrischResults:
    """Everything that was found.

    Args:
        swarm, pattern: the two stages of the search for the points.
        samples: points that they found.
        trajectory: that the runs followed.
        outcomes: case -> Monte Carlo runs.
        rows, sheets, about: as in a `Reproduction`.
    """

    swarm: Descent
    pattern: Descent
    samples: Samples
    trajectory: QuinticPoints
    outcomes: Mapping[str, Outcome]
    rows: tuple[Row, ...]
    sheets: tuple[Sheet, ...]
    about: tuple[str, ...]

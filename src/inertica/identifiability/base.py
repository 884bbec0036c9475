"""Base parameters: the smallest set of combinations of standard parameters that the torques depend on.

The stacked regressor W (rows: samples times joints) of a robot has dependent columns.  With the kept columns W_k and the others
W_e = W_k K,

    tau = W chi = W_k beta,    beta = chi_k + K chi_e = T chi

(survey, eqs. 11-13).  W_k is a plain selection of columns; which ones is a convention.  Here the columns are taken one after
the other, a column is kept when it is independent of those before it, and the parameters that the field regroups by habit
come last, so that the result does not depend on a random draw and reads like the closed-form rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import solve_triangular

from inertica.arrays import Array
from inertica.dynamics.arrays import array_regressor, is_large
from inertica.dynamics.equations import plain_regressor
from inertica.errors import InputError
from inertica.identifiability import relations
from inertica.identifiability.states import States, random_states
from inertica.robot import inertia
from inertica.robot.layout import Layout
from inertica.robot.model import Joint, Robot
from inertica.robot.natural import NaturalUnits
from inertica.threads import one_thread

if TYPE_CHECKING:
    from inertica.dynamics.engine import Engine
    from inertica.dynamics.kernels import Target

Indices = NDArray[np.intp]

Rows = Literal["all", "base", "joints"]

ZERO_COLUMN = 1e-12
"""A column of a body or of its weight, times its parameter's natural unit, below this fraction of the largest is a structural zero."""

NEGLIGIBLE = 1e-7
"""Singular values below this fraction of the largest may belong to the null space."""

CLEAR_GAP = 1e4
"""The null space is told from the rest by a drop of at least this factor."""

ZERO_COEFFICIENT = 1e-10
"""Coefficients of unit-norm columns below this are structural zeros."""

CHUNK = 2000
"""Samples whose regressor is in memory at a time."""

_PREFERRED = ({"ZZ", "MX", "M"}, {"XX", "MY", "M"}, {"YY", "MZ", "M"})  # eliminated first, for a revolute axis along x, y, z
_PREFERRED_PRISMATIC = {"XX", "XY", "XZ", "YY", "YZ", "ZZ"}


@dataclass(frozen=True, eq=False)
class BaseModel:
    """A robot's minimal parametrisation, beta = T chi.

    Args:
        layout: the standard parameters chi.
        retained: indices of the parameters whose columns remain; entry i of beta is named after the i-th of them.
        eliminated: indices of those that act only through combinations and were regrouped.
        no_effect: indices of those that no torque depends on.
        fixed: indices of those the layout marks as known; they are not part of beta, see `known_torque`.
        K: (retained, eliminated), beta = chi[retained] + K chi[eliminated].
        singular: singular values of the stacked regressor with unit-norm columns (without no_effect and fixed), largest = 1.
        gap: ratio of the last singular value counted to the first one not counted (or rounding); infinite when all count.
        states: what the decision was taken on.
        warnings: sentences about doubtful decisions.
    """

    layout: Layout
    retained: Indices
    eliminated: Indices
    no_effect: Indices
    fixed: Indices
    K: Array
    singular: Array
    gap: float
    states: States
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for values in (self.retained, self.eliminated, self.no_effect, self.fixed, self.K, self.singular):
            values.setflags(write=False)

    def __len__(self) -> int:
        return len(self.retained)

    @property
    def rank(self) -> int:
        """Number of base parameters."""
        return len(self.retained)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the kept parameters, which are the names of the base parameters."""
        return tuple(self.layout.names[k] for k in self.retained)

    @cached_property
    def T(self) -> Array:
        """(base, standard) with beta = T chi; zero for parameters without effect and fixed ones."""
        T = np.zeros((len(self.retained), self.layout.size))
        T[np.arange(len(self.retained)), self.retained] = 1.0
        T[:, self.eliminated] = self.K
        T.setflags(write=False)
        return T

    @cached_property
    def engine(self) -> Engine:
        """Compiled dynamics of the layout; simulations work on the base parameters."""
        return engine(self)

    def computed(self, threads: int | None = None, target: Target | None = None) -> BaseModel:
        """The same with an engine of its own; see `engine`."""
        other = copy(self)
        other.__dict__["engine"] = engine(self, threads, target)
        return other

    @cached_property
    def relations(self) -> tuple[str, ...]:
        """One text per base parameter with coefficients in the robot's lengths: `ZZ1 + YY2 + 2*d3*MZ3 + (a3^2 + d3^2)*M3`."""
        if self.layout.robot.loops is not None:  # with other lengths its loops would not close
            return self.numeric_relations
        states = self.states.thinned(CHUNK)

        def regroup(layout: Layout) -> Array:
            return regrouping(triangle(layout, states), self.retained, self.eliminated)

        with one_thread():
            return relations.relations(self.layout, self.retained, self.eliminated, self.K, regroup)

    @cached_property
    def numeric_relations(self) -> tuple[str, ...]:
        """The same with numbers: `ZZ1 + YY2 + 0.07*MZ3 + 0.05185*M3`."""
        return relations.numeric_relations(self.layout, self.retained, self.eliminated, self.K)

    def beta(self, chi: ArrayLike) -> Array:
        """Base parameters of standard parameters; chi (..., P)."""
        values = np.asarray(chi, float)
        return values[..., self.retained] + values[..., self.eliminated] @ self.K.T

    def chi(self, beta: ArrayLike, free: ArrayLike) -> Array:
        """Standard parameters with these base parameters.

        chi[kept] = beta - K chi[eliminated]; eliminated, fixed and ineffective parameters are free and taken from `free` (P,).
        """
        values = np.array(free, float)
        wanted = np.asarray(beta, float)
        if values.shape != (self.layout.size,) or wanted.shape != (self.rank,):
            raise InputError(
                f"{self.layout.robot.name}: expected {self.rank} base and {self.layout.size} standard parameters, "
                f"got shapes {wanted.shape} and {values.shape}"
            )
        values[self.retained] = wanted - self.K @ values[self.eliminated]
        return values

    def reduce(self, Y: ArrayLike) -> Array:
        """The kept columns of a regressor (..., P): tau = reduce(Y) beta + known_torque(Y, chi)."""
        return np.asarray(Y, float)[..., self.retained]

    def known_torque(self, Y: ArrayLike, chi: ArrayLike) -> Array:
        """Torque of the fixed parameters, which beta does not contain."""
        return np.asarray(Y, float)[..., self.fixed] @ np.asarray(chi, float)[self.fixed]

    def classes(self) -> dict[str, str]:
        """Every parameter's class: alone, combined, none or fixed.

        The null space of the regressor is spanned by the columns of [-K; I] on (kept, eliminated).  A zero column of the
        regressor: none.  A zero row of the null space: no change of the others can hide this parameter, alone.  The rest:
        combined.
        """
        out = dict.fromkeys(self.layout.names, "combined")
        label = {"none": self.no_effect, "fixed": self.fixed, "alone": self.retained[~self.K.any(axis=1)]}
        out.update({self.layout.names[k]: name for name, where in label.items() for k in where})
        return out


def engine(base: BaseModel, threads: int | None = None, target: Target | None = None) -> Engine:
    """Compiled dynamics of a layout, whose simulations work on base parameters: fewer inputs, the same motion.

    Args:
        base: the layout with its base parameters; from random states, so that it holds for every motion.
        threads, target: as for `Model`.

    Examples:
        >>> base = ia.base_model(ia.load("scara2").layout)
        >>> states = np.random.default_rng(1).normal(size=(3, 5, 2))
        >>> ia.engine(base).inverse_dynamics(*states, np.ones(base.layout.size)).shape
        (5, 2)
    """
    from inertica.dynamics.engine import Engine, Reduction

    columns = (*base.retained, *base.fixed)
    matrix = np.vstack([base.T, np.eye(base.layout.size)[list(base.fixed)]])
    order = np.argsort(columns)
    return Engine(base.layout, Reduction(tuple(int(columns[i]) for i in order), matrix[order]), threads, target)


def base_model(layout: Layout, *, states: States | None = None, seed: int = 0, rows: Rows = "all") -> BaseModel:
    """The base model of a robot, decided on random states.

    Args:
        layout: robot and terms.
        states: to decide on; random ones when not given.
        seed: of the random states.
        rows: by the torques of all joints, of a floating base (the forces on it) or of the joints it carries.

    Examples:
        >>> base = ia.base_model(ia.load("tx40").layout)
        >>> base.rank
        52
    """
    at = random_states(layout, seed=seed) if states is None else states
    return _decided(layout, at if rows == "all" else replace(at, rows=rows_of(layout.robot, rows)))


def rows_of(robot: Robot, rows: Rows) -> tuple[int, ...]:
    """The joints among which a robot's floating base is told from what it carries."""
    if not robot.floating and rows != "all":
        raise InputError(f"{robot.name} has no floating base whose rows could be told from those of its joints")
    return tuple({"all": range(robot.n), "base": range(robot.driven, robot.n), "joints": range(robot.driven)}[rows])


def base_model_along(layout: Layout, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike) -> BaseModel:
    """The base model that a given motion can determine (Frisch paper, remark 4); arrays (N, n).

    What the motion does not excite at all is lost: it has no effect or joins a combination.  Weak excitation shows in `singular`
    and `gap`, and is left to the uncertainty of the estimate.

    Examples:
        >>> robot = ia.load("tx40")
        >>> q, dq, ddq = np.random.default_rng(1).normal(size=(3, 200, 6))
        >>> ia.base_model_along(robot.layout, q, dq, ddq).rank
        52
    """
    return _decided(layout, States.of(layout, q, dq, ddq))


def triangle(layout: Layout, states: States) -> Array:
    """R of a QR factorisation of the stacked regressor, (rows, P) with at most P rows; chunk by chunk, so of bounded memory."""
    R = np.zeros((0, layout.size))
    regressor = array_regressor if is_large(layout.robot) else plain_regressor
    for start in range(0, len(states), CHUNK):
        part = slice(start, start + CHUNK)
        Y = regressor(layout, states.q[part], states.dq[part], states.ddq[part])
        Y = Y if states.rows is None else Y[:, list(states.rows)]
        R = np.asarray(np.linalg.qr(np.concatenate([R, Y.reshape(-1, layout.size)]), mode="r"))
    if not np.isfinite(R).all():
        bad = next(name for name, column in zip(layout.names, R.T, strict=True) if not np.isfinite(column).all())
        raise InputError(f"{layout.robot.name}: the column of parameter {bad} is not finite at some states; check its formula")
    return R


@dataclass(frozen=True)
class Rank:
    """A numerical rank, the gap that it rests on, and a sentence when it is doubtful."""

    count: int
    gap: float
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns of a regressor that have an effect, scaled to unit norm, and what their singular values say.

    Args:
        index: which parameters they belong to.
        unit: (rows, columns) the scaled columns.
        norm: what they were divided by.
        singular: relative singular values.
        null: (columns, columns - rank) orthonormal basis of the null space of `unit`.
        rank: how many are independent.
    """

    index: Indices
    unit: Array
    norm: Array
    singular: Array
    null: Array
    rank: Rank


def effective_columns(layout: Layout, R: Array) -> Columns:
    """The columns that are neither fixed nor structurally zero, with their rank."""
    norms = np.linalg.norm(R, axis=0)
    weights = np.array([p.kind == "load" for p in layout.parameters])  # of links: zero but for rounding on a vertical axis
    for _, where in layout.bodies:
        weights[where] = True
    natural = NaturalUnits.of(layout, np.zeros(layout.size))
    effort = norms * [
        natural.size(p.unit) for p in layout.parameters
    ]  # of one natural unit: comparable between kg, kg m and kg m^2
    floor = np.where(weights, ZERO_COLUMN * np.max(effort[weights], initial=0.0), 0.0)  # other terms have no cancellation
    free = np.array([not p.fixed for p in layout.parameters])
    index = np.flatnonzero(free & (effort > floor))
    unit = R[:, index] / norms[index]
    if not index.size:
        return Columns(index, unit, norms[index], np.zeros(0), np.zeros((0, 0)), Rank(0, np.inf))
    _, s, Vt = np.linalg.svd(unit, full_matrices=True)
    singular = np.zeros(index.size)
    singular[: len(s)] = s / s[0]
    rank = rank_by_gap(singular)
    return Columns(index, unit, norms[index], singular, Vt[rank.count :].T, rank)


def rank_by_gap(singular: Array) -> Rank:
    """Numerical rank from relative singular values in descending order.

    Structural null directions leave singular values of rounding size, 1e-16 times a modest factor; weakly excited ones are small
    too, but not that small by chance.  So the rank sits at the largest drop among those that end below NEGLIGIBLE, values below
    rounding counting as rounding.  The decision is clear when that drop is CLEAR_GAP or more.  Otherwise the values above
    NEGLIGIBLE count, with a warning.  Counted values below NEGLIGIBLE are mentioned too: weakly determined.
    """
    if singular[-1] > NEGLIGIBLE:
        return Rank(len(singular), np.inf)
    s = np.maximum(singular, np.finfo(float).eps)
    drops = np.where(s[1:] <= NEGLIGIBLE, s[:-1] / s[1:], 0.0)
    count = int(np.argmax(drops)) + 1
    weak = int(np.sum(s[:count] <= NEGLIGIBLE))
    warnings: tuple[str, ...] = ()
    if drops[count - 1] < CLEAR_GAP:
        count = int(np.sum(s > NEGLIGIBLE))
        warnings = (
            f"no clear gap in the singular values: {count} are above {NEGLIGIBLE:g} of the largest, "
            f"the next is only {drops[count - 1]:.3g} times smaller; the base parameters are uncertain",
        )
    elif weak:
        warnings = (f"{weak} of {count} directions have singular values below {NEGLIGIBLE:g} of the largest: weakly determined",)
    return Rank(count, float(drops[count - 1]), warnings)


def elimination_order(layout: Layout) -> list[int]:
    """All parameters in the order in which columns are offered: those to eliminate by preference last.

    A link on a revolute joint prefers to lose YY, MZ, M when the axis is along z; ZZ, MX, M along x; XX, MY, M along y; an
    oblique axis counts as the coordinate axis of its largest component (x before y before z when equal).  A link on a prismatic
    joint prefers to lose its six inertias.  Everything else keeps the layout's order.  Payloads come after all links.
    """
    rank_of = np.zeros(layout.size, int)
    for body, where in layout.bodies:
        is_link = body.suffix == layout.robot.number(body.link)
        preferred = _preferred(layout.robot.joints[body.link])
        rank_of[where] = [int(name in preferred) if is_link else 2 for name in inertia.NAMES]
    return sorted(range(layout.size), key=lambda k: (rank_of[k], k))


def _preferred(joint: Joint) -> set[str]:
    if joint.prismatic:
        return _PREFERRED_PRISMATIC
    return _PREFERRED[int(np.argmax(np.round(np.abs(joint.axis), 9)))]


def independent(columns: Columns, order: Sequence[int]) -> list[int]:
    """Positions of independent columns, taken in the given order of positions.

    A column is kept when what remains of it, orthogonal to those kept before, exceeds the geometric middle of the gap.  A set
    chosen by preference can be worse conditioned than the whole, so when the count is not the rank, other thresholds within the
    gap are tried.
    """
    rank = columns.rank.count
    if rank == len(columns.index):
        return list(order)
    s = np.maximum(columns.singular, np.finfo(float).eps)
    upper, lower = s[rank - 1], s[rank]
    best: list[int] = []
    for threshold in (np.sqrt(upper * lower), *np.geomspace(upper, lower, 13)):
        taken = _taken_in_order(columns.unit, order, float(threshold))
        if not best or abs(len(taken) - rank) < abs(len(best) - rank):
            best = taken
        if len(best) == rank:
            break
    return best


def _taken_in_order(unit: Array, order: Sequence[int], threshold: float) -> list[int]:
    basis = np.zeros((unit.shape[0], min(unit.shape)))
    taken: list[int] = []
    for k in order:
        rest = unit[:, k]
        span = basis[:, : len(taken)]
        for _ in range(2):  # orthogonalised twice: once leaves rounding errors of the size of the condition number
            rest = rest - span @ (span.T @ rest)
        size = np.linalg.norm(rest)
        if size > threshold and len(taken) < basis.shape[1]:
            basis[:, len(taken)] = rest / size
            taken.append(k)
    return taken


def regrouping(R: Array, retained: Indices, eliminated: Indices) -> Array:
    """K with W_e = W_k K by least squares on unit-norm columns; structural zeros are exact zeros."""
    K, _ = _regrouped(R, retained, eliminated)
    return K


def _regrouped(R: Array, retained: Indices, eliminated: Indices) -> tuple[Array, float]:
    """K and the largest residual of an eliminated column, relative to its norm."""
    if not retained.size or not eliminated.size:
        return np.zeros((retained.size, eliminated.size)), 0.0
    retained_norm, eliminated_norm = np.linalg.norm(R[:, retained], axis=0), np.linalg.norm(R[:, eliminated], axis=0)
    A, B = R[:, retained] / retained_norm, R[:, eliminated] / eliminated_norm
    Q, S = np.linalg.qr(A)
    K = solve_triangular(S, Q.T @ B)
    K = K + solve_triangular(S, Q.T @ (B - A @ K))  # one step of refinement
    K = without_dust(K)
    residual = float(np.linalg.norm(B - A @ K, axis=0).max())
    return K * eliminated_norm / retained_norm[:, None], residual


def without_dust(K: Array) -> Array:
    """K of unit-norm columns with structural zeros made exact."""
    return np.where(np.abs(K) < ZERO_COEFFICIENT * np.maximum(1.0, np.abs(K).max(axis=0, initial=0.0)), 0.0, K)


def _decided(layout: Layout, states: States) -> BaseModel:
    """The base model that the regressor at these states implies, with the preference order of columns."""
    with one_thread():  # matrices this small are slower on several threads
        R = triangle(layout, states)
        columns = effective_columns(layout, R)
        position = {int(k): i for i, k in enumerate(columns.index)}
        chosen = independent(columns, [position[k] for k in elimination_order(layout) if k in position])
        retained = np.sort(columns.index[np.array(chosen, int)])
        eliminated = np.setdiff1d(columns.index, retained)
        K, residual = _regrouped(R, retained, eliminated)
    warnings = list(columns.rank.warnings)
    if len(retained) != columns.rank.count:
        warnings.append(
            f"{len(retained)} independent columns were found one by one, but the singular values say {columns.rank.count}"
        )
    if residual > NEGLIGIBLE:
        warnings.append(f"the grouping holds only to {residual:.1g} of a column's norm")
    return assembled(layout, columns, retained, eliminated, K, states, tuple(warnings))


def assembled(
    layout: Layout, columns: Columns, retained: Indices, eliminated: Indices, K: Array, states: States, warnings: tuple[str, ...]
) -> BaseModel:
    """A base model from a choice of columns."""
    fixed = np.flatnonzero([p.fixed for p in layout.parameters])
    no_effect = np.setdiff1d(np.arange(layout.size), np.concatenate([columns.index, fixed]))
    return BaseModel(layout, retained, eliminated, no_effect, fixed, K, columns.singular, columns.rank.gap, states, warnings)

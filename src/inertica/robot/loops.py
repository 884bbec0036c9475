"""Closed loops: dependent joints from the independent ones, with exact derivatives, and which joints are which.

With the errors c(q) of all closures and their Jacobian J = [J_d J_i] over dependent and independent joints,

    q_d:    c(q) = 0                          by Newton's method
    dq_d  = G dq_i,                           G = -J_d^+ J_i
    ddq_d = G ddq_i - J_d^+ c'',              c'' of the motion whose dependent accelerations are zero

and efforts of dependent joints act on the independent ones as tau_i + G' tau_d.  J_d^+ = (J_d' J_d)^-1 J_d' holds as well where
closures say some things twice, as a planar loop in space does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from inertica.errors import InputError
from inertica.robot.jets import Jet, jet
from inertica.robot.model import Closure, Loops, Robot
from inertica.robot.natural import longest_link
from inertica.scalars import Scalar, solve_positive

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Vector = Sequence[Scalar]

ITERATIONS = 30
"""Newton steps at most; near a solution each doubles the number of right digits."""

CLOSED = 1e-10
"""Share of a radian, or of the longest link, that a loop may stay open."""

RANK = 1e-7
"""Singular values below this share of the largest belong to closures that say something twice."""

STEP = 0.25
"""rad, or lengths of the longest link, that independent joints move between poses of which one is solved for from the other."""

FLAT = 0.1
"""Poses nearer to a singular one than this share of the start's distance are no poses to decide on."""

FINE = 0.05
"""Steps, as `STEP`, that do not pass over such poses."""

TRIES = 12
"""Poses at which the number of independent closures is counted."""


def jacobian(robot: Robot, q: Vector) -> tuple[list[Scalar], list[list[Scalar]]]:
    """Errors of all closures, and their derivatives by every joint (rows of errors); zero as a constant where there is none."""
    errors: list[Scalar] = []
    rows: list[list[Scalar]] = []
    for closure in _closures(robot):
        columns, values = closure.columns(robot.joints, q), closure.errors(robot.joints, q)
        errors += values
        rows += [[columns[j][k] if j in columns else 0.0 for j in range(robot.n)] for k in range(len(values))]
    return errors, rows


@dataclass(frozen=True, eq=False)
class Motion:
    """A motion that keeps all loops closed, and how dependent joints follow.

    Args:
        q, dq, ddq: of every joint.
        follow: dependent joint -> {independent joint: G}, without zeros of structure.
    """

    q: list[Scalar]
    dq: list[Scalar]
    ddq: list[Scalar]
    follow: dict[int, dict[int, Scalar]]

    def projected(self, efforts: Sequence[Scalar]) -> list[Scalar]:
        """Efforts of all joints as those of the independent ones; zero on the others."""
        out = list(efforts)
        for d, row in self.follow.items():
            for i, g in row.items():
                out[i] = out[i] + g * efforts[d]
            out[d] = 0.0
        return out


def completed(robot: Robot, q: Vector, dq: Vector, ddq: Vector) -> Motion:
    """The motion of a robot with closed loops, from that of its independent joints, on scalars of any type.

    Positions of dependent joints need only be near: one Newton step is taken, which also makes derivatives by the independent ones
    exact.
    """
    n, loops = robot.n, robot.loops
    if loops is None:
        return Motion(list(q), list(dq), list(ddq), {})
    dependent = loops.dependent
    errors, J = jacobian(robot, q)
    at = list(q)
    for d, step in zip(dependent, _least_squares(J, dependent, errors), strict=True):
        at[d] = at[d] - step
    _, J = jacobian(robot, at)
    touched = [i for i in range(n) if i not in dependent and any(i in c.involved(robot.joints) for c in loops.closures)]
    follow: dict[int, dict[int, Scalar]] = {d: {} for d in dependent}
    for i in touched:
        for d, g in zip(dependent, _least_squares(J, dependent, [row[i] for row in J]), strict=True):
            follow[d][i] = 0.0 - g
    rates, accelerations = list(dq), list(ddq)
    for d in dependent:
        rates[d], accelerations[d] = _sum([follow[d][i] * dq[i] for i in touched]), 0.0
    motion = [Jet(*x) for x in zip(at, rates, accelerations, strict=True)]
    curved = [jet(e).second for closure in loops.closures for e in closure.errors(robot.joints, motion)]
    for d, step in zip(dependent, _least_squares(J, dependent, curved), strict=True):
        accelerations[d] = 0.0 - step
    return Motion(at, rates, accelerations, follow)


def complete(robot: Robot, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike) -> tuple[Array, Array, Array]:
    """The same for arrays (N, n) whose dependent positions are near those that close the loops."""
    q = closed(robot, q)[0]
    motion = completed(robot, *(list(np.asarray(x, float).T) for x in (q, dq, ddq)))
    whole = [np.column_stack([np.broadcast_to(x, len(q)) for x in values]) for values in (motion.q, motion.dq, motion.ddq)]
    return whole[0], whole[1], whole[2]


def project(robot: Robot, q: ArrayLike, efforts: ArrayLike) -> Array:
    """(N, n) efforts of all joints as those of the independent ones, at closed positions (N, n)."""
    q, tau = np.asarray(q, float), list(np.asarray(efforts, float).T)
    zero = [0.0] * robot.n
    values = completed(robot, list(q.T), zero, zero).projected(tau)
    return np.column_stack([np.broadcast_to(x, len(q)) for x in values])


def closed(robot: Robot, q: ArrayLike, moving: Sequence[int] | None = None) -> tuple[Array, Mask]:
    """Positions (N, n) near given ones at which all loops are closed, and (N,) where such were found.

    Args:
        robot: with its loops.
        q: (N, n) to start from.
        moving: joints that may move; the dependent ones by default.
    """
    columns = list(robot.dependent if moving is None else moving)
    q, unit = np.array(q, float), min(1.0, longest_link(robot) or 1.0)
    waiting, done = np.arange(len(q)), np.zeros(len(q), bool)
    for _ in range(ITERATIONS):
        errors, J = _numeric(robot, q[waiting])
        ready = np.abs(errors).max(axis=1, initial=0.0) <= CLOSED * unit
        done[waiting[ready]] = True
        # one more step than needed costs nothing: convergence is quadratic
        step = _steps(J[:, :, columns], errors, unique=moving is None)
        largest = np.abs(step).max(axis=1, initial=0.0, keepdims=True)
        step *= np.minimum(1.0, 1.0 / np.maximum(largest, 1e-300))  # not further than a radian at a time
        q[waiting[:, None], columns] -= step
        waiting = waiting[~ready & np.isfinite(step).all(axis=1)]
        if not len(waiting):
            break
    return q, done


def _steps(J: Array, errors: Array, unique: bool) -> Array:
    """(N, columns) least squares; `unique` where only singular poses leave several solutions, of which the shortest counts."""
    if unique:
        A = np.swapaxes(J, 1, 2) @ J
        size = np.trace(A, axis1=1, axis2=2)[:, None, None]
        regular = A + np.finfo(float).eps * size * np.eye(J.shape[2])
        return np.asarray(np.linalg.solve(regular, np.swapaxes(J, 1, 2) @ errors[:, :, None])[:, :, 0])
    return np.asarray(np.einsum("kde,ke->kd", np.linalg.pinv(J, rcond=RANK), errors))


def follow(robot: Robot, q: ArrayLike) -> tuple[Array, Mask]:
    """Closed positions along a record, and (N,) where such were found.

    Args:
        robot: with its loops.
        q: (N, n); dependent joints start from their values where these are finite, elsewhere from the nearest earlier pose.
    """
    q = np.array(q, float)
    dependent, unit = list(robot.dependent), _units(robot)
    ind = list(robot.independent)
    measured = np.isfinite(q[:, dependent]).all(axis=1)
    usable = np.isfinite(q[:, ind]).all(axis=1)
    lost = np.flatnonzero(usable & ~measured)
    last = np.array(robot.loops.start) if robot.loops is not None else np.zeros(robot.n)
    k = 0
    while k < len(lost):
        last = _walked(robot, last, q[lost[k]], ind, unit)
        away = np.abs(q[lost[k:]][:, ind] - last[ind]) / unit[ind]
        far = np.flatnonzero(away.max(axis=1, initial=0.0) > STEP)
        stuck = len(far) and not far[0]  # loops do not close there: what comes after is not worth a search
        end = k + int(far[0]) if len(far) and not stuck else len(lost)
        q[lost[k:end, None], dependent] = last[dependent]
        k = end
    done = np.zeros(len(q), bool)
    q[usable], done[usable] = closed(robot, q[usable])
    return q, done


def _walked(robot: Robot, start: Array, target: Array, ind: list[int], unit: Array) -> Array:
    """From one closed pose in small steps to where the independent joints are at a target, as far as loops close."""
    at, way = np.array(start), target[ind] - start[ind]
    steps = int(np.ceil(np.abs(way / unit[ind]).max(initial=0.0) / STEP)) or 1
    for s in range(1, steps + 1):
        trial = at.copy()
        trial[ind] = start[ind] + way * (s / steps)
        near, done = closed(robot, trial[None])
        if not done[0]:
            return at
        at = near[0]
    return at


def spread(robot: Robot, targets: Array) -> tuple[Array, Mask]:
    """Closed poses (N, n) as far on the way from the start to each target as loops close and are not singular, and which arrived."""
    if robot.loops is None:
        return targets, np.ones(len(targets), bool)
    ind = list(robot.independent)
    start = np.array(robot.loops.start)
    unit = _units(robot)
    way = targets[:, ind] - start[ind]
    steps = int(np.ceil(np.abs(way / unit[ind]).max(initial=0.0) / FINE)) or 1
    at, alive = np.tile(start, (len(targets), 1)), np.ones(len(targets), bool)
    least, before = FLAT * _clearness(robot, start[None])[0], _follow(robot, at)
    for s in range(1, steps + 1):
        trial = at[alive]
        trial[:, ind] = start[ind] + way[alive] * (s / steps)
        near, done = closed(robot, trial)
        done &= _clearness(robot, near) >= least
        after, change = _follow(robot, near), near - at[alive]
        mean = 0.5 * np.einsum("kdi,ki->kd", before[alive] + after, change[:, ind])
        # a jump away from the mean of both tangents is a loop that was assembled otherwise
        done &= np.abs(change[:, list(robot.dependent)] - mean).max(axis=1) <= FINE**2
        at[np.flatnonzero(alive)[done]] = near[done]
        before[np.flatnonzero(alive)[done]] = after[done]
        alive[alive] = done
    return at, alive


def _clearness(robot: Robot, q: Array) -> Array:
    """(N,) least singular value of J_d as a share of the largest: zero where dependent joints can move by themselves."""
    size = np.linalg.svd(_numeric(robot, q)[1][:, :, list(robot.dependent)], compute_uv=False)
    return np.asarray(size[:, len(robot.dependent) - 1] / size[:, 0])


def require_tree(robot: Robot, purpose: str) -> None:
    """Refuse closed loops where only the tree would be looked at."""
    if robot.loops is not None:
        names = ", ".join(robot.joint_names[j] for j in robot.dependent[:5]) + (", ..." if len(robot.dependent) > 5 else "")
        raise InputError(
            f"{robot.name}: {purpose} is not for robots with closed loops, in which {names} follow from other joints"
        )


def _follow(robot: Robot, q: Array) -> Array:
    """(N, dependent, independent) how the ones follow the others."""
    J = _numeric(robot, q)[1]
    return -np.linalg.pinv(J[:, :, list(robot.dependent)], rcond=RANK) @ J[:, :, list(robot.independent)]


def with_loops(
    robot: Robot,
    closures: Sequence[Closure],
    passive: Sequence[int] = (),
    likely: Sequence[int] = (),
    start: ArrayLike | None = None,
) -> Robot:
    """The robot with closed loops.

    Args:
        robot: a tree, or one with loops already, which are kept.
        closures: to add.
        passive: joints without drive, by number, all of which follow from the others.
        likely: joints that follow from others before those that are not named.
        start: (n,) positions near which loops close; zero by default, or the middle of the limits that exclude zero.

    Raises:
        InputError: loops do not close, leave nothing that can move, or leave a passive joint free.
    """
    before = () if robot.loops is None else robot.loops.closures
    both = (*before, *closures)
    stated = [c.joint for c in both if hasattr(c, "joint")]
    loose = replace(robot, loops=Loops(both, (), (0.0,) * robot.n))
    at = _start(robot) if start is None else np.array(start, float)
    q, done = closed(loose, at[None], _preferred(robot, [*passive, *likely], both))
    if not done[0]:
        q, done = closed(loose, at[None], range(robot.driven))
    if not done[0]:
        errors, _ = _numeric(loose, q)
        worst, gap = _worst(loose, errors[0])
        raise InputError(
            f"{robot.name}: the loop '{worst.words}' cannot close: {gap:.3g} stays open however its joints are turned; check its "
            "frames and lengths"
        )
    dependent = _chosen(loose, q[0], [*passive, *stated, *likely])
    if free := [robot.joints[j].name for j in passive if j not in dependent]:
        raise InputError(f"{robot.name}: no loop determines the passive joint{'s' * (len(free) > 1)} {', '.join(free)}")
    if len(dependent) == robot.driven:
        raise InputError(f"{robot.name}: its loops leave nothing that can move; {len(dependent)} joints are tied to each other")
    if not dependent:
        raise InputError(f"{robot.name}: its loops tie no joint to another; leave them out")
    return replace(robot, loops=Loops(both, dependent, tuple(q[0].tolist())))


def _start(robot: Robot) -> Array:
    low, high = (np.array(x[: robot.n], float) for x in (robot.limits.lower, robot.limits.upper))
    inside = (low <= 0.0) & (high >= 0.0)
    finite = np.isfinite(low), np.isfinite(high)
    low, high = np.where(finite[0], low, high), np.where(finite[1], high, low)
    ends = np.where(finite[0] | finite[1], (low, high), 0.0)
    middle = 0.5 * ends[0] + 0.5 * ends[1]
    return np.where(inside, 0.0, middle)


def _preferred(robot: Robot, passive: Sequence[int], closures: Sequence[Closure]) -> list[int]:
    """Joints that move first to close loops: the passive ones and those that follow by a relation."""
    return sorted({*passive, *(c.joint for c in closures if hasattr(c, "joint"))}) or list(range(robot.driven))


def _chosen(robot: Robot, start: Array, first: Sequence[int]) -> tuple[int, ...]:
    """Joints that follow from the others: those stated first, then the outer ones, as many as closures determine."""
    rng, unit = np.random.default_rng(0), _units(robot)
    near = start + 0.3 * unit * rng.normal(size=(TRIES, robot.n))
    near[0] = start
    near, done = closed(robot, near, range(robot.driven))
    order = list(dict.fromkeys([*first, *reversed(range(robot.driven))]))
    best: list[int] = []
    _, J = _numeric(robot, near[done])
    for one in J:
        scale = np.abs(one).max(initial=0.0)
        taken: list[int] = []
        basis = np.zeros((len(one), 0))
        for j in order:
            rest = one[:, j] - basis @ (basis.T @ one[:, j])
            rest = rest - basis @ (basis.T @ rest)
            if np.linalg.norm(rest) > 1e-6 * scale:
                basis = np.column_stack([basis, rest / np.linalg.norm(rest)])
                taken.append(j)
        best = taken if len(taken) > len(best) else best
    return tuple(sorted(best))


def _worst(robot: Robot, errors: Array) -> tuple[Closure, float]:
    """The closure that stays open most, and how far, in rad or m."""
    closures, sizes = _closures(robot), []
    first = 0
    for closure in closures:
        count = len(closure.errors(robot.joints, [0.0] * robot.n))
        sizes.append(float(np.abs(errors[first : first + count]).max(initial=0.0)))
        first += count
    return closures[int(np.argmax(sizes))], max(sizes)


def gap(robot: Robot, q: ArrayLike) -> tuple[str, float]:
    """The loop that stays open most at positions (n,), in words, and how far in rad or m."""
    worst, size = _worst(robot, _numeric(robot, np.asarray(q, float)[None])[0][0])
    return worst.words, size


def _closures(robot: Robot) -> tuple[Closure, ...]:
    return () if robot.loops is None else robot.loops.closures


def _numeric(robot: Robot, q: Array) -> tuple[Array, Array]:
    """(N, errors) and (N, errors, n)."""
    errors, rows = jacobian(robot, list(q.T))
    out = np.empty((len(q), len(rows), robot.n))
    for k, row in enumerate(rows):
        for j, value in enumerate(row):
            out[:, k, j] = value
    return np.stack([np.broadcast_to(e, len(q)) for e in errors], axis=1), out


def _least_squares(J: Sequence[Sequence[Scalar]], columns: Sequence[int], b: Vector) -> list[Scalar]:
    """J_d^+ b for the columns J_d."""
    A = [[row[j] for j in columns] for row in J]
    normal = [[_sum([row[i] * row[j] for row in A]) for j in range(len(columns))] for i in range(len(columns))]
    return solve_positive(normal, [_sum([row[i] * e for row, e in zip(A, b, strict=True)]) for i in range(len(columns))])


def _sum(values: Sequence[Scalar]) -> Scalar:
    total: Scalar = 0.0
    for value in values:
        total = total + value
    return total


def _units(robot: Robot) -> Array:
    """(n,) a radian, or the longest link on sliding joints."""
    length = longest_link(robot) or 1.0
    return np.array([length if joint.prismatic else 1.0 for joint in robot.joints])

"""What makes drive gains absolute, or ties them to each other, where no load of known mass was carried.

Torques K i = W beta stay true when gains and masses are multiplied by one factor: no record of currents has a kilogram in it.  A
statement is linear in (g, theta), g = 1 / K (`estimators.gains.Statements`):

`Weighed`      the weight of everything beyond a joint turns it with a known torque: G(pose) beta = b
`TrustedLink`  the ten parameters of one link are those of the model: what base parameters say of that link alone
`Alike`        gains of some joints are the same, but for their signs
`Twice`        records with one load, and with two of the kind: M2 = 2 M1

The last two have no kilogram either; the common factor remains free with them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Protocol

import numpy as np

from inertica.arrays import Array
from inertica.errors import InputError
from inertica.estimators.gains import MASS, GainProblem, Statements, start_from_model
from inertica.identifiability.base import BaseModel
from inertica.robot import inertia
from inertica.robot.layout import Parameters
from inertica.robot.model import Robot
from inertica.robot.natural import NaturalUnits

EXACT = 1e-6
"""Relative standard deviation of what counts as exact beside what is measured."""

ACCURACY = 0.01
"""Relative standard deviation of a statement of which the user says nothing else."""

LOST = 1e-9
"""Singular value of a matrix with unit columns below which a direction is rounding."""

Rows = tuple[Array, Array, Array]
"""(k, n + q) rows of a statement, (k,) values and (k, k) covariance."""


class Knowledge(Protocol):
    """A statement: whether it has a kilogram in it, and its rows for a problem."""

    absolute: ClassVar[bool]

    def rows(self, problem: GainProblem, at: Start) -> Rows:
        """Rows near a solution."""
        ...


@dataclass(frozen=True, eq=False)
class Start:
    """Where statements are worked out.

    Args:
        values: of the robot's model.
        scale: (n,) what currents were multiplied by.
        g: (n,) 1 / K near the solution, relative to the scale.
        theta: parameters near the solution.
    """

    values: Parameters
    scale: Array
    g: Array
    theta: Array


@dataclass(frozen=True)
class Weighed:
    """A scale under the arm, or a part that was weighed and balanced: so many kg at a point of a link turn the joint as much as
    everything beyond it.

    Args:
        joint: name, or 1-based number.
        mass: kg.
        at: where, in the frame of the link that the joint moves, in m.
        pose: (n,) positions of all joints; zeros when not given.
        accuracy: relative standard deviation of the torque.

    Examples:
        >>> known = [ia.Weighed(joint=2, mass=12.4, at=(0.6, 0, 0))]
    """

    absolute: ClassVar[bool] = True

    joint: int | str
    mass: float
    at: tuple[float, float, float]
    pose: tuple[float, ...] | None = None
    accuracy: float = ACCURACY

    def rows(self, problem: GainProblem, at: Start) -> Rows:
        base = problem.sets[0].system.base
        robot, layout = base.layout.robot, base.layout
        j = robot.joint_index(self.joint)
        pose = np.zeros(robot.n) if self.pose is None else np.asarray(self.pose, float)
        if pose.shape != (robot.n,) or not np.isfinite(pose).all():
            raise InputError(f"the pose of what was weighed should have {robot.n} positions, one for each joint of {robot.name}")
        still, shapes = np.zeros((1, robot.n)), problem.sets[0].system.shapes
        row = base.reduce(base.engine.regressor(pose[None], still, still, shapes))[0, j]
        # at rest the drive is off, and friction and offsets of the current are not in the weight
        row = np.where(problem.friction.any(axis=1), 0.0, row)
        chi = np.zeros(layout.size)
        chi[layout.link(j)] = inertia.from_com(self.mass, self.at, np.zeros((3, 3)))
        torque = float(base.engine.inverse_dynamics(pose[None], still, still, chi, shapes)[0, j])
        size = NaturalUnits.of(layout, at.values.values).length * self.mass * float(np.linalg.norm(robot.gravity))
        if abs(torque) <= EXACT * size:
            reason = f"{self.mass:g} kg at that point of its link do not turn joint {j + 1} in that pose; state another"
            raise InputError(reason)
        spread = max(self.accuracy, EXACT) * abs(torque)
        return _on_theta(problem, row[None]), np.array([torque]), np.array([[spread**2]])


@dataclass(frozen=True)
class TrustedLink:
    """A link whose ten parameters are those of the model.

    Args:
        joint: name or 1-based number of the joint that moves it.
        accuracy: standard deviation of its parameters, relative to its mass and size.

    Examples:
        >>> known = [ia.TrustedLink(joint=6, accuracy=0.02)]
    """

    absolute: ClassVar[bool] = True

    joint: int | str
    accuracy: float = ACCURACY

    def rows(self, problem: GainProblem, at: Start) -> Rows:
        base = problem.sets[0].system.base
        j = base.layout.robot.joint_index(self.joint)
        ten = at.values.on(base.layout).link(j)
        if not inertia.physically_consistent(ten):
            raise InputError(
                f"the model's values of link {j + 1} are those of no body, not to be trusted; state others in the model"
            )
        N = alone(base, j)
        if not len(N):
            reason = (
                f"no torque depends on link {j + 1} alone, only on sums with links whose values are unknown; trust another one"
            )
            raise InputError(reason)
        of_link = N @ base.T[:, base.layout.link(j)]
        spread = of_link * (max(self.accuracy, EXACT) * link_sizes(ten))
        return _on_theta(problem, N), of_link @ ten, spread @ spread.T


@dataclass(frozen=True)
class Alike:
    """Joints with the same drive: the same motor, reduction and amplifier.  Their gains may differ in sign.

    Args:
        joints: names or 1-based numbers, two at least.
        accuracy: relative standard deviation of the difference of two gains.

    Examples:
        >>> known = [ia.Alike((4, 5, 6))]
    """

    absolute: ClassVar[bool] = False

    joints: tuple[int | str, ...]
    accuracy: float = ACCURACY

    def rows(self, problem: GainProblem, at: Start) -> Rows:
        robot: Robot = problem.sets[0].system.base.layout.robot
        places = [robot.joint_index(joint) for joint in self.joints]
        if len(set(places)) < 2:
            raise InputError("joints with the same drive should be two different ones at least")
        A = np.zeros((len(places) - 1, problem.n + problem.size))
        inverse = at.g / at.scale
        for row, j in zip(A, places[1:], strict=True):
            first = places[0]
            row[first] += np.sign(inverse[first]) / at.scale[first]
            row[j] -= np.sign(inverse[j]) / at.scale[j]
        # every gain has a part of its own; the usual size is that of the starts
        usual = max(self.accuracy, EXACT) / np.sqrt(2.0) * float(np.median(np.abs(inverse[places])))
        return A, np.zeros(len(A)), usual**2 * (np.eye(len(A)) + np.ones((len(A), len(A))))


@dataclass(frozen=True)
class Twice:
    """Records with one load and with two of the same kind; nothing else is known of them.

    Args:
        one, two: names of the loads of these records.
        accuracy: relative standard deviation of the equality.
    """

    absolute: ClassVar[bool] = False

    one: str
    two: str
    accuracy: float = EXACT

    def rows(self, problem: GainProblem, at: Start) -> Rows:
        row = np.zeros((1, problem.n + problem.size))
        for name, factor in ((self.one, -2.0), (self.two, 1.0)):
            if problem.loads[name].known.any():
                raise InputError(
                    f"something of the load '{name}' is known; loads of which nothing is known can be stated to be equal"
                )
            row[0, problem.n + problem.places[name].start + MASS] = factor
        mass = float(at.theta[problem.places[self.one]][MASS])
        return row, np.zeros(1), np.array([[(max(self.accuracy, EXACT) * mass) ** 2]])


def stated(problem: GainProblem, knowledge: tuple[Knowledge, ...], at: Start, reference: int | None) -> GainProblem:
    """The problem with what is known.

    Args:
        problem: records and loads.
        knowledge: statements.
        at: where they are worked out.
        reference: joint whose gain stays where it begins, as nothing else says how large gains are; None if something does.
    """
    blocks = [one.rows(problem, at) for one in knowledge]
    if reference is not None:
        row = np.zeros((1, problem.n + problem.size))
        row[0, reference] = 1.0
        blocks.append((row, at.g[[reference]], np.array([[(EXACT * at.g[reference]) ** 2]])))
    if not blocks:
        return problem
    A, b = [], []
    for rows, values, covariance in blocks:
        whitening = _whitening(covariance)
        A.append(whitening @ rows)
        b.append(whitening @ values)
    return replace(problem, statements=Statements(np.vstack(A), np.concatenate(b)))


def alone(base: BaseModel, link: int) -> Array:
    """(k, b) combinations of base parameters that depend on one link only."""
    others = np.delete(base.T, np.arange(base.layout.link(link).start, base.layout.link(link).stop), axis=1)
    size = np.linalg.norm(others, axis=1)
    size[size == 0.0] = 1.0  # a base parameter of this link alone
    unit = others / size[:, None]
    width = np.linalg.norm(unit, axis=0)
    width[width == 0.0] = 1.0
    U, s, _ = np.linalg.svd(unit / width)
    rank = int(np.count_nonzero(s > LOST * s.max(initial=0.0)))
    N = U[:, rank:].T / size
    felt = np.linalg.norm(N @ base.T[:, base.layout.link(link)], axis=1)
    return np.asarray(N[felt > LOST * np.linalg.norm(N, axis=1)])


def link_sizes(ten: Array) -> Array:
    """(10,) what errors of a link's parameters are relative to: largest inertia, mass times radius of gyration, mass."""
    widest = float(np.max(np.linalg.eigvalsh(inertia.matrix(ten))))
    return np.array([widest] * 6 + [np.sqrt(widest * ten[MASS])] * 3 + [ten[MASS]])


def model_start(problem: GainProblem, values: Parameters) -> tuple[Array, Array]:
    """(n,) 1 / K by the model's links and by friction that brakes, and (n,) how far the links stand out of the noise."""
    base = problem.sets[0].system.base
    kinds = np.array([base.layout.parameters[k].kind for k in base.retained])
    return start_from_model(problem, rigid_part(base, values), kinds[problem.friction.any(axis=1)] != "offset")


def rigid_part(base: BaseModel, values: Parameters) -> Array:
    """(b,) base parameters of links and drives by the model, without friction."""
    known = values.on(base.layout)
    keep = np.array([p.kind in ("inertia", "first_moment", "mass", "armature") for p in base.layout.parameters])
    return base.beta(np.where(keep, known.values, 0.0))


def _on_theta(problem: GainProblem, of_base: Array) -> Array:
    """Rows on the base parameters as rows on all unknowns."""
    out = np.zeros((len(of_base), problem.n + problem.size))
    out[:, problem.n : problem.n + of_base.shape[1]] = of_base
    return out


def _whitening(covariance: Array) -> Array:
    """Rows over their standard deviations, combinations without any left out of the sum as exact ones."""
    size = np.sqrt(np.diag(covariance))
    values, vectors = np.linalg.eigh(covariance / np.outer(size, size))
    # combinations of a link's parameters may have no spread of their own; none counts for more than exact
    values = np.maximum(values, EXACT**2 * values.max())
    return np.asarray((vectors / np.sqrt(values)).T / size)

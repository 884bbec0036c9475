"""What a motion is designed for: everything of a robot, or a load that it carries, given what is known of the robot."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from inertica.dynamics.engine import Engine
from inertica.errors import InputError
from inertica.estimators.load import LoadEquations
from inertica.excitation.criteria import Criterion
from inertica.excitation.optimal import observation
from inertica.excitation.payload import LoadDeterminant
from inertica.excitation.trajectory import Trajectory
from inertica.identifiability.base import BaseModel
from inertica.identifiability.load import load_columns, own_friction
from inertica.robot import inertia
from inertica.robot.description import Description
from inertica.robot.flange import flange
from inertica.robot.layout import Parameters
from inertica.robot.outline import DENSITY, arm_size
from inertica.workflow.identify.result import Result

BALL = 0.05
"""Lengths of the arm; radius of gyration of the load that torque limits are kept with, and least radius of what is kept clear."""


@dataclass(frozen=True, eq=False)
class Purpose:
    """A criterion with what belongs to it.

    Args:
        criterion: what is minimised.
        carrying: the robot, with the load where its mass is stated: its torques must stay inside the limits.
        noise: (n,) standard deviation of each joint's torque; rows are divided by it.
        names: parameters of the load that the criterion looks at; none for a robot.
        known: whether noise and robot are those of a result, so that standard deviations can be expected.
        ball: link, place and radius of a ball that stands for the load where it must not hit anything.
    """

    criterion: Criterion
    carrying: Description
    noise: tuple[float, ...] | None = None
    names: tuple[str, ...] = ()
    known: bool = False
    ball: tuple[int, np.ndarray, float] | None = None

    @classmethod
    def robot(cls, criterion: Criterion, description: Description, robot_from: str | Path | Result | None = None) -> Purpose:
        """For the robot itself; torques are those of the description, or of what a result knows of it."""
        return cls(criterion, description if robot_from is None else known_robot(description, _loaded(robot_from)))

    @classmethod
    def payload(
        cls, description: Description, base: BaseModel, robot_from: str | Path | Result | None = None,
        frame: str | tuple[float, ...] | None = None, mass: float | None = None,
    ) -> Purpose:  # fmt: skip
        """For a load.

        Args:
            description, base: the robot.
            robot_from: a result that says how well the robot is known, and how noisy its torques are.
            frame: of the load, see `robot.flange.flange`.
            mass: of the load in kg, for the torque limits.
        """
        at = flange(description, frame)
        B = load_columns(base, at.body)
        felt = np.linalg.norm(B, axis=0) > 1e-12
        names = tuple(name for name, is_felt in zip(inertia.NAMES, felt, strict=True) if is_felt)
        robot, noise, known = None, _usual_noise(description), False
        if robot_from is not None:
            result = _loaded(robot_from)
            robot, noise, known = _information(result, base), tuple(float(s) for s in result.estimate.sigma), True
        carrying = description if robot_from is None else known_robot(description, result)
        least = BALL * arm_size(description)
        if mass is not None:
            if not mass > 0.0:
                raise InputError(f"the mass of the load should be a number of kg greater than zero, not {mass:g}")
            values = np.array(carrying.prior.values)
            ball = inertia.from_com(mass, np.zeros(3), mass * least**2 * np.eye(3))
            values[carrying.layout.link(at.body.link)] += inertia.change_frame(ball, at.body.rotation, at.body.position)
            carrying = replace(carrying, prior=carrying.prior.with_values(values))
        radius = least if mass is None else max(least, (0.75 * mass / (math.pi * DENSITY)) ** (1.0 / 3.0))
        body = (at.body.link, np.array(at.body.position, float), radius)
        return cls(LoadDeterminant(_independent(B[:, felt]), own_friction(base), robot), carrying, noise, names, known, body)

    def expected(self, engine: Engine, base: BaseModel, trajectory: Trajectory, rate: float) -> dict[str, float]:
        """Standard deviations of the load that a record along a motion would give, white noise; empty when noise is not known."""
        if not self.known or not isinstance(self.criterion, LoadDeterminant):
            return {}
        if self.criterion.columns.shape[1] < len(self.names):
            return {}
        t = np.arange(round(trajectory.period * rate)) / rate
        (M,) = observation(engine, base, noise=self.noise).grams(trajectory(t), 1)
        std = np.sqrt(np.diag(np.linalg.inv(self.criterion.information(M))))
        return {name: float(s) for name, s in zip(self.names, std, strict=True)}


def known_robot(description: Description, result: Result) -> Description:
    """The robot with masses, drive inertia and friction that a result found, inside the limits that the description states."""
    parameters, names = result.parameters, description.robot.joint_names
    if result.description.robot.joint_names != names:
        theirs = ", ".join(result.description.robot.joint_names)
        raise InputError(f"the result is of another robot: it has the joints {theirs}, {description.name} has {', '.join(names)}")
    robot = replace(parameters.layout.robot, limits=description.robot.limits)
    layout = replace(parameters.layout, robot=robot)
    prior = Parameters(layout, parameters.values, parameters.shapes, parameters.origin)
    return replace(description, robot=robot, layout=layout, prior=prior)


def _loaded(result: str | Path | Result) -> Result:
    return result if isinstance(result, Result) else Result.load(result)


def _usual_noise(description: Description) -> tuple[float, ...] | None:
    """In proportion to torque limits, as drives of a size are noisy alike; None where a limit is not known."""
    limits = description.robot.limits.torque
    return tuple(float(x) / max(limits) for x in limits) if all(math.isfinite(x) and x > 0.0 for x in limits) else None


def _independent(B: np.ndarray) -> np.ndarray:
    """Columns that span the same: of an arm that does not tell all parameters of a load apart, as many as it does."""
    U, s, _ = np.linalg.svd(B, full_matrices=False)
    rank = int(np.count_nonzero(s > 1e-9 * s[0]))
    return B if rank == B.shape[1] else np.asarray(U[:, :rank] * s[:rank])


def _information(result: Result, base: BaseModel) -> np.ndarray:
    """(b, b) on the base parameters; those of friction that the description does not have are left out, new ones are not known."""
    estimate = result.estimate
    place = {name: k for k, name in enumerate(base.names)}
    if missing := [
        n
        for n, k in zip(estimate.base.names, estimate.base.retained, strict=True)
        if n not in place and _inertial(estimate.base, int(k))
    ]:
        raise InputError(f"the result is of another robot: {base.layout.robot.name} has no base parameter {missing[0]}")
    shared = [(k, place[n]) for k, n in enumerate(estimate.base.names) if n in place]
    theirs, ours = ([pair[i] for pair in shared] for i in (0, 1))
    stated = LoadEquations.stated(np.zeros(len(theirs)), estimate.needed_covariance[np.ix_(theirs, theirs)])
    out = np.zeros((base.rank, base.rank))
    out[np.ix_(ours, ours)] = stated.R.T @ stated.R
    return out


def _inertial(base: BaseModel, k: int) -> bool:
    return base.layout.parameters[k].kind in ("inertia", "first_moment", "mass", "armature")

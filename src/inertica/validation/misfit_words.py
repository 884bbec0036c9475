"""Errors of the model in words: how large, at which joint, and what would settle it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inertica.arrays import Array
from inertica.estimators.base import Estimate, Problem
from inertica.estimators.intervals import standard_parameters
from inertica.logs.log import Log
from inertica.robot.layout import Parameters
from inertica.robot.model import Robot
from inertica.validation.compliance import fast_compliance
from inertica.validation.model_errors import Direction
from inertica.validation.ripple import Wave

MISFITS = {
    "position": "position (ripple)",
    "velocity": "velocity (friction law)",
    "load": "load (friction under load)",
    "time": "time (drift of friction)",
    "reversal": "reversal (hysteresis)",
    "elasticity": "high frequency (elasticity)",
    "tilt": "gravity (lean)",
    "length": "geometry (length)",
    "delay": "rate of torque (delay)",
}
"""Families of model errors for tables."""


@dataclass(frozen=True, eq=False)
class MisfitScales:
    """What sizes are measured by.

    Args:
        parameters: of the estimate.
        torque: (n,) root mean square torque.
        largest: (n,) largest torque.
    """

    parameters: Parameters
    torque: Array
    largest: Array

    @classmethod
    def of(cls, problem: Problem, estimate: Estimate) -> MisfitScales:
        layout = problem.base.layout
        prior = problem.prior if problem.prior is not None else layout.zeros()
        tau = np.concatenate([m.tau[~m.mask] for m in problem.motions])
        values = Parameters(layout, standard_parameters(estimate, prior), prior.shapes, "identified")
        return cls(values, np.sqrt(np.mean(tau**2, axis=0)), np.abs(tau).max(axis=0))

    def unit(self, j: int) -> str:
        return self.parameters.layout.robot.joints[j].effort_unit

    def coordinate(self, j: int) -> str:
        return self.parameters.layout.robot.joints[j].unit

    def friction(self, kind: str, j: int) -> float | None:
        """The identified friction of a kind on a joint; None when the model has none there."""
        entries = zip(self.parameters.layout.parameters, self.parameters.values, strict=True)
        values = [abs(float(value)) for p, value in entries if p.kind == kind and p.joint == j]
        return max(values) if values and max(values) > 0.0 else None

    def untestable(self, family: str) -> str:
        """Why a family has no direction to test."""
        return {
            "tilt": "gravity does not load any joint of this motion",
            "length": "the torques do not depend on a distance between joints",
            "load": "gravity loads no joint by different amounts",
            "position": "no joint moves",
        }.get(family, "the parameters explain all that such an error would do")


def measured(family: str, which: Direction | Wave, size: float, case: MisfitScales) -> str:
    """The size of an error in words."""
    j = which.joint if which.joint is not None else 0
    if isinstance(which, Wave):
        return _ripple(which, size, case)
    match family:
        case "time":
            return _drift(which, size, case)
        case "load":
            return f"friction of {100.0 * size:.2g} % of the gravity load"
        case "velocity":
            return _velocity(which, size, case)
        case "reversal":
            return f"hysteresis of {100.0 * abs(size):.2g} % of the torque's range"
        case "elasticity":
            return _deflection(abs(size) * float(case.largest[j]), case.coordinate(j))
        case "tilt":
            return f"a lean of {np.rad2deg(abs(size)):.2g} degrees {which.what}"
        case "length":
            return f"{100.0 * abs(size):.2g} % {'longer' if size > 0.0 else 'shorter'} than stated"
        case _:
            return f"a torque {1e3 * abs(size):.2g} ms {'late' if size > 0.0 else 'early'}"


def finding(family: str, joint: int | None, size: str, also: bool = False) -> str:
    """A sentence: what the residual shows, and what would settle it.

    Args:
        family: of the error.
        joint: 1-based; None for errors of the whole robot.
        size: of the error, in words.
        also: whether others were found before it.
    """
    symptom, remedy = _SENTENCES[family]
    return f"{'also: ' if also else ''}{_of_joint(symptom, joint)} ({size}); {remedy}"


def _of_joint(symptom: str, joint: int | None) -> str:
    return symptom.format(where="" if joint is None else f" of joint {joint}")


@dataclass(frozen=True)
class ElasticDrive:
    """An elastic drive that shows in the logs themselves.

    Args:
        joint: 1-based.
        deflection: at the largest torque, in words.
    """

    joint: int
    deflection: str

    @property
    def symptom(self) -> str:
        return f"{_of_joint(_SENTENCES['elasticity'][0], self.joint)} ({self.deflection})"

    @property
    def remedy(self) -> str:
        return _SENTENCES["elasticity"][1]


def elastic_drive(logs: Sequence[Log], robot: Robot) -> ElasticDrive | None:
    """The drive whose position follows its torque from sample to sample; None when there is none."""
    if any(symbol not in log.signals for log in logs for symbol in ("q", "tau")):
        return None
    fast = fast_compliance(logs)
    if fast.joint is None:
        return None
    j = fast.joint
    deflection = fast.compliance[j] * max(float(np.nanmax(np.abs(log.need("tau")[:, j]))) for log in logs)
    return ElasticDrive(j + 1, _deflection(deflection, robot.joints[j].unit))


def _deflection(size: float, unit: str) -> str:
    return f"a deflection of {1e3 * size:.2g} {'mrad' if unit == 'rad' else 'mm'} at the largest torque"


_SENTENCES = {
    "position": (
        "the torque ripples with the position{where}",
        "the parameters are means over it; cogging or gear ripple has no term here, a card can state a formula for it",
    ),
    "velocity": (
        "the friction{where} depends on speed in another way than its law",
        "try other laws (friction), or record slower and faster motion",
    ),
    "load": ("the friction{where} grows with the load", "the friction law `load` describes it"),
    "time": (
        "the friction{where} changes over the record",
        "warm the robot up before recording, or identify from a shorter part of the log; the parameters are means over the record",
    ),
    "reversal": (
        "the torque{where} depends on where it comes from (hysteresis)",
        "a torque sensor or gear sticks; hold poses approached from both sides to measure it",
    ),
    "elasticity": (
        "the drive{where} looks elastic",
        "inertias and armatures are off; record slower motion, or measure the position on the link's side",
    ),
    "tilt": ("the robot seems to lean", "measure the mount, or let it be estimated (`gravity: auto`)"),
    "length": ("the distance{where} to the joint before it seems wrong", "measure it and correct the model"),
    "delay": ("torque and motion{where} are not recorded at the same time", "state the delay, or log on one clock"),
}


def _ripple(wave: Wave, size: float, case: MisfitScales) -> str:
    j = wave.joint
    share = 100.0 * size / max(float(case.torque[j]), 1e-300)
    often = f"{wave.k:.3g} per turn" if case.coordinate(j) == "rad" else f"{wave.k / (2.0 * np.pi):.3g} per m"
    return f"amplitude {size:.2g} {case.unit(j)}, {share:.2g} % of its rms torque, about {often}"


def _drift(which: Direction, size: float, case: MisfitScales) -> str:
    name = {"viscous": "viscous friction", "coulomb": "Coulomb friction"}[which.what]
    j = which.joint or 0
    friction = case.friction(which.what, j)
    if friction is None:
        return f"{name} changes by {size:+.2g} from beginning to end"
    return f"{name} changes by {100.0 * size / friction:+.0f} % from beginning to end"


def _velocity(which: Direction, size: float, case: MisfitScales) -> str:
    j = which.joint or 0
    unit = case.unit(j)
    words = {
        "slow": f"{size:+.2g} {unit} more at low speed",
        "fast": f"{size:+.2g} {unit} s^2/{case.coordinate(j)}^2 with the square of the speed",
        "offset": f"an offset of {size:+.2g} {unit}",
        "sided": f"{size:+.2g} {unit} s/{case.coordinate(j)} more in one direction than in the other",
    }
    return words[which.what]

"""What `inertica actuators` found: values of every joint with interval and label, what cannot be told, errors of free runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from inertica.arrays import Array
from inertica.documents import plain, typed
from inertica.errors import FileError, InputError
from inertica.escape import one_line
from inertica.estimators.actuators.values import QUANTITIES, ActuatorValues
from inertica.logs.readers.guard import read_json
from inertica.writing import make_folder, write_whole

RESULT = "result.json"
FORMAT = "inertica actuators 1"

STATED, DETERMINED, WEAK, COMBINED, UNSEEN = "stated", "determined", "weak", "combined", "unseen"
"""Labels: given by the user; found with a useful interval; found with a wide one; found only together with others; not shown by the
log at all, such as a torque limit that was not reached."""


@dataclass(frozen=True)
class Quantity:
    """One number of a joint.

    Args:
        value: SI; infinite for a torque limit that was not reached, and for the speed of Stribeck friction that does not show.
        std: standard deviation; None where the log does not tell the value alone.
        interval: of 95 %; None where there is none.
        label: stated, determined, weak, combined or unseen.
    """

    value: float
    std: float | None
    interval: tuple[float, float] | None
    label: str


@dataclass(frozen=True)
class JointActuator:
    """One joint's actuator."""

    name: str
    armature: Quantity
    viscous: Quantity
    coulomb: Quantity
    delay: Quantity
    zero: Quantity
    kp: Quantity
    kd: Quantity
    torque_limit: Quantity
    stribeck: Quantity
    stribeck_speed: Quantity
    load_friction: Quantity

    def quantities(self) -> dict[str, Quantity]:
        """By name, in the order of `QUANTITIES`."""
        return {name: getattr(self, name) for name in QUANTITIES}


@dataclass(frozen=True)
class Combination:
    """Quantities of which the logs determine less than their number.

    Args:
        parameters: their names, `armature 3` for the armature of joint 3.
        text: what is determined and what would tell them apart, one sentence.
        direction: SI changes of each, in one proportion, that leave the simulated positions as they are.
        quantities, joints: of each, joints by their 1-based numbers.
        exact: no position changes with it; otherwise by less than the error that is left.
    """

    parameters: tuple[str, ...]
    text: str
    direction: tuple[float, ...]
    quantities: tuple[str, ...]
    joints: tuple[int, ...]
    exact: bool = True


@dataclass(frozen=True, eq=False)
class Trace:
    """A stretch of a free run: positions (N, n) at times t (N,), NaN where there are none.

    Args:
        t: s.
        measured: what the log has.
        before: simulated with the values the model came with.
        after: simulated with the values found.
    """

    t: Array
    measured: Array
    before: Array
    after: Array


@dataclass(frozen=True)
class FreeRun:
    """RMS error of simulated positions of every joint, rad (m), the commands being all that the simulation sees.

    Args:
        rms: with the values found.
        before: with those the model came with, the gains fitted where it states none.
        fitted: whether the log took part in the fit.
        traces: the motions themselves, for a report; files do not keep them.
    """

    rms: tuple[float, ...]
    before: tuple[float, ...]
    fitted: bool = False
    traces: tuple[Trace, ...] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True, eq=False)
class Posterior:
    """The joint distribution of what was found, normal in the coordinates x.

    Args:
        names: (quantity, 0-based joint) of every coordinate.
        mean: (p,); log(v + shift) of a quantity v that cannot be negative, the value of another.
        covariance: (p, p); directions that the logs do not determine have the variance of the prior.
        shift: (p,) SI, small beside what the quantity competes with: what is hardly there is normal about its value, not a factor.
    """

    names: tuple[tuple[str, int], ...]
    mean: Array
    covariance: Array
    shift: Array

    def values(self, x: Array, rest: ActuatorValues) -> ActuatorValues:
        """Actuators at the coordinates x (p,), everything else as in `rest`."""
        out = {name: np.array(getattr(rest, name)) for name in QUANTITIES}
        for (name, joint), value, shift in zip(self.names, x, self.shift, strict=True):
            out[name][joint] = max(np.exp(value) - shift, 0.0) if QUANTITIES[name].positive else value
        return ActuatorValues(**out)

    def draws(self, count: int, rng: np.random.Generator) -> Array:
        """(count, p) correlated coordinates; every one is physically possible."""
        try:
            lengths, axes = np.linalg.eigh(self.covariance)
        except np.linalg.LinAlgError:
            raise InputError(
                "the covariance of the actuators cannot be drawn from: the numbers of this result are damaged"
            ) from None
        return self.mean + rng.normal(size=(count, len(self.mean))) * np.sqrt(np.maximum(lengths, 0.0)) @ axes.T


@dataclass(frozen=True, eq=False)
class ActuatorsResult:
    """Actuators of a robot.

    Args:
        robot: its name.
        model: the file or catalog name it was read from.
        joints: one entry each, in the robot's order.
        confounded: what cannot be told from these logs.
        scale: per group of joints, what fixes the scale of torques, one sentence each.
        free_run: by log; see `FreeRun`.
        time: seconds per stage.
        posterior: of all quantities that were found.
        links_std: relative uncertainty of the links' parameters that the intervals hold.
        hold: how commands stand between their samples: zero (held) or linear.
        impedance, rate: of friction at standstill, see `dynamics.servo.Standstill`.
        logs: that were fitted.
        warnings, notes: one sentence each.
        links: (n, 10) parameters of the links that fit best within their uncertainty; simulations take those of the model file, but
            for those that were to be found.
        links_spread: (n, 10) standard deviations of these.
        found_links: 0-based joints whose links were to be found.
        constant_friction: (n,) N m, Coulomb friction that does the same work in the logs as all dry friction that was found, for
            simulators that have no other; empty for that of the joints.
    """

    robot: str
    model: str
    joints: tuple[JointActuator, ...]
    confounded: tuple[Combination, ...]
    scale: tuple[str, ...]
    free_run: Mapping[str, FreeRun]
    time: Mapping[str, float]
    posterior: Posterior
    links_std: float = 0.1
    hold: str = "zero"
    impedance: float = 1.0
    rate: float | None = None
    logs: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    links: Array | None = None
    links_spread: Array | None = None
    found_links: tuple[int, ...] = ()
    constant_friction: tuple[float, ...] = ()

    @property
    def values(self) -> ActuatorValues:
        """All values, as the simulation takes them."""
        return ActuatorValues(**{name: np.array([getattr(j, name).value for j in self.joints]) for name in QUANTITIES})

    def simulated_links(self, stated: Array) -> Array:
        """(n, 10) links of a model file, in their places those that were found."""
        out = np.array(stated, float).reshape(-1, 10)
        if self.links is not None:
            out[list(self.found_links)] = self.links[list(self.found_links)]
        return out

    def draws(self, count: int, seed: int = 0) -> list[ActuatorValues]:
        """Sets of values drawn from what the logs leave open, correlated as it is."""
        rest = self.values
        return [self.posterior.values(x, rest) for x in self.identifiable_posterior.draws(count, np.random.default_rng(seed))]

    @property
    def identifiable_posterior(self) -> Posterior:
        """The posterior without what the logs cannot tell: along confounded directions U every draw stays where the fit is.

        Along them the posterior is as wide as a prior, and normal in logarithms: a sum that the logs determine would not be kept.
        Sigma - U (U' Sigma^-1 U)^-1 U' is the covariance given that nothing moves along U.
        """
        posterior = self.posterior
        if not self.confounded:
            return posterior
        place = {name: k for k, name in enumerate(posterior.names)}
        values = self.values
        U = np.zeros((len(posterior.mean), len(self.confounded)))
        for column, combination in zip(U.T, self.confounded, strict=True):
            for quantity, joint, change in zip(combination.quantities, combination.joints, combination.direction, strict=True):
                k = place[quantity, joint - 1]
                size = getattr(values, quantity)[joint - 1] + posterior.shift[k]
                column[k] = change / size if QUANTITIES[quantity].positive else change
        S = posterior.covariance
        covariance = S - U @ np.linalg.solve(U.T @ np.linalg.solve(S, U), U.T)
        return replace(posterior, covariance=0.5 * (covariance + covariance.T))

    def document(self) -> dict[str, Any]:
        """Plain values, as `--json` prints them and `save` keeps them."""
        return {
            "format": FORMAT,
            "robot": self.robot,
            "model": self.model,
            "logs": list(self.logs),
            "joints": [asdict(j) for j in self.joints],
            "confounded": [asdict(c) for c in self.confounded],
            "scale": list(self.scale),
            "free_run": {
                name: {"rms": list(run.rms), "before": list(run.before), "fitted": run.fitted}
                for name, run in self.free_run.items()
            },
            "time": dict(self.time),
            "command": {"hold": self.hold},
            "standstill": {"impedance": self.impedance, "rate": self.rate},
            "links_std": self.links_std,
            "links": None if self.links is None else self.links.tolist(),
            "links_spread": None if self.links_spread is None else self.links_spread.tolist(),
            "found_links": [j + 1 for j in self.found_links],
            "constant_friction": list(self.constant_friction),
            "posterior": {
                "names": [[name, joint + 1] for name, joint in self.posterior.names],
                "mean": self.posterior.mean.tolist(),
                "covariance": self.posterior.covariance.tolist(),
                "shift": self.posterior.shift.tolist(),
            },
            "warnings": list(self.warnings),
            "notes": list(self.notes),
        }

    def save(self, folder: str | Path) -> Path:
        """Writes `result.json` into a folder, which is made where it is not there."""
        path = Path(folder) / RESULT
        make_folder(folder)
        write_whole(path, json.dumps(plain(self.document()), indent=1, allow_nan=False) + "\n")
        return path

    @classmethod
    def load(cls, path: str | Path) -> ActuatorsResult:
        """Reads what `save` wrote: the folder or its `result.json`."""
        file = Path(path) / RESULT if Path(path).is_dir() else Path(path)
        saved = read_json(file)
        if saved.get("format") != FORMAT:
            raise FileError(file, f"is no result of `inertica actuators` (its format should be '{FORMAT}')")
        try:
            result = _result(saved)
        except KeyError as error:
            raise FileError(file, f"is a damaged result of `inertica actuators`: {error} is missing") from None
        except (InputError, AttributeError, TypeError, ValueError) as error:
            raise FileError(file, f"is a damaged result of `inertica actuators` ({one_line(str(error))[:200]})") from None
        if (fault := _contradiction(result)) is not None:
            raise FileError(file, f"is a damaged result of `inertica actuators`: {fault}")
        return result


def _result(saved: Mapping[str, Any]) -> ActuatorsResult:
    posterior = saved["posterior"]
    texts = {name: typed(tuple[str, ...], saved[name]) for name in ("scale", "logs", "warnings", "notes")}
    return ActuatorsResult(
        robot=typed(str, saved["robot"]),
        model=typed(str, saved["model"]),
        joints=tuple(
            JointActuator(typed(str, j["name"]), **{name: _quantity(j[name]) for name in QUANTITIES}) for j in saved["joints"]
        ),
        confounded=tuple(typed(Combination, c) for c in saved["confounded"]),
        free_run={typed(str, name): typed(FreeRun, run) for name, run in saved["free_run"].items()},
        time=typed(Mapping[str, float], saved["time"]),
        posterior=Posterior(
            tuple((typed(str, name), typed(int, joint) - 1) for name, joint in posterior["names"]),
            np.array(posterior["mean"], float),
            np.array(posterior["covariance"], float).reshape(2 * (len(posterior["mean"]),)),
            np.array(posterior["shift"], float),
        ),
        links_std=typed(float, saved["links_std"]),
        hold=typed(str, saved["command"]["hold"]),
        impedance=typed(float, saved["standstill"]["impedance"]),
        rate=typed(float | None, saved["standstill"]["rate"]),
        links=None if saved["links"] is None else np.array(saved["links"], float),
        # results of 0.2.0 do not have these
        links_spread=None if saved.get("links_spread") is None else np.array(saved["links_spread"], float),
        found_links=tuple(j - 1 for j in typed(tuple[int, ...], saved.get("found_links", []))),
        constant_friction=typed(tuple[float, ...], saved["constant_friction"]),
        **texts,
    )


def _contradiction(result: ActuatorsResult) -> str | None:
    """What of a result does not go together; None when all does."""
    n, posterior = len(result.joints), result.posterior
    coordinates = set(posterior.names)
    used = [(name, j - 1) for c in result.confounded for name, j in zip(c.quantities, c.joints, strict=False)]
    if any(name not in QUANTITIES or not 0 <= j < n for name, j in coordinates):
        return "the posterior is of quantities or joints that are not there"
    if not posterior.mean.shape == posterior.shift.shape == (len(posterior.names),) or len(coordinates) != len(posterior.names):
        return "the posterior should hold as many values as names, and every name once"
    if not all(np.isfinite(x).all() for x in (posterior.mean, posterior.shift, posterior.covariance)):
        return "the posterior holds values that are not finite"
    if any(not len(c.quantities) == len(c.joints) == len(c.direction) for c in result.confounded) or not coordinates >= set(used):
        return "confounded quantities are not among those of the posterior"
    if any(not len(run.rms) == len(run.before) == n for run in result.free_run.values()):
        return "free runs are not of all joints"
    arrays = [x for x in (result.links, result.links_spread) if x is not None]
    outside = any(not 0 <= j < n for j in result.found_links) or (result.found_links and result.links is None)
    if len(result.constant_friction) not in (0, n) or any(x.shape != (n, 10) for x in arrays) or outside:
        return "links or friction are not of all joints"
    return None


def _quantity(saved: Mapping[str, Any]) -> Quantity:
    # JSON knows no infinity: a torque limit that was not reached
    value = np.inf if saved["value"] is None else typed(float, saved["value"])
    interval = typed(tuple[float, float] | None, saved["interval"])
    return Quantity(value, typed(float | None, saved["std"]), interval, typed(str, saved["label"]))

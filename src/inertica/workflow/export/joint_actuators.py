"""What simulators take of a result: servo, armature and friction of every joint, of `actuators` and of `identify` alike."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from inertica.arrays import Array
from inertica.dynamics.equations import Equations
from inertica.errors import FileError, InputError
from inertica.escape import file_stem
from inertica.estimators.actuators.values import QUANTITIES, RICHER, ActuatorValues
from inertica.logs.readers.guard import read_json
from inertica.robot.control import LAWS, stated_law
from inertica.robot.description import Description
from inertica.robot.formats.mjcf import MJCF
from inertica.robot.formats.model_format import Part
from inertica.robot.formats.table import format_of
from inertica.robot.layout import Parameters
from inertica.robot.load import load
from inertica.robot.options import plain_layout
from inertica.workflow.actuators.result import FORMAT, UNSEEN, ActuatorsResult
from inertica.workflow.export.exported import ExportedModel
from inertica.workflow.export.model import export_model
from inertica.workflow.identify.result import RESULT, Result

SYMBOLS = {"armature": "Ia", "viscous": "Fv", "coulomb": "Fc"}
"""Quantities of a joint that model files have a place for."""

SPREAD = 4000
"""Draws from which ranges are made."""

ROUNDS = 100
"""Times that draws are repeated until enough of them can be simulated."""


@dataclass(frozen=True, eq=False)
class JointActuators:
    """Actuators of a robot's joints, ready to be written.

    Args:
        description: the robot.
        links: parameters of its links, armature, viscous and Coulomb friction among them.
        values: of all joints; NaN where the result does not have them (gains of a result of `identify` without `loop:`).
        result: the result with its posterior, for draws; None where there is none.
        mjcf: text of an MJCF file with links, armature and friction, where one was written already.
        card: text of the card that adds to that file what it has no place for.
        exported: what is known of that file.
        origin: job and logs, for comments.
        extra_friction: (n,) N m that stand in `values` for dry friction by speed and load.
        motor: what the card states of the motors (`ControlLaw.motor`), (n,) each; empty where it states none.
    """

    description: Description
    links: Parameters
    values: ActuatorValues
    result: ActuatorsResult | None = None
    mjcf: bytes | None = None
    card: bytes | None = None
    exported: ExportedModel | None = None
    origin: str = ""
    extra_friction: Array | float = 0.0
    motor: Mapping[str, Array] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        return self.description.robot.joint_names

    @property
    def driven(self) -> list[int]:
        """Joints whose gains are known."""
        return [j for j in range(self.values.n) if np.isfinite(self.values.kp[j])]

    def delayed(self) -> dict[str, float]:
        """Joint -> delay in s, of those whose commands are late."""
        return {self.names[j]: float(d) for j, d in enumerate(self.values.delay) if d > 0.0 and j in self.driven}

    def shifted(self) -> dict[str, float]:
        """Joint -> zero of its command, where it is another."""
        return {self.names[j]: float(z) for j, z in enumerate(self.values.zero) if z != 0.0 and j in self.driven}

    def richer(self) -> tuple[str, ...]:
        """Joints whose dry friction depends on speed or load."""
        return tuple(
            name for name, extra in zip(self.names, np.broadcast_to(self.extra_friction, self.values.n), strict=True) if extra
        )

    def with_values(self, values: ActuatorValues) -> JointActuators:
        """The same robot with other actuators."""
        numbers = {
            f"{symbol}{j + 1}": float(value) for name, symbol in SYMBOLS.items() for j, value in enumerate(getattr(values, name))
        }
        return replace(self, links=self.links.replaced(numbers), values=values)

    def draws(self, count: int, seed: int) -> list[ActuatorValues]:
        """Sets of values from the joint posterior; what cannot be simulated (no stiffness, no torque) is drawn again."""
        if self.result is None:
            raise InputError("draws come from the joint posterior that `inertica actuators` keeps; this result is of `identify`")
        out: list[ActuatorValues] = []
        posterior = self.result.identifiable_posterior
        rng = np.random.default_rng(seed)
        for _ in range(ROUNDS):
            for x in posterior.draws(max(count - len(out), 1), rng):
                drawn = constant(posterior.values(x, self.values), self.extra_friction)
                if np.all(drawn.kp[self.driven] > 0.0) and np.all(drawn.torque_limit[self.driven] > 0.0):
                    out.append(drawn)
            if len(out) >= count:
                return out[:count]
        raise InputError("hardly any draw has a stiffness greater than zero: these logs leave kp open; state it")

    def ranges(self, seed: int) -> dict[str, dict[str, tuple[float, float, float]]]:
        """Joint -> quantity -> value and its range of 95 % of draws, for quantities that were found."""
        drawn, out = self.draws(SPREAD, seed), dict[str, dict[str, tuple[float, float, float]]]()
        assert self.result is not None
        searched = set(self.result.posterior.names)
        for j, joint in enumerate(self.names):
            for name in QUANTITIES:
                if (name, j) in searched and name not in RICHER:
                    low, high = np.quantile([getattr(values, name)[j] for values in drawn], (0.025, 0.975))
                    out.setdefault(joint, {})[name] = (float(getattr(self.values, name)[j]), float(low), float(high))
        return out


def constant(values: ActuatorValues, extra: Array | float) -> ActuatorValues:
    """The same with a constant N m of dry friction in place of what depends on speed and load."""
    return values.changed(coulomb=values.coulomb + extra, stribeck=0.0, stribeck_speed=np.inf, load_friction=0.0)


def joint_actuators(
    result: Result | ActuatorsResult | str | Path, model: str | Path | Description | None = None, stem: str = ""
) -> JointActuators:
    """The actuators of a result.

    Args:
        result: of `actuators` or `identify`, or its folder or file.
        model: the robot, in place of the file that the result names.
        stem: of the files that will be written; the robot's name by default.
    """
    if isinstance(result, (str, Path)):
        result = _loaded(Path(result))
    if isinstance(result, ActuatorsResult):
        return _of_actuators(result, model)
    return _of_identify(result, stem or file_stem(result.description.name))


def _loaded(path: Path) -> Result | ActuatorsResult:
    file = path / RESULT if path.is_dir() else path
    if not file.is_file():
        raise FileError(file, "is not there; name the folder of a result")
    if file.suffix.lower() != ".json":
        raise FileError(
            file, "is no result; files of actuators are made of one: name the folder that identify or actuators wrote"
        )
    if read_json(file).get("format") == FORMAT:
        return ActuatorsResult.load(file)
    return Result.load(path if path.is_dir() else path.parent)


def _of_actuators(result: ActuatorsResult, model: str | Path | Description | None) -> JointActuators:
    if model is None and not Path(result.model).is_file():
        raise InputError(
            f"the model {result.model}, which this result was found with, is not there; name the robot by the option model"
        )
    description = model if isinstance(model, Description) else load(result.model if model is None else model)
    theirs, ours = description.robot.joint_names, tuple(joint.name for joint in result.joints)
    if theirs != ours:
        raise InputError(
            f"the result is of joints {', '.join(ours)}, but {description.source.path.name} has {', '.join(theirs)}; name the "
            "model that the result was found with"
        )
    # joints that no log moves have no gains; their entries hold a number that means nothing
    seen = np.array([joint.kp.label != UNSEEN for joint in result.joints])
    values = result.values.changed(kp=np.where(seen, result.values.kp, np.nan), kd=np.where(seen, result.values.kd, np.nan))
    extra = np.array(result.constant_friction or values.coulomb) - values.coulomb
    actuators = JointActuators(
        description, _plain_links(description, result), values, result, origin=f"inertica actuators, logs {', '.join(result.logs)}",
        extra_friction=extra, motor=_stated_motor(description),
    )  # fmt: skip
    return actuators.with_values(constant(values, extra))


def _plain_links(description: Description, result: ActuatorsResult) -> Parameters:
    """Links of the model as the fit took them, payloads included, with room for armature and friction."""
    layout = plain_layout(description.robot)
    links = result.simulated_links(np.array(Equations(description.layout).link_inertia(list(description.prior.values)), float))
    named = {
        name: float(value) for j in layout.robot.links for name, value in zip(layout.names[layout.link(j)], links[j], strict=True)
    }
    return layout.zeros("model").replaced(named)


def _of_identify(result: Result, stem: str) -> JointActuators:
    """Links, armature and the closest viscous and Coulomb friction, as an MJCF file of that name holds them."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{stem}.xml"
        written = export_model(result, path, MJCF.name)
        is_mjcf = format_of(result.description.source) is MJCF
        card = written.extra.read_bytes() if written.extra else None
        content, held = path.read_bytes(), MJCF.read(path, Part.of(result.description.source) if is_mjcf else Part())
    n = held.robot.n
    values = ActuatorValues.of(n, kp=np.nan, kd=np.nan)
    values = values.changed(**{name: [held.friction_value(symbol, j) for j in range(n)] for name, symbol in SYMBOLS.items()})
    loop = result.description.loop
    motor: Mapping[str, Array] = {}
    if loop is not None:
        law, gains = stated_law(loop, n)
        servo = LAWS[law].servo(gains) if law in LAWS else {}
        if {"kp", "kd"} <= set(servo) and np.isfinite(servo["kd"]).all():
            limit = np.asarray(loop.get("saturation", servo.get("torque_limit", np.inf)), float)
            viscous = values.viscous + servo.get("viscous", 0.0)
            values = values.changed(kp=servo["kp"], kd=servo["kd"], torque_limit=limit, viscous=viscous)
            motor = _stated_motor(result.description)
    return JointActuators(result.description, held.prior, values, None, content, card, written, "inertica identify", motor=motor)


def _stated_motor(description: Description) -> dict[str, Array]:
    """What the card's loop says of the motors."""
    if description.loop is None:
        return {}
    law, gains = stated_law(description.loop, description.robot.n)
    motor = LAWS[law].motor(gains) if law in LAWS else {}
    return {name: np.broadcast_to(values, (description.robot.n,)) for name, values in motor.items()}

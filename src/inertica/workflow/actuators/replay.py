"""`replay`: a free run of a robot under its servos on the commands of a log, beside what was measured."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from inertica.arrays import Array
from inertica.dynamics.equations import Equations
from inertica.dynamics.llvm.target import Native
from inertica.dynamics.servo import Standstill, branch, branches
from inertica.errors import InputError
from inertica.estimators.actuators.fit import first_states
from inertica.estimators.actuators.record import Hold, Record
from inertica.estimators.actuators.simulation import Runs
from inertica.estimators.actuators.values import ActuatorValues
from inertica.logs.log import Log
from inertica.logs.read import read_log
from inertica.robot.description import Description
from inertica.robot.load import load
from inertica.workflow.actuators.groups import FINE, longest_step
from inertica.workflow.actuators.known import known_values
from inertica.workflow.actuators.records import records
from inertica.workflow.actuators.result import UNSEEN, ActuatorsResult
from inertica.workflow.identify.inputs import LogLike


@dataclass(frozen=True, eq=False)
class Replay:
    """A free run.

    Args:
        log: simulated positions q and the commands qr, at the samples of the log; measured positions are its truth, NaN where they
            are missing.
        rms: (n,) error of position, rad (m), measured minus simulated; NaN of a joint without gains.
        stretches: between long gaps of the log; each begins at the measured state.
    """

    log: Log
    rms: Array
    stretches: int


def replay(
    robot: str | Path | Description,
    log: LogLike,
    actuators: ActuatorsResult | str | Path | None = None,
    threads: int | None = None,
) -> Replay:
    """Simulate a robot under its position servos on the commands of a log; measured positions give the first state only.

    Args:
        robot: catalog name, model file, card or a description; its links are those of the simulation.
        log: with positions q and commands qr.
        actuators: what `actuators` found, or its folder; gains of the card's `loop:` and friction of the model by default.
        threads: of the processor; all by default.

    Examples:
        >>> run = ia.replay("robot.urdf", "other.csv", "result")  # doctest: +SKIP
        >>> run.rms  # doctest: +SKIP
    """
    description = robot if isinstance(robot, Description) else load(robot)
    result = ActuatorsResult.load(actuators) if isinstance(actuators, (str, Path)) else actuators
    values, standstill, hold = _servos(description, result)
    parts = records(log if isinstance(log, Log) else read_log(log, description))
    links = np.array(Equations(description.layout).link_inertia(list(description.prior.values)), float)
    links = links if result is None else result.simulated_links(links)
    q = [np.full_like(part.q, np.nan) for part in parts]
    target = Native(threads or os.cpu_count() or 1)
    for joints in branches(description.robot):
        if not np.isfinite(values.kp[list(joints)]).all():
            continue
        group, of_group = branch(description.robot, joints), [part.joints(joints) for part in parts]
        servos, chosen = values.joints(list(joints)), links[list(joints)].ravel()
        runs = Runs(
            group,
            chosen,
            of_group,
            target,
            longest_step(group, chosen, of_group, [servos], FINE),
            hold,
            standstill,
            servos.richer,
        )
        for k, start in enumerate(first_states(runs)):
            q[k][:, list(joints)] = runs.positions(k, servos, start)
    return _compared(description, parts, q)


def _servos(description: Description, result: ActuatorsResult | None) -> tuple[ActuatorValues, Standstill, Hold]:
    """Values, friction at standstill and commands between samples: as found, or as model and card state them."""
    names = description.robot.joint_names
    if result is None:
        known = known_values(description, None, None, None)
        rest = [name for j, name in enumerate(names) if not {("kp", j), ("kd", j)} <= known.known]
        if rest:
            raise InputError(
                f"{description.name} states no gains of {', '.join(rest)}: state loop: {{law: pd, kp: [...], kd: [...]}} in the card, "
                "or give a result of `inertica actuators`"
            )
        values = {
            quantity: [description.friction_value(symbol, j) for j in range(description.robot.n)]
            for quantity, symbol in (("armature", "Ia"), ("viscous", "Fv"), ("coulomb", "Fc"))
        }
        return known.values.changed(**values), Standstill.mujoco(), "zero"
    identified = tuple(joint.name for joint in result.joints)
    if identified != names:
        raise InputError(f"the actuators are of joints {', '.join(identified)}, but {description.name} has {', '.join(names)}")
    kp = [np.nan if joint.kp.label == UNSEEN else joint.kp.value for joint in result.joints]
    hold: Hold = "linear" if result.hold == "linear" else "zero"
    return result.values.changed(kp=kp), Standstill(result.impedance, result.rate), hold


def _compared(description: Description, parts: Sequence[Record], q: Sequence[Array]) -> Replay:
    measured = np.concatenate([np.where(part.use, part.q, np.nan) for part in parts])
    simulated = np.concatenate(list(q))
    seen = np.isfinite(measured - simulated)
    square = np.where(seen, np.nan_to_num(measured - simulated), 0.0) ** 2
    count = seen.sum(axis=0)
    rms = np.where(count > 0, np.sqrt(square.sum(axis=0) / np.maximum(count, 1)), np.nan)
    t = np.concatenate([part.t for part in parts])
    commands = np.concatenate([part.commands["q"] for part in parts])
    signals = {"q": simulated, "qr": commands}
    log = Log.from_arrays(t, signals, description.robot.joint_names, truth={"q": measured})
    return Replay(log, rms, len(parts))

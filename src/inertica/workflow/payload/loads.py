"""Several loads in one fit: robot, loads and, where logs have currents, drive gains, from records that say what they carry.

An experiment is a YAML file:

    loads:
      disc: {mass: 2.805, com: [0, 0, 0.02], inertia: [XX, XY, XZ, YY, YZ, ZZ]}   # known, as far as stated
    logs:
      - {log: empty.csv.gz, load: none}
      - {log: disc.csv.gz@3:53, load: disc}
      - {log: tool1.csv.gz, load: tool}       # not under `loads`: unknown
      - {log: tool2.csv.gz, load: tool}       # the same one: shared
    gains: estimate                           # logs have currents; stated (the default): logs have torques, or the card a gain

With a known mass, gains become absolute (global identification; Gautier and Briot 2014).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from inertica.errors import InputError
from inertica.estimators.gains import KnownLoad, joint_covariance, resolved
from inertica.estimators.load_trust import first_moments, load_labels
from inertica.identifiability.labels import FIXED
from inertica.physical.body import possible_body
from inertica.robot.description import Description
from inertica.robot.flange import Flange, flange
from inertica.robot.natural import NaturalUnits
from inertica.robot.terms import RigidBody
from inertica.robot.yamlfile import Item, read_yaml
from inertica.threads import one_thread
from inertica.workflow.identify.choice import Choice
from inertica.workflow.identify.inputs import described
from inertica.workflow.identify.reasons import Words
from inertica.workflow.identify.run import LogLike
from inertica.workflow.identify.settings import Settings
from inertica.workflow.payload.drive_gains import DriveGains, gains_of, stated_gains
from inertica.workflow.payload.load_sets import Currents, JointFit, checked_for_gains, joint_fit, known_load, read_set
from inertica.workflow.payload.result import Payload

NONE = "none"
STATED_STD = 1e-6
"""Relative standard deviation that a known parameter of a load counts with beside unknown ones."""

LEAST = 1e-3
"""Natural units of the robot that a known parameter counts for at least, so that a stated zero has a standard deviation, too."""


@dataclass(frozen=True, eq=False)
class LoadedLogs:
    """Which log carries what.

    Args:
        logs: each with the name of its load, or None.
        loads: what is known of loads by name; those that only logs name are unknown.
        estimate_gains: logs have currents whose gains are unknown.
    """

    logs: tuple[tuple[LogLike, str | None], ...]
    loads: Mapping[str, KnownLoad] = field(default_factory=dict)
    estimate_gains: bool = False

    @classmethod
    def read(cls, path: str | Path) -> LoadedLogs:
        """From a YAML file; logs are beside it."""
        root = read_yaml(path)
        keys = root.mapping(("logs", "loads", "gains"), required=("logs",))
        loads = {} if "loads" not in keys else {name: _load(item) for name, item in keys["loads"].mapping().items()}
        gains = keys["gains"].text(("stated", "estimate")) if "gains" in keys else "stated"
        return cls(tuple(_log(item, Path(path).parent) for item in keys["logs"].items()), loads, gains == "estimate")

    def sets(self) -> dict[str | None, list[LogLike]]:
        """Load -> its logs; none first, then known ones, so that choices are made on a robot that is the least unknown."""
        out: dict[str | None, list[LogLike]] = {}
        for log, load in self.logs:
            out.setdefault(load, []).append(log)

        def order(name: str | None) -> int:
            return 0 if name is None else 1 if name in self.loads and self.loads[name].known.all() else 2

        return dict(sorted(out.items(), key=lambda pair: order(pair[0])))


@dataclass(frozen=True, eq=False)
class Loads:
    """What `fit_loads` found: every load that was not known, by name, and the drive gains where they were estimated."""

    loads: Mapping[str, Payload]
    gains: DriveGains | None
    fit: JointFit

    def document(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "robot": self.fit.robot.description.name,
            "loads": {name: load.document() for name, load in self.loads.items()},
            "gains": None if self.gains is None else self.gains.document(),
        }


def fit_loads(
    robot: str | Path | Description,
    experiment: str | Path | LoadedLogs,
    *,
    frame: str | tuple[float, ...] | None = None,
    settings: Settings | None = None,
    progress: Callable[[str], None] | None = None,
) -> Loads:
    """Robot, loads and drive gains together.

    Args:
        robot: as in `identify`.
        experiment: which log carries what, or a YAML file that says it.
        frame: of the loads, see `robot.flange.flange`.
        settings: as for `identify`.
        progress: receives one line per step.

    Examples:
        >>> loads = ia.fit_loads("card.yaml", "experiment.yaml")
    """
    stated = experiment if isinstance(experiment, LoadedLogs) else LoadedLogs.read(experiment)
    description = described(robot)
    load_sets = stated.sets()
    loads = {name: stated.loads.get(name, known_load(None)) for name in load_sets if name is not None}
    _check(stated, loads, None in load_sets)
    at = flange(description, frame)
    free = stated.estimate_gains
    bare = checked_for_gains(description) if free else description.with_terms(description.layout.terms, ())
    sets = [read_set(logs, description, name, currents=free) for name, logs in load_sets.items()]
    scale = np.ones(description.robot.n) if free else None
    currents = None if scale is None else Currents(scale)
    with one_thread():
        fit = joint_fit(bare, sets, loads, at.body, settings or Settings(), progress or (lambda _: None), currents)
        payloads = {
            name: _payload(fit, name, at, tuple(str(x) for x in load_sets[name]))
            for name, x in loads.items()
            if not x.known.all()
        }
        gains = None if scale is None else gains_of(fit, at, scale, stated_gains(description), "tls", sets)
    return Loads(payloads, gains, fit)


def _check(stated: LoadedLogs, loads: Mapping[str, KnownLoad], empty: bool) -> None:
    if unused := [name for name in stated.loads if name not in loads]:
        raise InputError(f"no log carries the load '{unused[0]}'; name it in `logs`, or leave it out")
    if not loads:
        raise InputError("no log carries a load; `inertica identify` fits logs without")
    if not empty and not any(load.known.all() for load in loads.values()):
        raise InputError(
            "robot and loads cannot be told apart: no log is without load (load: none) or with one that is fully known"
        )
    if stated.estimate_gains and not any(load.known[9] for load in loads.values()):
        raise InputError(
            "drive gains need a load of known mass; without one, a common factor of gains, robot and loads cannot be told"
        )


def _payload(fit: JointFit, name: str, at: Flange, logs: tuple[str, ...]) -> Payload:
    """One load of a joint fit, as a body that can exist."""
    problem, gains, robot = fit.problem, fit.gains, fit.robot
    load, values = problem.loads[name], gains.loads[name]
    g, place = 1.0 / gains.factors, problem.places[name]
    which = problem.n + np.arange(place.start, place.stop)
    natural = NaturalUnits.of(robot.description.layout, robot.description.prior.values)
    least = LEAST * np.array([natural.size(p.unit) for p in RigidBody(0, "p").parameters])
    C = np.diag(np.where(load.known, (STATED_STD * np.maximum(np.abs(values), least)) ** 2, 0.0))
    free = np.flatnonzero(~load.known)
    C[np.ix_(free, free)] = joint_covariance(problem, g, gains.theta, gains.sigma, which)
    svd = resolved(problem, g, gains.theta, gains.sigma)
    unknown, open_directions = np.zeros(10, bool), np.zeros((10, svd.unresolved.shape[1]))
    unknown[free] = np.abs(svd.unresolved[which]).max(axis=1, initial=0.0) >= 1e-6
    open_directions[free] = svd.unresolved[which] / svd.scale[which, None]
    body = possible_body(values, C, unknown, open_directions)
    silent = np.linalg.norm(problem.columns, axis=0) < 1e-12
    words = load_labels(~unknown, silent, values, np.sqrt(np.diag(C)), body)
    labels = tuple(FIXED if is_known else word for is_known, word in zip(load.known, words, strict=True))
    done = "noise and blocks of all records, robot, loads and gains estimated together; no bias was corrected"
    return Payload(
        description=robot.description,
        flange=at,
        values=body.values,
        intervals=np.column_stack([body.lower, body.upper]),
        covariance=C,
        measured=values,
        labels=labels,
        moments=first_moments(values, C, body, open_directions, labels),
        choices=(*robot.choices, fit.bandwidth, Choice("load intervals", "noise, blocks", Words(done))),
        warnings=tuple(robot.warnings),
        residuals={},
        logs={"loaded": logs},
    )


def _load(item: Item) -> KnownLoad:
    if item.is_null or (item.is_scalar and item.text() == "unknown"):
        return known_load(None)
    keys = item.mapping(("mass", "com", "inertia"))
    with item.located():
        return known_load(
            keys["mass"].positive() if "mass" in keys else None,
            keys["com"].vector() if "com" in keys else None,
            keys["inertia"].numbers(6, "numbers XX, XY, XZ, YY, YZ, ZZ") if "inertia" in keys else None,
        )


def _log(item: Item, folder: Path) -> tuple[str, str | None]:
    keys = item.mapping(("log", "load"), required=("log", "load"))
    name, load = keys["log"].text(), keys["load"].text()
    return str(folder / name), None if load == NONE else load

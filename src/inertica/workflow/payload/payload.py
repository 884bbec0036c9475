"""The load that a robot carries: ten parameters with intervals, from records without it and records with it.

`identify` chooses filter, delay, mounting and friction on the records without load (or a saved result says them); records with load
are prepared alike, and `estimators.load` finds what was added to the link that carries it.  `payload_intervals` says what is in
its intervals.  A robot from a result brings the covariance that the result states.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from inertica.arrays import Array
from inertica.checks.gate import admitted
from inertica.checks.seen import seen
from inertica.errors import InputError
from inertica.estimators.linear.least_squares import Linear, Wls, linear
from inertica.estimators.load import fitted_load
from inertica.estimators.load_trust import first_moments, load_labels
from inertica.estimators.registry import method
from inertica.estimators.solve import Unconstrained
from inertica.estimators.standard import nearest_prior
from inertica.identifiability.base import BaseModel, base_model
from inertica.identifiability.load import load_columns, own_friction
from inertica.logs.log import Log
from inertica.physical.body import possible_body
from inertica.robot.description import Description
from inertica.robot.flange import flange
from inertica.robot.friction import LoadDependent
from inertica.robot.layout import Parameters
from inertica.threads import one_thread
from inertica.validation.residuals import Residual
from inertica.workflow.decisions.shared_bandwidth import SharedBandwidth, shared_bandwidth
from inertica.workflow.identify.choice import Choice
from inertica.workflow.identify.inputs import check_all_move, described, read_one
from inertica.workflow.identify.prediction import judged
from inertica.workflow.identify.result import Result
from inertica.workflow.identify.run import LogLike, identify
from inertica.workflow.identify.settings import Settings
from inertica.workflow.identify.start_values import PRIOR
from inertica.workflow.payload.intervals import made_sure
from inertica.workflow.payload.records import Records, Stated
from inertica.workflow.payload.result import Payload
from inertica.workflow.payload.wrench import payload_by_wrench

SENSORS = ("joints", "wrench", "wrench-static")
"""What a load is found by: torques of the joints, or a force-torque sensor between robot and load, in motion or in poses at rest."""

DIFFERENT = 3.0
"""Birge's ratio from which it is worth a warning that the records differ in more than a load."""


def payload(
    robot: str | Path | Description | None = None,
    *,
    loaded: Sequence[LogLike],
    unloaded: Sequence[LogLike] = (),
    robot_from: str | Path | Result | None = None,
    frame: str | tuple[float, ...] | None = None,
    sensor: str = "joints",
    settings: Settings | None = None,
    progress: Callable[[str], None] | None = None,
) -> Payload:
    """The load that a robot carries in some logs.

    Args:
        robot: as in `identify`; not needed with a result.
        loaded: logs with the load; motions may be the same as without it or others.
        unloaded: logs without it.
        robot_from: a result of the robot without load, instead of logs without load.
        frame: in which the load is stated, see `robot.flange.flange`; of the sensor where it is one.
        sensor: `joints`, by their torques, or `wrench`, by a force-torque sensor between robot and load: no logs without load then;
            `wrench-static` takes every sample for one at rest.
        settings: what is fixed of the identification; the method must be linear, its constraints are left out.
        progress: receives one line per step.

    Examples:
        >>> load = ia.payload("card.yaml", unloaded=["empty.csv.gz"], loaded=["gripper.csv.gz"])

        The gripper that was mounted has 0.6 kg:

        >>> abs(load["M"] - 0.6) < 0.01
        True
    """
    say = progress or (lambda _: None)
    if sensor not in SENSORS:
        raise InputError(f"there is no sensor '{sensor}' by which a load could be found; there are {', '.join(SENSORS)}")
    if sensor != "joints":
        if robot_from is not None:
            robot = (robot_from if isinstance(robot_from, Result) else Result.load(robot_from)).description
        if unloaded or robot is None or not loaded:
            raise InputError(
                "a load by its force-torque sensor needs no logs without the load, but the robot and logs with it (loaded)"
            )
        return payload_by_wrench(robot, loaded, frame, settings.cutoff if settings else None, sensor == "wrench-static", say)
    if not loaded:
        raise InputError("payload needs at least one log of the robot with its load (loaded)")
    if bool(unloaded) == (robot_from is not None):
        raise InputError(
            "payload needs either logs of the robot without load (unloaded), or a result that says what the robot is like without "
            "it (robot_from), and not both"
        )
    if robot is None and robot_from is None:
        raise InputError("payload needs the robot: a built-in name, a model file or a card")
    with one_thread():
        return _Job(robot, unloaded, loaded, robot_from, frame, settings or Settings(), say).run()


class _Job:
    def __init__(
        self,
        robot: str | Path | Description | None,
        unloaded: Sequence[LogLike],
        loaded: Sequence[LogLike],
        robot_from: str | Path | Result | None,
        frame: str | tuple[float, ...] | None,
        settings: Settings,
        say: Callable[[str], None],
    ) -> None:
        self.settings, self.say, self.warnings = settings, say, list[str]()
        if robot_from is not None:
            self.robot = robot_from if isinstance(robot_from, Result) else Result.load(robot_from)
            self.given = self.robot.description if robot is None else described(robot)
            self.unloaded: list[Log] = []
        else:
            assert robot is not None
            self.given = described(robot)
            self.unloaded = [seen(read_one(x, self.given, "q", "tau")) for x in unloaded]
        self.loaded = [seen(read_one(x, self.given, "q", "tau")) for x in loaded]
        check_all_move(self.loaded, self.given.robot)
        self.flange = flange(self.given, frame)
        if robot_from is None:
            bare = self.given.with_terms(self.given.layout.terms, ())
            self.say("robot without load: filter, delay, mounting and friction")
            self.robot = identify(bare, self.unloaded, settings=replace(settings, quick=True), progress=say)
            self.warnings += self.robot.warnings
        self.description = self.robot.description

    def run(self) -> Payload:
        base = self.robot.estimate.base
        self.say("check: are the logs with load what they say they are")
        report = admitted(self.description, self.loaded, force=self.settings.force, base=base)
        self.warnings += [f"check, {f.name}: {f.text}" for f in report.problems]
        self.say("fit: with load and without")
        estimator = self._estimator()
        shared = self._bandwidth(base)
        empty: Records | Stated = Stated.of(self.robot)
        if self.unloaded:
            empty = Records.fitted(self.description, self.unloaded, shared.recipes[0], estimator, base)
        columns = load_columns(base, self.flange.body)
        full = Records.fitted(self.description, self.loaded, shared.recipes[-1], estimator, base)
        load = fitted_load(empty.rows, full.rows, columns, own_friction(base))
        if any(isinstance(t, LoadDependent) for t in self.description.layout.terms):  # gears feel the load, too
            full = self._rubbing(full, empty.beta + columns @ load.values)
            load = fitted_load(empty.rows, full.rows, columns, own_friction(base))
        self.say("intervals: noise, blocks, bias")
        sure = made_sure(empty, full, load, quick=self.settings.quick)
        covariance, values = sure.covariance(load), sure.values
        body = possible_body(values, covariance, ~load.known, load.open_directions)
        if sure.birge > DIFFERENT:
            self.warnings.append(
                f"the records with load differ from those without it in more than a load and friction ({sure.birge:.1f} times what "
                "noise explains): another drive gain, a robot that has changed, or a load that is not rigid"
            )
        if body.held and _far(values - body.values, covariance, load.known):
            self.warnings.append(
                "no real body is near what the records say of the load; are the drive gains and the model right?"
            )
        labels = load_labels(load.known, load.silent, values, np.diag(covariance) ** 0.5, body)
        moments = first_moments(values, covariance, body, load.open_directions, labels)
        out = Payload(
            description=self.description,
            flange=self.flange,
            values=body.values,
            intervals=np.column_stack([body.lower, body.upper]),
            covariance=covariance,
            measured=values,
            labels=labels,
            moments=moments,
            choices=(*self._choices, shared.choice, sure.choice),
            warnings=tuple(self.warnings),
            residuals=self._residuals(base, empty, full, columns @ body.values),
            logs={
                "unloaded": tuple(str(log.origin) for log in self.unloaded),
                "loaded": tuple(str(log.origin) for log in self.loaded),
            },
        )
        return out if out.mass_shows else replace(out, warnings=(*out.warnings, _mass_missing(out)))

    def _bandwidth(self, base: BaseModel) -> SharedBandwidth:
        """How far records without and with load are used, by what both say."""
        sets = [logs for logs in (self.unloaded, self.loaded) if logs]
        has_unloaded = bool(self.unloaded)
        return shared_bandwidth(self.description, base, self.robot.recipe, sets, self.settings, of_first=has_unloaded)

    @property
    def _choices(self) -> tuple[Choice, ...]:
        """Of the identification; of a result only where its starts and priors came from."""
        return tuple(c for c in self.robot.choices if self.unloaded or c.subject == PRIOR)

    def _estimator(self) -> Linear:
        """The method of the identification, its constraints and prior left out."""
        estimator = method(self.robot.method)
        if linear(estimator):
            return replace(estimator, solve=Unconstrained())  # type: ignore[type-var]
        if self.settings.method != "auto":
            raise InputError(f"a load is found by linear methods (wls, irls, ols), not by {self.robot.method}")
        return Wls()

    def _rubbing(self, full: Records, beta: Array) -> Records:
        """The loaded records once more, with friction that depends on load under the load that was found."""
        base, d = full.problem.base, self.description
        carried = d.prior.with_values(nearest_prior(base, beta, d.prior)).moments()
        terms = tuple(replace(t, moments=carried) if isinstance(t, LoadDependent) else t for t in d.layout.terms)
        heavier = d.with_terms(terms)
        return Records.fitted(heavier, self.loaded, full.recipe, full.estimator, base_model(heavier.layout))

    def _residuals(self, base: BaseModel, empty: Records | Stated, full: Records, added: Array) -> dict[str, Residual]:
        """Torques of the loaded records as the robot alone, and as robot and load, predict them; friction as fitted there."""
        d = full.description
        friction = own_friction(base).any(axis=1)
        alone = np.where(friction, full.beta, empty.beta)
        motions, base_model = list(full.problem.motions), full.problem.base
        out = {}
        for name, beta in (("robot alone", alone), ("robot and load", alone + added)):
            chi = np.array(full.problem.fixed_values)
            chi[base_model.retained] = beta
            out[name] = judged(Parameters(d.layout, chi, d.prior.shapes), motions, base_model.engine)
        return out


def _mass_missing(result: Payload) -> str:
    return (
        f"{result.sentence}; statements and files have a mass that fits this and is a guess; a motion that turns the load about "
        "several level axes would show the mass (`excite` designs one for a payload)"
    )


def _far(difference: Array, covariance: Array, known: NDArray[np.bool_]) -> bool:
    """Whether the nearest real body is further from what was measured than noise explains (once in a thousand)."""
    d, C = difference[known], covariance[np.ix_(known, known)]
    return bool(d @ np.linalg.solve(C, d) > chi2.ppf(0.999, len(d)))

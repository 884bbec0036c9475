"""The experiment of the Jaco2 study: five logs of the real arm, or a simulated robot that is not its CAD, with imperfect sensors.

The paper's logs are in archives that it names and not at hand here.  What is fixed instead of them, before any result:

* truth: the consistent robot nearest to the paper's CLS-3 column (Table 4), in printed standard deviations;
* motions: Fourier series of 20 s designed for the paper's condition number of 50, repeated so that every record is about as long as
  the paper's (its ratio s / s_r is |tau| / N, from which lengths follow);
* sensors: 2 % hysteresis, 0.1 N m offset and 5 ms delay of the torque, the catalog's noise; 100 Hz.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from inertica.arrays import Array
from inertica.dynamics.simulate import Noise
from inertica.errors import InputError
from inertica.estimators.base import Estimate
from inertica.estimators.consistent.bounded import link_ellipsoids
from inertica.estimators.standard import nearest_prior
from inertica.excitation.constraints import robot_constraints
from inertica.excitation.files import catalog_trajectory
from inertica.excitation.fourier import Fourier
from inertica.excitation.optimal import Design, DesignOptions, design
from inertica.excitation.search import Search
from inertica.experiment import ControlLoop, Experiment, Sensors
from inertica.experiment.experiment import noise_preset
from inertica.identifiability.base import BaseModel, base_model
from inertica.logs import read_log
from inertica.logs.log import Log
from inertica.physical.cone import Program
from inertica.physical.constraints import RealBody
from inertica.physical.fit import Fit
from inertica.physical.priors import Euclidean
from inertica.physical.regions import CentreInEllipsoid, MassInEllipsoid
from inertica.physical.scales import Reference
from inertica.preprocessing.filters import Butterworth
from inertica.preprocessing.motion import Motion
from inertica.preprocessing.prepare import prepare
from inertica.preprocessing.recipe import Recipe
from inertica.robot.description import Description
from inertica.robot.formula import constant
from inertica.robot.friction import Coulomb, Viscous
from inertica.robot.layout import Parameters
from inertica.robot.load import load
from inertica.threads import one_thread

ROBOT = "jaco2"
METHODS = ("cad", "uls", "cls-1", "cls-2", "cls-3")
RECORDS = range(1, 6)
SHOWN_IDENTIFIED, SHOWN = 4, 3
"""The paper's Table 4 and Figures 4 to 8: identified on record 4, validated on record 3."""

Scores = Mapping[tuple[int, int, str], tuple[float, float]]
"""(identified on, record, method) -> s in N m and s_r."""

TOOL = 0.2638
"""m from the last joint to the tool along its axis, d7 of the paper's Table 1: the last link reaches that far."""

PERIOD, HARMONICS, CONDITION = 20.0, 10, 50.0
PERIODS = (1, 1, 7, 10, 25)
"""Of each motion: |tau| / N of the paper's five records (0.0425, 0.0494, 0.0159, 0.0131, 0.0083 N m) with the 5 N m rms of a torque
value that these motions have means 20, 15, 141, 206 and 513 s; rounded to whole periods."""

CONTROL_RATE = 2000.0
"""Hz; enough for the catalog's gains, and quicker than its 5 kHz."""

HYSTERESIS, OFFSET, DELAY = 0.02, 0.1, 0.005
FILTER = Butterworth(cutoff=5.0, order=2)
DESIGN_MARGIN = 0.1
"""rad, rad/s and rad/s^2 that designed motions keep from the limits."""

TRUE_MARGIN = 0.02
"""How far inside the set of bodies that can exist the true links are, in units of their size."""

REACH, CENTRE_REACH = 1.5, 1.0
_SYMBOL = re.compile(r"(mc|I|L|m)(\d)([xyz]*)")


@dataclass(frozen=True)
class Setup:
    """The experiment.

    Args:
        seed: of the noise.
        record: folder with logs of the five records of the real arm, in the order of their names; simulated when not given.
    """

    seed: int = 0
    record: str | None = None
    description: Description = field(default_factory=lambda: load(ROBOT), repr=False, compare=False)

    @cached_property
    def base(self) -> BaseModel:
        return base_model(self.description.layout)

    @cached_property
    def with_friction(self) -> tuple[BaseModel, Parameters]:
        """The model with viscous and Coulomb friction on the link side, of which the prior knows nothing."""
        joints = range(self.description.robot.n)
        described = self.description.with_terms((*(Viscous(j) for j in joints), *(Coulomb(j) for j in joints)))
        return base_model(described.layout), described.prior

    @property
    def points(self) -> dict[int, list[list[float]]]:
        """What is known of the links besides their joints."""
        return {self.description.robot.n: [[0.0, 0.0, TOOL]]}

    @cached_property
    def published(self) -> Mapping[str, Any]:
        return self.description.reference

    @cached_property
    def printed_rows(self) -> Array:
        """(43, P) the parameters of the paper's Table 4 as combinations of standard parameters."""
        combinations = self.published["base_parameters"]["combinations"]
        return np.array([self.combination(combinations.get(name, name)) for name in self.published["table4"]])

    @cached_property
    def truth(self) -> Parameters:
        """A robot that is not its CAD, and not far from it."""
        return Parameters(self.description.layout, self.near_cls3(1.0), origin="near the paper's CLS-3 column")

    def near_cls3(self, strength: float) -> Array:
        """(P,) min sum ((C chi - CLS-3 column) / printed sigma)^2 + strength^2 |relative change from CAD|^2, real bodies inside their
        ellipsoids: what CLS-3 of the paper may have been.

        The paper prints combinations only; with 0.01 they are met to 0.13 printed standard deviations, which is the catalog's
        `jaco2_cls3`.

        Args:
            strength: of the pull to CAD, which decides what the combinations leave open.
        """
        reference = Reference.of(self.description.layout, self.description.prior.values)
        inside = (
            CentreInEllipsoid(link_ellipsoids(reference, CENTRE_REACH, self.points)),
            MassInEllipsoid(link_ellipsoids(reference, REACH, self.points)),
        )
        column = np.array([[row[7], row[8]] for row in self.published["table4"].values()])
        fit = Fit(np.diag(1.0 / column[:, 1]), column[:, 0] / column[:, 1], self.printed_rows)
        program = Program(reference, (RealBody(TRUE_MARGIN), *inside))
        return np.asarray(program.solve(fit, Euclidean(strength).penalty(reference, fit)).chi)

    @property
    def noise(self) -> Noise:
        """Standard deviations of recorded positions and torques."""
        return noise_preset(self.description, "standard")

    @cached_property
    def experiment(self) -> Experiment:
        sensors = Sensors(rate=100.0, delay=DELAY, hysteresis=HYSTERESIS, torque_offset=OFFSET)
        loop = replace(ControlLoop.of(self.description), rate=CONTROL_RATE, difference_velocity=False)
        return Experiment(self.description, loop, self.truth, self.noise, sensors)

    @cached_property
    def logs(self) -> tuple[Log, ...]:
        """Of the real arm."""
        folder = Path(self.record or "")
        files = sorted(x for x in folder.iterdir() if x.is_file() and not x.name.startswith(".")) if folder.is_dir() else []
        if len(files) != len(RECORDS):
            raise InputError(
                f"{folder} should be a folder with the {len(RECORDS)} records of the study as logs, one file each in the order of "
                f"their names; it {f'has {len(files)} files' if folder.is_dir() else 'is no folder'}"
            )
        logs = tuple(read_log(str(file), self.description) for file in files)
        for log in logs:
            log.need("q")
            log.need("tau")
        return logs

    def motion(self, number: int) -> Motion:
        """One of the five, filtered as in the paper: positions and torques by the same Butterworth filter."""
        if self.record is not None:
            return prepare(self.logs[number - 1], Recipe(filter=FILTER, filter_torque=True))
        trajectory = catalog_trajectory(ROBOT, f"comparison{number}").trajectory
        (log,) = self.experiment.run(trajectory, seed=self.seed, first_run=number, duration=PERIODS[number - 1] * PERIOD)
        return prepare(log, Recipe(filter=FILTER, filter_torque=True))

    @cached_property
    def motions(self) -> tuple[Motion, ...]:
        return tuple(self.motion(number) for number in range(1, len(PERIODS) + 1))

    def singular_values(self, motion: Motion) -> Array:
        """Of the base regressor of a record."""
        Y = self.base.reduce(self.base.engine.regressor(motion.q, motion.dq, motion.ddq))[~motion.mask]
        W = Y.reshape(-1, Y.shape[-1])
        with one_thread():
            return np.asarray(np.linalg.svd(np.linalg.qr(W, mode="r"), compute_uv=False))

    def combination(self, text: str) -> Array:
        """`mc3y + d3*(m4+m5)` -> coefficients of standard parameters; the paper's I2yy and L2yy are YY2, its mc3y is MY3."""
        lengths = {x.name: x.value for joint in self.description.robot.joints for x in joint.lengths}
        text = re.sub(r"d\d", lambda m: f"({lengths[m[0]]!r})", text).replace("^", "**")
        out = np.zeros(self.description.layout.size)
        for symbol in {m[0] for m in _SYMBOL.finditer(text)}:
            kind, link, axes = _SYMBOL.fullmatch(symbol).groups()  # type: ignore[union-attr]
            name = f"{'M' if kind.startswith('m') else ''}{axes.upper()}{link}"
            alone = _SYMBOL.sub(lambda m, s=symbol: "1" if m[0] == s else "0", text)  # type: ignore[misc]
            out[self.description.layout.index(name)] = constant(alone)
        return out


def designed(number: int, description: Description | None = None) -> Design:
    """How the shipped motion `comparison<number>` was found; a few seconds."""
    robot = description or load(ROBOT)
    base = base_model(robot.layout)
    family = Fourier.still(PERIOD, robot.home, HARMONICS, free_start=True)
    search = Search(evaluations=0, rounds=10, iterations=60, target=CONDITION)
    return design(
        base.engine,
        base,
        family,
        constraints=robot_constraints(robot, base.engine, margin=DESIGN_MARGIN),
        rng=number,
        options=DesignOptions(search=search),
    )


@dataclass(frozen=True, eq=False)
class Jaco2Case:
    """All fits and errors with one model.

    Args:
        name: of the model.
        base, prior: the model and what is known before.
        estimates: (identified on, method) -> estimate.
        scores: errors of all on all records.
    """

    name: str
    base: BaseModel
    prior: Parameters
    estimates: Mapping[tuple[int, str], Estimate]
    scores: Scores

    def chi(self, identified: int, method: str) -> Array:
        """Standard parameters; for uls those nearest to CAD among all that have its base parameters."""
        e = self.estimates[identified, method]
        return nearest_prior(self.base, e.beta, self.prior) if e.chi is None else e.chi

    def mean(self, method: str) -> float:
        """Mean s_r on validation records."""
        return float(np.mean([self.scores[i, k, method][1] for i in RECORDS for k in RECORDS if k != i]))

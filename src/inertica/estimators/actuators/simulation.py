"""Free runs of a group of joints on the commands of records, and their derivatives in every quantity of their actuators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field

import numpy as np

from inertica.arrays import Array
from inertica.dynamics.kernels import Target
from inertica.dynamics.recursions import mass_matrix
from inertica.dynamics.servo import HARD, LEAD, UNLIMITED, ServoLoop, ServoModel, Standstill
from inertica.estimators.actuators.record import Grid, Hold, Record, delayed
from inertica.estimators.actuators.values import ActuatorValues
from inertica.robot.kinematics import poses
from inertica.robot.model import Robot

FIELDS = {
    "armature": "armature", "viscous": "viscous", "coulomb": "coulomb", "zero": "zero", "kp": "kp", "kd": "kd",
    "torque_limit": "limit", "stribeck": "stribeck", "stribeck_speed": "stribeck speed", "load_friction": "load", "delay": LEAD,
}  # fmt: skip
"""Quantity -> field of the compiled step."""


@dataclass(frozen=True, eq=False)
class Start:
    """State at the first sample of a record.

    Args:
        q, dq: (n,).
    """

    q: Array
    dq: Array


@dataclass(frozen=True, eq=False)
class Directions:
    """Directions of derivatives: D unit changes each of quantities, of link parameters or of the state at the start.

    Args:
        quantities: (name, joint) one per direction.
        links: (L, 10 n) rates of the links' parameters, one per direction.
        starts: derivatives in position and velocity at the start of every joint, too: 2 n directions.
    """

    quantities: tuple[tuple[str, int], ...] = ()
    links: Array | None = None
    starts: bool = False


@dataclass(eq=False)
class Runs:
    """A group of joints that influence each other, and the records of their motion.

    Args:
        robot: these joints alone.
        links: (10 n,) parameters of their links.
        records: of these joints.
        target: what computes.
        finest: longest step of the simulation in s.
        hold: of commands between samples.
        standstill: of dry friction.
        richer: dry friction may depend on speed and load.
    """

    robot: Robot
    links: Array
    records: Sequence[Record]
    target: Target
    finest: float
    hold: Hold = "zero"
    standstill: Standstill = HARD
    richer: bool = False
    counted: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._grids = [Grid.of(record, self.finest) for record in self.records]
        # a command that only some records have is zero in the others
        commanded = set().union(*(record.commands for record in self.records))
        self._model = ServoModel(self.robot, ServoLoop("dq" in commanded, "tau" in commanded, self.richer), self.target)

    def with_records(self, records: Sequence[Record], **changes: object) -> Runs:
        """The same joints on other records, or simulated otherwise; what is compiled stays."""
        names = ("finest", "hold", "standstill", "richer", "links")
        parts: dict[str, object] = {name: getattr(self, name) for name in names} | changes
        other = Runs(self.robot, parts.pop("links"), records, self.target, **parts)  # type: ignore[arg-type]
        if other._model.loop == self._model.loop:
            other._model = self._model
        return other

    def with_links(self, links: Array) -> Runs:
        """The same joints with other links; what is compiled and laid out stays."""
        other = copy(self)
        other.links = links
        return other

    def positions(self, k: int, values: ActuatorValues, start: Start) -> Array:
        """(N, n) simulated positions at the samples of the k-th record."""
        self.counted += 1
        grid = self._grids[k]
        out = self._model.run(self._fields(k, values, start), self._table(k, values), grid.dt, grid.steps)
        return grid.at_samples(out[0])

    def derivatives(self, k: int, values: ActuatorValues, start: Start, wanted: Directions) -> tuple[Array, Array]:
        """(N, n) positions and (D, N, n) their derivatives, in the order quantities, links, q and dq at the start."""
        self.counted += 1
        grid, n = self._grids[k], self.robot.n
        links = np.zeros((0, len(self.links))) if wanted.links is None else wanted.links
        a, b, c = len(wanted.quantities), len(links), 2 * n if wanted.starts else 0
        rates: dict[str, Array] = {name: np.zeros((a + b + c, n)) for name in {FIELDS[name] for name, _ in wanted.quantities}}
        for i, (name, joint) in enumerate(wanted.quantities):
            rates[FIELDS[name]][i, joint] = 1.0
        if b:
            rates["links"] = np.vstack([np.zeros((a, len(self.links))), links, np.zeros((c, len(self.links)))])
        if c:
            rates["q"], rates["dq"] = np.zeros((a + b + c, n)), np.zeros((a + b + c, n))
            rates["q"][a + b : a + b + n], rates["dq"][a + b + n :] = np.eye(n), np.eye(n)
            rates["dq before"] = rates["dq"]
        table = self._table(k, values)
        q, dq = self._model.rates(self._fields(k, values, start), rates, table, grid.dt, grid.steps)
        return grid.at_samples(q), grid.at_samples(dq)

    def _inertia_at_zero(self, links: Array) -> Array:
        M = mass_matrix(poses(self.robot, [0.0] * self.robot.n), links.reshape(-1, 10).tolist())
        return np.asarray(M, np.float64)

    def _table(self, k: int, values: ActuatorValues) -> Array:
        parts: list[Array] = []
        for signal in self._model.loop.signals:
            parts += delayed(self.records[k], signal, values.delay, self._grids[k], self.hold)
        return np.hstack(parts)

    def _fields(self, k: int, values: ActuatorValues, start: Start) -> Mapping[str, Array]:
        links = self.records[k].loaded(self.links)
        fields = {f: getattr(values, name) for name, f in FIELDS.items() if f != LEAD}
        fields["limit"] = np.minimum(fields["limit"], UNLIMITED)
        fields |= {"q": start.q, "dq": start.dq, "dq before": start.dq, "links": links, LEAD: np.zeros(self.robot.n)}
        inertia = 1.0 / np.diag(np.linalg.inv(self._inertia_at_zero(links) + np.diag(values.armature)))
        fields |= self.standstill.fields(inertia, self._grids[k].dt)
        # at rest dry friction holds as long as it can; in motion it brakes
        return {**fields, "sliding": np.sign(start.dq), "saturated": np.zeros(self.robot.n)}

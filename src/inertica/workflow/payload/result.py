"""`Payload`: the load that was found, as numbers, as a document and as files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from inertica.arrays import Array
from inertica.documents import plain
from inertica.estimators.load_trust import MASS, FirstMoment
from inertica.identifiability.labels import DETERMINED, FIXED, INTERVAL, WEAK
from inertica.numbers import number, span
from inertica.robot import inertia
from inertica.robot.description import Description
from inertica.robot.flange import Flange
from inertica.robot.loadwrite import mjcf_text, statements, urdf_text
from inertica.validation.residuals import Residual
from inertica.workflow.identify.choice import Choice
from inertica.writing import whole_folder

ORDER = ("M", "MX", "MY", "MZ", "XX", "XY", "XZ", "YY", "YZ", "ZZ")
"""In which the parameters of a load are listed."""

UNITS = {"M": "kg", "MX": "kg m", "MY": "kg m", "MZ": "kg m"}

BIAS_UNITS = ("N", "N", "N", "N m", "N m", "N m")

PAYLOAD, URDF, MJCF, CONTROLLERS = "payload.json", "load.urdf", "load.xml", "controllers.txt"


@dataclass(frozen=True, eq=False)
class SensorBias:
    """What a force-torque sensor reads without any load: three forces in N, three moments in N m.

    Args:
        values: (6,).
        intervals: (6, 2) 95 %, infinite where it cannot be told from the load.
    """

    values: Array
    intervals: Array

    def document(self) -> dict[str, Any]:
        """As plain data."""
        return {"bias": {"value": self.values, "interval": self.intervals, "unit": BIAS_UNITS}}


@dataclass(frozen=True, eq=False)
class Payload:
    """What `payload` found.  Arrays are in the order of `inertia.NAMES`, in the frame of the flange.

    Args:
        description: the robot.
        flange: where the load is fixed.
        values: (10,) of a body that can exist.
        intervals: (10, 2) 95 %, infinite where the records determine sums only, or nothing.
        covariance: (10, 10) of what the records say, bias and model error included, constraints left out.
        measured: (10,) what the records say before constraints.
        labels: trust, as in `identify`.
        choices: decisions, automatic or the user's.
        warnings: one sentence each.
        residuals: torques of the loaded records, predicted by the robot alone and with the load.
        logs: unloaded and loaded -> where they came from.
        moments: first moments that are determined, those that hold an unknown mass included.
        bias: of the force-torque sensor that the load hangs on; None where it was found from joint torques.
    """

    description: Description
    flange: Flange
    values: Array
    intervals: Array
    covariance: Array
    measured: Array
    labels: tuple[str, ...]
    choices: tuple[Choice, ...]
    warnings: tuple[str, ...]
    residuals: Mapping[str, Residual]
    logs: Mapping[str, tuple[str, ...]]
    moments: tuple[FirstMoment, ...] = ()
    bias: SensorBias | None = None

    def __getitem__(self, name: str) -> float:
        return float(self.values[inertia.NAMES.index(name)])

    @property
    def std(self) -> Array:
        """(10,) of normal distributions with the same intervals; infinite where only sums are known, or nothing."""
        separate = np.array([label in (DETERMINED, WEAK) for label in self.labels])
        return np.where(separate, np.diff(self.intervals, axis=1)[:, 0] / (2.0 * INTERVAL), np.inf)

    @property
    def mass_shows(self) -> bool:
        """Whether the records say by themselves that there is a mass: its interval excludes zero, constraints left out."""
        label, spread = self.labels[MASS], float(np.sqrt(self.covariance[MASS, MASS]))
        return label in (DETERMINED, FIXED) or (label == WEAK and self.measured[MASS] > INTERVAL * spread)

    @property
    def sentence(self) -> str:
        """What is determined of the load: its mass, or the first moments that show where the mass alone does not."""
        if self.mass_shows:
            return f"load of {number(self.body.mass)} kg ({span(*self.intervals[MASS])})"
        if not self.moments:
            return "neither the mass nor a first moment of the load shows in this motion"
        return "; ".join([*map(_moment_text, self.moments), "the mass alone does not show in this motion"])

    @cached_property
    def body(self) -> inertia.Body:
        """Mass, centre of mass and inertia about it."""
        return inertia.to_com(self.values)

    @property
    def com_std(self) -> Array:
        """(3,) standard deviations of the centre of mass, to first order; infinite where mass or first moment are not known."""
        m, c = self.body.mass, self.body.com
        known = np.isfinite(self.std)
        out = np.full(3, np.inf)
        for k in range(3):
            gradient = np.zeros(10)
            gradient[6 + k], gradient[9] = 1.0 / m, -c[k] / m
            if known[6 + k] and known[9]:
                out[k] = np.sqrt(gradient @ self.covariance @ gradient)
        return out

    @property
    def statements(self) -> dict[str, str]:
        """Controller -> statement to paste."""
        return statements(self.values)

    @property
    def parent(self) -> str:
        """The link that carries the load."""
        return self.description.robot.joints[self.flange.body.link].link

    def document(self) -> dict[str, Any]:
        """Everything as plain data, with the names of the command line's JSON."""
        com, spread = self.body.com, INTERVAL * self.com_std
        order = [inertia.NAMES.index(name) for name in ORDER]
        return {
            "robot": self.description.name,
            "frame": {"name": self.flange.name, "link": self.parent, "position": self.flange.body.position,
                      "rotation": self.flange.body.rotation},
            "parameters": [
                {"name": inertia.NAMES[k], "value": self.values[k], "std": self.std[k], "interval": list(self.intervals[k]),
                 "label": self.labels[k], "unit": UNITS.get(inertia.NAMES[k], "kg m^2")}
                for k in order
            ],
            "determined": {"text": self.sentence, "mass": self.mass_shows,
                           "first_moments": [_moment_document(m) for m in self.moments]},
            "mass": {"value": self.body.mass, "interval": list(self.intervals[9]), "unit": "kg"},
            "centre_of_mass": {"value": com, "interval": [list(x) for x in zip(com - spread, com + spread, strict=True)], "unit": "m"},
            "central_inertia": {"value": self.body.inertia, "unit": "kg m^2"},
            "statements": self.statements,
            "residual": {name: plain(r) for name, r in self.residuals.items()},
            "choices": [plain(c) for c in self.choices],
            "logs": {name: list(names) for name, names in self.logs.items()},
            "warnings": list(self.warnings),
            **({} if self.bias is None else self.bias.document()),
        }  # fmt: skip

    @property
    def _caution(self) -> str:
        """A comment for those who paste a mass that the records do not determine; empty where they do."""
        return "" if self.mass_shows else f"# {self.sentence}; the mass below is a guess that fits it\n\n"

    def save(self, folder: str | Path) -> tuple[Path, ...]:
        """Write payload.json, the load as a URDF link and an MJCF body, and the controllers' statements."""
        pose = self.flange.body
        texts = {
            URDF: urdf_text(self.values, self.parent, pose),
            MJCF: mjcf_text(self.values, self.parent, pose),
            CONTROLLERS: self._caution + "".join(f"# {name}\n{line}\n\n" for name, line in self.statements.items()),
            PAYLOAD: json.dumps(plain(self.document()), indent=1, ensure_ascii=False) + "\n",
        }
        with whole_folder(folder, PAYLOAD) as temporary:
            for name, text in texts.items():
                (temporary / name).write_text(text, encoding="utf-8")
        return tuple(Path(folder) / name for name in texts)


def _moment_text(moment: FirstMoment) -> str:
    """A first moment for people."""
    numbers = f"{number(moment.value)} kg m ({span(moment.lower, moment.upper)})"
    along = moment.axis or f"({_listed(moment.direction)})"
    about = "" if moment.offset == 0.0 else f" about the point ({_listed(moment.point)}) m"
    return f"the first moment along {along}{about}, {numbers}"


def _moment_document(moment: FirstMoment) -> dict[str, Any]:
    return {
        "direction": moment.direction, "about": moment.point, "value": moment.value, "interval": [moment.lower, moment.upper],
        "unit": "kg m",
    }  # fmt: skip


def _listed(vector: Array) -> str:
    return ", ".join(f"{x + 0.0:.3g}" for x in np.where(np.abs(vector) < 5e-4 * np.abs(vector).max(initial=0.0), 0.0, vector))

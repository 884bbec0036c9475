"""`Identification`: the record of one identification; everything `identify` found, decided and measured; saves and loads itself."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from functools import cache, cached_property
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np

from inertica.arrays import Array
from inertica.checks.findings import Quality
from inertica.display import paragraph, titled
from inertica.documents import infinite, plain, typed
from inertica.dynamics.engine import Engine
from inertica.errors import FileError
from inertica.estimators.base import Diagnostics, Estimate, LoopFindings
from inertica.excitation.files import load_trajectory, save_trajectory
from inertica.excitation.trajectory import Trajectory
from inertica.frames import Tabular
from inertica.identifiability.base import base_model
from inertica.identifiability.labels import DETERMINED, FIXED, INTERVAL, WEAK
from inertica.logs.log import Log
from inertica.logs.readers.guard import check_archive, reading
from inertica.physical.plausible import MassSummary, mass_summary
from inertica.physical.scales import Reference
from inertica.preprocessing.motion import Motion
from inertica.preprocessing.recipe import Recipe
from inertica.robot.description import Description
from inertica.robot.files import CARD
from inertica.robot.layout import Parameters
from inertica.robot.load import load as load_robot
from inertica.validation.lack_of_fit import LackOfFit
from inertica.validation.residuals import Residual
from inertica.workflow.export.exported import ExportedModel
from inertica.workflow.friction.bristles import Bristles
from inertica.workflow.identify.before import Before
from inertica.workflow.identify.choice import Choice
from inertica.workflow.identify.drift import Drift
from inertica.workflow.identify.mount import Mount
from inertica.workflow.identify.parameter_table import Entry, documents, frame, notebook_table
from inertica.workflow.identify.prediction import engine_of, judged, predicted_torque, with_correction
from inertica.workflow.identify.replay import own_reference, prediction_motion
from inertica.workflow.identify.saved import (
    SCHEMA,
    SCHEMA_KEY,
    check_arrays,
    correction_document,
    correction_of,
    read_stamped,
    stamped_text,
    standstill_of,
    upgraded,
    write_card,
)
from inertica.workflow.identify.standstill import HELD, Standstill
from inertica.workflow.identify.transmission import Transmission
from inertica.writing import whole_folder

Motions = Mapping[str, Sequence[Motion]]
"""Data set -> its logs as predictions are made from them, `identification` first."""

RESULT, ARRAYS = "result.json", "result.npz"
REFERENCE = "reference"
"""Files of the trajectories that the controller followed, numbered."""

OWN_FORM = (
    "description", "estimate", "parameters", "intervals", "labels", "references", "correction", "standstill", "exported", "motions",
)  # fmt: skip
"""Fields that are saved as a card, as arrays, as trajectories or in a form of their own, motions not at all; the others go through
`documents`, whatever their type."""


@dataclass(frozen=True, eq=False)
class Identification(Tabular):
    """What `identify` found, and on what grounds.

    Args:
        description: the robot with the terms that were identified; its prior is what was known before.
        estimate: base parameters with their covariance.
        parameters: standard parameters, those nearest the prior among all that explain the data equally well.
        intervals: (P, 2) 95 % intervals of them, infinite where neither data nor a method's constraints and prior set a limit.
        labels: parameter -> trust label.
        recipe: how logs become motions.
        choices: decisions, automatic or the user's.
        residuals: data set -> figures of merit; `identification` first.
        time: stage -> seconds.
        warnings: one sentence each.
        logs: data set -> the files it came from.
        references: what the controller followed in logs without position, one for all or one for each, those of validation logs
            last; empty when the logs themselves say it.
        speeds: (n,) largest speed of every joint in the identification logs; empty when not known.
        check: what the check of the logs said; None when they were not checked.
        lack_of_fit: what tests of the residuals found; None when none were done.
        gravity: how the robot is mounted and how that is known; None in results of earlier versions.
        command: the command line that gave it; empty when it was made from Python.
        shape_std: constant of a friction law -> its standard deviation, where it was found from the data; infinite where those did
            not tell it and the stated value holds.
        bristles: friction with memory that `inertica friction` found and added; predictions are made without it.
        before: what the model that came in leaves of the same torque; None in results of earlier versions.
        exported: model files that were written with it, each with its own residual.
        correction: what predictions add to the parameters, where data left out show that no physically consistent links explain the
            torque as well; its layout may have friction that the parameters lack.  None where predictions are those of the parameters.
        standstill: how predictions treat dry friction near standstill.
        transmission: what lies between motors and links, where logs have positions of both sides.
        drift: friction that changes with temperature or time.
        motions: data set -> its logs as predictions are made from them; empty in a result that was read (`motions_of`).
    """

    description: Description
    estimate: Estimate
    parameters: Parameters
    intervals: Array
    labels: Mapping[str, str]
    recipe: Recipe
    choices: tuple[Choice, ...]
    residuals: Mapping[str, Residual] = field(metadata={"key": "residual"})
    time: Mapping[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    logs: Mapping[str, tuple[str, ...]] = field(default_factory=dict, metadata={"key": "log_files"})
    references: tuple[Trajectory, ...] = ()
    speeds: tuple[float, ...] = ()
    check: Quality | None = None
    lack_of_fit: LackOfFit | None = None
    gravity: Mount | None = None
    command: str = ""
    shape_std: Mapping[str, float] = field(default_factory=dict, metadata=infinite())
    bristles: Bristles | None = None
    before: Before | None = None
    exported: tuple[ExportedModel, ...] = ()
    correction: Parameters | None = None
    standstill: Standstill = HELD
    transmission: Transmission = field(default_factory=Transmission)
    drift: Drift = field(default_factory=Drift)
    motions: Motions = field(default_factory=dict)

    def __repr__(self) -> str:
        errors = ", ".join(f"{name} {100.0 * r.raw.all:.3g} %" for name, r in self.residuals.items())
        known = sum(label == DETERMINED for label in self.labels.values())
        links = "every link could exist" if self.physically_consistent else "some links could not exist"
        sizes = f"{self.estimate.base.rank} base parameters, {known} of {len(self.labels)} determined"
        return f"Identification({self.description.name} by {self.method}: {sizes}, {links}, residual of raw torque {errors})"

    def _repr_html_(self) -> str:
        remarks = [*(c.sentence for c in self.choices), *(f"warning: {w}" for w in self.warnings)]
        return titled(repr(self), notebook_table(self.entries), *map(paragraph, remarks))

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """The standard parameters one by one, with all that is known of each."""
        joints, columns = self.description.robot.joints, (self.parameters.values, self.std, self.description.prior.values)
        values, std, prior = ([float(x) for x in column] for column in columns)
        return tuple(
            Entry(
                p, None if p.joint is None else joints[p.joint], values[k], std[k],
                (float(self.intervals[k, 0]), float(self.intervals[k, 1])), prior[k], self.labels[p.name],
            )
            for k, p in enumerate(self.parameters.layout.parameters)
        )  # fmt: skip

    def table(self) -> dict[str, Any]:
        """What `parameters.csv` holds, see `parameter_table.COLUMNS`."""
        return frame(self.entries)

    @property
    def std(self) -> Array:
        """(P,) standard deviations of normal distributions with the same intervals; infinite where data tell sums only, or nothing."""
        separate = np.array([self.labels[name] in (DETERMINED, WEAK, FIXED) for name in self.parameters.layout.names])
        return np.where(separate, np.diff(self.intervals, axis=1)[:, 0] / (2.0 * INTERVAL), np.inf)

    @property
    def method(self) -> str:
        return self.estimate.method

    @property
    def physically_consistent(self) -> bool:
        return is_possible(self.parameters)

    @cached_property
    def predictor(self) -> Parameters:
        """What torque is predicted with: the parameters, and the correction where there is one."""
        return with_correction(self.parameters, self.correction)

    @cached_property
    def predictor_engine(self) -> Engine:
        """Compiled dynamics of `predictor`."""
        return engine_of(self.predictor, self.estimate.base)

    @cached_property
    def masses(self) -> MassSummary:
        """Masses and centres of mass beside those of the model and the shapes of its links."""
        unstated = () if self.before is None else self.before.placeholders
        return mass_summary(self.parameters, self.description.prior, self.intervals, self.description.source, unstated)

    def motion(self, log: Log, reference: Trajectory | None = None) -> Motion:
        """A log prepared as predictions ask for; without position, the loop simulated along the reference.

        Args:
            log: of the same robot.
            reference: what the controller followed; the log's own columns when not given.
        """
        return prediction_motion(self.description, self.estimate, self.recipe.for_prediction, log, reference)

    def motions_of(self, logs: Mapping[str, Sequence[Log]]) -> dict[str, tuple[Motion, ...]]:
        """Data set -> motions of its logs, those of the identification first; for a result that was read."""
        out: dict[str, tuple[Motion, ...]] = {}
        for k, (name, log) in enumerate((name, log) for name, several in logs.items() for log in several):
            reference = own_reference(self.references, k, None if name == next(iter(logs)) else log)
            out[name] = (*out.get(name, ()), self.motion(log, reference))
        return out

    def predict(self, log: Log, reference: Trajectory | None = None) -> Array:
        """(M, n) torques at the samples of a log; see `motion`."""
        motion = self.motion(log, reference)
        return motion.at_samples(predicted_torque(self.predictor, motion, self.predictor_engine, self.standstill))

    def validate(self, log: Log, reference: Trajectory | None = None) -> Residual:
        """Figures of merit on a log; see `motion`."""
        return judged(self.predictor, [self.motion(log, reference)], self.predictor_engine, standstill=self.standstill)

    def document(self) -> dict[str, Any]:
        """Everything as plain data, with the names of the command line's JSON."""
        base, estimate = self.estimate.base, self.estimate
        grouped = zip(base.names, estimate.beta, estimate.std, base.relations, strict=True)
        bandwidth = next((c for c in self.choices if c.subject == "filter"), None)
        shapes = zip(self.parameters.layout.shapes, self.parameters.shapes, strict=True)
        return {_key(f): plain(getattr(self, f.name)) for f in fields(self) if f.name not in OWN_FORM} | {
            "robot": self.description.name,
            "method": self.method,
            "base_count": base.rank,
            "condition": estimate.condition,
            "filter": {"chosen": bandwidth.value, "why": bandwidth.sentence} if bandwidth else None,
            "physically_consistent": self.physically_consistent,
            "parameters": documents(self.entries),
            "base": [
                {"name": n, "value": v, "std": s, "interval": [v - INTERVAL * s, v + INTERVAL * s], "relation": r}
                for n, v, s, r in grouped
            ],
            "shapes": [self._shape(s.name, s.unit, float(value)) for s, value in shapes],
            "correction": None if self.correction is None else correction_document(self.correction),
            "standstill": list(self.standstill.widths),
            "sigma": list(estimate.sigma),
            "masses": self.masses.document(),
            "decisions": [c.decision() for c in self.choices],
            "iterations": estimate.iterations,
            "stop_reason": estimate.stop_reason,
            "estimate": {"settings": estimate.record(), "simulations": estimate.simulations},
            "logs": {name: ", ".join(files) for name, files in self.logs.items()},
            "exported": {model.path.name: plain(model.moved(Path())) for model in self.exported},
        }

    def _shape(self, name: str, unit: str, value: float) -> dict[str, Any]:
        """A constant of a friction law that enters nonlinearly; its interval is that of a logarithm."""
        out: dict[str, Any] = {"name": name, "value": value, "unit": unit}
        if name not in self.shape_std:
            return out | {"label": "stated"}
        std = self.shape_std[name]
        if not math.isfinite(std):
            return out | {"label": "stated, not told by the data", "std": std}
        factor = math.exp(INTERVAL * std / value)
        return out | {"label": "found", "std": std, "interval": [value / factor, value * factor]}

    def save(self, folder: str | Path) -> Path:
        """Write `result.json`, `result.npz` and a robot card that reads back the same layout; no pickles."""
        with whole_folder(folder, RESULT) as temporary:
            self._write(temporary)
        return Path(folder)

    def _write(self, temporary: Path) -> None:
        write_card(self.description, temporary)
        e = self.estimate
        arrays = {"beta": e.beta, "chi": self.parameters.values, "shapes": self.parameters.shapes}
        arrays |= {"intervals": self.intervals, "prior": self.description.prior.values, "base": e.base.T}
        arrays |= {} if e.covariance is None else {"covariance": e.covariance}
        if (d := e.diagnostics) is not None:
            arrays |= {"plain_covariance": d.plain_covariance, "sigma": d.sigma, "unresolved": d.unresolved}
            arrays |= {} if d.widened is None else {"widened": d.widened}
        if (by_data := e.by_data) is not e.beta:
            arrays["by_data"] = by_data
        np.savez(temporary / ARRAYS, allow_pickle=False, **arrays)
        for k, trajectory in enumerate(self.references):
            save_trajectory(trajectory, temporary / f"{REFERENCE}{k + 1}.yaml")
        document = {SCHEMA_KEY: SCHEMA} | self.document() | {"references": len(self.references)}
        (temporary / RESULT).write_text(stamped_text(document), encoding="utf-8")

    @classmethod
    def load(cls, folder: str | Path) -> Identification:
        """Read what `save` wrote; the folder or its result.json."""
        source = Path(folder)
        source = source.parent if source.name == RESULT else source
        missing = [name for name in (RESULT, ARRAYS) if not (source / name).is_file()]
        if missing:
            raise FileError(source / missing[0], "this is not the folder of a result: the file is missing")
        with reading(source, "result"):
            result = cls._read(source)
            result.document()  # what is of the wrong kind shows here, not in the middle of a report
        return result

    @classmethod
    def _read(cls, source: Path) -> Identification:
        document = upgraded(source / RESULT, read_stamped(source / RESULT))
        check_archive(source / ARRAYS)
        with np.load(source / ARRAYS, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        description = load_robot(source / CARD)
        if len(arrays.get("chi", ())) != description.layout.size:
            raise FileError(
                source, f"the result holds {len(arrays.get('chi', ()))} parameters, its robot card {description.layout.size}"
            )
        base = base_model(description.layout)
        check_arrays(source, document, arrays, base, len(description.layout.shapes))
        diagnostics = None
        if "sigma" in arrays:
            condition = document["condition"] or math.inf
            plainly, widened = arrays["plain_covariance"], arrays.get("widened")
            diagnostics = Diagnostics(arrays["sigma"], condition, arrays["unresolved"], plainly, widened, arrays.get("by_data"))
        stated = document.get("estimate", {})
        estimate = Estimate(
            document["method"], base, arrays["beta"], arrays.get("covariance"), diagnostics,
            loop=LoopFindings.of(stated.get("settings", {})),
            iterations=document["iterations"], stop_reason=document["stop_reason"], **stated,
        )  # fmt: skip
        prior = Parameters(description.layout, arrays["prior"], arrays["shapes"], description.prior.origin)
        parameters = Parameters(description.layout, arrays["chi"], arrays["shapes"], "identified")
        labels = {p["name"]: p["label"] for p in document["parameters"]}
        references = tuple(load_trajectory(source / f"{REFERENCE}{k + 1}.yaml") for k in range(document.get("references", 0)))
        exported = [typed(ExportedModel, model | {"path": name}) for name, model in document.get("exported", {}).items()]
        return cls(
            description.with_prior(prior), estimate, parameters, arrays["intervals"], labels, references=references,
            exported=tuple(model.moved(source) for model in exported),
            correction=correction_of(source, document.get("correction"), parameters),
            standstill=standstill_of(source, document.get("standstill", ()), description.robot.n), **_stored(document),
        )  # fmt: skip


Result = Identification
"""The name that scripts know it by."""


def _stored(document: Mapping[str, Any]) -> dict[str, Any]:
    """Values of the fields that have no form of their own; those that the document lacks keep their defaults."""
    stored = [f for f in fields(Identification) if f.name not in OWN_FORM and _key(f) in document]
    return {f.name: typed(_hints()[f.name], document[_key(f)], f.metadata.get("null", math.nan)) for f in stored}


def _key(stored: Field[Any]) -> str:
    return str(stored.metadata.get("key", stored.name))


@cache
def _hints() -> dict[str, Any]:
    return get_type_hints(Identification)


def is_possible(parameters: Parameters) -> bool:
    """Whether every link could exist and nothing that cannot be negative is."""
    return not parameters.inconsistent_links() and not negative(parameters)


def negative(parameters: Parameters) -> list[str]:
    """Drive and friction parameters on the wrong side of their sign constraint, by more than rounding of their reference sizes."""
    rounding = dict(zip(parameters.layout.names, 1e-12 * Reference.of(parameters.layout, parameters.values).scale, strict=True))
    entries = zip(parameters.layout.parameters, parameters.values, strict=True)
    out = [p.name for p, value in entries if p.kind not in ("inertia", "mass") and value < p.lower - rounding[p.name]]
    sums = [row for term in parameters.layout.terms for row in term.inequalities]
    below = [row for row in sums if sum(c * parameters[k] for k, c in row.items()) < -max(rounding[k] for k in row)]
    return out + [" + ".join(row) for row in below]

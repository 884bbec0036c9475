"""`Result`: an estimate with its validation, trust labels and provenance; saves and loads itself."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inertica.display import html_table, paragraph, titled
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
from inertica.validation.residuals import Residual
from inertica.workflow.before import Before
from inertica.workflow.bristles import KEY as BRISTLES
from inertica.workflow.bristles import Bristles
from inertica.workflow.choice import Choice
from inertica.workflow.exported import ExportedModel
from inertica.workflow.prediction import engine_of, judged, predicted_torque, with_correction
from inertica.workflow.replay import own_reference, prediction_motion
from inertica.workflow.saved import (
    check_arrays,
    correction_document,
    correction_of,
    read_stamped,
    recipe_document,
    recipe_of,
    residual_of,
    stamped_text,
    standstill_of,
    write_card,
)
from inertica.workflow.standstill import HELD, Standstill
from inertica.writing import whole_folder

Array = NDArray[np.float64]

RESULT, ARRAYS = "result.json", "result.npz"
REFERENCE = "reference"
"""Files of the trajectories that the controller followed, numbered."""


@dataclass(frozen=True, eq=False)
class Result(Tabular):
    """What `identify` found.

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
        logs: data set -> where it came from.
        references: what the controller followed in logs without position, one for all or one for each, those of validation logs
            last; empty when the logs themselves say it.
        speeds: (n,) largest speed of every joint in the identification logs; empty when not known.
        check: what the check of the logs said, as a plain document; None when they were not checked.
        lack_of_fit: what tests of the residuals found, as a plain document; None when none were done.
        gravity: how the robot is mounted and how that is known, see `Mount.document`.
        command: the command line that gave it; empty when it was made from Python.
        shape_std: constant of a friction law -> its standard deviation, where it was found from the data; infinite where those did
            not tell it and the stated value holds.
        bristles: friction with memory that `inertica friction` found and added; predictions are made without it.
        before: what the model that came in leaves of the same torque; None in results of earlier versions.
        exported: model files that were written with it, each with its own residual.
        correction: what predictions add to the parameters, where data left out show that no physically consistent links explain the
            torque as well; its layout may have friction that the parameters lack.  None where predictions are those of the parameters.
        standstill: how predictions treat dry friction near standstill.
    """

    description: Description
    estimate: Estimate
    parameters: Parameters
    intervals: Array
    labels: Mapping[str, str]
    recipe: Recipe
    choices: tuple[Choice, ...]
    residuals: Mapping[str, Residual]
    time: Mapping[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    logs: Mapping[str, str] = field(default_factory=dict)
    references: tuple[Trajectory, ...] = ()
    speeds: tuple[float, ...] = ()
    check: Mapping[str, Any] | None = None
    lack_of_fit: Mapping[str, Any] | None = None
    gravity: Mapping[str, Any] = field(default_factory=dict)
    command: str = ""
    shape_std: Mapping[str, float] = field(default_factory=dict)
    bristles: Bristles | None = None
    before: Before | None = None
    exported: tuple[ExportedModel, ...] = ()
    correction: Parameters | None = None
    standstill: Standstill = HELD

    def __repr__(self) -> str:
        errors = ", ".join(f"{name} {100.0 * r.raw.all:.3g} %" for name, r in self.residuals.items())
        known = sum(label == DETERMINED for label in self.labels.values())
        links = "every link could exist" if self.physically_consistent else "some links could not exist"
        sizes = f"{self.estimate.base.rank} base parameters, {known} of {len(self.labels)} determined"
        return f"Result({self.description.name} by {self.method}: {sizes}, {links}, residual of raw torque {errors})"

    def _repr_html_(self) -> str:
        columns = ("parameter", "value", "95 % interval", "prior", "unit", "label")
        listed = zip(
            self.parameters.layout.parameters, self.parameters.values, self.intervals, self.description.prior.values, strict=True
        )
        rows = [
            [p.name, float(v), f"{low:.4g} ... {high:.4g}", float(before), p.unit, self.labels[p.name]]
            for p, v, (low, high), before in listed
        ]
        said = [*(c.sentence for c in self.choices), *(f"warning: {w}" for w in self.warnings)]
        return titled(repr(self), html_table(columns, rows), *map(paragraph, said))

    def table(self) -> dict[str, Any]:
        """What `parameters.csv` holds: name, value, std, lower, upper, prior, label, unit, link."""
        own = self.parameters.table()
        ends = {"std": self.std, "lower": self.intervals[:, 0], "upper": self.intervals[:, 1]}
        names = {"label": [self.labels[name] for name in self.parameters.layout.names], "unit": own["unit"], "link": own["link"]}
        return {"name": own["name"], "value": own["value"], **ends, "prior": self.description.prior.values, **names}

    @property
    def std(self) -> Array:
        """(P,) standard deviations of normal distributions with the same intervals; infinite where data tell sums only, or nothing."""
        own = np.array([self.labels[name] in (DETERMINED, WEAK, FIXED) for name in self.parameters.layout.names])
        return np.where(own, np.diff(self.intervals, axis=1)[:, 0] / (2.0 * INTERVAL), np.inf)

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

    def motions(self, logs: Mapping[str, Sequence[Log]]) -> dict[str, tuple[Motion, ...]]:
        """Data set -> motions of its logs, those of the identification first; for the report of a result that was read."""
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
        base, estimate, prior = self.estimate.base, self.estimate, self.description.prior.values
        found, std = self.parameters.values, self.std
        listed = enumerate(self.parameters.layout.parameters)
        grouped = zip(base.names, estimate.beta, estimate.std, base.relations, strict=True)
        chosen = next((c for c in self.choices if c.subject == "filter"), None)
        return {
            "robot": self.description.name,
            "method": self.method,
            "base_count": base.rank,
            "condition": estimate.condition,
            "filter": {"chosen": chosen.value, "why": chosen.sentence} if chosen else None,
            "physically_consistent": self.physically_consistent,
            "residual": {name: r.document() for name, r in self.residuals.items()},
            "before": None if self.before is None else self.before.document(),
            "parameters": [
                {"name": p.name, "value": found[k], "std": std[k], "interval": list(self.intervals[k]), "prior": prior[k]}
                | {"label": self.labels[p.name], "unit": p.unit}
                for k, p in listed
            ],
            "base": [
                {"name": n, "value": v, "std": s, "interval": [v - INTERVAL * s, v + INTERVAL * s], "relation": r}
                for n, v, s, r in grouped
            ],
            "shapes": [
                self._shape(s.name, s.unit, float(v))
                for s, v in zip(self.parameters.layout.shapes, self.parameters.shapes, strict=True)
            ],
            "correction": None if self.correction is None else correction_document(self.correction),
            "standstill": list(self.standstill.widths),
            "sigma": list(estimate.sigma),
            "masses": self.masses.document(),
            "gravity": dict(self.gravity),
            "choices": [asdict(c) for c in self.choices],
            "decisions": [c.decision() for c in self.choices],
            "stop_reason": estimate.stop_reason,
            "estimate": {"settings": estimate.record(), "simulations": estimate.simulations},
            "time": dict(self.time),
            "logs": dict(self.logs),
            "warnings": list(self.warnings),
            "check": self.check,
            "lack_of_fit": self.lack_of_fit,
            "command": self.command,
            "exported": {model.path.name: model.document() for model in self.exported},
        } | ({} if self.bristles is None else {BRISTLES: self.bristles.document()})

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
        if (said := e.by_data) is not e.beta:
            arrays["by_data"] = said
        np.savez(temporary / ARRAYS, allow_pickle=False, **arrays)
        for k, trajectory in enumerate(self.references):
            save_trajectory(trajectory, temporary / f"{REFERENCE}{k + 1}.yaml")
        document = self.document() | {"recipe": recipe_document(self.recipe), "iterations": e.iterations}
        document |= {"references": len(self.references), "speeds": self.speeds}
        (temporary / RESULT).write_text(stamped_text(document), encoding="utf-8")

    @classmethod
    def load(cls, folder: str | Path) -> Result:
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
    def _read(cls, source: Path) -> Result:
        document = read_stamped(source / RESULT)
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
        choices = tuple(Choice(**c) for c in document["choices"])
        found = Parameters(description.layout, arrays["chi"], arrays["shapes"], "identified")
        labels = {p["name"]: p["label"] for p in document["parameters"]}
        residuals = {name: residual_of(r) for name, r in document["residual"].items()}
        references = tuple(load_trajectory(source / f"{REFERENCE}{k + 1}.yaml") for k in range(document.get("references", 0)))
        return cls(
            replace(description, prior=prior), estimate, found, arrays["intervals"], labels, recipe_of(document["recipe"]), choices,
            residuals, document["time"], tuple(document["warnings"]), document["logs"], references,
            tuple(document.get("speeds", ())), document.get("check"), document.get("lack_of_fit"), document.get("gravity", {}),
            document.get("command", ""),
            {s["name"]: math.inf if s["std"] is None else s["std"] for s in document.get("shapes", ()) if "std" in s},
            Bristles.of(document.get(BRISTLES)), Before.of(document.get("before")),
            tuple(ExportedModel.of(source / name, stated) for name, stated in document.get("exported", {}).items()),
            correction_of(source, document.get("correction"), found),
            standstill_of(source, document.get("standstill", ()), description.robot.n),
        )  # fmt: skip


def is_possible(parameters: Parameters) -> bool:
    """Whether every link could exist and nothing that cannot be negative is."""
    return not parameters.inconsistent_links() and not negative(parameters)


def negative(parameters: Parameters) -> list[str]:
    """Drive and friction parameters on the wrong side of their sign constraint, by more than rounding of their reference sizes."""
    rounding = dict(zip(parameters.layout.names, 1e-12 * Reference.of(parameters.layout, parameters.values).scale, strict=True))
    listed = zip(parameters.layout.parameters, parameters.values, strict=True)
    out = [p.name for p, value in listed if p.kind not in ("inertia", "mass") and value < p.lower - rounding[p.name]]
    sums = [row for term in parameters.layout.terms for row in term.inequalities]
    below = [row for row in sums if sum(c * parameters[k] for k, c in row.items()) < -max(rounding[k] for k in row)]
    return out + [" + ".join(row) for row in below]

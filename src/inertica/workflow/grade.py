"""`grade`: how a model file stands before any identification, and against logs where there are some.

Every finding has a letter of its own, and the file the worst of them:

    A   nothing is missing
    B   friction or drive inertia is missing
    C   masses do not look like the robot's, or the model misses more of a log's torque than a good one may
    D   the file states no masses, or placeholders
    F   a link that cannot exist, or next to nothing of a log's torque is predicted

Without logs the letter says what the file holds, not whether the numbers are those of the robot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from inertica.checks.seen import seen
from inertica.documents import Derived
from inertica.logs.log import Log
from inertica.physical.check import check_links, negative_names
from inertica.physical.geometry_prior import without_placeholders
from inertica.physical.plausible import mass_summary
from inertica.preprocessing.bandwidth import widest_position_band
from inertica.preprocessing.edge import unfiltered
from inertica.preprocessing.filters import Butterworth
from inertica.preprocessing.motion import Motion
from inertica.preprocessing.prepare import prepare
from inertica.preprocessing.recipe import Recipe
from inertica.robot.description import Description
from inertica.robot.layout import Parameters
from inertica.robot.outline import arm_length
from inertica.validation.residuals import Residual
from inertica.workflow.identify.inputs import LogLike, described, numbered, read_one
from inertica.workflow.identify.prediction import friction_only, judged
from inertica.workflow.identify.verdict import NOTHING, OVERALL

LETTERS = "ABCDF"
"""Best first."""

BANDS = 6.0
"""Bands of the motion up to which positions are kept: torque holds products of two velocities, `identify` keeps three times that."""

NYQUIST = 0.4
"""Share of the sampling rate that a cut-off may have at most."""


class Subject(StrEnum):
    """What a finding is about."""

    LINKS = "links"
    MASSES = "masses"
    DRIVES = "drive inertia"
    FRICTION = "friction"
    RESIDUAL = "residual"


@dataclass(frozen=True)
class GradeFinding:
    """One thing that was looked at.

    Args:
        subject: what.
        grade: letter, A to F.
        joints: 1-based joints, or links behind them, that it is about; empty for the whole robot.
        value: a number that was compared, such as a residual or a ratio of masses.
        limit: what it was compared with.
        log: that was predicted; empty for findings about the file alone.
        detail: a sentence or a phrase on what was found.
    """

    subject: Subject
    grade: str
    joints: tuple[int, ...] = ()
    value: float | None = None
    limit: float | None = None
    log: str = ""
    detail: str = ""


@dataclass(frozen=True)
class Grade(Derived):
    """How a model stands.

    Args:
        model: name of the robot.
        findings: all that was looked at, also what is fine.
        residuals: log -> what the model misses of its torque.
    """

    DERIVED = {"grade": "letter"}  # noqa: RUF012

    model: str
    findings: tuple[GradeFinding, ...]
    residuals: dict[str, Residual] = field(default_factory=dict)

    @property
    def letter(self) -> str:
        """The worst of all findings."""
        return max((f.grade for f in self.findings), key=LETTERS.index)


def grade(model: str | Path | Description, logs: Sequence[LogLike] = ()) -> Grade:
    """Grades a model file: possible links, plausible masses, drive inertia, friction and, with logs, the torque that it misses.

    Args:
        model: catalog name, model file, card, or a description.
        logs: recorded ones with torque, to predict.

    Examples:
        >>> ia.grade("arm.urdf").letter
        'B'
        >>> [f.subject.value for f in ia.grade("arm.urdf").findings if f.grade != "A"]
        ['drive inertia', 'friction']
    """
    description = described(model)
    findings = [*_links(description.prior), *_masses(description), *_drives(description.prior), *_friction(description.prior)]
    residuals: dict[str, Residual] = {}
    read = [seen(read_one(source, description, "q", "tau")) for source in logs]
    for name, log in numbered([Path(str(log.origin)).name for log in read], read).items():
        residuals[name] = judged(description.prior, [_motion(log)])
        findings.append(_residual(name, residuals[name].raw.all))
    return Grade(description.name, tuple(findings), residuals)


def _links(prior: Parameters) -> list[GradeFinding]:
    """Links, drives and friction that no robot can have."""
    links = check_links(prior)
    wrong = [
        GradeFinding(Subject.LINKS, "F", (k,), detail=f"{x.name}: {x.problem}")
        for k, x in enumerate(links, 1)
        if not x.consistent
    ]
    wrong += [GradeFinding(Subject.LINKS, "F", detail=f"{name} is negative") for name in negative_names(prior)]
    return wrong or [GradeFinding(Subject.LINKS, "A", detail="every link could exist")]


def _masses(description: Description) -> list[GradeFinding]:
    """Are there masses, and do bodies fit into the robot and into their links' shapes?"""
    prior = description.prior
    usable = without_placeholders(prior)
    links = description.robot.links
    unstated = tuple(j + 1 for j in links if not np.any(usable.link(j)))
    if len(unstated) == len(links):
        return [GradeFinding(Subject.MASSES, "D", detail="no masses, or the same placeholder on every link")]
    out = []
    if unstated:
        out.append(GradeFinding(Subject.MASSES, "D", unstated, detail="nothing usable is stated"))
    summary = mass_summary(prior, prior, source=description.source)
    for doubt in summary.doubts:  # beside itself a model can only have centres of mass outside shapes
        detail = "the centre of mass lies outside the link's shape"
        out.append(GradeFinding(Subject.MASSES, "C", doubt.links, doubt.value, doubt.limit, detail=detail))
    reach = arm_length(description.robot)
    for j in links:
        if (size := _gyration(usable.link(j))) > reach > 0.0:
            detail = f"its radius of gyration is {size:.2g} m, the whole robot is {reach:.2g} m long; are units kg and m?"
            out.append(GradeFinding(Subject.MASSES, "C", (j + 1,), size, reach, detail=detail))
    return out or [GradeFinding(Subject.MASSES, "A", detail=f"{summary.total:.3g} kg in all")]


def _gyration(ten: NDArray[np.float64]) -> float:
    """m, root mean square distance of a body's mass from the origin of its frame; half the trace of its inertia over its mass."""
    return float(np.sqrt(max(ten[0] + ten[3] + ten[5], 0.0) / 2.0 / ten[9])) if ten[9] > 0.0 else 0.0


def _drives(prior: Parameters) -> list[GradeFinding]:
    without = tuple(j + 1 for j in prior.layout.robot.independent if not _value(prior, f"Ia{j + 1}"))
    if without:
        detail = "no inertia of motors and gears (armature); right only where torque is measured behind the gears"
        return [GradeFinding(Subject.DRIVES, "B", without, detail=detail)]
    return [GradeFinding(Subject.DRIVES, "A", detail="stated for every joint")]


def _friction(prior: Parameters) -> list[GradeFinding]:
    braking, layout = friction_only(prior), prior.layout
    with_friction = {
        p.joint + 1 for p, value in zip(layout.parameters, braking.values, strict=True) if value and p.joint is not None
    }
    without = tuple(j + 1 for j in layout.robot.independent if j + 1 not in with_friction)
    if without:
        return [GradeFinding(Subject.FRICTION, "B", without, detail="no friction is stated")]
    return [GradeFinding(Subject.FRICTION, "A", detail="stated for every joint")]


def _value(prior: Parameters, name: str) -> float:
    return float(prior[name]) if name in prior.layout.names else 0.0


def _motion(log: Log) -> Motion:
    """A log low-passed far enough above its motion that nothing of the torque is lost."""
    raw = unfiltered(log)
    band = widest_position_band(raw.q, raw.dt)
    return prepare(log, Recipe(filter=Butterworth(cutoff=min(BANDS * band, NYQUIST / raw.dt) if band else None)))


def _residual(name: str, share: float) -> GradeFinding:
    letter = "A" if share <= OVERALL else "C" if share <= NOTHING else "F"
    detail = f"the model misses {100 * share:.3g} % of the torque"
    return GradeFinding(Subject.RESIDUAL, letter, value=share, limit=OVERALL, log=name, detail=detail)

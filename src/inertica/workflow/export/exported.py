"""A written model file or program: what it cannot hold, and how well it predicts the user's logs beside its result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from inertica.documents import ONE_BASED
from inertica.robot.formats.table import format_named
from inertica.validation.residuals import Relative, Residual
from inertica.workflow.export.held import words

TENTH = 1.1
"""Ratio of the file's residual to the result's from which a file has lost something that must be said."""

AGREE = 1e-3
"""Part of the largest torque by which another program may read other torques from a file: digits that files round off."""

TELLING = 0.3
"""Causes of a loss smaller than this part of the joint's largest cause are not named."""


@dataclass(frozen=True)
class Lost:
    """One thing of a result that a file cannot hold.

    Args:
        what: saturating friction, offset, drive inertia, ...
        joint: 0-based joint whose torque it is part of; None for what is no torque of a joint.
        why: there is no place for it, or what is there instead.
        names: its parameters.
        share: rms of the torque that is missing over the rms of the joint's torque, along the logs; None without logs.
    """

    what: str
    joint: int | None = field(metadata=ONE_BASED)
    why: str
    names: tuple[str, ...] = ()
    share: float | None = None


@dataclass(frozen=True)
class Loss:
    """A residual that rises by more than a tenth from a result to its file.

    Args:
        joint: 0-based; None for all joints together.
        data_set: on which it rises most.
        low_passed: whether torques were low-passed; as recorded otherwise.
        result, file: the residuals.
        causes: of what the file lacks, that with the largest torque on the joint first.
    """

    joint: int | None
    data_set: str
    low_passed: bool
    result: float
    file: float
    causes: tuple[Lost, ...] = ()

    @property
    def text(self) -> str:
        """joint 6 3.1 -> 7.5 % (saturating friction: held as viscous and Coulomb friction in URDF)"""
        where = "all joints" if self.joint is None else f"joint {self.joint + 1}"
        reasons: dict[str, list[str]] = {}
        for cause in self.causes:
            reasons.setdefault(cause.why, []).append(cause.what)
        why = "; ".join(f"{', '.join(several)}: {reason}" for reason, several in reasons.items())
        kind = " low-passed" if self.low_passed else ""
        return f"{where} {100 * self.result:.1f} -> {100 * self.file:.1f} %{kind}" + (f" ({why})" if why else "")


@dataclass(frozen=True, eq=False)
class ExportedModel:
    """A model file that was written, read again, checked link by link and found to give the torques of what it holds.

    Args:
        path: the file.
        format: urdf, mjcf or dh.
        difference: largest difference of torques over random states, relative to the largest torque, on what the file holds.
        possible: whether the file passes `check-model`; False only where the result itself has links that cannot exist.
        notes: what the file does not hold and where it is instead, one sentence each.
        extra: the sidecar, a card that adds what the file lacks; None when it lacks nothing.
        lost: what the format cannot hold.
        residual: data set -> figures of merit of the file on the user's logs; empty when they could not be read.
        result_residual: the same of the result, on the same motions.
        sharp_residual: data set -> share of the raw torque that the result misses with dry friction as sharp near standstill as the
            file has it; empty where its predictions round none.
        read_by: the program whose torques of the file these are.
        disagreement: largest difference of that program's torques from ours, relative to the largest torque.
        unmeasured: why there is no residual; empty when there is one.
    """

    path: Path
    format: str
    difference: float
    possible: bool = True
    notes: tuple[str, ...] = ()
    extra: Path | None = None
    lost: tuple[Lost, ...] = ()
    residual: Mapping[str, Residual] = field(default_factory=dict)
    result_residual: Mapping[str, Residual] = field(default_factory=dict)
    sharp_residual: Mapping[str, float] = field(default_factory=dict)
    read_by: str = ""
    disagreement: float = 0.0
    unmeasured: str = ""

    @property
    def sentence(self) -> str:
        """What was found on reading the file again."""
        checked = "every link in it could exist and " if self.possible else ""
        held = words(format_named(self.format))
        agree = f"its torques ({held}) are those of the values written to it, to {self.difference:.1e} of their size"
        return f"read again, {checked}{agree}"

    @property
    def comparison(self) -> str:
        """identified.urdf, read by Pinocchio: 7.5 % (result 4.6 %), the raw residual of each data set."""
        if not self.residual:
            return f"{self.path.name}: its residual on the logs could not be computed: {self.unmeasured}"
        return f"{self.path.name}, read by {self.read_by}: {beside(self.residual, self.result_residual)}"

    def lost_content(self, name: str) -> float:
        """What the file misses of the raw torque beyond its result, as a share; negative where it misses less.

        How sharp dry friction is near standstill is a choice of predictions, not of the model: programs that read the file make their
        own.
        """
        return self.residual[name].raw.all - self.sharp_residual.get(name, self.result_residual[name].raw.all)

    @property
    def losses(self) -> tuple[Loss, ...]:
        """Residuals more than a tenth above the result's."""
        return losses(self.residual, self.result_residual, self.lost)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What must be said of a file that predicts worse than its result, or that another program reads differently."""
        out = []
        if worse := self.losses:
            out.append(f"{self.path.name} {in_words(worse)}")
        if self.disagreement > AGREE:
            out.append(
                f"{self.read_by} reads torques from {self.path.name} that differ from ours by {100 * self.disagreement:.2g} % of the "
                f"largest: something in the file is not in the model that was identified"
            )
        return tuple(out)

    def moved(self, folder: Path) -> ExportedModel:
        """The same after its files went to another folder."""
        extra = None if self.extra is None else folder / self.extra.name
        return replace(self, path=folder / self.path.name, extra=extra)


Residuals = Mapping[str, Residual]
"""Data set -> figures of merit."""


def beside(file: Residuals, result: Residuals) -> str:
    """residual 7.5 % (result 4.6 %) on identification; as recorded, of each data set."""
    each = [
        f"{100 * r.raw.all:.1f} % (result {100 * result[name].raw.all:.1f} %) on {Path(name).name}" for name, r in file.items()
    ]
    return f"residual {', '.join(each)}"


def in_words(losses: Sequence[Loss]) -> str:
    """What is said behind the name of a file that predicts worse than its result."""
    return f"predicts torque worse than the result it was written from: {', '.join(loss.text for loss in losses)}"


def losses(file: Residuals, result: Residuals, lost: Sequence[Lost]) -> tuple[Loss, ...]:
    """Residuals more than a tenth above the result's: of all joints together first, then joint by joint."""
    joints = max((len(r.raw.per_joint) for r in file.values()), default=0)
    each = (_loss(joint, list(_pairs(file, result, joint)), _causes(lost, joint)) for joint in (None, *range(joints)))
    return tuple(loss for loss in each if loss is not None)


Pair = tuple[str, bool, float, float]
"""Data set, whether low-passed, residual of the result and of the file."""


def _loss(joint: int | None, pairs: Sequence[Pair], causes: tuple[Lost, ...]) -> Loss | None:
    """The data set on which the residual rises most, if by more than a tenth; of torque as recorded where that does."""
    rises = [
        (not low, file / max(result, np.finfo(float).tiny), Loss(joint, name, low, result, file, causes))
        for name, low, result, file in pairs
        if file > TENTH * result
    ]
    return max(rises, key=lambda rise: rise[:2])[2] if rises else None


def _pairs(file: Residuals, result: Residuals, joint: int | None) -> Iterator[Pair]:
    for name, r in file.items():
        was = result[name]
        yield name, False, _of_joint(was.raw, joint), _of_joint(r.raw, joint)
        yield name, True, _of_joint(was.filtered, joint), _of_joint(r.filtered, joint)


def _causes(lost: Sequence[Lost], joint: int | None) -> tuple[Lost, ...]:
    """What the file lacks on a joint, smaller parts left out."""
    if joint is None:
        return ()
    known = sorted((c for c in lost if c.joint == joint and c.share), key=lambda c: -(c.share or 0.0))
    largest = known[0].share or 0.0 if known else 0.0
    return tuple(c for c in known if (c.share or 0.0) > TELLING * largest)


def _of_joint(relative: Relative, joint: int | None) -> float:
    return relative.all if joint is None else relative.per_joint[joint]


def no_place(title: str) -> str:
    """Why something is lost without anything in its place, in a format of that title."""
    return f"no place in {title}"


def held_as(title: str) -> str:
    """What stands for friction laws that a format lacks."""
    return f"held as viscous and Coulomb friction in {title}"

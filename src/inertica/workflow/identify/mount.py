"""`Mount`: how gravity acts on the base of a robot, and how that is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from inertica.documents import Derived
from inertica.estimators.structure.tilt import between
from inertica.robot.model import Vector, vector
from inertica.workflow.identify.choice import Choice, candidates
from inertica.workflow.identify.reasons import Words


@dataclass(frozen=True)
class Mount(Derived):
    """How gravity acts on the base, and how that is known.

    Args:
        gravity: acceleration of free fall in the base frame that is used.
        file: that of the model file.
        sentence: why.
        automatic: False when the user or the file states it.
        tested: whether the data could say something.
        accepted: whether the data changed it.
        lean: degrees by which gravity is tilted towards two directions of the base (`towards`), relative to the nearest of the
            model file's gravity, its opposite and the found direction; found or, when not accepted, not believed.
        half_width: of its 95 % interval, degrees.
        towards: unit vectors; x and y of the base for a vertical one.
        p: probability of such a lean when there is none.
        ambiguous: what these data cannot tell, one sentence; None when nothing.
        residuals: relative residual on data left out: model file's mount, and the one used.
    """

    gravity: Vector
    file: Vector
    sentence: str = field(metadata={"key": "why"})
    automatic: bool = True
    tested: bool = False
    accepted: bool = False
    lean: tuple[float, float] | None = None
    half_width: tuple[float, float] | None = None
    towards: tuple[Vector, Vector] | None = None
    p: float | None = None
    ambiguous: str | None = None
    residuals: tuple[float, float] | None = None

    DERIVED: ClassVar[Mapping[str, str]] = {
        "direction": "direction",
        "angle": "angle",
        "interval": "interval",
        "left_out": "left_out",
    }

    @classmethod
    def given(cls, gravity: ArrayLike, file: ArrayLike, why: str) -> Mount:
        """Not a matter of the data."""
        return cls(vector(gravity), vector(file), f"gravity {listed(gravity)} m/s^2: {why}", automatic=False)

    @property
    def direction(self) -> Vector:
        """Unit vector; zero without gravity."""
        g = np.array(self.gravity)
        return vector(g / max(float(np.linalg.norm(g)), 1e-300))

    @property
    def angle(self) -> float:
        """Degrees between the gravity used and the model file's."""
        return between(self.gravity, self.file) if any(self.gravity) and any(self.file) else 0.0

    @property
    def choice(self) -> Choice:
        sentence = f"{self.sentence}; {self.ambiguous}" if self.ambiguous else self.sentence
        value = f"{listed(self.gravity)} m/s^2"
        if self.residuals is None:
            return Choice("gravity", value, Words(sentence), self.automatic)
        file, other = self.residuals
        scores, refused = {"as the model file has it": file, "found": other}, not self.accepted
        compared = candidates(scores, "as the model file has it" if refused else "found")
        return Choice("gravity", value, Words(sentence), self.automatic, compared, file if refused else other, file, refused)

    @property
    def interval(self) -> list[tuple[float, float]] | None:
        """Ends of the 95 % intervals of the lean, degrees."""
        if self.lean is None or self.half_width is None:
            return None
        return [(a - h, a + h) for a, h in zip(self.lean, self.half_width, strict=True)]

    @property
    def left_out(self) -> dict[str, float] | None:
        return None if self.residuals is None else dict(zip(("file", "used"), self.residuals, strict=True))


def listed(v: ArrayLike) -> str:
    """A vector in round brackets."""
    return "(" + ", ".join(f"{float(x) + 0.0:.4g}" if abs(x) >= 5e-4 else "0" for x in np.asarray(v, float)) + ")"

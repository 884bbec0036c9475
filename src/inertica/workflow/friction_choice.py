"""Which friction law on which joint: the simplest that predicts raw torque of data left out nearly as well as the best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from inertica.estimators.base import Problem
from inertica.identifiability.base import base_model
from inertica.logs.motion import Motion
from inertica.robot.description import Description
from inertica.robot.friction import Coulomb, Offset, Stribeck, Viscous, stribeck_decay
from inertica.robot.options import friction_terms
from inertica.robot.terms import Column, Parameter, Shape, State, Term
from inertica.scalars import sign
from inertica.validation.blocks import Blocks
from inertica.workflow.choice import WORTH, Choice, Say

STRIBECK_SPEEDS = (0.02, 0.06, 0.18)
"""Candidate Stribeck velocities, in parts of a joint's 95th percentile speed."""

HARMLESS = 1e-3
"""What a better law of one joint may cost the others, as a share of the squared prediction error."""


@dataclass(frozen=True)
class _StribeckGrid(Term):
    """Stribeck columns of one joint at several velocities, to choose among; their velocities are shapes, so nothing is recompiled."""

    at: int
    speeds: tuple[float, ...]
    rank = 4

    @property
    def joint(self) -> int:
        return self.at

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return tuple(Parameter(f"grid{k}_{self.at + 1}", "stribeck", "N m", self.at) for k in range(len(self.speeds)))

    @property
    def shapes(self) -> tuple[Shape, ...]:
        return tuple(Shape(f"gridv{k}_{self.at + 1}", "rad/s", v) for k, v in enumerate(self.speeds))

    def columns(self, x: State) -> list[Column]:
        dq = x.dq[self.at]
        return [{self.at: sign(dq) * stribeck_decay(dq, x.shapes[s.name], 2.0)} for s in self.shapes]


@dataclass(frozen=True)
class _Candidate:
    """A friction model of one joint: name, which columns, and the terms it becomes."""

    name: str
    columns: tuple[str, ...]
    terms: tuple[Term, ...]


class FrictionSearch:
    """Friction model joint by joint, the simplest that predicts nearly as well as the best.

    Candidates: none, viscous, + Coulomb, + offset, + Stribeck.  Coulomb friction that depends on the direction is among them: for a
    joint that moves, Fcp and Fcn are Coulomb friction (Fcp + Fcn) / 2 and an offset (Fcp - Fcn) / 2.

    Args:
        description: the robot; its friction terms are replaced.
        motions: prepared.
        say: progress.
    """

    def __init__(self, description: Description, motions: Sequence[Motion], say: Say) -> None:
        self.description, self.motions = description, tuple(motions)
        n = description.robot.n
        speed = np.quantile(np.abs(np.concatenate([m.dq for m in motions])), 0.95, axis=0)
        self.speeds = [tuple(float(max(s, 1e-3) * part) for part in STRIBECK_SPEEDS) for s in speed]
        dropped = set(friction_terms(description.layout.terms))
        self.others = tuple(t for t in description.layout.terms if t not in dropped)
        rich = [t for j in range(n) for t in (Viscous(j), Coulomb(j), Offset(j), _StribeckGrid(j, self.speeds[j]))]
        layout = replace(description.layout, terms=(*self.others, *rich))
        say("friction: comparing laws joint by joint")
        self.base = base_model(layout)
        prior = description.prior.on(layout)
        self.blocks = Blocks(Problem(self.base, self.motions, prior))
        self.names = list(self.base.names)

    def run(self) -> tuple[Description, Choice]:
        n = self.description.robot.n
        chosen = [self._candidates(j)[3] for j in range(n)]
        scores: dict[str, float] = {}
        for j in range(n):
            chosen[j], tried = self._choose(j, chosen)
            scores |= {f"joint {j + 1}: {name}": value for name, value in tried.items()}
        terms = (*self.others, *(t for c in chosen for t in c.terms))
        final = self.description.with_terms(terms)
        groups: dict[str, list[str]] = {}
        for j, c in enumerate(chosen):
            groups.setdefault(c.name, []).append(str(j + 1))
        value = "; ".join(f"joint{'s' if len(js) > 1 else ''} {', '.join(js)}: {name}" for name, js in groups.items())
        sentence = (
            f"{value}; a law with more parameters had to predict raw torque of data left out clearly better on its joint, and not at "
            "the cost of the others"
        )
        return final, Choice("friction", value, sentence, True, scores)

    def _candidates(self, j: int) -> list[_Candidate]:
        k = j + 1
        out = [
            _Candidate("none", (), ()),
            _Candidate("viscous", (f"Fv{k}",), (Viscous(j),)),
            _Candidate("viscous, Coulomb", (f"Fv{k}", f"Fc{k}"), (Viscous(j), Coulomb(j))),
            _Candidate("viscous, Coulomb, offset", (f"Fv{k}", f"Fc{k}", f"off{k}"), (Viscous(j), Coulomb(j), Offset(j))),
        ]
        for i, v in enumerate(self.speeds[j]):
            columns = (f"Fv{k}", f"Fc{k}", f"off{k}", f"grid{i}_{k}")
            out.append(
                _Candidate(
                    f"viscous, Stribeck ({v:.2g} {self._rate_unit(j)}), offset",
                    columns,
                    (Viscous(j), Stribeck(j, vs=v), Offset(j)),
                )
            )
        return out

    def _rate_unit(self, j: int) -> str:
        return "m/s" if self.description.robot.joints[j].prismatic else "rad/s"

    def _choose(self, j: int, chosen: list[_Candidate]) -> tuple[_Candidate, dict[str, float]]:
        candidates = self._candidates(j)
        scores = [self.blocks.evaluate(self._active([*chosen[:j], c, *chosen[j + 1 :]])) for c in candidates]
        best = 0
        for i in range(1, len(candidates)):
            gain, error = scores[i].better_by(scores[best], j)
            whole, _ = scores[i].better_by(scores[best])
            if gain > max(WORTH, error) and whole > -HARMLESS:
                best = i
        return candidates[best], {c.name: float(s.per_joint[j]) for c, s in zip(candidates, scores, strict=True)}

    def _active(self, chosen: Sequence[_Candidate]) -> NDArray[np.bool_]:
        optional = {name for j in range(len(chosen)) for c in self._candidates(j) for name in c.columns}
        used = {name for c in chosen for name in c.columns}
        return np.array([name not in optional or name in used for name in self.names])


def assumed_friction(description: Description) -> Description:
    """The robot with viscous and Coulomb friction and an offset on every joint, to choose filter and delay with."""
    if description.friction_stated:
        return description
    dropped = set(friction_terms(description.layout.terms))
    others = tuple(t for t in description.layout.terms if t not in dropped)
    plain = [t for j in range(description.robot.n) for t in (Viscous(j), Coulomb(j), Offset(j))]
    return description.with_terms((*others, *plain))

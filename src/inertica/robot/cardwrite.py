"""The keys of a robot card from the objects they describe: what a model file cannot hold, as plain data for YAML."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from inertica.errors import InputError
from inertica.robot.drives import Armature, Coupling, ToolboxCoupling
from inertica.robot.formula import FormulaTerm
from inertica.robot.friction import friction_terms
from inertica.robot.layout import Layout
from inertica.robot.model import IDENTITY, ORIGIN, Limits, Matrix
from inertica.robot.terms import Counterbalance, RigidBody, Spring, Term, UserTerm


def armature_flags(terms: Sequence[Term], n: int) -> list[bool]:
    """The key `armature`: joints that have one."""
    at = {t.at for t in terms if isinstance(t, Armature)}
    return [j in at for j in range(n)]


def coupling_entries(terms: Sequence[Term]) -> list[dict[str, Any]]:
    """The key `coupling`."""
    out: list[dict[str, Any]] = []
    for term in terms:
        if isinstance(term, Coupling):
            entry: dict[str, Any] = {"motor": term.motor + 1, "joints": [j + 1 for j in term.joints]}
            entry |= {"ratios": list(term.ratios)} if term.ratios else {}
        elif isinstance(term, ToolboxCoupling):
            entry = {
                "motor": term.motor + 1,
                "joints": [term.motor + 1, term.other + 1],
                "form": "rotor" if term.rotor else "toolbox",
            }
        else:
            continue
        out.append(entry | ({"width": term.width} if term.width else {}))
    return out


def other_terms(layout: Layout) -> tuple[Term, ...]:
    """Springs, counterbalances, formulas: what has a place under the key `terms`."""
    friction = friction_terms(layout.terms)
    return tuple(t for t in layout.terms if t not in friction and not isinstance(t, (Armature, Coupling, ToolboxCoupling)))


def term_entry(term: Term) -> dict[str, Any]:
    """An entry of the key `terms`; a term that is a Python function has none, and is refused."""
    if isinstance(term, Spring):
        return {"spring": term.at + 1} | ({"rest": term.rest} if term.rest else {})
    if isinstance(term, Counterbalance):
        return {"counterbalance": term.at + 1}
    if isinstance(term, FormulaTerm):
        entry: dict[str, Any] = {"name": term.name}
        if term.at is not None and len(term.formulas) == 1 and term.formulas[0][0] == term.at:
            entry |= {"joint": term.at + 1, "formula": term.formulas[0][1].text}
        elif term.at is None:
            entry |= {"torque": {str(j + 1): formula.text for j, formula in term.formulas}}
        else:
            raise InputError(f"term {term.name} acts on other joints than the one it is listed with, which a card cannot say")
        entry |= {"unit": term.unit} if term.unit != "1" else {}
        return entry | ({"lower": term.lower} if math.isfinite(term.lower) else {})
    raise InputError(
        f"term {', '.join(p.name for p in term.parameters)} is a function in Python, which a file cannot hold; state it as a "
        "formula (FormulaTerm, or `terms:` in a card)"
    )


def is_writable(term: Term) -> bool:
    """Whether a card can hold a term."""
    return not isinstance(term, UserTerm)


def payload_entry(layout: Layout, body: RigidBody) -> dict[str, Any]:
    """The key `payload`."""
    entry: dict[str, Any] = {"link": layout.robot.joints[body.link].link}
    entry |= {"position": list(body.position)} if body.position != ORIGIN else {}
    return entry | ({"rpy": list(rpy_of(body.rotation))} if body.rotation != IDENTITY else {})


def limits_entry(limits: Limits) -> dict[str, list[float]]:
    """The key `limits`."""
    return {key: list(getattr(limits, key)) for key in ("lower", "upper", "velocity", "acceleration", "torque")}


def rpy_of(rotation: Matrix) -> tuple[float, float, float]:
    """Fixed-axis roll, pitch and yaw of a rotation."""
    R = np.array(rotation)
    pitch = math.atan2(-R[2, 0], math.hypot(R[0, 0], R[1, 0]))
    if math.hypot(R[0, 0], R[1, 0]) < 1e-12:  # roll and yaw turn about the same line; all of it counts as yaw
        return 0.0, pitch, math.atan2(-R[0, 1], R[1, 1])
    return math.atan2(R[2, 1], R[2, 2]), pitch, math.atan2(R[1, 0], R[0, 0])

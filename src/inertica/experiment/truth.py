"""The robot that is simulated: its friction is chosen independently of the friction that will be identified."""

from __future__ import annotations

from dataclasses import replace

from inertica.errors import InputError, nearest
from inertica.robot.description import Description
from inertica.robot.friction import LAWS, FrictionLaw
from inertica.robot.layout import Parameters
from inertica.robot.terms import Term

_BESIDE = {"none": (), "viscous_coulomb": ("viscous", "coulomb")} | {
    word: (*law.beside, word) for word, law in LAWS.items() if law.beside is not None
}
FRICTIONS = {name: tuple(LAWS[word] for word in words) for name, words in _BESIDE.items()}
"""Friction of the simulated robot by name: the laws on every joint."""


def true_parameters(description: Description, friction: str | None = None) -> Parameters:
    """Parameters of the simulated robot.

    Args:
        description: geometry, prior values and stated friction sets.
        friction: a name of `FRICTIONS`; the robot's own when not given.  Offsets stay.
    """
    if friction is None:
        return description.prior
    if friction not in FRICTIONS:
        raise InputError(f"unknown friction '{friction}' for the simulated robot; {nearest(friction, FRICTIONS)}")
    terms: list[Term] = [t for t in description.layout.terms if not (isinstance(t, FrictionLaw) and t.brakes)]
    values: dict[str, float] = {}
    for j in range(description.robot.n):
        for law in FRICTIONS[friction]:
            term, numbers = law.typical(j, description)
            terms.append(term)
            values |= {f"{name}{j + 1}": number for name, number in numbers.items()}
    layout = replace(description.layout, terms=tuple(terms))
    return description.prior.on(layout).replaced(values, origin=f"{description.prior.origin}, {friction} friction")

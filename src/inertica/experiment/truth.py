"""The robot that is simulated: its friction is chosen independently of the friction that will be identified."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from inertica.errors import InputError, nearest
from inertica.robot.description import Description
from inertica.robot.friction import Coulomb, DirectionalCoulomb, LoadDependent, LuGre, Stribeck, Viscous
from inertica.robot.layout import Parameters
from inertica.robot.terms import Term

ASYMMETRY = 0.15
"""Direction-dependent friction of a robot that states none: this share more forwards, less backwards."""

BRISTLE_STIFFNESS = 2e4
"""N m/rad (N/m on sliding joints); the scale of real gears, where a source gives only placeholders."""

LOAD_SHARE = 0.05
"""Load-dependent friction of a robot that states none: this share of the gravity torque."""

Values = dict[str, float]
Choice = Callable[[Description, int], tuple[list[Term], Values]]


def true_parameters(description: Description, friction: str | None = None) -> Parameters:
    """Parameters of the simulated robot.

    Args:
        description: geometry, prior values and stated friction sets.
        friction: none, viscous, coulomb, viscous_coulomb, directional, stribeck, lugre or load; the robot's own when not given.
    """
    if friction is None:
        return description.prior
    if friction not in FRICTIONS:
        raise InputError(f"unknown friction '{friction}' for the simulated robot; {nearest(friction, FRICTIONS)}")
    laws = (Viscous, Coulomb, DirectionalCoulomb, Stribeck, LuGre, LoadDependent)
    terms: list[Term] = [t for t in description.layout.terms if not isinstance(t, laws)]
    values: Values = {}
    for j in range(description.robot.n):
        own, numbers = FRICTIONS[friction](description, j)
        terms += own
        values |= {f"{name}{j + 1}": number for name, number in numbers.items()}
    layout = replace(description.layout, terms=tuple(terms))
    return description.prior.on(layout).replaced(values, origin=f"{description.prior.origin}, {friction} friction")


def _value(description: Description, name: str, j: int) -> float:
    full = f"{name}{j + 1}"
    if full in description.layout.names:
        return description.prior[full]
    stated = description.friction_sets.get("viscous_coulomb", {})
    return float(stated[name][j]) if name in stated else 0.0


def _set(description: Description, law: str, name: str, j: int, default: float) -> float:
    stated = description.friction_sets.get(law, {})
    return float(np.broadcast_to(stated[name], description.robot.n)[j]) if name in stated else default


def _viscous(d: Description, j: int) -> tuple[list[Term], Values]:
    return [Viscous(j)], {"Fv": _value(d, "Fv", j)}


def _coulomb(d: Description, j: int) -> tuple[list[Term], Values]:
    return [Coulomb(j)], {"Fc": _value(d, "Fc", j)}


def _both(d: Description, j: int) -> tuple[list[Term], Values]:
    return [Viscous(j), Coulomb(j)], {"Fv": _value(d, "Fv", j), "Fc": _value(d, "Fc", j)}


def _directional(d: Description, j: int) -> tuple[list[Term], Values]:
    fc = _value(d, "Fc", j)
    values = {"Fv": _value(d, "Fv", j), "Fcp": fc * (1 + ASYMMETRY), "Fcn": fc * (1 - ASYMMETRY)}
    return [Viscous(j), DirectionalCoulomb(j)], values


def _stribeck(d: Description, j: int) -> tuple[list[Term], Values]:
    fc = _value(d, "Fc", j)
    fs = _set(d, "stribeck", "Fs", j, 1.3 * fc)
    law = Stribeck(j, vs=_set(d, "stribeck", "Vs", j, 0.05), es=_set(d, "stribeck", "Es", j, 2.0))
    return [Viscous(j), law], {"Fv": _value(d, "Fv", j), "Fc": fc, "dFs": fs - fc}


def _lugre(d: Description, j: int) -> tuple[list[Term], Values]:
    """Stiff bristles, damped so that they do not ring with the drive's inertia."""
    fc = max(_value(d, "Fc", j), 1e-3)
    inertia = max(_value(d, "Ia", j), 1e-3)
    law = LuGre(
        j,
        sigma0=BRISTLE_STIFFNESS,
        sigma1=float(np.sqrt(BRISTLE_STIFFNESS * inertia)),
        sigma2=_value(d, "Fv", j),
        fc=fc,
        fs=1.3 * fc,
        vs=_set(d, "stribeck", "Vs", j, 0.05),
        es=_set(d, "stribeck", "Es", j, 2.0),
    )
    return [law], {}


def _load(d: Description, j: int) -> tuple[list[Term], Values]:
    terms, values = _both(d, j)
    return [*terms, LoadDependent(j, d.prior.moments())], values | {"mu": LOAD_SHARE}


FRICTIONS: dict[str, Choice] = {
    "none": lambda d, j: ([], {}),
    "viscous": _viscous,
    "coulomb": _coulomb,
    "viscous_coulomb": _both,
    "directional": _directional,
    "stribeck": _stribeck,
    "lugre": _lugre,
    "load": _load,
}
"""Friction of the simulated robot by name: terms on a joint and the values of their parameters."""

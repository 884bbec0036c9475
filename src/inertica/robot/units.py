"""Units of parameters: a closed vocabulary, products of SI units with whole powers such as "N m s/rad"."""

from __future__ import annotations

import re

from inertica.errors import InputError

DIMENSIONS = {
    "kg": (1, 0, 0),
    "m": (0, 1, 0),
    "s": (0, 0, 1),
    "rad": (0, 0, 0),
    "N": (1, 1, -2),
    "J": (1, 2, -2),
    "W": (1, 2, -3),
    "Hz": (0, 0, -1),
    "A": (0, 0, 0),
    "V": (0, 0, 0),
    "K": (0, 0, 0),
}
"""Exponents of mass, length and time; electrical units and temperature have no natural size of a robot."""

_FACTOR = rf"(?:{'|'.join(DIMENSIONS)})(?:\^-?[1-9])?"
_PRODUCT = rf"{_FACTOR}(?: {_FACTOR}){{0,5}}"
_UNIT = re.compile(rf"(?:(?:1|{_PRODUCT})(?:/{_PRODUCT})?)?", re.ASCII)


def check_unit(unit: str) -> str:
    """The unit, when it is one of the vocabulary; "1" or nothing for a number without unit.

    Raises:
        InputError: it is none.  A unit is a word of reports, tables and exported programs, and scales priors; free text has no
            place in any of them.
    """
    if _UNIT.fullmatch(unit) is None:
        raise InputError(
            f"'{unit[:40]}' is not the unit of a parameter; write a product of {', '.join(DIMENSIONS)}, with whole powers and at "
            "most one stroke, such as 'N m s/rad' or 'kg m^2', or 1 for none"
        )
    return unit


def dimensions(unit: str) -> tuple[int, int, int]:
    """Exponents of mass, length and time of a unit of the vocabulary."""
    powers = [0, 0, 0]
    for part, sign in zip(unit.partition("/")[::2], (1, -1), strict=True):
        for word in part.split():
            name, _, power = word.partition("^")
            for i, exponent in enumerate(DIMENSIONS.get(name, (0, 0, 0))):
                powers[i] += sign * int(power or 1) * exponent
    return powers[0], powers[1], powers[2]

"""Criterion, algorithm, assumptions, when it fails and where it is from, of every class of methods: told.yaml.

Errors that campaigns measured are written from the shipped tables where the text names them: `{ml at row 3}`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from inertica.campaign.stored import measured, percent
from inertica.errors import InputError

MEASURED = re.compile(r"\{([\w, -]+) at (row \d)\}")


@dataclass(frozen=True)
class Told:
    """Of one class of methods; sentences, but for the criterion, which is a formula of one line or several."""

    criterion: str
    algorithm: str
    assumes: str
    fails: str
    reference: str

    @property
    def formula(self) -> str:
        """The criterion as code."""
        return "\n".join(f"    {line}" for line in self.criterion.splitlines())


@cache
def told() -> dict[str, Told]:
    """Name of the class -> what is told of it."""
    read = yaml.safe_load(Path(__file__).with_name("told.yaml").read_text(encoding="utf-8"))
    return {name: Told(**{part: filled(text) for part, text in stated.items()}) for name, stated in read.items()}


def filled(text: str) -> str:
    """With the numbers that it names."""
    return MEASURED.sub(lambda m: _errors(m[1].split(", "), m[2]), text)


def _errors(methods: list[str], noise: str) -> str:
    found = [measured(name, noise=noise) for name in methods]
    errors = [x.d_par for x in found if x is not None]
    if len(errors) < len(methods):
        raise InputError(f"told.yaml names what no shipped campaign has: {', '.join(methods)} at {noise}")
    low, high = percent(min(errors)), percent(max(errors))
    return high if low == high else f"{low.removesuffix(' %')} to {high}"

"""Criterion, algorithm, assumptions, when it fails and where it is from, of every class of methods: told.yaml."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml


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
    return {name: Told(**stated) for name, stated in read.items()}

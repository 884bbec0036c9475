"""How to move: trajectory families, criteria, constraints, optimal design."""

from __future__ import annotations

from typing import Any

from inertica.later import attribute, stub_names

_HOME = stub_names(__file__)

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    """Imported from where they live when first used: those who take a trajectory as it is need no files and no search."""
    return attribute(__name__, _HOME, name)

"""inertica: dynamic parameters of robots, from motion, with a word on which of them to trust.

import inertica as ia

result = ia.identify("card.yaml", ["run1.csv.gz"], validate=["run2.csv.gz"])
result.save("result")

robot = ia.load("tx40")                 # catalog name, URDF, MJCF, SDFormat, DH YAML or robot card
ia.check_model(robot.prior).consistent  # could every link exist?
base = ia.base_model(robot.layout)      # what any motion can reveal
engine = ia.engine(base)                # compiled dynamics
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from inertica.later import attribute, stub_names

__version__ = "0.2.0"

_HOME = stub_names(__file__)

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    """Public names are imported from where they live when first used, so that `import inertica` stays quick."""
    return attribute(__name__, _HOME, name)


def __dir__() -> list[str]:
    return __all__


class _Package(ModuleType):
    """Python binds a folder to its name here when it is imported; `inertica.reproduce` stays the function of that name."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (isinstance(value, ModuleType) and name in _HOME):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package

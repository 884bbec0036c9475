"""inertica: dynamic parameters of robots, from motion, with a word on which of them to trust.

import inertica as ia

robot = ia.load("tx40")                 # catalog name, URDF, MJCF, DH YAML or robot card
base = ia.base_model(robot.layout)      # what any motion can reveal
engine = ia.engine(base)                # compiled dynamics
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from inertica.dynamics.engine import Engine, Reduction
    from inertica.dynamics.laws import PD, PID
    from inertica.dynamics.simulate import Noise, Simulation
    from inertica.errors import FileError, InerticaError, InputError, ModelWarning
    from inertica.identifiability.base import BaseModel, base_model, base_model_along
    from inertica.identifiability.compiled import engine
    from inertica.robot.description import Description
    from inertica.robot.layout import Layout, Parameters
    from inertica.robot.load import catalog, load, save_model
    from inertica.robot.model import Joint, Limits, Robot

_HOME = {
    "inertica.dynamics.engine": ("Engine", "Reduction"),
    "inertica.dynamics.laws": ("PD", "PID"),
    "inertica.dynamics.simulate": ("Noise", "Simulation"),
    "inertica.errors": ("FileError", "InerticaError", "InputError", "ModelWarning"),
    "inertica.identifiability.base": ("BaseModel", "base_model", "base_model_along"),
    "inertica.identifiability.compiled": ("engine",),
    "inertica.robot.description": ("Description",),
    "inertica.robot.layout": ("Layout", "Parameters"),
    "inertica.robot.load": ("catalog", "load", "save_model"),
    "inertica.robot.model": ("Joint", "Limits", "Robot"),
}
_PLACE = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "PD",
    "PID",
    "BaseModel",
    "Description",
    "Engine",
    "FileError",
    "InerticaError",
    "InputError",
    "Joint",
    "Layout",
    "Limits",
    "ModelWarning",
    "Noise",
    "Parameters",
    "Reduction",
    "Robot",
    "Simulation",
    "base_model",
    "base_model_along",
    "catalog",
    "engine",
    "load",
    "save_model",
]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Public names are found where they live when first used, so that `import inertica` stays quick."""
    if name not in _PLACE:
        raise AttributeError(f"module 'inertica' has no attribute '{name}'")
    return getattr(importlib.import_module(_PLACE[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)

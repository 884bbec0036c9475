"""inertica: dynamic parameters of robots, from motion, with a word on which of them to trust.

import inertica as ia

result = ia.identify("card.yaml", ["run1.csv.gz"], validate=["run2.csv.gz"])
result.save("result")

robot = ia.load("tx40")                 # catalog name, URDF, MJCF, DH YAML or robot card
ia.check_model(robot.prior).consistent  # could every link exist?
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
    from inertica.estimators.base import Capability, Estimate, Estimator, Problem
    from inertica.estimators.bayes import Bayes, Ridge
    from inertica.estimators.checks import estimator_checks
    from inertica.estimators.consistent import Consistent
    from inertica.estimators.didim import Didim
    from inertica.estimators.irls import Irls
    from inertica.estimators.iteration import Still, Stop
    from inertica.estimators.iv import Iv
    from inertica.estimators.least_squares import Ols, Wls
    from inertica.estimators.ml import Ml
    from inertica.estimators.output_error import Clie, Cloe, Oloe
    from inertica.estimators.registry import METHODS, method
    from inertica.estimators.tls import Gtls, Tls
    from inertica.excitation import catalog_trajectory, load_trajectory
    from inertica.experiment import ControlLoop, Experiment, Sensors
    from inertica.identifiability.base import BaseModel, base_model, base_model_along
    from inertica.identifiability.compiled import engine
    from inertica.logs.log import Log
    from inertica.logs.motion import Motion
    from inertica.logs.prepare import prepare
    from inertica.logs.read import read_log
    from inertica.logs.recipe import Recipe
    from inertica.physical.check import check_model
    from inertica.physical.priors import Entropic, Euclidean, Pullback, Riemannian
    from inertica.physical.repair import repair
    from inertica.robot.description import Description
    from inertica.robot.layout import Layout, Parameters
    from inertica.robot.load import catalog, load, save_model
    from inertica.robot.model import Joint, Limits, Robot
    from inertica.workflow.compare import compare
    from inertica.workflow.export import export_model
    from inertica.workflow.fit_loop import fit_loop
    from inertica.workflow.identify import identify
    from inertica.workflow.result import Result
    from inertica.workflow.settings import Settings

_HOME = {
    "inertica.dynamics.engine": ("Engine", "Reduction"),
    "inertica.dynamics.laws": ("PD", "PID"),
    "inertica.dynamics.simulate": ("Noise", "Simulation"),
    "inertica.errors": ("FileError", "InerticaError", "InputError", "ModelWarning"),
    "inertica.estimators.base": ("Capability", "Estimate", "Estimator", "Problem"),
    "inertica.estimators.bayes": ("Bayes", "Ridge"),
    "inertica.estimators.checks": ("estimator_checks",),
    "inertica.estimators.consistent": ("Consistent",),
    "inertica.estimators.didim": ("Didim",),
    "inertica.estimators.irls": ("Irls",),
    "inertica.estimators.iteration": ("Still", "Stop"),
    "inertica.estimators.iv": ("Iv",),
    "inertica.estimators.least_squares": ("Ols", "Wls"),
    "inertica.estimators.ml": ("Ml",),
    "inertica.estimators.output_error": ("Clie", "Cloe", "Oloe"),
    "inertica.estimators.registry": ("METHODS", "method"),
    "inertica.estimators.tls": ("Gtls", "Tls"),
    "inertica.excitation": ("catalog_trajectory", "load_trajectory"),
    "inertica.experiment": ("ControlLoop", "Experiment", "Sensors"),
    "inertica.identifiability.base": ("BaseModel", "base_model", "base_model_along"),
    "inertica.identifiability.compiled": ("engine",),
    "inertica.logs.log": ("Log",),
    "inertica.logs.motion": ("Motion",),
    "inertica.logs.prepare": ("prepare",),
    "inertica.logs.read": ("read_log",),
    "inertica.logs.recipe": ("Recipe",),
    "inertica.physical.check": ("check_model",),
    "inertica.physical.priors": ("Entropic", "Euclidean", "Pullback", "Riemannian"),
    "inertica.physical.repair": ("repair",),
    "inertica.robot.description": ("Description",),
    "inertica.robot.layout": ("Layout", "Parameters"),
    "inertica.robot.load": ("catalog", "load", "save_model"),
    "inertica.robot.model": ("Joint", "Limits", "Robot"),
    "inertica.workflow.compare": ("compare",),
    "inertica.workflow.export": ("export_model",),
    "inertica.workflow.fit_loop": ("fit_loop",),
    "inertica.workflow.identify": ("identify",),
    "inertica.workflow.result": ("Result",),
    "inertica.workflow.settings": ("Settings",),
}
_PLACE = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "METHODS",
    "PD",
    "PID",
    "BaseModel",
    "Bayes",
    "Capability",
    "Clie",
    "Cloe",
    "Consistent",
    "ControlLoop",
    "Description",
    "Didim",
    "Engine",
    "Entropic",
    "Estimate",
    "Estimator",
    "Euclidean",
    "Experiment",
    "FileError",
    "Gtls",
    "InerticaError",
    "InputError",
    "Irls",
    "Iv",
    "Joint",
    "Layout",
    "Limits",
    "Log",
    "Ml",
    "ModelWarning",
    "Motion",
    "Noise",
    "Oloe",
    "Ols",
    "Parameters",
    "Problem",
    "Pullback",
    "Recipe",
    "Reduction",
    "Result",
    "Ridge",
    "Riemannian",
    "Robot",
    "Sensors",
    "Settings",
    "Simulation",
    "Still",
    "Stop",
    "Tls",
    "Wls",
    "base_model",
    "base_model_along",
    "catalog",
    "catalog_trajectory",
    "check_model",
    "compare",
    "engine",
    "estimator_checks",
    "export_model",
    "fit_loop",
    "identify",
    "load",
    "load_trajectory",
    "method",
    "prepare",
    "read_log",
    "repair",
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

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

if TYPE_CHECKING:  # `as` makes a name public for type checkers
    # isort: off
    from inertica.dynamics.engine import Engine as Engine, Reduction as Reduction
    from inertica.dynamics.parts import Parts as Parts
    from inertica.dynamics.simulate import Noise as Noise, Simulation as Simulation
    from inertica.errors import (
        FileError as FileError,
        InerticaError as InerticaError,
        InputError as InputError,
        ModelWarning as ModelWarning,
    )
    from inertica.estimators.base import (
        Capability as Capability,
        Estimate as Estimate,
        Estimator as Estimator,
        Problem as Problem,
    )
    from inertica.estimators.linear.bayes import Bayes as Bayes, Ridge as Ridge
    from inertica.estimators.checks import estimator_checks as estimator_checks
    from inertica.estimators.consistent.strategy import Consistent as Consistent
    from inertica.estimators.closed_loop.didim import Didim as Didim
    from inertica.estimators.frisch.method import Frisch as Frisch
    from inertica.estimators.frisch.recursive import Bbrf as Bbrf
    from inertica.estimators.linear.irls import Irls as Irls
    from inertica.estimators.iteration import Still as Still, Stop as Stop
    from inertica.estimators.closed_loop.iv import Iv as Iv
    from inertica.estimators.linear.least_squares import Ols as Ols, Wls as Wls
    from inertica.estimators.linear.ml import Ml as Ml
    from inertica.estimators.closed_loop.output_error import Clie as Clie, Cloe as Cloe, Oloe as Oloe
    from inertica.estimators.recursive.joint import ComputedTorqueFilter as ComputedTorqueFilter, JointFilter as JointFilter
    from inertica.estimators.recursive.others import DualEkf as DualEkf, IdimEkf as IdimEkf
    from inertica.estimators.recursive.particles import ParticleFilter as ParticleFilter
    from inertica.estimators.neural.adann import AdaNN as AdaNN
    from inertica.estimators.neural.htrnn import Htrnn as Htrnn
    from inertica.estimators.recursive.live import OnlineFit as OnlineFit, RowStream as RowStream, Sample as Sample
    from inertica.estimators.recursive.online import Rls as Rls, Rwls as Rwls
    from inertica.estimators.registry import METHODS as METHODS, method as method
    from inertica.estimators.linear.tls import Gtls as Gtls, Tls as Tls
    from inertica.excitation import (
        catalog_trajectory as catalog_trajectory,
        load_trajectory as load_trajectory,
        save_trajectory as save_trajectory,
        write_ros2 as write_ros2,
        write_samples as write_samples,
    )
    from inertica.experiment import ControlLoop as ControlLoop, Experiment as Experiment, Sensors as Sensors
    from inertica.identifiability.base import (
        BaseModel as BaseModel,
        base_model as base_model,
        base_model_along as base_model_along,
        engine as engine,
    )
    from inertica.logs.log import Log as Log
    from inertica.logs.from_frame import from_frame as from_frame
    from inertica.preprocessing.motion import Motion as Motion
    from inertica.preprocessing.prepare import prepare as prepare
    from inertica.logs.read import read_log as read_log
    from inertica.logs.readers.options import ReadOptions as ReadOptions
    from inertica.preprocessing.recipe import Recipe as Recipe
    from inertica.physical.check import check_model as check_model
    from inertica.physical.priors import (
        Entropic as Entropic,
        Euclidean as Euclidean,
        Pullback as Pullback,
        Riemannian as Riemannian,
    )
    from inertica.physical.repair import repair as repair
    from inertica.report.compared import compare_parameters as compare_parameters
    from inertica.report.fleet import fleet as fleet
    from inertica.report.logs import motions_again as motions_again
    from inertica.report.paper import write_figure as write_figure
    from inertica.report.bundle import add_bristles as add_bristles
    from inertica.report.report import write_report as write_report
    from inertica.report.together import write_together as write_together
    from inertica.robot.control import PD as PD, PID as PID
    from inertica.robot.description import Description as Description
    from inertica.robot.layout import Layout as Layout, Parameters as Parameters
    from inertica.robot.files import catalog as catalog
    from inertica.robot.load import load as load, save_model as save_model
    from inertica.robot.model import Joint as Joint, Limits as Limits, Robot as Robot
    from inertica.workflow.actuators.job import actuators as actuators
    from inertica.workflow.actuators.result import ActuatorsResult as ActuatorsResult
    from inertica.workflow.cad import import_cad as import_cad
    from inertica.workflow.compare import compare as compare
    from inertica.campaign.advice import Situation as Situation, advise as advise
    from inertica.campaign.run import run_campaign as run_campaign
    from inertica.workflow.calls import (
        check as check,
        dynamics_at as dynamics_at,
        examine as examine,
        reduce as reduce,
        simulate as simulate,
        watch as watch,
    )
    from inertica.workflow.exchange import (
        from_mujoco as from_mujoco,
        from_pinocchio as from_pinocchio,
        to_mujoco as to_mujoco,
        to_pinocchio as to_pinocchio,
    )
    from inertica.workflow.excite import excite as excite
    from inertica.workflow.export import export_model as export_model, write_parameters as write_parameters
    from inertica.workflow.export_code import export_code as export_code
    from inertica.workflow.exported import ExportedModel as ExportedModel, Lost as Lost
    from inertica.workflow.drive_gains import DriveGains as DriveGains, drive_gains as drive_gains
    from inertica.workflow.fit_friction import FrictionFit as FrictionFit, fit_friction as fit_friction
    from inertica.workflow.fit_loop import fit_loop as fit_loop
    from inertica.workflow.identify import identify as identify
    from inertica.workflow.loads import LoadedLogs as LoadedLogs, Loads as Loads, fit_loads as fit_loads
    from inertica.workflow.payload import payload as payload
    from inertica.workflow.payload_online import online_payload as online_payload, payload_while_moving as payload_while_moving
    from inertica.workflow.payload_result import Payload as Payload
    from inertica.workflow.result import Result as Result
    from inertica.workflow.settings import Settings as Settings
    from inertica.workflow.truth import AgainstTruth as AgainstTruth, against_truth as against_truth
    from inertica.report.folder import write_folder as write_folder
    from inertica.reproduce.studies import reproduce as reproduce
    from inertica.studio.start import open_studio as open_studio
    # isort: on

_HOME = {
    "inertica.dynamics.engine": ("Engine", "Reduction"),
    "inertica.dynamics.parts": ("Parts",),
    "inertica.dynamics.simulate": ("Noise", "Simulation"),
    "inertica.errors": ("FileError", "InerticaError", "InputError", "ModelWarning"),
    "inertica.estimators.base": ("Capability", "Estimate", "Estimator", "Problem"),
    "inertica.estimators.linear.bayes": ("Bayes", "Ridge"),
    "inertica.estimators.checks": ("estimator_checks",),
    "inertica.estimators.consistent.strategy": ("Consistent",),
    "inertica.estimators.closed_loop.didim": ("Didim",),
    "inertica.estimators.frisch.method": ("Frisch",),
    "inertica.estimators.frisch.recursive": ("Bbrf",),
    "inertica.estimators.linear.irls": ("Irls",),
    "inertica.estimators.iteration": ("Still", "Stop"),
    "inertica.estimators.closed_loop.iv": ("Iv",),
    "inertica.estimators.linear.least_squares": ("Ols", "Wls"),
    "inertica.estimators.linear.ml": ("Ml",),
    "inertica.estimators.closed_loop.output_error": ("Clie", "Cloe", "Oloe"),
    "inertica.estimators.recursive.joint": ("ComputedTorqueFilter", "JointFilter"),
    "inertica.estimators.recursive.others": ("DualEkf", "IdimEkf"),
    "inertica.estimators.recursive.particles": ("ParticleFilter",),
    "inertica.estimators.neural.adann": ("AdaNN",),
    "inertica.estimators.neural.htrnn": ("Htrnn",),
    "inertica.estimators.recursive.live": ("OnlineFit", "RowStream", "Sample"),
    "inertica.estimators.recursive.online": ("Rls", "Rwls"),
    "inertica.estimators.registry": ("METHODS", "method"),
    "inertica.estimators.linear.tls": ("Gtls", "Tls"),
    "inertica.excitation": ("catalog_trajectory", "load_trajectory", "save_trajectory", "write_ros2", "write_samples"),
    "inertica.experiment": ("ControlLoop", "Experiment", "Sensors"),
    "inertica.identifiability.base": ("BaseModel", "base_model", "base_model_along", "engine"),
    "inertica.logs.log": ("Log",),
    "inertica.logs.from_frame": ("from_frame",),
    "inertica.preprocessing.motion": ("Motion",),
    "inertica.preprocessing.prepare": ("prepare",),
    "inertica.logs.read": ("read_log",),
    "inertica.logs.readers.options": ("ReadOptions",),
    "inertica.preprocessing.recipe": ("Recipe",),
    "inertica.physical.check": ("check_model",),
    "inertica.physical.priors": ("Entropic", "Euclidean", "Pullback", "Riemannian"),
    "inertica.physical.repair": ("repair",),
    "inertica.report.bundle": ("add_bristles",),
    "inertica.report.compared": ("compare_parameters",),
    "inertica.report.fleet": ("fleet",),
    "inertica.report.logs": ("motions_again",),
    "inertica.report.paper": ("write_figure",),
    "inertica.report.report": ("write_report",),
    "inertica.report.together": ("write_together",),
    "inertica.robot.control": ("PD", "PID"),
    "inertica.robot.description": ("Description",),
    "inertica.robot.layout": ("Layout", "Parameters"),
    "inertica.robot.files": ("catalog",),
    "inertica.robot.load": ("load", "save_model"),
    "inertica.robot.model": ("Joint", "Limits", "Robot"),
    "inertica.workflow.actuators.job": ("actuators",),
    "inertica.workflow.actuators.result": ("ActuatorsResult",),
    "inertica.workflow.cad": ("import_cad",),
    "inertica.workflow.compare": ("compare",),
    "inertica.campaign.advice": ("Situation", "advise"),
    "inertica.campaign.run": ("run_campaign",),
    "inertica.workflow.calls": ("check", "dynamics_at", "examine", "reduce", "simulate", "watch"),
    "inertica.workflow.exchange": ("from_mujoco", "from_pinocchio", "to_mujoco", "to_pinocchio"),
    "inertica.workflow.excite": ("excite",),
    "inertica.workflow.export": ("export_model", "write_parameters"),
    "inertica.workflow.export_code": ("export_code",),
    "inertica.workflow.exported": ("ExportedModel", "Lost"),
    "inertica.workflow.drive_gains": ("DriveGains", "drive_gains"),
    "inertica.workflow.fit_friction": ("FrictionFit", "fit_friction"),
    "inertica.workflow.fit_loop": ("fit_loop",),
    "inertica.workflow.identify": ("identify",),
    "inertica.workflow.loads": ("LoadedLogs", "Loads", "fit_loads"),
    "inertica.workflow.payload": ("payload",),
    "inertica.workflow.payload_online": ("online_payload", "payload_while_moving"),
    "inertica.workflow.payload_result": ("Payload",),
    "inertica.workflow.result": ("Result",),
    "inertica.workflow.settings": ("Settings",),
    "inertica.workflow.truth": ("AgainstTruth", "against_truth"),
    "inertica.report.folder": ("write_folder",),
    "inertica.reproduce.studies": ("reproduce",),
    "inertica.studio.start": ("open_studio",),
}
_PLACE = {name: module for module, names in _HOME.items() for name in names}

__all__ = sorted(_PLACE)

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Public names are found where they live when first used, so that `import inertica` stays quick."""
    if name not in _PLACE:
        raise AttributeError(f"module 'inertica' has no attribute '{name}'")
    return getattr(importlib.import_module(_PLACE[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)

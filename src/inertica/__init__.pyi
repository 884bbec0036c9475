"""The public names of inertica and where they live: the one list, which `__init__.py` and the API page read, too.

`as` makes a name public for type checkers.
"""

from inertica.benchmark.run import benchmark as benchmark
from inertica.campaign.advice import Situation as Situation, advise as advise
from inertica.campaign.run import run_campaign as run_campaign
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
from inertica.estimators.checks import estimator_checks as estimator_checks
from inertica.estimators.closed_loop.didim import Didim as Didim
from inertica.estimators.closed_loop.iv import Iv as Iv
from inertica.estimators.closed_loop.output_error import Clie as Clie, Cloe as Cloe, Oloe as Oloe
from inertica.estimators.consistent.strategy import Consistent as Consistent
from inertica.estimators.frisch.method import Frisch as Frisch
from inertica.estimators.frisch.recursive import Bbrf as Bbrf
from inertica.estimators.iteration import StepTolerance as StepTolerance, Stop as Stop
from inertica.estimators.linear.bayes import Bayes as Bayes, Ridge as Ridge
from inertica.estimators.linear.irls import Irls as Irls
from inertica.estimators.linear.least_squares import Ols as Ols, Wls as Wls
from inertica.estimators.linear.ml import Ml as Ml
from inertica.estimators.linear.tls import Gtls as Gtls, Tls as Tls
from inertica.estimators.neural.adann import AdaNN as AdaNN
from inertica.estimators.neural.htrnn import Htrnn as Htrnn
from inertica.estimators.recursive.joint import ComputedTorqueFilter as ComputedTorqueFilter, JointFilter as JointFilter
from inertica.estimators.recursive.live import (
    OnlineFit as OnlineFit,
    RowOptions as RowOptions,
    RowStream as RowStream,
    Sample as Sample,
)
from inertica.estimators.recursive.online import Rls as Rls, Rwls as Rwls
from inertica.estimators.recursive.others import DualEkf as DualEkf, IdimEkf as IdimEkf
from inertica.estimators.recursive.particles import ParticleFilter as ParticleFilter
from inertica.estimators.registry import METHODS as METHODS, method as method
from inertica.excitation import (
    catalog_trajectory as catalog_trajectory,
    load_trajectory as load_trajectory,
    save_trajectory as save_trajectory,
    write_player as write_player,
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
from inertica.logs.from_frame import from_frame as from_frame
from inertica.logs.log import Log as Log
from inertica.logs.read import read_log as read_log
from inertica.logs.readers.options import ReadOptions as ReadOptions
from inertica.physical.check import check_model as check_model
from inertica.physical.priors import (
    Entropic as Entropic,
    Euclidean as Euclidean,
    Pullback as Pullback,
    Riemannian as Riemannian,
)
from inertica.physical.repair import repair as repair
from inertica.preprocessing.motion import Motion as Motion
from inertica.preprocessing.prepare import prepare as prepare
from inertica.preprocessing.recipe import Recipe as Recipe
from inertica.report.bundle import add_bristles as add_bristles
from inertica.report.compared import compare_parameters as compare_parameters
from inertica.report.fleet import fleet as fleet
from inertica.report.folder import write_folder as write_folder
from inertica.report.logs import motions_again as motions_again
from inertica.report.paper import write_figure as write_figure
from inertica.report.report import write_report as write_report
from inertica.report.together import write_together as write_together
from inertica.reproduce.studies import reproduce as reproduce
from inertica.robot.control import PD as PD, PID as PID
from inertica.robot.description import Description as Description
from inertica.robot.files import catalog as catalog
from inertica.robot.layout import Layout as Layout, Parameters as Parameters
from inertica.robot.load import load as load, save_model as save_model
from inertica.robot.model import Joint as Joint, Limits as Limits, Robot as Robot
from inertica.studio.start import open_studio as open_studio
from inertica.workflow.actuators.job import actuators as actuators
from inertica.workflow.actuators.replay import Replay as Replay, replay as replay
from inertica.workflow.actuators.result import ActuatorsResult as ActuatorsResult
from inertica.workflow.cad import import_cad as import_cad
from inertica.workflow.calls import (
    check as check,
    dynamics_at as dynamics_at,
    examine as examine,
    reduce as reduce,
    simulate as simulate,
    watch as watch,
)
from inertica.workflow.grade import grade as grade
from inertica.workflow.identify.compare import compare as compare
from inertica.workflow.payload.drive_gains import (
    DriveGains as DriveGains,
    drive_gains as drive_gains,
    drive_gains_by_law as drive_gains_by_law,
)
from inertica.workflow.payload.gain_knowledge import Alike as Alike, TrustedLink as TrustedLink, Weighed as Weighed
from inertica.workflow.export.exchange import (
    from_mujoco as from_mujoco,
    from_pinocchio as from_pinocchio,
    to_mujoco as to_mujoco,
    to_pinocchio as to_pinocchio,
)
from inertica.workflow.excite import excite as excite
from inertica.workflow.excite_options import ExciteOptions as ExciteOptions
from inertica.workflow.export.model import export_model as export_model, write_parameters as write_parameters
from inertica.workflow.export.actuators import ExportedActuators as ExportedActuators, export_actuators as export_actuators
from inertica.workflow.export.code import export_code as export_code
from inertica.workflow.export.exported import ExportedModel as ExportedModel, Lost as Lost
from inertica.workflow.friction.fit_friction import FrictionFit as FrictionFit, fit_friction as fit_friction
from inertica.workflow.loop.fit_loop import fit_loop as fit_loop
from inertica.workflow.identify.run import identify as identify
from inertica.workflow.payload.loads import LoadedLogs as LoadedLogs, Loads as Loads, fit_loads as fit_loads
from inertica.workflow.payload.payload import payload as payload
from inertica.workflow.payload.online import online_payload as online_payload, payload_while_moving as payload_while_moving
from inertica.workflow.payload.result import Payload as Payload
from inertica.workflow.identify.result import Identification as Identification, Result as Result
from inertica.workflow.identify.settings import Settings as Settings
from inertica.workflow.observe.monitor import ContactMonitor as ContactMonitor, observer as observer
from inertica.workflow.observe.program import write_observer as write_observer
from inertica.workflow.simulate_options import SimulateOptions as SimulateOptions
from inertica.workflow.identify.truth import AgainstTruth as AgainstTruth, against_truth as against_truth

__version__: str
__all__: list[str]

"""Public names of `inertica.excitation`, and the modules that hold them: type checkers and `__init__.py` read them here."""

from inertica.excitation.collision import Approach as Approach, Collisions as Collisions
from inertica.excitation.constraints import HalfSpaces as HalfSpaces, JointLimits as JointLimits
from inertica.excitation.constraints import MotionConstraint as MotionConstraint, TorqueLimits as TorqueLimits, above as above
from inertica.excitation.constraints import robot_constraints as robot_constraints, within_box as within_box
from inertica.excitation.criteria import Condition as Condition, Criterion as Criterion, Determinant as Determinant
from inertica.excitation.criteria import FrischCost as FrischCost, SmallestSingular as SmallestSingular, Survey as Survey
from inertica.excitation.files import TrajectoryFile as TrajectoryFile, catalog_trajectory as catalog_trajectory
from inertica.excitation.files import load_trajectory as load_trajectory, read_trajectory as read_trajectory
from inertica.excitation.files import save_trajectory as save_trajectory, write_ros2 as write_ros2
from inertica.excitation.player import write_player as write_player
from inertica.excitation.fourier import Fourier as Fourier, FourierBlend as FourierBlend
from inertica.excitation.multisine import Multisine as Multisine
from inertica.excitation.optimal import Design as Design, DesignOptions as DesignOptions, Violation as Violation
from inertica.excitation.optimal import design as design, evaluate as evaluate
from inertica.excitation.optimal import violations as violations
from inertica.excitation.payload import LoadDeterminant as LoadDeterminant
from inertica.excitation.safety import require_limits as require_limits, safe_start as safe_start, surroundings as surroundings
from inertica.excitation.safety import usual_floor as usual_floor
from inertica.excitation.sampled import INTERPOLATIONS as INTERPOLATIONS, Sampled as Sampled
from inertica.excitation.search import Progress as Progress, Search as Search
from inertica.excitation.several import design_several as design_several, information as information
from inertica.excitation.several import information_of as information_of
from inertica.excitation.solids import Obstacle as Obstacle, Plane as Plane
from inertica.excitation.splines import QuinticPoints as QuinticPoints, Spline as Spline
from inertica.excitation.tables import read_samples as read_samples, write_samples as write_samples
from inertica.excitation.trajectory import Samples as Samples, Shaped as Shaped, Trajectory as Trajectory
from inertica.excitation.trapezoid import Trapezoid as Trapezoid

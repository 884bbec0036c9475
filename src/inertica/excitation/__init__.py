"""How to move: trajectory families, criteria, constraints, optimal design."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from inertica.excitation.collision import Approach, Collisions
    from inertica.excitation.constraints import (
        HalfSpaces,
        JointLimits,
        MotionConstraint,
        TorqueLimits,
        above,
        robot_constraints,
        within_box,
    )
    from inertica.excitation.criteria import Condition, Criterion, Determinant, FrischCost, SmallestSingular, Survey
    from inertica.excitation.files import (
        TrajectoryFile,
        catalog_trajectory,
        load_trajectory,
        read_trajectory,
        save_trajectory,
        write_ros2,
    )
    from inertica.excitation.fourier import Fourier, FourierBlend
    from inertica.excitation.multisine import Multisine
    from inertica.excitation.optimal import Design, Violation, design, evaluate, violations
    from inertica.excitation.payload import LoadDeterminant
    from inertica.excitation.safety import require_limits, safe_start, surroundings, usual_floor
    from inertica.excitation.sampled import INTERPOLATIONS, Sampled
    from inertica.excitation.search import Progress, Search
    from inertica.excitation.several import design_several, information, information_of
    from inertica.excitation.solids import Obstacle, Plane
    from inertica.excitation.splines import QuinticPoints, Spline
    from inertica.excitation.tables import read_samples, write_samples
    from inertica.excitation.trajectory import Samples, Shaped, Trajectory
    from inertica.excitation.trapezoid import Trapezoid

_HOME = {
    "collision": (
        "Approach",
        "Collisions",
    ),
    "constraints": (
        "HalfSpaces",
        "JointLimits",
        "MotionConstraint",
        "TorqueLimits",
        "above",
        "robot_constraints",
        "within_box",
    ),
    "criteria": (
        "Condition",
        "Criterion",
        "Determinant",
        "FrischCost",
        "SmallestSingular",
        "Survey",
    ),
    "optimal": (
        "Design",
        "Violation",
        "design",
        "evaluate",
        "violations",
    ),
    "files": (
        "TrajectoryFile",
        "catalog_trajectory",
        "load_trajectory",
        "read_trajectory",
        "save_trajectory",
        "write_ros2",
    ),
    "fourier": (
        "Fourier",
        "FourierBlend",
    ),
    "several": (
        "design_several",
        "information",
        "information_of",
    ),
    "multisine": ("Multisine",),
    "payload": ("LoadDeterminant",),
    "safety": (
        "require_limits",
        "safe_start",
        "surroundings",
        "usual_floor",
    ),
    "sampled": (
        "INTERPOLATIONS",
        "Sampled",
    ),
    "search": (
        "Progress",
        "Search",
    ),
    "solids": (
        "Obstacle",
        "Plane",
    ),
    "splines": (
        "QuinticPoints",
        "Spline",
    ),
    "tables": (
        "read_samples",
        "write_samples",
    ),
    "trajectory": (
        "Samples",
        "Shaped",
        "Trajectory",
    ),
    "trapezoid": ("Trapezoid",),
}
_PLACE = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "INTERPOLATIONS",
    "Approach",
    "Collisions",
    "Condition",
    "Criterion",
    "Design",
    "Determinant",
    "Fourier",
    "FourierBlend",
    "FrischCost",
    "HalfSpaces",
    "JointLimits",
    "LoadDeterminant",
    "MotionConstraint",
    "Multisine",
    "Obstacle",
    "Plane",
    "Progress",
    "QuinticPoints",
    "Sampled",
    "Samples",
    "Search",
    "Shaped",
    "SmallestSingular",
    "Spline",
    "Survey",
    "TorqueLimits",
    "Trajectory",
    "TrajectoryFile",
    "Trapezoid",
    "Violation",
    "above",
    "catalog_trajectory",
    "design",
    "design_several",
    "evaluate",
    "information",
    "information_of",
    "load_trajectory",
    "read_samples",
    "read_trajectory",
    "require_limits",
    "robot_constraints",
    "safe_start",
    "save_trajectory",
    "surroundings",
    "usual_floor",
    "violations",
    "within_box",
    "write_ros2",
    "write_samples",
]


def __getattr__(name: str) -> Any:
    """Found where they live when first used: those who take a trajectory as it is need no files and no search."""
    if name not in _PLACE:
        raise AttributeError(f"module 'inertica.excitation' has no attribute '{name}'")
    return getattr(import_module(f"inertica.excitation.{_PLACE[name]}"), name)

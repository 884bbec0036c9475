"""What is known before any motion: geometry, drives, friction laws, prior values, limits; readers, writers and the catalog."""

from inertica.robot.description import Description, Source
from inertica.robot.files import catalog
from inertica.robot.layout import Layout, Parameters
from inertica.robot.load import load, save_model
from inertica.robot.model import Joint, Limits, Robot
from inertica.robot.terms import Parameter, RigidBody, ShapeParameter, State, Term

__all__ = [
    "Description",
    "Joint",
    "Layout",
    "Limits",
    "Parameter",
    "Parameters",
    "RigidBody",
    "Robot",
    "ShapeParameter",
    "Source",
    "State",
    "Term",
    "catalog",
    "load",
    "save_model",
]

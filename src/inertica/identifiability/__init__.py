"""Which parameters a model or a motion can determine."""

from inertica.identifiability.base import BaseModel, base_model, base_model_along
from inertica.identifiability.figure import identifiability_map
from inertica.identifiability.states import States, random_states

__all__ = ["BaseModel", "States", "base_model", "base_model_along", "identifiability_map", "random_states"]

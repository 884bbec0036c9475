"""How data come to be: control loop, sensors, noise, closed-loop experiments."""

from inertica.experiment.experiment import Experiment, noise_preset
from inertica.experiment.loop import ControlLoop
from inertica.experiment.sensors import Sensors
from inertica.experiment.truth import FRICTIONS, true_parameters

__all__ = ["FRICTIONS", "ControlLoop", "Experiment", "Sensors", "noise_preset", "true_parameters"]

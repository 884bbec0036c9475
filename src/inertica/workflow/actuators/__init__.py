"""The job `inertica actuators`: what simulation and learning need of a robot's joints, from commands and positions without torque."""

"""Actuators of a robot from commands and positions: armature, friction, delay, zeros, gains of the position loop."""

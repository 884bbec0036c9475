"""Loads on the flange, and drive gains by a known one."""

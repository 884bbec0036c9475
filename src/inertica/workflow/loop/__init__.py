"""The control loop of a log."""

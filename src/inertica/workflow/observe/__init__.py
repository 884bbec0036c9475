"""External torques of a robot that a result knows: momentum observer, thresholds, alarms, contact forces."""

"""Methods that simulate the control loop, or the robot, and what they share."""

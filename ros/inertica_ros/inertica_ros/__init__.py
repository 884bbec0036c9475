"""ROS 2 nodes around inertica: `play` an excitation, `record` the run, `identify` the robot. What needs no ROS is in `core`."""

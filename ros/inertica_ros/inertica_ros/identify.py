"""Identifies a robot from logs that `record` wrote, or from bags.

ros2 run inertica_ros identify --ros-args -p robot:=card.yaml -p logs:="[run1.csv.gz]" -p validate:="[run2.csv.gz]" -p output:=result
"""

from __future__ import annotations

import rclpy
from rclpy.node import Node

from inertica_ros.core import identify, in_one_sentence


def main() -> int:
    return in_one_sentence(run)


def run() -> int:
    """The node from its start to its end."""
    rclpy.init()
    node = Node("inertica_identify")
    try:
        robot = node.declare_parameter("robot", "").value
        logs = node.declare_parameter("logs", ["run.csv.gz"]).value
        validate = [name for name in node.declare_parameter("validate", [""]).value if name]
        output = node.declare_parameter("output", "result").value
        node.get_logger().info(identify(robot, logs, output, validate))
    finally:
        node.destroy_node()
        rclpy.try_shutdown()
    return 0

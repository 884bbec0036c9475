"""Records joint states of a robot into a log that inertica reads, until Ctrl-C or for a stated time.

ros2 run inertica_ros record --ros-args -p robot:=card.yaml -p log:=run1.csv.gz -p seconds:=30.0
"""

from __future__ import annotations

import rclpy
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState

from inertica_ros.core import NANO, Recorder, in_one_sentence, joint_names


class Record(Node):
    """Subscriber of joint states."""

    def __init__(self) -> None:
        super().__init__("inertica_record")
        robot = self.declare_parameter("robot", "").value
        self.path = self.declare_parameter("log", "run.csv.gz").value
        self.seconds = self.declare_parameter("seconds", 0.0).value
        topic = self.declare_parameter("topic", "/joint_states").value
        current = self.declare_parameter("current", False).value
        self.recorder = Recorder(joint_names(robot), current)
        self.create_subscription(JointState, topic, self.receive, qos_profile_sensor_data)

    def receive(self, message: JointState) -> None:
        values = {"position": message.position, "velocity": message.velocity, "effort": message.effort}
        self.recorder.add(message.header.stamp.sec, message.header.stamp.nanosec, message.name, values)

    @property
    def over(self) -> bool:
        stamps = self.recorder.stamps
        return bool(self.seconds > 0.0 and stamps and stamps[-1] - stamps[0] >= self.seconds * NANO)


def main() -> int:
    return in_one_sentence(run)


def run() -> int:
    """The node from its start to its end."""
    rclpy.init()
    node = Record()
    try:
        while rclpy.ok() and not node.over:
            rclpy.spin_once(node, timeout_sec=0.1)
    except KeyboardInterrupt:
        pass
    finally:
        try:
            log = node.recorder.save(node.path)
            node.get_logger().info(f"{len(log)} samples, {log.duration:.3g} s, written: {node.path}")
        finally:
            node.destroy_node()
            rclpy.try_shutdown()
    return 0

"""Sends an exciting motion to a joint_trajectory_controller and waits until it is over.

ros2 run inertica_ros play --ros-args -p robot:=card.yaml -p trajectory:=traj-slow.yaml
"""

from __future__ import annotations

import rclpy
from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Duration
from control_msgs.action import FollowJointTrajectory
from rclpy.action import ActionClient
from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectoryPoint

from inertica_ros.core import in_one_sentence, joint_names, motion_points


class Play(Node):
    """Client of the controller's action `follow_joint_trajectory`."""

    def __init__(self) -> None:
        super().__init__("inertica_play")
        robot = self.declare_parameter("robot", "").value
        trajectory = self.declare_parameter("trajectory", "traj.yaml").value
        rate = self.declare_parameter("rate", 100.0).value
        lead = self.declare_parameter("lead", 5.0).value
        action = self.declare_parameter("action", "/joint_trajectory_controller/follow_joint_trajectory").value
        self.client = ActionClient(self, FollowJointTrajectory, action)
        self.goal = FollowJointTrajectory.Goal()
        joints = joint_names(robot)
        self.goal.trajectory.joint_names = list(joints)
        for point in motion_points(trajectory, joints, rate, lead):
            seconds, nanoseconds = point.stamp
            self.goal.trajectory.points.append(
                JointTrajectoryPoint(
                    positions=point.positions,
                    velocities=point.velocities,
                    accelerations=point.accelerations,
                    time_from_start=Duration(sec=seconds, nanosec=nanoseconds),
                )
            )

    def run(self) -> bool:
        """Whether the controller took the motion and followed it to its end."""
        self.get_logger().info(f"{len(self.goal.trajectory.points)} points; waiting for the controller")
        self.client.wait_for_server()
        sent = self.client.send_goal_async(self.goal)
        rclpy.spin_until_future_complete(self, sent)
        handle = sent.result()
        if not handle.accepted:
            self.get_logger().error("the controller refused the motion")
            return False
        outcome = handle.get_result_async()
        try:
            rclpy.spin_until_future_complete(self, outcome)
        except KeyboardInterrupt:
            rclpy.spin_until_future_complete(self, handle.cancel_goal_async())
            raise
        done = outcome.result().status == GoalStatus.STATUS_SUCCEEDED
        self.get_logger().info("done" if done else f"not followed: {outcome.result().result.error_string}")
        return done


def main() -> int:
    return in_one_sentence(run)


def run() -> int:
    """The node from its start to its end."""
    rclpy.init()
    node = Play()
    try:
        return 0 if node.run() else 1
    finally:
        node.destroy_node()
        rclpy.try_shutdown()

"""A script that plays a motion on a robot with ROS 2: through ros2_control, or through MoveIt, which plans the way to its start."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from inertica.excitation.files import joint_trajectory
from inertica.excitation.trajectory import Trajectory
from inertica.writing import write_whole


def write_player(trajectory: Trajectory, path: str | Path, joints: Sequence[str], rate: float) -> None:
    """A Python script, complete in one file, that sends a motion as an action and waits for its end.

    Args:
        trajectory: the motion.
        path: of the script.
        joints: names as the controller has them.
        rate: of the points, Hz.

    Examples:
        >>> ia.write_player(ia.load_trajectory("traj.yaml"), "play.py", joints=("pan", "lift", "elbow"), rate=50)
    """
    points = joint_trajectory(trajectory, joints, rate)["points"]
    rows = [
        [p["time_from_start"]["sec"], p["time_from_start"]["nanosec"], p["positions"], p["velocities"], p["accelerations"]]
        for p in points
    ]
    data = "".join(f"    {json.dumps(row)},\n" for row in rows)
    write_whole(path, SCRIPT.replace("@JOINTS@", json.dumps(list(joints))).replace("@POINTS@", f"[\n{data}]"))


SCRIPT = '''\
#!/usr/bin/env python3
"""Plays a motion on a robot with ROS 2 and waits for its end.  Run the slow version first, with a hand on the emergency stop.

python3 THIS [--scale 4] [--controller joint_trajectory_controller]      through ros2_control
python3 THIS --moveit GROUP                                              MoveIt plans the way to the start, then executes

--scale 4 takes four times as long.  Without MoveIt the robot goes to the start on a straight line in joint space, in --lead seconds:
make sure that this way is free.
"""

import argparse
import sys

JOINTS = @JOINTS@
POINTS = @POINTS@  # s, ns, positions, velocities, accelerations
NANO = 1_000_000_000


def points(scale=1.0, lead=0.0):
    """(seconds, nanoseconds, positions, velocities, accelerations) of every point, `scale` times slower, `lead` s later."""
    out = []
    for seconds, nanoseconds, q, dq, ddq in POINTS:
        time = round((seconds * NANO + nanoseconds) * scale + lead * NANO)
        out.append((*divmod(time, NANO), q, [v / scale for v in dq], [a / scale**2 for a in ddq]))
    return out if lead else out[1:]  # controllers refuse a point at time zero


def joint_trajectory(scale, lead):
    from builtin_interfaces.msg import Duration
    from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

    message = JointTrajectory(joint_names=JOINTS)
    for seconds, nanoseconds, q, dq, ddq in points(scale, lead):
        stamp = Duration(sec=seconds, nanosec=nanoseconds)
        message.points.append(JointTrajectoryPoint(positions=q, velocities=dq, accelerations=ddq, time_from_start=stamp))
    return message


def send(node, kind, name, goal):
    """Sends a goal and waits; ends the program when it is refused or not reached."""
    import rclpy
    from action_msgs.msg import GoalStatus
    from rclpy.action import ActionClient

    client = ActionClient(node, kind, name)
    print(f"waiting for {name}")
    client.wait_for_server()
    sent = client.send_goal_async(goal)
    rclpy.spin_until_future_complete(node, sent)
    handle = sent.result()
    if not handle.accepted:
        sys.exit(f"{name} refused the goal")
    outcome = handle.get_result_async()
    try:
        rclpy.spin_until_future_complete(node, outcome)
    except KeyboardInterrupt:
        rclpy.spin_until_future_complete(node, handle.cancel_goal_async())
        sys.exit("cancelled")
    if outcome.result().status != GoalStatus.STATUS_SUCCEEDED:
        sys.exit(f"{name} did not reach its goal: {outcome.result().result}")


def through_moveit(node, group, scale):
    from moveit_msgs.action import ExecuteTrajectory, MoveGroup
    from moveit_msgs.msg import Constraints, JointConstraint

    start = MoveGroup.Goal()
    start.request.group_name = group
    start.request.allowed_planning_time = 5.0
    start.request.max_velocity_scaling_factor = 0.1
    start.request.max_acceleration_scaling_factor = 0.1
    near = [
        JointConstraint(joint_name=name, position=q, tolerance_above=1e-3, tolerance_below=1e-3, weight=1.0)
        for name, q in zip(JOINTS, POINTS[0][2])
    ]
    start.request.goal_constraints = [Constraints(joint_constraints=near)]
    send(node, MoveGroup, "/move_action", start)
    motion = ExecuteTrajectory.Goal()
    motion.trajectory.joint_trajectory = joint_trajectory(scale, 0.0)
    send(node, ExecuteTrajectory, "/execute_trajectory", motion)


def through_controller(node, controller, scale, lead):
    from control_msgs.action import FollowJointTrajectory

    goal = FollowJointTrajectory.Goal()
    goal.trajectory = joint_trajectory(scale, lead)
    send(node, FollowJointTrajectory, f"/{controller}/follow_joint_trajectory", goal)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0, help="times as long (1)")
    parser.add_argument("--lead", type=float, default=5.0, help="s to the start of the motion, without MoveIt (5)")
    parser.add_argument("--controller", default="joint_trajectory_controller")
    parser.add_argument("--moveit", metavar="GROUP", help="planning group")
    asked = parser.parse_args()
    if asked.scale < 1.0 or asked.lead <= 0.0:
        parser.error("the scale should be 1 or more and the lead more than 0: nothing is played faster than it was designed")
    import rclpy

    rclpy.init()
    node = rclpy.create_node("inertica_player")
    if asked.moveit:
        through_moveit(node, asked.moveit, asked.scale)
    else:
        through_controller(node, asked.controller, asked.scale, asked.lead)
    print("done")


if __name__ == "__main__":
    main()
'''

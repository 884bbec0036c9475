"""Runs a script with messages of ROS 2 that only remember their fields, and actions that print what they were sent.

python ros_recorder.py SCRIPT ...
"""

import json
import runpy
import sys
import types


class Message:
    def __init__(self, **values):
        self.__dict__.update({"points": [], **values})

    def __getattr__(self, name):  # a part of a message that nothing was put into yet
        part = Message()
        setattr(self, name, part)
        return part


class Future:
    def __init__(self, value):
        self.value = value

    def result(self):
        return self.value


class ActionClient:
    def __init__(self, node, kind, name):
        self.kind, self.name = kind.__name__, name

    def wait_for_server(self):
        pass

    def send_goal_async(self, goal):
        line = goal.trajectory.joint_trajectory if self.kind == "ExecuteTrajectory" else goal.trajectory
        points = [[p.time_from_start.sec, p.time_from_start.nanosec, p.positions, p.velocities] for p in line.points]
        near = goal.request.goal_constraints[0].joint_constraints if self.kind == "MoveGroup" else []
        stated = [[c.joint_name, c.position] for c in near]
        print(json.dumps({"name": self.name, "kind": self.kind, "points": points, "near": stated}))
        status = 6 if "refused" in self.name else 4
        outcome = Future(types.SimpleNamespace(status=status, result="it fell"))
        return Future(types.SimpleNamespace(accepted=True, get_result_async=lambda: outcome))


def action(name):
    return type(name, (), {"Goal": Message})


MODULES = {
    "rclpy": {"init": lambda: None, "create_node": str, "spin_until_future_complete": lambda node, future: None},
    "rclpy.action": {"ActionClient": ActionClient},
    "builtin_interfaces.msg": {"Duration": Message},
    "trajectory_msgs.msg": {"JointTrajectory": Message, "JointTrajectoryPoint": Message},
    "action_msgs.msg": {"GoalStatus": types.SimpleNamespace(STATUS_SUCCEEDED=4)},
    "control_msgs.action": {"FollowJointTrajectory": action("FollowJointTrajectory")},
    "moveit_msgs.action": {name: action(name) for name in ("ExecuteTrajectory", "MoveGroup")},
    "moveit_msgs.msg": {"Constraints": Message, "JointConstraint": Message},
}

if __name__ == "__main__":
    for name, members in MODULES.items():
        sys.modules.setdefault(name.partition(".")[0], types.ModuleType(name.partition(".")[0]))
        sys.modules.setdefault(name, types.ModuleType(name)).__dict__.update(members)
    sys.argv = sys.argv[1:]
    runpy.run_path(sys.argv[0], run_name="__main__")

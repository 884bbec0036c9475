"""A trajectory that excites what matters, inside the limits, as samples for a controller and as a ROS 2 message.

python examples/exciting_trajectory.py [MODEL [SECONDS [FOLDER]]]
"""

import sys
from pathlib import Path

import numpy as np

import inertica as ia

model = sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent / "data" / "arm.urdf"
seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 20.0  # for the search
folder = Path(sys.argv[3] if len(sys.argv) > 3 else ".")

robot = ia.load(model)
design = ia.excite(robot, period=10.0, harmonics=5, floor=0.0, seconds=seconds)  # the last link stays above the table
if not design.feasible:
    sys.exit(f"no motion inside the limits: {design.violations[0]}")
print(f"{design.trajectory.describe()}; condition number of the base regressor {design.condition:.1f}")

q, dq, ddq = design.trajectory(np.linspace(0.0, design.trajectory.period, 1001))
for j, name in enumerate(robot.robot.joint_names):
    print(f"{name:8} {q[:, j].min():6.2f} ... {q[:, j].max():5.2f} rad, up to {abs(dq[:, j]).max():.2f} rad/s")

joints = robot.robot.joint_names
ia.save_trajectory(design.trajectory, folder / "trajectory.yaml", robot=robot.name, joints=joints)
ia.write_samples(design.trajectory, folder / "trajectory.csv", 500.0)  # t, q, dq, ddq at 500 Hz
ia.write_ros2(design.trajectory, folder / "trajectory_ros2.yaml", joints, 100.0)

"""Designs a trajectory that excites what matters and respects the robot's limits.

The criterion is evaluated on the base regressor.  Positions, velocities, accelerations and, with the model file's own parameters,
torques stay inside the limits less a margin; a result that violates one on a grid ten times finer is reported as a failure.
With --given the motion is sought that adds most to logs that exist already.

With --for payload the motion is a short one that reveals the ten parameters of a load best: of a robot that is known, or that will be
recorded along the same motion without the load; with --robot-from, of a robot known as well as that result says.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from inertica.cli.console import Answer, progress_line, table
from inertica.cli.progress import by_clock
from inertica.errors import InerticaError
from inertica.report.numbers import number

if TYPE_CHECKING:
    from rich.console import RenderableType

    from inertica.excitation import Design
    from inertica.robot.description import Description

EXAMPLES = """\
inertica excite tx40 -o traj.yaml --seconds 20
inertica excite card.yaml -o traj.yaml --samples traj.csv --rate 500 --floor 0.3
inertica excite card.yaml -o next.yaml --given log1.csv.gz --given log2.csv.gz
inertica excite tx40 -o load.yaml --for payload --period 12 --mass 2
inertica excite card.yaml -o load.yaml --for payload --robot-from result/
"""

DESIGN = (
    *("family", "period", "harmonics", "criterion", "grid", "margin", "torque_margin", "floor"),
    *("given", "purpose", "robot_from", "mass", "rate", "seconds", "seed"),
)
"""Options that a design takes as they are."""


def add(parser: argparse.ArgumentParser) -> None:
    from inertica.workflow.excite import CRITERIA, FAMILIES

    parser.add_argument("robot", metavar="ROBOT", help="catalog name, model file or card")
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="trajectory as YAML")
    parser.add_argument("--samples", metavar="CSV", help="also write samples t, q, dq, ddq for a controller")
    parser.add_argument("--ros2", metavar="YAML", help="also write a ROS 2 JointTrajectory")
    parser.add_argument("--rate", type=float, default=100.0, metavar="HZ", help="of the samples (default 100)")
    parser.add_argument("--family", default="fourier", help=f"{', '.join(FAMILIES)} (default fourier)")
    parser.add_argument("--period", type=float, metavar="S", help="duration (default 10; 15 for a payload)")
    parser.add_argument("--harmonics", type=int, default=10, help="or via points for splines and trapezoids (default 10)")
    parser.add_argument("--criterion", help=f"{', '.join(CRITERIA)} (default condition; a payload has its own)")
    parser.add_argument("--grid", type=int, default=100, help="points at which the criterion is evaluated (default 100)")
    margin = (
        "distance to position, velocity and acceleration limits, SI (default 0.1, or a twentieth of the limit where that is less)"
    )
    parser.add_argument("--margin", type=float, help=margin)
    parser.add_argument("--torque-margin", type=float, default=0.1, metavar="SHARE", help="share of the torque limits kept free")
    parser.add_argument("--floor", type=float, metavar="M", help="lowest height of the last link's origin")
    parser.add_argument("--given", action="append", default=[], metavar="LOG", help="logs whose knowledge is to be completed")
    parser.add_argument("--for", dest="purpose", choices=("robot", "payload"), default="robot", help="what is to be revealed")
    payload = parser.add_argument_group("payload", "for --for payload")
    payload.add_argument("--robot-from", metavar="RESULT", help="what is known of the robot; known exactly when not given")
    payload.add_argument("--mass", type=float, metavar="KG", help="of the load, at the flange, for the torque limits")
    payload.add_argument("--flange", metavar="FRAME|=X,Y,Z[,R,P,Y]", help="frame of the load, as for inertica payload")
    parser.add_argument("--seconds", type=float, default=30.0, metavar="S", help="time for the search (default 30)")
    parser.add_argument("--seed", type=int, default=0, help="of the search (default 0)")


def run(arguments: argparse.Namespace) -> Answer:
    from inertica.cli.payload import frame
    from inertica.excitation import save_trajectory, write_ros2, write_samples
    from inertica.robot.load import load
    from inertica.workflow.excite import excitation

    description = load(arguments.robot)
    options = {name: value for name, value in vars(arguments).items() if name in DESIGN}
    with progress_line(by_clock(arguments.seconds)) as say:
        found, expected = excitation(description, **options, flange=frame(arguments.flange), progress=say)
    if not found.feasible:
        worst = found.violations[0] if found.violations else "no feasible motion was found"
        raise InerticaError(
            f"no trajectory inside the limits: {worst}; allow more --seconds, a longer --period or smaller margins"
        )
    about = {"criterion": found.criterion, "value": found.value, "condition": found.condition, "seed": arguments.seed}
    joints = description.robot.joint_names
    save_trajectory(found.trajectory, arguments.output, robot=description.name, joints=joints, about=about)
    files = [arguments.output]
    if arguments.samples:
        write_samples(found.trajectory, arguments.samples, arguments.rate)
        files.append(arguments.samples)
    if arguments.ros2:
        write_ros2(found.trajectory, Path(arguments.ros2), joints, arguments.rate)
        files.append(arguments.ros2)
    document = _document(description, found, files) | ({"expected_std": expected} if expected else {})
    return Answer(document, lambda: _text(description, found, files, expected))


def _document(description: Description, found: Design, files: list[str]) -> dict[str, object]:
    q, dq, ddq = found.trajectory(np.linspace(0.0, found.trajectory.period, 2001))
    return {
        "robot": description.name,
        "files": files,
        "criterion": found.criterion,
        "value": found.value,
        "condition": found.condition,
        "smallest_singular_value": found.smallest,
        "feasible": found.feasible,
        "period": found.trajectory.period,
        "evaluations": found.evaluations,
        "seconds": found.seconds,
        "stop": found.stop,
        "extent": {"lower": q.min(0), "upper": q.max(0), "velocity": abs(dq).max(0), "acceleration": abs(ddq).max(0)},
    }


def _text(description: Description, found: Design, files: list[str], expected: Mapping[str, float]) -> Iterator[RenderableType]:
    yield f"{description.name}: {found.trajectory.describe()}"
    effort = f"{found.evaluations} evaluations in {found.seconds:.1f} s"
    yield f"{found.criterion} {found.value:.5g}, cond(W) {found.condition:.4g}, {effort}"
    q, dq, ddq = found.trajectory(np.linspace(0.0, found.trajectory.period, 2001))
    limits = description.robot.limits
    rows = [
        [
            j.name,
            number(q[:, i].min()),
            number(q[:, i].max()),
            _share(dq[:, i], limits.velocity[i]),
            _share(ddq[:, i], limits.acceleration[i]),
        ]
        for i, j in enumerate(description.robot.joints)
    ]
    columns = ("joint", "lowest", "highest", "velocity", "acceleration")
    yield table("what it uses of the limits", columns, rows, right=columns[1:])
    if expected:
        listed = ", ".join(f"{name} {number(value, 2)}" for name, value in expected.items())
        yield f"expected standard deviations of the load, white noise as in the result: {listed}"
    yield f"wrote {', '.join(files)}"


def _share(signal: np.ndarray, limit: float) -> str:
    return f"{100 * np.abs(signal).max() / limit:.0f} %" if math.isfinite(limit) else number(float(np.abs(signal).max()))

"""Designs a trajectory that excites what matters and respects the robot's limits.

The criterion is evaluated on the base regressor.  Positions, velocities, accelerations and, with the model file's own parameters,
torques stay inside the limits less a margin; a result that violates one on a grid ten times finer is reported as a failure.
Torques count friction and drive inertia of the model or card; with --robot-from those that a result found.

A URDF has no acceleration limits.  Where neither model nor card states one, it is assumed, joint by joint, as the smaller of what
the torque limit leaves in the worst pose and what reaches the velocity limit in a quarter of the swing of a pendulum as long as the
longest link.  A warning says the numbers and the line that a card needs, as in  limits: {acceleration: [5, 5, 8]}.

Run a new motion slowly first.  --slow 4 also writes traj-slow.yaml (and such files beside --samples and --ros2): the same path in
four times the time, at a quarter of the speed and a sixteenth of the acceleration.  Run it with a hand on the stop button, look for
contacts, tight cables and drives that complain, then run the motion itself.  Identify from logs of the motion itself: the slow one
shows gravity and friction, and hardly any inertia.

No two links come closer to each other than --clearance, nor any link to the floor, to the walls of a --box or to an --obstacle; the
result is looked at at 1 kHz and its closest approach is said.  Links have the shapes of the model file or card, else capsules from
joint to joint; pairs that touch by construction are left out and listed.

With --given the motion is sought that adds most to logs that exist already.

With --for payload the motion is a short one that reveals the ten parameters of a load best: of a robot that is known, or that will be
recorded along the same motion without the load; with --robot-from, of a robot known as well as that result says.

With --for actuators the motion is one of chirps, steps and reversals, as `inertica actuators` wants it: command its positions.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from inertica.cli.console import Answer, progress_line, table
from inertica.cli.flags import add_flags, stated
from inertica.cli.progress import by_clock
from inertica.errors import InerticaError, ModelWarning
from inertica.numbers import number

if TYPE_CHECKING:
    from rich.console import RenderableType

    from inertica.excitation import Design
    from inertica.excitation.assumed import AccelerationLimit
    from inertica.excitation.trajectory import Shaped
    from inertica.robot.description import Description
    from inertica.workflow.excite import Excitation, SlowPass

EXAMPLES = """\
inertica excite tx40 -o traj.yaml --seconds 20
inertica excite card.yaml -o traj.yaml --samples traj.csv --rate 500 --figure clearance.pdf
inertica excite card.yaml -o traj.yaml --obstacle box:0.2,0.6,1@0.7,0,0.5 --clearance 0.05
inertica excite card.yaml -o traj.yaml --box=-1,-1,0,1,1,1.8 --criterion survey --k1 1 --k2 10
inertica excite robot.urdf -o traj.yaml --samples traj.csv --slow 4
inertica excite card.yaml -o traj.yaml --player play.py
inertica excite card.yaml -o second.yaml --robot-from result/
inertica excite card.yaml -o next.yaml --given log1.csv.gz --given log2.csv.gz
inertica excite tx40 -o load.yaml --for payload --period 12 --mass 2
inertica excite card.yaml -o load.yaml --for payload --robot-from result/
inertica excite so101.urdf -o wave.yaml --for actuators --samples wave.csv --rate 50
"""


def add(parser: argparse.ArgumentParser) -> None:
    from inertica.workflow.excite_options import BODIES, LOAD, ExciteOptions

    parser.add_argument("robot", metavar="ROBOT", help="catalog name, model file or card")
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="trajectory as YAML")
    parser.add_argument("--samples", metavar="CSV", help="also write samples t, q, dq, ddq for a controller")
    parser.add_argument("--ros2", metavar="YAML", help="also write a ROS 2 JointTrajectory")
    parser.add_argument(
        "--player",
        metavar="PY",
        help="also write a script that plays the motion through ros2_control or MoveIt, way to its start included",
    )
    slow = (
        "also write a slow first pass of the same path, FACTOR times as long, to NAME-slow beside each file (4 is a good start)"
    )
    parser.add_argument("--slow", type=float, metavar="FACTOR", help=slow)
    figure = "draw the clearance over time and the robot at its closest approach: .pdf, .svg or .eps"
    parser.add_argument("--figure", metavar="FILE", type=Path, help=figure)
    add_flags(parser, ExciteOptions, {BODIES: "lengths in m, in the robot's base frame", LOAD: "for --for payload"})


def run(arguments: argparse.Namespace) -> Answer:
    from inertica.excitation.trajectory import slowing
    from inertica.robot.load import load
    from inertica.workflow.excite import excitation
    from inertica.workflow.excite_options import ExciteOptions

    if arguments.slow is not None:
        slowing(arguments.slow)
    description = load(arguments.robot)
    options = stated(ExciteOptions, arguments)
    with progress_line(by_clock(options.seconds)) as say:
        made = excitation(description, options, progress=say)
    chosen, expected = made.design, made.expected
    if not chosen.feasible:
        worst = chosen.violations[0] if chosen.violations else "no feasible motion was found"
        raise InerticaError(
            f"no trajectory inside the limits: {worst}; allow more --seconds, a longer --period or smaller margins"
        )
    about = {"criterion": chosen.criterion, "value": chosen.value, "condition": chosen.condition, "seed": options.seed}
    if chosen.approach is not None:
        about["clearance"] = chosen.approach.distance
    targets = Targets(arguments.output, arguments.samples, arguments.ros2, arguments.player)
    files = targets.write(chosen.trajectory, description, options.rate, about)
    slow = None if arguments.slow is None else _slow_pass(made, arguments.slow)
    slow_files = []
    if slow is not None:
        slow_files = targets.slow().write(slow.trajectory, description, options.rate, about | {"slowed": arguments.slow})
    if arguments.figure:
        from inertica.report.clearance import draw_clearance

        files.append(str(draw_clearance(made.bodies, chosen, arguments.figure)))
    document = _document(description, chosen, files) | ({"expected_std": expected} if expected else {})
    document |= {"acceleration_limits": [_acceleration(limit) for limit in made.accelerations]}
    if slow is not None:
        feasible = not slow.violations
        document |= {
            "slow": {"factor": arguments.slow, "period": slow.trajectory.period, "feasible": feasible, "files": slow_files}
        }
    return Answer(document | {"safety": _safety(made)}, lambda: _text(description, made, [*files, *slow_files]))


@dataclass(frozen=True)
class Targets:
    """Files that a motion is written to; those of samples where they are wanted."""

    output: str
    samples: str | None
    ros2: str | None
    player: str | None

    def slow(self) -> Targets:
        """The same with -slow at the end of their names."""
        output, *others = (
            None if name is None else str(Path(name).with_stem(f"{Path(name).stem}-slow"))
            for name in (self.output, self.samples, self.ros2, self.player)
        )
        return Targets(str(output), *others)

    def write(self, trajectory: Shaped, description: Description, rate: float, about: dict[str, object]) -> list[str]:
        """The names of the files that were written."""
        from inertica.excitation import save_trajectory, write_player, write_ros2, write_samples

        joints = description.robot.joint_names
        save_trajectory(trajectory, self.output, robot=description.name, joints=joints, about=about)
        if self.samples:
            write_samples(trajectory, self.samples, rate)
        if self.ros2:
            write_ros2(trajectory, Path(self.ros2), joints, rate)
        if self.player:
            write_player(trajectory, self.player, joints, rate)
        return [name for name in (self.output, self.samples, self.ros2, self.player) if name]


def _slow_pass(made: Excitation, factor: float) -> SlowPass:
    from inertica.workflow.excite import SlowPass

    slow = SlowPass.of(made.design.trajectory, factor, made.constraints)
    if slow.violations:
        sentence = (
            f"the slow pass does not keep every limit: {slow.violations[0]}; take a smaller --slow, or a larger --torque-margin"
        )
        warnings.warn(ModelWarning(sentence), stacklevel=1)
    return slow


def _acceleration(limit: AccelerationLimit) -> dict[str, object]:
    """An acceleration limit with what an assumed one was taken from."""
    out: dict[str, object] = {"joint": limit.joint, "value": limit.value, "unit": limit.unit, "origin": limit.origin.value}
    if not limit.assumed:
        return out
    names = ("torque_limit", "rest_torque", "friction", "inertia", "velocity_limit", "time")
    return out | {name: getattr(limit, name) for name in names}


def _document(description: Description, chosen: Design, files: list[str]) -> dict[str, object]:
    q, dq, ddq = chosen.trajectory(np.linspace(0.0, chosen.trajectory.period, 2001))
    return {
        "robot": description.name,
        "files": files,
        "criterion": chosen.criterion,
        "value": chosen.value,
        "condition": chosen.condition,
        "smallest_singular_value": chosen.smallest,
        "feasible": chosen.feasible,
        "period": chosen.trajectory.period,
        "evaluations": chosen.evaluations,
        "seconds": chosen.seconds,
        "stop": chosen.stop,
        "extent": {"lower": q.min(0), "upper": q.max(0), "velocity": abs(dq).max(0), "acceleration": abs(ddq).max(0)},
    }


def _safety(made: Excitation) -> dict[str, object]:
    """What was kept apart, by which shapes, and how near it came."""
    bodies, approach = made.bodies, made.design.approach
    closest = None
    if approach is not None:
        closest = {
            "bodies": [approach.first, approach.second],
            "distance": approach.distance,
            "time": approach.time,
            "points": approach.points,
        }
    return {
        "clearance": {"least": bodies.clearance, "of_built_shapes": bodies.rough},
        "closest": closest,
        "floor": next((plane.level for plane in bodies.planes if plane.name == "floor"), None),
        "pairs": [list(pair.names) for pair in bodies.pairs],
        "touching": [list(pair.names) for pair in bodies.touching],
        "counted_thinner": [list(pair.names) for pair in bodies.pairs if pair.thinned or pair.solids is not None],
        "shapes": {outline.name: outline.origin for outline in bodies.outlines.links if outline.solids},
        "notes": bodies.outlines.notes,
    }


def _safety_text(made: Excitation) -> Iterator[str]:
    bodies, approach = made.bodies, made.design.approach
    if approach is not None:
        least, most = 1e3 * bodies.kept.min(), 1e3 * bodies.kept.max()
        clearance = (
            f"{least:.0f}{f' to {most:.0f}' if most > least else ''} mm were kept free, {len(bodies.pairs)} pairs of bodies"
        )
        yield f"closest approach, looked at at 1 kHz: {approach} ({clearance})"
    else:
        yield "nothing could collide: the model has no two bodies that could meet"
    if not any(plane.name == "floor" for plane in bodies.planes):
        yield "no floor was kept: the model does not say where it is; --floor HEIGHT states it"
    built = [outline.name for outline in bodies.outlines.links if outline.origin == "built" and outline.solids]
    if built:
        yield f"shapes built as capsules, since the model has none: {', '.join(built)}; a card can state them (shapes:)"
    if bodies.touching:
        yield f"left out, since they touch in every pose: {', '.join(pair.label for pair in bodies.touching)}"
    yield from bodies.outlines.notes


def _text(description: Description, made: Excitation, files: list[str]) -> Iterator[RenderableType]:
    chosen, expected = made.design, made.expected
    yield f"{description.name}: {chosen.trajectory.describe()}"
    effort = f"{chosen.evaluations} evaluations in {chosen.seconds:.1f} s"
    yield f"{chosen.criterion} {chosen.value:.5g}, cond(W) {chosen.condition:.4g}, {effort}"
    q, dq, ddq = chosen.trajectory(np.linspace(0.0, chosen.trajectory.period, 2001))
    limits = description.robot.limits
    rows = [
        [
            j.name,
            number(q[:, i].min()),
            number(q[:, i].max()),
            _share(dq[:, i], limits.velocity[i]),
            _share(ddq[:, i], made.accelerations[i].value) + (" (assumed)" if made.accelerations[i].assumed else ""),
        ]
        for i, j in enumerate(description.robot.joints)
    ]
    columns = ("joint", "lowest", "highest", "velocity", "acceleration")
    yield table("what it uses of the limits", columns, rows, right=columns[1:])
    if expected:
        improvements = ", ".join(f"{name} {number(value, 2)}" for name, value in expected.items())
        yield f"expected standard deviations of the load, white noise as in the result: {improvements}"
    yield from _safety_text(made)
    yield f"wrote {', '.join(files)}"


def _share(signal: np.ndarray, limit: float) -> str:
    return f"{100 * np.abs(signal).max() / limit:.0f} %" if math.isfinite(limit) else number(float(np.abs(signal).max()))

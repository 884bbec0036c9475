"""Motion: design an excitation, look at it on the robot, take it to a controller, rehearse it before the real robot moves."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import inertica as ia
from inertica.documents import plain
from inertica.errors import InerticaError
from inertica.escape import file_stem
from inertica.excitation.assumed import AccelerationLimit, acceleration_limits, assumption
from inertica.excitation.files import has_trajectory, read_trajectory
from inertica.report.verdict_words import verdict_document
from inertica.studio import rehearsal
from inertica.studio.arguments import Arguments
from inertica.studio.cell import Cell
from inertica.studio.confined import Refused, inside, plain_name
from inertica.studio.forms import changed, flags, form, options_from
from inertica.studio.project import Project
from inertica.studio.room import OPEN, READY, Document, Room, quoted, same
from inertica.workflow.excite_options import ExciteOptions
from inertica.writing import write_whole

FRAMES = 1200
"""Poses of a motion that the page plays."""

USUAL = {"criterion": "condition", "period": 10.0}
"""What a form shows where the default of an option depends on others."""

LOOKED = 200
"""Poses at which distances between bodies are looked at."""


def trajectories(project: Project) -> list[str]:
    paths = (project.folder / "trajectories").glob("*.yaml")
    return [p.name for p in sorted(paths, key=lambda p: (p.stat().st_mtime_ns, p.name)) if not p.name.startswith(".")]


def state(project: Project) -> tuple[str, str]:
    count, tried = len(trajectories(project)), len(project.rehearsals)
    if not count:
        return OPEN, "optional: design a motion"
    return READY, f"{count} motion{'s' if count > 1 else ''}" + (f", {tried} rehearsed" if tried else "")


def view(project: Project, arguments: Arguments) -> Document:
    motions = []
    for name in trajectories(project):
        try:
            file = read_trajectory(project.folder / "trajectories" / name)
        except InerticaError as error:
            motions.append({"name": name, "about": {}, "period": 0.0, "words": project.said(str(error)), "joints": 0})
            continue
        about = {"period": file.trajectory.period, "words": file.trajectory.describe(), "joints": file.trajectory.n}
        motions.append({"name": name, "about": plain(file.about), **about})
    last = options_from(ExciteOptions, Arguments(project.chosen("motion", "design", dict) or {}))
    around = _cell(project)
    words = ["inertica", "excite", "card.yaml", "-o", "trajectories/motion-1.yaml", *flags(last), *around.words]
    known = ", ".join([*(f"{key}={value!r}" for key, value in changed(last).items()), *around.python])
    needed = ["from inertica.excitation.solids import Obstacle", ""] if around.obstacles else []
    robot = project.description if project.has_robot else None
    motion = f"trajectories/{motions[-1]['name'] if motions else 'motion-1.yaml'}"
    return {
        "trajectories": motions,
        "rehearsals": project.rehearsals,
        "design": form(ExciteOptions, USUAL | changed(last)),
        "rehearse": form(rehearsal.RehearsalOptions),
        "cell": around.scene(robot) if robot is not None else around.document(),
        "selected": project.chosen("motion", "selected", str),
        "shipped": robot is not None and has_trajectory(robot.name, "identification"),
        "loop": robot is not None and robot.loop is not None,
        "same": same(
            [words, ["inertica", "simulate", "card.yaml", "--trajectory", motion, "-o", "rehearsal.npz"]],
            [*needed, f'design = ia.excite("card.yaml"{", " + known if known else ""})',
             'ia.save_trajectory(design.trajectory, "trajectories/motion-1.yaml")',
             "", "# rehearsal: plant other values, simulate, identify, hold against what was planted; the card states the loop",
             "from dataclasses import replace", 'robot = ia.load("card.yaml")',
             "planted = robot.prior.with_values(1.2 * robot.prior.values)",
             f'trajectory = ia.load_trajectory({quoted(motion)})',
             "noise = ia.Noise(q=1e-6, tau=0.1, seed=0)",
             "(log,) = replace(ia.Experiment.of(robot), truth=planted, noise=noise).run(trajectory)",
             "result = ia.identify(robot, [log])", "print(ia.against_truth(result, planted).covered)"],
        ),
    }  # fmt: skip


def play(project: Project, arguments: Arguments) -> Document:
    """Poses over time, and what the motion uses of the limits."""
    trajectory = _trajectory(project, arguments.text("trajectory"))
    robot = project.description.robot
    if trajectory.n != robot.n:
        raise Refused(f"the motion moves {trajectory.n} joints, {robot.name} has {robot.n}", 409)
    t = np.linspace(0.0, trajectory.period, min(FRAMES, max(int(50 * trajectory.period), 100)))
    fine = trajectory(np.linspace(0.0, trajectory.period, 4000))
    limits, accelerations = robot.limits, _accelerations(project.description)
    engine = ia.engine(ia.base_model(project.description.layout))
    torque = np.abs(np.asarray(engine.inverse_dynamics(fine.q, fine.dq, fine.ddq, project.description.prior))).max(axis=0)
    rows = [
        {
            "joint": j.name, "unit": j.unit, "effort": j.effort_unit, "lowest": fine.q[:, k].min(), "highest": fine.q[:, k].max(),
            "lower": limits.lower[k], "upper": limits.upper[k], "velocity": np.abs(fine.dq[:, k]).max(),
            "velocity_limit": limits.velocity[k], "acceleration": np.abs(fine.ddq[:, k]).max(),
            "acceleration_limit": accelerations[k].value if accelerations else limits.acceleration[k],
            "torque": torque[k], "torque_limit": limits.torque[k],
        }
        for k, j in enumerate(robot.joints)
    ]  # fmt: skip
    samples = trajectory(t)
    assumed = assumption(project.description, accelerations)
    return {"t": t, "q": samples.q, "dq": samples.dq, "limits": rows, "period": trajectory.period, "assumed": assumed}


def _accelerations(description: ia.Description) -> tuple[AccelerationLimit, ...]:
    """Acceleration limits, stated or assumed; none where nothing could be designed because velocities have no limits."""
    if not all(math.isfinite(v) for v in description.robot.limits.velocity):
        return ()
    return acceleration_limits(description, ia.base_model(description.layout).engine)


def clearance(project: Project, arguments: Arguments) -> Document:
    """Where along a motion two bodies, or one and what stands around the robot, come closest; why not where nothing could meet."""
    around = _cell(project)
    trajectory = _trajectory(project, arguments.text("trajectory"))
    t = np.linspace(0.0, trajectory.period, LOOKED)
    try:
        approach = around.bodies(project.description).approach(trajectory(t).q, t)
    except InerticaError as error:
        return {"known": False, "why": str(error)}
    return {"known": True, "distance": approach.distance, "time": approach.time, "bodies": [approach.first, approach.second],
            "poses": LOOKED, "kept": around.clearance}  # fmt: skip


def cell(project: Project, arguments: Arguments) -> Document:
    """Keep what stands around the robot."""
    around = Cell.of(arguments)
    project.choose("motion", cell=around.document())
    return around.scene(project.description)


def _cell(project: Project) -> Cell:
    return Cell.of(Arguments(project.chosen("motion", "cell", dict) or {}))


def select(project: Project, arguments: Arguments) -> Document:
    """Remember which motion is looked at."""
    name = arguments.text("trajectory")
    _trajectory(project, name)
    project.choose("motion", selected=name)
    return {"selected": name}


def shipped(project: Project, arguments: Arguments) -> Document:
    """Take the motion that is shipped for a catalog robot."""
    description = project.description
    kind = arguments.word("kind", ("identification", "validation"), "identification")
    file = ia.catalog_trajectory(description.name, kind)
    name = project.free_name("trajectories", f"{file_stem(description.name)}-{kind}", ".yaml")
    ia.save_trajectory(file.trajectory, project.folder / "trajectories" / name, robot=description.name, about=file.about)
    project.choose("motion", selected=name)
    return {"trajectory": name}


def download(project: Project, arguments: Arguments) -> Document:
    """Write a motion for a controller: YAML, CSV samples, a ROS 2 JointTrajectory, or a script that plays it."""
    name = arguments.text("trajectory")
    trajectory, kind = _trajectory(project, name), arguments.word("as", ("yaml", "csv", "ros2", "player"))
    if kind == "yaml":
        return {"file": f"trajectories/{name}"}
    rate = arguments.number("rate", 100.0, 1.0, 20_000.0)
    stem = Path(name).stem
    if kind == "csv":
        ia.write_samples(trajectory, project.folder / "exports" / f"{stem}.csv", rate)
        return {"file": f"exports/{stem}.csv"}
    file, write = (f"{stem}-ros2.yaml", ia.write_ros2) if kind == "ros2" else (f"{stem}-player.py", ia.write_player)
    write(trajectory, project.folder / "exports" / file, project.description.robot.joint_names, rate)
    return {"file": f"exports/{file}"}


def remove(project: Project, arguments: Arguments) -> Document:
    name = arguments.text("trajectory")
    _trajectory(project, name)
    (project.folder / "trajectories" / name).unlink()
    project.choose("motion", selected=None)
    return {}


def design(project: Project, arguments: Arguments, say: Callable[[str], None], work: Path) -> Document:
    """Job: `ia.excite`, with the criterion as progress."""
    options = options_from(ExciteOptions, arguments)
    around = Cell.of(arguments)
    say(f"designing: {options.criterion or USUAL['criterion']} over {options.duration:g} s")
    designed = ia.excite(project.description, options, **around.options, progress=say)
    if not designed.feasible:
        worst = designed.violations[0] if designed.violations else "no feasible motion was found"
        raise InerticaError(f"no motion inside the limits: {worst}; allow more time, a longer period or smaller margins")
    about = {"criterion": designed.criterion, "value": designed.value, "condition": designed.condition, "seed": options.seed}
    name = plain_name(arguments.text("name", "")) if "name" in arguments else project.free_name("trajectories", "motion", ".yaml")
    description = project.description
    joints = description.robot.joint_names
    target = project.folder / "trajectories" / name
    ia.save_trajectory(designed.trajectory, target, robot=description.name, joints=joints, about=about)
    history = [[int(e), float(v)] for e, v in designed.history if math.isfinite(v)]
    return {"trajectory": name, "value": designed.value, "condition": designed.condition, "criterion": designed.criterion,
            "evaluations": designed.evaluations, "seconds": designed.seconds, "stop": designed.stop, "history": history,
            "remember": {"selected": name, "design": changed(options), "cell": around.document()}}  # fmt: skip


def rehearse(project: Project, arguments: Arguments, say: Callable[[str], None], work: Path) -> Document:
    """Job: plant values, simulate the motion in closed loop with noise, identify, and hold against what was planted."""
    name, options = arguments.text("trajectory"), options_from(rehearsal.RehearsalOptions, arguments)
    trajectory, description = _trajectory(project, name), project.description
    say("planting values")
    robot = rehearsal.planted(description, trajectory, options)
    say(f"simulating {trajectory.period:g} s in closed loop")
    log = rehearsal.recorded(robot, trajectory, options)
    result, held = rehearsal.recovered(description, robot, log, say, options)
    right, of = held.covered
    document: Document = {
        "name": (
            plain_name(arguments.text("name", "")) if "name" in arguments else project.free_name("rehearsals", "rehearsal", ".json")
        ).removesuffix(".json"),
        "trajectory": name, "method": result.method, "spread": options.spread,
        "position_noise": options.position_noise, "torque_noise": options.torque_noise,
        "notes": list(robot.notes), "verdict": verdict_document(result), "covered": [right, of],
        "sure": len(held.sure), "worst": max((abs(h.error) for h in held.sure), default=math.nan),
        "base": [
            {"name": h.name, "found": h.found, "low": h.low, "high": h.high, "planted": h.known, "covered": h.covered}
            for h in held.base
        ],
        "determined": [
            {"name": h.name, "found": h.found, "low": h.low, "high": h.high, "planted": h.known, "covered": h.covered}
            for h in held.determined
        ],
        "labels": dict(result.labels),
    }  # fmt: skip
    target = project.folder / "rehearsals" / document["name"]
    log.save(target.with_suffix(".npz"))
    write_whole(target.with_suffix(".json"), json.dumps(plain(document), indent=1) + "\n")
    return {"rehearsal": document["name"], "covered": [right, of]}


def keep(project: Project, arguments: Arguments) -> Document:
    """Take the log of a rehearsal into the room Data."""
    name = plain_name(arguments.text("rehearsal"))
    file = f"rehearsals/{name}.npz"
    if not inside(project.folder, file).is_file():
        raise Refused(f"there is no rehearsal '{name}'", 404)
    return project.add_log(file, arguments.word("role", ("identify", "validate"), "identify")).document()


def _trajectory(project: Project, name: str) -> Any:
    path = inside(project.folder, Path("trajectories") / plain_name(name))
    if not path.is_file():
        raise Refused(f"the project has no motion '{name}'", 404)
    return ia.load_trajectory(path)


ROOM = Room(
    "motion",
    "Motion",
    "A motion that reveals the parameters, inside the limits; tried in simulation before the real robot moves.",
    state,
    view,
    {
        "play": play,
        "clearance": clearance,
        "cell": cell,
        "select": select,
        "shipped": shipped,
        "download": download,
        "remove": remove,
        "keep": keep,
    },
    {"design": design, "rehearse": rehearse},
    names={"design": ("trajectories", "motion", ".yaml"), "rehearse": ("rehearsals", "rehearsal", ".json")},
)

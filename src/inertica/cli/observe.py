"""Shows external torques of a robot that a result knows, and contacts: torques beyond what the model leaves of motion without contact.

RESULT is the folder that identify wrote, LOG a recorded log, or - for lines from stdin: first the names of the columns, t, q1..,
tau1.. (and dq1.. where velocities are measured) in SI units, then values.  External torques come from generalised momentum, without
accelerations, behind a low-pass.  Thresholds are learned from the logs of the result, or from --calibrate: motion in which nothing
touches the robot.  A joint that rests hides what its dry friction can hold.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from inertica.checks.seen import seen
from inertica.cli.console import Answer, progress, table
from inertica.cli.reading import add_reading, reading_options, refuse_reading, with_reading
from inertica.documents import plain
from inertica.logs.lines import blocks
from inertica.numbers import number
from inertica.workflow.identify.result import Result
from inertica.writing import refuse_other_suffix, write_whole

if TYPE_CHECKING:
    from rich.console import RenderableType

    from inertica.workflow.observe.contact_force import ContactPoint
    from inertica.workflow.observe.events import ContactEvent
    from inertica.workflow.observe.monitor import ContactMonitor
    from inertica.workflow.observe.observer import Observed

EXAMPLES = """\
inertica observe result/ run3.csv.gz --program code/
inertica observe result/ run3.csv.gz --period 600 --force 6:0,0,0.1 -o external.csv --json
robot-driver --csv | inertica observe result/ - --calibrate quiet.csv.gz
"""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("result", metavar="RESULT", help="folder of a result")
    parser.add_argument("log", metavar="LOG", help="a log; FILE@t0:t1 takes a slice, - lines from stdin")
    parser.add_argument(
        "--calibrate",
        metavar="LOG",
        action="append",
        help="motion without contact to learn thresholds from; may be given several times",
    )
    parser.add_argument("--period", type=float, metavar="S", help="between false alarms on average (3600 s)")
    parser.add_argument(
        "--bandwidth", type=float, metavar="HZ", help="of the low-pass; by default the one that notices --share soonest"
    )
    parser.add_argument(
        "--share", type=float, metavar="X", help="of each joint's largest torque that should be noticed soonest (0.05)"
    )
    contact = parser.add_mutually_exclusive_group()
    contact.add_argument(
        "--force", metavar="LINK[:x,y,z]", help="force at a point of a link, by its joint's name or number, from all joints"
    )
    contact.add_argument(
        "--wrench", metavar="LINK[:x,y,z]", help="force and moment at a point of a link; needs six joints below it"
    )
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="write t, external1.., threshold1.. as .csv or .csv.gz")
    parser.add_argument(
        "--program", metavar="DIR", type=Path, help="write dynamics, thresholds and the observer's step as C, too"
    )
    add_reading(parser)


def run(arguments: argparse.Namespace) -> Answer:
    from inertica.workflow.observe.contact_force import contact_point
    from inertica.workflow.observe.monitor import observer

    refuse_other_suffix(arguments.output, ".csv", ".csv.gz")
    options = {
        name: getattr(arguments, name) for name in ("period", "bandwidth", "share") if getattr(arguments, name) is not None
    }
    with progress("learning thresholds"):
        result = Result.load(arguments.result)
        description = with_reading(result.description, reading_options(arguments))
        calibration = None if arguments.calibrate is None else [seen(log, description) for log in arguments.calibrate]
        monitor = observer(result, calibration, **options)
    program: tuple[Path, ...] = ()
    if arguments.program is not None:
        from inertica.workflow.observe.program import write_observer

        program = write_observer(monitor, arguments.program)
    word = arguments.wrench if arguments.force is None else arguments.force
    point = None if word is None else contact_point(result.description.robot, word, arguments.wrench is not None)
    if arguments.log == "-":
        refuse_reading(arguments)
        return live(result, monitor, arguments.json)
    with progress("observing"):
        observed, events = monitor.observe(seen(arguments.log, description))
    if arguments.output is not None:
        write_csv(arguments.output, result, monitor, observed, point)
    names = result.description.robot.joint_names
    forces = [_force(result, monitor, observed, event, point) for event in events] if point else []
    document = head(result, monitor) | {
        "events": [event_document(event, names) for event in events],
        "forces": forces,
        "file": None if arguments.output is None else str(arguments.output),
        "program": [str(file) for file in program],
    }

    def text() -> Iterator[RenderableType]:
        yield from limits_text(result, monitor)
        rows = [
            [number(e.time), number(e.end - e.time), f"{e.joint + 1} {names[e.joint]}", number(e.torque), f"{e.ratio:.1f}"]
            for e in events
        ]
        columns = ("time (s)", "lasts (s)", "joint", "torque", "of threshold")
        if rows:
            yield table(
                f"{len(rows)} contacts in {arguments.log}",
                columns,
                rows,
                right=("time (s)", "lasts (s)", "torque", "of threshold"),
            )
        else:
            yield f"no contact in {arguments.log}: no external torque is beyond its threshold"
        for event, force in zip(events, forces, strict=False):
            values = ", ".join(f"{name} {'not determined' if x is None else number(x)}" for name, x in force["values"].items())
            yield f"{number(event.time)} s: {values} in the base frame"
        if arguments.output is not None:
            yield f"written: {arguments.output}"
        if program:
            yield f"written: {', '.join(map(str, program))}"

    return Answer(document, text)


def head(result: Result, monitor: ContactMonitor) -> dict[str, Any]:
    """What holds for every log."""
    limits, robot = monitor.thresholds, result.description.robot
    joints = [
        {
            "name": name, "threshold": limits.torque[j], "at_rest": limits.torque[j] + monitor.observer.hidden[j],
            "smallest_detectable": limits.smallest[j], "wanted": monitor.wanted[j], "delay": monitor.delay[j],
        }
        for j, name in enumerate(robot.joint_names)
    ]  # fmt: skip
    return {
        "robot": result.description.name,
        "bandwidth": monitor.bandwidth,
        "velocity": "measured" if monitor.observer.measured_velocity else "differences",
        "period": limits.period,
        "extrapolated": limits.extrapolated,
        "learned": {"seconds": limits.seconds, "peaks": limits.peaks, "logs": dict(monitor.learned_from)},
        "joints": joints,
    }


def limits_text(result: Result, monitor: ContactMonitor) -> Iterator[RenderableType]:
    """Thresholds for people."""
    limits, hidden, delay = monitor.thresholds, monitor.observer.hidden, monitor.delay
    columns = ("joint", "threshold", "at rest", "smallest noticed", "wanted", "noticed after (s)", "unit")
    rows = []
    for j, joint in enumerate(result.description.robot.joints):
        values = (limits.torque[j], limits.torque[j] + hidden[j], limits.smallest[j], monitor.wanted[j])
        after = number(delay[j]) if np.isfinite(delay[j]) else "never"
        rows.append([f"{j + 1} {joint.name}", *map(number, values), after, joint.effort_unit])
    yield table(
        f"external torques of {result.description.name} behind {monitor.bandwidth:.3g} Hz", columns, rows, right=columns[1:6]
    )
    yield (
        f"One false alarm per {limits.period:g} s of motion, learned from {limits.seconds:.3g} s without contact "
        f"({limits.peaks} independent peaks)."
    )
    if limits.extrapolated:
        yield "That is rarer than these logs can show: thresholds are extrapolated; --calibrate takes more motion without contact."


def event_document(event: ContactEvent, names: tuple[str, ...]) -> dict[str, Any]:
    return {"time": event.time, "end": event.end, "joint": names[event.joint], "torque": event.torque, "ratio": event.ratio}


def live(result: Result, monitor: ContactMonitor, as_json: bool) -> Answer:
    """Events of lines from stdin as they begin."""
    from inertica.workflow.observe.events import Alarms

    stream, alarms, names = (
        monitor.observer.stream(),
        Alarms(monitor.observer, monitor.thresholds),
        result.description.robot.joint_names,
    )
    if as_json:
        sys.stdout.write(json.dumps(plain({"event": "thresholds"} | head(result, monitor)), allow_nan=False) + "\n")
    begun = None
    for block in blocks(sys.stdin, monitor.observer.n, together=1):
        for event in alarms(stream(block)):
            if event.time != begun:
                begun = event.time
                line = {"event": "contact"} | event_document(event, names)
                text = f"{event.time:10.3f} s  contact: {number(event.torque)} at joint {event.joint + 1} {names[event.joint]}"
                sys.stdout.write((json.dumps(plain(line), allow_nan=False) if as_json else text) + "\n")
                sys.stdout.flush()
    return Answer({}, lambda: (), written=True)


def _force(
    result: Result, monitor: ContactMonitor, observed: Observed, event: ContactEvent, point: ContactPoint | None
) -> dict[str, Any]:
    """Force at the sample of an event at which its joint is furthest beyond its threshold."""
    from inertica.workflow.observe.contact_force import contact_force

    assert point is not None
    k = int(np.flatnonzero((observed.t >= event.time) & (observed.torque[:, event.joint] == event.torque))[0])
    at = slice(k, k + 1)
    force, std = contact_force(result.description.robot, point, observed.q[at], observed.torque[at], monitor.thresholds.rms)
    known = np.isfinite(force[0])
    return {
        "time": float(observed.t[k]),
        "values": {name: float(x) if ok else None for name, x, ok in zip(point.names, force[0], known, strict=True)},
        "std": {name: float(x) if ok else None for name, x, ok in zip(point.names, std[0], known, strict=True)},
    }


def write_csv(path: Path, result: Result, monitor: ContactMonitor, observed: Observed, point: ContactPoint | None) -> None:
    """External torques and thresholds at every sample, and the force where a point is stated."""
    from inertica.workflow.observe.contact_force import contact_force

    n = monitor.observer.n
    header = ["t", *(f"external{j + 1}" for j in range(n)), *(f"threshold{j + 1}" for j in range(n))]
    columns = [observed.t, observed.torque, monitor.thresholds.torque + observed.hidden]
    if point is not None:
        header += point.names
        columns.append(contact_force(result.description.robot, point, observed.q, observed.torque, monitor.thresholds.rms)[0])
    rows = np.column_stack(columns).tolist()
    write_whole(path, ",".join(header) + "\n" + "".join(",".join(map(repr, row)) + "\n" for row in rows))

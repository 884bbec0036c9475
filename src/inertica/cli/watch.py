"""Watches a robot while it moves: base parameters with their intervals as they become known, sample by sample and without
accelerations, and loads that the robot picks up or drops.

LOG is a recorded log, replayed as fast as it goes or at --speed times real time; - reads lines from stdin: first the names of the
columns, t, q1.., tau1.. (and dq1.. where velocities are measured) in SI units, then values.  Loads are looked for after the warm-up:
a share of the arm's mass on the last link, with at most one false alarm in --hours of motion on average.

The first periods of motion (8 of its own band) tell up to which frequency torque follows from the motion, by the rule of identify, and
nothing is shown before they are over; --cutoff states it instead.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from inertica.checks.seen import seen
from inertica.cli.console import Answer, grid, table, text_console
from inertica.cli.fitting import add_prior, numbers
from inertica.cli.reading import add_reading, loaded_robot, refuse_reading
from inertica.documents import plain
from inertica.errors import InputError
from inertica.estimators.recursive.change import HOURS, SHARE, LoadChange
from inertica.identifiability.labels import INTERVAL
from inertica.logs.lines import Block, blocks
from inertica.numbers import number
from inertica.robot.plain import assumed_friction
from inertica.workflow.identify.start_values import start_values
from inertica.workflow.watch import WARM_UP, Snapshot, WatchSettings, log_blocks, watched

if TYPE_CHECKING:
    from rich.console import RenderableType

EXAMPLES = """\
inertica watch tx40 log.csv.gz --speed 2
inertica watch card.yaml log.csv.gz --every 0.5 --json
robot-driver --csv | inertica watch card.yaml - --share 0.1 --cutoff 20
"""

KNOWN = 0.1
"""Relative standard deviation up to which a parameter counts as known in the line of a snapshot."""

AROUND = 8
"""Lines of a terminal that are not parameters."""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("robot", metavar="ROBOT", help="built-in name, DH YAML, URDF, MJCF, SDFormat or robot card")
    parser.add_argument("log", metavar="LOG", help="a log to replay; - for lines from stdin")
    parser.add_argument("--speed", type=float, metavar="X", help="times real time; as fast as it goes by default")
    parser.add_argument("--every", type=float, default=1.0, metavar="S", help="of the log between estimates (default 1 s)")
    parser.add_argument("--regressor", choices=("momentum", "power"), default="momentum", help="rows of the fit (momentum)")
    parser.add_argument("--forgetting", type=float, default=1.0, metavar="F", help="factor per row; 1 (default) forgets nothing")
    parser.add_argument(
        "--warm-up", type=float, metavar="S", help=f"of motion to learn from ({WARM_UP:g} periods of the motion's band)"
    )
    parser.add_argument("--share", type=float, default=SHARE, help=f"of the arm's mass that a load has ({SHARE:g})")
    parser.add_argument("--mass", type=float, metavar="KG", help="of the arm; that of the model by default")
    parser.add_argument("--hours", type=float, default=HOURS, help=f"of motion between false alarms, on average ({HOURS:g})")
    parser.add_argument(
        "--cutoff", type=float, metavar="HZ",
        help="up to which motion counts, as in identify's `fit up to`; by its rule, from the first periods of motion, by default",
    )  # fmt: skip
    parser.add_argument(
        "--delay", metavar="S[,S..]", type=numbers,
        help="of torque behind motion in s, one or one per joint; by default that of a torque held over a control period, where the "
        "model states the rate of its loop",
    )  # fmt: skip
    add_prior(parser)
    add_reading(parser)


def run(arguments: argparse.Namespace) -> Answer:
    for name in ("speed", "every", "warm_up", "share", "mass", "hours", "cutoff"):
        value = getattr(arguments, name)
        if value is not None and not 0.0 < value < np.inf:
            raise InputError(f"--{name.replace('_', '-')} should be greater than zero, not {value:g}")
    description, note = assumed_friction(loaded_robot(arguments)), ""
    if arguments.log == "-":
        refuse_reading(arguments)
        source: Iterable[Block] = blocks(sys.stdin, description.robot.n)
    else:
        log = seen(arguments.log, description)
        description, choices = start_values(description, [log], arguments.prior)
        source, note = log_blocks(log), "".join(c.sentence for c in choices)
    settings = WatchSettings(
        arguments.regressor, arguments.forgetting, arguments.warm_up, arguments.share, arguments.mass, arguments.hours,
        arguments.cutoff, arguments.delay,
    )  # fmt: skip
    events = watched(description, paced(source, arguments.speed), settings, arguments.every)
    view = LiveView(description.name, note)
    if arguments.json:
        view.write_json(events)
        return Answer({}, lambda: (), written=True)
    (view.show if sys.stdout.isatty() else view.write_lines)(events)
    return Answer({}, view.text)


def paced(source: Iterable[Block], speed: float | None) -> Iterator[Block]:
    """Blocks not before their time."""
    began, first = time.perf_counter(), None
    for block in source:
        first = block.t[0] if first is None else first
        if speed is not None:
            wait = (block.t[-1] - first) / speed - (time.perf_counter() - began)
            time.sleep(max(0.0, float(wait)))
        yield block


class LiveView:
    """What a watch finds, written as it comes.

    Args:
        robot: its name.
        said: of where the values come from that hold until data say more.
    """

    def __init__(self, robot: str, note: str = "") -> None:
        self.robot, self.note = robot, note
        self.changes: list[LoadChange] = []
        self.last: Snapshot | None = None

    def write_json(self, events: Iterable[Snapshot | LoadChange]) -> None:
        if self.note:
            sys.stdout.write(json.dumps({"event": "prior", "text": self.note}, ensure_ascii=False) + "\n")
        for event in events:
            line = document(event)
            sys.stdout.write(json.dumps(plain(line), ensure_ascii=False, allow_nan=False) + "\n")
            sys.stdout.flush()

    def write_lines(self, events: Iterable[Snapshot | LoadChange]) -> None:
        console = text_console()
        for event in self._kept(events):
            console.print(sentence(event))

    def show(self, events: Iterable[Snapshot | LoadChange]) -> None:
        from rich.live import Live

        console = text_console()
        with Live(console=console, refresh_per_second=8, transient=True) as live:
            for event in self._kept(events):
                if isinstance(event, LoadChange):
                    live.console.print(sentence(event))
                else:
                    live.update(self._table(event, max(3, console.height - AROUND)))

    def text(self) -> Iterator[RenderableType]:
        """What is known at the end."""
        if self.last is None:
            return
        columns = ("base", "value", "± 95 %", "std (%)")
        yield ""
        yield table(f"{self.robot}: {sentence(self.last)}", columns, _rows(self.last), right=columns[1:])
        for change in self.changes:
            yield sentence(change)
        yield f"Motion counts up to {self.last.cutoff:g} Hz."
        if self.note:
            yield self.note

    def _kept(self, events: Iterable[Snapshot | LoadChange]) -> Iterator[Snapshot | LoadChange]:
        for event in events:
            if isinstance(event, LoadChange):
                self.changes.append(event)
            else:
                self.last = event
            yield event

    def _table(self, snapshot: Snapshot, lines: int) -> RenderableType:
        from rich.console import Group
        from rich.text import Text

        columns, rows = ("base", "value", "± 95 %", "std (%)"), _rows(snapshot)
        more = [Text(f"and {len(rows) - lines} more", "dim")] if len(rows) > lines else []
        loads = [Text(sentence(change)) for change in self.changes[-2:]]
        title = Text(f"{self.robot}: {sentence(snapshot)}", "bold")
        return Group(title, grid(columns, rows[:lines], right=columns[1:]), *more, *loads)


def sentence(event: Snapshot | LoadChange) -> str:
    """An event as a line."""
    if isinstance(event, LoadChange):
        return f"{event.time:8.2f} s  load {event.kind}: about {abs(event.mass):.2g} kg, since {event.since:.2f} s"
    e = event.estimate
    share = relative(event)
    known = int(np.count_nonzero(share <= KNOWN))
    middle = f", median std {100.0 * float(np.median(share)):.3g} %" if e.complete else ""
    watching = "watching for loads" if event.watching else "learning"
    return f"{event.time:8.2f} s  {known} of {len(share)} parameters known to {100 * KNOWN:g} %{middle}; {watching}"


def relative(snapshot: Snapshot) -> np.ndarray:
    """(b,) standard deviations over values; infinite where nothing is known."""
    e = snapshot.estimate
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.isfinite(e.std) & (e.beta != 0.0), e.std / np.abs(e.beta), np.inf)


def document(event: Snapshot | LoadChange) -> dict[str, object]:
    """An event as a line of JSON."""
    if isinstance(event, LoadChange):
        return {"event": "change", "t": event.time, "since": event.since, "kind": event.kind, "mass": event.mass}
    e = event.estimate
    values = {name: {"value": v, "std": s} for name, v, s in zip(event.names, e.beta, e.std, strict=True)}
    head = {"event": "estimate", "t": event.time, "motion": event.motion, "complete": e.complete, "watching": event.watching}
    return {**head, "cutoff": event.cutoff, "sigma": e.sigma, "parameters": values}


def _rows(snapshot: Snapshot) -> list[list[str]]:
    e = snapshot.estimate
    shown = zip(snapshot.names, e.beta, e.std, relative(snapshot), strict=True)
    return [[name, number(v), number(INTERVAL * s, 3), number(100.0 * r, 3)] for name, v, s, r in shown]

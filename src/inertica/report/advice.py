"""A result in three sentences: how good it is, what of it to trust, and what to do next, with the command that does it."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from inertica.identifiability.labels import COMBINED, DETERMINED, UNIDENTIFIABLE, WEAK
from inertica.numbers import number
from inertica.report.verdict_words import verdict_words
from inertica.workflow.identify.inputs import IDENTIFICATION
from inertica.workflow.identify.result import Result
from inertica.workflow.identify.verdict import verdict

SLOW = 0.7
"""Share of its velocity limit below which a joint could be moved faster."""

MOST_NAMES = 6
"""Names that a sentence lists before it counts the others."""

NEXT_MOTION = "next.yaml"


@dataclass(frozen=True)
class Advice:
    """What a reader should know first.

    Args:
        level: good, doubtful or bad.
        first_line: what the model that came in leaves of the torque, and what the identified one does.
        headline: a few words.
        quality: how good, in one sentence.
        trust: what to trust, in one sentence.
        next: what to do, in one sentence.
        command: the command line that designs the motion which the sentence asks for.
        more: what else the verdict says.
        card: lines of a robot card that would help.
    """

    level: str
    first_line: str
    headline: str
    quality: str
    trust: str
    next: str
    command: str
    more: str = ""
    card: tuple[str, ...] = ()


def advice(result: Result, positions: bool = True) -> Advice:
    """The three sentences.

    Args:
        result: with its labels, residuals and speeds.
        positions: whether the logs of the identification hold positions, so that a new motion can be designed to complete them.
    """
    judged = verdict(result)
    words = verdict_words(result, judged)
    then = words.next.rstrip(".")
    sentence = f"{then[:1].upper()}{then[1:]}; {_motion(result)}."
    command, more = excite_command(result, positions), " ".join(words.details)
    return Advice(
        judged.level, words.first_line, words.headline, words.quality, _trust(result), sentence, command, more, words.card
    )  # fmt: skip


def excite_command(result: Result, positions: bool = True) -> str:
    """`inertica excite` for this robot, completing what its logs tell already; empty for a base that floats."""
    if result.description.robot.floating:
        return ""
    source = result.description.source
    built_in = source.card is None and source.path.resolve().parent == Path(str(files("inertica.robot").joinpath("catalog")))
    robot = source.path.stem if built_in else str(source.card or source.path)
    words = ["inertica", "excite", robot, "-o", NEXT_MOTION]
    for log in result.logs[IDENTIFICATION] if positions and result.logs else ():
        if Path(log).exists() or Path(log.rpartition("@")[0]).is_file():  # a log in memory has no name that a command could read
            words += ["--given", log]
    return shlex.join(words)


def needy_joint(result: Result) -> int | None:
    """0-based joint with most values that the data tell weakly, of several the one that moved slowest; None without any."""
    counts = [len(_weak(result, j)) for j in range(result.description.robot.driven)]
    most = max(counts, default=0)
    if not most:
        return None
    return min((j for j, count in enumerate(counts) if count == most), key=lambda j: _used(result, j))


def _trust(result: Result) -> str:
    by = {word: [name for name, label in result.labels.items() if label == word] for word in set(result.labels.values())}
    known = by.get(DETERMINED, [])
    sentence = f"Trust {len(known)} of {len(result.labels)} values by themselves" if known else "Trust no value by itself"
    sentence += f" ({_listed(known)})" if known else ""
    if weak := by.get(WEAK):
        sentence += f", {len(weak)} with caution"
    if combined := by.get(COMBINED):
        sentence += f", {len(combined)} in sums with others only"
    if hidden := by.get(UNIDENTIFIABLE):
        sentence += f", and {len(hidden)} not at all, since no torque shows them"
    return f"{sentence}."


def _motion(result: Result) -> str:
    joint = needy_joint(result)
    floating = result.description.robot.floating  # which no motion can be designed for
    if joint is None:
        return (
            "record another motion to check it with" if floating else "the command below designs another motion to check it with"
        )
    design = "record one in which it moves more" if floating else "the command below designs one"
    weak, name = _listed(_weak(result, joint)), f"joint {joint + 1}"
    share, speed = _used(result, joint), result.speeds[joint] if result.speeds else math.nan
    unit = result.description.robot.joints[joint].unit
    if not math.isfinite(speed):
        return f"{name} needs more motion, since {weak} are known weakly: {design}"
    if not math.isfinite(share):
        return f"{name}, which reached {number(speed, 2)} {unit}/s, needs more motion for {weak}: {design}"
    if share < SLOW:
        reached = f"it reached {100 * share:.0f} % of its {number(result.description.robot.limits.velocity[joint], 3)} {unit}/s"
        return f"{name} needs faster motion ({reached}) for {weak}: {design}"
    fast = f"it is fast enough at {100 * share:.0f} % of its limit"
    return f"{name} needs another motion for {weak} ({fast}): {design}"


def _weak(result: Result, joint: int) -> list[str]:
    return [p.name for p in result.parameters.layout.parameters if p.joint == joint and result.labels[p.name] == WEAK]


def _used(result: Result, joint: int) -> float:
    """Share of the velocity limit that a joint reached; infinite where one of them is not known."""
    limit = result.description.robot.limits.velocity[joint]
    return result.speeds[joint] / limit if result.speeds and math.isfinite(limit) and limit > 0.0 else math.inf


def _listed(names: Sequence[str]) -> str:
    if len(names) <= MOST_NAMES:
        return ", ".join(names[:-1]) + (f" and {names[-1]}" if len(names) > 1 else "".join(names))
    return f"{', '.join(names[:MOST_NAMES])} and {len(names) - MOST_NAMES} more"

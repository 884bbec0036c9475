"""Says which method suits a situation, and why: the survey's decision diagram, with what campaigns measured.

With a card and a log the situation is read off them; what they do not say can be stated.  In a terminal, without any of it, it asks.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from inertica.cli.console import Answer
from inertica.errors import InputError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from inertica.campaign.advice import Advice, Situation

EXAMPLES = """\
inertica advise card.yaml run1.csv.gz
inertica advise --loop unknown --rate 1000
inertica advise --online
"""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("robot", metavar="ROBOT", nargs="?", help="built-in name, model file or card")
    parser.add_argument("log", metavar="LOG", nargs="?", help="a recorded log of it")
    parser.add_argument("--online", action="store_true", help="parameters are wanted while the robot moves")
    parser.add_argument("--loop", metavar="WHAT", help="known, structure (gains unknown) or unknown; as the card says by default")
    parser.add_argument("--rate", type=float, metavar="HZ", help="of the samples")
    parser.add_argument("--noise", type=float, metavar="RAD", help="standard deviation of the positions")
    parser.add_argument("--any-parameters", action="store_true", help="links need not be such that they could exist")


def run(arguments: argparse.Namespace) -> Answer:
    from dataclasses import asdict

    from inertica.campaign.advice import advise

    situation = _situation(arguments)
    advice = advise(situation)
    return Answer({"situation": asdict(situation), **asdict(advice)}, lambda: _text(situation, advice))


def _situation(arguments: argparse.Namespace) -> Situation:
    from inertica.campaign.advice import Situation

    stated = {name: getattr(arguments, name) for name in ("loop", "rate", "noise") if getattr(arguments, name) is not None}
    physical = not arguments.any_parameters
    if arguments.robot is None:
        nothing = not (stated or arguments.online)
        if nothing and sys.stdin.isatty() and sys.stderr.isatty():
            return _asked()
        if nothing:
            raise InputError("inertica advise needs a robot, or what is known: --loop, --rate, --noise, --online")
        return Situation(online=arguments.online, physical=physical, **stated)
    from dataclasses import replace

    from inertica.logs.read import read_log
    from inertica.robot.load import load

    description = load(arguments.robot)
    log = None if arguments.log is None else read_log(arguments.log, description)
    return replace(Situation.of(description, log, online=arguments.online, physical=physical), **stated)


def _asked() -> Situation:
    from inertica.campaign.advice import LOOPS, Situation

    online = _answer("are parameters wanted while the robot moves?", ("no", "yes")) == "yes"
    loop = "unknown" if online else _answer("how well is the control loop known?", LOOPS)
    rate = _answer("samples per second, or unknown?")
    physical = online or _answer("must the links be such that they could exist?", ("yes", "no")) == "yes"
    return Situation(online, loop, _rate(rate), None, physical)  # type: ignore[arg-type]


def _answer(question: str, words: tuple[str, ...] = ()) -> str:
    print(f"{question} {f'[{chr(47).join(words)}] ' if words else ''}", end="", file=sys.stderr, flush=True)
    reply = sys.stdin.readline().strip() or (words[0] if words else "unknown")
    if words and reply not in words:
        raise InputError(f"'{reply}' is no answer; there are {', '.join(words)}")
    return reply


def _rate(word: str) -> float | None:
    if word == "unknown":
        return None
    try:
        return float(word)
    except ValueError:
        raise InputError(f"'{word}' is no number of samples per second") from None


def _text(situation: Situation, advice: Advice) -> Iterator[RenderableType]:
    yield f"method: {advice.methods[0]}" + (f" (then {', '.join(advice.methods[1:])})" if advice.methods[1:] else "")
    for title, sentences in (("data", advice.preparation), ("why", advice.reasons), ("measured", advice.evidence)):
        if sentences:
            yield f"{title}:"
            yield from (f"  {sentence}" for sentence in sentences)

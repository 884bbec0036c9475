"""`inertica COMMAND ...`: finds the command, runs it, and turns errors into one sentence and an exit code.

A command is a file of this folder with the name of the command (`-` as `_`) and one line in COMMANDS.  The file has EXAMPLES, the
functions `add(parser)` and `run(arguments) -> Answer`, and is imported only when it is called.  Its docstring is its help text.
"""

from __future__ import annotations

import argparse
import importlib
import os
import shlex
import shutil
import sys
import textwrap
import traceback
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

from inertica import __version__
from inertica.cli.console import collected_warnings, complain, write
from inertica.cli.expand import add_xacro, expand
from inertica.cli.progress import LOUDNESS
from inertica.errors import InerticaError, InputError, NoMemoryError, nearest

COMMANDS = {
    "actuators": "armature, friction, delay and gains of every joint from commands and positions, without torque",
    "advise": "which method suits the situation, and why",
    "benchmark": "programs side by side on recorded logs of real robots, as a leaderboard",
    "campaign": "a Monte Carlo study, resumable, on all cores or a Dask cluster",
    "check": "quality of logs and what they can determine, before any fit",
    "check-model": "whether the links and drives of a model can be real",
    "compare": "several methods side by side on the same logs",
    "completion": "a script that completes commands, options and their values in a shell",
    "demo": "a closed-loop simulation of a built-in robot; no input needed",
    "drive-gains": "torque per unit of current of every drive, from a load of known mass",
    "doctor": "what this installation has, whether it computes rightly, and how fast",
    "dynamics": "inertia matrix, Coriolis matrix, gravity and friction of a model at one state",
    "excite": "an optimal exciting trajectory inside the robot's limits",
    "export": "a saved result written into a copy of its model file",
    "figure": "one figure of a saved result for a paper, as a vector drawing",
    "fleet": "results of several robots of one type in one table, with what differs from robot to robot",
    "fit-loop": "law, gains, bandwidth and damping of the control loop from a log",
    "friction": "bristle friction with memory (LuGre) of every joint, with the links",
    "grade": "how a model file stands: possible links, plausible masses, drives, friction, torque of a log",
    "identify": "dynamic parameters of a robot from recorded motion",
    "import-cad": "masses and inertias of a CAD export in the link frames of a model",
    "loads": "robot, several loads and drive gains in one fit of logs that say what they carry",
    "observe": "external torques and contacts of a robot that a result knows, from a log or as samples come",
    "payload": "mass, centre and inertia of a load, from records without and with it",
    "predict": "torques of a saved result on another log, with residuals",
    "reduce": "base parameters that a motion determines, chosen by singular values, and their estimate",
    "repair": "the nearest physically consistent model, written into a copy of the file",
    "report": "the report of a saved result, or of several with their differences tested",
    "reproduce": "a published study beside its printed numbers",
    "robots": "the built-in robots",
    "simulate": "a closed-loop noisy experiment along a trajectory",
    "studio": "the whole workflow in a browser, with the robot in three dimensions",
    "truth": "a saved result held against known values",
    "watch": "parameters converging, and loads picked up or dropped, while samples come",
    "show": "geometry, limits, base parameters and identifiability of a robot",
}

SUCCESS, FAILURE, BAD_INPUT, INTERRUPTED, PIPE_CLOSED = 0, 1, 2, 130, 141
"""Exit codes; the last two are what a shell reports for a process ended by Ctrl-C or by a reader that went away."""

_ABOUT = "Dynamic parameters of robots, from motion, with a word on which of them to trust."
_CODES = "exit codes: 0 success, 2 bad input, 1 other failure"


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are `InputError`s and name the nearest option."""

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message}; see {self.prog} --help")

    def checked(self, words: Sequence[str]) -> argparse.Namespace:
        """Like `parse_args`; unknown options are reported before missing arguments, since a typo causes both."""
        for word in words[: words.index("--")] if "--" in words else words:
            option = word.split("=", 1)[0]
            if option.startswith("--") and option not in self._option_string_actions:
                raise InputError(f"{self.prog} has no option '{option}'; {nearest(option, self._option_string_actions)}")
        arguments, rest = self.parse_known_args(words)
        if rest:
            self.error(f"unexpected argument '{rest[0]}'")
        return arguments


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command line and returns its exit code."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError):  # a stream that a caller replaced
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    words = list(sys.argv[1:] if argv is None else argv)
    as_json = "--json" in (words[: words.index("--")] if "--" in words else words)  # also where the command line is at fault
    try:
        code = _dispatch(words)
        sys.stdout.flush()
    except SystemExit as stop:  # argparse after --help and --version
        return stop.code if isinstance(stop.code, int) else SUCCESS
    except InerticaError as error:
        _complain(error, as_json)
        return BAD_INPUT if isinstance(error, InputError) else FAILURE
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _discard_output()
        return PIPE_CLOSED
    except MemoryError as error:
        if "--verbose" in words:
            traceback.print_exc()
        _complain(NoMemoryError(error), as_json)
        return FAILURE
    except Exception as error:  # a fault of ours: told in full
        if not as_json:
            raise
        traceback.print_exc()
        _complain(error, as_json)
        return FAILURE
    return code


def _complain(error: Exception, as_json: bool) -> None:
    try:
        complain(error, as_json)
    except OSError:  # stdout itself may be what failed
        _discard_output()


def _dispatch(words: list[str]) -> int:
    if not words:
        _top_parser().print_help()
        return SUCCESS
    name = words[0]
    if name.startswith("-"):
        return _top_option(words)
    if name not in COMMANDS:
        raise InputError(f"there is no command '{name}'; {nearest(name, COMMANDS)}")
    module = importlib.import_module(f"inertica.cli.{name.replace('-', '_')}")
    arguments = command_parser(name).checked(words[1:])
    arguments.typed = shlex.join(["inertica", *words])
    expand(arguments)
    loudness = LOUDNESS.set("verbose" if arguments.verbose else "quiet" if arguments.quiet else "normal")
    try:
        with collected_warnings() as warnings:
            answer = module.run(arguments)
            write(answer, warnings, as_json=arguments.json)
    except InerticaError:
        if arguments.verbose:
            traceback.print_exc()
        raise
    finally:
        LOUDNESS.reset(loudness)
    return int(answer.code)


def command_parser(name: str) -> Parser:
    """The parser of a command, with the options that all have."""
    module = importlib.import_module(f"inertica.cli.{name.replace('-', '_')}")
    parser = Parser(
        prog=f"inertica {name}",
        description=_wrapped(module.__doc__ or ""),
        epilog=f"{_titled(module.EXAMPLES)}\n\n{_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    module.add(parser)
    add_xacro(parser)
    parser.add_argument("--json", action="store_true", help="write one JSON document instead of text, also of an error")
    loudness = parser.add_mutually_exclusive_group()
    loudness.add_argument("--quiet", action="store_true", help="say nothing but errors; --json still writes its document")
    loudness.add_argument("--verbose", action="store_true", help="every step with its time on stderr; the traceback of an error")
    return parser


def _top_option(words: list[str]) -> int:
    """`inertica --help` and `inertica --version`; anything else belongs behind a command."""
    parser = _top_parser()
    option = words[0].split("=", 1)[0]
    if option not in parser._option_string_actions:
        raise InputError(
            f"inertica has no option '{option}' before the command; {nearest(option, parser._option_string_actions)}"
        )
    parser.parse_args(words[:1])
    return SUCCESS


def _top_parser() -> Parser:
    width = max(map(len, COMMANDS)) + 2
    commands = "\n".join(f"  {name:<{width}}{summary}" for name, summary in COMMANDS.items())
    examples = _titled("inertica demo\ninertica robots\ninertica show arm.urdf --friction viscous,coulomb,offset")
    parser = Parser(
        prog="inertica",
        usage="inertica COMMAND [options]",
        description=f"{_ABOUT}\n\ncommands:\n{commands}",
        epilog=f"{examples}\n\ninertica COMMAND --help tells more.  {_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"inertica {__version__}")
    return parser


def _wrapped(text: str) -> str:
    """A docstring as help text: its paragraphs, each filled to a width that terminals have."""
    return "\n\n".join(textwrap.fill(" ".join(part.split()), _columns() - 4) for part in text.strip().split("\n\n"))


def _columns() -> int:
    """Width of help texts: the terminal's, up to 100."""
    return min(shutil.get_terminal_size((100, 24)).columns, 100)


def _titled(examples: str) -> str:
    return "examples:\n" + "\n".join(f"  {line}" for line in examples.strip().splitlines())


def _discard_output() -> None:
    """Lets the interpreter's own flush at exit succeed after the reader of a pipe went away."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())

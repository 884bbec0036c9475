"""Prints a script that lets a shell complete commands, options, and the values of options that have some to choose from.  It is made
from the parsers of the commands themselves: print it again after an update.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from inertica.cli.console import Answer

EXAMPLES = """\
inertica completion bash > ~/.local/share/bash-completion/completions/inertica
inertica completion zsh > ~/.zfunc/_inertica
inertica completion fish > ~/.config/fish/completions/inertica.fish
"""


@dataclass(frozen=True)
class Option:
    """What can be typed: its spellings, help in one line, values to choose from, and whether a value follows."""

    names: tuple[str, ...]
    about: str
    values: tuple[str, ...]
    takes_value: bool


@dataclass(frozen=True)
class Command:
    """A command: help in one line, options, and words that may stand without an option (file names may, too)."""

    name: str
    about: str
    options: tuple[Option, ...]
    words: tuple[str, ...]


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", metavar="SHELL", choices=tuple(SHELLS), help=f"one of {', '.join(SHELLS)}")


def run(arguments: argparse.Namespace) -> Answer:
    script = SHELLS[arguments.shell](list(commands()))

    def written() -> Iterator[str]:  # as it is: a console would wrap long lines
        sys.stdout.write(script)
        return iter(())

    return Answer({"shell": arguments.shell, "script": script}, written)


def commands() -> Iterator[Command]:
    """All commands with what their parsers know."""
    from inertica.cli.main import COMMANDS, command_parser

    for name, about in COMMANDS.items():
        parser = command_parser(name)
        actions = [action for action in parser._actions if action.help != argparse.SUPPRESS]
        formatter = parser._get_formatter()
        named = tuple(
            Option(tuple(a.option_strings), " ".join(formatter._expand_help(a).split()), _values(a), a.nargs != 0)
            for a in actions
            if a.option_strings
        )
        words = [word for action in actions if not action.option_strings for word in _values(action)]
        yield Command(name, about, named, tuple(words))


def _values(action: argparse.Action) -> tuple[str, ...]:
    """Choices that the parser has, or those of arguments that take more than a list could say."""
    if action.choices is not None:
        return tuple(str(choice) for choice in action.choices)
    made = _OPEN.get(action.dest)
    return made() if made else ()


def _robots() -> tuple[str, ...]:
    from inertica.robot.files import catalog

    return tuple(catalog())


def _methods() -> tuple[str, ...]:
    from inertica.estimators.registry import METHODS

    return tuple(METHODS)


def _specs() -> tuple[str, ...]:
    from inertica.campaign.specfile import shipped
    from inertica.cli.campaign import ACTIONS

    return (*ACTIONS[1:], *shipped())


_OPEN: dict[str, Callable[[], tuple[str, ...]]] = {
    "robot": _robots, "method": lambda: ("auto", *_methods()), "methods": _methods, "what": _specs,
}  # fmt: skip
"""Arguments that also take file names, priors behind a plus, or lists."""


def bash(found: list[Command]) -> str:
    """For bash, without the package bash-completion."""
    cases = []
    for command in found:
        names = " ".join(name for option in command.options for name in option.names)
        words = shlex.quote(" ".join(command.words))
        lines = [f"{command.name})", f"  options={shlex.quote(names)}; words={words}", '  case "$before" in']
        for option in command.options:
            if option.takes_value:
                values = shlex.quote(" ".join(option.values))
                lines.append(f"    {'|'.join(option.names)}) words={values}; options= ;;")
        cases += [*lines, "  esac ;;"]
    body = "\n".join(f"    {line}" for line in cases)
    return f"""\
# bash completion of inertica; written by `inertica completion bash`
_inertica() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" options= words=
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W {shlex.quote(" ".join([c.name for c in found] + ["--help", "--version"]))} -- "$word"))
    return
  fi
  case "${{COMP_WORDS[1]}}" in
{body}
  esac
  case "$word" in
    -*) COMPREPLY=($(compgen -W "$options" -- "$word")) ;;
    *) COMPREPLY=($(compgen -W "$words" -- "$word") $(compgen -f -- "$word")) ;;
  esac
}}
complete -o filenames -F _inertica inertica
"""


def zsh(found: list[Command]) -> str:
    """For zsh, with what commands and options do beside them."""

    def described(name: str, about: str) -> str:
        return shlex.quote(f"{name.replace(':', chr(92) + ':')}:{about}")

    cases = []
    for command in found:
        options = " ".join(described(name, option.about) for option in command.options for name in option.names)
        lines = [f"{command.name})", f"  options=({options})", f"  words_here=({' '.join(map(shlex.quote, command.words))})"]
        lines.append('  case "$before" in')
        for option in command.options:
            if option.takes_value:
                values = " ".join(map(shlex.quote, option.values))
                lines.append(f"    {'|'.join(option.names)}) words_here=({values}); options=() ;;")
        cases += [*lines, "  esac ;;"]
    body = "\n".join(f"    {line}" for line in cases)
    return f"""\
#compdef inertica
# zsh completion of inertica; written by `inertica completion zsh`
_inertica() {{
  local before="${{words[CURRENT-1]}}"
  local -a commands options words_here
  if (( CURRENT == 2 )); then
    commands=({" ".join(described(c.name, c.about) for c in found)})
    _describe command commands
    return
  fi
  case "${{words[2]}}" in
{body}
  esac
  if [[ "${{words[CURRENT]}}" == -* ]]; then
    _describe option options
  else
    (( ${{#words_here}} )) && compadd -a words_here
    _files
  fi
}}
if [[ "${{funcstack[1]}}" == _inertica ]]; then _inertica "$@"; else compdef _inertica inertica; fi
"""


def fish(found: list[Command]) -> str:
    """For fish."""
    lines = ["# fish completion of inertica; written by `inertica completion fish`"]
    for command in found:
        lines.append(f"complete -c inertica -f -n __fish_use_subcommand -a {command.name} -d {_fish(command.about)}")
    for command in found:
        behind = f"complete -c inertica -n {_fish(f'__fish_seen_subcommand_from {command.name}')}"
        if command.words:
            lines.append(f"{behind} -a {_fish(' '.join(command.words))}")
        for option in command.options:
            spelled = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names)
            value = " -r" if option.takes_value else ""
            choose = f" -a {_fish(' '.join(option.values))}" if option.values else ""
            lines.append(f"{behind} {spelled}{value}{choose} -d {_fish(option.about)}")
    return "\n".join(lines) + "\n"


def _fish(text: str) -> str:
    """Quoted as fish quotes: inside single quotes a backslash keeps itself and a quote."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


SHELLS: dict[str, Callable[[list[Command]], str]] = {"bash": bash, "zsh": zsh, "fish": fish}

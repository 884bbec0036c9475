"""Prints a script that lets a shell complete commands, options, and the values of options that have some to choose from.  It is made
from the parsers of the commands themselves: print it again after an update.

bash looks into that folder with the package bash-completion; without it, source the file in ~/.bashrc.  zsh wants
`fpath+=(~/.zfunc); autoload -Uz compinit; compinit` in ~/.zshrc.  fish needs nothing.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import textwrap
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
    """What can be typed: its spellings, help in a few words, values to choose from, whether a value follows and may name a file."""

    names: tuple[str, ...]
    about: str
    values: tuple[str, ...]
    takes_value: bool
    files: bool


@dataclass(frozen=True)
class Command:
    """A command: help in one line, options, words that may stand without an option, and whether file names may, too."""

    name: str
    about: str
    options: tuple[Option, ...]
    words: tuple[str, ...]
    files: bool


ABOUT = 64
"""Characters of a description beside an option: shells show it on the same line, and lists of methods do not fit there."""
TOP = (("--help", "commands and examples"), ("--version", "which version this is"))
"""What may stand in place of a command."""


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
            Option(tuple(a.option_strings), _brief(formatter._expand_help(a)), _values(a), a.nargs != 0, a.choices is None)
            for a in actions
            if a.option_strings
        )
        bare = [action for action in actions if not action.option_strings]
        words = [word for action in bare for word in _values(action)]
        yield Command(name, about, named, tuple(words), any(action.choices is None for action in bare))


def _brief(text: str) -> str:
    return textwrap.shorten(text, ABOUT, placeholder=" ...")


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


def bash(parsed: list[Command]) -> str:
    """For bash, without the package bash-completion; also for the bash 3.2 of macOS."""
    cases = []
    for command in parsed:
        names = " ".join(name for option in command.options for name in option.names)
        words = shlex.quote(" ".join(command.words))
        lines = [f"{command.name})", f"  options={shlex.quote(names)}; words={words}; files={_yes(command.files)}"]
        lines.append('  case "$before" in')
        for option in command.options:
            if option.takes_value:
                values = shlex.quote(" ".join(option.values))
                lines.append(f"    {'|'.join(option.names)}) words={values}; options=; files={_yes(option.files)} ;;")
        cases += [*lines, "  esac ;;"]
    body = "\n".join(f"    {line}" for line in cases)
    top = shlex.quote(" ".join([*(c.name for c in parsed), *(name for name, _ in TOP)]))
    return f"""\
# bash completion of inertica; written by `inertica completion bash`
_inertica() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" options= words= files= name
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W {top} -- "$word"))
    return
  fi
  # bash takes --option=value for three words
  if [ "$word" = "=" ]; then word=; elif [ "$before" = "=" ]; then before="${{COMP_WORDS[COMP_CWORD-2]}}"; fi
  case "${{COMP_WORDS[1]}}" in
{body}
  esac
  case "$word" in
    -*) COMPREPLY=($(compgen -W "$options" -- "$word")) ;;
    *)
      COMPREPLY=($(compgen -W "$words" -- "$word"))
      if [ -n "$files" ]; then
        while IFS= read -r name; do COMPREPLY+=("$name"); done < <(compgen -f -- "$word")
      fi ;;
  esac
}}
complete -o filenames -F _inertica inertica
"""


def _yes(this: bool) -> str:
    return "yes" if this else ""


def zsh(parsed: list[Command]) -> str:
    """For zsh, with what commands and options do beside them."""

    def described(name: str, about: str) -> str:
        return shlex.quote(f"{name.replace(':', chr(92) + ':')}:{about}")

    cases = []
    for command in parsed:
        options = " ".join(described(name, option.about) for option in command.options for name in option.names)
        lines = [f"{command.name})", f"  options=({options})"]
        lines.append(f"  words_here=({' '.join(map(shlex.quote, command.words))}); files={_yes(command.files)}")
        lines.append('  case "$before" in')
        for option in command.options:
            if option.takes_value:
                values = " ".join(map(shlex.quote, option.values))
                lines.append(f"    {'|'.join(option.names)}) words_here=({values}); options=(); files={_yes(option.files)} ;;")
        cases += [*lines, "  esac ;;"]
    body = "\n".join(f"    {line}" for line in cases)
    top = " ".join(described(name, about) for name, about in (*((c.name, c.about) for c in parsed), *TOP))
    return f"""\
#compdef inertica
# zsh completion of inertica; written by `inertica completion zsh`
_inertica() {{
  local before="${{words[CURRENT-1]}}" files= found=1
  local -a commands options words_here
  if (( CURRENT == 2 )); then
    commands=({top})
    _describe command commands
    return
  fi
  # the value of --option=value is completed like that of --option value
  if compset -P 1 '--*='; then before="${{IPREFIX%=}}"; fi
  case "${{words[2]}}" in
{body}
  esac
  if [[ "$PREFIX" == -* ]]; then
    _describe -o option options
  else
    (( ${{#words_here}} )) && compadd -a words_here && found=0
    [[ -n "$files" ]] && _files && found=0
    return found
  fi
}}
if [[ "${{funcstack[1]}}" == _inertica ]]; then _inertica "$@"; else compdef _inertica inertica; fi
"""


def fish(parsed: list[Command]) -> str:
    """For fish."""
    lines = [
        "# fish completion of inertica; written by `inertica completion fish`",
        "function __inertica_is --description 'whether the command is this one: a file of its name later on does not count'",
        "    set -l typed (commandline -opc)",
        "    test (count $typed) -gt 1; and test $typed[2] = $argv[1]",
        "end",
        "complete -c inertica -f",
    ]
    first = "complete -c inertica -n 'test (count (commandline -opc)) -eq 1'"
    lines += [f"{first} -l {name[2:]} -d {_fish(about)}" for name, about in TOP]
    lines += [f"{first} -a {command.name} -d {_fish(command.about)}" for command in parsed]
    for command in parsed:
        behind = f"complete -c inertica -n '__inertica_is {command.name}'"
        if command.files:
            lines.append(f"{behind} -F")
        if command.words:
            lines.append(f"{behind} -a {_fish(' '.join(command.words))}")
        for option in command.options:
            spelled = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names)
            value = (" -r -F" if option.files else " -x") if option.takes_value else ""
            choose = f" -a {_fish(' '.join(option.values))}" if option.values else ""
            lines.append(f"{behind} {spelled}{value}{choose} -d {_fish(option.about)}")
    return "\n".join(lines) + "\n"


def _fish(text: str) -> str:
    """Quoted as fish quotes: inside single quotes a backslash keeps itself and a quote."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


SHELLS: dict[str, Callable[[list[Command]], str]] = {"bash": bash, "zsh": zsh, "fish": fish}

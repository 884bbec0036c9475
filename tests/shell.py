"""Command lines as people write them in documents: what is a command of inertica in them, and do its options exist."""

import re
import shlex

from inertica.cli.main import COMMANDS, command_parser


def commands(line: str) -> list[list[str]]:
    """Words of every command of inertica in a shell line: comments, redirections and other programs of a pipe are left out."""
    out: list[list[str]] = []
    line = re.sub(r"(^|\s)#.*", "", line)
    if not re.search(r"(^|\||;|\bdo)\s*inertica ", line):
        return out
    words = shlex.shlex(line, posix=True, punctuation_chars="|><&;")
    words.whitespace_split = True
    words.commenters = ""
    part: list[str] = []
    for word in [*words, ";"]:
        if set(word) <= set("|&;"):
            part = part[1:] if part[:1] == ["do"] else part
            if part[:1] == ["inertica"]:
                out.append(_without_redirection(part[1:]))
            part = []
        else:
            part.append(word)
    return out


def _without_redirection(words: list[str]) -> list[str]:
    ends = [k for k, word in enumerate(words) if set(word) <= set("<>")]
    return words[: ends[0]] if ends else words


def parsed(words: list[str]) -> None:
    """Raises what the command line would say of these words; files are not looked for."""
    assert words[0] in COMMANDS, f"there is no command '{words[0]}'"
    if "--help" not in words:
        command_parser(words[0]).checked(words[1:])


def mentioned_options(text: str) -> list[tuple[str, str]]:
    """(command, option) of every option in an inline code span that begins with a command, however sketchy its other words are."""
    found = []
    for span in re.findall(r"`inertica ([^`\n]+)`", text):
        name = span.split()[0]
        if name in COMMANDS:
            found += [(name, option) for option in re.findall(r"(?<![\w-])(--[a-z][\w-]*|-[a-z])\b", span)]
    return found

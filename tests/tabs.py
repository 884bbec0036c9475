"""Shells as people use them: lines typed into a pseudo-terminal, Tab pressed, and what the program then gets."""

from __future__ import annotations

import os
import pty
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PROGRAM = '#!/bin/sh\nprintf "%s\\n" "$@" >> "$HOME/typed"\necho end >> "$HOME/typed"\n'
"""In place of inertica: writes down its words."""

BASHRC = "PS1='ready> '; bind 'set bell-style none'; bind 'set enable-bracketed-paste off'; source ~/inertica.bash\n"
FISHRC = "function fish_prompt; echo -n 'ready> '; end; function fish_greeting; end; set -U fish_autosuggestion_enabled 0\n"
ZSHRC = r"""
PS1='ready> '; unsetopt beep prompt_cr prompt_sp
fpath+=(~/.zfunc); autoload -Uz compinit; compinit -u
compadd() {  # what would be shown is written down, too; calls that only ask what matches are not counted
  [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]] && { builtin compadd "$@"; return $? }
  typeset -a hits; builtin compadd -A hits "$@"; print -rl -- $hits >> ~/offered; builtin compadd "$@"
}
clear-line() { BUFFER=; print end >> ~/offered }
zle -N clear-line; bindkey '^X' clear-line
"""

START = {"bash": ["bash", "--noprofile", "--rcfile", ".bashrc", "-i"], "zsh": ["zsh", "-i"], "fish": ["fish", "-i"]}
SCRIPT = {"bash": "inertica.bash", "zsh": ".zfunc/_inertica", "fish": ".config/fish/completions/inertica.fish"}
"""Where the help of `inertica completion` says that scripts go."""
SET_UP = {"bash": (".bashrc", BASHRC), "zsh": (".zshrc", ZSHRC), "fish": (".config/fish/config.fish", FISHRC)}

ASK = {
    "bash": r"""
source "$1"; shift
for line; do
  line="${line//=/ = }"; COMP_WORDS=($line); [[ "$line" == *" " ]] && COMP_WORDS+=("")
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _inertica; printf '%s\n' "${COMPREPLY[@]}" end
done
""",
    "fish": "source $argv[1]; for line in $argv[2..-1]; complete -C $line; echo end; end",
}
"""What bash and fish would offer, without a terminal; zsh offers words only while a line is edited."""


@dataclass(frozen=True)
class Home:
    """A home folder in which the completion script of a shell is installed."""

    folder: Path
    shell: str

    @classmethod
    def made(cls, folder: Path, shell: str, script: str) -> Home:
        for name, text in ((SCRIPT[shell], script), SET_UP[shell], ("bin/inertica", PROGRAM)):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        (folder / "bin" / "inertica").chmod(0o755)
        return cls(folder, shell)

    @property
    def environment(self) -> dict[str, str]:
        path = f"{self.folder / 'bin'}:{os.environ.get('PATH', '')}"
        return {"HOME": str(self.folder), "PATH": path, "TERM": "xterm", "LANG": "C.UTF-8", "COLUMNS": "200", "LINES": "50"}

    def typed(self, lines: Sequence[str]) -> list[list[str]]:
        """What the program gets for each of the lines, in which a tab is the Tab key."""
        return self._noted("typed", lines, "\r")

    def offered(self, lines: Sequence[str]) -> list[set[str]]:
        """What the shell offers at the end of each line."""
        if self.shell == "zsh":
            return [set(words) for words in self._noted("offered", [f"{line}\t" for line in lines], "\x18")]
        call = [self.shell, "-c", ASK[self.shell], *([self.shell] if self.shell == "bash" else [])]
        done = subprocess.run(
            [*call, str(self.folder / SCRIPT[self.shell]), *lines],
            capture_output=True, text=True, check=True, cwd=self.folder, env=self.environment, timeout=60.0,
        )  # fmt: skip
        return [{offer.split("\t")[0] for offer in part.splitlines()} for part in done.stdout.split("end\n")[:-1]]

    def _noted(self, name: str, lines: Sequence[str], key: str) -> list[list[str]]:
        """Lines of a file up to each `end` in it, which comes when a key is pressed behind a typed line."""
        note = self.folder / name
        note.write_text("")
        with self._terminal() as terminal:
            for count, line in enumerate(lines, 1):
                os.write(terminal, (line + key).encode())  # a shell reads the key when it is done with Tab
                _until(terminal, lambda _, count=count: note.read_text().count("end\n") >= count)
        return [part.splitlines() for part in note.read_text().split("end\n")[:-1]]

    @contextmanager
    def _terminal(self) -> Iterator[int]:
        process, terminal = pty.fork()
        if process == 0:
            os.chdir(self.folder)
            os.execvpe(START[self.shell][0], START[self.shell], self.environment)
        try:
            _until(terminal, lambda said: "ready> " in said)
            yield terminal
        finally:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            os.close(terminal)


def missing(shell: str) -> str:
    """Why a shell cannot be tried here; empty when it can."""
    return "" if shutil.which(shell) else f"{shell} is not installed here"


def _until(terminal: int, enough: Callable[[str], bool]) -> None:
    said, end = "", time.monotonic() + 30.0
    while not enough(said):
        assert time.monotonic() < end, f"the shell did not answer; it showed {said!r}"
        if select.select([terminal], [], [], 0.05)[0]:
            said += os.read(terminal, 65536).decode(errors="replace")

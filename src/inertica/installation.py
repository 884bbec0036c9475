"""How this copy of inertica was installed, and the command that adds packages to the same environment."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from pathlib import Path

_EXTRA = re.compile(r"""extra\s*==\s*['"]([\w-]+)['"]""")


def install_command(extra: str) -> str:
    """The command that installs the packages of an extra where this program runs.

    In a clone (also one that is installed with `pip install -e`) it is the clone with the extra.  Elsewhere it names the packages,
    which is right whatever index, file or folder inertica came from.
    """
    clone = Path(__file__).resolve().parents[2]
    if (clone / "pyproject.toml").is_file():
        here = "." if clone == Path.cwd().resolve() else str(clone)
        return _pip("-e", f"{here}[{extra}]")
    return _pip(*(requirements(extra) or (f"inertica[{extra}]",)))


def requirements(extra: str) -> tuple[str, ...]:
    """Packages of an extra with their versions, as the installed package states them; empty where it is not installed."""
    from importlib import metadata

    try:
        stated = metadata.requires("inertica") or []
    except metadata.PackageNotFoundError:
        return ()
    parts = (line.partition(";") for line in stated)
    return tuple(re.sub(r"\s", "", package) for package, _, condition in parts if extra in _EXTRA.findall(condition))


def _pip(*words: str) -> str:
    """`pip` where the one on the path belongs to this interpreter, else the interpreter's own."""
    on_path = shutil.which("pip")
    mine = on_path is not None and Path(on_path).parent == Path(sys.executable).parent
    program = ["pip"] if mine else [sys.executable, "-m", "pip"]
    return " ".join([*map(shlex.quote, [*program, "install"]), *(_quoted(word) for word in words)])


def _quoted(word: str) -> str:
    """In double quotes, which every shell, that of Windows included, takes around brackets and `>`."""
    return f'"{word}"' if re.search(r"[\[\]<>=\s]", word) else word

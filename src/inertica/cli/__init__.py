"""The command line; one file per command."""

from __future__ import annotations

import _thread
import sys


def run() -> int:
    """The program `inertica`: also while it imports what it needs, Ctrl-C is an exit code and no traceback."""
    sys.unraisablehook = _interrupted_again
    try:
        from inertica.cli.main import main

        return main()
    except KeyboardInterrupt:
        return 130


def _interrupted_again(fault: sys.UnraisableHookArgs) -> None:
    """Python drops exceptions of callbacks (locks of imports, finalisers): a Ctrl-C that arrives in one is raised once more."""
    if issubclass(fault.exc_type, KeyboardInterrupt):
        _thread.interrupt_main()
    else:
        sys.__unraisablehook__(fault)

"""The command line; one file per command."""

from __future__ import annotations


def run() -> int:
    """The program `inertica`: also while it imports what it needs, Ctrl-C is an exit code and no traceback."""
    try:
        from inertica.cli.main import main

        return main()
    except KeyboardInterrupt:
        return 130

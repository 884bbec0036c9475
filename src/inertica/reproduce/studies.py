"""Studies by the names users type.  Adding one: its file with a function `reproduce(options)`, and one line here."""

from __future__ import annotations

from importlib import import_module

from inertica.errors import InputError, nearest
from inertica.reproduce.rows import Options, Reproduction

STUDIES = {
    "didim": "section VI of the DIDIM paper: good and regular start, 0.5 Hz sampling, no filtering, slower loops",
    "consistent": "the TX-40 of the consistent-parameters paper: both SVD solutions and their Cholesky test, simulated and real",
    "jaco2": "the comparison of five methods on the Jaco2 arm: cross-validation on five records, which constraints hold",
}

RECORDED = ("consistent",)
"""Studies that take a record of the real robot."""


def check(name: str) -> None:
    """Refuse a name that no study has."""
    if name not in STUDIES:
        raise InputError(f"there is no study '{name}'; {nearest(name, STUDIES)}")


def reproduce(name: str, options: Options | None = None) -> Reproduction:
    """Run a study."""
    check(name)
    if options is not None and options.record is not None and name not in RECORDED:
        raise InputError(f"the study '{name}' takes no record of a real robot; {', '.join(RECORDED)} does")
    study: Reproduction = import_module(f"inertica.reproduce.{name}").reproduce(options or Options())
    return study

"""Studies by the names users type.  Adding one: its file with a function `reproduce(options)`, and one line here."""

from __future__ import annotations

from importlib import import_module

from inertica.errors import InputError, nearest
from inertica.reproduce.rows import Options, Reproduction

STUDIES = {
    "didim": "section VI of the DIDIM paper: good and regular start, 0.5 Hz sampling, no filtering, slower loops",
    "consistent": "the TX-40 of the consistent-parameters paper: both SVD solutions and their Cholesky test, simulated and real",
    "jaco2": "the comparison of five methods on the Jaco2 arm: cross-validation on five records, which constraints hold",
    "frisch": "the planar arm of the Frisch paper: Tables 2 to 4 as they arose and with the right model, what the box really holds",
    "survey": "the Monte Carlo study of the survey: its conclusions, claim by claim, and section 9.5 on a record of a real TX40",
}

RECORDED = ("consistent", "jaco2", "frisch", "survey")
"""Studies that take records of the real robot, or the authors' data."""

QUICK = ("frisch", "survey")
"""Studies that have a short form."""

RUNS = {"frisch": 250, "survey": 52}
"""Experiments for statistics where it is not 20."""

QUICK_RUNS = {"survey": 2}
"""The same for short forms."""


def usual_runs(name: str, quick: bool = False) -> int:
    """Experiments of a study when nothing is said."""
    return QUICK_RUNS.get(name, 20) if quick else RUNS.get(name, 20)


def check(name: str) -> None:
    """Refuse a name that no study has."""
    if name not in STUDIES:
        raise InputError(f"there is no study '{name}'; {nearest(name, STUDIES)}")


def reproduce(name: str, options: Options | None = None) -> Reproduction:
    """Run a study.

    Examples:
        >>> study = ia.reproduce("consistent")  # doctest: +SKIP
    """
    check(name)
    options_used = options or Options(seeds=usual_runs(name))
    if options_used.record is not None and name not in RECORDED:
        raise InputError(f"the study '{name}' takes no record; {', '.join(RECORDED)} do")
    if options_used.quick and name not in QUICK:
        raise InputError(f"the study '{name}' has no short form; {', '.join(QUICK)} have, others take fewer --seeds")
    if options_used.coupling not in ("toolbox", "rotor") or (options_used.coupling == "rotor" and name != "consistent"):
        raise InputError("the coupling is toolbox or rotor, and the study 'consistent' alone has one")
    if options_used.divisor not in ("values", "samples") or (options_used.divisor == "samples" and name != "jaco2"):
        raise InputError("the divisor is values or samples, and the study 'jaco2' alone has one")
    study: Reproduction = import_module(f"inertica.reproduce.{name}").reproduce(options_used)
    return study

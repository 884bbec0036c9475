"""Parameters that no data touch: they stay at the prior, to the last digit, wherever that is possible.

A parameter is untouched when a change by its whole size moves the data by less than `SILENT` standard deviations of one row.  It is
held at its prior value unless a statement about it is broken there (a prior that is no possible body, a stated mass): then it
has to move, and a sentence says so.  Held values may also stand against the data through a body they share (the inertia about one
axis is known, those about the others are not): where that costs a significant residual, they are let go, and that is said, too.
"""

from __future__ import annotations

import numpy as np

from inertica.arrays import Array, Mask
from inertica.physical.cone import Program
from inertica.physical.fit import Fit

SILENT = 1e-6
"""Standard deviations of a row."""

CHANGED = 1e-6
"""Part of its size by which a parameter must move to be worth a word; bounds are kept with a margin below that."""

COSTLY = 3.84
"""Noise variances of independent rows by which the squares of the data may rise for held values: more is significant at 5 %."""


def untouched(program: Program, fit: Fit) -> Mask:
    """(P,) free parameters that the data do not depend on."""
    effect = np.linalg.norm(fit.A, axis=0) * program.reference.scale
    return np.asarray(program.reference.free & (effect <= SILENT * np.sqrt(fit.noise)))


def holdable(program: Program, silent: Mask) -> Mask:
    """(P,) those of the untouched that no statement, broken at the prior, asks to move."""
    out = np.array(silent)
    for block in program.broken_at_prior:
        out &= ~np.any(block.F != 0.0, axis=0)
    return out


def moved_sentence(program: Program, silent: Mask, chi: Array) -> tuple[str, ...]:
    """What has moved although no data depend on it, and why."""
    reference = program.reference
    changed = silent & (np.abs(chi - reference.values) > CHANGED * reference.scale)
    in_body, empty = np.zeros((2, len(chi)), bool)
    for _, where, _ in reference.bodies:
        in_body[where], empty[where] = True, not np.any(reference.values[where])
    changed &= in_body | (reference.values != 0.0)  # friction and drives of nothing keep the margin of their bound
    if not changed.any():
        return ()
    out = []
    for mask, why in (
        (changed & ~empty, "with the prior's values no possible link explains the data or keeps what is stated"),
        (changed & empty, "the prior says nothing about them, and a link must be a possible one"),
    ):
        names = [name for name, m in zip(reference.layout.names, mask, strict=True) if m]
        if names:
            text = ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
            out.append(f"no data depend on {text}, yet they differ from the prior: {why}")
    return tuple(out)

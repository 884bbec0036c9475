"""Friction of joints whose torque was not recorded: nothing is known against what the model states, so it stays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from inertica.logs.log import Log
from inertica.robot.description import Description
from inertica.robot.friction import friction_terms


def with_kept_friction(chosen: Description, stated: Description, logs: Sequence[Log]) -> Description:
    """The description with chosen friction on joints that have a torque in some log, and with the stated one on the others.

    Args:
        chosen: with the laws that the data ask for.
        stated: with the laws and values that the model came with.
        logs: that were fitted.
    """
    measured = np.any([np.isfinite(log.signals["tau"]).any(axis=0) for log in logs if "tau" in log.signals], axis=0)
    if np.all(measured):
        return chosen
    bare = set(np.flatnonzero(~np.asarray(measured)).tolist())
    dropped = {term for term in friction_terms(chosen.layout.terms) if term.at in bare}
    stated_terms = tuple(term for term in friction_terms(stated.layout.terms) if term.at in bare)
    others = tuple(term for term in chosen.layout.terms if term not in dropped)
    out = chosen.with_terms((*others, *stated_terms))
    values = {p.name: stated.prior[p.name] for p in out.layout.parameters if p.joint in bare and p.name in stated.layout.names}
    return replace(out, prior=out.prior.replaced(values))

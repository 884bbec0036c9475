"""Which model made a simulated log.  `simulate` writes it into the log, so that a fit does not start from the truth unnoticed."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace

import numpy as np

from inertica.logs.log import Log
from inertica.logs.readers.table import SIMULATED
from inertica.robot.description import Description


def fingerprint(description: Description) -> str:
    """Sixteen digits of a hash of the ten inertial parameters of every link."""
    links = np.array([description.prior.link(j) for j in range(description.robot.n)])
    return hashlib.sha256(links.astype("<f8").tobytes()).hexdigest()[:16]


def marked(log: Log, description: Description) -> Log:
    """The log with a note of the model that made it."""
    return replace(log, notes=(*log.notes, f"{SIMULATED} {description.name}, model {fingerprint(description)}"))


def made_with(log: Log, description: Description) -> bool:
    """Whether the log says that it was simulated with the links of this model."""
    matches = (re.search(r", model ([0-9a-f]{16})$", note) for note in log.notes if note.startswith(SIMULATED))
    return fingerprint(description) in [m.group(1) for m in matches if m]

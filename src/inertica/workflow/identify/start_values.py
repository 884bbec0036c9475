"""Values that a fit starts from and is pulled to: the model's, but not those of the model that made a simulated log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from inertica.logs.log import Log
from inertica.logs.simulated import made_with
from inertica.physical.distort import SHARE, distorted
from inertica.robot.description import Description
from inertica.workflow.identify.choice import Choice
from inertica.workflow.identify.reasons import Words

PRIOR = "prior"
"""Subject of the choice that says where starts and priors come from."""

TRUTH = "truth"
"""Value of that choice where they are the ones that a log was simulated with."""

SEED = 15
"""Of the draw, so that every fit of a simulated log starts from the same values."""


def start_values(
    description: Description, logs: Sequence[Log], prior: Literal["truth"] | None
) -> tuple[Description, tuple[Choice, ...]]:
    """The robot with the values to start from, and what is to be said of them where a log was simulated with this very model.

    Args:
        description: the robot as it was stated.
        logs: to be fitted.
        prior: `truth` to start from the model's values all the same.
    """
    if not any(made_with(log, description) for log in logs):
        return description, ()
    if prior == TRUTH:
        why = "starts and priors are the values that the log was simulated with"
        return description, (Choice(PRIOR, TRUTH, Words(why), False),)
    off = distorted(description.prior, np.random.default_rng(SEED))
    why = (
        f"the log was simulated with this model: starts and priors are drawn {100 * SHARE:g} % off its values (seed {SEED}); "
        "the option prior with `truth` takes the values themselves"
    )
    return description.with_prior(off), (Choice(PRIOR, f"{100 * SHARE:g} % off", Words(why)),)

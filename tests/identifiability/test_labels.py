"""Trust labels: narrow, not zero, and by the data alone."""

from dataclasses import dataclass

import numpy as np

from inertica.identifiability.base import base_model
from inertica.identifiability.labels import DETERMINED, FIXED, UNIDENTIFIABLE, WEAK, trust_labels, well_determined
from inertica.robot.load import load


@dataclass
class Case:
    """A SCARA arm's base parameters, all known to 1 %."""

    def __post_init__(self) -> None:
        description = load("scara4")
        self.base = base_model(description.layout)
        self.beta = self.base.beta(description.prior.values) + 0.5
        self.std = 0.01 * np.abs(self.beta)
        self.name = next(n for n, kind in self.base.classes().items() if kind == "alone")
        self.place = list(self.base.retained).index(description.layout.names.index(self.name))


def test_thirty_percent_is_the_limit() -> None:
    case = Case()
    for relative, label in ((0.29, DETERMINED), (0.31, WEAK), (np.inf, UNIDENTIFIABLE)):
        case.std[case.place] = relative / 1.96 * abs(case.beta[case.place])
        assert trust_labels(case.base, case.beta, case.std)[case.name] == label


def test_what_constraints_cut_off_determines_nothing() -> None:
    """The interval with constraints excludes zero, that of the data alone is wide."""
    case = Case()
    case.std[case.place] = abs(case.beta[case.place])
    k = case.base.layout.names.index(case.name)
    ends = np.column_stack([-np.ones(case.base.layout.size), np.ones(case.base.layout.size)])
    ends[k] = 0.4, 0.6
    assert trust_labels(case.base, case.beta, case.std, intervals=ends)[case.name] == WEAK
    ends[k] = 0.5, 0.5
    assert trust_labels(case.base, case.beta, case.std, intervals=ends)[case.name] == FIXED


def test_zero_is_not_known_however_many_try() -> None:
    """Values that are zero but for noise: none of ten thousand passes."""
    noise = np.random.default_rng(0).standard_normal(10_000)
    assert not well_determined(noise, np.ones(10_000)).any()
    assert well_determined(np.full(10_000, 10.0), np.ones(10_000)).all()
    assert not well_determined(np.zeros(3), np.zeros(3)).any()

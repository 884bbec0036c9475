"""Implausible masses are held near the model's where data do not decide them, and left where they do."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import inertica as ia
from inertica.guard import Comparison, ShortAndLong
from inertica.physical.geometry_prior import GEOMETRY_ORIGIN
from inertica.physical.plausible import MASS_FACTOR
from inertica.workflow.decisions.masses import SUBJECT, _speaks_against, implausible_links

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "data"


def test_links_beyond_the_factor_are_named_with_the_model_mass() -> None:
    prior = ia.load("tx40").prior
    masses = np.array([prior.link(j)[9] for j in range(6)])
    values = prior.values.copy()
    first = [prior.layout.link(j).start + 9 for j in range(6)]
    values[first[1]] = 1.01 * MASS_FACTOR * masses[1]
    values[first[3]] = masses[3] / MASS_FACTOR / 1.01
    values[first[4]] = 0.99 * MASS_FACTOR * masses[4]
    found = implausible_links(prior.with_values(values), prior)
    assert set(found) == {2, 4} and found[2] == pytest.approx(masses[1])
    assert implausible_links(prior.with_values(values), replace(prior, origin=GEOMETRY_ORIGIN)) == {}


@pytest.mark.parametrize(
    ("score", "t", "thirds_better", "against"),
    [
        (1.10, 5.0, False, True),
        (1.10, 5.0, True, False),  # thirds contradict
        (1.10, 1.0, False, False),  # may be chance
        (1.001, 5.0, False, False),  # beyond doubt, and next to nothing
        (0.99, -5.0, False, False),
    ],
)
def test_what_speaks_against_a_held_mass(score: float, t: float, thirds_better: bool, against: bool) -> None:
    long = Comparison(0.9 if thirds_better else 1.1, 1.0, 0.0, 3)
    assert _speaks_against(ShortAndLong(Comparison(score, 1.0, t, 10), long)) is against


def test_a_mass_that_the_card_states_counts_more_than_the_model(tmp_path: Path) -> None:
    """Link 2 is weighed at 6 kg, the model file says 1.5 kg: no refusal, and the stated mass."""
    for name in ("arm.urdf", "run1.csv.gz"):
        shutil.copy(EXAMPLES / name, tmp_path / name)
    card = tmp_path / "card.yaml"
    card.write_text("model: arm.urdf\nconstraints: {links: {2: {mass: [6, 7]}}}\n")
    result = ia.identify(str(card), [str(tmp_path / "run1.csv.gz")], quick=True)
    assert 6.0 - 1e-3 <= result.masses.links[1].mass <= 7.0 + 1e-3
    assert not any("within a factor" in c.value for c in result.choices if c.subject == SUBJECT)


@pytest.mark.slow
def test_a_real_arm_keeps_masses_near_its_model(real_data) -> None:
    """Its second slow motion had left link 6 at 5.6 times the model's mass, with residuals that know nothing of it."""
    log = f"{real_data / 'kuka_lwr4' / 'ident_slow_2.csv.gz'}@3:18.4"
    result = ia.identify(str(real_data / "kuka_lwr4" / "kuka_lwr4.urdf"), [log])
    (choice,) = [c for c in result.choices if c.subject == SUBJECT]
    assert "of the model's mass" in choice.value and choice.score is not None and choice.score_without is not None
    assert choice.score < 1.02 * choice.score_without
    assert all(1.0 / MASS_FACTOR <= link.ratio <= MASS_FACTOR for link in result.masses.links)

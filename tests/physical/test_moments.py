"""Bounded principal moments: whatever the coordinates are, bodies can exist and stay within their bounds."""

from __future__ import annotations

import numpy as np
import pytest

from inertica.errors import InputError
from inertica.physical.moments import UPPER, PrincipalMoments
from inertica.physical.pseudo import PSEUDO
from inertica.physical.scales import Reference
from inertica.robot.load import load


def coordinates() -> tuple[PrincipalMoments, np.ndarray]:
    description = load("tx40")
    assert description.prior is not None
    values = description.prior.values
    return PrincipalMoments(Reference.of(description.layout, values), margin=0.0), values


def test_parameters_come_back() -> None:
    chart, _ = coordinates()
    theta = np.random.default_rng(0).normal(size=chart.reference.layout.size)
    chi = chart.chi(theta)[0]
    again = chart.theta(chi)
    np.testing.assert_allclose(chart.chi(again)[0], chi, rtol=1e-8, atol=1e-12)
    for _, where, _ in chart.reference.bodies:  # of equivalent axes those nearest to the link's
        assert np.linalg.norm(again[where][3:6]) < 0.62


def test_derivative_and_traced_form() -> None:
    chart, _ = coordinates()
    theta = np.random.default_rng(1).normal(size=chart.reference.layout.size)
    chi, J = chart.chi(theta)
    numeric = np.array([(chart.chi(theta + e)[0] - chart.chi(theta - e)[0]) / 2e-6 for e in 1e-6 * np.eye(len(theta))]).T
    np.testing.assert_allclose(J, numeric, atol=1e-7 * np.abs(J).max())
    np.testing.assert_allclose(np.array(chart.scalars(theta), float), chi, rtol=1e-12, atol=1e-14)


def test_every_point_is_a_body_within_bounds() -> None:
    """Positive principal moments alone (survey, eq. 57) would let one moment exceed the sum of the others."""
    chart, _ = coordinates()
    rng = np.random.default_rng(2)
    for _ in range(20):
        chi = chart.chi(rng.normal(0.0, 3.0, chart.reference.layout.size))[0]
        for _, where, size in chart.reference.bodies:
            mass, first = chi[where][9], chi[where][6:9]
            J = np.tensordot(chi[where], PSEUDO, axes=1)
            assert 0.0 < mass < UPPER * size.mass
            spread = np.linalg.eigvalsh(J[:3, :3] - np.outer(first, first) / mass)
            assert spread[-1] < UPPER * size.mass * size.length**2 * (1.0 + 1e-9)
            moments = np.sum(spread) - spread
            assert moments.max() < np.sum(moments) - moments.max() + 1e-9 * moments.max()


def test_a_body_that_cannot_exist_has_none() -> None:
    chart, values = coordinates()
    wrong = values.copy()
    wrong[chart.reference.bodies[0][1].start + 9] = -1.0
    with pytest.raises(InputError, match="link 1 is not a body that can exist"):
        chart.theta(wrong)

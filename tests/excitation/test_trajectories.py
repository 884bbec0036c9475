"""Trajectory families: boundary conditions, derivatives, coefficients."""

from __future__ import annotations

import numpy as np
import pytest

from excitation.families import AT_REST, KINDS, random_trajectory
from inertica.errors import InputError
from inertica.excitation import Fourier, FourierBlend, Multisine, QuinticPoints, Sampled, Spline, Trapezoid

SEEDS = range(3)


def _ends(trajectory):
    """First and last pose a family promises."""
    if isinstance(trajectory, Fourier):
        return trajectory.start, trajectory.start
    if isinstance(trajectory, FourierBlend):
        return trajectory.start, trajectory.end
    points = trajectory.q if isinstance(trajectory, QuinticPoints) else trajectory.points
    return points[0], points[-1]


@pytest.mark.parametrize("kind", AT_REST)
@pytest.mark.parametrize("seed", SEEDS)
def test_starts_and_ends_at_rest(kind, seed):
    trajectory = random_trajectory(kind, seed)
    q, dq, ddq = trajectory([0.0, trajectory.period])
    assert np.abs(q - np.array(_ends(trajectory))).max() < 1e-9
    assert not dq.any() and not ddq.any()
    _, dq, ddq = (phi @ trajectory.parameters for phi in trajectory.basis(np.array([0.0, trajectory.period])))
    assert np.abs(dq).max() < 1e-9 and np.abs(ddq).max() < 1e-9  # by the coefficients, too
    assert np.ptp(trajectory(np.linspace(0, trajectory.period, 50)).q) > 0.1  # it does move


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", SEEDS)
def test_derivatives_agree_with_differences(kind, seed):
    trajectory = random_trajectory(kind, seed)
    h = 1e-5
    t = np.linspace(0.0, trajectory.period, 203)[1:-1] + 1e-4
    middle, before, after = trajectory(t), trajectory(t - h), trajectory(t + h)
    tolerance = 5e-3 if kind == "trapezoid" else 0.0  # the jerk jumps: half a jump times h where one is straddled
    for lower, upper in ((0, 1), (1, 2)):
        difference = (after[lower] - before[lower]) / (2 * h)
        assert np.abs(difference - middle[upper]).max() < 2e-6 * (1 + np.abs(middle[upper]).max()) + tolerance


@pytest.mark.parametrize("kind", KINDS)
def test_coefficients_are_what_they_were_set_to(kind):
    trajectory = random_trajectory(kind, 0)
    x = np.random.default_rng(1).normal(size=trajectory.coefficients.size)
    assert np.allclose(trajectory.with_coefficients(x).coefficients, x, atol=1e-12)
    back = trajectory.with_coefficients(x).with_coefficients(trajectory.coefficients)
    t = np.linspace(0, trajectory.period, 11)
    assert np.allclose(back(t).q, trajectory(t).q, atol=1e-11)
    with pytest.raises(InputError, match=r"expected \d+ coefficients"):
        trajectory.with_coefficients(x[:-1])


@pytest.mark.parametrize("kind", KINDS)
def test_motion_is_linear_in_the_coefficients(kind):
    a = random_trajectory(kind, 0)
    b = a.with_coefficients(np.ones(a.coefficients.size))
    middle = a.with_coefficients(0.5 * (a.coefficients + b.coefficients))
    t = np.linspace(0, a.period, 17)
    for x, y, z in zip(a(t), b(t), middle(t), strict=True):
        assert np.allclose(0.5 * (x + y), z, atol=1e-9)


def test_fourier_formula():
    """Coefficients mean what the survey's series says: q0 + sum A/(wk) sin(wkt) - B/(wk) cos(wkt)."""
    rng = np.random.default_rng(0)
    f = Fourier.at_rest(5.0, [0.2, -0.1], rng.normal(size=(6, 2)), rng.normal(size=(6, 2)))
    t, w = np.linspace(0, 5, 33)[:, None, None], 2 * np.pi / 5.0 * np.arange(1, 7)[:, None]
    series = f.A / w * np.sin(w * t) - f.B / w * np.cos(w * t)
    assert np.allclose(f(t.ravel()).q, f.start + series.sum(axis=1), atol=1e-12)


def test_fourier_rest_is_checked():
    with pytest.raises(InputError, match="does not start at rest"):
        Fourier(5.0, [0.0], np.ones((4, 1)), np.ones((4, 1)))
    with pytest.raises(InputError, match="at least 3"):
        Fourier.still(5.0, [0.0], 2)


def test_projection_onto_rest_moves_as_little_as_possible():
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(2, 5, 2))
    f = Fourier.at_rest(4.0, [0, 0], A, B)
    again = Fourier.at_rest(4.0, [0, 0], f.A, f.B)
    assert np.allclose(again.A, f.A, atol=1e-13) and np.allclose(again.B, f.B, atol=1e-13)
    assert np.linalg.norm(f.parameters[1:]) < np.linalg.norm(np.vstack([A, B]))


def test_periodic_motion_repeats_and_others_rest_outside():
    fourier, spline = random_trajectory("fourier", 0), random_trajectory("quintic", 0)
    t = np.linspace(0.1, 3.0, 7)
    assert np.allclose(fourier(t + 2 * fourier.period).q, fourier(t).q, atol=1e-10)
    q, dq, ddq = spline([-1.0, spline.period + 1.0])
    assert np.allclose(q, spline.points[[0, -1]]) and not dq.any() and not ddq.any()


def test_multisine_has_the_amplitudes_asked_for():
    amplitude = np.array([[0.3, 0.0], [0.1, 0.5]])
    m = Multisine.random(2.0, [1.0, 2.0], amplitude, np.random.default_rng(0))
    assert np.allclose(m.amplitude, amplitude)
    t = np.linspace(0, 2, 64, endpoint=False)
    spectrum = np.abs(np.fft.rfft(m(t).q, axis=0)) / 32
    assert np.allclose(spectrum[1:3], amplitude, atol=1e-12)
    assert np.allclose(m.sine, m.amplitude * np.cos(m.phase)) and np.allclose(m.cosine, m.amplitude * np.sin(m.phase))


@pytest.mark.parametrize("degree", [3, 5])
def test_spline_passes_its_points(degree):
    rng = np.random.default_rng(0)
    times = np.array([0.0, 0.5, 1.4, 2.0, 3.1])
    s = Spline(times, rng.normal(size=(5, 2)), degree)
    assert np.allclose(s(times).q, s.points, atol=1e-11)


def test_quintic_points_pass_their_states():
    p = random_trajectory("free_points", 3)
    for found, wanted in zip(p(p.times), (p.q, p.dq, p.ddq), strict=True):
        assert np.allclose(found, wanted, atol=1e-9)


def test_trapezoid_profile():
    """Stops at every point; acceleration is piecewise linear with the plateau and cruise asked for."""
    tr = Trapezoid([0.0, 2.0], [[0.0], [1.0]], ramp=0.1, cruise=0.2)
    x = np.array([0.15, 0.25, 0.45, 0.55, 0.75]) * 2.0  # plateau twice, cruise twice, negative plateau
    _, dq, ddq = tr(x)
    assert ddq[0] == pytest.approx(ddq[1]) and ddq[0] > 0
    assert ddq[2] == pytest.approx(0.0, abs=1e-12) and dq[2] == pytest.approx(dq[3])
    assert ddq[4] == pytest.approx(-ddq[0])
    assert tr([1.0]).q[0, 0] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Trapezoid([0.0, 1.0], [[0.0], [1.0]], ramp=0.3), "ramp"),
        (lambda: Spline([0.0, 0.0], [[0.0], [1.0]]), "ascending"),
        (lambda: Spline([0.0, 1.0], [[0.0], [1.0]], 4), "3 or 5"),
        (lambda: Multisine(-1.0, [0.0], [[1.0]], [[1.0]]), "positive number of seconds"),
        (lambda: Multisine(1.0, [0.0], [[np.nan]], [[1.0]]), "not finite"),
        (lambda: Fourier.at_rest(1.0, [0.0], np.ones((4, 1)), np.ones((3, 1))), "same shape"),
        (lambda: QuinticPoints([0.0, 1.0], [[0.0], [1.0]], [[1.0], [0.0]], [[0.0], [0.0]]), "rest=False"),
        (lambda: Sampled([0.0, 1.0], [[0.0], [1.0]], interpolation="bicubic"), "did you mean 'cubic'"),
        (lambda: Sampled([0.0, 1.0, 0.5], np.zeros((3, 1))), "ascend"),
        (lambda: Sampled([0.0, 1.0, 2.0], np.zeros((3, 1)), interpolation="quintic"), "at least 6"),
        (lambda: Sampled([0.0, 1.0, 2.0], np.zeros((3, 1)), interpolation="hermite"), "needs velocities"),
    ],
)  # fmt: skip
def test_bad_values_are_named(make, message):
    with pytest.raises(InputError, match=message):
        make()


@pytest.mark.parametrize("kind", KINDS)
def test_a_slowed_motion_takes_the_same_path(kind):
    fast, k = random_trajectory(kind, 5), 2.5
    slow = fast.slowed(k)
    t = np.linspace(0.0, fast.period, 301)
    assert type(slow) is type(fast) and slow.period == pytest.approx(k * fast.period)
    for power, (x, y) in enumerate(zip(fast(t), slow(k * t), strict=True)):
        assert np.allclose(y * k**power, x, atol=1e-9 * (1.0 + np.abs(x).max()))


@pytest.mark.parametrize("factor", [1.0, 0.5, -2.0, np.nan, np.inf])
def test_slowing_down_takes_a_factor_above_one(factor):
    with pytest.raises(InputError, match="a factor greater than 1"):
        random_trajectory("fourier", 0).slowed(factor)

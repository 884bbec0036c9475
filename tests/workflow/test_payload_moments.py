"""A load of which only first moments show is stated as that."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from inertica.cli.payload import text
from inertica.robot import inertia
from inertica.workflow.identify.settings import Settings
from inertica.workflow.payload.payload import payload
from inertica.workflow.payload.result import Payload
from workflow.pan_tilt import LOAD, pair, pan_tilt

DEFAULTS = Settings()
AWAY = (0.25, 0.0, 0.0)


def found_load(seed: int, rate: float | None, frame: tuple[float, ...] | None) -> Payload:
    first, second = pair(seed, rate)
    return payload(replace(pan_tilt(), loop=None), unloaded=[first], loaded=[second], frame=frame, settings=DEFAULTS)


def inside(found: Payload, frame: tuple[float, ...] | None) -> list[bool]:
    """Whether the intervals of the first moments hold the truth."""
    true = inertia.change_frame(LOAD, np.eye(3), -np.array(frame or (0.0, 0.0, 0.0)))
    return [m.lower <= m.direction @ true[6:9] + m.offset * true[9] <= m.upper for m in found.moments]


@pytest.fixture(scope="module")
def about_the_axes() -> Payload:
    return found_load(0, None, None)


def test_the_first_moments_are_determined_and_the_mass_is_not(about_the_axes: Payload) -> None:
    found = about_the_axes
    assert found.labels[9] == "unidentifiable" and not found.mass_shows
    assert [m.axis for m in found.moments] == ["x", "y"] and all(inside(found, None))
    assert found["MX"] == pytest.approx(0.14, rel=0.02)
    low, high = found.intervals[6]
    assert high - low < 0.05 * 0.14  # the constraints had moved one end to 0.02 kg m
    assert inertia.physically_consistent(found.values)


def test_terminal_document_and_files_say_so(about_the_axes: Payload, tmp_path) -> None:
    found = about_the_axes
    assert "the first moment along x, 0.1" in found.sentence and found.sentence.endswith(
        "the mass alone does not show in this motion"
    )
    assert found.sentence in str(next(iter(text(found)))) and any(found.sentence in w for w in found.warnings)
    found.save(tmp_path / "load")
    stated = json.loads((tmp_path / "load" / "payload.json").read_text())["determined"]
    assert stated["mass"] is False and stated["text"] == found.sentence
    assert stated["first_moments"][0]["direction"] == [1.0, 0.0, 0.0] and stated["first_moments"][0]["unit"] == "kg m"
    assert "is a guess" in (tmp_path / "load" / "controllers.txt").read_text()


def test_away_from_the_axes_the_moment_about_them_is_found() -> None:
    """In a frame 0.25 m from where the axes meet MX + 0.25 M is known, and neither of the two; the logs have different rates."""
    found = found_load(1, 200.0, AWAY)
    assert found.labels[6] == found.labels[9] == "combined" and all(inside(found, AWAY)) and len(found.moments) == 2
    (about,) = (m for m in found.moments if m.offset)
    assert np.allclose(about.direction, [1.0, 0.0, 0.0], atol=0.05) and np.allclose(about.point, [-0.25, 0.0, 0.0], atol=0.02)
    assert about.value == pytest.approx(0.14, rel=0.05)
    body = found.values
    assert about.direction @ body[6:9] + about.offset * body[9] == pytest.approx(about.value, rel=0.02)  # the body agrees


@pytest.mark.slow
def test_intervals_of_first_moments_hold() -> None:
    held = [
        ok
        for seed in range(10, 20)
        for frame in (None, AWAY)
        for ok in inside(found_load(seed, 200.0 if seed % 2 else None, frame), frame)
    ]
    assert len(held) >= 30 and np.mean(held) >= 0.85  # 95 % of 40, minus three standard deviations

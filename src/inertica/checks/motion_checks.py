"""Checks of motion in one log: standstill, recorded velocity."""

from __future__ import annotations

import numpy as np

from inertica.arrays import Array
from inertica.checks.clock import UNITS
from inertica.checks.findings import Finding, Verdict, joint_list
from inertica.checks.lag import scan
from inertica.checks.plainfit import BANDS, Observed
from inertica.checks.where import stretches
from inertica.preprocessing.motion import STANDSTILL
from inertica.preprocessing.resample import on_clock, uniform_clock

MUCH_STANDSTILL = 0.1
SCALE_OFF, MUCH_OFF, OTHER_UNIT = 0.02, 0.1, 2.0
"""Recorded velocity over the derivative of position: deviations from one that are noted and warned of, and the factor either way
beyond which it is a velocity in another unit."""

ANOTHER_SIGNAL = 0.3
"""Part of a recorded velocity that no multiple of the derivative of position explains, beyond which its scale means nothing."""

REACH, REACH_SAMPLES = 0.25, 5.0
"""A lag is looked for up to a quarter of a period of the low-pass, or five samples where those are longer."""


def standstill(o: Observed) -> Finding:
    """How much of the log is no motion at all, and joints that hardly take part."""
    m = o.motion
    still = m.masks.get(STANDSTILL, np.zeros(len(m), bool))
    share = float(np.mean(still))
    resting_share = m.resting.mean(axis=0)
    span = np.ptp(m.q, axis=0)
    idle = np.flatnonzero(~o.movement.moving).tolist()
    numbers = {"share": share, "per_joint": resting_share, "range": span, "stretches": stretches(m.stamps, still)}
    if share > MUCH_STANDSTILL or idle:
        sentences = [f"the robot stands still in {100 * share:.3g} % of the log"]
        sentences += [f"{joint_list(idle)} hardly move" + ("s" if len(idle) == 1 else "")] if idle else []
        advice = (
            "standstill is left out of fits (there the sign of velocity is noise and friction can have any value); cut it off"
        )
        return Finding("standstill", "note", "; ".join(sentences), advice, numbers=numbers)
    return Finding("standstill", "fine", f"the robot stands still in {100 * share:.2g} % of the log", numbers=numbers)


def velocity(o: Observed) -> Finding | None:
    """Recorded velocity against the derivative of the recorded position."""
    log, m = o.log, o.motion
    if log.dq is None:
        return None
    from scipy.interpolate import CubicSpline

    use = ~log.mask & np.isfinite(log.t)
    clock = uniform_clock(log.running[use])
    recorded, _ = on_clock(clock, log.running, log.dq, use, [0.0] * log.n, "cubic")
    smooth = m.decimator.filtered(m.recipe.filter.smoothed(recorded, clock.dt))
    recorded_dq = o.reduced(m.dq)
    moving = o.movement.moving
    if not moving.any():
        return None
    reach = max(REACH / (BANDS * o.movement.band), REACH_SAMPLES * m.dt)
    lags = [scan(o.t, o.settled, recorded_dq[:, j], CubicSpline(m.t, smooth[:, j]), reach) for j in range(m.n)]
    size = np.sum(recorded_dq[o.use] ** 2, axis=0)
    derivative = smooth[o.rows][o.use]
    scale = np.sum(derivative * recorded_dq[o.use], axis=0) / np.where(size > 0.0, size, 1.0)
    whole = np.linalg.norm(derivative, axis=0)
    left = np.linalg.norm(derivative - scale * recorded_dq[o.use], axis=0) / np.where(whole > 0.0, whole, 1.0)
    off = [j for j in range(m.n) if moving[j] and abs(scale[j] - 1.0) > SCALE_OFF]
    late = [j for j in range(m.n) if moving[j] and lags[j].found and abs(lags[j].value) > max(0.75 * m.dt, 3.0 * lags[j].sd)]
    numbers = {"scale": scale, "lag": [d.value for d in lags], "lag_sd": [d.sd for d in lags]}
    if not off and not late:
        worst = max((abs(d.value) for d in lags if d.found), default=0.0)
        text = (
            f"recorded velocity agrees with the position (scale within {100 * SCALE_OFF:.0f} %, lag up to {1e3 * worst:.2g} ms)"
        )
        return Finding("velocity", "fine", text, numbers=numbers)
    sentences = (
        [f"recorded velocity is {_range(scale[off])} times the derivative of position on {joint_list(off)}"] if off else []
    )
    sentences += [f"it lags by {_range(1e3 * np.array([lags[j].value for j in late]))} ms on {joint_list(late)}"] if late else []
    if (unit := _clock_unit(scale[moving])) is not None:
        text = f"the clock looks like {unit}: {sentences[0]}"
        advice = "state the unit in the name of the time column, or convert it to s"
        return Finding("clock", "problem", text, advice, numbers=numbers)
    unlike = [j for j in off if not 1.0 / OTHER_UNIT < scale[j] < OTHER_UNIT and left[j] < ANOTHER_SIGNAL and whole[j] > 0.0]
    much = bool(off) and float(np.abs(scale[off] - 1.0).max()) > MUCH_OFF
    verdict: Verdict = "problem" if unlike else "warning" if much else "note"
    advice = "check the unit of velocity and the clock; take velocity from positions, or state the velocity's delay"
    return Finding("velocity", verdict, "; ".join(sentences), advice, numbers=numbers)


def _clock_unit(scale: Array) -> str | None:
    """What a clock counts under which every recorded velocity is the derivative of its position."""
    fits = [words for words, count in UNITS.values() if np.all(np.abs(scale / count - 1.0) < MUCH_OFF)]
    return fits[0] if fits else None


def _range(values: Array) -> str:
    low, high = float(np.min(values)), float(np.max(values))
    return f"{low:.3g}" if np.isclose(low, high, rtol=0.02) else f"{low:.3g} to {high:.3g}"

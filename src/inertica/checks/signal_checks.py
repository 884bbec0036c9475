"""Checks of single signals: clock, gaps, repeated samples, dead channels, quantisation, saturation, limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from inertica.arrays import Array
from inertica.checks.findings import Finding, Verdict, joint_list
from inertica.checks.where import Stretch, joint_stretches, runs, spans, stretches
from inertica.dynamics.engine import Engine
from inertica.logs.breaks import LONGEST, regular_intervals
from inertica.logs.clock import YEAR_2000, YEAR_2100
from inertica.logs.even import JITTER
from inertica.logs.log import Log
from inertica.preprocessing.filters import Butterworth, noise_gains
from inertica.preprocessing.motion import Motion
from inertica.preprocessing.resample import GAP
from inertica.robot.layout import Parameters
from inertica.robot.model import Robot
from inertica.robot.natural import speeds
from inertica.scalars import HUGE

SLOW_RATE = 50.0
"""Samples per period of the positions' band below which accelerations are rough."""

MANY_MISSING = 0.05
STALE, HELD_STEPS = 0.02, 1.5
ROUGH, TOO_ROUGH = 0.05, 0.5
NEAR_LIMIT, BEYOND_LIMIT, FLAT_RUN = 0.98, 1.5, 4
"""A torque within 2 % of its limit is at it, unless it goes half beyond; as many equal extreme samples in a row are a flat top."""


SPIKE, MOST_SPIKES, FEWEST = 30.0, 0.01, 20
"""Times the largest other step that both steps of a spike have, the share of samples above which they are no exceptions, and the
samples below which nothing is said."""

TOO_SMALL, LOOKED_AT = 1e-6, 200
"""Part of the weight that the largest torque has in any unit, and samples by which weight is told.  The other way round says nothing:
weight may be next to nothing, of axes that stand upright or far from the earth."""

MOST_ROWS = 10
"""Rows behind which the clock jumps that a sentence lists."""

CREEPING = 1e-3
"""Part of the velocity limit below which a thousand times the speed would still be possible."""

FASTEST = 10.0
"""Radians (or lengths of the longest link) in the natural time of a robot that no joint is faster than; higher limits say nothing."""


def sampling(log: Log, band: float = 0.0) -> Finding:
    """Rate and jitter of the clock; `band` of the positions in Hz, where it is known."""
    t = log.t[~log.mask]
    regular = regular_intervals(t)
    rate, jitter = 1.0 / float(regular.mean()), float(regular.std() / regular.mean())
    low, high = 1e3 * float(regular.min()), 1e3 * float(regular.max())
    numbers = {"rate": rate, "jitter": jitter, "shortest": low / 1e3, "longest": high / 1e3, "samples": len(log)}
    text = f"{len(log)} samples in {log.duration:.4g} s, {rate:.4g} Hz on average"
    if jitter > JITTER:
        text += f"; the clock jitters: intervals of {low:.3g} to {high:.3g} ms, standard deviation {100 * jitter:.2g} %"
        advice = "keep the recorded times (never count samples); preprocessing brings the signals to a uniform clock"
        return Finding("sampling", "note", text, advice, numbers=numbers)
    if rate < SLOW_RATE * band:
        advice = (
            "accelerations from such a rate are rough; record faster, or use methods that simulate instead of differentiating"
        )
        return Finding("sampling", "note", text, advice, numbers=numbers)
    even = "even" if jitter < 1e-4 else f"jitter {100 * jitter:.2g} %"
    return Finding("sampling", "fine", f"{text}, {even}", numbers=numbers)


def gaps(log: Log) -> Finding:
    """Missing stretches, and what reading the file masked; breaks of the clock have a finding of their own."""
    t = log.t[~log.mask]
    dt = float(regular_intervals(t).mean())
    steps = np.diff(t)
    long = (steps > GAP * dt) & (steps <= LONGEST * dt)
    missing = float(np.sum(steps[long] - dt) / max(log.duration, dt))
    longest = float(np.max(steps, where=steps <= LONGEST * dt, initial=0.0))
    masked = {reason: int(mask.sum()) for reason, mask in log.masks.items() if mask.any()}
    where = spans([(float(t[k]), float(t[k + 1])) for k in np.flatnonzero(long)])
    for mask in log.masks.values():
        where += stretches(log.t, mask)
    numbers = {"gaps": int(long.sum()), "missing": missing, "longest": longest, "masked": masked, "stretches": where}
    sentences = []
    if long.any():
        at = float(t[int(np.argmax(np.where(long, steps, 0.0)))])
        sentences.append(
            f"{int(long.sum())} gaps, the longest of {longest:.3g} s at t = {at:.4g} s, {100 * missing:.2g} % missing"
        )
    sentences += [f"{count} samples masked: {reason}" for reason, count in masked.items()]
    if not sentences:
        return Finding("gaps", "fine", "no gaps, no masked samples", numbers=numbers)
    share = sum(masked.values()) / len(log)
    verdict: Verdict = "warning" if missing > MANY_MISSING or share > MANY_MISSING else "note"
    advice = "gaps and their neighbourhood are left out of fits; find out why the recorder lost samples"
    return Finding("gaps", verdict, "; ".join(sentences), advice, numbers=numbers)


def clock_jumps(log: Log) -> Finding | None:
    """Where the clock jumps, forward by more than any gap that is filled, or back; None where it does not."""
    rows = np.flatnonzero(np.isfinite(log.t))
    t, steps = log.t[rows], np.diff(log.t[rows])
    dt = float(regular_intervals(t[~log.mask[rows]]).mean())
    k = np.flatnonzero((steps > LONGEST * dt) | (steps < -GAP * dt))
    if not len(k):
        return None
    began = log.origin.start or 0.0
    jumps = [
        {
            "row": int(rows[i]) + 1, "time": float(t[i]), "size": float(steps[i]),
            "set after boot": not _since_1970(began + t[i]) and _since_1970(began + t[i + 1]),
        }
        for i in k[np.argsort(-np.abs(steps[k]), kind="stable")]
    ]  # fmt: skip
    worst = jumps[0]
    way = "forward" if worst["size"] > 0.0 else "back"
    text = f"the clock jumps {way} by {abs(worst['size']):.6g} s after row {worst['row']} (t = {worst['time']:.6g} s)"
    if worst["set after boot"]:
        set_to = datetime.fromtimestamp(began + worst["time"] + worst["size"], UTC)
        text += f": it was set to {set_to:%Y-%m-%d %H:%M:%S} UTC after the computer had started"
    if len(jumps) > 1:
        text += f"; {len(jumps)} jumps in all, after rows {', '.join(str(row) for row in sorted(j['row'] for j in jumps)[:MOST_ROWS])}"
        text += " ..." if len(jumps) > MOST_ROWS else ""
    numbers = {"jumps": jumps, "stretches": spans([(float(t[i]), float(t[i + 1])) for i in sorted(k) if steps[i] > 0.0])}
    if any(j["size"] < 0.0 for j in jumps):
        advice = (
            "samples out of order are masked; log with a clock that only runs forward, or split the file where it is set back"
        )
        return Finding("clock jumps", "warning", text, advice, numbers=numbers)
    advice = (
        "what lies before and behind is taken as separate stretches; if the recorder did not pause, find out what set the clock"
    )
    return Finding("clock jumps", "note", text, advice, numbers=numbers)


def _since_1970(seconds: float) -> bool:
    return YEAR_2000 <= seconds <= YEAR_2100


def beyond_numbers(log: Log) -> Finding | None:
    """Positions, their targets and torques of sizes that no robot has and whose powers exceed what numbers can hold."""
    for symbol, what in (("q", "position"), ("qr", "position target"), ("tau", "torque")):
        if symbol not in log.signals:
            continue
        size = np.abs(np.where(np.isfinite(log.signals[symbol]), log.signals[symbol], 0.0))
        size[log.mask] = 0.0
        row, j = np.unravel_index(int(np.argmax(size)), size.shape)
        if size[row, j] == 0.0 or 1.0 / HUGE <= size[row, j] <= HUGE:
            continue
        way = "reaches" if size[row, j] > 1.0 else "is nowhere larger than"
        text = f"the {what} {way} {size[row, j]:.3g} (joint {j + 1}, row {row + 1}), a size that cannot be computed with"
        return Finding(
            "sizes", "problem", text, f"check the unit and the column of the {what}", numbers={"largest": size.max(axis=0)}
        )
    return None


def torque_size(log: Log, engine: Engine, prior: Parameters) -> Finding | None:
    """A torque a million times smaller than the weight that the model's links hold; None where it is not."""
    q, tau = log.need("q"), log.need("tau")
    rows = np.flatnonzero(~log.mask & np.isfinite(q).all(axis=1))
    rows = rows[:: max(1, len(rows) // LOOKED_AT)]
    still = np.zeros((len(rows), log.n))
    weight = float(np.abs(engine.inverse_dynamics(q[rows], still, still, prior)).max(initial=0.0))
    used = tau[~log.mask]
    largest = float(np.abs(np.where(np.isfinite(used), used, 0.0)).max(initial=0.0))
    if not 0.0 < weight < np.inf or largest == 0.0 or largest > TOO_SMALL * weight:
        return None
    text = f"the torque is {largest / weight:.2g} times the weight that the model's links hold"
    advice = "check the unit of torque, and masses and gravity of the model"
    return Finding("torque size", "problem", text, advice, numbers={"torque": largest, "weight": weight})


MAY_SPIKE = {"q": "position", "tau": "torque", "qr": "position target"}


def spikes(log: Log, symbols: Sequence[str] = ("q", "tau")) -> Finding | None:
    """Signals that jump away for a single sample and back, as no robot does; None where there are none.

    Both steps are `SPIKE` times larger than every step that belongs to no spike, and than the whole range of the other samples.
    Torques and targets may jump (friction, contact, a current loop, a step), and a fit bears what is one sample of many: their
    spikes also outweigh all other samples of the joint together, in squares, so that a fit would follow them alone.
    """
    rows = np.flatnonzero(~log.mask)
    spikes_found: list[tuple[float, int, int, str]] = []
    for symbol in symbols:
        if symbol in log.signals:
            what = MAY_SPIKE[symbol]
            for j, recorded in enumerate(log.signals[symbol][rows].T):
                usable = np.isfinite(recorded)
                x, at = recorded[usable], rows[usable]
                heights = _spike_heights(x, outweighing=symbol != "q")
                spikes_found += [(float(heights[k]), int(at[k]), j, what) for k in np.flatnonzero(heights)]
    if not spikes_found:
        return None
    spikes_found.sort(reverse=True)
    height, row, j, what = spikes_found[0]
    text = f"the {what} of joint {j + 1} jumps by {height:.3g} at row {row + 1} (t = {log.t[row]:.6g} s) and back, as no "
    text += "motion does" if what == MAY_SPIKE["q"] else "drive does"
    if len(spikes_found) > 1:
        text += f"; {len(spikes_found)} such spikes in all"
    where = [stretch for _, k, joint, _ in spikes_found for stretch in spans([(float(log.t[k]), float(log.t[k]))], joint)]
    numbers = {
        "spikes": [{"joint": i + 1, "row": k + 1, "size": s, "signal": w} for s, k, i, w in spikes_found],
        "stretches": where,
    }
    return Finding("spikes", "problem", text, "leave the value out: an empty cell or nan masks the sample", numbers=numbers)


def _spike_heights(x: Array, outweighing: bool) -> Array:
    """By sample, the smaller of the two steps of a spike; zero for all others.

    Args:
        x: finite samples of one channel.
        outweighing: only what is larger than all samples beside it together, as root of the sum of their squares.
    """
    none = np.zeros(len(x))
    if len(x) < FEWEST:
        return none
    steps = np.diff(x)
    size = np.abs(steps)
    usual = float(np.median(size[size > 0.0])) if size.any() else 0.0
    # at the ends there is one step only
    height = np.minimum(np.append(np.inf, size), np.append(size, np.inf))
    back = np.concatenate([[True], np.sign(steps[1:]) != np.sign(steps[:-1]), [True]])
    alone = (height > SPIKE * usual) & back
    if not alone.any() or np.count_nonzero(alone) > MOST_SPIKES * len(x):
        return none
    rest = x[~alone]
    others = size[~(alone[1:] | alone[:-1])]
    least = max(SPIKE * float(others.max(initial=0.0)), float(np.ptp(rest)))
    if outweighing:
        least = max(least, float(np.linalg.norm(rest - np.median(rest))))
    return np.where(alone & (height > least), height, 0.0)


def dead_channels(log: Log, robot: Robot) -> Finding:
    """Channels without values or without any change; a floating base on which nothing acts has no torque rightly."""
    empty: list[str] = []
    constant: list[str] = []
    parked: list[str] = []
    without: list[str] = []
    for symbol in ("q", "dq", "tau"):
        if symbol not in log.signals:
            continue
        for j, column in ((j, log.signals[symbol][:, j]) for j in robot.independent):
            x = column[np.isfinite(column)]
            if len(x) < 3:
                (without if symbol == "dq" else empty).append(f"{symbol}{j + 1}")
            elif np.ptp(x) == 0.0:
                (parked if symbol != "tau" else constant).append(f"{symbol}{j + 1}")
    lost = [c for c in parked if c.startswith("q") and f"tau{c[1:]}" in constant]
    numbers = {"empty": empty, "constant": constant, "not_moving": parked}
    if empty or constant:
        sentences = ([f"no values in {', '.join(empty)}"] if empty else []) + (
            [f"no change in {', '.join(constant + lost)}"] if constant else []
        )
        advice = "check the sensor, the cable and the mapping of columns; nothing can be learned about these joints"
        if absent := [name for j, name in enumerate(log.joints) if {f"q{j + 1}", f"tau{j + 1}"} <= set(empty)]:
            advice = (
                f"the log has nothing of {', '.join(absent)}: name the columns in the card, or leave out joints that stood still with "
                f"joints: [{', '.join(name for name in log.joints if name not in absent)}]"
            )
        return Finding("dead channels", "problem", "; ".join(sentences), advice, numbers=numbers)
    if without:
        text = f"no values in {', '.join(without)}: velocities come from positions"
        return Finding("dead channels", "note", text, "record the velocity of every joint, or of none", numbers=numbers)
    if parked:
        advice = "joints that stand still reveal only part of their parameters; move them if they are to be identified"
        return Finding("dead channels", "note", f"no change in {', '.join(parked)}", advice, numbers=numbers)
    return Finding("dead channels", "fine", "every channel has values and changes", numbers=numbers)


def repeated_samples(log: Log, motion: Motion) -> Finding:
    """Samples that repeat the one before although the robot moves, beyond what quantisation explains."""
    moving = np.interp(log.running, motion.t, motion.masks.get("standstill", np.zeros(len(motion))).astype(float)) < 0.5
    moving = (moving & ~log.mask)[1:]
    total = max(int(moving.sum()), 1)
    channels: dict[str, float] = {}
    where: list[Stretch] = []
    for symbol in ("q", "tau"):
        for j, column in enumerate(log.need(symbol).T):
            step = float(log.steps[symbol][j])
            if np.ptp(column[np.isfinite(column)]) == 0.0:
                continue  # a dead channel, which has its own finding
            at_end = (column == np.nanmax(column)) | (column == np.nanmin(column))  # so has a flat top
            same = (np.diff(column) == 0.0) & moving & ~at_end[1:]
            if symbol == "q":  # only where the joint should have advanced by more than a step
                speed = np.interp(log.running, motion.t, np.abs(motion.dq[:, j]))
                same &= (speed[1:] * np.diff(log.running) > HELD_STEPS * step) & (speed[1:] > 0.2 * speed.max())
            elif _typical_change(column) < 3.0 * step:
                continue
            channels[f"{symbol}{j + 1}"] = float(same.sum() / total)
            if channels[f"{symbol}{j + 1}"] > STALE:
                where += stretches(log.t[1:], same, j)
    rows = np.hstack([log.need("q"), log.need("tau")])
    stale = np.all(np.diff(rows, axis=0) == 0.0, axis=1) & moving
    whole = float(np.sum(stale) / total)
    numbers = {"whole_samples": whole, "channels": channels, "stretches": stretches(log.t[1:], stale) if whole > STALE else where}
    held = {name: share for name, share in channels.items() if share > STALE}
    if whole > STALE:
        text = f"{100 * whole:.3g} % of the samples repeat the one before in every channel while the robot moves"
        advice = "the recorder samples faster than its source; record at the source's rate or drop the repeats"
        return Finding("repeated samples", "warning" if whole > 0.2 else "note", text, advice, numbers=numbers)
    if held:
        most = max(held, key=lambda name: held[name])
        text = f"{', '.join(held)} hold old values while the robot moves, {most} in {100 * held[most]:.3g} % of the samples"
        advice = "these signals are updated more slowly than they are recorded; expect a delay of half the update interval"
        return Finding("repeated samples", "note", text, advice, numbers=numbers)
    return Finding("repeated samples", "fine", "no stale samples beyond what quantisation explains", numbers=numbers)


def _typical_change(x: Array) -> float:
    change = np.abs(np.diff(x))
    change = change[change > 0.0]
    return float(np.median(change)) if len(change) else 0.0


def quantisation(log: Log, motion: Motion) -> Finding:
    """Steps of the positions, and what they do to accelerations after filtering."""
    steps, torque = log.steps["q"], log.steps["tau"]
    gain = noise_gains(motion.recipe.filter, motion.dt)[2]
    rms = np.sqrt(np.mean(motion.ddq[~motion.mask] ** 2, axis=0)) if motion.used else np.zeros(motion.n)
    with np.errstate(divide="ignore", invalid="ignore"):
        effect = np.where(rms > 0.0, log.position_noise * gain / rms, 0.0)
    numbers = {"q": steps, "tau": torque, "acceleration_noise": effect}
    if not steps.any():
        return Finding("quantisation", "fine", "positions show no steps", numbers=numbers)
    worst = int(np.argmax(effect))
    cutoff = motion.recipe.filter.cutoff if isinstance(motion.recipe.filter, Butterworth) else None
    at = f" at {cutoff:.3g} Hz" if cutoff else ""
    text = (
        f"positions come in steps of {_spread(steps)}; filtered{at} they leave noise of {100 * effect[worst]:.2g} % of its "
        f"rms on the acceleration of joint {worst + 1}"
    )
    verdict: Verdict = "warning" if effect[worst] > TOO_ROUGH else "note" if effect[worst] > ROUGH else "fine"
    advice = "filter more, move faster, or use the recorded velocity" if verdict != "fine" else ""
    return Finding("quantisation", verdict, text, advice, numbers=numbers)


def _spread(steps: Array) -> str:
    low, high = float(steps[steps > 0.0].min()), float(steps.max())
    return f"{high:.2g}" if high < 1.1 * low else f"{low:.2g} to {high:.2g}"


def saturation(log: Log, robot: Robot) -> Finding:
    """Torques at their limits, and flat tops.  What goes far beyond a limit is not held by it: units, then, or the model's limit."""
    tau, use = log.need("tau"), ~log.mask
    limits = np.array(robot.limits.torque)
    columns = [np.abs(x[np.isfinite(x) & use]) for x in tau.T]
    most = np.array([float(x.max(initial=0.0)) for x in columns])
    beyond = most > BEYOND_LIMIT * limits
    share = np.array([np.mean(x >= NEAR_LIMIT * lim) for x, lim in zip(columns, limits, strict=True)])
    share = np.where(beyond, 0.0, share)
    tops, flat = np.zeros(tau.shape, bool), np.zeros(log.n)
    for j, step in enumerate(log.steps["tau"]):
        usable = np.isfinite(tau[:, j]) & use
        inside, tops[usable, j] = _flat_tops(tau[usable, j], step)
        flat[j] = inside / max(int(np.count_nonzero(usable)), 1)
    numbers: dict[str, object] = {"at_limit": share, "flat_top": flat, "beyond": most / limits}
    bad = [j for j in range(log.n) if share[j] > 1e-3 or flat[j] > 0.0]
    if bad:
        worst = max(float(share[j]) + float(flat[j]) for j in bad)
        text = f"the torque of {joint_list(bad)} is cut off or at its limit, in up to {100 * worst:.2g} % of the samples"
        advice = "if a recorder cut it off, it is not what moved the robot there: move more gently, or mask these samples"
        # never a problem: a coarse current has flat tops of its own, and a drive at its limit records the torque that it gave
        verdict: Verdict = "warning" if worst > 0.01 else "note"
        cut = tops | ((np.abs(tau) >= np.where(share > 1e-3, NEAR_LIMIT * limits, np.inf)) & use[:, None])
        return Finding("saturation", verdict, text, advice, numbers=numbers | {"stretches": joint_stretches(log.t, cut)})
    if beyond.any():
        joints = [int(j) for j in np.flatnonzero(beyond)]
        text = (
            f"the torque of {joint_list(joints)} goes up to {float(np.max((most / limits)[beyond])):.3g} times beyond its limit"
        )
        advice = "no saturation: check the unit of the torques, or the limits in the model"
        return Finding("saturation", "note", text, advice, numbers=numbers)
    return Finding("saturation", "fine", "no torque sits at a limit or is cut off", numbers=numbers)


def _flat_tops(x: Array, step: float) -> tuple[int, NDArray[np.bool_]]:
    """Samples of flat tops: the extreme value again and again, much more often than the values next to it.

    Returns:
        How many are in runs, which alone are evidence, and (N,) all that have the extreme value.
    """
    total, out = 0, np.zeros(len(x), bool)
    if len(x) < 100 or np.ptp(x) == 0.0:
        return total, out
    step = step or 1e-9 * float(np.ptp(x))
    for side in (x, -x):
        if side.max() == 0.0:  # a torque without its sign rests at zero, which is no limit
            continue
        top = side >= side.max() - 0.5 * step
        next_level = (side >= side.max() - 1.5 * step) & ~top
        lengths = np.diff(runs(top), axis=1)[:, 0] + 1
        inside = int(lengths[lengths >= FLAT_RUN].sum())
        # a smooth peak that is merely quantised spends 2.4 times as long in its top step as in the next
        if inside > max(8 * int(next_level.sum()), 0.001 * len(x)) and inside < 0.5 * len(x):
            total, out = total + inside, out | top
    return total, out


def _creeping(fastest: float, assumed: bool, numbers: Mapping[str, object]) -> Finding:
    """Of a motion that would be possible a thousand times faster; a refusal where nobody said that its clock counts seconds."""
    text = f"no joint is faster than {fastest:.2g} of its velocity limit"
    if assumed:
        advice = "state the unit, t=ms, or t=s if it is seconds: as option, units: {t: ms} in the card, or [ms] behind its name"
        return Finding("clock", "problem", f"the clock looks like milliseconds: {text}", advice, numbers=numbers)
    advice = "check the unit of time; if it is s, the velocity limits of the model"
    return Finding("limits", "warning", f"{text}: the clock may count milliseconds", advice, numbers=numbers)


def limits(log: Log, robot: Robot, motion: Motion, moving: NDArray[np.bool_]) -> Finding:
    """Positions and velocities beyond what the robot can do: wrong units, wrong zero, wrong joint order; or far too slow for it."""
    q = log.need("q")
    low, high = np.array(robot.limits.lower), np.array(robot.limits.upper)
    span = np.where(np.isfinite(high - low), high - low, 2.0 * np.pi)
    over = np.nanmax(np.maximum(low - q, q - high), axis=0)
    speed = np.where(motion.paused[:, None], 0.0, np.abs(motion.dq))
    fast = speed.max(axis=0) / np.array(robot.limits.velocity)
    outside = [j for j in range(log.n) if over[j] > 0.02 * span[j]]
    quick = [j for j in range(log.n) if fast[j] > 1.1]
    numbers: dict[str, object] = {"beyond": over, "velocity": fast}
    fastest = float(fast[moving].max(initial=0.0))
    # many files state a limit of 100 or 1000 rad/s for want of a better one, beside which every motion creeps
    possible = np.minimum(robot.limits.velocity, FASTEST * speeds(robot))
    if not outside and fastest > 0.0 and np.all(speed.max(axis=0)[moving] < CREEPING * possible[moving]):
        return _creeping(fastest, log.origin.seconds_assumed and log.dq is None, numbers)
    sentences = [f"{joint_list(outside)} beyond the position limits by up to {over[outside].max():.3g}"] if outside else []
    sentences += (
        [f"{joint_list(quick)} faster than the velocity limit by a factor of up to {fast[quick].max():.3g}"] if quick else []
    )
    if not sentences:
        return Finding("limits", "fine", "positions and velocities stay within the robot's limits", numbers=numbers)
    far = bool(outside) and bool(np.any(over[outside] > 0.25 * span[outside]))
    verdict: Verdict = "warning" if far or (quick and fast[quick].max() > 2.0) else "note"
    advice = "check units (degrees?), the zero of the encoders, the order of joints, and the limits in the model"
    where = [s for j in outside for s in stretches(log.t, (q[:, j] < low[j]) | (q[:, j] > high[j]), j)]
    where += [s for j in quick for s in stretches(motion.stamps, speed[:, j] > robot.limits.velocity[j], j)]
    return Finding("limits", verdict, "; ".join(sentences), advice, numbers=numbers | {"stretches": where})

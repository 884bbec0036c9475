"""Which of many faults explains a log best: every hypothesis is fitted and they are compared by one score.

A fault is a problem when undoing it is clearly better than the log as recorded, a warning when it is somewhat better.  Hypotheses that
fit as well as the best are named beside it, and those that fit as well as a log without fault are *not testable* in it: gravity and
motion do not tell them apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inertica.checks import ranges
from inertica.checks.findings import Finding, joint_list
from inertica.checks.hypotheses import AS_RECORDED, KINDS, Hypothesis, hypotheses
from inertica.checks.plausible import Fit, Judge

CLEAR = 20.0
"""Difference of scores beyond which a hypothesis counts as better or worse; twice a log probability, were the model exact.  Records
of real robots without fault reach 10."""

DOUBT = 12.0
"""Difference from which a fault is suspected: a warning that names it."""

ALIKE = 10.0
"""Hypotheses whose scores differ by less are named together."""

MOVES = 0.02
"""Range of a joint below which its sign and zero are not looked for, rad or m."""

UNLIKE, STRANGE = 0.75, 0.9
"""Distances between the links' torque and the model's: the first is strange together with another sign, the second alone."""

OTHER_SIZE = 2.5
"""Such a sign: the links' torque is this many times larger or smaller than the model's."""

MISSED, LOST = 0.3, 0.6
"""Another: a joint's torque is missed by this part of it.  By more than the second, it is strange alone."""

USUAL = 0.5
"""Distance that a log of the same robot with a fair model stays below."""

OUTSIDE = 2
"""Joints outside their range, and as many faster than they can be, that are strange whatever the torque."""

MOST_NAMED = 4


@dataclass(frozen=True)
class Searched:
    """All hypotheses on one log.

    Args:
        as_recorded: the fit of the log as it is.
        tried: every hypothesis with its fit, best first.
    """

    as_recorded: Fit
    tried: tuple[tuple[Hypothesis, Fit], ...]

    @property
    def fault(self) -> tuple[Hypothesis, Fit] | None:
        """The best, when it is better than the log as recorded."""
        return self.tried[0] if self.tried and self.better_by > DOUBT else None

    @property
    def better_by(self) -> float:
        """How much the best is better than the log as recorded."""
        return self.as_recorded.score - self.tried[0][1].score

    @property
    def alike(self) -> tuple[Hypothesis, ...]:
        """Others that explain the log as well as the fault that was found."""
        best = self.tried[0][1].score
        return tuple(h for h, f in self.tried[1:] if f.score < min(best + ALIKE, self.as_recorded.score - ALIKE))

    @property
    def untold(self) -> tuple[Hypothesis, ...]:
        """Hypotheses that fit about as well as the log as recorded."""
        return tuple(h for h, f in self.tried if f.score - h.price < self.as_recorded.score + ALIKE)


def search(judge: Judge) -> Searched:
    """Fit the rows under every hypothesis."""
    moving = np.ptp(judge.rows.q, axis=0) > MOVES
    listed = list(hypotheses(judge.engine.layout.robot, moving))
    fits = [judge.fit(h) for h in listed]
    order = np.argsort([f.score for f in fits], kind="stable")
    return Searched(judge.fit(), tuple((listed[i], fits[i]) for i in order))


def findings(judge: Judge, *, mount_given: bool = True) -> list[Finding]:
    """What a log says about its own columns, one finding for each kind of fault, and whether it is of this robot.

    Args:
        judge: the rows and the model.
        mount_given: whether the direction of gravity is stated; when not, `identify` finds it, and another one is a warning only.
    """
    searched = search(judge)
    fault = searched.fault
    if fault is not None and searched.better_by > CLEAR:
        mended = _same_robot(judge, *fault)
        if mended.verdict == "problem":  # better, but no good either
            return [mended, *(_waiting(kind, mended) for kind in KINDS)]
        found = _named(searched, *fault, mount_given)
        return [found, *(_waiting(kind, found) for kind in KINDS if kind != found.name)]
    torque = np.linalg.norm(judge.rows.tau, axis=0)
    silent = [j for j in range(judge.engine.n) if np.ptp(judge.rows.q[:, j]) <= MOVES or torque[j] == 0.0]
    suspected = [] if fault is None else [_named(searched, *fault, mount_given)]
    return [
        *suspected,
        *(_untold(kind, searched, silent) for kind in KINDS if kind not in {f.name for f in suspected}),
        _lean(judge),
        _same_robot(judge, AS_RECORDED, searched.as_recorded),
    ]


def _named(searched: Searched, h: Hypothesis, fit: Fit, mount_given: bool) -> Finding:
    sure = searched.better_by > CLEAR
    before, after = searched.as_recorded, fit
    joint = int(np.argmax(before.residual - after.residual)) if not h.joints else max(h.joints, key=lambda j: before.residual[j])
    gain = f"residual {_percent(before.overall)} -> {_percent(after.overall)} %"
    if before.overall < 1.5 * after.overall:
        gain = f"residual of joint {joint + 1} {_percent(before.residual[joint])} -> {_percent(after.residual[joint])} %"
        if before.residual[joint] < 1.2 * after.residual[joint]:
            gain = "otherwise its links would be far from the model's, or joints beyond their limits"
    text = (
        f"it looks as if {h.text} ({gain})" if sure else f"it may be that {h.text} ({gain}); this log speaks for it, not clearly"
    )
    others = searched.alike[:MOST_NAMED]
    if others:
        text += f"; as good: {'; '.join(o.text for o in others)}"
    numbers = {
        "joints": [j + 1 for j in h.joints], "fault": h.text, "alike": [o.text for o in others],
        "residual": before.overall, "residual_mended": after.overall, "per_joint": before.residual,
        "per_joint_mended": after.residual, "better_by": before.score - after.score,
    }  # fmt: skip
    if h.kind == "mount" and not mount_given:
        return Finding(h.kind, "warning", text, f"identify finds the direction by itself; to fix it, {h.advice}", numbers=numbers)
    return Finding(h.kind, "problem" if sure else "warning", text, h.advice, numbers=numbers)


def _waiting(kind: str, fault: Finding) -> Finding:
    return Finding(kind, "not testable", f"not testable before the finding about {fault.name} is settled", numbers={"untold": []})


def _untold(kind: str, searched: Searched, silent: Sequence[int]) -> Finding:
    """A kind of fault of which none was found: which of them would have shown."""
    untold = [h for h in searched.untold if h.kind == kind]
    tried = sum(h.kind == kind for h, _ in searched.tried)
    numbers = {"untold": [h.text for h in untold], "tried": tried, "joints": sorted({j + 1 for h in untold for j in h.joints})}
    words = _FINE[kind]
    if not untold and tried:
        if silent and kind in ("joint signs", "encoder zeros"):
            return Finding(kind, "not testable", f"{words}; not testable: {joint_list(list(silent))}", numbers=numbers)
        return Finding(kind, "fine", words, numbers=numbers)
    if not tried:
        return Finding(kind, "not testable", f"nothing in this log tells {kind}", numbers=numbers)
    more = f" and {len(untold) - MOST_NAMED} more" if len(untold) > MOST_NAMED else ""
    listed = "; ".join(h.text for h in untold[:MOST_NAMED])
    advice = "if one of these were so, this log would look the same; a motion under another load of gravity may tell"
    return Finding(kind, "not testable", f"nothing wrong seen, but not testable: {listed}{more}", advice, numbers=numbers)


_FINE = {
    "joint signs": "positions and torques count the way the model does",
    "joint order": "no two columns look swapped",
    "encoder zeros": "no zero is off by quarter turns",
    "units": "positions and torques have the expected size",
    "mount": "of six directions of gravity the model's own fits best",
}


def _lean(judge: Judge) -> Finding:
    """What this search does not look for, lest it be taken for tested."""
    text = "a base that leans by a few degrees is not tested here; identify estimates the direction of gravity"
    return Finding("lean", "not testable", text)


def _same_robot(judge: Judge, h: Hypothesis, fit: Fit) -> Finding:
    """Whether the links' torque has anything of the model's, with the fault undone that explains the log best."""
    numbers: dict[str, object] = {"residual": fit.overall, "per_joint": fit.residual}
    robot, rows = judge.engine.layout.robot, judge.rows.under(h)
    out = [j for j, share in enumerate(ranges.outside(robot, rows.q)) if share > ranges.BEYOND]
    fast = [j for j, share in enumerate(ranges.faster(robot, rows.dq)) if share > ranges.FASTER]
    numbers |= {"outside": [j + 1 for j in out], "faster": [j + 1 for j in fast]}
    left = f"a fit near the model leaves {_percent(fit.overall)} % of the torque, joint by joint {_list(fit)} %"
    if len(out) >= OUTSIDE and len(fast) >= OUTSIDE:
        text = (
            f"is it a log of the same robot? {joint_list(out)} leave the model's range by more than "
            f"{100 * ranges.BEYOND:.0f} % of it, and {joint_list(fast)} exceed the model's velocity limits; {left}"
        )
        advice = "compare type, limits, zeros and signs of the model with the robot; if only the limits are wrong, correct them"
        return Finding("same robot", "problem", text, advice, numbers=numbers)
    if not judge.knows_links:
        text = f"{left}; not testable further, since the model has no masses, or placeholders, to hold the torque against"
        return Finding("same robot", "not testable", text, numbers=numbers)
    like = judge.likeness(fit, h, MISSED)
    lost = [j for j in like.structured if fit.residual[j] > LOST]
    size_off = not 1.0 / OTHER_SIZE < like.scale < OTHER_SIZE
    numbers |= {"distance": like.distance, "scale": like.scale, "missed": [j + 1 for j in like.structured]}
    strange = like.distance > STRANGE or bool(lost) or (like.distance > UNLIKE and (size_off or bool(like.structured)))
    said = f"the links' torque differs from the model's by {_percent(like.distance)} % (size {like.scale:.2g} times the model's)"
    expected = f"below {100 * USUAL:.0f} % is usual for a log of this robot"
    if strange:
        missed = list(like.structured)
        why = f"; {joint_list(missed)} {'is' if len(missed) == 1 else 'are'} not explained" if missed else ""
        text = f"is it a log of the same robot? {said}, {expected}; {left}{why}"
        advice = (
            "compare the model with the robot: type, lengths, masses, tool; no single swap, sign, zero or unit explains the log"
        )
        return Finding("same robot", "problem", text, advice, numbers=numbers)
    if like.distance > USUAL:
        advice = "check masses and centres of mass of the model, and the tool; identify will move them far"
        return Finding("same robot", "note", f"{said}, {expected}; {left}", advice, numbers=numbers)
    return Finding("same robot", "fine", f"{left}; {said}", numbers=numbers)


def _percent(x: float) -> str:
    return f"{100.0 * x:.2g}" if x < 1.0 else f"{100.0 * x:.0f}"


def _list(fit: Fit) -> str:
    return ", ".join(_percent(float(r)) for r in fit.residual)

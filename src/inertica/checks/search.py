"""Which of many faults explains a log best: every hypothesis is fitted and they are compared by one score.

A fault is a problem when undoing it is clearly better than the log as recorded and left-out data prove it (`inertica.checks.proof`),
a warning when it is somewhat better and explains the log.  Hypotheses that fit as well as the best are named beside it; what gravity
and motion do not tell apart is *not testable*, shown as one line for all kinds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from inertica.checks import ranges
from inertica.checks.findings import UNTESTED, UNVERIFIED, Finding, joint_list
from inertica.checks.hypotheses import AS_RECORDED, KINDS, Hypothesis, hypotheses
from inertica.checks.plainfit import Movement
from inertica.checks.plausible import HypothesisFit, Judge
from inertica.checks.proof import LOST, MISSED, PERIODS, USUAL, Proof, left_out, proof
from inertica.checks.screen import by_model
from inertica.dynamics.arrays import is_large

CLEAR = 20.0
"""Difference of scores beyond which a hypothesis counts as better or worse; twice a log probability, were the model exact.  Records
of real robots without fault reach 10."""

DOUBT = 12.0
"""Difference from which a fault is suspected: a warning that names it."""

ALIKE = 10.0
"""Hypotheses whose scores differ by less are named together."""

UNLIKE, STRANGE = 0.75, 0.9
"""Distances between the links' torque and the model's: the first is strange together with another sign, the second alone."""

OTHER_SIZE = 2.5
"""Such a sign: the links' torque is this many times larger or smaller than the model's."""

OUTSIDE = 2
"""Joints outside their range, and as many faster than they can be, that are strange whatever the torque."""

MOST_NAMED = 4

PATIENCE = 3
"""Fits per joint that find nothing, after which a search ends: sign, zero and exchange of every joint."""


@dataclass(frozen=True)
class SearchResult:
    """All hypotheses on one log.

    Args:
        as_recorded: the fit of the log as it is.
        tried: hypotheses with their fits, best first.
        screened: hypotheses that were not worth a fit.
    """

    as_recorded: HypothesisFit
    tried: tuple[tuple[Hypothesis, HypothesisFit], ...]
    screened: tuple[Hypothesis, ...] = ()

    @property
    def fault(self) -> tuple[Hypothesis, HypothesisFit] | None:
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


def search(judge: Judge, moving: NDArray[np.bool_]) -> SearchResult:
    """Fit the rows under every hypothesis; joints that do not move have no sign and no zero to tell.

    Of a large robot's, whose number grows with the square of the joints, the promising are fitted first, until `PATIENCE` per joint in
    a row fit clearly worse than the best.
    """
    robot, as_recorded = judge.engine.layout.robot, judge.fit()
    candidates = list(hypotheses(robot, moving))
    patience = len(candidates)
    if is_large(robot):
        patience, candidates = PATIENCE * robot.n, by_model(judge, candidates)
    fits: list[HypothesisFit] = []
    best, worse = as_recorded.score, 0
    for h in candidates:
        if worse == patience:
            break
        fits.append(judge.fit(h))
        worse = worse + 1 if fits[-1].score - h.price >= best + ALIKE else 0
        best = min(best, fits[-1].score)
    order = np.argsort([f.score for f in fits], kind="stable")
    return SearchResult(as_recorded, tuple((candidates[i], fits[i]) for i in order), tuple(candidates[len(fits) :]))


def findings(judge: Judge, movement: Movement, *, mount_given: bool = True) -> list[Finding]:
    """What a log says about its own columns, and whether it is of this robot.

    Args:
        judge: the rows and the model.
        movement: which joints move, and for how many periods.
        mount_given: whether the direction of gravity is stated; when not, `identify` finds it, and another one is a warning only.
    """
    searched = search(judge, movement.moving)
    if (fault := searched.fault) is None:
        return _accepted(judge, searched, movement)
    evidence = proof(judge, *fault, movement.periods)
    same = _same_robot(judge, *fault)
    if searched.better_by > CLEAR and evidence.holds and same.verdict != "warning":
        finding = _named(searched, *fault, evidence, mount_given)
        return [finding, *_waiting(finding)]
    if searched.better_by > CLEAR and same.verdict == "warning" and evidence.explained:  # better, but no good either
        return [same, *_waiting(same)]
    # without masses a score tells little, and a single joint's factor is any link that the model has wrong
    suspected = evidence.explained and movement.periods > PERIODS and judge.knows_links and not fault[0].single
    named = [_named(searched, *fault, evidence, mount_given, sure=False)] if suspected else []
    return [*named, *_accepted(judge, searched, movement, named)]


def _accepted(judge: Judge, searched: SearchResult, movement: Movement, suspected: Sequence[Finding] = ()) -> list[Finding]:
    """Findings about a log that is taken as recorded, faults that are only suspected aside."""
    torque = np.linalg.norm(judge.rows.tau, axis=0)
    silent = [j for j in range(judge.engine.n) if not movement.moving[j] or torque[j] == 0.0]
    named = {f.name for f in suspected}
    return [
        *(_untold(kind, searched, silent) for kind in KINDS if kind not in named),
        Finding("lean", "not testable", LEAN, numbers={UNVERIFIED: LEAN}),
        _same_robot(judge, AS_RECORDED, searched.as_recorded),
    ]


def _named(
    searched: SearchResult, h: Hypothesis, fit: HypothesisFit, evidence: Proof, mount_given: bool, *, sure: bool = True
) -> Finding:
    """The fault that explains a log best: a problem when it is proved, a suspicion when not."""
    before, after = searched.as_recorded, fit
    joint = int(np.argmax(before.residual - after.residual)) if not h.joints else max(h.joints, key=lambda j: before.residual[j])
    gain = f"residual {_percent(before.overall)} -> {_percent(after.overall)} %"
    if before.overall < 1.5 * after.overall:
        gain = f"residual of joint {joint + 1} {_percent(before.residual[joint])} -> {_percent(after.residual[joint])} %"
        if before.residual[joint] < 1.2 * after.residual[joint]:
            gain = "otherwise its links would be far from the model's, or joints beyond their limits"
    text = (
        f"it looks as if {h.text} ({gain})"
        if sure
        else f"it may be that {h.text} ({gain}); this log suggests it, but does not prove it"
    )
    others = searched.alike[:MOST_NAMED]
    if others:
        text += f"; the log would be explained as well if {', or if '.join(o.text for o in others)}"
    numbers = {
        "joints": [j + 1 for j in h.joints], "fault": h.text, "alike": [o.text for o in others],
        "residual": before.overall, "residual_mended": after.overall, "per_joint": before.residual,
        "per_joint_mended": after.residual, "better_by": before.score - after.score, **evidence.document(),
    }  # fmt: skip
    if h.kind == "mount" and not mount_given:
        return Finding(h.kind, "warning", text, f"identify finds the direction by itself; to fix it, {h.advice}", numbers=numbers)
    return Finding(h.kind, "problem" if sure else "warning", text, h.advice, numbers=numbers)


def _waiting(fault: Finding) -> list[Finding]:
    """Every other kind of fault, which cannot be told from one that is there."""
    text = f"not testable before the finding about {fault.name} is settled"
    return [_not_testable(kind, text, _WORDS[kind]) for kind in KINDS if kind != fault.name]


def unmoved() -> list[Finding]:
    """What is said of a log in which nothing moves."""
    return [_not_testable(kind, "not testable, since no joint moves", _WORDS[kind]) for kind in KINDS]


def _untold(kind: str, searched: SearchResult, silent: Sequence[int]) -> Finding:
    """A kind of fault of which none was found: fine, or what of it the log would not show."""
    untold = [h for h in searched.untold if h.kind == kind]
    tried = sum(h.kind == kind for h in (*(h for h, _ in searched.tried), *searched.screened))
    joints = {j for h in untold for j in h.joints} | (set(silent) if kind in ("joint signs", "encoder zeros") else set())
    numbers = {"untold": [h.text for h in untold], "tried": tried, "joints": [j + 1 for j in sorted(joints)]}
    if tried and not untold and not joints:
        return Finding(kind, "fine", _FINE[kind], numbers=numbers)
    what = f"{_WORDS[kind]} of {joint_list(list(joints))}" if joints else _WORDS[kind]
    return _not_testable(kind, f"{UNTESTED} {what}", what, numbers)


def _not_testable(kind: str, text: str, what: str, numbers: Mapping[str, object] | None = None) -> Finding:
    return Finding(kind, "not testable", text, numbers={"untold": [], **(numbers or {}), UNVERIFIED: what})


LEAN = "the level of the base (identify estimates a lean of a few degrees)"

_WORDS = {
    "joint signs": "signs",
    "joint order": "order of columns",
    "encoder zeros": "zeros",
    "units": "units",
    "mount": "direction of gravity",
}

_FINE = {
    "joint signs": "positions and torques count the way the model does",
    "joint order": "no two columns look swapped",
    "encoder zeros": "no zero is off by quarter turns",
    "units": "positions and torques have the expected size",
    "mount": "of six directions of gravity the model's own fits best",
}


def _same_robot(judge: Judge, h: Hypothesis, fit: HypothesisFit) -> Finding:
    """Whether the links' torque has anything of the model's, with the fault undone that explains the log best."""
    numbers: dict[str, object] = {"residual": fit.overall, "per_joint": fit.residual}
    robot, rows = judge.engine.layout.robot, judge.under(h) or judge.rows
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
        return Finding("same robot", "warning", text, advice, numbers=numbers)
    if not judge.knows_links:
        text = f"{left}; not testable further, since the model has no masses, or placeholders, to hold the torque against"
        return Finding("same robot", "not testable", text, numbers=numbers)
    like = judge.similarity(fit, h, MISSED)
    lost = [j for j in like.structured if fit.residual[j] > LOST]
    size_off = not 1.0 / OTHER_SIZE < like.scale < OTHER_SIZE
    numbers |= {"distance": like.distance, "scale": like.scale, "missed": [j + 1 for j in like.structured]}
    strange = like.distance > STRANGE or bool(lost) or (like.distance > UNLIKE and (size_off or bool(like.structured)))
    sentence = (
        f"the links' torque differs from the model's by {_percent(like.distance)} % (size {like.scale:.2g} times the model's)"
    )
    expected = f"below {100 * USUAL:.0f} % is usual for a log of this robot"
    if strange:
        missed = list(like.structured)
        why = f"; {joint_list(missed)} {'is' if len(missed) == 1 else 'are'} not explained" if missed else ""
        free = left_out(judge.by_geometry, h).overall
        numbers |= {"geometry": free}
        text = (
            f"is it a log of the same robot? {sentence}, {expected}; {left}{why}; geometry alone, whatever the masses, leaves "
            f"{_percent(free)} % of torque left out"
        )
        advice = (
            "compare the model with the robot: type, lengths, masses, tool; no single swap, sign, zero or unit explains the log"
        )
        return Finding("same robot", "warning", text, advice, numbers=numbers)
    if like.distance > USUAL:
        advice = "check masses and centres of mass of the model, and the tool; identify will move them far"
        return Finding("same robot", "note", f"{sentence}, {expected}; {left}", advice, numbers=numbers)
    return Finding("same robot", "fine", f"{left}; {sentence}", numbers=numbers)


def _percent(x: float) -> str:
    return f"{100.0 * x:.2g}" if x < 1.0 else f"{100.0 * x:.0f}"


def _list(fit: HypothesisFit) -> str:
    return ", ".join(_percent(float(r)) for r in fit.residual)

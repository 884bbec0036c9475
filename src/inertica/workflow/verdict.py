"""What a result is worth: one of three levels by fixed conditions, a sentence with the numbers, and always one next step."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import numpy as np

from inertica.checks.findings import joint_list
from inertica.identifiability.labels import DETERMINED, WEAK
from inertica.validation.residuals import Moving, Residual
from inertica.workflow.inputs import HOLD_OUT, IDENTIFICATION
from inertica.workflow.result import Result

GOOD, DOUBTFUL, BAD = "good", "doubtful", "bad"

OVERALL = 0.2
"""Share of the low-passed torque of all joints together up to which a model predicts well."""

JOINT = 0.4
"""The same for every joint by itself."""

NOTHING = 0.8
"""Share from which a model, or a joint of it, is predicted next to nothing."""

NOISE = 2.0
"""Standard deviations of the torque's own noise that no model is blamed for, at most the size of the torque itself."""

WORSE, CLOSE = 2.0, 0.05
"""Ratio of validation to identification residual from which a model does not carry over, and the share of the torque up to which
it does whatever the ratio."""

FEW = 0.1
"""Share of the parameters with a value of their own that must be determined for a model to be used on other motions, too."""


@dataclass(frozen=True)
class Verdict:
    """A judgement.

    Args:
        level: good, doubtful or bad.
        headline: a few words.
        sentence: with the numbers it rests on.
        next: the one thing to do next.
    """

    level: str
    headline: str
    sentence: str
    next: str

    def document(self) -> dict[str, str]:
        return asdict(self)


def verdict(result: Result) -> Verdict:
    """Judges by the worst data set that was not used in the fit, while joints move.

    bad: the model predicts next to nothing there.  good: all joints together within 20 % and each within 40 % of its own low-passed
    torque, noise of the torque allowed for; within 5 %, or not twice as far off as on the fitted data; every link could exist; no
    problem in the check of the logs, no lack of fit, nothing implausible.  doubtful: everything else.

    Args:
        result: with its residuals, and what the check and the tests of the residuals found.
    """
    others = {name: r for name, r in result.residuals.items() if name != IDENTIFICATION}
    name, worst = max(others.items(), key=lambda pair: _size(pair[1])) if others else ("", result.residuals[IDENTIFICATION])
    doubts = [*_of_prediction(result, name, worst), *_of_findings(result), *_of_values(result)]
    bad = [d for d in doubts if d.level == BAD]
    first = next(iter(bad or doubts), None)
    numbers = _numbers(name, worst) + _own(result, name) + _joints(worst) + _possible(result)
    if first is None:
        return Verdict(GOOD, "Predicts torque well", numbers, _next_of_good(result, name))
    said = " ".join(dict.fromkeys(d.sentence for d in [first, *(d for d in doubts if d is not first)] if d.sentence))
    return Verdict(first.level, first.headline, f"{numbers} {said}".strip(), first.next)


def missed_joints(moving: Moving, share: float) -> list[int]:
    """0-based joints whose error exceeds this share of their torque by more than noise explains.

    Noise counts for at most the torque itself, so that a joint missed by more than its torque is always among them.
    """
    error, torque, noise = (np.array(x) for x in (moving.error, moving.torque, moving.noise))
    allowed = np.hypot(share * torque, np.minimum(NOISE * noise, torque))
    return [int(j) for j in np.flatnonzero(np.isfinite(error) & (error > allowed))]


def excess(moving: Moving) -> float:
    """Share of the torque of all joints that is missed, less what noise explains."""
    error, torque, noise = (np.array(x) for x in (moving.error, moving.torque, moving.noise))
    there = np.isfinite(error)
    left = np.sum(np.maximum(error[there] ** 2 - np.minimum(NOISE * noise[there], torque[there]) ** 2, 0.0))
    size = float(np.sum(torque[there] ** 2))
    return float(np.sqrt(left / size)) if size > 0.0 else math.inf


def _doubt(headline: str, sentence: str, then: str) -> Verdict:
    """One condition that is not met: what it says, and what to do about it."""
    return Verdict(DOUBTFUL, headline, sentence, then)


def _of_prediction(result: Result, name: str, worst: Residual) -> Iterator[Verdict]:
    """Conditions on how well torque is predicted; the first is the one that matters most."""
    missed = excess(worst.moving) if worst.moving is not None else worst.filtered.all
    if not missed < NOTHING or not math.isfinite(_size(worst)):
        then = "run `inertica check` on the robot and its logs: columns, signs, units or the robot itself may be others"
        yield Verdict(BAD, "Not usable", "The model predicts next to nothing there.", then)
        return
    if name and name != HOLD_OUT and _size(worst) > max(CLOSE, WORSE * _size(result.residuals[IDENTIFICATION])):
        then = f"record a log whose motion covers that of {_place(name)} (`inertica excite` designs one) and fit both"
        yield _doubt("Does not carry over", "These do not show what that motion needs.", then)
    if joints := _badly(worst):
        names, (verb, more) = joint_list(joints), ("is", "it moves") if len(joints) == 1 else ("are", "they move")
        then = (
            f"look at {names} in the report: record a log in which {more} more, and faster, or state another friction law "
            "(--friction)"
        )
        yield _doubt("Doubtful", f"{names[0].upper()}{names[1:]} {verb} predicted badly.", then)
    if missed > OVERALL:
        then = (
            "look at the residuals in the report: something in the robot is not in the model, or the motion is too noisy for it"
        )
        yield _doubt("Doubtful", "That is more than noise of the torque explains.", then)
    if not name:
        yield _doubt("Not validated", "No data were left out.", "record a second log and give it with --validate LOG")


def _of_findings(result: Result) -> Iterator[Verdict]:
    """What the check of the logs and the tests of the residuals found."""
    for entry in (result.check or {}).get("findings", ()):
        if entry["verdict"] == "problem":
            then = entry["advice"] or "mend what `inertica check` says of the log"
            yield _doubt("The log has a problem", _sentence(entry["text"]), then)
    for entry in (result.lack_of_fit or {}).get("findings", ()):
        then = "add the term that the finding names, or the experiment that would settle it"
        said, then = (entry, then) if isinstance(entry, str) else (entry["sentence"], entry["next"])
        yield _doubt("Something is not in the model", _sentence(said), then)


def _of_values(result: Result) -> Iterator[Verdict]:
    yield from (_doubt("Doubtful values", _sentence(said), said) for said in result.masses.warnings)
    if not result.physically_consistent:
        then = "use a physically consistent method (--method pc-wls) before giving the model to a simulator"
        yield _doubt("Not every link could exist", "", then)


def _next_of_good(result: Result, name: str) -> str:
    if name == HOLD_OUT:
        return "record a log of another motion and give it with --validate LOG: a part of the same log is the easier test"
    known, alone = (sum(label in words for label in result.labels.values()) for words in ((DETERMINED,), (DETERMINED, WEAK)))
    if known < FEW * alone:
        return (
            f"use the model for motions like these; only {known} of {alone} parameters that could be known by themselves are: "
            "for other motions record one that `inertica excite` designs"
        )
    return "use the model: `identified.*` in the result's folder, or `inertica export`"


def _size(residual: Residual) -> float:
    """What data sets are compared by: the low-passed residual while joints move."""
    size = residual.filtered.all if residual.moving is None else residual.moving.all
    return size if math.isfinite(size) else math.inf


def _badly(residual: Residual) -> list[int]:
    if residual.moving is not None:
        return missed_joints(residual.moving, JOINT)
    return [j for j, x in enumerate(residual.filtered.per_joint) if x > JOINT]


def _place(name: str) -> str:
    return "the stretches of the log that a second fit left out" if name == HOLD_OUT else name


def _numbers(name: str, worst: Residual) -> str:
    where = _place(name) if name else "the data that were fitted"
    moving = worst.moving
    if moving is None:
        return f"On {where}, the predicted torque misses the measured one by {100 * worst.raw.all:.1f} %."
    said = f"On {where}, while joints move, the predicted torque misses the measured one by {100 * moving.all:.1f} %, both low-passed"
    if len(moving.blocks) > 1:
        said += f" ({100 * min(moving.blocks):.1f} to {100 * max(moving.blocks):.1f} % in {len(moving.blocks)} stretches)"
    return f"{said}; as recorded by {100 * worst.raw.all:.1f} %."


def _own(result: Result, name: str) -> str:
    own = result.residuals[IDENTIFICATION]
    return f" On the data that were fitted: {100 * _size(own):.1f} %." if name else ""


def _joints(residual: Residual) -> str:
    """Joints that a sum over all joints hides behind the strong ones, and those that torque noise hides."""
    moving = residual.moving
    if moving is None:
        return ""
    error, torque, noise = (np.array(x) for x in (moving.error, moving.torque, moving.noise))
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = error / torque
    loud = [f"joint {j + 1} {100 * shares[j]:.0f} %" for j in np.flatnonzero(shares > OVERALL)]
    out = f" Missed by much of their own torque: {', '.join(loud)}." if loud else ""
    drowned = [int(j) for j in np.flatnonzero(torque < NOISE * noise)]
    return out + (f" The torque of {joint_list(drowned)} is hardly above its noise and decides nothing." if drowned else "")


def _possible(result: Result) -> str:
    if result.physically_consistent:
        barely = any("held back by" in said and "a body that can exist" in said for said in result.warnings)
        return f" Every link could exist{', some of them barely; a prior (+entropic) keeps them off the edge' if barely else ''}."
    return " Not every link could exist: right for torques, not for simulators that insist on real bodies."


def _sentence(text: str) -> str:
    text = text.strip()
    return "" if not text else text[0].upper() + text[1:] + ("" if text.endswith((".", "?", "!")) else ".")

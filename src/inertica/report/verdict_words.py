"""A verdict in words, the same in terminal, report, studio and JSON: the first line, how good, what is wrong, and one next step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from inertica.checks.findings import Finding, joint_list
from inertica.documents import plain
from inertica.errors import InputError
from inertica.estimators.base import Capability
from inertica.estimators.registry import able, method
from inertica.identifiability.labels import DETERMINED, WEAK
from inertica.numbers import percent
from inertica.physical.check import smallest_margin
from inertica.physical.constraints import MARGIN
from inertica.physical.geometry_prior import link_ends
from inertica.physical.plausible import Implausibility
from inertica.report.names import short_names
from inertica.robot.formats.table import format_of
from inertica.robot.natural import longest_link
from inertica.workflow.identify.inputs import HOLD_OUT, IDENTIFICATION
from inertica.workflow.identify.result import Result
from inertica.workflow.identify.verdict import GOOD, JOINT, Reason, Verdict, What, verdict

FEW = 0.1
"""Share of the parameters with a value of their own that must be determined for a model to be used on other motions, too."""

BARELY = 10.0
"""Margins of physical consistency within which a link can just exist."""

LINK_SPAN, TOTAL_SPAN = 1.5, 1.2
"""Factors around the model's mass of a link, and of all, that card lines propose as bounds."""

BOX_MARGIN = 0.25
"""Lengths of the longest link by which proposed boxes for centres of mass are wider than the link."""

HEADLINES = {
    What.NOTHING: "Not usable",
    What.TOTAL_MASS: "Implausible masses",
    What.LINK_MASS: "Implausible masses",
    What.CARRY_OVER: "Does not carry over",
    What.WORSE: "Worse than the model it came from",
    What.JOINT: "A joint is predicted badly",
    What.RESIDUAL: "Much of the torque is not explained",
    What.UNVALIDATED: "Not validated",
    What.CHECK: "The log has a problem",
    What.LACK_OF_FIT: "Something is not in the model",
    What.BODY: "Doubtful values",
    What.IMPOSSIBLE: "Not every link could exist",
    What.EXPORT: "The exported model is not the identified one",
}


@dataclass(frozen=True)
class VerdictWords:
    """A verdict for people.

    Args:
        first_line: what the model that came in leaves of the torque, and what the identified one does.
        headline: a few words.
        quality: the residual it rests on, one sentence.
        details: everything else that must be said, one sentence each.
        next: the one thing to do next.
        card: lines of a robot card that would help; empty where none would.
    """

    first_line: str
    headline: str
    quality: str
    details: tuple[str, ...]
    next: str
    card: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        return " ".join((self.quality, *self.details))


def verdict_words(result: Result, judged: Verdict | None = None) -> VerdictWords:
    """Words for a verdict; for that of the result when none is given."""
    judged = judged or verdict(result)
    serious = [reason for reason in judged.reasons if reason.level != GOOD]
    where = _data_words(result, judged.data_set)
    quality = f"On {where}, the predicted torque misses the torque as recorded by {percent(judged.residual)}."
    details = [
        *_fitted(result, judged), *_missed(judged.reasons, What.JOINT), *_reasons(result, serious),
        *_missed(judged.reasons, What.LIGHT_JOINT), _not_recorded(result, judged.data_set), _possible(result),
    ]  # fmt: skip
    distinct = tuple(dict.fromkeys(sentence for sentence in details if sentence))
    if not serious:
        praise = _praise(judged, _without_torque(result, judged.data_set))
        return VerdictWords(first_line(result), praise, quality, distinct, _next_of_good(result, judged.data_set))
    headline, then = HEADLINES[serious[0].what], _next(result, serious[0], judged)
    return VerdictWords(first_line(result), headline, quality, distinct, then, card_lines(result, serious))


def _praise(judged: Verdict, unknown: list[int]) -> str:
    """The headline of a good result, with the joints that it does not hold for; of some nothing is known."""
    joints = [j - 1 for reason in judged.reasons for j in reason.joints] + unknown
    return "Predicts torque well" + (f", but for {joint_list(joints)}" if joints else "")


def _without_torque(result: Result, data_set: str) -> list[int]:
    """0-based joints of which a data set has no torque."""
    return np.flatnonzero(np.isnan(result.residuals[data_set].raw.per_joint)).tolist()


def _not_recorded(result: Result, data_set: str) -> str:
    """The sentence on joints of which there is no torque."""
    joints = _without_torque(result, data_set)
    if not joints:
        return ""
    return (
        f"No torque of {joint_list(joints)} was recorded: nothing here says how well it is predicted, nor what friction it has."
    )


def verdict_document(result: Result) -> dict[str, object]:
    """A verdict as plain data, numbers and words."""
    judged = verdict(result)
    words = verdict_words(result, judged)
    document: dict[str, object] = {"first_line": words.first_line, "headline": words.headline, "sentence": words.sentence}
    return {**plain(judged), **document, "next": words.next, "card": list(words.card)}


def first_line(result: Result) -> str:
    """The model that came in beside the identified one, both by the raw residual of the verdict's data set."""
    judged, before = verdict(result), result.before
    after = f"{percent(judged.residual)} of the torque as recorded, on {_data_words(result, judged.data_set)}"
    if before is None:
        return f"The identified model leaves {after}."
    if not before.masses:
        return f"The model you came with states no masses; the identified one leaves {after}."
    remarks = [
        *([] if before.friction else ["the model you came with is without friction"]),
        *(["its values were changed on purpose, for the log was simulated with them"] if before.distorted else []),
    ]
    after_fit = "; ".join(
        [f"The model you came with leaves {percent(before.residual.raw.all)}, the identified one {after}", *remarks]
    )
    return f"{after_fit}."


def card_lines(result: Result, reasons: Iterable[Reason]) -> tuple[str, ...]:
    """Lines of a robot card that would keep masses and centres of mass near the model's, with the numbers of this robot.

    What the card states already is not proposed again.
    """
    stated, masses = result.description.constraints, result.masses
    wrong = [reason for reason in reasons if reason.what in (What.TOTAL_MASS, What.LINK_MASS)]
    links: dict[int, list[str]] = {}
    for link in (j for reason in wrong for j in reason.joints if "mass" not in _stated(result, j)):
        links.setdefault(link, []).append(f"mass: {_range(masses.links[link - 1].prior, LINK_SPAN)}")
    for link in (
        j
        for doubt in masses.doubts
        if doubt.what is Implausibility.CENTRE
        for j in doubt.links
        if "com" not in _stated(result, j)
    ):
        links.setdefault(link, []).append(f"com: {{box: {_box(result, link - 1)}}}")
    out = ["constraints:"]
    if wrong and "total_mass" not in stated:
        out.append(f"  total_mass: {_range(masses.prior_total, TOTAL_SPAN)}")
    if links:
        out += ["  links:", *(f"    {j}: {{{', '.join(links[j])}}}" for j in sorted(links))]
    if len(out) == 1:
        return ()
    if wrong and not result.description.trust:
        out.append(f"prior: {{masses: 10 %}}  # used by --method {', '.join(able(Capability.TAKES_TRUST))}")
    source = result.description.source
    return tuple(out) if source.card is not None or format_of(source).states_laws else (f"model: {source.path.name}", *out)


def _stated(result: Result, link: int) -> Mapping[str, object]:
    """What the card says of a 1-based link."""
    links: Mapping[int, Mapping[str, object]] = result.description.constraints.get("links", {})
    return links.get(link, {})


def _range(mass: float, factor: float) -> str:
    return _list([mass / factor, mass * factor])


def _box(result: Result, link: int) -> str:
    """Lower and upper corner of a box around a link's joints and the model's centre of mass, in the link's frame."""
    robot, centre = result.description.robot, result.masses.links[link].prior_com
    points = np.vstack([link_ends(robot)[link], centre[None] if np.isfinite(centre).all() else np.empty((0, 3))])
    margin = BOX_MARGIN * (longest_link(robot) or 1.0)
    return f"[{_list(points.min(axis=0) - margin)}, {_list(points.max(axis=0) + margin)}]"


def _list(values: Iterable[float]) -> str:
    """Numbers of three digits, as YAML reads them."""
    rounded = [float(f"{x:.3g}") + 0.0 for x in values]
    return f"[{', '.join(f'{x:g}' for x in rounded)}]"


def _data_words(result: Result, data_set: str) -> str:
    """A data set as people call it."""
    if data_set == IDENTIFICATION:
        return "the data that were fitted"
    if data_set == HOLD_OUT:
        return "stretches of the log that a second fit left out"
    return f"{_short(result, data_set)}, which was not fitted"


def _short(result: Result, data_set: str) -> str:
    names = list(result.residuals)
    return short_names(names)[names.index(data_set)]


def _fitted(result: Result, judged: Verdict) -> list[str]:
    residual = result.residuals[IDENTIFICATION].raw.all
    return [] if judged.data_set == IDENTIFICATION else [f"On the data that were fitted it misses {percent(residual)}."]


def _missed(reasons: Sequence[Reason], what: What) -> list[str]:
    """Every joint that is missed by much of its own torque, of those that carry load, or of the others."""
    remark = (
        " (nearly all of that torque is friction or noise, so the verdict does not depend on it)"
        if what is What.LIGHT_JOINT
        else ""
    )
    joints = ", ".join(f"joint {r.joints[0]} by {percent(r.value)}" for r in reasons if r.what is what)
    return [f"A joint's own torque is missed by more than {100 * JOINT:g} %: {joints}{remark}."] if joints else []


def _reasons(result: Result, reasons: Sequence[Reason]) -> list[str]:
    """One sentence and more for every condition that is not met."""
    out = list[str]()
    for reason in reasons:
        match reason.what:
            case What.NOTHING:
                out.append("The model predicts next to nothing there.")
            case What.CARRY_OVER:
                out.append("That motion needs parameters which the fitted motions hardly excite.")
            case What.WORSE if result.before is not None:
                out.append(f"The model that came in leaves {percent(result.before.residual.raw.all)} there.")
            case What.RESIDUAL:
                out.append(f"A good model would leave at most {percent(reason.limit)}, noise of the torque included.")
            case What.UNVALIDATED:
                out.append("No data were left out.")
            case What.CHECK:
                out += [_sentence(f.text) for f in _problems(result)]
            case What.LACK_OF_FIT:
                out += [_sentence(finding) for finding in result.lack_of_fit.findings] if result.lack_of_fit else []
            case What.TOTAL_MASS | What.LINK_MASS | What.BODY:
                out += [_sentence(finding) for finding in result.masses.warnings]  # said once, whatever the number of reasons
            case What.EXPORT:
                out.append(f"The model file leaves {percent(reason.value)}, more than half of the gain is lost in it.")
            case _:  # joints are listed together, links that could not exist at the end
                continue
    return out


def _next(result: Result, first: Reason, judged: Verdict) -> str:
    """What to do about the most important condition that is not met."""
    match first.what:
        case What.NOTHING:
            return "run `inertica check` on the robot and its logs: columns, signs, units or the robot itself may be others"
        case What.TOTAL_MASS | What.LINK_MASS:
            return _next_of_masses(result, card_lines(result, judged.reasons))
        case What.CARRY_OVER:
            name = _short(result, judged.data_set)
            return f"record a log whose motion covers that of {name}{_designed(result)} and fit both"
        case What.WORSE:
            return f"keep the model you came with, and record a log in which the robot moves more{_designed(result)}"
        case What.JOINT:
            joints = [r.joints[0] - 1 for r in judged.reasons if r.what is What.JOINT]
            more = "it moves" if len(joints) == 1 else "they move"
            return (
                f"look at {joint_list(joints)} in the report: record a log in which {more} more, and faster, or state another "
                "friction law (--friction)"
            )
        case What.RESIDUAL:
            return "look at the residuals in the report: something in the robot is not in the model, or the motion is too noisy for it"
        case What.UNVALIDATED:
            return "record a second log and give it with --validate LOG"
        case What.CHECK:
            return next((f.advice for f in _problems(result) if f.advice), "mend what `inertica check` says of the log")
        case What.LACK_OF_FIT:
            return "add the term that the finding names, or the experiment that would settle it"
        case What.BODY if not card_lines(result, judged.reasons):
            return result.masses.warnings[0]
        case What.BODY:
            return "state in the card what is known of masses and centres of mass, with bounds that you trust, and fit again"
        case What.IMPOSSIBLE:
            return "use a physically consistent method (--method pc-wls) before giving the model to a simulator"
        case _:
            return "write a format that holds what was found (`inertica export`), or use the card beside the model file"


def _designed(result: Result) -> str:
    """Who designs such a motion; nobody for a base that floats."""
    return "" if result.description.robot.floating else " (`inertica excite` designs one)"


def _next_of_masses(result: Result, card: Sequence[str]) -> str:
    """Masses that cannot be the robot's: what to state, or to use, that is not stated or used already."""
    prior = "" if _draws_on_prior(result) else " or use a method with a prior (--method pc-wls+entropic),"
    if card:
        return f"state in the card what is known of the masses, with bounds that you trust,{prior} and fit again"
    return f"record a motion that shows the masses{_designed(result)},{prior} and fit again"


def _next_of_good(result: Result, data_set: str) -> str:
    if data_set == HOLD_OUT:
        return "record a log of another motion and give it with --validate LOG: a part of the same log is the easier test"
    known, alone = (sum(label in words for label in result.labels.values()) for words in ((DETERMINED,), (DETERMINED, WEAK)))
    if known < FEW * alone:
        return (
            f"use the model for motions like these; only {known} of {alone} parameters that could be known by themselves are: "
            f"for others record another motion{_designed(result)}"
        )
    return "use the model: `identified.*` in the result's folder, or `inertica export`"


def _draws_on_prior(result: Result) -> bool:
    """Whether the method is drawn towards the prior."""
    try:
        return Capability.PULLED in method(result.method).capabilities
    except InputError:  # a user's own method
        return True


def _possible(result: Result) -> str:
    if not result.physically_consistent:
        return "Not every link could exist: right for torques, not for simulators that insist on real bodies."
    margin, least = smallest_margin(result.parameters), result.description.constraints.get("margin", MARGIN)
    if margin is None or margin > BARELY * least:
        return "Every link could exist."
    advice = "" if _draws_on_prior(result) else "; a prior (+entropic) keeps them off the edge"
    return f"Every link could exist, some of them barely{advice}."


def _problems(result: Result) -> tuple[Finding, ...]:
    return () if result.check is None else result.check.problems


def _sentence(text: str) -> str:
    text = text.strip()
    return "" if not text else text[0].upper() + text[1:] + ("" if text.endswith((".", "?", "!")) else ".")

"""Why a choice came out as it did: a kind of `Reason` with typed values for every decision, and the one place that says them in words.

Decisions hand on values; documents hold them under `reason`, with the kind by name, beside the sentence that they make.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol

from inertica.documents import OneOfKinds
from inertica.estimators.structure.bandwidth import BandGain
from inertica.guard import Comparison


@dataclass(frozen=True)
class Alternative:
    """One thing that could have been chosen.

    Args:
        name: in words.
        score: relative prediction error on data left out, or what the decision compares.
        taken: whether it was chosen.
        group: what it is a candidate for, such as a joint; empty for the decision as a whole.
        number, unit: of a candidate that is a number, to be drawn along an axis.
        series: which curve such a number belongs to.
    """

    name: str
    score: float
    taken: bool = False
    group: str = ""
    number: float | None = None
    unit: str = ""
    series: str = ""

    @property
    def full_name(self) -> str:
        return f"{self.group}: {self.name}" if self.group else self.name


class Decided(Protocol):
    """What a reason needs of the choice that it belongs to."""

    @property
    def value(self) -> str: ...

    @property
    def candidates(self) -> tuple[Alternative, ...]: ...

    @property
    def disagreement(self) -> bool: ...


class Reason(OneOfKinds):
    """Why something was decided."""

    def words(self, choice: Decided) -> str:
        """The sentence of a choice with this reason."""
        raise NotImplementedError


@dataclass(frozen=True)
class Words(Reason):
    """What needs no number, and what earlier versions wrote."""

    text: str

    def words(self, choice: Decided) -> str:
        return self.text


@dataclass(frozen=True)
class Stated(Reason):
    """The user fixed it."""

    def words(self, choice: Decided) -> str:
        return f"{choice.value}: given, not chosen"


@dataclass(frozen=True)
class Outliers(Reason):
    """A robust method or a plain one.

    Args:
        share: of the residuals of a plain fit, largest over the joints, that are outliers.
        beyond: robust standard deviations from which a residual counts as one.
        left_out: method -> relative residual on data left out, the plain one first; empty where too few ask for a comparison.
    """

    share: float
    beyond: float
    left_out: Mapping[str, float]

    ALWAYS: ClassVar[str] = (
        "joints are weighed by their noise, every link is one that could exist, and a mild prior keeps values near the model's where "
        "data do not decide"
    )

    def words(self, choice: Decided) -> str:
        count = f"{100 * self.share:.2g} % of the residuals lie beyond {self.beyond:g} robust standard deviations"
        if not self.left_out:
            return f"{choice.value}: {count}, too few to ask for a robust method; {self.ALWAYS}"
        (plain, least), (robust, other) = self.left_out.items()
        return (
            f"{choice.value}: {count}; on data left out {plain} leaves {100 * least:.3g} % of the raw torque, {robust} "
            f"{100 * other:.3g} %, joints weighed by their errors; {self.ALWAYS}"
        )


@dataclass(frozen=True)
class HeldMasses(Reason):
    """Implausible masses held near the model's, or left as they are.

    Args:
        links: 1-based, in words.
        far: factor off the model's mass from which a mass is implausible.
        held: whether they are held.
        compared: data left out with masses held and without.
    """

    links: str
    far: float
    held: bool
    compared: Comparison

    def words(self, choice: Decided) -> str:
        if self.held:
            far = f"data that do not decide it had taken it by more than a factor {self.far:g}"
            return f"{choice.value}, from which {far}: {self.compared.sentence}"
        return f"link {self.links} is left as the data have it, far from the model: near it {self.compared.sentence}"


@dataclass(frozen=True)
class RoundedFriction(Reason):
    """Dry friction near standstill in predictions; by tenths left out, all joints together."""

    rounded: bool
    compared: Comparison

    def words(self, choice: Decided) -> str:
        if self.rounded:
            return (
                f"predictions round the jump of dry friction, tanh(velocity / width): {choice.value}; {self.compared.sentence}; "
                "parameters, intervals and model files are without it"
            )
        pays = "rounding dry friction pays on no joint by tenths and thirds left out"
        return f"held: {pays}; all joints, by tenths: {self.compared.sentence}"


@dataclass(frozen=True)
class CorrectedPredictions(Reason):
    """What predictions add to links that could exist."""

    corrected: bool
    compared: Comparison

    def words(self, choice: Decided) -> str:
        if self.corrected:
            return (
                f"predictions add to the base parameters what no physically consistent links explain ({choice.value}): "
                f"{self.compared.sentence}; parameters, intervals and model files are without it"
            )
        return f"none: predictions are those of the identified links; {self.compared.sentence}"


@dataclass(frozen=True)
class FollowsPosition(Reason):
    """Torque that follows position; the candidates' scores are what is left of each joint's squared error."""

    compared: Comparison

    def words(self, choice: Decided) -> str:
        shares = ", ".join(f"{100 * term.score:.2g} % on {term.group}" for term in choice.candidates)
        return (
            f"{choice.value}: torque that depends on position and that no link near the model's explains (cables, hoses, springs, a "
            f"sensor that feels the turn); the squared error on data left out becomes {shares} of what it was; "
            f"{self.compared.sentence}"
        )


@dataclass(frozen=True)
class Piece:
    """A piece of friction that was left out.

    Args:
        name: of the law.
        joint: 1-based.
        share: of the squared error that it would explain.
        z: its amplitude over its standard error; negative on the wrong side of zero.
    """

    name: str
    joint: int
    share: float
    z: float


@dataclass(frozen=True)
class Friction(Reason):
    """Laws of friction.

    Args:
        tried: law -> standard errors by which its amplitude must differ from zero.
        least: share of a joint's error that a law must explain.
        refused: the best of those left out; None where nothing was.
        compared: data left out with the chosen laws, and with viscous and Coulomb friction alone.
    """

    tried: Mapping[str, float]
    least: float
    refused: Piece | None
    compared: Comparison

    def words(self, choice: Decided) -> str:
        usual = min(self.tried.values())
        more = {name: errors for name, errors in self.tried.items() if errors > usual}
        names = ", ".join(name for name in self.tried if name not in more) + (f" (and {', '.join(more)})" if more else "")
        higher = "".join(f" ({errors:g} for {name})" for name, errors in more.items())
        refused = ""
        if (p := self.refused) is not None:
            refused = (
                f"; the best of those left out is {p.name} on joint {p.joint}: it would explain {100 * p.share:.2g} % and is "
                f"{abs(p.z):.2g} standard errors {'away from zero' if p.z > 0.0 else 'on the wrong side of zero'}"
            )
        return (
            f"{choice.value}; {names} friction were tried on every joint; a law is added only where it brakes the motion, explains at "
            f"least {100 * self.least:g} % of what the torque of that joint is missed by, and is not zero by chance: its amplitude is "
            f"at least {usual:g} times its standard error{higher}{refused}; {self.compared.sentence}, that is with viscous and "
            "Coulomb friction alone"
        )


@dataclass(frozen=True)
class BandwidthOfFit(Reason):
    """How far a fit follows torque, and the filter of predictions.

    Args:
        band: Hz below which the positions move.
        begin, widest: Hz where the search began, and up to which the gain of measured on predicted torque allows to go.
        gain: in the last band that was looked at; None where there was one candidate.
        worse: data left out with the widest bandwidth and with the best, where they ask for less; None where they do not.
        reversal: s around reversals of a joint in which its rows are left out.
        left_out: relative residual of raw torque left out, of the chosen filter of predictions.
        settings: how many were tried.
    """

    band: float
    begin: float
    widest: float
    gain: BandGain | None
    worse: Comparison | None
    reversal: float
    left_out: float
    settings: int

    def words(self, choice: Decided) -> str:
        why = f"the positions move below {self.band:.3g} Hz, so the search began at {self.begin:.3g} Hz"
        if (g := self.gain) is not None and g.near_one:
            why += f" and went on to {self.widest:.3g} Hz, where the rate or the noise floor of the position ends it"
        elif g is not None:
            size = f"{g.weighted:.2f} (median joint {g.median:.2f})"
            why += f"; between {g.low:.3g} and {g.high:.3g} Hz measured torque is {size} times the predicted one, not near one"
        if self.worse is not None:
            why += (
                f"; up to {self.widest:.3g} Hz by that rule, but such a fit predicts data left out clearly worse: "
                f"{100 * self.worse.score:.3g} % against {100 * self.worse.score_without:.3g} %"
            )
        return (
            f"{choice.value}: {why}; rows within {1e3 * self.reversal:.2g} ms of a joint's reversals are left out; the filter of "
            f"predictions leaves {100 * self.left_out:.2f} % of the raw torque of data left out, the least of {self.settings} settings"
        )


@dataclass(frozen=True)
class StatedCutoff(Reason):
    """The user fixed the cut-off; data left out choose where velocity comes from."""

    def words(self, choice: Decided) -> str:
        each = {c.name: f"{100 * c.score:.3g} %" for c in choice.candidates}
        chosen = next(c.name for c in choice.candidates if c.taken)
        others = ", ".join(f"{score} ({name})" for name, score in each.items() if name != chosen)
        others = others or "no other: the recorded velocities, or those of the positions, leave too few rows between reversals"
        return f"{choice.value}: the cut-off is given; on data left out {each[chosen]}, against {others}"


@dataclass(frozen=True)
class EveryRow(Reason):
    """Rows near reversals and at rest take part, or not although they hold most of the torque.

    Args:
        share: of the squared torque below a frequency that the other rows hold.
        below: that frequency in Hz.
        compared: data left out with every row, and without those; None where the others are too few to fit.
        usual: why the filter of the others is what it is, where they are what is fitted.
    """

    share: float
    below: float
    compared: Comparison | None
    usual: Reason | None = None

    def words(self, choice: Decided) -> str:
        why = f"rows away from reversals and rest hold, below {self.below:.3g} Hz, only {100 * self.share:.2g} % of the squared torque"
        if self.compared is None:
            score = next(c.score for c in choice.candidates if c.taken)
            return f"{choice.value}: {why}, too few to fit; where the joints move, {100 * score:.3g} % on data left out"
        if self.usual is not None:
            return f"{self.usual.words(choice)}; {why}, yet a fit to every row predicts worse: {self.compared.sentence}"
        return f"{choice.value}: {why}; {self.compared.sentence}"


@dataclass(frozen=True)
class SearchedDelay(Reason):
    """Delays between torque and motion.

    Args:
        search: what the search says of them, in its words.
        compared: data left out with the delays taken out, and with what is expected without looking; None where those are the same.
        lead_stays: whether the lead of a held torque stays in the log, for a method that simulates it.
    """

    search: str
    compared: Comparison | None
    lead_stays: bool

    def words(self, choice: Decided) -> str:
        out = f"{choice.value}: {self.search}"
        if self.compared is not None:
            out += f"; {self.compared.sentence}" + ("" if self.compared.better else ", so it is not taken out")
        lead = "; the lead of the held torque stays in the log, since the method simulates it"
        return out + (lead if self.lead_stays else "")


@dataclass(frozen=True)
class RefinedShapes(Reason):
    """Constants of friction laws.

    Args:
        gain: share of the squared error that they explain.
        open: whether some stay as stated, since the log does not tell them.
    """

    gain: float
    open: bool

    def words(self, choice: Decided) -> str:
        explained = f"other values explain {100 * self.gain:.2g} % of the squared error"
        out = f"{choice.value}: separable least squares over all joints; {explained}"
        more = "; the log does not tell those that are as stated: a factor of seven or more between their ends, or no end at all"
        return out + more if self.open else out


@dataclass(frozen=True)
class SharedBandwidth(Reason):
    """One bandwidth for sets of records.

    Args:
        each: Hz up to which torque follows from motion, by set.
        of_result: Hz of the result that the robot comes from; None where it is one of the sets.
    """

    each: tuple[float, ...]
    of_result: float | None

    def words(self, choice: Decided) -> str:
        sets = ", ".join(f"{f:.3g}" for f in self.each)
        out = f"{choice.value}: measured torque follows from the motion up to {sets} Hz in the sets of records"
        out += f", up to {self.of_result:.3g} Hz in the result" if self.of_result is not None else ""
        out += "; the narrowest holds for all, down to where the motion of a set itself ends"
        return out + ("; data left out asked for less than the gain of torque allowed" if choice.disagreement else "")


@dataclass(frozen=True)
class Widening(Reason):
    """What intervals hold.

    Args:
        median: by how much they are wider than noise alone would make them, median over the parameters.
        simulated: how often the experiment was repeated with the estimate.
        bias: the largest that was taken out, in standard deviations; None where none was.
        in_part: of simulations and other cut-offs on stretches of the data.
        why_not: why nothing was simulated; empty where it was, or was not asked for.
        no_bias: whether the intervals hold no bias of filter and method.
        others: whether other models that fit nearly as well are in them.
    """

    median: float
    simulated: int
    bias: float | None
    in_part: bool
    why_not: str
    no_bias: bool
    others: bool

    def words(self, choice: Decided) -> str:
        where = " on the stretches that choices were made on" if self.in_part else ""
        if self.simulated:
            taken = "no bias beyond noise shows there"
            if self.bias is not None:
                taken = f"the bias that shows there was taken out (at most {self.bias:.2g} standard deviations of a parameter)"
            times = f"the experiment was simulated {self.simulated} times with the estimate and identified alike{where}"
            out = f"{choice.value}: {times}; {taken}"
        else:
            out = choice.value + where + (f"; no bias was corrected, since {self.why_not}" if self.why_not else "")
            out += "; intervals hold no bias of filter and method" if self.no_bias else ""
        out += f"; intervals are {self.median:.2f} times as wide as noise alone would make them (median)"
        return out + ("; other models that fit nearly as well are in them" if self.others else "")


@dataclass(frozen=True)
class LoadWidening(Reason):
    """What a load's intervals hold.

    Args:
        median: by how much they are wider than noise alone would make them.
        records: by how much records differ more than noise explains; 1 where they do not.
        why_not: why no bias was corrected; empty where one was looked for.
    """

    median: float
    records: float
    why_not: str

    def words(self, choice: Decided) -> str:
        why = f"; no bias was corrected, since {self.why_not}" if self.why_not else ""
        wider = f"{self.median:.2f} times as wide as noise alone would make them (median)"
        more = (
            f"; the records differ {self.records:.2f} times more than noise explains, which is in them"
            if self.records > 1.0
            else ""
        )
        return f"{choice.value}{why}; {wider}{more}"

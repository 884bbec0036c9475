"""How the robot is mounted: as its model file says, unless the data say otherwise.

A lean is taken when it is significant, known to a degree, larger than a quarter of one, and data left out are clearly predicted better
with it, part by part (a few seconds of motion may be explained by a lean that no later motion shows); another
side up only when the residual on data left out falls by half.  Gravity pulling the other way explains the same statics with negative
masses, so a hanging robot is told from a standing one by its accelerations; where they do not tell, the model file's word stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from inertica.arrays import Array
from inertica.errors import InputError
from inertica.estimators.base import Problem
from inertica.estimators.consistent.strategy import MILD, Consistent
from inertica.estimators.linear.least_squares import Wls
from inertica.estimators.structure.mount import LeanTest, MountData, compare_signs, lean_test
from inertica.estimators.structure.tilt import Tilt, between, sphere, tangents
from inertica.guard import compare
from inertica.identifiability.base import BaseModel, base_model
from inertica.identifiability.labels import INTERVAL
from inertica.preprocessing.motion import Motion
from inertica.robot.description import Description
from inertica.robot.friction import Offset
from inertica.robot.model import vector
from inertica.robot.plain import assumed_friction
from inertica.threads import one_thread
from inertica.workflow.identify.choice import Say
from inertica.workflow.identify.hold_out import left_out
from inertica.workflow.identify.mount import Mount, listed

SIGNIFICANT = 1e-3
"""p below which a lean is believed."""

KNOWN, SMALLEST = 1.0, 0.25
"""Degrees: largest standard deviation and smallest size of a lean that is used."""

FAR = 10.0
"""Degrees from which it is another mount and not a lean."""

NEAR_AXIS, WILD = 30.0, 30.0
"""Degrees from an axis of the base within which it may stand for a direction; standard deviation above which none is stated."""

HALF, DOUBTFUL = 0.5, 0.8
"""Residual on data left out, relative to that of the model file's mount, at which another one is believed, and mentioned."""

CLEAR = 20.0
"""Variances of a row, times the correlation time, by which squares must differ to tell gravity from its opposite."""

ALIKE = 1e-3
"""Share of the squares on data left out by which the opposite of gravity may do worse and still count as doing alike."""

WORTHWHILE = 0.95
"""Squares of some other direction relative to the model file's below which directions are searched."""

DIRECTIONS, STARTS = 20, 3
"""Directions of the search beside the six axes, and from how many of them it goes downhill."""

TURNS = np.radians(20.0)
"""Travel of a vertical first axis below which a lean is an encoder offset of the next joint."""


SAME = (
    "with these data, in which both give nearly the same torques (slow motion, or axes along gravity); the model file's is kept"
)


def choose_mount(description: Description, motions: Sequence[Motion], say: Say, base: BaseModel | None = None) -> Mount:
    """The direction of gravity in the base frame.

    Args:
        description: the robot; its gravity is where the search begins.
        motions: prepared.
        say: progress.
        base: base parameters of the description with the friction that is assumed, when they are known already.
    """
    say("gravity: testing how the robot is mounted")
    file = vector(description.robot.gravity)

    def kept(why: str) -> Mount:
        return Mount(file, file, f"as the model file has it: {why}")

    if description.robot.floating:
        return kept("the orientation of the base is measured")
    if not any(file):
        return kept("the model file has no gravity, so how the robot is mounted is not testable")
    assumed, added = with_offsets(assumed_friction(description))
    with one_thread():  # factorisations are small
        base = base if base is not None and base.layout == assumed.layout else base_model(assumed.layout)
        try:
            data = MountData(Problem(base, tuple(motions), assumed.prior), added)
        except InputError as error:
            return kept(f"not testable: {error}")
        if not len(data.system.heavy):
            return kept("not testable: no joint of this robot feels gravity in any direction")
        return _Decision(description, motions, data, say).mount()


class _Decision:
    """Which direction the data speak for."""

    def __init__(self, description: Description, motions: Sequence[Motion], data: MountData, say: Say) -> None:
        self.description, self.motions, self.data, self.say = description, motions, data, say
        self.file = np.array(description.robot.gravity)
        self.size = float(np.linalg.norm(self.file))
        self.weights, self.tilt = self._at(self.file)
        self.doubt = ""

    def mount(self) -> Mount:
        far = self._far()
        return far if far is not None else self._near()

    def _turning(self) -> bool:
        """Whether the first axis is vertical and turns, so that a lean differs from an encoder offset of another joint."""
        first = self.description.robot.joints[0]
        axis = np.array(first.rotation) @ np.array(first.axis)
        vertical = not first.prismatic and abs(axis @ self.file) > np.cos(np.radians(FAR)) * self.size
        return bool(vertical and np.ptp(np.concatenate([m.q[~m.mask, 0] for m in self.motions])) > TURNS)

    def _at(self, g: Array) -> tuple[Array, Tilt]:
        """Joint weights of the fit at a direction, and the squares with them."""
        weights = self.data.weights(g)
        return weights, self.data.tilt(weights)

    def _far(self) -> Mount | None:
        """Another side up, when some direction is far better than the model file's."""
        axes = np.vstack([np.eye(3), -np.eye(3), sphere(DIRECTIONS)])
        here = self.tilt.solve(self.file).squares
        squares = np.array([self.tilt.solve(self.size * d).squares for d in axes])
        if squares.min() > WORTHWHILE * here:
            return None
        self.say("gravity: searching its direction")
        ends = [self.tilt.newton(self.size * axes[k]) for k in np.argsort(squares)[:STARTS]]
        best, _ = min(ends, key=lambda end: end[1])
        if self._aside(best) <= FAR:
            return None
        weights, tilt = self._at(best)
        best, _ = tilt.newton(best)
        if self._aside(best) <= FAR:
            return None
        scores = self.data.left_out(weights, best)
        before = min(self.data.left_out(weights, g).error for g in (self.file, -self.file))
        predicts = scores.error < scores.size  # a fit that is worse than no model at all is no evidence
        if scores.error <= HALF**2 * before and predicts and self._possible_links_allow(best):
            return self._elsewhere(weights, tilt, best, before)
        if scores.error <= DOUBTFUL**2 * before and predicts:
            self.doubt = (
                f"gravity along {listed(best / self.size)} of the base would lower the residual on data left out from "
                f"{_percent(before, scores.size)} to {_percent(scores.error, scores.size)} %, which is not enough to believe it: "
                "state gravity in the card if the robot is mounted so"
            )
        return None

    def _elsewhere(self, weights: Array, tilt: Tilt, best: Array, before: float) -> Mount:
        """Another side up: which way gravity pulls, whether it is an axis of the base, and the words."""
        test = lean_test(self.data, tilt, weights, best)
        best, ambiguous = self._signed(tilt, best, 1.0 if test is None else test.correlation)
        best, test = self._squared(weights, tilt, best, before)
        scores = self.data.left_out(weights, best)
        spread = (
            f"± {INTERVAL * test.sd:.1f} deg" if test is not None and test.sd < WILD else "one of its angles is not determined"
        )
        sentence = (
            f"the robot is mounted otherwise than its model file says: gravity points along {listed(best / self.size)} of the base "
            f"({spread}), {between(best, self.file):.0f} deg away; the residual on data left out falls from "
            f"{_percent(before, scores.size)} to {_percent(scores.error, scores.size)} %"
        )
        residuals = (float(np.sqrt(before / scores.size)), float(np.sqrt(scores.error / scores.size)))
        options = {"tested": True, "accepted": True, "ambiguous": ambiguous or None, "residuals": residuals}
        filled = {} if test is None else _angles(np.zeros(2), test)
        return Mount(vector(best), vector(self.file), sentence, **options, **filled)  # type: ignore[arg-type]

    def _squared(self, weights: Array, tilt: Tilt, g: Array, before: float) -> tuple[Array, LeanTest | None]:
        """The nearest axis of the base where the data do not tell g from it: walls and ceilings are square to floors."""
        axis = np.zeros(3)
        k = int(np.argmax(np.abs(g)))
        axis[k] = self.size * np.sign(g[k])
        if between(g, axis) <= NEAR_AXIS:
            test = lean_test(self.data, tilt, weights, axis)
            significant = test is not None and test.p < SIGNIFICANT and test.sd < KNOWN
            if not significant and self.data.left_out(weights, axis).error <= HALF**2 * before:
                return axis, test
        return g, lean_test(self.data, tilt, weights, g)

    def _aside(self, g: Array) -> float:
        """Degrees to the nearer of the model file's gravity and its opposite."""
        return min(between(g, self.file), between(g, -self.file))

    def _signed(self, tilt: Tilt, g: Array, correlation: float) -> tuple[Array, str]:
        """g or its opposite, whichever explains the data with real bodies, and what is to be said of that."""
        signs = compare_signs(self.data, tilt, g, correlation, CLEAR)
        if signs.gain > CLEAR and signs.consistent:
            return tilt.newton(-g)[0], ""
        if signs.gain < -CLEAR:
            return g, ""
        same = g if g @ self.file >= 0.0 else -g
        return same, f"that it is not along {listed(-same / self.size)} is not testable {SAME}"

    def _near(self) -> Mount:
        """Upright or hanging, with a lean or without."""
        home, weights, tilt = self.file, self.weights, self.tilt
        test = lean_test(self.data, tilt, weights, home)
        correlation = 1.0 if test is None else test.correlation
        signs = compare_signs(self.data, tilt, home, correlation, CLEAR)
        ambiguous = ""
        if signs.gain > CLEAR and signs.consistent and self._hangs(home) and self._possible_links_prefer(-home, home):
            home = -home
            weights, tilt = self._at(home)
            test = lean_test(self.data, tilt, weights, home)
        elif signs.gain >= -CLEAR:
            ambiguous = f"whether the robot stands or hangs is not testable {SAME}"
        leaned = self._leaning(home, weights, tilt, test)
        return replace(leaned, ambiguous="; ".join(part for part in (ambiguous, self.doubt) if part) or None)

    def _hangs(self, g: Array) -> bool:
        """Whether the opposite of g predicts data left out no worse; where only real bodies tell them apart, they do alike."""
        weights, _ = self._at(-g)
        return self.data.left_out(weights, -g).error <= (1.0 + ALIKE) * self.data.left_out(weights, g).error

    def _possible_links_allow(self, g: Array) -> bool:
        """Whether links that could exist clearly predict data left out better under g or its opposite than as it is."""
        return any(self._possible_links_prefer(sign * g, self.file) for sign in (1.0, -1.0))

    def _possible_links_prefer(self, g: Array, other: Array) -> bool:
        """Whether links that could exist clearly predict data left out better under g: a short motion may be explained by links upside
        down, or by ones that cannot exist, that predict nothing else.
        """
        scores = []
        for direction in (other, g):
            turned = assumed_friction(self.description.with_gravity(vector(direction)))
            problem = Problem(base_model(turned.layout), tuple(self.motions), turned.prior)
            scores.append(left_out(problem, Wls(solve=replace(Consistent.towards(MILD), strength="mildest"))))
        return scores[1].against(scores[0]).clearly_better

    def _leaning(self, home: Array, weights: Array, tilt: Tilt, test: LeanTest | None) -> Mount:
        """At one of the two directions, with a lean when it is believed."""
        hangs = bool(home @ self.file < 0.0)
        where = "the opposite way to the model file's: the robot hangs" if hangs else "as the model file has it"
        upright = Mount(vector(home), vector(self.file), where, tested=test is not None, accepted=hangs)
        if not self._turning():
            which = min(2, self.description.robot.n)
            why = f"a lean cannot be told from an encoder offset of joint {which}, since the first axis does not turn vertically"
            return replace(upright, sentence=f"{where}; {why}")
        if test is None:
            return replace(upright, sentence=f"{where}; a lean is not testable with this motion")
        upright = replace(upright, **_angles(test.angles, test))
        size, width = float(np.linalg.norm(test.angles)), INTERVAL * test.sd
        if test.p >= SIGNIFICANT:
            if test.sd > KNOWN:
                return replace(upright, sentence=f"{where}; a lean of less than {width:.1f} deg would not show in these data")
            sentence = f"a lean of {size:.2f} deg (± {width:.2f}) is not significant (p = {test.p:.2g})"
            return replace(upright, sentence=f"{where}: {sentence}; a turn about the vertical would not show")
        return self._tried(upright, home, weights, tilt, test)

    def _tried(self, upright: Mount, home: Array, weights: Array, tilt: Tilt, test: LeanTest) -> Mount:
        """A significant lean: converged, and judged on data left out."""
        leaning, _ = tilt.newton(home)
        size = between(leaning, home)
        tilted_data, tilted = self._at(leaning)
        again = lean_test(self.data, tilted, tilted_data, leaning) or test
        along = tangents(home)
        angles = np.degrees(np.arctan2(along @ leaning, home @ leaning / self.size))
        with_it, without = self.data.left_out(tilted_data, leaning, steps=2), self.data.left_out(tilted_data, home)
        compared = compare(with_it.errors, without.errors, without.sizes)
        again = replace(again, tangents=along).at_least(with_it.spread(along))
        again = replace(again, p=max(test.p, again.probability(angles)))
        doubts = [
            f"it is known to ± {INTERVAL * again.sd:.1f} deg only" if again.sd >= KNOWN else "",
            f"it is smaller than {SMALLEST:g} deg" if size <= SMALLEST else "",
            "parts of the data disagree about it" if again.p >= SIGNIFICANT else "",
            "" if compared.significantly_better else "data left out are not clearly predicted better with it",
            "the residual on data left out does not fall by half"
            if size > FAR and with_it.error > HALF**2 * without.error
            else "",
        ]
        residuals = (float(np.sqrt(without.error / without.size)), float(np.sqrt(with_it.error / with_it.size)))
        mounted = replace(upright, residuals=residuals, **_angles(angles, again))
        tilt_words = f"gravity tilted by {size:.2f} deg (± {INTERVAL * again.sd:.2f})"
        if any(doubts):
            because = ", ".join(d for d in doubts if d)
            return replace(
                mounted, sentence=f"{upright.sentence}; {tilt_words} would fit better (p = {again.p:.1g}), but {because}"
            )
        towards = ", ".join(f"{a:.2f} deg towards {name}" for a, name in zip(angles, _names(along), strict=True))
        sentence = (
            f"{upright.sentence if upright.accepted else 'the base leans'}: {tilt_words} from the model file's ({towards}; "
            f"p = {again.p:.1g}); the residual on data left out falls from {100 * residuals[0]:.3g} to {100 * residuals[1]:.3g} %"
        )
        return replace(mounted, gravity=vector(leaning), accepted=True, sentence=sentence)


def with_offsets(description: Description) -> tuple[Description, frozenset[str]]:
    """The robot with a torque offset on every joint, and the names of those it did not have."""
    missing = [Offset(j) for j in description.robot.independent if f"off{j + 1}" not in description.layout.names]
    added = frozenset(p.name for term in missing for p in term.parameters)
    return description.with_terms((*description.layout.terms, *missing)) if missing else description, added


def _percent(error: float, size: float) -> str:
    return f"{100.0 * np.sqrt(error / max(size, 1e-300)):.3g}"


def _names(along: Array) -> tuple[str, ...]:
    axes = {(1.0, 0.0, 0.0): "x", (0.0, 1.0, 0.0): "y", (0.0, 0.0, 1.0): "z"}
    return tuple(axes.get(vector(np.round(t, 9) + 0.0), listed(t)) for t in along)


def _angles(angles: Array, test: LeanTest) -> dict[str, Any]:
    """The fields of `Mount` that a lean fills."""
    half = INTERVAL * np.sqrt(np.diag(test.covariance))
    return {
        "lean": (float(angles[0]), float(angles[1])),
        "half_width": (float(half[0]), float(half[1])),
        "towards": (vector(test.tangents[0]), vector(test.tangents[1])),
        "p": test.p,
    }

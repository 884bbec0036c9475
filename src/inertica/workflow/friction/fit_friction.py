"""Bristle friction with memory (LuGre) of every joint, identified together with the links by separable least squares.

With w = sigma0 z / Fc, the bristle's torque in units of Coulomb friction, a joint's friction is

    dw/dt = kappa (v - |v| w / g(v)),     g = 1 + (rho - 1) exp(-|v / vs|^2),
    tau   = Fc w + (sigma1 / kappa) dw/dt + Fv v,        kappa = sigma0 / Fc,  rho = Fs / Fc.

Given kappa, rho and vs the measured motion gives w, and the torque is linear in Fc, sigma1 / kappa, Fv and the links' base parameters:
an outer search over the shapes, least squares inside (`estimators.structure.shape_search`).  w is advanced exactly over steps of
constant velocity, in the measured displacement.  Rows near reversals take part, since they show the bristles.

A joint whose log does not show that friction falls with speed has rho = 1; bristle damping that is within two standard deviations of
zero, or negative, is left out; a joint whose log does not show kappa keeps Coulomb friction, and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import yaml

from inertica.arrays import Array
from inertica.compiled import njit
from inertica.errors import InputError
from inertica.estimators.observe import Observations
from inertica.estimators.standard import nearest_prior
from inertica.estimators.structure.shape_search import FoundShapes, ShapedColumns, found_shapes
from inertica.identifiability.base import base_model
from inertica.preprocessing.motion import Motion
from inertica.preprocessing.prepare import prepare
from inertica.robot.description import Description
from inertica.robot.friction import Coulomb, FrictionLaw, LuGre, Offset, Viscous, friction_text
from inertica.robot.layout import Parameters
from inertica.robot.plain import with_laws
from inertica.workflow.friction.bristles import LUGRE, Bristles, JointFriction
from inertica.workflow.identify.choose import check, choose
from inertica.workflow.identify.inputs import LogLike, check_all_move, read
from inertica.workflow.identify.settings import Settings

STIFFEST, SOFTEST = 3.0, 0.1
"""Bounds of 1 / kappa, the way in which a bristle bends: parts of the smallest step that is resolved, and of the motion's rms."""

STRIBECK = (0.5, 4.0)
"""Bounds of rho."""

SLOW = (0.005, 0.5)
"""Bounds of vs, in parts of the joint's 95th percentile speed."""

SURE = 2.0
"""Standard deviations by which bristle damping and the logarithm of rho must differ from zero."""

NEIGHBOUR = 1.4
"""By which the cut-off is divided for a second fit: noise in measured velocities and the filter itself bend the bristles, and what
changes with the cut-off counts as a standard deviation."""

EXPONENT = 2.0
"""es, which logs hardly tell from vs."""


@dataclass(frozen=True, eq=False)
class FrictionFit:
    """What was found.

    Args:
        robot: with the laws; its prior holds the links found with them.
        joints: one entry each.
        residuals: data set -> relative residual of the torque, with viscous and Coulomb friction and with the laws found.
        warnings: one sentence each.
        logs: where the identification's logs came from.
    """

    robot: Description
    joints: tuple[JointFriction, ...]
    residuals: Mapping[str, tuple[float, float]]
    warnings: tuple[str, ...]
    logs: tuple[str, ...] = ()

    @property
    def laws(self) -> tuple[FrictionLaw, ...]:
        return tuple(t for t in self.robot.layout.terms if isinstance(t, FrictionLaw))

    @property
    def bristles(self) -> Bristles:
        """To be added to a result."""
        return Bristles(self.joints, self.logs)

    def card(self) -> str:
        """A robot card with these laws, over the model file that the robot came from."""
        return (
            yaml.safe_dump({"model": str(self.robot.source.path)}, width=10_000, allow_unicode=True)
            + f"friction: {friction_text(self.laws)}\n"
        )


def fit_friction(
    robot: str | Path | Description,
    logs: Sequence[LogLike],
    *,
    validate: Sequence[LogLike] = (),
    joints: Sequence[int] | None = None,
    settings: Settings | None = None,
    progress: Callable[[str], None] | None = None,
) -> FrictionFit:
    """Find the LuGre friction of a robot's joints from logs.

    Args:
        robot: catalog name, model file, card, or a description.
        logs: files or logs with position and torque.
        validate: further ones, only predicted.
        joints: 1-based joints that may have bristles; all when not given.
        settings: cut-off, delay and the like; friction and method are not asked.
        progress: receives one line per step.

    Examples:
        >>> fit = ia.fit_friction("card.yaml", ["run1.csv.gz"], joints=[1])
        >>> card = fit.card()
    """
    say = progress or (lambda _: None)
    settings_used = replace(
        settings or Settings(), friction=("viscous", "coulomb", "offset"), method="wls", options={}, refine_shapes=False
    )
    inputs = read(robot, logs, validate, settings_used, say)
    check_all_move(inputs.logs, inputs.description.robot)
    if inputs.torque_only:
        raise InputError("bristle friction needs recorded positions: it is a matter of measured motion")
    chosen = choose(check(inputs, say), say)
    n = chosen.description.robot.n
    numbers = range(n) if joints is None else [j - 1 for j in joints]
    if not all(0 <= j < n for j in numbers):
        raise InputError(f"joints are numbered 1 to {n}; asked were {', '.join(str(j + 1) for j in numbers)}")
    recipe = replace(chosen.recipe, reversal=None, standstill=None)
    motions = {"identification": tuple(prepare(log, recipe) for log in inputs.logs)}
    motions |= {name: (prepare(log, recipe),) for name, log in inputs.validation.items()}
    say("friction: bristles")
    search = _Search(chosen.description, motions, tuple(numbers))
    cutoff = getattr(recipe.filter, "cutoff", None)
    origins = tuple(str(log.origin) for log in inputs.logs)
    if cutoff is None:
        return replace(search.answer(search.run(), None), logs=origins)
    lower = replace(recipe, filter=replace(recipe.filter, cutoff=cutoff / NEIGHBOUR))  # type: ignore[type-var]
    say("friction: the same with a lower cut-off")
    other = _Search(chosen.description, {"identification": tuple(prepare(log, lower) for log in inputs.logs)}, tuple(numbers))
    shapes = search.run()
    return replace(search.answer(shapes, other.again(search.kinds, shapes)), logs=origins)


class _Search:
    """Models of a robot's friction on the same rows, from plain to with bristles."""

    def __init__(self, description: Description, motions: Mapping[str, tuple[Motion, ...]], joints: tuple[int, ...]) -> None:
        self.description, self.sets, self.joints = description, motions, joints
        self.motions = motions["identification"]
        offsets = [Offset(j) for j in range(description.robot.n)]
        self.rest = with_laws(description, offsets)
        self.base = base_model(self.rest.layout)
        self.system = Observations(self.base, self.motions, self.rest.prior)
        self.sigma = Observations(base_model(description.layout), self.motions, description.prior).sigmas
        rates = np.abs(np.concatenate([m.dq for m in self.motions]))
        self.fastest = np.maximum(np.quantile(rates, 0.95, axis=0), 1e-9 * rates.max(axis=0))

    def run(self) -> FoundShapes:
        n = self.description.robot.n
        self.kinds = {j: _Kind(j in self.joints, j in self.joints, j in self.joints) for j in range(n)}
        shapes: FoundShapes | None = None
        while True:
            start = None if shapes is None else shapes.values
            shapes = found_shapes(self.system, self._listed(), self.plain.sigmas if shapes is None else shapes.sigmas, start)
            if start is None:
                self.richest = shapes
            simpler = {j: self._simpler(j, kind, shapes) for j, kind in self.kinds.items()}
            if simpler == self.kinds:
                return shapes
            self.kinds = simpler

    def again(self, kinds: Mapping[int, _Kind], shapes: FoundShapes) -> FoundShapes:
        """The same model on other rows, from what was found."""
        self.kinds = dict(kinds)
        return found_shapes(self.system, self._listed(), shapes.sigmas, shapes.values)

    def _listed(self) -> list[ShapedColumns]:
        return [self._shaped(j, kind) for j, kind in self.kinds.items()]

    @cached_property
    def plain(self) -> FoundShapes:
        """Viscous and Coulomb friction on every joint."""
        n = self.description.robot.n
        return found_shapes(self.system, [self._shaped(j, _Kind(False, False, False)) for j in range(n)], self.sigma)

    def _simpler(self, j: int, kind: _Kind, shapes: FoundShapes) -> _Kind:
        """Without what the rows do not show; one thing at a time."""
        if not kind.bristles:
            return kind
        if not np.isfinite(shapes.std[f"kappa{j + 1}"]) or shapes.amplitudes[f"Fc{j + 1}"] <= 0.0:
            return _Kind(False, False, False)
        if kind.stribeck:
            name = f"rho{j + 1}"
            std = shapes.std[name]
            if (
                not np.isfinite(std)
                or not np.isfinite(shapes.std[f"slow{j + 1}"])
                or abs(np.log(shapes.values[name])) < SURE * std
            ):
                return replace(kind, stribeck=False)
        name = f"sigma1_{j + 1}"
        if kind.damped and shapes.amplitudes[name] < SURE * shapes.amplitude_std[name]:
            return replace(kind, damped=False)
        return kind

    def _shaped(self, j: int, kind: _Kind) -> ShapedColumns:
        if not kind.bristles:
            empty = np.zeros(0)
            return ShapedColumns(
                j, (), empty, empty, empty, (f"Fc{j + 1}", f"Fv{j + 1}"), lambda _: self._columns(j, kind, empty)
            )
        way = float(np.sqrt(np.mean(np.concatenate([m.q[:, j] - m.q[:, j].mean() for m in self.motions]) ** 2)))
        step = min(float(np.sqrt(np.mean(np.diff(m.q[:, j]) ** 2))) for m in self.motions)
        lower, upper = [1.0 / (SOFTEST * way)], [STIFFEST / max(step, 1e-9 * way)]  # a joint that does not move is refused before
        start, names = [float(np.sqrt(lower[0] * upper[0]))], [f"kappa{j + 1}"]
        if kind.stribeck:
            names += [f"rho{j + 1}", f"slow{j + 1}"]
            lower += [STRIBECK[0], SLOW[0] * self.fastest[j]]
            upper += [STRIBECK[1], SLOW[1] * self.fastest[j]]
            start += [1.2, 0.05 * self.fastest[j]]
        parameters = [f"Fc{j + 1}", *([f"sigma1_{j + 1}"] if kind.damped else []), f"Fv{j + 1}"]
        return ShapedColumns(
            j,
            tuple(names),
            np.array(start),
            np.array(lower),
            np.array(upper),
            tuple(parameters),
            lambda s: self._columns(j, kind, s),
        )

    def _columns(self, j: int, kind: _Kind, shapes: Array, motions: Sequence[Motion] | None = None) -> Array:
        blocks = []
        for motion in self.motions if motions is None else motions:
            made = friction_columns(motion.q[:, j], motion.dq[:, j], kind.bristles, kind.damped, shapes)
            blocks.append(motion.decimator.decimate(made))
        return np.concatenate(blocks)

    def answer(self, shapes: FoundShapes, other: FoundShapes | None) -> FrictionFit:
        """What was found, with the change that a lower cut-off makes in its standard deviations."""
        names, plain, joints = self.description.robot.joint_names, self.plain, tuple[JointFriction, ...]()
        for j, kind in self.kinds.items():
            law, values, std = self._values(j, kind, shapes)
            for variant in (self._values(j, kind, other)[1] if other is not None else {}, self._left_out(j, kind, values)):
                std = {name: float(np.hypot(s, variant.get(name, values[name]) - values[name])) for name, s in std.items()}
            joints += (JointFriction(names[j], law, values, std, float(plain.sigmas[j]), float(shapes.sigmas[j])),)
        laws: list[FrictionLaw] = []
        for j, one in enumerate(joints):
            laws += [LuGre(j, **one.values), Offset(j)] if one.law == LUGRE else [Viscous(j), Coulomb(j), Offset(j)]
        residuals = {
            name: (self._residual(plain, {}, motions), self._residual(shapes, self.kinds, motions))
            for name, motions in self.sets.items()
        }
        return FrictionFit(self._robot(laws, joints, shapes), joints, residuals, self._warnings(joints))

    def _left_out(self, j: int, kind: _Kind, values: Mapping[str, float]) -> Mapping[str, float]:
        """Values before what the rows hardly show was left out: the change counts as a standard deviation."""
        whole = _Kind(*(j in self.joints,) * 3)
        if kind == whole or not kind.bristles:
            return {}
        before = self._values(j, whole, self.richest)[1]
        return {name: before[name] for name in values}

    def _values(self, j: int, kind: _Kind, shapes: FoundShapes) -> tuple[str, dict[str, float], dict[str, float]]:
        k, a = j + 1, shapes.amplitudes
        if not kind.bristles:
            return "coulomb", {s: a[f"{s}{k}"] for s in ("Fv", "Fc")}, {s: shapes.amplitude_std[f"{s}{k}"] for s in ("Fv", "Fc")}
        kappa, fc = shapes.values[f"kappa{k}"], a[f"Fc{k}"]
        rho, vs = (shapes.values[f"rho{k}"], shapes.values[f"slow{k}"]) if kind.stribeck else (1.0, 0.1 * float(self.fastest[j]))
        damping = a[f"sigma1_{k}"] if kind.damped else 0.0
        values = {
            "sigma0": kappa * fc,
            "sigma1": kappa * damping,
            "sigma2": max(a[f"Fv{k}"], 0.0),
            "fc": fc,
            "fs": rho * fc,
            "vs": vs,
        }
        # rates of each along log kappa, log rho, log vs, Fc, sigma1 / kappa, Fv
        symbols = [f"kappa{k}", f"rho{k}", f"slow{k}", f"Fc{k}", f"sigma1_{k}", f"Fv{k}"]
        place = [shapes.names.index(name) if name in shapes.names else -1 for name in symbols]
        rates: dict[str, list[float]] = {
            "sigma0": [kappa * fc, 0, 0, kappa, 0, 0], "sigma1": [kappa * damping, 0, 0, 0, kappa, 0], "sigma2": [0, 0, 0, 0, 0, 1],
            "fc": [0, 0, 0, 1, 0, 0], "fs": [0, rho * fc, 0, rho, 0, 0], "vs": [0, 0, vs, 0, 0, 0],
        }  # fmt: skip
        std = {}
        for name, rate in rates.items():
            loads = [(p, r) for p, r in zip(place, rate, strict=True) if p >= 0]
            at, r = np.array([p for p, _ in loads]), np.array([r for _, r in loads], float)
            std[name] = float(np.sqrt(max(r @ shapes.covariance[np.ix_(at, at)] @ r, 0.0)))
        untold = [*([] if kind.stribeck else ["fs", "vs"]), *([] if kind.damped else ["sigma1"])]
        return LUGRE, values, std | dict.fromkeys(untold, float("inf"))

    def _robot(self, laws: Sequence[FrictionLaw], joints: Sequence[JointFriction], shapes: FoundShapes) -> Description:
        """With the laws, and the links and drives found beside them."""
        chi = Parameters(self.rest.layout, nearest_prior(self.base, shapes.beta, self.rest.prior))
        made = with_laws(self.description, laws)
        values = chi.on(made.layout).values.copy()
        for j, one in enumerate(joints):
            for name in ("Fv", "Fc") if one.law == "coulomb" else ():
                values[made.layout.index(f"{name}{j + 1}")] = max(one.values[name], 0.0)
        return replace(made, prior=Parameters(made.layout, values, None, "identified"), friction_stated=True)  # type: ignore[arg-type]

    def _residual(self, fit: FoundShapes, kinds: Mapping[int, _Kind], motions: Sequence[Motion]) -> float:
        """|tau - model| / |tau| of the fitted rows of these motions."""
        miss, size = 0.0, 0.0
        system = self.system if tuple(motions) == tuple(self.motions) else Observations(self.base, motions, self.rest.prior)
        use = np.concatenate([rows.use for rows in system.rows()])
        left = np.concatenate([r for _, r in system.residuals(fit.beta)])
        y = np.concatenate([rows.y for rows in system.rows()])
        for j in range(self.base.layout.robot.n):
            kind = kinds.get(j, _Kind(False, False, False))
            law = self._shaped(j, kind)
            made = self._columns(j, kind, np.array([fit.values[name] for name in law.names]), motions)
            alone = left[:, j] - made @ np.array([fit.amplitudes[name] for name in law.parameters])
            miss, size = miss + float(np.sum(alone[use[:, j]] ** 2)), size + float(np.sum(y[use[:, j], j] ** 2))
        return float(np.sqrt(miss / max(size, 1e-300)))

    def _warnings(self, joints: Sequence[JointFriction]) -> tuple[str, ...]:
        out = []
        hidden = [str(j + 1) for j, one in enumerate(joints) if j in self.joints and one.law != LUGRE]
        if hidden:
            out.append(
                f"the log does not show bristles on joint {', '.join(hidden)}: no reversal is resolved finely enough; "
                "record faster sampled reversals, or allow a higher cut-off"
            )
        undamped = [str(j + 1) for j, one in enumerate(joints) if one.law == LUGRE and one.values["sigma1"] == 0.0]
        if undamped:
            out.append(f"no bristle damping is told on joint {', '.join(undamped)}; it is zero, and a simulation may ring there")
        return tuple(out)


@dataclass(frozen=True)
class _Kind:
    """What a joint's friction has besides viscous and Coulomb friction."""

    bristles: bool
    stribeck: bool
    damped: bool


def friction_columns(q: Array, dq: Array, bristles: bool, damped: bool, shapes: Array) -> Array:
    """(N, k) torque per unit of Fc, of sigma1 / kappa where damped, and of Fv, along a joint's motion.

    Args:
        q, dq: (N,) position and velocity.
        bristles: without them Fc multiplies the sign of the velocity.
        damped: whether there is a column of bristle damping.
        shapes: kappa, and rho and vs where friction falls with speed.
    """
    if not bristles:
        return np.column_stack([np.sign(dq), dq])
    kappa = float(shapes[0])
    g = np.ones(len(dq)) if len(shapes) < 3 else 1.0 + (shapes[1] - 1.0) * np.exp(-(np.abs(dq / shapes[2]) ** EXPONENT))
    way = np.diff(q)
    end = 0.5 * (g[1:] + g[:-1])
    stay = np.exp(-kappa * np.abs(way) / end)
    w = _advanced(stay, np.sign(way) * end * (1.0 - stay))
    return np.column_stack([w, *([kappa * (dq - np.abs(dq) * w / g)] if damped else []), dq])


@njit(nogil=True)
def _advanced(stay: Array, added: Array) -> Array:
    """(N,) w of every sample, zero at the first: w' = stay w + added."""
    out = np.zeros(len(stay) + 1)
    for k in range(len(stay)):
        out[k + 1] = stay[k] * out[k] + added[k]
    return out

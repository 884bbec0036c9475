"""Which friction law on which joint: pieces that brake at every speed, added while they are significant and worth it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from inertica.arrays import Array
from inertica.estimators.observe import Observations
from inertica.estimators.standard import nearest_prior
from inertica.estimators.structure.selection import ForwardSelection, Gain
from inertica.guard import Comparison, compare
from inertica.identifiability.base import base_model
from inertica.preprocessing.motion import Motion
from inertica.preprocessing.reversals import near_reversal
from inertica.robot.description import Description
from inertica.robot.friction import LAWS
from inertica.robot.layout import Parameters
from inertica.robot.plain import plain_friction, with_laws
from inertica.workflow.decisions.friction_pieces import PLAIN, Piece, laws_of, others
from inertica.workflow.identify import reasons
from inertica.workflow.identify.choice import Alternative, Choice, Say

WORTHWHILE = 0.02
"""Share of a joint's squared error that a piece must explain."""

NEEDED = 1.0
"""Standard deviations below which viscous or Coulomb friction is left out: far more joints have it than have not."""

CONFIRMED = 2.0
"""Standard deviations by which friction of slow motion must differ from zero on rows well away from reversals, too."""

AWAY = 4.0
"""Times what is left out at a reversal that counts as well away from it: beyond that the filter has forgotten it."""

RELOADS = 3
"""Fits from which the load is taken anew when friction depends on it."""

MOST = 3
"""Pieces that one joint may get besides viscous and Coulomb friction."""

ROUNDS = 2
"""How often the search begins again after pieces were dropped."""

SPEEDS = 9
"""Candidates between a law's slowest and fastest; the best is refined afterwards."""

FINER = (0.83, 0.91, 1.1, 1.2)
"""Factors on the best of them that are tried, too."""

SLOW_ROWS = 20
"""Rows slower than the speed of a law of slow motion that there must be for it to be tried."""

UNLIKELY = 0.1
"""Weight below which a law that was not taken is forgotten."""


class FrictionSelection:
    """The friction of every joint, the simplest that the data do not contradict.

    Args:
        description: the robot; its friction terms are replaced.
        motions: prepared for the fit.
        say: progress.
    """

    def __init__(self, description: Description, motions: Sequence[Motion], say: Say) -> None:
        self.description, self.motions, self.joints = description, tuple(motions), description.robot.independent
        say("friction: which law on which joint")
        self.base = base_model(with_laws(description, ()).layout)
        self.prior = description.prior.on(self.base.layout)
        system = Observations(self.base, self.motions, self.prior)
        speeds = np.quantile(np.abs(np.concatenate([m.dq for m in motions])), 0.95, axis=0)
        self.fastest = np.maximum(
            speeds, max(1e-9 * float(speeds.max()), np.finfo(float).tiny)
        )  # joints that rest have some, too
        assumed = with_laws(description, plain_friction(self.joints))  # whose residuals are the noise
        noise = Observations(base_model(assumed.layout), self.motions, assumed.prior).sigmas
        self.selection = ForwardSelection(system, noise)
        self.used = np.concatenate(self.selection.use)
        self.rate = np.abs(np.concatenate([m.dq[m.decimator.kept(len(m))] for m in self.motions]))
        self.pieces: list[Piece] = []
        self._far: ForwardSelection | None = None
        self._ways: list[ForwardSelection] = []
        self.loads = [np.zeros(m.dq.shape) for m in self.motions]
        self.tested: dict[Piece, Gain] = {}
        plain = [self._offer(Piece(j, kind)) for j in self.joints for kind in PLAIN]
        self.plain = plain
        self._offer_others(plain)
        self.selection.settle_colour([k for k, p in enumerate(self.pieces) if p.how.speeds is None])

    def run(self) -> tuple[Description, Choice]:
        self.chosen = chosen = self._reloaded(self._found())
        pieces = [self.pieces[k] for k in chosen]
        final = with_laws(self.description, (t for j in self.joints for t in laws_of(j, pieces, self.carried)))
        groups: dict[str, list[str]] = {}
        for j in self.joints:
            of_joint = ", ".join(self._name(p) for p in pieces if p.joint == j) or "none"
            groups.setdefault(of_joint, []).append(str(j + 1))
        value = "; ".join(f"joint{'s' if len(js) > 1 else ''} {', '.join(js)}: {name}" for name, js in groups.items())
        taken = {self.pieces[k] for k in self.chosen}
        tested = tuple(
            Alternative(self._name(p), gain.share, p in taken, f"joint {p.joint + 1}") for p, gain in self.tested.items()
        )
        plain = [k for k in self.plain if self.pieces[k].brakes]
        compared = self._compared(chosen, plain)
        why = reasons.Friction(_tried(), WORTHWHILE, self._refused(chosen), compared)
        return final, Choice("friction", value, why, True, tested, compared.score, compared.score_without)

    def changes(self) -> list[dict[str, float]]:
        """What other laws would change that the data tell hardly apart: base parameter -> change, for every such law.

        A law with one more piece counts by the odds that the piece is there, w = 1 / (1 + odds exp(-z^2 / 2)).  With it a parameter
        changes by c and is less well known, its variance grows by (c / z)^2, since an amplitude of one standard deviation changes it
        by c / z; so w (c^2 + (c / z)^2) is what not knowing adds (the variance of a mixture).  A speed that was searched counts where
        the fit with another is within one standard deviation.
        """
        chosen, out = self.chosen, []
        before = self._named_fit(chosen)
        for piece, k in self._runners_up(chosen):
            z = self.selection.gain(chosen, k).z
            weight = 1.0 / (1.0 + piece.how.odds * np.exp(-0.5 * z**2))
            if piece.how.felt and weight > UNLIKELY and (z > 0.0 or (z < 0.0 and not piece.brakes)):
                factor = float(np.sqrt(weight * (1.0 + 1.0 / z**2)))
                out.append(_difference(self._named_fit([*chosen, k]), before, factor))
        for k in [k for k in chosen if self.pieces[k].how.speeds]:
            rest = [c for c in chosen if c != k]
            alike = self._like(k)
            explained = {i: e for i, (a, e) in zip(alike, self.selection.quick(rest, alike), strict=True) if a > 0.0}
            if k not in explained:  # it brakes only beside what was chosen after it: there is nothing to compare others with
                continue
            unit = explained[k] / max(self.selection.gain(rest, k).z ** 2, 1e-300)
            near = [i for i, e in explained.items() if i != k and explained[k] - e < unit]
            out += [_difference(self._named_fit([*rest, i]), before, 1.0) for i in near]
        return out

    def _runners_up(self, chosen: Sequence[int]) -> list[tuple[Piece, int]]:
        """The best further piece of every kind and joint."""
        candidates, best = self._further(chosen), dict[tuple[int, str], tuple[float, int]]()
        for k, (_, explained) in zip(candidates, self.selection.quick(chosen, candidates), strict=True):
            if explained > best.get(self.pieces[k].place, (0.0, -1))[0]:
                best[self.pieces[k].place] = explained, k
        return [(self.pieces[k], k) for _, k in best.values()]

    def _further(self, chosen: Sequence[int]) -> list[int]:
        """Pieces of which no like one is among the chosen."""
        taken = {self.pieces[k].place for k in chosen}
        return [k for k, p in enumerate(self.pieces) if p.place not in taken]

    def _like(self, k: int) -> list[int]:
        """The same piece at all speeds that were offered."""
        return [i for i, p in enumerate(self.pieces) if p.place == self.pieces[k].place]

    def _named_fit(self, chosen: Sequence[int]) -> dict[str, float]:
        """Base parameters and friction by their names in the fit with the chosen pieces."""
        amplitudes = zip(chosen, self.selection.amplitudes(chosen), strict=True)
        rigid = dict(zip(self.base.names, self.selection.rigid(chosen), strict=True))
        return rigid | {self.pieces[k].parameter: a for k, a in amplitudes}

    def _found(self) -> list[int]:
        """Forward and back again, until nothing changes: what was refused beside a piece that is dropped later may be significant."""
        chosen = self._settled(self._grown(self.plain))
        for _ in range(ROUNDS):
            again = self._settled(self._grown(chosen))
            if set(again) == set(chosen):
                break
            chosen = again
        return chosen

    def _grown(self, start: Sequence[int]) -> list[int]:
        """Forward from some pieces, at first viscous and Coulomb friction and offsets, over all joints, the best first."""
        chosen, refused = list(start), set[int]()
        while True:
            added = [self.pieces[k].joint for k in chosen if k not in self.plain]
            candidates = [k for k in self._further(chosen) if k not in refused and added.count(self.pieces[k].joint) < MOST]
            squares = self.selection.squares(chosen)
            quick = self.selection.quick(chosen, candidates)
            ranked = sorted(
                ((e / max(squares[self.pieces[k].joint], 1e-300), k) for k, (a, e) in zip(candidates, quick, strict=True)
                 if e > 0.0 and (a > 0.0 or not self.pieces[k].brakes)), reverse=True,
            )  # fmt: skip
            best = next((k for share, k in ranked if share > WORTHWHILE), None)
            if best is None:
                return chosen
            gain = self.selection.gain(chosen, best)
            self.tested[self.pieces[best]] = gain
            trial = [*chosen, best]
            confirmed = self.pieces[best].how.speeds is None or self._confirmed(chosen, best)
            significant = abs(gain.z) > self.pieces[best].how.significant
            if not (significant and confirmed and self._predicts(chosen, best)) or self._drives(trial, self.pieces[best].joint):
                refused |= set(self._like(best))
                continue
            chosen, joint = trial, self.pieces[best].joint
            for k in [k for k in reversed(trial) if self.pieces[k].how.speeds and self.pieces[k].joint == joint]:
                chosen = [c if c != k else self._refined(chosen, k) for c in chosen]

    def _confirmed(self, chosen: Sequence[int], k: int) -> bool:
        """Whether the piece shows on rows well away from reversals, on rows that speed up and on rows that slow down alike.

        What filters leave of a reversal looks like slow friction, and so does break-away at the start of a motion, which is history
        and not a law: it shows while a joint speeds up and not while it slows down.
        """
        if self._far is None or len(self._far.joint) < len(self.pieces):
            wide = [replace(m, recipe=replace(m.recipe, reversal=AWAY * (m.recipe.reversal or 0.0))) for m in self.motions]
            near = [near_reversal(m)[m.decimator.kept(len(m))] for m in wide]
            self._far = self.selection.away([part == 0.0 for part in self._like_rows([n.astype(float) for n in near])])
            rows = [np.sign(m.dq * m.ddq)[m.decimator.kept(len(m))] for m in self.motions]
            self._ways = [self.selection.away([part * way > 0.0 for part in self._like_rows(rows)]) for way in (1.0, -1.0)]
        limits = (CONFIRMED, NEEDED, NEEDED)  # speeding up and slowing down have half of the rows each
        gains = [where.gain(chosen, k) for where in (self._far, *self._ways)]
        return all(gain.amplitude > 0.0 and gain.z > limit for gain, limit in zip(gains, limits, strict=True))

    def _needed(self, chosen: Sequence[int], k: int, z: float) -> bool:
        """Whether a piece of the first fit stays: an offset, which may take a part of gravity that is not there elsewhere, only where
        it is significant and predicts data left out.
        """
        if self.pieces[k].brakes:
            return z >= NEEDED
        return z > self.pieces[k].how.significant and self._predicts([c for c in chosen if c != k], k)

    def _predicts(self, chosen: Sequence[int], k: int) -> bool:
        """Whether data left out are predicted better with the piece."""
        return self._compared([*chosen, k], chosen).better

    def _compared(self, chosen: Sequence[int], without: Sequence[int]) -> Comparison:
        """Two choices of pieces on data left out."""
        (errors, others), sizes = self.selection.left_out(chosen, without)
        return compare(errors, others, sizes)

    def _drives(self, chosen: Sequence[int], joint: int) -> bool:
        """Whether a piece of the joint that was added would push instead of brake; viscous and Coulomb are dropped later."""
        sized = zip(chosen, self.selection.amplitudes(chosen), strict=True)
        return any(a < 0.0 and self.pieces[k].joint == joint and self.pieces[k].kind not in PLAIN for k, a in sized)

    def _refined(self, chosen: Sequence[int], k: int) -> int:
        """The number of the same piece at the speed that fits best and brakes."""
        rest = [c for c in chosen if c != k]
        best = self._best(rest, self._like(k), k)
        speed = self.pieces[best].speed
        more = [self._offer(replace(self.pieces[k], speed=speed * factor)) for factor in FINER if self._inside(k, speed * factor)]
        return self._best(rest, [best, *more], best)

    def _inside(self, k: int, speed: float) -> bool:
        piece = self.pieces[k]
        part = speed / self.fastest[piece.joint]
        slowest, fastest = piece.how.speeds or (0.0, np.inf)
        return bool(slowest <= part <= fastest) and self._supported(piece, speed)

    def _best(self, rest: Sequence[int], among: Sequence[int], otherwise: int) -> int:
        ranked = [(explained, k) for k, (a, explained) in zip(among, self.selection.quick(rest, among), strict=True) if a > 0.0]
        return max(ranked)[1] if ranked else otherwise

    def _settled(self, chosen: list[int]) -> list[int]:
        """Without pieces that came out negative, then without viscous or Coulomb friction that means nothing.

        Viscous or Coulomb friction that links and other friction make up on these rows stays: nothing speaks against it, and without
        it they would seem to be known.  (Joints that move at one frequency cannot tell viscous friction of two from inertia.)
        """
        while True:
            sized = zip(chosen, self.selection.amplitudes(chosen), strict=True)
            z = self._tested(chosen, [k for k, amplitude in sized if amplitude < 0.0 and self.pieces[k].brakes])
            if not z:
                plain = self._tested(chosen, [k for k in chosen if self.pieces[k].kind in PLAIN])
                z = {k: abs(value) for k, value in plain.items() if not self._needed(chosen, k, abs(value))}
            if not z:
                return chosen
            least = min(z, key=lambda k: z[k])
            chosen = [k for k in chosen if k != least]

    def _tested(self, chosen: Sequence[int], pieces: Sequence[int]) -> dict[int, float]:
        """Piece -> by how many standard deviations it differs from zero; without viscous and Coulomb friction of which the rows say
        nothing.
        """
        gains = dict(zip(pieces, self.selection.gains(chosen, pieces), strict=True))
        plain = {k for k in pieces if self.pieces[k].kind in PLAIN and self.pieces[k].brakes}
        return {k: gain.z for k, gain in gains.items() if gain.testable or k not in plain}

    def _offer(self, piece: Piece) -> int:
        """Add a piece to the selection, decimated like its rows."""
        blocks = []
        for motion, load in zip(self.motions, self.loads, strict=True):
            column = piece.column(motion.dq[:, piece.joint], load[:, piece.joint])
            blocks.append(motion.decimator.decimate(column[:, None])[:, 0])
        self.pieces.append(piece)
        return self.selection.add(piece.joint, self._like_rows(blocks))

    def _like_rows(self, columns: Sequence[Array]) -> list[Array]:
        """Columns of motions cut into the blocks in which the selection holds its rows."""
        whole, out, start = np.concatenate(columns), [], 0
        for use in self.selection.use:
            out.append(whole[start : start + len(use)])
            start += len(use)
        return out

    def _offer_others(self, plain: Sequence[int]) -> None:
        """All other laws that may be added; as the load, gravity of a first fit with plain friction."""
        self._carry(plain)
        size = np.sqrt(np.mean(np.concatenate(self.loads) ** 2, axis=0))
        loaded = size > 1e-6 * float(size.max())
        for kind in [kind for kind, how in others().items() if how.speeds is None]:
            for piece in (Piece(j, kind) for j in self.joints):
                if loaded[piece.joint] or not piece.loaded:
                    self._offer(piece)
        for j in self.joints:
            for kind, how in others().items():
                for part in np.geomspace(*how.speeds, SPEEDS) if how.speeds else ():
                    piece = Piece(j, kind, float(part * self.fastest[j]))
                    if self._supported(piece, piece.speed):
                        self._offer(piece)

    def _carry(self, chosen: Sequence[int]) -> None:
        """The links of a fit, and the torque of gravity on them."""
        chi = nearest_prior(self.base, self.selection.rigid(chosen), self.prior)
        links = np.zeros(len(chi))
        for _, where in self.base.layout.bodies:
            links[where] = chi[where]
        self.carried = Parameters(self.base.layout, links, self.prior.shapes)
        at_rest = [(m.q, np.zeros_like(m.dq), np.zeros_like(m.dq)) for m in self.motions]
        self.loads = [np.asarray(self.base.engine.inverse_dynamics(*state, self.carried)) for state in at_rest]

    def _reloaded(self, chosen: list[int]) -> list[int]:
        """The same pieces with the load of a fit that has them: without them, load-dependent friction counts as weight."""
        for _ in range(RELOADS if any(self.pieces[k].loaded for k in chosen) else 0):
            self._carry(chosen)
            chosen = [self._offer(self.pieces[k]) if self.pieces[k].loaded else k for k in chosen]
        return chosen

    def carried_by(self, joints: Sequence[int]) -> Parameters:
        """Links that load the joints whose friction is stated to depend on it, found together with that friction."""
        loaded = [k for k, p in enumerate(self.pieces) if p.loaded and p.joint in joints]
        self._reloaded([*self.plain, *loaded])
        return self.carried

    def _supported(self, piece: Piece, speed: float) -> bool:
        """Whether there is motion slow enough to see what is said of slow motion."""
        j = piece.joint
        return not piece.how.slow or int(np.count_nonzero(self.rate[self.used[:, j], j] < speed)) >= SLOW_ROWS

    def _name(self, piece: Piece) -> str:
        unit = "m/s" if self.description.robot.joints[piece.joint].prismatic else "rad/s"
        return f"{piece.how.name} ({piece.speed:.2g} {unit})" if piece.how.speeds else piece.how.name

    def _refused(self, chosen: Sequence[int]) -> reasons.Piece | None:
        """The best piece that was tried and not taken."""
        taken = {self.pieces[k].place for k in chosen}
        left = {p: g for p, g in self.tested.items() if p.place not in taken}
        if not left:
            return None
        best = max(left, key=lambda p: left[p].share)
        return reasons.Piece(self._name(best), best.joint + 1, left[best].share, left[best].z)


def _tried() -> dict[str, float]:
    """Laws that were tried, and by how many standard deviations they had to differ from zero."""
    laws = [law.candidate for kind, law in LAWS.items() if law.candidate is not None and kind not in PLAIN[:2]]
    return {law.name: law.significant for law in laws}


def _difference(fit: dict[str, float], before: dict[str, float], factor: float) -> dict[str, float]:
    """What a fit changes of parameters that both have."""
    return {name: factor * (fit[name] - value) for name, value in before.items() if name in fit}

"""What a model file cannot hold of a result, joint by joint, and how much torque that is along the user's logs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from inertica.arrays import Array
from inertica.robot.drives import Armature, Coupling, ToolboxCoupling
from inertica.robot.friction import FrictionLaw, Offset, word
from inertica.robot.terms import Counterbalance, RigidBody, Spring, Term
from inertica.workflow.export.exported import Lost, held_as, no_place
from inertica.workflow.export.plain_friction import PlainFriction, replaced_laws
from inertica.workflow.export.torques import ModelTorques, States

NAMES: dict[type[Term], str] = {
    Armature: "drive inertia",
    Coupling: "coupling of drives",
    ToolboxCoupling: "coupling of drives",
    Spring: "spring",
    Counterbalance: "counterbalance",
    Offset: "offset",
}
"""Terms for people; friction laws by the names of cards, other terms by those of their parameters."""

NEGLIGIBLE = 1e-6
"""Share of a joint's torque up to which nothing counts as lost."""

GRAVITY = "direction of gravity"
CORRECTION = "correction of predictions"
STANDSTILL = "friction rounded near standstill"


class Missing:
    """Torques that a file lacks along states, part by part.

    Args:
        model: of the result.
        title: of the file's format, for people.
        states: along the logs, or random ones.
        torque: (N, n) of the result there.
        logged: whether the states are those of logs; shares of the torque at random ones say nothing.
    """

    def __init__(self, model: ModelTorques, title: str, states: States, torque: Array, logged: bool) -> None:
        self.model, self.parameters, self.title, self.states = model, model.parameters, title, states
        self.size, self.logged = np.maximum(np.linalg.norm(torque, axis=0), np.finfo(float).tiny), logged
        self.total = np.zeros(states[0].shape)
        self.lost: list[Lost] = []

    def approximated(self, plain: PlainFriction) -> None:
        """Friction that another stands for."""
        layout, dq = self.parameters.layout, self.states[1]
        for j in plain.joints:
            laws = replaced_laws(layout, j)
            names = [p.name for t in laws for p in t.parameters if self.parameters[p.name]]
            fv, fc = (plain.parameters[f"{symbol}{j + 1}"] for symbol in ("Fv", "Fc"))
            missing = self.model.part(names, self.states)
            missing[:, j] -= fv * dq[:, j] + fc * np.sign(dq[:, j])
            odd = [law_name(t) for t in laws if len(t.plain) < len(t.parameters)]
            joined = f"{', '.join(odd[:-1])} and {odd[-1]}" if len(odd) > 1 else odd[0]
            self.add(f"{joined} friction", names, missing, held_as(self.title))

    def left_out(self, names: Sequence[str]) -> None:
        """Parameters that have no place; those of one kind together, which act on joints of their own."""
        groups: dict[str, list[str]] = {}
        for block in self.parameters.layout.blocks:
            for p in block.parameters:
                if p.name in names:
                    groups.setdefault(block_name(block, p.name), []).append(p.name)
        for what, several in groups.items():
            self.add(what, several, self.model.part(several, self.states), no_place(self.title))

    def correction(self) -> None:
        """What the result's predictions add to its links: a model file holds links that could exist."""
        self.add(CORRECTION, (), self.model.correction(self.states), no_place(self.title))

    def standstill(self, predicted: Array | None) -> None:
        """Friction that predictions round off; `predicted` are those along the logs, None without logs."""
        why = no_place(self.title)
        if predicted is None:
            self.lost += [Lost(STANDSTILL, j, why) for j in self.model.standstill.rounded]
        else:
            self.add(STANDSTILL, (), predicted - self.model.whole(self.states), why)

    def memory(self, joints: Sequence[int | None]) -> None:
        """Laws with memory: their torque depends on the past and is not looked at."""
        self.lost += [Lost("friction with memory", j, no_place(self.title)) for j in joints]

    def gravity(self, rest: Array | None) -> None:
        """Another mounting than the file's; `rest` is what the file misses beyond all other parts, None without logs."""
        why = f"{no_place(self.title)}, to be set in the program that loads it"
        if rest is None:
            self.lost.append(Lost(GRAVITY, None, why))
        else:
            self.add(GRAVITY, (), rest, why)

    def add(self, what: str, names: Sequence[str], torque: Array, why: str) -> None:
        """One part, listed for every joint that it acts on."""
        self.total += torque
        owner: Mapping[str, int | None] = {p.name: p.joint for p in self.parameters.layout.parameters}
        for j, share in enumerate(np.linalg.norm(torque, axis=0) / self.size):
            if share > NEGLIGIBLE:
                several = tuple(name for name in names if owner[name] in (j, None)) or tuple(names)
                self.lost.append(Lost(what, j, why, several, float(share) if self.logged else None))


def law_name(law: FrictionLaw) -> str:
    """A friction law for people: saturating, Stribeck, load-dependent, smooth, ..."""
    return law.candidate.name if law.candidate is not None else word(law)


def block_name(block: RigidBody | Term, parameter: str) -> str:
    """What a part of a layout is, for people."""
    if isinstance(block, RigidBody):
        return "payload"
    if isinstance(block, Armature) and block.shared_with is not None:
        return NAMES[Coupling]
    if type(block) in NAMES:
        return NAMES[type(block)]
    return f"{law_name(block)} friction" if isinstance(block, FrictionLaw) else f"term {parameter}"

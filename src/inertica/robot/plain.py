"""Plain friction, as assumed before its law is chosen."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, replace

from inertica.errors import InputError
from inertica.robot.description import Description
from inertica.robot.drives import Armature
from inertica.robot.friction import CONSTANT, DRY, Coulomb, Offset, Viscous, friction_terms
from inertica.robot.layout import Layout
from inertica.robot.terms import Term


def plain_friction(joints: Iterable[int]) -> list[Term]:
    """Viscous and Coulomb friction and an offset on each of these joints."""
    return [t for j in joints for t in (Viscous(j), Coulomb(j), Offset(j))]


def assumed_friction(description: Description) -> Description:
    """The robot with plain friction on every joint unless a law is stated: what filter and delay are chosen with."""
    if description.friction_stated:
        return description
    return with_laws(description, plain_friction(description.robot.independent))


def without_idle_drives(description: Description) -> Description:
    """The same without drive inertia and friction of joints that follow from others, where these are zero."""
    dependent, prior = description.robot.dependent, description.prior
    idle = [
        term
        for term in (*(t for t in description.layout.terms if isinstance(t, Armature)), *friction_terms(description.layout.terms))
        if term.joint in dependent and not any(prior[p.name] for p in term.parameters)
    ]
    return description.with_terms(tuple(t for t in description.layout.terms if t not in idle)) if idle else description


def with_laws(description: Description, laws: Iterable[Term]) -> Description:
    """The robot with these friction laws in place of its own."""
    dropped = set(friction_terms(description.layout.terms))
    return description.with_terms((*(t for t in description.layout.terms if t not in dropped), *laws))


def with_sign_width(description: Description, width: float) -> Description:
    """The robot with the sign of its own dry friction replaced by tanh(dq / width); values stay."""
    laws = friction_terms(description.layout.terms)
    signs = [law for law in laws if any(f.name == "width" for f in fields(law))]
    if not signs:
        raise InputError(f"{description.name} has no friction law with a sign that could be smoothed over a width")
    return with_laws(description, [replace(law, width=width) if law in signs else law for law in laws])  # type: ignore[call-arg]


def with_plain_friction(layout: Layout) -> Layout:
    """A layout with viscous and dry friction and an offset on every joint: those that a joint lacks are added."""
    more: list[Term] = []
    for j in layout.robot.independent:
        laws = [t for t in friction_terms(layout.terms) if t.joint == j]
        kinds = {kind for t in laws for kind in t.states}
        more += [] if any(isinstance(t, Viscous) for t in laws) else [Viscous(j)]
        more += [] if DRY in kinds else [Coulomb(j)]
        more += [] if CONSTANT in kinds else [Offset(j)]
    return layout.with_terms((*layout.terms, *more)) if more else layout

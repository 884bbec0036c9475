"""What of a result a model format has a place for, and the sidecar that takes the rest.

The sidecar is a robot card: it points to the written file and adds what that file lacks, so it loads as a robot with everything that
was identified.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from inertica.escape import one_line
from inertica.robot.cardwrite import armature_flags, coupling_entries, is_writable, other_terms, payload_entry, term_entry
from inertica.robot.description import Description
from inertica.robot.drives import Armature
from inertica.robot.formats.model_format import WORDS, ModelFormat
from inertica.robot.formats.table import format_of
from inertica.robot.friction import Coulomb, FrictionLaw, Offset, Viscous, friction_terms, friction_text, with_shapes
from inertica.robot.layout import Layout, Parameters
from inertica.robot.load import load
from inertica.robot.terms import Spring, Term

EXTRA = ".extra.yaml"
"""What the sidecar's name ends in, after the name of the model file without its suffix."""

MARK = "# inertica: what {name} has no place for; this card adds it to that file\n"


@dataclass(frozen=True)
class Held:
    """A result divided.

    Args:
        parameters: on the layout of what the file holds.
        left: names of non-zero parameters, and of constants of laws without parameters, that it does not hold.
    """

    parameters: Parameters
    left: tuple[str, ...]


def held(parameters: Parameters, format: ModelFormat, source: Path | None = None) -> Held:
    """Divides values by what a format has a place for.

    A term is held whole, or as a part that adds up exactly with the rest: the Coulomb part of a Stribeck law is Coulomb friction, a
    smooth sign is not.

    Args:
        parameters: of the result.
        format: of the file.
        source: the file that is copied; one that states laws holds the terms it states, any friction and armature.
    """
    if format.states_laws:
        return _with_laws(parameters, Layout(parameters.layout.robot) if source is None else load(source).layout)
    layout, symbols = parameters.layout, format.holds
    robot = layout.robot
    kinds: dict[str, type[Term]] = {"Ia": Armature, "Fv": Viscous, "Fc": Coulomb}
    terms = [kinds[s](j) for s in symbols if s in kinds for j in range(robot.driven)]  # type: ignore[call-arg]
    springs, offsets = _springs(parameters) if "Ks" in symbols else ((), set())
    plain = Layout(robot, (*terms, *springs))
    placed = {p.name for t in layout.terms for p in t.parameters if is_plain(t, p.name)}
    values = parameters.on(plain)
    values = values.replaced({name: 0.0 for name in plain.names if _is_drive(plain, name) and name not in placed})
    bodies = {name for j in robot.links for name in layout.names[layout.link(j)]}
    places = set(plain.names) & placed
    left = [n for n in layout.names if n not in bodies | places | offsets and parameters[n]]
    return Held(values, (*left, *_constants(layout.terms)))


def is_plain(term: Term, name: str) -> bool:
    """Whether a parameter of a term is armature, friction or a spring as XML formats mean them."""
    if isinstance(term, Armature):
        return term.shared_with is None
    if isinstance(term, Spring):
        return True
    return isinstance(term, FrictionLaw) and name in term.plain


def _springs(parameters: Parameters) -> tuple[tuple[Spring, ...], set[str]]:
    """The springs of a result, and the names of offsets that they hold: Ks (q - rest) + off is a spring with another rest."""
    layout = parameters.layout
    offsets = {t.at: parameters[f"off{t.at + 1}"] for t in layout.terms if isinstance(t, Offset)}
    out, held_offsets = [], set[str]()
    for spring in (t for t in layout.terms if isinstance(t, Spring)):
        stiffness = parameters[f"Ks{spring.at + 1}"]
        if stiffness > 0.0 and spring.at in offsets:
            spring = replace(spring, rest=spring.rest - offsets[spring.at] / stiffness)
            held_offsets.add(f"off{spring.at + 1}")
        out.append(spring)
    return tuple(out), held_offsets


def words(format: ModelFormat) -> str:
    """What a file holds, for people."""
    if format.states_laws:
        return "of everything it states"
    names = [WORDS[s] for s in format.holds]
    return "of " + " and ".join(x for x in (", ".join(["links", *names[:-1]]), *names[-1:]) if x)


def sidecar_path(target: Path) -> Path:
    """NAME.extra.yaml of NAME.urdf; NAME.xml.extra.yaml where the former belongs to another file of that name."""
    plain = target.with_name(target.stem + EXTRA)
    owner = _owner(plain)
    taken = owner is not None and owner != target.name and target.with_name(owner).exists()
    return target.with_name(target.name + EXTRA) if taken else plain


def sidecar_text(
    description: Description, parameters: Parameters, target: Path, chain: bool = True
) -> tuple[str, tuple[str, ...]]:
    """The card beside a written file, and the names of parameters that no file can hold.

    Args:
        description: of the result.
        parameters: all values.
        target: the model file.
        chain: whether the file is a copy of the source, so that the source's root, tip and joints select the same robot in it.
    """
    layout, source = parameters.layout, description.source
    stated: dict[str, Any] = {"model": target.name, "name": description.name}
    if chain and format_of(source).tree is not None:
        stated |= {key: getattr(source, key) for key in ("root", "tip") if getattr(source, key) is not None}
        stated |= {"joints": list(source.joints)} if source.joints else {}
    elif chain:
        stated["joints"] = list(layout.robot.joint_names)
    stated["gravity"] = [float(x) for x in layout.robot.gravity]
    stated["armature"] = armature_flags(layout.terms, layout.robot.n)
    if couplings := coupling_entries(layout.terms):
        stated["coupling"] = couplings
    others = other_terms(layout)
    in_format = _own_terms(description) if format_of(source).states_laws else ()
    if entries := [term_entry(t) for t in others if is_writable(t) and t not in in_format]:
        stated["terms"] = entries
    if layout.payloads:
        stated["payload"] = payload_entry(layout, layout.payloads[0])
    lost = tuple(p.name for t in others if not is_writable(t) for p in t.parameters if parameters[p.name])
    bodies = {name for j in layout.robot.links for name in layout.names[layout.link(j)]}
    values = {n: parameters[n] for n in layout.names if n not in bodies and n not in lost}
    text = MARK.format(name=one_line(target.name)) + yaml.safe_dump(stated, sort_keys=False, allow_unicode=True)
    text += f"friction: {friction_text(with_shapes(parameters))}\n"
    return text + yaml.safe_dump({"parameters": values}, sort_keys=False), lost


def is_sidecar(path: Path, target: Path) -> bool:
    """Whether a file was written here beside this model file, so that it may be removed."""
    return _owner(path) == target.name


def _owner(path: Path) -> str | None:
    """The model file that a card was written beside; None for files that were not written here."""
    before, after = MARK.split("{name}")
    try:
        with path.open(encoding="utf-8") as file:
            line = file.readline()
    except (OSError, UnicodeDecodeError):
        return None
    name, origin, _ = line.removeprefix(before).partition(after.split(";")[0])
    return name if line.startswith(before) and origin else None


def _with_laws(parameters: Parameters, in_file: Layout) -> Held:
    """A file that states laws takes any friction and armature, but no terms and payloads besides those it has."""
    layout = parameters.layout
    friction = set(friction_terms(layout.terms))
    terms = tuple(t for t in layout.terms if t in friction or isinstance(t, Armature) or t in in_file.terms)
    payloads = tuple(p for p in layout.payloads if p in in_file.payloads)
    reduced = Layout(layout.robot, terms, payloads)
    left = tuple(name for name in layout.names if name not in reduced.names and parameters[name])
    reduced = replace(reduced, fixed=frozenset(layout.fixed & set(reduced.names)))
    return Held(parameters.on(reduced), left)


def _own_terms(description: Description) -> tuple[Term, ...]:
    return load(description.source.path).layout.terms


def _is_drive(layout: Layout, name: str) -> bool:
    return layout.parameters[layout.index(name)].kind not in ("inertia", "first_moment", "mass")


def _constants(terms: tuple[Term, ...]) -> tuple[str, ...]:
    """Names of what laws without linear parameters (a bristle's stiffness, say) depend on."""
    return tuple(s.name for t in terms if not t.parameters for s in t.shapes)

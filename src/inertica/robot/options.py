"""The keys by which cards and DH files ask for terms: friction, armature, coupling, terms, spring, payload, fixed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from inertica.errors import InputError
from inertica.numbers import whole
from inertica.robot import friction
from inertica.robot.drives import Armature, Coupling, ToolboxCoupling
from inertica.robot.formula import Formula, FormulaTerm
from inertica.robot.layout import Layout
from inertica.robot.model import Robot, matrix, rotation_x, rotation_y, rotation_z
from inertica.robot.terms import Counterbalance, RigidBody, Spring, Term
from inertica.robot.units import check_unit
from inertica.robot.yamlfile import Item

OPTION_KEYS = ("friction", "armature", "coupling", "terms", "spring", "payload", "fixed")
DEFAULT_FRICTION = ("viscous", "coulomb")
FRICTION_WORDS = (*friction.LAWS, "auto", "none")


@dataclass(frozen=True)
class Options:
    """What a file asks for; None where it does not say.

    Args:
        friction, armature, coupling: terms of that kind.
        friction_stated: False for `auto`.
        others: springs, counterbalances, formulas.
        payloads: bodies attached to links.
        fixed: names of known parameters, with their value where one is given.
    """

    friction: tuple[friction.FrictionLaw, ...] | None = None
    friction_stated: bool | None = None
    armature: tuple[Armature, ...] | None = None
    coupling: tuple[Term, ...] | None = None
    others: tuple[Term, ...] = ()
    payloads: tuple[RigidBody, ...] | None = None
    fixed: tuple[tuple[str, float | None], ...] = ()


def read_options(keys: Mapping[str, Item], robot: Robot) -> Options:
    """The options among the keys of a file."""
    laws, stated = _read_friction(keys["friction"], robot) if "friction" in keys else (None, None)
    others = _read_terms(keys["terms"], robot) if "terms" in keys else ()
    springs = _read_springs(keys["spring"], robot) if "spring" in keys else ()
    return Options(
        laws,
        stated,
        _read_armature(keys["armature"], robot) if "armature" in keys else None,
        _read_couplings(keys["coupling"], robot) if "coupling" in keys else None,
        others + springs,
        (_read_payload(keys["payload"], robot),) if "payload" in keys else None,
        _read_fixed(keys["fixed"]) if "fixed" in keys else (),
    )


def plain_layout(robot: Robot) -> Layout:
    """The layout of a file that says nothing: armature, viscous and Coulomb friction on every joint."""
    terms: list[Term] = [Armature(j) for j in robot.independent]
    return Layout(robot, (*terms, *default_friction(robot.independent)))


def default_friction(joints: Iterable[int]) -> tuple[friction.FrictionLaw, ...]:
    return tuple(friction.law(name, j) for j in joints for name in DEFAULT_FRICTION)


def apply_options(options: Options, base: Layout, fixed_at: Item | None = None) -> Layout:
    """A layout with what the options state, and the terms of `base` where they state nothing."""
    friction.check_laws(options.friction or ())
    laws = options.friction if options.friction is not None else friction.friction_terms(base.terms)
    armature = options.armature if options.armature is not None else _of_type(base.terms, Armature)
    coupling = options.coupling if options.coupling is not None else _of_type(base.terms, Coupling, ToolboxCoupling)
    known = {*laws, *friction.friction_terms(base.terms), *_of_type(base.terms, Armature, Coupling, ToolboxCoupling)}
    springs = {t.at for t in options.others if isinstance(t, Spring)}  # a stated one takes the place of the file's
    others = tuple(t for t in base.terms if t not in known and not (isinstance(t, Spring) and t.at in springs))
    shared = {c.motor: c.other for c in coupling if isinstance(c, ToolboxCoupling)}
    drives = tuple(Armature(a.at, shared.get(a.at)) for a in armature if isinstance(a, Armature))
    payloads = base.payloads if options.payloads is None else options.payloads
    layout = replace(base, terms=(*drives, *laws, *coupling, *others, *options.others), payloads=payloads)
    if not options.fixed:
        return layout
    fixed = base.fixed | {name for name, _ in options.fixed}
    if fixed_at is None:
        return replace(layout, fixed=fixed)
    with fixed_at.located():
        return replace(layout, fixed=fixed)


def fixed_values(options: Options) -> dict[str, float]:
    return {name: value for name, value in options.fixed if value is not None}


def joint_of(item: Item, robot: Robot) -> int:
    """0-based joint from its name or 1-based number."""
    word = item.text()
    return _joint(item, word, robot)


def _joint(item: Item, word: str, robot: Robot) -> int:
    with item.located():
        if word.isdecimal() and word not in robot.joint_names:
            if (number := whole(word)) is None or not 1 <= number <= robot.driven:
                raise InputError(
                    f"{item.key}: {robot.name} has no joint {word[:20]}; its joints are numbered 1 to {robot.driven}"
                )
            return number - 1
        return robot.joint_index(word)


def _of_type(terms: tuple[Term, ...], *kinds: type) -> tuple[Term, ...]:
    return tuple(t for t in terms if isinstance(t, kinds))


def _read_friction(item: Item, robot: Robot) -> tuple[tuple[friction.FrictionLaw, ...], bool]:
    if item.is_mapping and not set(item.mapping()) & set(friction.LAWS):
        laws = item.mapping()
        terms = [t for word, entry in laws.items() for t in _laws_of_joint(entry, _joint(entry, word, robot), robot)]
        return tuple(terms), True
    if item.is_scalar:
        word = item.text(FRICTION_WORDS)
        if word == "auto":
            return default_friction(robot.independent), False
        return (() if word == "none" else tuple(friction.law(word, j, robot) for j in robot.independent)), True
    return tuple(t for j in robot.independent for t in _laws_of_joint(item, j, robot)), True


def _laws_of_joint(item: Item, joint: int, robot: Robot) -> list[friction.FrictionLaw]:
    """Friction laws of one joint, from a list of names and `{name: options}`."""
    if item.is_scalar:
        word = item.text((*friction.LAWS, "none"))
        return [] if word == "none" else [friction.law(word, joint, robot)]
    entries = item.items() if item.is_list else [item]
    return [_law(entry, joint, robot) for entry in entries]


def _law(item: Item, joint: int, robot: Robot) -> friction.FrictionLaw:
    if not item.is_mapping:
        return friction.law(item.text(friction.LAWS), joint, robot)
    entries = item.mapping(friction.LAWS)
    if len(entries) != 1:
        raise item.fail(f"{item.key} should name one friction law with its options, as in {{coulomb: {{width: 0.01}}}}")
    ((name, options),) = entries.items()
    stated = {} if options.is_null else dict(options.mapping())
    moments = {k: tuple(x.number() for x in stated.pop(k).items()) for k in ("moments",) if k in stated}
    values = {k: v.per_joint(robot.driven)[joint] for k, v in stated.items()}
    kind = friction.LAWS[name]
    positive = {option for option, *_ in kind.constants} - set(kind.may_vanish)
    with options.located():
        for option, value in values.items():
            if option in positive and value <= 0.0:
                raise InputError(f"{options.key}.{option} should be greater than zero, not {value:g}")
            if value < 0.0:
                raise InputError(f"{options.key}.{option} should not be negative")
        return friction.law(name, joint, robot, **values, **moments)


def _read_armature(item: Item, robot: Robot) -> tuple[Armature, ...]:
    if not item.is_list:
        return tuple(Armature(j) for j in robot.independent) if item.boolean() else ()
    flags = item.items()
    if len(flags) != robot.driven:
        raise item.fail(f"{item.key} has {len(flags)} values for {robot.driven} joints")
    return tuple(Armature(j) for j, flag in enumerate(flags) if flag.boolean())


def _read_couplings(item: Item, robot: Robot) -> tuple[Term, ...]:
    return tuple(_read_coupling(entry, robot) for entry in (item.items() if item.is_list else [item]))


def _read_coupling(item: Item, robot: Robot) -> Term:
    keys = item.mapping(("motor", "joints", "ratios", "form", "width"), required=("motor", "joints"))
    motor = joint_of(keys["motor"], robot)
    joints = tuple(joint_of(j, robot) for j in keys["joints"].items())
    width = keys["width"].positive() if "width" in keys else 0.0
    ratios = keys["ratios"].numbers(len(joints), "coupled joints") if "ratios" in keys else ()
    form = keys["form"].text(("general", "toolbox", "rotor")) if "form" in keys else "general"
    if form != "general":
        if len(set(joints)) != 2 or len(joints) != 2 or motor not in joints or ratios:
            raise item.fail(f"{item.key}: the {form} form couples the motor's own joint with one other joint, without ratios")
        return ToolboxCoupling(motor, joints[0] if joints[1] == motor else joints[1], width, form == "rotor")
    with item.located():
        return Coupling(motor, joints, ratios, width)


_TERM_KINDS = {
    "spring": ("spring", "rest"),
    "counterbalance": ("counterbalance",),
    "formula": ("name", "joint", "formula", "unit", "lower"),
    "torque": ("name", "torque", "unit", "lower"),
}


def _read_terms(item: Item, robot: Robot) -> tuple[Term, ...]:
    return tuple(_read_term(entry, robot) for entry in item.items())


def _read_term(item: Item, robot: Robot) -> Term:
    keys = item.mapping()
    kind = next((k for k in _TERM_KINDS if k in keys), None)
    if kind is None:
        item.mapping({key for valid in _TERM_KINDS.values() for key in valid})
        raise item.fail(f"{item.key} needs one of the keys {', '.join(_TERM_KINDS)}")
    keys = item.mapping(_TERM_KINDS[kind])
    if kind == "spring":
        return Spring(joint_of(keys["spring"], robot), keys["rest"].number() if "rest" in keys else 0.0)
    if kind == "counterbalance":
        return Counterbalance(joint_of(keys["counterbalance"], robot))
    return _read_formula_term(item, keys, robot)


def _read_formula_term(item: Item, keys: dict[str, Item], robot: Robot) -> FormulaTerm:
    item.mapping(required=("name",) if "torque" in keys else ("name", "joint"))
    if "torque" in keys:
        entries = [(_joint(entry, word, robot), entry) for word, entry in keys["torque"].mapping().items()]
    else:
        entries = [(joint_of(keys["joint"], robot), keys["formula"])]
    formulas = tuple((j, _formula(entry, robot)) for j, entry in entries)
    if len({j for j, _ in formulas}) != len(formulas):
        raise item.fail(f"{item.key} gives two formulas for one joint")
    unit = _unit(keys["unit"]) if "unit" in keys else "1"
    lower = keys["lower"].number(infinite=True) if "lower" in keys else float("-inf")
    with item.located():
        return FormulaTerm(keys["name"].text(), formulas, unit, lower, None if "torque" in keys else formulas[0][0])


def _unit(item: Item) -> str:
    with item.located():
        return check_unit(item.text())


def _formula(item: Item, robot: Robot) -> Formula:
    with item.located():
        return Formula(item.text(), robot.driven)


def _read_springs(item: Item, robot: Robot) -> tuple[Term, ...]:
    return tuple(_read_spring(entry, robot) for entry in (item.items() if item.is_list else [item]))


def _read_spring(item: Item, robot: Robot) -> Spring:
    if not item.is_mapping:
        return Spring(joint_of(item, robot))
    keys = item.mapping(("joint", "rest"), required=("joint",))
    return Spring(joint_of(keys["joint"], robot), keys["rest"].number() if "rest" in keys else 0.0)


def _read_payload(item: Item, robot: Robot) -> RigidBody:
    keys = item.mapping(("link", "position", "rpy"), required=("link",))
    links = [joint.link for joint in robot.joints]
    word = keys["link"].text()
    link = links.index(word) if word in links else joint_of(keys["link"], robot)
    roll, pitch, yaw = keys["rpy"].vector() if "rpy" in keys else (0.0, 0.0, 0.0)
    position = keys["position"].vector() if "position" in keys else (0.0, 0.0, 0.0)
    return RigidBody(link, "p", matrix(rotation_z(yaw) @ rotation_y(pitch) @ rotation_x(roll)), position)


def _read_fixed(item: Item) -> tuple[tuple[str, float | None], ...]:
    if item.is_mapping:
        return tuple((name, entry.number()) for name, entry in item.mapping().items())
    return tuple((name, None) for name in item.texts())

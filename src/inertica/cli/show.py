"""Shows a robot: geometry, limits, terms, base parameters with their grouping, and which
parameters any motion can reveal.

ROBOT is a built-in name (see inertica robots), a DH YAML, a URDF, an MJCF or a robot card.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import numpy as np
from numpy.typing import NDArray

from inertica.cli.console import Answer, grid, numbers, progress, table
from inertica.errors import InputError, ModelWarning
from inertica.identifiability.base import BaseModel, Rows, base_model
from inertica.identifiability.figure import STYLE, identifiability_map
from inertica.numbers import number
from inertica.robot import control, friction
from inertica.robot.description import Description
from inertica.robot.files import catalog
from inertica.robot.formats.model_format import Part
from inertica.robot.formats.table import find_format, tree_titles
from inertica.robot.inertia import NAMES
from inertica.robot.load import load
from inertica.robot.model import Joint, Matrix
from inertica.robot.options import Options, apply_options, default_friction
from inertica.robot.settings import LIMIT_KEYS
from inertica.robot.terms import Term
from inertica.writing import whole_file

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

EXAMPLES = """\
inertica show arm.urdf
inertica show arm.urdf --root base_link --tip tool0 --png map.png
inertica show card.yaml --friction viscous,coulomb,offset --json
inertica show walker.yaml --rows joints
"""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("robot", metavar="ROBOT", help="built-in name or file")
    parser.add_argument("--friction", metavar="LIST", help=f"laws instead of the file's: {', '.join(friction.LAWS)}, or none")
    parser.add_argument("--root", metavar="LINK", help="first link of the chain, for URDF and MJCF")
    parser.add_argument("--tip", metavar="LINK", help="last link of the chain, for URDF and MJCF")
    parser.add_argument(
        "--rows", choices=get_args(Rows), default="all",
        help="what torques tell: of a floating base alone (forces on it), of its joints alone, or all together",
    )  # fmt: skip
    parser.add_argument("--png", metavar="FILE", type=Path, help="write the identifiability map as a figure")


def run(arguments: argparse.Namespace) -> Answer:
    if arguments.png is not None:
        check_folder(arguments.png)
    robot = read(arguments.robot, arguments.root, arguments.tip)
    if arguments.friction is not None:
        robot = with_friction(robot, arguments.friction)
    with progress(f"finding the base parameters of {robot.name}"):
        view = RobotView(robot, base_model(robot.layout, rows=arguments.rows))
        for sentence in view.base.warnings:
            warnings.warn(ModelWarning(sentence), stacklevel=1)
        document = view.document()
    if arguments.png is not None:
        write_png(view.base, arguments.png)
    return Answer(document, view.text)


def read(robot: str, root: str | None = None, tip: str | None = None) -> Description:
    """A robot by name or file; `root` and `tip` select a chain of a URDF or MJCF."""
    if root is None and tip is None:
        return load(robot)
    trees = tree_titles()
    if robot in catalog() or not Path(robot).exists():
        load(robot)  # says what is wrong with a name that is none
        raise InputError(f"{robot} is a built-in robot and one chain; --root and --tip are for {trees} files")
    form = find_format(Path(robot))
    if form is None:
        raise InputError(f"{robot}: --root and --tip are for {trees} files; write the keys root and tip into the card")
    if form.tree is None:
        raise InputError(f"{robot}: --root and --tip are for {trees} files; a {form.title} file is one chain")
    return form.read(Path(robot), Part(root, tip))


def with_friction(robot: Description, laws: str) -> Description:
    """The robot with these friction laws on every joint, a comma-separated list of names."""
    names = [name.strip() for name in laws.split(",") if name.strip()]
    if not names:
        raise InputError(f"--friction names no law; choose from {', '.join(friction.LAWS)}, or none")
    if names == ["auto"]:
        terms = default_friction(robot.robot.independent)
    elif names == ["none"]:
        terms = ()
    else:
        terms = tuple(friction.law(name, joint, robot.robot) for joint in robot.robot.independent for name in names)
    layout = apply_options(Options(friction=terms, friction_stated=True), robot.layout)
    return replace(robot, layout=layout, prior=robot.prior.on(layout), friction_stated=names != ["auto"])


def check_folder(path: Path) -> None:
    """Before any work: can a file be written there?"""
    if path.is_dir():
        raise InputError(f"{path} is a folder; give the name of a file to write")
    if not path.parent.is_dir():
        raise InputError(f"{path} cannot be written: there is no folder {path.parent}; create it first")


def write_png(base: BaseModel, path: Path) -> None:
    """The identifiability map as a PNG; nothing is left behind when the picture cannot be made."""
    figure = identifiability_map(base)
    with whole_file(path) as temporary:
        figure.savefig(temporary, format="png", dpi=300)


@dataclass(frozen=True)
class RobotView:
    """A robot and its base model, as a document and as text."""

    robot: Description
    base: BaseModel

    @property
    def values(self) -> NDArray[np.float64]:
        """Base parameters of the file's values; sums that cancel to rounding are zero."""
        chi = self.robot.prior.values
        beta = self.base.beta(chi)
        return np.where(np.abs(beta) > 1e-14 * (np.abs(self.base.T) @ np.abs(chi)), beta, 0.0)

    def document(self) -> dict[str, object]:
        robot, layout, prior = self.robot, self.robot.layout, self.robot.prior
        limits = robot.robot.limits
        return {
            "name": robot.name,
            "joints": [_joint_entry(robot, j) for j in range(robot.robot.driven)],
            "floating": robot.robot.floating,
            "gravity": robot.robot.gravity,
            "limits": {key: getattr(limits, key)[: robot.robot.driven] for key in LIMIT_KEYS},
            "terms": [_term_entry(robot, term) for term, _ in layout.drives],
            "parameter_count": layout.size,
            "parameters": [
                {"name": p.name, "value": value, "unit": p.unit} for p, value in zip(layout.parameters, prior.values, strict=True)
            ],
            "base_count": self.base.rank,
            "base": [
                {"name": name, "value": value, "relation": relation}
                for name, value, relation in zip(self.base.names, self.values, self.base.relations, strict=True)
            ],
            "classes": self.base.classes(),
            "gap": self.base.gap,
            "loop": robot.loop,
            "noise": robot.noise,
            "notes": robot.notes,
        }

    def text(self) -> Iterator[RenderableType]:
        from rich.text import Text

        robot, layout = self.robot, self.robot.layout
        joints = f"{robot.robot.driven} joints{' on a floating base' * robot.robot.floating}"
        rows = {
            None: "",
            robot.robot.driven: f" by the wrench on {robot.robot.joints[-1].link} alone",
            0: " by joint torques alone",
        }
        by_rows = rows[self.base.states.rows[0] if self.base.states.rows else None]
        yield Text(f"{robot.name}: {joints}, {layout.size} standard and {self.base.rank} base parameters{by_rows}", "bold")
        yield f"gravity {numbers(robot.robot.gravity)} m/s^2; values: {robot.prior.origin}\n"
        yield self._geometry()
        yield self._limits()
        yield self._terms()
        yield from self._groups()
        yield from self._map()
        yield f"{self._gap()}\n"
        yield from self._loop()
        for note in robot.notes:
            yield f"note: {note}"

    def _geometry(self) -> RenderableType:
        joints = self.robot.robot.joints[: self.robot.robot.driven]
        arms = any(any(joint.arm) for joint in joints)
        columns = ["", "joint", "type", "parent", "axis", "position (m)", "rotation rpy (deg)", *(["arm (m)"] if arms else [])]
        rows = []
        for i, joint in enumerate(joints, 1):
            row = [str(i), joint.name, _kind(joint), _parent(self.robot, joint), numbers(joint.axis, 3)]
            row += [numbers(joint.position), numbers((math.degrees(a) for a in roll_pitch_yaw(joint.rotation)), 5)]
            rows.append([*row, numbers(joint.arm)] if arms else row)
        return table("geometry: joints in the frames of their parents", columns, rows, right=("",))

    def _limits(self) -> RenderableType:
        limits = self.robot.robot.limits
        rows = [
            [joint.name, *(number(getattr(limits, key)[j], 5) for key in LIMIT_KEYS), f"{joint.unit}, s, {joint.effort_unit}"]
            for j, joint in enumerate(self.robot.robot.joints[: self.robot.robot.driven])
        ]
        return table("limits (- where none is stated)", ("joint", *LIMIT_KEYS, "units"), rows, right=LIMIT_KEYS)

    def _terms(self) -> RenderableType:
        """One row per joint or per term of several joints; joints with the same terms share a row."""
        rows: dict[str, list[str]] = {}
        for j, joint in enumerate(self.robot.robot.joints[: self.robot.robot.driven]):
            words = [_term_text(term, j + 1) for term, _ in self.robot.layout.drives if term.joint == j]
            rows.setdefault(", ".join(words) or "none", []).append(joint.name)
        several = [["several joints", _term_text(term)] for term, _ in self.robot.layout.drives if term.joint is None]
        several += [[f"on {self.robot.robot.joints[b.link].link}", "payload"] for b in self.robot.layout.payloads]
        stated = "" if self.robot.friction_stated else " (friction is not stated: identification chooses)"
        names = {words: "every joint" if len(rows) == 1 else ", ".join(joints) for words, joints in rows.items()}
        return table(f"terms{stated}", ("joint", "terms"), [[names[words], words] for words in rows] + several)

    def _groups(self) -> Iterator[RenderableType]:
        base = self.base
        grouped, alone = [], []
        for name, value, relation in zip(base.names, self.values, base.relations, strict=True):
            if relation == name:
                alone.append(name)
            else:
                grouped.append([name, number(value), relation])
        yield table(
            f"grouping: {len(grouped)} base parameters combine several", ("base", "value", "relation"), grouped, ("value",)
        )
        if alone:
            yield f"{len(alone)} more stand for themselves: {' '.join(alone)}\n"

    def _map(self) -> Iterator[RenderableType]:
        from rich.text import Text

        classes, layout = self.base.classes(), self.base.layout
        rows, extra = layout.cells()
        kinds = list(dict.fromkeys([*NAMES, *(kind for row in rows.values() for kind in row)]))
        body: list[list[RenderableType]] = []
        for j, row in rows.items():
            marks = [_mark(classes[row[kind]]) if kind in row else Text("") for kind in kinds]
            name = f"{layout.robot.number(j)} {layout.robot.joints[j].link}"
            body.append([Text(name, no_wrap=True, overflow="ellipsis"), *marks])
        out = grid(("link", *kinds), body)
        out.columns[0].max_width = 24
        for column in out.columns[1:]:
            column.justify, column.min_width = "center", 3
        yield Text("identifiability: links and kinds of parameters", "bold")
        yield out
        if extra:
            yield Text.assemble("other terms: ", *(part for n in extra for part in (f"{n} ", _mark(classes[n]), "  ")))
        counts = {kind: sum(c == kind for c in classes.values()) for kind in STYLE}
        shown = [kind for kind in STYLE if counts[kind]]
        yield Text.assemble("\n", *(part for k in shown for part in (_mark(k), f" {STYLE[k][3]} ({counts[k]})   ")))

    def _gap(self) -> str:
        if not math.isfinite(self.base.gap):
            return f"rank {self.base.rank}: every parameter with an effect counts"
        return f"rank {self.base.rank}: behind it the singular values of the regressor drop by a factor of {self.base.gap:.1e}"

    def _loop(self) -> Iterator[RenderableType]:
        loop, noise = self.robot.loop, self.robot.noise
        if loop:
            rate = f" at {number(loop['rate'])} Hz" if "rate" in loop else ""
            gains = [[key, numbers(loop[key])] for key in control.gain_keys(bounds=False) if any(loop.get(key) or [])]
            law = control.LAWS.get(str(loop["law"]))
            formula = "" if law is None else f", {law.formula}"
            yield table(f"control loop: {loop['law']}{rate}{formula}", ("gain", "joint side, SI, one per joint"), gains)
        if noise:
            keys = [k for k in ("q", "dq", "ddq", "tau", "i") if any(k in preset for preset in noise.values())]
            rows = [[name, *(_spread(preset.get(k)) for k in keys)] for name, preset in noise.items()]
            yield table("noise presets: standard deviations (SI)", ("preset", *keys), rows)


def roll_pitch_yaw(R: Matrix) -> tuple[float, float, float]:
    """Angles with R = Rz(yaw) Ry(pitch) Rx(roll), as in URDF; yaw is 0 where only its sum with roll is determined."""
    if abs(R[2][0]) > 1.0 - 1e-12:
        return math.atan2(-R[1][2], R[1][1]), math.copysign(math.pi / 2, -R[2][0]), 0.0
    return math.atan2(R[2][1], R[2][2]), math.asin(-R[2][0]), math.atan2(R[1][0], R[0][0])


def _kind(joint: Joint) -> str:
    return "prismatic" if joint.prismatic else "revolute"


def _parent(robot: Description, joint: Joint) -> str:
    return robot.robot.base if joint.parent < 0 else robot.robot.joints[joint.parent].link


def _joint_entry(robot: Description, j: int) -> dict[str, object]:
    joint = robot.robot.joints[j]
    return {
        "name": joint.name,
        "type": _kind(joint),
        "link": joint.link,
        "parent": _parent(robot, joint),
        "axis": joint.axis,
        "position": joint.position,
        "rotation": joint.rotation,
        "arm": joint.arm,
    }


def _term_entry(robot: Description, term: Term) -> dict[str, object]:
    return {
        "term": _term_word(term),
        "joint": None if term.joint is None else robot.robot.joints[term.joint].name,
        "parameters": [p.name for p in term.parameters],
        "shapes": {s.name: s.value for s in term.shapes},
    }


def _term_word(term: Term) -> str:
    """The word a card uses for a term."""
    if isinstance(term, friction.FrictionLaw):
        return friction.word(term)
    name = type(term).__name__.lower()
    return next((word for word in ("coupling", "formula") if word in name), name)


def _term_text(term: Term, number_of_joint: int | None = None) -> str:
    """`viscous Fv`: the word and the symbols of its parameters, without the joint's number when there is one joint."""
    names = [p.name for p in term.parameters] or [s.name for s in term.shapes]
    if number_of_joint is not None:
        names = [name.removesuffix(str(number_of_joint)) for name in names]
    return f"{_term_word(term)} {' '.join(names)}"


def _mark(kind: str) -> Text:
    from rich.style import Style
    from rich.text import Text

    fill, ink, letter, _ = STYLE[kind]
    return Text(f" {letter} ", Style(color=_colour(ink), bgcolor=_colour(fill)))


def _colour(name: str) -> str:
    return {"white": "#ffffff", "black": "#000000"}.get(name, name)


def _spread(values: object) -> str:
    if isinstance(values, (list, tuple)):
        return numbers(values, 3)
    return number(values, 3) if isinstance(values, (int, float)) else "-"

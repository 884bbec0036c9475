"""What writers of model files share: which source link takes a change of a robot link's parameters, and whether it arrived."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypedDict, Unpack

import numpy as np

from inertica.arrays import Array
from inertica.errors import InerticaError, InputError, ModelWarning
from inertica.robot import inertia
from inertica.robot.layout import Parameters
from inertica.robot.shares import shared
from inertica.robot.terms import Spring
from inertica.robot.tree import Placed, Reduced, Tree, in_frame, reduce
from inertica.robot.xmledit import Edits
from inertica.robot.xmlfile import Document, Element, parse_xml, read_xml
from inertica.writing import write_whole

MARK = "inertica"
"""What comments of ours in model files start with."""


@dataclass(frozen=True)
class Change:
    """New ten parameters of one source link, in its own frame."""

    link: str
    ten: Array


class Selection(TypedDict, total=False):
    """The chain of a file that a robot was read as, and trust labels (parameter name -> label) for comments."""

    root: str | None
    tip: str | None
    joints: Sequence[str] | None
    floating: bool | None
    labels: Mapping[str, str] | None


class Editable(Protocol):
    """A document of one format: its tree, and how values get into it."""

    def tree(self) -> Tree: ...

    def link_element(self, link: str) -> Element | None:
        """Where a link's comment goes."""

    def set_inertial(self, edits: Edits, change: Change) -> None: ...

    def set_joint(self, edits: Edits, joint: str, values: Mapping[str, float]) -> None:
        """New armature, damping, friction or spring of a joint."""


def write_back(
    read: Callable[[Document], Editable], symbols: Mapping[str, str], source: str | Path, target: str | Path,
    parameters: Parameters, **selection: Unpack[Selection],
) -> tuple[str, ...]:  # fmt: skip
    """Write parameter values into a copy of an XML model; what did not change stays as it is, byte for byte.

    Args:
        read: the format.
        symbols: Ia, Fv, Fc, Ks -> the field of `Reduced`, for those that the format has a place for.
        source: the file the robot was read from.
        target: the file to write; may be the source.
        parameters: values for the robot that `reduce` gives under the same root, tip, joints and base.
        selection: root, tip, joints, floating; labels are written as a comment into each link.

    Returns:
        Notes on what the format cannot hold.
    """
    chain = (selection.get("root"), selection.get("tip"), selection.get("joints"), None, selection.get("floating"))
    document = read_xml(source)
    file = read(document)
    tree = file.tree()
    reduced = reduce(tree, *chain)
    check_same_robot(tree, reduced, parameters)
    edits = Edits(document)
    for change in link_changes(tree, reduced, parameters):
        file.set_inertial(edits, change)
    for joint, values in joint_changes(reduced, parameters, symbols).items():
        file.set_joint(edits, joint, values)
    for j, words in label_texts(parameters, selection.get("labels") or {}).items():
        if (element := file.link_element(reduced.robot.joints[j].link)) is not None:
            edits.comment(element, MARK, words)
    content = edits.apply()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)  # said once above
        again = reduce(read(parse_xml(Path(target), content)).tree(), *chain)
    check_arrived(again, parameters, symbols)
    write_whole(target, content)
    return left_out(parameters, tuple(symbols), tree.format)


def check_same_robot(tree: Tree, reduced: Reduced, parameters: Parameters) -> None:
    """The parameters must be those of the robot the file gives under this selection."""
    theirs, ours = reduced.robot.joint_names, parameters.layout.robot.joint_names
    if theirs != ours:
        problem = f"the parameters are for joints {', '.join(ours)}, but {tree.path.name} gives {', '.join(theirs)}"
        raise InputError(f"{problem}; use the same root, tip and joints as when it was read")


def link_changes(tree: Tree, reduced: Reduced, parameters: Parameters) -> list[Change]:
    """The source links whose inertia must change; links whose parameters stayed are not listed."""
    out = []
    for j, places in enumerate(reduced.merged):
        wanted = parameters.link(j)
        if _same(wanted, reduced.tens[j]):
            continue
        taker = _taker(tree, places)
        bodies = [in_frame(tree.ten(p.link), p) for p in places]
        for i, (place, ten) in enumerate(zip(places, shared(wanted, bodies, taker), strict=True)):
            if i == taker or not np.array_equal(ten, bodies[i]):
                seen = _seen_from(ten, place)
                _check_writable(tree, place.link, seen)
                out.append(Change(place.link, seen))
    return out


def joint_changes(reduced: Reduced, parameters: Parameters, symbols: Mapping[str, str]) -> dict[str, dict[str, float]]:
    """Joint -> armature, damping, friction and spring that differ from the file's."""
    out: dict[str, dict[str, float]] = {}
    rests = {t.at: t.rest for t in parameters.layout.terms if isinstance(t, Spring)}
    for j, name in enumerate(reduced.robot.joint_names):
        for symbol, what in symbols.items():
            key = f"{symbol}{j + 1}"
            if key in parameters.layout.names and parameters[key] != getattr(reduced, what)[j]:
                out.setdefault(name, {})[what] = parameters[key]
        if (rest := rests.get(j, reduced.springref[j])) != reduced.springref[j]:
            out.setdefault(name, {})["springref"] = rest
    return out


def left_out(parameters: Parameters, symbols: Sequence[str], format: str) -> tuple[str, ...]:
    """A sentence on non-zero parameters for which the format has no place."""
    layout = parameters.layout
    placed = {f"{s}{j + 1}" for s in symbols for j in range(layout.robot.n)}
    bodies = {name for j in layout.robot.links for name in layout.names[layout.link(j)]}
    names = [n for n in layout.names if n not in placed | bodies and parameters[n]]
    return (f"{format} has no place for {', '.join(names)}; they are not in the file",) if names else ()


def label_texts(parameters: Parameters, labels: Mapping[str, str]) -> dict[int, str]:
    """Per joint, the trust labels of its parameters as one line."""
    texts: dict[int, list[str]] = {}
    for p in parameters.layout.parameters:
        if p.joint is not None and p.name in labels:
            texts.setdefault(p.joint, []).append(f"{p.name} {labels[p.name]}")
    return {joint: ", ".join(words) for joint, words in texts.items()}


def check_arrived(again: Reduced, parameters: Parameters, symbols: Mapping[str, str]) -> None:
    """The file as written, read again, must give the parameters back."""
    for j, name in enumerate(again.robot.joint_names):
        wanted, got = parameters.link(j), again.tens[j]
        if not _same(wanted, got, 1e-9):
            link = again.robot.joints[j].link
            raise InerticaError(
                f"link '{link}' would not be read back with the parameters written to it; nothing was written", joint=name
            )
        for symbol, what in symbols.items():
            key = f"{symbol}{j + 1}"
            if key in parameters.layout.names and getattr(again, what)[j] != parameters[key]:
                raise InerticaError(
                    f"joint '{name}' would not be read back with the {what} written to it; nothing was written", joint=name
                )


def changed(old: str | None, new: str) -> bool:
    """Whether the numbers of an attribute differ; equal ones stay as they are written."""
    return old is None or [float(word) for word in old.split()] != [float(word) for word in new.split()]


def numbers(values: Sequence[float] | Array) -> str:
    """Numbers as text that reads back to the same floats."""
    return " ".join(repr(float(v)) for v in values)


def _taker(tree: Tree, places: Sequence[Placed]) -> int:
    """The link itself; but when it is a bare frame and the body hangs on it by fixed joints, the heaviest of those."""
    if np.any(tree.ten(places[0].link)) or len(places) == 1:
        return 0
    heaviest = max(range(len(places)), key=lambda i: float(tree.ten(places[i].link)[9]))
    return heaviest if tree.ten(places[heaviest].link)[9] > 0 else 0


def _seen_from(ten: Array, place: Placed) -> Array:
    """Ten parameters in the body's frame, as seen from a link placed in it."""
    R = np.array(place.rotation)
    return inertia.change_frame(ten, R.T, -R.T @ np.array(place.position))


def _check_writable(tree: Tree, link: str, ten: Array) -> None:
    if ten[9] == 0 and np.any(ten[6:9]):
        problem = f"link '{link}' has no mass but first moments {ten[6:9].tolist()}, which {tree.format} cannot express"
        raise InputError(f"{problem}; choose physically consistent parameters")
    if np.any(ten) and not inertia.physically_consistent(ten):
        message = f"{tree.path.name}: the new inertia of link '{link}' is not that of a real body; simulators may refuse it"
        warnings.warn(ModelWarning(message), stacklevel=5)


def _same(a: Array, b: Array, tolerance: float = 1e-14) -> bool:
    """Equal up to rounding, inertias, first moments and masses each on their own scale."""
    groups = (slice(0, 6), slice(6, 9), slice(9, 10))
    return all(np.abs(a[g] - b[g]).max() <= tolerance * max(np.abs(a[g]).max(), np.abs(b[g]).max()) for g in groups)

"""What a format of model files is: how a file is recognised, read and written, and what of a robot it has a place for.

Adding a format: one file in this folder with a `ModelFormat`, and one line in `table.py`.  Nobody else knows a format by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from inertica.errors import FileError
from inertica.robot.description import Description, Source
from inertica.robot.layout import Parameters
from inertica.robot.options import plain_layout
from inertica.robot.plain import without_idle_drives
from inertica.robot.shapes import Solid
from inertica.robot.terms import Spring
from inertica.robot.tree import Placed, Tree, reduce
from inertica.robot.yamlfile import parse_yaml

Drawn = dict[str, Any]
"""A shape as the page of the studio draws it: kind, size, rotation, position; of a mesh its file and scale."""

LinkSolids = Callable[[Placed], Sequence[Solid]]
"""The solids of one link of a file, in the frame of the robot link that it is placed in."""

WORDS = {"Ia": "drive inertia", "Fv": "viscous friction", "Fc": "Coulomb friction", "Ks": "springs"}
"""What formats may have a place for besides links."""


@dataclass(frozen=True)
class FileStart:
    """What can be told of a file without reading it as a model.

    Args:
        path: of the file.
        text: its whole text.
        tag: of its root element; empty where the file is no XML.
    """

    path: Path
    text: str
    tag: str = ""

    @cached_property
    def keys(self) -> frozenset[str]:
        """Keys of a YAML file; none where it is XML, no mapping, or no YAML."""
        if self.tag:
            return frozenset()
        try:
            root = parse_yaml(self.text, self.path)
        except FileError:  # said by the reader of the format that claims the file
            return frozenset()
        return frozenset(root.mapping()) if root.is_mapping else frozenset()


@dataclass(frozen=True)
class Part:
    """Which part of a file is the robot, for files that hold a tree.

    Args:
        root: link that is the base; that of the file by default.
        tip: link at the end of a chain.
        joints: names of the joints that move, in the order of the robot.
        gravity: in the frame of the root, in place of the file's.
        floating: whether the root moves freely; as the file says by default.
    """

    root: str | None = None
    tip: str | None = None
    joints: tuple[str, ...] | None = None
    gravity: tuple[float, float, float] | None = None
    floating: bool | None = None

    @classmethod
    def of(cls, source: Source) -> Part:
        """The part that a description was read from."""
        return cls(**source.selection)


class Bodies(Enum):
    """Links that programs accept in a file of a format."""

    ANY = "any numbers"
    POSITIVE = "no negative mass"
    REAL = "only inertia that a real body has"


@dataclass(frozen=True)
class ModelFormat:
    """A format of model files.

    Args:
        name: in JSON, in saved results and as an argument (urdf).
        title: for people (URDF).
        suffixes: of its files, in small letters; a file that is written takes the first.
        sign: by what a file is recognised, for messages: `<robot>`, or `key 'dh'`.
        sniff: whether a file is in this format.
        read: the robot of a file or, where the format has trees, of a part of it.
        write: puts values into a copy of the file that a description came from, with trust labels (parameter name -> label) as
            comments; returns notes on what the format cannot hold.
        holds: symbols of parameters of joints that have a place in the file (Ia, Fv, Fc, Ks).
        states_laws: the file takes the keys of a robot card (friction, armature, terms, constraints), so it can hold any law.
        bodies: links that programs accept in it.
        create: text of a new file for a robot that came in any format; None where values only go into a copy.
        tree: the whole kinematic tree of a file; None where a file is one chain.
        solids: opens a file, with folders in which `package://` is looked for, and gives the solids of its links.
        encloses: its shapes tell where the mass of a link can be (`inside: geometry`, and the check of centres of mass).
        drawn: link of the file -> shapes for the studio's page.
        programs: others that read it; see `workflow.export_torques` for those by which a written file is measured.
        option: what people type for it where that is not its name.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    sign: str
    sniff: Callable[[FileStart], bool]
    read: Callable[[Path, Part], Description]
    write: Callable[[Description, Parameters, Path, Mapping[str, str]], tuple[str, ...]]
    holds: tuple[str, ...] = ()
    states_laws: bool = False
    bodies: Bodies = Bodies.ANY
    create: Callable[[Parameters, Mapping[str, str]], str] | None = None
    tree: Callable[[Path], Tree] | None = None
    solids: Callable[[Path, Sequence[str | Path]], LinkSolids] | None = None
    encloses: bool = False
    drawn: Callable[[Path], Mapping[str, Sequence[Drawn]]] | None = None
    programs: tuple[str, ...] = ()
    option: str = ""

    @property
    def suffix(self) -> str:
        """Of files that are written."""
        return self.suffixes[0]

    @property
    def word(self) -> str:
        """What people type for it on a command line."""
        return self.option or self.name

    @property
    def about(self) -> str:
        """What a written file is, for people."""
        copy = f"Copy of the {self.title} file with the identified values in place"
        return f"{copy}, or a new file from any model." if self.create else f"{copy}."

    @property
    def lacks(self) -> str:
        """What has no place in it, for people."""
        if self.states_laws:
            return "Holds everything."
        return f"{self.title} holds {_listed(['links', *(WORDS[s] for s in self.holds)])}; the rest goes to a card beside it."


def moved(shape: Drawn, place: Placed) -> Drawn:
    """A shape of a link of the file in the frame of the robot link it belongs to."""
    outer = np.array(place.rotation)
    return shape | {"rotation": outer @ shape["rotation"], "position": outer @ shape["position"] + place.position}


def describe_tree(tree: Tree, format: str, part: Part) -> Description:
    """The robot of a part of a tree, with armature and plain friction on every joint.

    Args:
        tree: of the file.
        format: name of its format.
        part: that is the robot.
    """
    reduced = reduce(tree, part.root, part.tip, part.joints, part.gravity, part.floating)
    robot, n = reduced.robot, reduced.robot.driven
    layout = replace(plain_layout(replace(robot, loops=None)), robot=robot)
    springs = tuple(Spring(j, float(reduced.springref[j])) for j in range(n) if reduced.stiffness[j])
    layout = replace(layout, terms=(*layout.terms, *springs))
    values: dict[str, float] = {}
    for j in robot.links:
        values |= dict(zip(layout.names[layout.link(j)], np.asarray(reduced.tens, float)[j], strict=True))
    for symbol, prior in (("Ia", reduced.armature), ("Fv", reduced.damping), ("Fc", reduced.friction)):
        values |= {f"{symbol}{j + 1}": float(prior[j]) for j in range(n)}
    values |= {f"Ks{t.at + 1}": float(reduced.stiffness[t.at]) for t in springs}
    source = Source(format, tree.path, None, part.root, part.tip, part.joints, reduced.movable, reduced.sliding, robot.floating)
    description = Description(robot, layout, layout.zeros("file").replaced(values), source, notes=tuple(reduced.notes))
    return without_idle_drives(description)


def _listed(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]

"""A format of model files that the package does not know: one line per joint, links by their ten parameters, viscous friction.

    toy arm
    shoulder base upper 0 0 1 0 0 0 0.1 0 0 0.1 0 0.1 0.2 0 0 1.5 0.3

Joint, parent, link; axis, position of the joint in the parent; XX XY XZ YY YZ ZZ MX MY MZ M; Fv.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from inertica.errors import FileError
from inertica.robot.description import Description
from inertica.robot.formats.model_format import ModelFormat, Part, describe_tree
from inertica.robot.layout import Parameters
from inertica.robot.tree import Tree, TreeJoint, checked


def read_tree(path: Path) -> Tree:
    first, *lines = path.read_text(encoding="utf-8").splitlines()
    joints, inertials = [], {}
    for number, line in enumerate(lines, 2):
        words = line.split()
        if len(words) != 20:
            raise FileError(path, f"a joint has 20 words, not {len(words)}", number)
        values = tuple(float(word) for word in words[3:])
        joints.append(TreeJoint(*words[:3], "revolute", axis=values[:3], position=values[3:6], damping=values[16], line=number))
        inertials[words[2]] = np.array(values[6:16])
    return checked(Tree(first.split()[1], TOY.title, path, joints[0].parent, tuple(joints), inertials))


def read(path: Path, part: Part) -> Description:
    return describe_tree(read_tree(path), TOY.name, part)


def write(description: Description, parameters: Parameters, target: Path, labels: Mapping[str, str]) -> tuple[str, ...]:
    first, *lines = description.source.path.read_text(encoding="utf-8").splitlines()
    links = [joint.link for joint in description.robot.joints]
    for k, line in enumerate(lines):
        words = line.split()
        if words[2] in links:
            j = links.index(words[2])
            lines[k] = " ".join([*words[:9], *(repr(float(x)) for x in (*parameters.link(j), parameters[f"Fv{j + 1}"]))])
    target.write_text("\n".join([first, *lines, ""]), encoding="utf-8")
    return ()


TOY = ModelFormat(
    name="toy",
    title="Toy",
    suffixes=(".toy",),
    sign="first word 'toy'",
    sniff=lambda start: start.text.startswith("toy "),
    read=read,
    write=write,
    holds=("Fv",),
    tree=read_tree,
)

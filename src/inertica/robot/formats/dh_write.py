"""Writes parameter values back into a DH YAML file, keeping its comments, order and everything else."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import yaml

from inertica.errors import FileError, InputError, ModelWarning, nearest
from inertica.escape import one_line
from inertica.robot.drives import Armature
from inertica.robot.formats.dh_read import describe, symbols_of
from inertica.robot.friction import friction_terms, friction_text, with_shapes
from inertica.robot.layout import Layout, Parameters
from inertica.robot.terms import Term
from inertica.robot.writeback import MARK, label_texts
from inertica.robot.yamlfile import Item, parse_yaml, read_text
from inertica.writing import write_whole

Edit = tuple[int, int, str]
"""Replace the characters from start to end by a text."""


def write_dh(source: str | Path, target: str | Path, parameters: Parameters, labels: Mapping[str, str] | None = None) -> None:
    """Puts values into a copy of a DH file.

    Values already in the file are replaced where they stand, others are added to `links` or `extra`.  When the friction laws or
    the armature of `parameters` are not those of the file, these keys are rewritten.  The new text is read back and compared
    before it takes the place of `target`.  Trust labels (parameter name -> label) become comments at the end.
    """
    source, target = Path(source), Path(target)
    text = read_text(source)
    text = _with_terms(text, source, parameters)
    root = parse_yaml(text, source)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)  # said when the file was read first
        layout = describe(root).layout
    _check_known(source, layout, parameters.layout)
    edits = _value_edits(root, layout, parameters)
    _write_checked(target, _labelled(_edited(text, edits, source), parameters, labels or {}), parameters)


def _check_known(source: Path, layout: Layout, wanted: Layout) -> None:
    if wanted.robot.n != layout.robot.n:
        raise FileError(source, f"the file has {layout.robot.n} joints, the parameters are for {wanted.robot.n}")
    for name in wanted.names:
        if name not in layout.names:
            raise FileError(source, f"the file has no term for parameter {name}; add it first ({nearest(name, layout.names)})")


def _with_terms(text: str, source: Path, parameters: Parameters) -> str:
    """The text with `friction` and `armature` restated where they differ from the layout of the parameters."""
    root = parse_yaml(text, source)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        try:
            present: tuple[Term, ...] = describe(root).layout.terms
        except InputError as error:
            raise FileError(source, f"the values cannot be written into this file: {error}") from None
    laws = with_shapes(parameters)
    changes = {}
    if set(laws) != set(friction_terms(present)):
        changes["friction"] = friction_text(laws)
    wanted, has = _armatures(parameters.layout.terms), _armatures(present)
    if wanted != has:
        flags = ("true" if j in wanted else "false" for j in range(parameters.layout.robot.n))
        changes["armature"] = f"[{', '.join(flags)}]"
    return _edited(text, _drop_lost_values(root, present, laws, wanted) + _key_edits(root, changes), source) if changes else text


def _armatures(terms: tuple[Term, ...]) -> set[int]:
    return {t.at for t in terms if isinstance(t, Armature)}


def _drop_lost_values(root: Item, present: tuple[Term, ...], laws: tuple[Term, ...], armatures: set[int]) -> list[Edit]:
    """Removes link values whose term is given up, as `Fc` when Coulomb friction gives way to a directional law."""
    retained = {p.name for t in laws for p in t.parameters} | {f"Ia{j + 1}" for j in armatures}
    candidates = [t for t in present if isinstance(t, Armature)] + list(friction_terms(present))
    lost = {p.name for t in candidates for p in t.parameters} - retained
    links = root.mapping().get("links")
    edits: list[Edit] = []
    for j, link in enumerate(links.items() if links else []):
        edits += _removals(link.node, [f"{key.value}{j + 1}" in lost for key, _ in link.node.value])
    return edits


def _removals(node: yaml.Node, gone: list[bool]) -> list[Edit]:
    """Cuts pairs out of a mapping together with what separates them from their neighbours."""
    pairs = node.value
    leading = gone.index(False) if False in gone else len(gone)
    edits: list[Edit] = []
    if leading:
        end = pairs[leading][0].start_mark if leading < len(pairs) else pairs[-1][1].end_mark
        edits.append((pairs[0][0].start_mark.index, end.index, ""))
    for i in range(leading, len(pairs)):
        if gone[i]:
            key = pairs[i][0].start_mark
            # a block keeps what stands behind the previous value: its comment
            start = pairs[i - 1][1].end_mark.index if _is_flow(node) else key.index - key.column - 1
            edits.append((start, pairs[i][1].end_mark.index, ""))
    return edits


def _value_edits(root: Item, layout: Layout, parameters: Parameters) -> list[Edit]:
    keys = root.mapping()
    values = dict(zip(parameters.layout.names, (float(v) for v in parameters.values), strict=True))
    per_link = [
        {s: values.pop(f"{s}{j + 1}") for s in symbols_of(layout, j) if f"{s}{j + 1}" in values} for j in range(layout.robot.n)
    ]
    edits: list[Edit] = []
    extra = keys["extra"].mapping() if "extra" in keys else {}
    for j, link in enumerate(per_link):
        for name in [s for s in link if f"{s}{j + 1}" in extra]:  # the file states it under extra; leave it there
            values[f"{name}{j + 1}"] = link.pop(name)
    if "links" in keys:
        for item, link in zip(keys["links"].items(), per_link, strict=True):
            edits += _mapping_edits(item, link)
    else:
        edits += _key_edits(root, {"links": "[" + ", ".join(_flow(link) for link in per_link) + "]"})
    fixed = keys["fixed"].mapping() if "fixed" in keys and keys["fixed"].is_mapping else {}
    for name in set(values) & set(fixed):
        edits += _mapping_edits(keys["fixed"], {name: values.pop(name)})
    edits += [e for j, link in enumerate(per_link) for e in _fixed_edits(keys, fixed, j, link)]
    if "extra" in keys:
        return edits + _mapping_edits(keys["extra"], values)
    return edits + (_key_edits(root, {"extra": _flow(values)}) if any(values.values()) else [])


def _fixed_edits(keys: Mapping[str, Item], fixed: Mapping[str, Item], j: int, link: Mapping[str, float]) -> list[Edit]:
    """A value under `fixed` overrides the link's, so both have to say the same."""
    changes = {f"{s}{j + 1}": v for s, v in link.items() if f"{s}{j + 1}" in fixed}
    return _mapping_edits(keys["fixed"], changes) if changes else []


def _flow(values: Mapping[str, float]) -> str:
    return "{" + ", ".join(f"{name}: {value!r}" for name, value in values.items()) + "}"


def _mapping_edits(item: Item, values: Mapping[str, float]) -> list[Edit]:
    """Replaces the values of a mapping's keys; keys it lacks are added, unless they are zero."""
    present = item.mapping()
    edits: list[Edit] = []
    for name, value in values.items():
        if name in present and present[name].number() != value:
            node = present[name].node
            edits.append((node.start_mark.index, node.end_mark.index, repr(value)))
    new = [f"{name}: {value!r}" for name, value in values.items() if name not in present and value]
    return edits + ([_addition(item.node, new)] if new else [])


def _addition(node: yaml.Node, entries: list[str]) -> Edit:
    pairs = node.value
    if _is_flow(node):
        place = pairs[-1][1].end_mark.index if pairs else node.start_mark.index + 1
        return (place, place, (", " if pairs else "") + ", ".join(entries))
    # before the first key: behind the last value there may be a comment
    first = pairs[0][0].start_mark
    return (first.index, first.index, "".join(f"{entry}\n{' ' * first.column}" for entry in entries))


def _key_edits(root: Item, changes: Mapping[str, str]) -> list[Edit]:
    """Sets keys of the file itself to one-line values."""
    pairs = {key.value: (key, value) for key, value in root.node.value}
    edits: list[Edit] = []
    new = []
    for key, value in changes.items():
        if key not in pairs:
            new.append(f"{key}: {value}")
            continue
        node = pairs[key][1]
        # a block value starts on its own line and ends where the next key starts, so its last scalar marks the end
        end = _last_scalar(node).end_mark.index if not _is_flow(node) else node.end_mark.index
        edits.append((pairs[key][0].end_mark.index, end, f": {value}"))
    return edits + ([_addition(root.node, new)] if new else [])


def _is_flow(node: yaml.Node) -> bool:
    """Whether a value is written in brackets or is a scalar, so that its end mark is its end."""
    return bool(getattr(node, "flow_style", True))


def _last_scalar(node: yaml.Node) -> yaml.Node:
    while not _is_flow(node) and node.value:
        last = node.value[-1]
        node = last[1] if isinstance(last, tuple) else last
    return node


def _edited(text: str, edits: list[Edit], source: Path) -> str:
    """Applies edits from the end to the start."""
    ordered = sorted(set(edits), key=lambda e: (e[0], e[1]))
    for (_, end, _), (start, _, _) in pairwise(ordered):
        if start < end:
            raise FileError(source, "values that share an anchor cannot be written separately; write them out")
    for start, end, new in reversed(ordered):
        text = text[:start] + new + text[end:]
    return text


def _labelled(text: str, parameters: Parameters, labels: Mapping[str, str]) -> str:
    """With trust labels as comments at the end, in place of those of an earlier export."""
    names = parameters.layout.robot.joint_names
    texts = {f"# {MARK} {one_line(names[j])}: ": one_line(words) for j, words in label_texts(parameters, labels).items()}
    if not texts:
        return text
    lines = [line for line in text.splitlines(keepends=True) if not line.startswith(tuple(texts))]
    end = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    if lines and not lines[-1].endswith(("\n", "\r")):
        lines.append(end)
    return "".join([*lines, *(f"{start}{words}{end}" for start, words in texts.items())])


def _write_checked(target: Path, text: str, parameters: Parameters) -> None:
    _check_written(target, text, parameters)
    write_whole(target, text)


def _check_written(target: Path, text: str, parameters: Parameters) -> None:
    """The new text must give back every value and shape."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        try:
            written = describe(parse_yaml(text, target)).prior
        except InputError as error:
            raise FileError(target, f"the values cannot be written into this file: {error}") from None
    wrong = [n for n, v in zip(parameters.layout.names, parameters.values, strict=True) if written[n] != v]
    shapes = dict(zip((s.name for s in written.layout.shapes), written.shapes, strict=True))
    wanted = zip((s.name for s in parameters.layout.shapes), parameters.shapes, strict=True)
    wrong += [name for name, value in wanted if shapes.get(name) != value]
    if wrong:
        raise FileError(target, f"parameter {wrong[0]} cannot be written into this file; write its value out in the source first")

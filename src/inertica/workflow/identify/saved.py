"""Parts of a saved result: the robot card, the recipe, residuals, and what tells that arrays belong to the robot beside them."""

from __future__ import annotations

import hashlib
import json
import math
import re
import shutil
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from inertica.arrays import Array
from inertica.documents import KIND, plain, unknown_keys
from inertica.errors import FileError, InputError, ModelWarning
from inertica.identifiability.base import BaseModel
from inertica.logs.readers.guard import read_json
from inertica.preprocessing.recipe import Recipe
from inertica.robot.cardwrite import armature_flags, coupling_entries, limits_entry, other_terms, payload_entry, term_entry
from inertica.robot.description import Description
from inertica.robot.files import CARD
from inertica.robot.friction import friction_terms, friction_text
from inertica.robot.layout import Parameters
from inertica.robot.load import load as load_robot
from inertica.robot.model import Robot
from inertica.robot.plain import with_plain_friction
from inertica.robot.settings import loop_per_joint
from inertica.workflow.identify.choice import readable
from inertica.workflow.identify.standstill import Standstill

NONE, CHECKSUM = "none", "checksum"

SCHEMA, SCHEMA_KEY = 2, "schema"
"""Of `result.json`; the first had no number."""

IDENTIFICATION = "identification"
"""The data set that is fitted."""


def stamped_text(stated: Mapping[str, Any]) -> str:
    """What a JSON file holds: the document and a checksum of it, so that damage shows when it is read."""
    document = {str(key): plain(value) for key, value in stated.items()}
    return json.dumps(document | {CHECKSUM: _checksum(document)}, indent=1, ensure_ascii=False) + "\n"


def is_stamped(file: Path) -> bool:
    """Whether a file carries a checksum, which earlier versions did not write."""
    return CHECKSUM in read_json(file)


def read_stamped(file: Path) -> dict[str, Any]:
    """The document that `stamped_text` made; one without a checksum is taken as it is."""
    document: dict[str, Any] = read_json(file)
    if document.pop(CHECKSUM, None) not in (None, _checksum(document)):
        raise FileError(
            file, f"this is not what was written: it was damaged, or edited; delete its line '{CHECKSUM}' to read it all the same"
        )
    return document


def _checksum(document: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()[:16]


def write_card(description: Description, temporary: Path) -> None:
    """The model file and a card beside it that reads back the description, also where it was changed in Python.

    What a card cannot say (a term that is a Python function, other geometry than the model's) is refused here, since it would be
    missing when the result is read.
    """
    source = description.source
    if not source.path.exists():
        raise InputError(f"{source.path} is gone; the result cannot be saved without the model it belongs to")
    for term in other_terms(description.layout):
        term_entry(term)
    model = f"model{source.path.suffix}"
    shutil.copyfile(source.path, temporary / model)
    stated = _stated(description) | {"model": model, "name": description.name}
    if any(description.robot.gravity):  # found or stated; a model file without gravity says so itself
        stated["gravity"] = list(description.robot.gravity)
    stated.pop("friction", None)
    (temporary / CARD).write_text(_text(stated, description), encoding="utf-8")
    read = _read(temporary / CARD)
    if changes := _changes(read, description, stated):
        (temporary / CARD).write_text(_text(stated | changes, description), encoding="utf-8")
        read = _read(temporary / CARD)
    _check_same(read, description, source.path)


def _stated(description: Description) -> dict[str, Any]:
    """What the user's own card says, or the selection of joints when there is none."""
    source = description.source
    if source.card is not None:
        return dict(yaml.safe_load(source.card.read_text(encoding="utf-8")))
    chain = {"root": source.root, "tip": source.tip, "joints": list(source.joints) if source.joints else None}
    chain |= {"base": "floating"} if source.floating else {}
    return {key: value for key, value in chain.items() if value is not None}


def _text(stated: Mapping[str, Any], description: Description) -> str:
    text = yaml.safe_dump(dict(stated), sort_keys=False, allow_unicode=True)
    return text + f"friction: {friction_text(friction_terms(description.layout.terms))}\n"


def _read(card: Path) -> Description:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return load_robot(card)


def _changes(read: Description, wanted: Description, stated: Mapping[str, Any]) -> dict[str, Any]:
    """Keys that must be stated anew because the description was changed after it was read."""
    ours, theirs = wanted.layout, read.layout
    n, out = wanted.robot.n, dict[str, Any]()
    if armature_flags(ours.terms, n) != armature_flags(theirs.terms, n):
        out["armature"] = armature_flags(ours.terms, n)
    if coupling_entries(ours.terms) != coupling_entries(theirs.terms):
        out["coupling"] = coupling_entries(ours.terms)
    if new := [term_entry(t) for t in other_terms(ours) if t not in other_terms(theirs)]:
        out["terms"] = [*stated.get("terms", ()), *new]
    if ours.payloads != theirs.payloads and ours.payloads:
        out["payload"] = payload_entry(ours, ours.payloads[0])
    if ours.fixed != theirs.fixed:
        out["fixed"] = sorted(ours.fixed)
    if wanted.robot.gravity != read.robot.gravity:
        out["gravity"] = list(wanted.robot.gravity)
    if wanted.robot.limits != read.robot.limits:
        out["limits"] = limits_entry(wanted.robot.limits)
    if _loop(wanted) != _loop(read):
        out["loop"] = NONE if wanted.loop is None else plain(wanted.loop)
    if plain(wanted.log) != plain(read.log):
        out |= {key: plain(value) for key, value in wanted.log.items()}
    if plain(wanted.trust) != plain(read.trust):
        out["prior"] = plain(wanted.trust)
    if plain(wanted.constraints) != plain(read.constraints):
        warnings.warn(ModelWarning("constraints that were changed in Python are not in the saved card"), stacklevel=4)
    return out


def _check_same(read: Description, wanted: Description, model: Path) -> None:
    """Refuses a description that a card beside the model file cannot say."""
    same = {
        "terms": read.layout.names == wanted.layout.names,
        "fixed parameters": read.layout.fixed == wanted.layout.fixed,
        "geometry": geometry(read.robot) == geometry(wanted.robot),
        "gravity": read.robot.gravity == wanted.robot.gravity,
        "control loop": _loop(read) == _loop(wanted),
    }
    wrong = [what for what, is_same in same.items() if not is_same]
    if wrong:
        raise InputError(
            f"the result cannot be saved: {' and '.join(wrong)} of {wanted.name} were changed in a way that a card beside "
            f"{model.name} cannot say; change the model file instead"
        )


def _loop(description: Description) -> object:
    """The loop as a card reads it back: what is stated once for all joints, joint by joint."""
    if description.loop is None:
        return None
    loop = {str(key): plain(value) for key, value in description.loop.items()}
    n = description.robot.n
    per_joint = loop_per_joint()
    return {key: [v] * n if key in per_joint and isinstance(v, (int, float)) else v for key, v in loop.items()}


def geometry(robot: Robot) -> list[tuple[object, ...]]:
    """Where the joints are, comparable."""
    return [(j.parent, j.rotation, j.position, j.axis, j.prismatic, j.arm) for j in robot.joints]


def upgraded(file: Path, document: dict[str, Any]) -> dict[str, Any]:
    """The document of a result as this version writes it, from that of an earlier one."""
    schema = document.get(SCHEMA_KEY, 1)
    if schema > SCHEMA:
        raise FileError(file, f"this was written by a newer version of inertica (its schema is {schema}, here it is {SCHEMA})")
    if strange := unknown_keys(Recipe, {k: v for k, v in document["recipe"].items() if k not in ("order", "cutoff")}):
        raise InputError(
            f"the result was made by another version: its preprocessing states '{strange[0]}', which is not known here"
        )
    document = document if schema == SCHEMA else _from_schema_1(document)
    return document | {"choices": [readable(choice) for choice in document.get("choices", ())]}


def _from_schema_1(document: dict[str, Any]) -> dict[str, Any]:
    """From the first schema, which had no number."""
    recipe, mount = dict(document["recipe"]), dict(document.get("gravity") or {})
    if "filter" not in recipe:  # written before filters had their own entry
        order, cutoff = recipe.pop("order"), recipe.pop("cutoff")
        recipe["filter"] = {KIND: "Butterworth", "order": order, "cutoff": cutoff} if order else {KIND: "Unfiltered"}
    if (ends := mount.get("interval")) is not None:
        mount["half_width"] = [0.5 * (high - low) for low, high in ends]
    if (left_out := mount.get("left_out")) is not None:
        mount["residuals"] = [left_out["file"], left_out["used"]]
    return document | {
        "recipe": recipe,
        "choices": [choice | {"candidates": _candidates(choice)} for choice in document.get("choices", ())],
        "gravity": mount or None,
        "residual": {name: {"per_sample": None} | residual for name, residual in document["residual"].items()},
        "shape_std": {s["name"]: s["std"] for s in document.get("shapes", ()) if "std" in s},
        "log_files": {name: files.split(", ") if name == IDENTIFICATION else [files] for name, files in document["logs"].items()},
    }


def _candidates(choice: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Candidates by their names, which said everything in the first schema: `12.5 Hz, recorded`, `joint 1: stribeck (0.1 rad/s)`."""
    out, taken = list[dict[str, Any]](), re.split(r"[-+]", choice["value"])
    for full_name, score in (choice.get("scores") or {}).items():
        group, _, name = full_name.rpartition(": ")
        entry = {"name": name, "group": group, "score": score, "taken": full_name in taken}
        if number := re.fullmatch(r"([-+]?[\d.]+(?:e[-+]?\d+)?)(?: ([^\s,]+))?(?:, (.+))?", name):
            entry |= {"number": float(number[1]), "unit": number[2] or "", "series": number[3] or ""}
        out.append(entry)
    return out


def check_arrays(folder: Path, document: Mapping[str, Any], arrays: Mapping[str, Array], base: BaseModel, shapes: int) -> None:
    """Refuses arrays that do not belong to the robot beside them, or whose entries are not those that were saved.

    The values printed in `result.json` must be those of the arrays: a result whose halves disagree is nobody's.
    """
    b, size, n = base.rank, base.layout.size, base.layout.robot.n
    wanted = {"beta": (b,), "chi": (size,), "prior": (size,), "intervals": (size, 2), "shapes": (shapes,)}
    optional = {"covariance": (b, b), "plain_covariance": (b, b), "sigma": (n,), "widened": (b,), "by_data": (b,)}
    for name, shape in (wanted | {k: v for k, v in optional.items() if k in arrays}).items():
        if name not in arrays:
            raise FileError(folder, f"the result cannot be read: its arrays lack '{name}'")
        if arrays[name].shape != shape:
            raise FileError(folder, f"the result cannot be read: '{name}' has the shape {arrays[name].shape}, not {shape}")
    names = [entry["name"] for entry in document["parameters"]]
    if names != list(base.layout.names):
        raise FileError(folder, "the result cannot be read: its parameters are not those of the robot card beside it")
    grouped = [entry["name"] for entry in document["base"]]
    if grouped != list(base.names):
        raise FileError(folder, "the result cannot be read: its base parameters are not those of the robot card beside it")
    grouping = arrays.get("base", base.T)  # results of earlier versions do not say it
    if grouping.shape != base.T.shape or not np.allclose(grouping, base.T, rtol=1e-7, atol=1e-9):
        raise FileError(folder, "the result cannot be read: its base parameters are other sums than those of the model beside it")
    for name, entries in (("beta", document["base"]), ("chi", document["parameters"])):
        printed = np.array([math.nan if entry["value"] is None else entry["value"] for entry in entries])
        if not np.allclose(arrays[name], printed, rtol=1e-9, atol=1e-300, equal_nan=True):
            raise FileError(folder, f"the result cannot be read: the values of '{name}' are not those that result.json states")


def correction_document(correction: Parameters) -> dict[str, float]:
    """Name -> what predictions add to that parameter, those they change."""
    return {name: float(v) for name, v in zip(correction.layout.names, correction.values, strict=True) if v != 0.0}


def correction_of(folder: Path, document: Mapping[str, float] | None, parameters: Parameters) -> Parameters | None:
    """From what `correction_document` wrote; parameters that a result lacks are plain friction."""
    if document is None:
        return None
    layout = parameters.layout
    if not set(document) <= set(layout.names):
        layout = with_plain_friction(layout)
    if unknown := sorted(set(document) - set(layout.names)):
        raise FileError(folder, f"the result cannot be read: its correction names {unknown[0]}, which the robot does not have")
    return parameters.on(layout).with_values([document.get(name, 0.0) for name in layout.names], "correction")


def standstill_of(folder: Path, widths: Sequence[float | None], joints: int) -> Standstill:
    """From the widths of a result; earlier versions state none."""
    if len(widths) not in (0, joints) or any(width is not None and not width > 0.0 for width in widths):
        raise FileError(folder, f"the result cannot be read: 'standstill' should be {joints} widths greater than zero, or null")
    return Standstill(tuple(widths))

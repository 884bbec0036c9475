"""Specs of campaigns as YAML files; every mistake is reported with its line.

    name: noisy-scara
    robots: [scara2]
    trajectories: {identification: identification, validation: validation}   # catalog names or trajectory files
    noise: [{name: row 1, q: 1e-4, tau: 0.05, unit: deg}]                    # a preset of the robot by its name, too
    decimate: [1, 4]
    methods:
      - {method: wls, filters: [none, butterworth]}
      - {method: didim, options: {integrator: euler}}
    runs: 52
    starts: 25

`like: NAME` takes all keys of another spec that are not stated here; `without: [ekf, ...]` leaves out some of its methods, `only:
[...]` all others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

from inertica.campaign.checked import check_spec
from inertica.campaign.spec import Entry, LoopRow, NoiseRow, Spec
from inertica.errors import FileError, InputError, nearest
from inertica.robot.files import catalog
from inertica.robot.yamlfile import Item, read_yaml

FOLDER = "specs"

KEYS = (
    "name", "about", "like", "without", "only", "robots", "trajectories", "loops", "noise", "distributions", "quantise", "friction",
    "decimate", "cutoff", "border", "integrator", "duration", "methods", "runs", "starts", "share", "seed", "block",
)  # fmt: skip


def shipped() -> dict[str, Path]:
    """Specs that come with the package, by name."""
    folder = Path(str(resources.files("inertica.campaign") / FOLDER))
    return {p.stem: p for p in sorted(folder.glob("*.yaml"))}


def find_spec(name: str | Path) -> Path:
    """A spec file, or a shipped one by its name."""
    path = Path(name)
    if path.suffix in (".yaml", ".yml"):
        return path
    specs = shipped()
    if str(name) not in specs:
        raise InputError(f"there is no campaign '{name}'; {nearest(str(name), specs)}")
    return specs[str(name)]


def read_spec(name: str | Path) -> Spec:
    """A campaign from its file; every name in it is looked up, so that no unit can fail for a misspelt word."""
    path = find_spec(name)
    keys = _merged(path)
    for required in ("robots", "methods"):
        if required not in keys:
            raise FileError(path, f"the campaign lacks the key '{required}'")
    spec = Spec(**_values(path, keys))
    check_spec(spec, keys)
    return _reduced(spec, keys)


def _reduced(spec: Spec, keys: Mapping[str, Item]) -> Spec:
    """Without some methods, or with some only, by their labels."""
    for key, purpose in (("without", "leave out"), ("only", "retain")):
        if key not in keys:
            continue
        labels = [entry.label for entry in spec.methods]
        for item in keys[key].items():
            if item.text() not in labels:
                raise item.fail(f"the campaign has no method '{item.text()}' to {purpose}; {nearest(item.text(), labels)}")
        left = tuple(entry for entry in spec.methods if (entry.label in keys[key].texts()) == (key == "only"))
        if not left:
            raise keys[key].fail("no method is left")
        spec = replace(spec, methods=left)
    return spec


def _merged(path: Path, seen: tuple[Path, ...] = ()) -> dict[str, Item]:
    """Keys of a file over those of the spec that it is like."""
    if path in seen:
        raise FileError(path, "the campaign is like itself; leave out 'like'")
    items = read_yaml(path).mapping(KEYS)
    if "like" not in items:
        return items
    item = items.pop("like")
    word = item.text()
    beside = path.parent / f"{word.removesuffix('.yaml')}.yaml"
    with item.located():
        other = beside if beside.is_file() and beside != path else find_spec(word)
    return {k: v for k, v in _merged(other, (*seen, path)).items() if k not in ("name", "about")} | items


def _values(path: Path, keys: Mapping[str, Item]) -> dict[str, Any]:
    out: dict[str, Any] = {"name": keys["name"].text() if "name" in keys else path.stem}
    simple: dict[str, Callable[[Item], object]] = {
        "about": Item.text,
        "integrator": Item.text,
        "cutoff": Item.positive,
        "duration": Item.positive,
        "share": Item.positive,
    }
    out |= {name: read(keys[name]) for name, read in simple.items() if name in keys}
    least = {"border": 0, "runs": 1, "starts": 0, "seed": 0, "block": 1}
    out |= {name: _count(keys[name], low) for name, low in least.items() if name in keys}
    out["robots"] = _some(keys["robots"], _robot)
    out["methods"] = _some(keys["methods"], _entry)
    lists: dict[str, Callable[[Item], object]] = {
        "loops": _loop, "noise": _noise, "distributions": Item.text, "quantise": _non_negative,
    }  # fmt: skip
    out |= {name: _some(keys[name], read) for name, read in lists.items() if name in keys}
    if "decimate" in keys:
        out |= _ratios(keys["decimate"], out["robots"])
    if "trajectories" in keys:
        named = keys["trajectories"].mapping(("identification", "validation"))
        out |= {name: _file_or_word(item) for name, item in named.items()}
    if "friction" in keys:
        sides = keys["friction"].mapping(("data", "model", "width"))
        if "width" in sides and len(sides) > 1:
            raise sides["width"].fail("the width is that of the robot's own laws; state it, or other laws")
        out |= {"sign_width": sides["width"].positive()} if "width" in sides else {}
        out |= {"data_friction": sides["data"].text()} if "data" in sides else {}
        out |= {"model_friction": sides["model"].texts()} if "model" in sides else {}
    return out


def _ratios(item: Item, robots: tuple[str, ...]) -> dict[str, Any]:
    """A list for all robots, or one for each by its name; what a spec that this one is like says of others does not matter."""
    if not item.is_mapping:
        return {"decimate": _some(item, lambda x: _count(x, 1))}
    by_robot = {robot: _some(x, lambda y: _count(y, 1)) for robot, x in item.mapping((*robots, *catalog())).items()}
    return {"decimate_of": {robot: ratios for robot, ratios in by_robot.items() if robot in robots}}


def _some(item: Item, read: Callable[[Item], Any]) -> tuple[Any, ...]:
    values = item.items()
    if not values:
        raise item.fail(f"{item.key} is empty")
    return tuple(read(value) for value in values)


def _count(item: Item, least: int) -> int:
    value = item.whole()
    if value < least:
        raise item.fail(f"{item.key} should be at least {least}, not {value}")
    return value


def _non_negative(item: Item) -> float:
    value = item.number()
    if value < 0.0:
        raise item.fail(f"{item.key} should not be negative")
    return value


def _robot(item: Item) -> str:
    return _file_or_word(item)


def _file_or_word(item: Item) -> str:
    """Files are relative to the spec."""
    word = item.text()
    beside = item.path.parent / word
    return str(beside.resolve()) if Path(word).suffix and beside.is_file() else word


def _loop(item: Item) -> LoopRow:
    keys = item.mapping(("name", "data", "model"), required=("name",))
    factors = {side: {k: _factor(v) for k, v in keys[side].mapping().items()} for side in ("data", "model") if side in keys}
    return LoopRow(keys["name"].text(), **factors)


def _factor(item: Item) -> float | tuple[float, ...]:
    return tuple(x.positive() for x in item.items()) if item.is_list else item.positive()


DEGREES = 0.017453292519943295


def _noise(item: Item) -> NoiseRow:
    if item.is_scalar:
        return NoiseRow(item.text(), preset=item.text())
    keys = item.mapping(("name", "q", "tau", "unit"), required=("name", "q", "tau", "unit"))
    factor = DEGREES if keys["unit"].text(("deg", "rad")) == "deg" else 1.0
    return NoiseRow(keys["name"].text(), factor * _non_negative(keys["q"]), _non_negative(keys["tau"]))


def _entry(item: Item) -> Entry:
    if item.is_scalar:
        return Entry(item.text(), item.text())
    keys = item.mapping(("label", "method", "options", "filters"), required=("method",))
    name = keys["method"].text()
    options = {k: v.text() for k, v in keys["options"].mapping().items()} if "options" in keys else {}
    filters = keys["filters"].texts() if "filters" in keys else ("none",)
    if not filters:
        raise keys["filters"].fail(f"{keys['filters'].key} is empty; 'none' is no filter")
    return Entry(keys["label"].text() if "label" in keys else name, name, options, filters)

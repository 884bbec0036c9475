"""LeRobot datasets: a folder with `meta/info.json` and episodes in Parquet files (versions 2.0, 2.1 and 3.0)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from inertica.errors import FileError, Fix, InputError
from inertica.logs.names import tokens, word_meaning
from inertica.logs.readers.guard import package, read_json, reading
from inertica.logs.readers.options import ReadOptions
from inertica.logs.readers.parquet import arrow_arrays, read_columns
from inertica.logs.readers.table import Table, Values

KEYS = {
    "q": ("observation.state", "observation.position"),
    "dq": ("observation.velocity",),
    "tau": ("observation.effort", "observation.torque"),
    "i": ("observation.current",),
    "qr": ("action",),
}
"""Features of a dataset by symbol, the first one that is there counts."""

FEATURE = Fix("features", "name others: --feature tau=NAME on the command line, features: {tau: NAME} in the card")
EPISODE = Fix("episode", "name one: --episode K on the command line, episode: K in the card")

_WORD = {"q": "position", "dq": "velocity", "tau": "torque", "i": "current", "qr": "reference_position", "ddq": "acceleration"}


def read(path: Path, options: ReadOptions) -> Table:
    """One episode of a dataset; `options.keys` is for those that use other names than `KEYS`."""
    info = read_json(path / "meta" / "info.json")
    features = info.get("features")
    if not isinstance(features, dict):
        raise FileError(path / "meta" / "info.json", "lacks the object 'features'")
    chosen = _features(path, features, options.keys or {})
    arrays = _read_episode(path, list(chosen.values()), options)
    columns: dict[str, Values] = {"timestamp": arrays["timestamp"]}
    joints: list[str] = []
    notes = []
    for symbol, feature in chosen.items():
        names = _names(features[feature])
        block = arrays[feature].reshape(len(columns["timestamp"]), -1)
        if names is not None and len(names) != block.shape[1]:
            raise FileError(path, f"'{feature}' has {block.shape[1]} values but {len(names)} names in meta/info.json")
        for k in range(block.shape[1]):
            joint, word = _joint_and_word(names[k] if names else "", symbol)
            if joint and joint not in joints:
                joints.append(joint)
            name = f"{joint}/{word}" if joint else f"{word}_{k + 1}"
            if name in columns:  # names that one feature took over from another: what the feature is called says more
                word = _WORD[symbol]
                name = f"{joint}/{word}" if joint else f"{word}_{k + 1}"
            if name in columns:
                raise FileError(
                    path,
                    f"the feature '{feature}' gives '{name}', which is there already",
                    fix=FEATURE,
                )
            columns[name] = block[:, k]
        notes.append(f"{symbol} is '{feature}'")
    return Table(path, "lerobot", columns, joints=tuple(joints), notes=tuple(notes))


def _features(path: Path, features: Mapping[str, Any], keys: Mapping[str, str]) -> dict[str, str]:
    for symbol, feature in keys.items():
        if symbol not in _WORD:
            raise InputError(f"a feature cannot be stated for '{symbol}'; valid are: {', '.join(_WORD)}")
        if feature not in features:
            raise FileError(path, f"has no feature '{feature}'; it has: {', '.join(features)}")
    names_by_symbol = {symbol: next((name for name in names if name in features), "") for symbol, names in KEYS.items()}
    chosen = {symbol: name for symbol, name in {**names_by_symbol, **keys}.items() if name}
    if not chosen:
        raise FileError(path, f"has none of the usual features of joints; it has: {', '.join(features)}", fix=FEATURE)
    return chosen


def _read_episode(path: Path, features: list[str], options: ReadOptions) -> dict[str, Values]:
    """The rows of one episode, in the order of their frames."""
    pa, pc = (package(name, "reading LeRobot datasets", "parquet") for name in ("pyarrow", "pyarrow.compute"))
    files = sorted((path / "data").rglob("*.parquet"))
    if not files:
        raise FileError(path, "has no Parquet file in its folder data")
    with reading(path, "LeRobot dataset", pa.ArrowException):
        episode, most = options.episode, options.most_unpacked
        held = {file: set(read_columns(file, ["episode_index"], most)["episode_index"].to_pylist()) for file in files}
        indices = sorted(set().union(*held.values()))
        if episode is None and len(indices) > 1:
            raise InputError(f"{path}: holds {len(indices)} episodes ({min(indices)} to {max(indices)})", fix=EPISODE)
        index = indices[0] if episode is None and indices else episode
        if index not in indices:
            raise InputError(f"{path}: has no episode {index}; there are {len(indices)}")
        columns = ["timestamp", "frame_index", "episode_index", *dict.fromkeys(features)]
        tables = [_with_columns(file, read_columns(file, columns, most), columns) for file in files if index in held[file]]
        rows = pa.concat_tables([t.replace_schema_metadata(None).filter(pc.equal(t["episode_index"], index)) for t in tables])
        arrays, skipped = arrow_arrays(path, rows.drop_columns(["episode_index"]).sort_by("frame_index"))
    if skipped:
        raise FileError(path, f"the feature '{skipped[0]}' holds no numbers")
    return arrays


def _with_columns(file: Path, table: Any, columns: list[str]) -> Any:
    """The table, which has these columns; Arrow leaves out those that a file does not have."""
    if missing := [name for name in columns if name not in table.column_names]:
        raise FileError(file, f"has no column '{missing[0]}', which meta/info.json names")
    return table


def _names(feature: Any) -> list[str] | None:
    """Names of a feature's values: a list, or a list inside an object such as {"motors": [...]}; None when there are none."""
    names = feature.get("names") if isinstance(feature, dict) else None
    if isinstance(names, dict):
        names = next((value for value in names.values() if isinstance(value, list)), None)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return None
    shape = feature.get("shape")
    return names if isinstance(shape, list) and shape == [len(names)] else None


def _joint_and_word(name: str, symbol: str) -> tuple[str, str]:
    """`shoulder_pan.pos` -> shoulder_pan, position; the suffix goes before what the feature as a whole means."""
    if not name:
        return "", _WORD[symbol]
    head, dot, tail = name.rpartition(".")
    tail_meaning = word_meaning(tail) if dot and len(tokens(tail)) == 1 else None
    if tail_meaning is None:
        return name, _WORD[symbol]
    reference = symbol == "qr"
    word = _WORD.get(tail_meaning.symbol, tail)
    return head, f"reference_{word}" if reference and not word.startswith("reference") else word

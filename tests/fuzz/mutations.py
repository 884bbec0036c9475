"""Ways in which files break: bytes of any file, and the structure of JSON, YAML, XML, text tables and archives of arrays."""

from __future__ import annotations

import copy
import gzip
import io
import json
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import yaml
from lxml import etree

Mutation = Callable[[bytes, random.Random], bytes]

NUMBERS = ["nan", "inf", "-inf", "1e999", "1e300", "-1e300", "1e-320", "0", "-1", "1e9", "9" * 5000, "0x10", "1,5", "\u0663", ""]
WORDS = [
    "",
    " ",
    "x",
    "null",
    "none",
    "auto",
    "tx40",
    "../../x",
    "/dev/null",
    "a\nb",
    "\x00",
    "\ud7ff",
    "é" * 300,
    "[1, 2",
    "{",
    "*a",
    "!!python/x",
]
ODD: list[Any] = [
    None, True, False, 0, -1, 3, 0.5, 1e300, -1e300, float("nan"), float("inf"), 10**5000, "", "x", "1", [], {}, [[]], {"x": 1},
    [1, 2, 3], [None], ["x"], [1e300] * 3, {"": None}, "a" * 5000, [{}], [0] * 50,
]  # fmt: skip
"""Values that nobody expects where they turn up."""


def damaged_bytes(raw: bytes, draw: random.Random) -> bytes:
    """Cut off, bits flipped, bytes changed, lost, doubled, inserted or zeroed."""
    if not raw:
        return draw.randbytes(draw.randrange(1, 40))
    how = draw.choice(["cut", "flip", "flip", "change", "lose", "double", "insert", "zero", "swap", "noise"])
    at = draw.randrange(len(raw))
    count = min(draw.choice([1, 2, 8, 64, 1024]), len(raw) - at)
    out = bytearray(raw)
    if how == "cut":
        return raw[:at]
    if how == "flip":
        for _ in range(draw.choice([1, 1, 1, 4, 32])):
            place = draw.randrange(8 * len(raw))
            out[place // 8] ^= 1 << place % 8
    elif how == "change":
        for place in draw.choices(range(len(raw)), k=draw.choice([1, 2, 5])):
            out[place] = draw.randrange(256)
    elif how == "lose":
        del out[at : at + count]
    elif how == "double":
        out[at:at] = out[at : at + count]
    elif how == "insert":
        out[at:at] = draw.choice([draw.randbytes(count), b"\x00" * count, b'"', b"\n", b"\xff\xfe", b"{", b"<", b"#"])
    elif how == "zero":
        out[at : at + count] = bytes(count)
    elif how == "swap":
        other = draw.randrange(len(raw))
        out[at : at + count], out[other : other + count] = out[other : other + count], out[at : at + count]
    else:
        return draw.randbytes(draw.randrange(200))
    return bytes(out)


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Container and key of every value of a tree."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in items:
        yield tree, key
        yield from _places(value)


def _mutate_tree(tree: Any, draw: random.Random) -> Any:
    """One or a few values lost, replaced, renamed, exchanged, wrapped."""
    tree = {"": copy.deepcopy(tree)}
    for _ in range(draw.choice([1, 1, 1, 2, 5])):
        places = list(_places(tree))
        holder, key = draw.choice(places)
        how = draw.choice(["replace", "replace", "lose", "rename", "exchange", "wrap", "double", "deep", "add", "number"])
        value = holder[key]
        if how == "replace":
            holder[key] = copy.deepcopy(draw.choice(ODD))
        elif how == "lose" and holder is not tree:
            del holder[key]
        elif how == "rename" and isinstance(holder, dict) and holder is not tree:
            holder[draw.choice([f"{key}x", str(key).upper(), str(key)[:-1], ""])] = holder.pop(key)
        elif how == "exchange":
            other, name = draw.choice(places)
            if other is not tree and holder is not tree:
                holder[key], other[name] = copy.deepcopy(other[name]), copy.deepcopy(value)
        elif how == "wrap":
            holder[key] = draw.choice([[value], {"x": value}, str(value)[:1000]])
        elif how == "double" and isinstance(value, list):
            holder[key] = value + value
        elif how == "deep":
            for _ in range(draw.choice([3, 60])):
                value = [value]
            holder[key] = value
        elif how == "add" and isinstance(value, dict):
            value[draw.choice(["x", "name", "q1", "1"])] = copy.deepcopy(draw.choice(ODD))
        elif how == "number" and isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300:
            holder[key] = draw.choice([-value, value * 1e9, value * 1e-12, value + 1, str(value), [value]])
    return tree[""]


def mutated_json(raw: bytes, draw: random.Random) -> bytes:
    if draw.random() < 0.02:
        return b"[" * 100_000
    return json.dumps(_mutate_tree(json.loads(raw), draw)).encode()


@contextmanager
def _long_integers() -> Iterator[None]:
    """Python writes integers of 5000 digits; it does not read them."""
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        yield
    finally:
        sys.set_int_max_str_digits(before)


def mutated_yaml(raw: bytes, draw: random.Random) -> bytes:
    if draw.random() < 0.03:
        return draw.choice(
            [b"[" * 5_000, b"a: &a [*a, *a]\n", b"a: &a\n  b: *a\n" + raw, b"? " * 500 + raw, raw + b"\n" + raw, b"%YAML 9.9\n"]
        )
    return yaml.safe_dump(_mutate_tree(yaml.safe_load(raw), draw), sort_keys=False, allow_unicode=True).encode("utf-8", "replace")


def mutated_xml(raw: bytes, draw: random.Random) -> bytes:
    """Attributes and elements lost, renamed, doubled, moved, with values that nobody expects."""
    root = etree.fromstring(raw)
    for _ in range(draw.choice([1, 1, 2, 4])):
        nodes = [n for n in root.iter() if isinstance(n.tag, str)]
        node = draw.choice(nodes)
        how = draw.choice(
            ["attribute", "attribute", "attribute", "lose attribute", "lose", "double", "rename", "move", "add", "deep", "number"]
        )
        keys = list(node.attrib)
        if how == "attribute" and keys:
            parts = node.get(draw.choice(keys), "").split()
            value = draw.choice(NUMBERS + WORDS)
            if parts and draw.random() < 0.6:
                parts[draw.randrange(len(parts))] = value
                value = " ".join(parts)
            node.set(draw.choice(keys), _xml(value))
        elif how == "number" and keys:
            key = draw.choice(keys)
            node.set(key, " ".join(_scaled(x, draw) for x in node.get(key, "").split()))
        elif how == "lose attribute" and keys:
            del node.attrib[draw.choice(keys)]
        elif node is not root and how == "lose":
            node.getparent().remove(node)
        elif node is not root and how == "double":
            node.addnext(copy.deepcopy(node))
        elif how == "rename":
            node.tag = draw.choice([f"{node.tag}x", draw.choice(nodes).tag])
        elif node is not root and how == "move":
            target = draw.choice(nodes)
            if node not in (target, *target.iterancestors()):
                target.append(node)
        elif how == "add":
            other = draw.choice(nodes)
            for key in other.attrib:
                node.set(key, other.get(key))
        elif how == "deep":
            for _ in range(draw.choice([2, 300])):
                node = etree.SubElement(node, draw.choice(["body", "link", "x"]))
    return etree.tostring(root)


def _xml(text: str) -> str:
    return "".join(c for c in text if c in "\t\n\r" or " " <= c <= "\ud7ff")


def _scaled(word: str, draw: random.Random) -> str:
    try:
        return repr(float(word) * draw.choice([-1.0, 0.0, 1e9, 1e-9, 1e200, 1.5]))
    except ValueError:
        return word


def mutated_table(raw: bytes, draw: random.Random) -> bytes:
    """Cells, rows, columns and the header of a text table."""
    rows = [line.split(",") for line in raw.decode().splitlines()]
    for _ in range(draw.choice([1, 1, 2, 6])):
        r = draw.randrange(len(rows))
        c = draw.randrange(max(len(rows[r]), 1))
        how = draw.choice(["cell", "cell", "header", "lose row", "double row", "lose column", "swap", "separator", "jump"])
        if how == "cell" and rows[r]:
            rows[r][min(c, len(rows[r]) - 1)] = draw.choice(NUMBERS + WORDS)
        elif how == "header" and rows[0]:
            k = draw.randrange(len(rows[0]))
            rows[0][k] = draw.choice(["t", "q1", "q7", "tau1", "time [ms]", "i2 [A]", "theta", "", "q1 [deg]", "effort_1"])
        elif how == "lose row" and len(rows) > 1:
            del rows[r]
        elif how == "double row":
            rows.insert(r, list(rows[r]))
        elif how == "lose column":
            rows = [[x for k, x in enumerate(row) if k != c] for row in rows]
        elif how == "swap":
            other = draw.randrange(len(rows))
            rows[r], rows[other] = rows[other], rows[r]
        elif how == "jump":
            rows[r:] = [[_scaled(row[0], draw), *row[1:]] if row else row for row in rows[r:]]
        elif how == "separator":
            between = draw.choice([";", "\t", " ", "|", ", "])
            return "\n".join(between.join(row) for row in rows).encode("utf-8", "replace")
    return ("\n".join(",".join(row) for row in rows) + "\n").encode("utf-8", "replace")


def mutated_npz(raw: bytes, draw: random.Random) -> bytes:
    """Arrays lost, renamed, of other shapes and kinds."""
    with np.load(io.BytesIO(raw)) as file:
        arrays = {name: file[name] for name in file.files}
    for _ in range(draw.choice([1, 1, 2])):
        if not arrays:
            break
        name = draw.choice(list(arrays))
        values = arrays.pop(name)
        how = draw.choice(["lose", "rename", "shape", "kind", "value", "empty", "scalar"])
        if how == "rename":
            name = draw.choice([f"{name}x", "q1", "t", "../x", ""])
        elif how == "shape":
            values = (
                draw.choice([values[None], values[:1], values.ravel(), values.T, np.concatenate([values, values])])
                if values.ndim
                else values[None]
            )
        elif how == "kind":
            with np.errstate(all="ignore"):
                kind = draw.choice(["<i8", "<f4", "?", "S8", "<U8", "<c16", "M8[s]"])
                values = values.astype(kind) if values.dtype.kind in "fiub" else values
        elif how == "value" and values.size and values.dtype.kind == "f":
            values = values.copy()
            values.flat[draw.randrange(values.size)] = draw.choice([np.nan, np.inf, -1e300, 1e300, 0.0])
        elif how == "empty":
            values = np.zeros(draw.choice([(0,), (0, 3), (3, 0)]))
        elif how == "scalar":
            values = np.array(draw.choice([3.0, np.nan]))
        if how != "lose":
            arrays[name] = values
    out = io.BytesIO()
    np.savez(out, allow_pickle=False, **{f"{k}": v for k, v in arrays.items() if k not in ("file", "args", "kwds")})
    return out.getvalue()


def zipped(inner: Mutation) -> Mutation:
    """A mutation of what a gzip file holds."""
    return lambda raw, draw: gzip.compress(inner(gzip.decompress(raw), draw), 1, mtime=0)


STRUCTURES: dict[str, Mutation] = {
    ".json": mutated_json, ".yaml": mutated_yaml, ".urdf": mutated_xml, ".xml": mutated_xml, ".csv": mutated_table,
    ".csv.gz": zipped(mutated_table), ".npz": mutated_npz,
}  # fmt: skip
"""Suffix -> a mutation that knows what such a file is."""


def mutated(name: str, raw: bytes, draw: random.Random) -> bytes:
    """A file damaged one way or another: by its structure where that is known, else its bytes."""
    structure = next((f for suffix, f in STRUCTURES.items() if name.endswith(suffix)), None)
    with _long_integers():
        return structure(raw, draw) if structure is not None and draw.random() < 0.6 else damaged_bytes(raw, draw)

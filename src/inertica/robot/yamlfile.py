"""Plain YAML with the place of every value, so that a mistake is reported with its line.

Only plain data are read: no tags beyond the standard scalars, lists and mappings, no merge keys, no aliases that expand without
measure.  Numbers may be written `1e-4` (which YAML 1.1 takes for a string) and as arithmetic with pi (`-pi/2`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inertica.errors import FileError, InputError, nearest, refuse_devices
from inertica.later import Deferred
from inertica.robot.formula import constant

if TYPE_CHECKING:
    import yaml
else:
    yaml = Deferred("yaml")

MAX_BYTES = 20_000_000
MAX_NODES = 300_000
"""More than any robot description needs; what is larger is a mistake or an alias bomb."""

_PREFIX = "tag:yaml.org,2002:"
_PLAIN_TAGS = {_PREFIX + kind for kind in ("str", "int", "float", "bool", "null", "map", "seq", "timestamp")}
_NUMBER = re.compile(r"[-+]?(\d[\d_]*\.?[\d_]*|\.\d[\d_]*)([eE][-+]?\d+)?$")
_SPECIAL = {".inf": math.inf, "+.inf": math.inf, "-.inf": -math.inf, "inf": math.inf, "-inf": -math.inf}
_TRUE, _FALSE = {"true", "yes", "on"}, {"false", "no", "off"}
_BOOL, _NULL = _PREFIX + "bool", _PREFIX + "null"


@dataclass(frozen=True, eq=False)
class Item:
    """A value of a YAML file: what it is called in messages, and where it stands.

    The getters return the value in the asked form or raise a `FileError` that names the key and the line.
    """

    path: Path
    key: str
    node: yaml.Node

    @property
    def line(self) -> int:
        return int(self.node.start_mark.line) + 1

    def fail(self, problem: str, joint: str | int | None = None) -> FileError:
        """The error to raise; the caller raises it so that control flow stays visible."""
        return FileError(self.path, problem, self.line, joint=joint)

    @contextmanager
    def located(self) -> Iterator[None]:
        """Gives an `InputError` raised inside the place of this value."""
        try:
            yield
        except FileError:
            raise
        except InputError as error:
            raise self.fail(str(error), error.joint) from None

    @property
    def is_mapping(self) -> bool:
        return isinstance(self.node, yaml.MappingNode)

    @property
    def is_list(self) -> bool:
        return isinstance(self.node, yaml.SequenceNode)

    @property
    def is_scalar(self) -> bool:
        return isinstance(self.node, yaml.ScalarNode)

    @property
    def is_null(self) -> bool:
        return bool(self.node.tag == _NULL)

    def mapping(self, valid: Iterable[str] | None = None, required: Iterable[str] = ()) -> dict[str, Item]:
        """Keys and values; a key outside `valid` is an error that names the nearest valid one."""
        if not isinstance(self.node, yaml.MappingNode):
            raise self.fail(f"{self.key} should be a mapping of keys to values")
        prefix = f"{self.key}." if self.key != ROOT else ""
        out = {k.value: Item(self.path, prefix + k.value, v) for k, v in self.node.value}
        if valid is not None:
            words = list(valid)
            for k, _ in self.node.value:
                if k.value not in words:
                    where = "" if self.key == ROOT else f" in {self.key}"
                    raise FileError(
                        self.path, f"unknown key '{k.value}'{where}; {nearest(k.value, words)}", k.start_mark.line + 1
                    )
        for key in required:
            if key not in out:
                raise self.fail(f"{self.key} lacks the key '{key}'")
        return out

    def items(self) -> list[Item]:
        """The entries of a list."""
        if not isinstance(self.node, yaml.SequenceNode):
            raise self.fail(f"{self.key} should be a list")
        return [Item(self.path, f"{self.key}[{i + 1}]", v) for i, v in enumerate(self.node.value)]

    def text(self, choices: Iterable[str] | None = None) -> str:
        """A string, one of `choices` when given."""
        if not isinstance(self.node, yaml.ScalarNode) or self.is_null:
            raise self.fail(f"{self.key} should be a word or a line of text")
        value = str(self.node.value)
        if choices is not None:
            words = list(choices)
            if value not in words:
                raise self.fail(f"{self.key} cannot be '{value}'; {nearest(value, words)}")
        return value

    def texts(self) -> tuple[str, ...]:
        return tuple(item.text() for item in self.items())

    def number(self, infinite: bool = False) -> float:
        """A number; infinite ones only where they make sense."""
        value = _as_number(self.node)
        if value is None:
            raise self.fail(f"{self.key} should be a number, not {_shown(self.node)}")
        if math.isnan(value) or (math.isinf(value) and not infinite):
            raise self.fail(f"{self.key} should be a finite number, not {_shown(self.node)}")
        return value

    def positive(self) -> float:
        value = self.number()
        if value <= 0.0:
            raise self.fail(f"{self.key} should be greater than zero, not {value:g}")
        return value

    def whole(self) -> int:
        value = self.number()
        if value != round(value):
            raise self.fail(f"{self.key} should be a whole number, not {_shown(self.node)}")
        return round(value)

    def numbers(self, n: int, what: str = "joints", infinite: bool = False) -> tuple[float, ...]:
        """Exactly n numbers."""
        values = self.items()
        if len(values) != n:
            raise self.fail(f"{self.key} has {len(values)} values for {n} {what}")
        return tuple(v.number(infinite) for v in values)

    def per_joint(self, n: int, infinite: bool = False) -> tuple[float, ...]:
        """n numbers, or one number for all joints."""
        return self.numbers(n, infinite=infinite) if self.is_list else (self.number(infinite),) * n

    def vector(self) -> tuple[float, float, float]:
        x, y, z = self.numbers(3, "coordinates")
        return (x, y, z)

    def matrix(self, rows: int, columns: int, what: str = "joints") -> tuple[tuple[float, ...], ...]:
        values = self.items()
        if len(values) != rows:
            raise self.fail(f"{self.key} has {len(values)} rows for {rows} {what}")
        return tuple(row.numbers(columns, what) for row in values)

    def boolean(self) -> bool:
        if isinstance(self.node, yaml.ScalarNode) and self.node.tag == _BOOL:
            return str(self.node.value).lower() in _TRUE
        raise self.fail(f"{self.key} should be true or false, not {_shown(self.node)}")

    def plain(self) -> Any:
        """The value as plain Python data; keys are strings."""
        return _plain(self.node)


ROOT = "the file"


def read_yaml(path: str | Path) -> Item:
    """The root of a YAML file, checked to be plain data without duplicate keys."""
    return parse_yaml(read_text(path), path)


def read_text(path: str | Path) -> str:
    """A text file as UTF-8, or a sentence that says why not."""
    path = Path(path)
    try:
        refuse_devices(path)
        if path.is_file() and path.stat().st_size > MAX_BYTES:
            raise FileError(path, f"the file is larger than {MAX_BYTES // 1_000_000} MB, which no robot description is")
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise FileError(path, "there is no such file") from None
    except IsADirectoryError:
        raise FileError(path, "this is a folder, not a file") from None
    except UnicodeDecodeError as error:
        raise FileError(path, f"the file is not UTF-8 text (byte {error.start})") from None
    except (OSError, ValueError) as error:  # ValueError: a name with a null byte
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise FileError(path, f"the file cannot be read ({reason})") from None


def parse_yaml(text: str, path: str | Path) -> Item:
    """Like `read_yaml`, for text that is already there."""
    path = Path(path)
    try:
        root = _composed(text)
        if root is None:
            raise FileError(path, "the file is empty")
        _check(path, root)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = (mark.line + 1, mark.column + 1) if mark else (None, None)
        raise FileError(path, f"not valid YAML: {error.problem or error.context}", *place) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise FileError(path, f"not valid YAML: {error.reason}", line) from None
    except RecursionError:
        raise FileError(path, "the file is nested too deeply") from None
    return Item(path, ROOT, root)


@lru_cache(maxsize=8)
def _composed(text: str) -> yaml.Node | None:
    """The root node, which nobody changes; a file is asked what it is before it is read, and parsing takes a tenth of a second."""
    return yaml.compose(text, Loader=yaml.SafeLoader)


def _check(path: Path, root: yaml.Node) -> None:
    """Refuses tags, duplicate keys, aliases to themselves and aliases that expand beyond measure."""
    size: dict[int, int] = {}
    open_nodes: set[int] = set()

    def visit(node: yaml.Node) -> int:
        line = node.start_mark.line + 1
        if id(node) in open_nodes:
            raise FileError(path, "an alias refers to the value that contains it", line)
        if id(node) not in size:
            open_nodes.add(id(node))
            _check_tag(path, node)
            size[id(node)] = 1 + sum(visit(child) for child in _children(path, node))
            open_nodes.discard(id(node))
        if size[id(node)] > MAX_NODES:
            raise FileError(path, f"the file holds more than {MAX_NODES} values once its aliases are expanded", line)
        return size[id(node)]

    visit(root)


def _check_tag(path: Path, node: yaml.Node) -> None:
    if node.tag not in _PLAIN_TAGS:
        line = node.start_mark.line + 1
        if node.tag == _PREFIX + "merge":
            raise FileError(path, "merge keys '<<' are not supported; write the keys out", line)
        shown = node.tag.replace(_PREFIX, "!!")
        raise FileError(path, f"the tag '{shown}' is not allowed; only plain YAML is read", line)


def _children(path: Path, node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.SequenceNode):
        return list(node.value)
    if not isinstance(node, yaml.MappingNode):
        return []
    seen: dict[str, int] = {}
    for key, _ in node.value:
        line = key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode):
            raise FileError(path, "keys should be words, not lists or mappings", line)
        _check_tag(path, key)
        if key.value in seen:
            first = seen[key.value]
            raise FileError(path, f"the key '{key.value}' is given twice (first in line {first}); leave one of them out", line)
        seen[key.value] = line
    return [value for _, value in node.value]


def _as_number(node: yaml.Node) -> float | None:
    """The number a plain scalar spells, None when it spells none."""
    if not isinstance(node, yaml.ScalarNode) or node.style is not None:
        return None
    text = node.value.strip()
    if _NUMBER.match(text):
        return float(text.replace("_", ""))
    if text.lower() in _SPECIAL:
        return _SPECIAL[text.lower()]
    if "pi" in text:
        try:
            return constant(text)
        except InputError:
            return None
    return None


def _shown(node: yaml.Node) -> str:
    if isinstance(node, yaml.ScalarNode):
        if node.tag == _NULL:
            return "nothing"
        return f"'{node.value[:40]}'"
    return "a list" if isinstance(node, yaml.SequenceNode) else "a mapping"


def _plain(node: yaml.Node) -> Any:
    if isinstance(node, yaml.MappingNode):
        return {k.value: _plain(v) for k, v in node.value}
    if isinstance(node, yaml.SequenceNode):
        return [_plain(v) for v in node.value]
    return _plain_scalar(node)


def _plain_scalar(node: yaml.Node) -> Any:
    text = str(node.value)
    if getattr(node, "style", None) is not None:  # quoted
        return text
    if node.tag == _NULL:
        return None
    if node.tag == _BOOL:
        return text.lower() in _TRUE
    if re.fullmatch(r"[-+]?\d+", text):
        return int(text) if len(text) < 300 else float(text)
    if _NUMBER.match(text) or text.lower() in _SPECIAL:
        return _as_number(node)
    return text

"""Text that tries to become code: pieces for every language that is written here, and files with such text in every string."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import yaml
from lxml import etree

MARK = "kanarie"
"""In every piece, so that what became of it can be found; as an identifier, it would be defined or called."""


def pieces(canary: Path) -> list[str]:
    """Each would show: a symbol, an element or a file of the name `canary`."""
    touch = f"__import__('os').system('touch {canary}')"
    return [
        # C and C++: ends of comments and strings, line splices, trigraphs, directives
        f"*/ int {MARK}(void) {{ return 1; }} /*",
        f"*\\\n/ int {MARK}; /*",
        f"*??/\n/ int {MARK}; /*",
        f"??/\n#define double {MARK}\n",
        f'"}}; int {MARK}; const char *x[] = {{"',
        f'??/"}}; int {MARK}; const char *x[] = {{"',
        f"\n#error {MARK}\n",
        f"\\\n int {MARK};",
        f"// {MARK} \\",
        f"/* {MARK}",
        # Python: ends of docstrings, comments and strings, every line end it knows, prefixes of strings
        f'"""\n{touch}\n"""',
        f"'''\n{touch}\n'''",
        f"\n{touch}\n#",
        f"\r{touch}\r#",
        f"\x0c\n{touch} #",
        f"\u2028{touch}\u2029{MARK}",
        f"1\n *[{touch}][:0], #",
        f"', {touch}, '",
        f'", {touch}, "',
        f"{{{touch}}}",
        f"{MARK}\\",
        f"\\N{{{MARK}}}",
        f"\\x22, {touch}, \\x22",
        # HTML and JavaScript
        f"</script><script>window.{MARK}=1</script>",
        f'"><img src=x onerror="window.{MARK}=1">',
        f"' onmouseover='window.{MARK}=1' x='",
        f"<svg onload=window.{MARK}=1>",
        f"]]><{MARK}/>",
        f"--><{MARK}></{MARK}><!--",
        f"`{MARK}` <b>{MARK}</b> &lt;{MARK}&gt;",
        f"${{window.{MARK}=1}}",
        f"javascript:window.{MARK}=1",
        f"</style></title></svg><{MARK}>",
        # LaTeX, Matplotlib, spreadsheets, shells, formats, YAML, names of files
        f"\\input{{{MARK}}} $\\frac{{{MARK}}}$ \\write18{{touch {canary}}}",
        f"=HYPERLINK(\"http://{MARK}\")",
        f"+{MARK}|' /C calc'!A0",
        f"-2+3+cmd|{MARK}!A0",
        f"@SUM({MARK})",
        f"\t=1+{MARK}",
        f"$(touch {canary}) `touch {canary}` ; {MARK}",
        f"%s%n%{MARK}",
        f"{{0.__class__}}{{{MARK}}}",
        f"{MARK}: !!python/object/apply:os.system ['touch {canary}']",
        f"\n{MARK}: 1\n- x",
        f"../../{MARK}",
        f"{MARK}\u202e\u2066/* {MARK} */",
        f"---{MARK}--",
        "x" * 3000 + MARK,
    ]  # fmt: skip


def hostile_texts(seed: int, canary: Path) -> Iterator[str]:
    """Without end: every piece, then sums of random ones with random glue."""
    rng, known = random.Random(seed), pieces(canary)
    yield from known
    glue = ["", "\n", "\\", "\\\n", "*/", '"', '"""', "'", "\r", "\x00", "??/", "/", "*", " ", "\ud800", "é", "-"]
    while True:
        parts = rng.choices(known, k=rng.randint(1, 3))
        text = "".join(part + rng.choice(glue) for part in parts)
        cut = rng.randint(0, len(text) // 4)
        yield rng.choice(glue) + text[cut:]


def xml_safe(text: str) -> str:
    """What XML can hold of a text."""
    return re.sub("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "", text)


def in_xml(source: str) -> list[Callable[[str], str]]:
    """Per distinct value of an attribute or text of a document: what replaces it everywhere, so that references stay whole."""
    root = etree.fromstring(source.encode())
    values = dict.fromkeys(v for node in root.iter() if isinstance(node.tag, str) for v in node.attrib.values())

    def replacing(old: str) -> Callable[[str], str]:
        def replaced(new: str) -> str:
            copy = etree.fromstring(source.encode())
            for node in copy.iter():
                for key, value in node.attrib.items():
                    if value == old:
                        node.set(key, xml_safe(new))
            return etree.tostring(copy, encoding="unicode")

        return replaced

    return [replacing(old) for old in values]


def in_plain(document: Any) -> list[Callable[[str], Any]]:
    """Per string of a document of mappings and lists, and per key: what puts a text in its place."""

    def places(node: Any, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], bool]]:
        if isinstance(node, dict):
            for key, value in node.items():
                yield (*path, key), True
                yield from places(value, (*path, key))
        elif isinstance(node, list):
            for k, value in enumerate(node):
                yield from places(value, (*path, k))
        elif isinstance(node, str):
            yield path, False

    def replacing(path: tuple[Any, ...], is_key: bool) -> Callable[[str], Any]:
        def replaced(new: str) -> Any:
            copy = deepcopy(document)
            node = copy
            for step in path[:-1]:
                node = node[step]
            if is_key:
                node[new] = node.pop(path[-1])
            else:
                node[path[-1]] = new
            return copy

        return replaced

    return [replacing(path, is_key) for path, is_key in places(document, ())]


def in_yaml(source: str) -> list[Callable[[str], str]]:
    """The same for a YAML text."""
    return [lambda new, edit=edit: yaml.safe_dump(edit(new), sort_keys=False) for edit in in_plain(yaml.safe_load(source))]

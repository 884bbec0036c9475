"""A page for every method: needs, settings, expectations and docstring from the registry, what `told` says, a measured picture."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, fields
from functools import cache

from inertica.estimators.base import Capability, Estimator, Need
from inertica.estimators.closed_loop.optimisers import OPTIMISERS
from inertica.estimators.closed_loop.start import STARTS
from inertica.estimators.options import READERS, _reader, option_names
from inertica.estimators.registry import METHODS
from told import told

FOLDER = "methods/each"

MORE: dict[str, str] = {
    "Ml": "ml.md",
    "Svd": "consistent.md",
    "SvdEssential": "consistent.md",
    "Cad": "jaco2.md",
    "Uls": "jaco2.md",
    "BoundedNearest": "jaco2.md",
    "FeasibleBounded": "jaco2.md",
    "ConsistentInside": "jaco2.md",
    "Iv": "iv.md",
    "Didim": "didim.md",
    "Clie": "clie.md",
    "Cloe": "cloe.md",
    "Oloe": "cloe.md",
    "AdaNN": "neural.md",
    "Htrnn": "neural.md",
    "Rls": "online.md",
    "Rwls": "online.md",
    "JointFilter": "filters.md",
    "ComputedTorqueFilter": "filters.md",
    "ParticleFilter": "filters.md",
    "ComputedTorqueParticles": "filters.md",
    "DualEkf": "filters.md",
    "IdimEkf": "filters.md",
    "Frisch": "frisch.md",
}
"""Methods that a hand-written page says more about; the others are in methods.md."""


@dataclass(frozen=True)
class Page:
    """One class of methods with all names under which it is registered."""

    names: tuple[str, ...]
    methods: tuple[Estimator, ...]

    @property
    def uri(self) -> str:
        return f"{FOLDER}/{self.names[0]}.md"

    @property
    def kind(self) -> type:
        return type(self.methods[0])

    def text(self, picture: str | None = None, caption: str = "") -> str:
        """Markdown.

        Args:
            picture: file of the measured picture, relative to the page.
            caption: what it shows.
        """
        words, arguments = docstring(self.kind)
        of = told()[self.kind.__name__]
        also = (
            [f"Also registered with other parts: {', '.join(f'`{name}`' for name in self.names[1:])}."] if self.names[1:] else []
        )
        reference = f"{of.reference[0].upper()}{of.reference[1:]} {REFERENCE}"
        parts = [f"# `{self.names[0]}`", *also, "## Criterion", of.formula, "## Algorithm", of.algorithm]
        parts += ["## Needs", self._needs(), "## Assumptions", of.assumes, "## Settings", self._settings(arguments)]
        parts += ["## When it fails", of.fails, "## Measured", self._measured(picture, caption)]
        parts += ["## What to expect", self._expectations(), "## Reference", reference]
        parts += ["## In the words of the code", words, *self._more()]
        return "\n\n".join(part for part in parts if part) + "\n"

    def _more(self) -> Iterator[str]:
        own = inspect.getmodule(self.kind)
        if own is not None and (inspect.getdoc(own) or "").partition("\n")[2].strip():
            yield escaped(inspect.getdoc(own) or "")
        page = MORE.get(self.kind.__name__)
        yield (
            f"More, with measurements: [{page.removesuffix('.md')}](../{page})."
            if page
            else "Beside the others: [Methods](../../methods.md)."
        )

    def _needs(self) -> str:
        needed = [need for need in Need if any(need in m.needs for m in self.methods)]
        return "\n".join(f"* {need.value}" for need in needed)

    def _expectations(self) -> str:
        able = [c for c in Capability if any(c in m.capabilities for m in self.methods)]
        lines = []
        for capability in able:
            which = [name for name, m in zip(self.names, self.methods, strict=True) if capability in m.capabilities]
            only = "" if len(which) == len(self.names) else f" ({', '.join(f'`{name}`' for name in which)})"
            lines.append(f"* {capability.value}{only}")
        return "\n".join(lines) or "A point without a standard deviation, and nothing else."

    def _settings(self, arguments: dict[str, str]) -> str:
        rows = ["| option | of | default | choices | meaning |", "| --- | --- | --- | --- | --- |"]
        listed = list(dict.fromkeys(option for m in self.methods for option in option_names(m)))
        if not listed:
            return "None."
        for option in listed:
            having = [name for name, m in zip(self.names, self.methods, strict=True) if option in option_names(m)]
            first = self.methods[self.names.index(having[0])]
            reader = _reader(first, option)
            assert reader is not None
            of = "all" if len(having) == len(self.names) else ", ".join(f"`{name}`" for name in having)
            choices = ", ".join(f"`{word}`" for word in reader.words)
            meaning = PARTS.get(option) or _followed(arguments.get(reader.field, ""), reader.field)
            rows.append(f"| `{option}` | {of} | {default(first, option, reader.field)} | {choices} | {meaning} |")
        return "\n".join(rows) + "\n\nOn the command line `--option NAME=VALUE`; in Python fields of the class."

    def _measured(self, picture: str | None, caption: str) -> str:
        if picture is None:
            return "No shipped campaign table holds this method; what was measured is on the page named below."
        return f"![{self.names[0]} among the other methods]({picture})\n\n{caption}"


def _followed(meaning: str, field: str) -> str:
    """What another class says of a field, where a docstring only points to it by its name, a method's or `every filter`."""
    kinds = {page.kind.__name__: page.kind for page in pages()} | {page.names[0]: page.kind for page in pages()}
    kinds["every filter"] = kinds["JointFilter"]
    pointed = re.match(r"as for `?(every filter|\w[\w-]*)`?[.;]", meaning)
    return docstring(kinds[pointed[1]])[1].get(field, meaning) if pointed and pointed[1] in kinds else meaning


PARTS = {
    "stop": "both criteria must be met, or either",
    "iterations": "at most",
    "tolerance": "relative change at which iterations end",
    "solver": "of the constrained problem; `points` is an approximation that tells its error",
    "prior-strength": "weight of the pull towards the prior: a number, `auto` (cross-validation) or `mild`",
}
"""Options that set part of an object."""

REFERENCE = "Papers by the names used here: [References](../../references.md)."


@cache
def pages() -> tuple[Page, ...]:
    """One page for every class in the registry, in its order."""
    by_class: dict[type, list[tuple[str, Estimator]]] = {}
    for name, make in METHODS.items():
        made = make()
        by_class.setdefault(type(made), []).append((name, made))
    return tuple(Page(tuple(n for n, _ in members), tuple(m for _, m in members)) for members in by_class.values())


def docstring(kind: type) -> tuple[str, dict[str, str]]:
    """Words of a class, and what it says of its arguments; those of classes above it where it is silent."""
    arguments: dict[str, str] = {}
    for above in reversed(kind.__mro__):
        arguments |= _arguments(above.__dict__.get("__doc__") or "")
    text = inspect.getdoc(kind) or ""
    return escaped(re.split(r"\n\s*Args:\n", text)[0].strip()), arguments


def _arguments(text: str) -> dict[str, str]:
    """Name -> meaning, of an Args section; one line may name several."""
    body = re.split(r"\n\s*Args:\n", inspect.cleandoc(text))
    if len(body) < 2:
        return {}
    out: dict[str, str] = {}
    for names, words in re.findall(r"^ {4}([\w, ]+): (.*(?:\n {8}.*)*)", body[1], flags=re.M):
        meaning = " ".join(words.split()).replace("|", "\\|")
        out |= {name.strip(): meaning for name in names.split(",")}
    return out


def escaped(text: str) -> str:
    """A docstring as Markdown: formulas that stand on lines of their own become code, the rest stays prose."""
    return "\n\n".join(_paragraph(part) for part in text.split("\n\n"))


def _paragraph(text: str) -> str:
    if text.startswith("    ") or _is_formula(text):
        return "\n".join(f"    {line.strip()}" if not line.startswith("    ") else line for line in text.splitlines())
    return text.replace("|", "\\|").replace(" * ", " \\* ").replace("<", "&lt;")


def _is_formula(text: str) -> bool:
    """A line with a minimum, an argument of one or a distribution, rather than a sentence."""
    return (
        len(text.splitlines()) == 1
        and bool(re.match(r"(min|argmin|chi|beta|max)\b[^a-z]*", text))
        and len(re.findall(r"[=|^_]", text)) > 1
    )


def default(method: Estimator, option: str, field: str) -> str:
    """The default of an option in a word; empty for those that set part of an object."""
    value = getattr(method, field)
    if option in READERS and option not in ("start", "optimiser"):
        part = {"iterations": "iterations", "tolerance": "step", "stop": "rule", "solver": "solver"}.get(option)
        value = getattr(value, part, None) if part else None
        return "" if value is None else f"`{value}`"
    if option in READERS:
        made = STARTS if option == "start" else OPTIMISERS
        return next((f"`{word}`" for word, make in made.items() if type(make()) is type(value)), "")
    stated = next(f for f in fields(method) if f.name == field)  # type: ignore[arg-type]
    return "" if stated.default is MISSING else f"`{plain(value)}`"


def plain(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else f"{value}"

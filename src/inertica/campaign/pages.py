"""Measured numbers in documents: every block between two marks is written from the shipped tables, never by hand.

    <!-- measured: didim, pc-didim -->    a line per condition of the first label, a column per label: |beta - true| / |true| in %
    <!-- measured: in didim: didim, iv -->    the same of one campaign
    <!-- measured: campaign jaco2 -->     a line per condition and label of a campaign with all its figures
    <!-- measured: claims -->             the survey's claims
    <!-- measured: sizes -->              how many fits of the survey's study the tables hold
    ...
    <!-- /measured -->

`filled` writes what belongs between them; `python -m inertica.campaign.pages FILE...` writes the files anew.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from inertica.campaign.sizes import share, sizes
from inertica.campaign.stored import Stored, claims, figures_of, stored
from inertica.campaign.written import COLUMNS, cells
from inertica.errors import InputError, nearest
from inertica.writing import write_whole

BLOCK = re.compile(r"(<!-- measured: ([^\n]*?) -->\n)(.*?)(<!-- /measured -->)", re.DOTALL)
MOST = 999.0
"""%: an error beyond that is only called so."""


def filled(text: str) -> str:
    """The text with every block written anew."""
    return BLOCK.sub(lambda m: f"{m[1]}{block(m[2])}\n{m[4]}", text)


def block(words: str) -> str:
    """What belongs into a block: `claims`, `sizes`, `campaign` and its name, or the labels of methods."""
    if words == "claims":
        return claims_table()
    if words == "sizes":
        return sizes_table()
    kind, _, name = words.partition(" ")
    if kind == "campaign":
        return campaign_table(name.strip())
    campaign, _, labels = name.partition(":") if kind == "in" else (None, "", words)
    return methods_table([x.strip() for x in labels.split(",")], campaign)


def methods_table(labels: Sequence[str], campaign: str | None = None) -> str:
    """Parameter errors of some labels, a line per condition of the campaigns that have the first, or of one campaign."""
    of = [x for label in labels for x in figures_of(label) if campaign in (None, x.campaign)]
    by_place = {(x.campaign, x.condition, x.line.place.label): x for x in of}
    rows = []
    for first in (x for (_, _, label), x in by_place.items() if label == labels[0]):
        cells = [by_place.get((first.campaign, first.condition, label)) for label in labels]
        fits = max(x.line.rows[1] for x in cells if x is not None)
        states = ", ".join(dict.fromkeys(x.state for x in cells if x is not None))
        rows.append([f"{first.campaign}: {first.condition}", *map(_shown, cells), str(fits), states])
    return _table(["d_par in %", *labels, "fits", "state"], rows)


def campaign_table(name: str) -> str:
    """All figures of a shipped campaign, a line per condition and label."""
    stored_rows = [x for x in stored() if x.campaign == name]
    if not stored_rows:
        raise InputError(f"no table of a campaign '{name}' is shipped; {nearest(name, {x.campaign for x in stored()})}")
    rows = [[x.condition, *cells(x.line)[:-1], x.state] for x in stored_rows]
    return _table(["condition", *COLUMNS[:-1], "state"], rows)


def claims_table() -> str:
    """The survey's claims beside what was measured."""
    marks = {True: " (depends on the reading)", False: ""}
    rows = [[c.name, c.published, c.verdict, c.toolbox + marks[c.depends_on_reading], c.ours] for c in claims()]
    return _table(
        ["claim", "survey", "here, sharp sign as printed", "smooth sign as in its toolbox", "measured (sharp sign)"], rows
    )


def sizes_table() -> str:
    """Least, middle and largest share of the full number of fits, experiment by experiment, and what the whole comes to."""
    each = sizes()
    rows = []
    for experiment in dict.fromkeys(x.experiment for x in each):
        lines = [x for x in each if x.experiment == experiment]
        shares = sorted(min(1.0, x.fits / x.full) for x in lines)
        numbers = (shares[0], shares[len(shares) // 2], shares[-1], share(lines))
        rows.append([experiment, *(f"{100 * x:.2g} %" for x in numbers)])
    rows.append(["all", "", "", "", f"{100 * share(each):.3g} %"])
    return _table(["experiment", "method with least fits", "median method", "most", "of all fits"], rows)


def _shown(row: Stored | None) -> str:
    if row is None:
        return ""
    counted, rows = row.line.rows
    if not counted or math.isnan(row.d_par):
        return "failed"
    size = 100.0 * row.d_par
    text = f"> {MOST:.0f}" if size > MOST else f"{size:.0f}" if size >= 10.0 else f"{size:.2g}"
    return text if counted == rows else f"{text} ({counted} of {rows})"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", r"\|") for cell in row) + " |" for row in lines)


def main(files: Sequence[str]) -> None:
    """Writes the blocks of files anew."""
    for name in files:
        path = Path(name)
        before = path.read_text(encoding="utf-8")
        if (now := filled(before)) != before:
            write_whole(path, now)
            sys.stdout.write(f"{path}: written anew\n")


if __name__ == "__main__":
    main(sys.argv[1:])

"""The look of everything drawn: colours that colour-blind people can tell apart, and the colours of the report."""

from __future__ import annotations

from inertica.identifiability.labels import COMBINED, DETERMINED, FIXED, UNIDENTIFIABLE, WEAK

LABEL_COLOURS = {
    DETERMINED: ("#0072B2", "#ffffff"),
    WEAK: ("#E69F00", "#000000"),
    COMBINED: ("#56B4E9", "#000000"),
    UNIDENTIFIABLE: ("#d0d0d0", "#333333"),
    FIXED: ("#ffffff", "#333333"),
}
"""Trust label -> fill (Okabe-Ito colours) and ink."""

LABEL_LETTERS = {DETERMINED: "D", WEAK: "w", COMBINED: "c", UNIDENTIFIABLE: "–", FIXED: "f"}
"""What stands in a cell of the map, for those who see no colours at all."""

_LIGHT = """--paper: #ffffff; --ink: #1c1c1c; --soft: #5c5c5c; --rule: #d9d9d9; --card: #f6f7f8;
  --measured: #a8a8a8; --filtered: #000000; --predicted: #D55E00; --residual: #0072B2; --law: #D55E00; --points: #0072B2;
  --other: #009E73; --good: #009E73; --doubtful: #E69F00; --bad: #D55E00; --link: #0072B2; --fourth: #CC79A7;"""

_DARK = """--paper: #16181a; --ink: #e8e8e8; --soft: #a6a6a6; --rule: #3a3d40; --card: #1f2225;
  --measured: #6d7276; --filtered: #f4f4f4; --predicted: #ff8a3c; --residual: #56B4E9; --law: #ff8a3c; --points: #56B4E9;
  --other: #2fc79c; --good: #2fc79c; --doubtful: #f0b83c; --bad: #ff8a3c; --link: #7cc4f0; --fourth: #e39cc4;"""

THEMES = f"""
:root {{ color-scheme: light dark; {_LIGHT} }}
@media (prefers-color-scheme: dark) {{ :root {{ {_DARK} }} }}
:root[data-theme="light"] {{ color-scheme: light; {_LIGHT} }}
:root[data-theme="dark"] {{ color-scheme: dark; {_DARK} }}
@media print {{ :root, :root[data-theme] {{ color-scheme: light; {_LIGHT} }} }}
"""
"""Colours of the page: as the reader's system says, or as the button says; paper is light."""

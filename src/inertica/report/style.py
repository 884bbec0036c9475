"""The look of everything drawn: colours that colour-blind people can tell apart, and the style sheet of the report."""

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

LABEL_WORDS = {
    DETERMINED: "its own value is known to 30 % or better (95 % interval by the data alone)",
    WEAK: "its own value is estimated, but less well than to 30 %, or less well than it was known before",
    COMBINED: "only sums with others are known; the value shown is the one nearest the prior",
    UNIDENTIFIABLE: "no torque in these data depends on it; prior and constraints decide its value",
    FIXED: "given, not estimated",
}

CSS = """
:root { color-scheme: light dark; --paper: #ffffff; --ink: #1c1c1c; --soft: #5c5c5c; --rule: #d9d9d9; --card: #f6f7f8;
  --measured: #a8a8a8; --filtered: #000000; --predicted: #D55E00; --residual: #0072B2; --law: #D55E00; --points: #0072B2;
  --other: #009E73; --good: #009E73; --doubtful: #E69F00; --bad: #D55E00; --link: #0072B2; }
@media (prefers-color-scheme: dark) { :root { --paper: #16181a; --ink: #e8e8e8; --soft: #a6a6a6; --rule: #3a3d40; --card: #1f2225;
  --measured: #6d7276; --filtered: #f4f4f4; --predicted: #ff8a3c; --residual: #56B4E9; --law: #ff8a3c; --points: #56B4E9;
  --other: #2fc79c; --good: #2fc79c; --doubtful: #f0b83c; --bad: #ff8a3c; --link: #7cc4f0; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 74rem; padding: 1rem; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
h1 { font-size: 1.6rem; margin: .3rem 0; overflow-wrap: anywhere; } h2 { font-size: 1.25rem; margin: 2.2rem 0 .6rem;
  border-bottom: 1px solid var(--rule); padding-bottom: .2rem; }
h3 { font-size: 1.02rem; margin: 1.4rem 0 .4rem; overflow-wrap: anywhere; }
p, li { max-width: 60rem; overflow-wrap: anywhere; } .soft, figcaption, caption { color: var(--soft); } a { color: var(--link); }
nav { font-size: .9rem; margin: .6rem 0 1rem; display: flex; flex-wrap: wrap; gap: .2rem .9rem; }
.verdict { border-left: .4rem solid var(--soft); background: var(--card); padding: .7rem 1rem; border-radius: .2rem; }
.verdict.good { border-color: var(--good); } .verdict.doubtful { border-color: var(--doubtful); }
.verdict.bad { border-color: var(--bad); }
.verdict p { margin: .2rem 0; } .verdict strong { font-size: 1.1rem; }
dl.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: .6rem; margin: 1rem 0; }
dl.facts div { background: var(--card); border-radius: .2rem; padding: .5rem .8rem; }
dl.facts dt { color: var(--soft); font-size: .82rem; overflow-wrap: anywhere; }
dl.facts dd { margin: 0; font-size: 1.25rem; font-variant-numeric: tabular-nums; }
.warnings li::marker { content: "\\26a0\\00a0"; color: var(--doubtful); }
.scroll { overflow-x: auto; } .scroll:focus-visible { outline: 2px solid var(--link); }
table { border-collapse: collapse; font-size: .88rem; font-variant-numeric: tabular-nums; margin: .4rem 0 1rem; }
caption { text-align: left; padding-bottom: .3rem; } caption span { display: inline-block; max-width: min(60rem, 92vw); }
th, td { padding: .22rem .6rem; text-align: left; border-bottom: 1px solid var(--rule); vertical-align: top; }
thead th { border-bottom: 2px solid var(--rule); white-space: nowrap; } th { font-weight: 600; }
td.n, th.n { text-align: right; white-space: nowrap; } .unit { white-space: nowrap; color: var(--soft); }
tbody tr:hover { background: var(--card); }
.label { display: inline-block; border-radius: .2rem; padding: 0 .45em; font-size: .82rem; border: 1px solid transparent; }
table.map td { text-align: center; padding: .1rem .2rem; border: 2px solid var(--paper); min-width: 2rem; }
table.map th { border: 0; padding: .1rem .4rem; font-weight: 400; }
.key span.label { margin: 0 .3rem 0 .8rem; }
.grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 21rem), 1fr)); gap: .8rem 1.2rem; }
.grid.wide { grid-template-columns: repeat(auto-fill, minmax(min(100%, 33rem), 1fr)); }
.grid.wide th, .grid.wide td { padding-left: .3rem; padding-right: .3rem; }
figure { margin: 0; min-width: 0; } figcaption { font-size: .88rem; }
svg { display: block; width: 100%; height: auto; }
svg text { font-size: 11px; fill: var(--soft); } svg text.title { fill: var(--ink); }
svg .axis { stroke: var(--rule); fill: none; } svg .zero { stroke: var(--soft); stroke-width: .7; stroke-dasharray: 3 3; }
svg path.line { fill: none; stroke-width: 1.4; vector-effect: non-scaling-stroke; stroke-linejoin: round; }
svg path.thin { fill: none; stroke-width: .6; vector-effect: non-scaling-stroke; }
svg path.points { fill: none; stroke-width: 2.4; stroke-linecap: round; vector-effect: non-scaling-stroke; stroke-opacity: .45; }
svg path.marks { fill: none; stroke-width: 6; stroke-linecap: round; vector-effect: non-scaling-stroke; }
svg rect.bar { fill-opacity: .75; }
.c-measured { stroke: var(--measured); } .c-filtered { stroke: var(--filtered); } .c-predicted { stroke: var(--predicted); }
.c-residual { stroke: var(--residual); }
.c-law { stroke: var(--law); } .c-points { stroke: var(--points); } .c-other { stroke: var(--other); }
rect.c-points { fill: var(--points); stroke: none; } rect.c-other { fill: var(--other); stroke: none; }
.swatches { font-size: .88rem; color: var(--soft); margin: .2rem 0 .6rem; } .swatches svg { display: inline-block; width: 1.6rem;
  height: .7rem; margin: 0 .3rem 0 .9rem; vertical-align: middle; }
details > summary { cursor: pointer; color: var(--link); margin: .4rem 0; } code { font-size: .9em; overflow-wrap: anywhere; }
@media (max-width: 34rem) { body { padding: .6rem; font-size: 14px; } svg text { font-size: 13px; } }
@media print { body { max-width: none; } details > * { display: block; } .grid { grid-template-columns: 1fr 1fr; } }
"""

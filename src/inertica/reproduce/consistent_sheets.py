"""Tables II and III of the consistent-parameters study, printed values beside ours."""

from __future__ import annotations

from collections.abc import Sequence

from inertica.physical.check import LinkCheck
from inertica.reproduce.consistent_setup import LINKS, PC, RETAINED, TABLE_II, B, E, Setup, Solved, needed, state
from inertica.reproduce.rows import Sheet

TOLERANCES = (0.0, 1e-3, 1e-2, 0.04, 0.1, 1.0)
"""Of the Cholesky factorisation; the paper names 0 and 0.04."""

ROUNDING = 1e-15


def sheets(solved: Sequence[Solved]) -> tuple[Sheet, ...]:
    return (
        _table2(solved, "b", TABLE_II, "Table II, column b: base parameters among reference values"),
        _table2(solved, "e", E, "Table II, column e: essential parameters moved (eq. 32)"),
        _standard(solved),
        _links(solved),
        _counts(solved),
    )


def _table2(solved: Sequence[Solved], column: str, name: str, title: str) -> Sheet:
    setup = solved[0].setup
    truth = setup.truth.values
    if name == TABLE_II:
        truth = setup.among_reference(setup.base.beta(truth))
    heads = ["parameter", "ref", "printed", "truth"]
    for one in solved:
        heads += [one.data.name, f"{'sim.' if one is solved[0] else 'rec.'} sd %"]
    rows = []
    for k in setup.tabulated:
        cells = [_n(x) for x in (setup.printed["ref"].values[k], setup.printed[column].values[k], truth[k])]
        for one in solved:
            cells += [_n(one.chi[name][k]), _percent(one.std[name][k], one.chi[name][k])]
        rows.append((setup.base.layout.names[k], *cells))
    return Sheet(title, tuple(heads), tuple(rows))


def _standard(solved: Sequence[Solved]) -> Sheet:
    """Solutions the paper does not list: eq. 30 over all columns, and consistent least squares."""
    setup = solved[0].setup
    heads = ["parameter", "ref used", "truth"]
    for one in solved:
        heads += [f"{B} {_short(one)}", f"{PC} {_short(one)}"]
    rows = []
    for k in setup.tabulated:
        cells = [setup.reference.values[k], setup.truth.values[k]]
        for one in solved:
            cells += [one.chi[B][k], one.chi[PC][k]]
        rows.append((setup.base.layout.names[k], *map(_n, cells)))
    return Sheet("Standard parameters: eq. 30 on all columns (b) and consistent least squares (pc)", tuple(heads), tuple(rows))


def _columns(solved: Sequence[Solved]) -> dict[str, dict[int, LinkCheck]]:
    """What the links are checked for: printed columns, then every solution."""
    setup: Setup = solved[0].setup
    out = {f"{column} printed": setup.links(p.values) for column, p in setup.printed.items()}
    out["b printed, standard"] = setup.links(setup.on_kept(setup.printed["b"].values[setup.base.retained], setup.printed["ref"]))
    out["ref used"] = setup.links(setup.reference.values)
    for one in solved:
        out |= {f"{name} {_short(one)}": setup.links(one.chi[name]) for name in (TABLE_II, RETAINED, B, E, PC)}
    return out


def _links(solved: Sequence[Solved]) -> Sheet:
    rows = []
    for title, links in _columns(solved).items():
        cells = [
            f"no, {needed(link):.2g}" if state(link) in ("not positive", "no mass") else state(link) for link in links.values()
        ]
        rows.append((title, *cells))
    title = "CoM inertia of the links (no: not positive, with the Cholesky tolerance it needs; triangle: positive, but no body has it)"
    return Sheet(title, ("solution", *(f"link {j}" for j in LINKS)), tuple(rows))


def _counts(solved: Sequence[Solved]) -> Sheet:
    rows = []
    for title, links in _columns(solved).items():
        counts = [sum(needed(link) <= limit for link in links.values()) for limit in TOLERANCES]
        rows.append((title, *(str(count) for count in counts)))
    heads = ("solution", *(f"tol. {limit:g}" for limit in TOLERANCES))
    return Sheet(f"Table III: positive CoM inertias of {len(LINKS)} links, by Cholesky tolerance", heads, tuple(rows))


def _short(one: Solved) -> str:
    return "sim." if one.data.name == "simulation" else "rec."


def _n(value: float) -> str:
    return f"{value if abs(value) > ROUNDING else 0.0:.3g}"


def _percent(std: float, value: float) -> str:
    if not std or not value:
        return "-"
    share = 100.0 * std / abs(value)
    return f"{share:.2g}" if share < 100.0 else ">100"

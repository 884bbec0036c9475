"""Friction with memory in the report: what was found of the bristles of every joint, and two curves of each."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from inertica.numbers import NONE, number
from inertica.report import html
from inertica.report.figures import Panel, Series, figure, key
from inertica.report.names import short_names
from inertica.robot.friction import LuGre
from inertica.workflow.identify.result import Result

BRISTLES, TITLE = "bristles", "Friction with memory"

SHOWN = ("sigma0", "sigma1", "sigma2", "fc", "fs", "vs")

REACH = 5.0
"""Way over which a joint breaks away, in bends of its bristles, fc / sigma0; and speeds, in vs, up to which sliding is drawn."""


def bristle_section(result: Result) -> Sequence[str]:
    """Nothing where none were looked for."""
    if result.bristles is None:
        return []
    joints, constants = result.description.robot.joints, result.bristles.found
    units = {name: unit for name, _, unit in LuGre.constants}
    columns = ("joint", *(f"{name} ({units[name]})" for name in SHOWN), "residual, plain", "residual, this")
    rows = []
    for j, one in enumerate(result.bristles.joints):
        named = {"sigma2": "Fv", "fc": "Fc"} if j not in constants else {}
        values = [(one.values.get(named.get(n, n), math.nan), one.std.get(named.get(n, n), math.nan)) for n in SHOWN]
        cells = [NONE if math.isnan(v) else f"{number(v)} ± {number(s)}" if math.isfinite(s) else number(v) for v, s in values]
        rows.append([f"{j + 1} {one.joint}", *cells, number(one.static), number(one.residual)])
    about = (
        "LuGre friction that `inertica friction` found from "
        f"{', '.join(short_names(list(result.bristles.logs))) or 'other logs'}, with standard deviations; values without one are not "
        "told by the log, and a joint without sigma0 shows no bristles. Parameters, intervals and predictions of this report have "
        "friction without memory; the card beside the exported model has this one."
    )
    figures = []
    for j, one in constants.items():
        v, joint = one.values, joints[j]
        way = np.linspace(0.0, REACH * v["fs"] / v["sigma0"], 100)
        bent = v["fs"] * (1.0 - np.exp(-v["sigma0"] * way / v["fs"]))  # slowly: phi is that of speed zero
        speed = np.linspace(0.0, REACH * v["vs"], 100)
        sliding = v["fc"] + (v["fs"] - v["fc"]) * np.exp(-((speed / v["vs"]) ** 2)) + v["sigma2"] * speed
        name = f"joint {j + 1}, {joint.name}"
        panel = Panel([Series(way, bent, "law", name="friction")], f"friction ({joint.effort_unit})", 110.0, zero=True)
        figures.append(figure([panel], f"way from rest ({joint.unit})", f"{name}: slowly from rest"))
        panel = Panel([Series(speed, sliding, "other", name="friction")], f"friction ({joint.effort_unit})", 110.0, zero=True)
        figures.append(figure([panel], f"velocity ({joint.unit}/s)", f"{name}: sliding at constant speed"))
    table = html.table("Bristles of every joint", columns, rows, right=columns[1:])
    drawn = [key([("law", "bristles bend"), ("other", "joint slides")]), html.grid(figures)] if figures else []
    return [html.section(BRISTLES, TITLE, html.paragraph(html.prose(about)), table, *drawn)]

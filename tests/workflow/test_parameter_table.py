"""One table of parameters: whatever is a column of it is in every view."""

from __future__ import annotations

import csv
import io
import json

import pytest
from lxml import html
from rich.console import Console

import pair
from inertica.cli.identify import ResultView
from inertica.documents import plain
from inertica.report.report import report
from inertica.workflow.export.model import parameters_csv
from inertica.workflow.identify import parameter_table
from inertica.workflow.identify.parameter_table import COLUMNS, Column, Kind

TOY = Column("surprise", Kind.NUMBER, lambda e: 3.0 * e.value, "three times")


def texts(view: ResultView) -> str:
    console = Console(width=200, record=True, file=io.StringIO())
    for part in view.text():
        console.print(part)
    return console.export_text()


def test_a_new_column_is_in_every_view(monkeypatch: pytest.MonkeyPatch) -> None:
    result = pair.identified()
    value = result.parameters["Fv1"]
    before = report(result, {})
    monkeypatch.setattr(parameter_table, "COLUMNS", (*COLUMNS, TOY))
    (row,) = [row for row in csv.DictReader(io.StringIO(parameters_csv(result))) if row["name"] == "Fv1"]
    assert float(row["surprise"]) == 3.0 * value
    (entry,) = [entry for entry in result.document()["parameters"] if entry["name"] == "Fv1"]
    assert entry["surprise"] == 3.0 * value
    assert result.table()["surprise"][result.parameters.layout.index("Fv1")] == 3.0 * value
    for shown in (report(result, {}), result._repr_html_(), texts(ResultView(result))):
        assert "three times" in shown and f"{3.0 * value:.4g}" in shown
    assert "three times" not in before


def test_every_view_has_the_columns_of_the_table() -> None:
    """Names for programs in the order of the table; headings for people."""
    result = pair.identified()
    names = [name for c in COLUMNS for name in (c.ends if c.kind is Kind.INTERVAL else (c.name,))]
    assert parameters_csv(result).splitlines()[0].split(",") == names == list(result.table())
    document = json.loads(json.dumps(plain(result.document())))
    assert list(document["parameters"][0]) == [c.name for c in COLUMNS]
    heads = html.fromstring(report(result, {})).xpath("//table[@id='values']/thead//th")
    assert [head.text_content() for head in heads] == [c.heading for c in COLUMNS if c.heading]


def test_a_parameter_is_explained_in_words() -> None:
    explained = {e.parameter.name: e.explanation for e in pair.identified().entries}
    assert explained["Fv1"].startswith("viscous friction of shoulder: ")
    assert explained["M2"].startswith("mass of lower: ") and explained["XY2"].startswith("product of inertia, x and y of lower: ")

"""The report: one valid file with everything in it, for eyes and for screen readers."""

import html as escapes
import re
from dataclasses import replace

import numpy as np
import pytest
from lxml import etree, html

import pair
from inertica.dynamics.engine import Engine
from inertica.errors import InerticaError
from inertica.report import bundle as bundle_module
from inertica.report.bundle import write_bundle
from inertica.report.data import POSES, friction_curves, record
from inertica.report.figures import thinned
from inertica.report.names import short_names, shortened
from inertica.report.report import CONTENTS, report, write_report
from inertica.robot.friction import LoadDependent
from inertica.validation.lack_of_fit import FamilyTest, LackOfFit
from inertica.workflow.identify.choice import Alternative, Choice
from inertica.workflow.identify.reasons import Words
from inertica.workflow.identify.result import Result


@pytest.fixture(scope="module")
def text():
    return report(pair.identified(), pair.motions())


def test_it_is_valid_and_needs_nothing_else(text):
    """As XML the page must parse too: every tag closed, every attribute quoted, every & escaped."""
    assert text.startswith("<!DOCTYPE html>") and len(text) < 3_000_000
    etree.fromstring(text[text.index("<body>") : text.index("</html>")])
    ids = html.fromstring(text).xpath("//@id")
    assert len(ids) == len(set(ids))
    assert not re.search(r"https?://|<script[^>]*src|<link|<img|@import|url\(|XMLHttp|fetch\(", text)


def test_every_section_figure_and_table_is_named(text):
    tree = html.fromstring(text)
    ids = {e.get("id") for e in tree.iter("section")}
    assert set(CONTENTS) == ids == {a.get("href")[1:] for a in tree.xpath("//nav/a")}
    assert all(t.find("caption") is not None for t in tree.iter("table"))
    assert all(th.get("scope") in ("col", "row") for th in tree.iter("th"))
    drawings = tree.xpath("//figure/svg")
    assert all(svg.get("role") == "img" and svg.get("aria-label") for svg in drawings)
    plots = 2 * 2 + 2 * 3 + 2  # torque of two logs; correlation, histogram, position; friction; two joints
    assert (
        len(tree.xpath("//figure[@class='plot']/svg")) == plots and len(drawings) == plots + 3
    )  # the robot, the heat map, scores


def test_one_residual_is_stated_everywhere(text):
    """First line, answer, number and table row of the data that were not fitted, joint by joint by the same definition."""
    result, tree = pair.identified(), html.fromstring(text)
    found = list(result.residuals.values())[-1].raw
    shown = [f"{100 * x:.2f} %" for x in (found.all, *found.per_joint)]
    (box,) = tree.xpath("//div[contains(@class, 'verdict')]")
    first, *_ = box.xpath("p")
    assert f"the identified one {shown[0]} of the torque as recorded" in first.text_content()
    assert first.text_content().startswith(f"The model you came with leaves {100 * result.before.residual.raw.all:.2f} %")
    assert shown[0] in box.xpath("ol/li")[0].text_content()
    rows = {
        (tr.findtext("th"), tr.xpath("td")[0].text): [td.text for td in tr.xpath("td")[1:]] for tr in tree.xpath("//tbody/tr[td]")
    }
    assert rows["run2.csv", "raw, as recorded"] == shown and ("run2.csv, model that came in", "raw, as recorded") in rows
    facts = {dt.text: dt.getnext().text for dt in tree.iter("dt")}
    assert facts["raw residual, run2.csv"] == shown[0]


def test_parameters_with_labels_and_prior_are_there(text):
    result, tree = pair.identified(), html.fromstring(text)
    rows = {tr.findtext("th"): [td.text_content() for td in tr.iter("td")] for tr in tree.xpath("//details//tbody/tr")}
    for p in result.parameters.layout.parameters:
        assert rows[p.name][3] == result.labels[p.name]
    assert float(rows["Fv1"][0]) == pytest.approx(result.parameters["Fv1"], rel=1e-3)
    stated = {tr.findtext("th"): float(tr.xpath("td[1]/@data-v")[0]) for tr in tree.xpath("//table[@id='values']/tbody/tr")}
    assert stated == dict(zip(result.parameters.layout.names, result.parameters.values.tolist(), strict=True))
    shown = tree.get_element_by_id("base").text_content()
    assert all(escapes.unescape(relation) in shown for relation in result.estimate.base.relations)


def test_names_from_files_cannot_break_the_page():
    result = pair.identified()
    nasty = "run<script>alert(1)</script>&.csv"
    named = replace(
        result,
        residuals={"identification": result.residuals["identification"], nasty: result.residuals["identification"]},
        warnings=(f"about {nasty}",),
        logs={"identification": (nasty,)},
    )
    text = report(named, {"identification": pair.motions()["identification"], nasty: pair.motions()["identification"]})
    assert "<script>alert" not in text and "run&lt;script&gt;" in text
    etree.fromstring(text[text.index("<body>") : text.index("</html>")])


def test_scores_become_curves_and_bars():
    points = ((10.0, "differences", 0.2), (20.0, "differences", 0.1), (10.0, "recorded", 0.3))
    scores = tuple(Alternative(f"{f:g} Hz, {v}", score, number=f, unit="Hz", series=v) for f, v, score in points)
    tried = (("none", 0.9, 1), ("viscous", 0.2, 1), ("none", 0.8, 2), ("viscous", 0.3, 2))
    laws = tuple(Alternative(name, score, group=f"joint {j}") for name, score, j in tried)
    choices = (
        Choice("filter", "20 Hz", Words("20 Hz it is"), True, scores),
        Choice("friction", "viscous", Words("v"), True, laws),
    )
    tree = html.fromstring(report(replace(pair.identified(), choices=choices), pair.motions()))
    inside = tree.get_element_by_id("choices")
    assert len(inside.xpath(".//figure")) == 3 and "20 Hz it is" in inside.text_content()
    assert "candidate (Hz)" in inside.text_content() and "recorded" in inside.text_content()


def test_friction_points_scatter_about_the_law():
    """Points less the law are the residual, so that the picture shows what the fit saw."""
    result, motion = pair.identified(), pair.motions()["identification"][0]
    drawn = record(result, "identification", motion)
    curves = friction_curves(result, np.abs(drawn.dq).max(axis=0), drawn.q)
    dq, law = curves.dq, curves.law
    assert np.array_equal(curves.low, curves.high) and not curves.varies(0)
    for j in range(2):
        expected = result.parameters[f"Fv{j + 1}"] * dq[:, j] + result.parameters[f"Fc{j + 1}"] * np.sign(dq[:, j])
        assert law[:, j] == pytest.approx(expected, abs=1e-9)
    assert drawn.residual.std() < 0.1 and len(drawn.friction) == len(drawn.residual) == len(drawn.q)


def test_friction_that_grows_with_the_load_is_a_band():
    """Between the least and the largest |gravity torque of the stated links| in the log, times mu."""
    result, motion = pair.identified(laws=("viscous", "coulomb", "load")), pair.motions()["identification"][0]
    drawn, mu = record(result, "identification", motion), result.parameters["mu2"]
    curves = friction_curves(result, np.abs(drawn.dq).max(axis=0), drawn.q)
    robot, still = result.description, np.zeros_like(drawn.q)
    (term,) = (t for t in result.parameters.layout.terms if isinstance(t, LoadDependent) and t.at == 1)
    moments = np.reshape(term.moments, (2, 4))
    links = {f"{kind}{j + 1}": moments[j, k] for j in range(2) for k, kind in enumerate(("MX", "MY", "MZ", "M"))}
    weight = np.abs(
        Engine(robot.layout).inverse_dynamics(drawn.q, still, still, robot.layout.zeros("x").replaced(links).values)[:, 1]
    )
    weight = weight[thinned(len(weight), POSES)]
    assert mu != 0.0 and curves.varies(1)
    assert np.ptp([curves.low[-1, 1], curves.high[-1, 1]]) == pytest.approx(abs(mu) * np.ptp(weight), rel=1e-6)
    text = report(result, pair.motions())
    assert "least and largest" in text and "least and largest over the poses" in text


def test_short_names_only_where_they_tell_apart():
    assert short_names(["identification", "/a/b/run.csv@1:2"]) == ["identification", "run.csv@1:2"]
    assert short_names(["/a/run.csv", "/b/run.csv"]) == ["/a/run.csv", "/b/run.csv"]


def test_long_names_lose_their_middle_and_keep_what_tells_them_apart():
    long = "a" * 60 + "_monday.csv.gz@1:2.5"
    assert len(shortened(long)) == 44 and shortened(long).endswith("_monday.csv.gz@1:2.5") and shortened("run.csv") == "run.csv"
    alike = ["b" * 30 + middle + "c" * 40 for middle in "xy"]
    assert short_names(alike) == alike


def test_a_bundle_loads_again(tmp_path):
    made = write_bundle(pair.identified(), tmp_path / "out")
    names = {p.name for p in (tmp_path / "out").iterdir()}
    assert names == set(made.files) >= {"result.json", "result.npz", "identified.urdf", "parameters.csv", "report.html"}
    again = Result.load(tmp_path / "out")
    assert np.array_equal(again.parameters.values, pair.identified().parameters.values)
    assert again.warnings == made.result.warnings and made.result.time["write"] > 0.0


def test_a_model_that_cannot_be_written_is_a_warning(tmp_path):
    broken = replace(pair.identified(), parameters=pair.identified().parameters.replaced({"M2": -1.0}))
    (tmp_path / "identified.urdf").write_text("of an earlier run")
    made = write_bundle(broken, tmp_path)
    assert "identified.urdf" not in {p.name for p in tmp_path.iterdir()} and (tmp_path / "report.html").exists()
    assert any("mass found for lower" in w for w in made.result.warnings)
    assert any("mass found for lower" in w for w in Result.load(tmp_path).warnings)


def test_a_failure_in_the_middle_leaves_no_half_result(tmp_path, monkeypatch):
    def stop(*_):
        raise InerticaError("the disk is full")

    monkeypatch.setattr(bundle_module, "write_report", stop)
    with pytest.raises(InerticaError, match="disk"):
        write_bundle(pair.identified(), tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_the_file_is_written(tmp_path, text):
    path = write_report(pair.identified(), pair.motions(), tmp_path / "report.html")
    assert path.read_text(encoding="utf-8") == text


def test_lack_of_fit_is_a_table_of_every_test():
    tests = (
        FamilyTest("time", True, joint=2, z=-7.3, p=1e-12, size="falls by 20 %", flagged=True),
        FamilyTest("delay", True, joint=1, z=4.5, p=1e-3, size="1 ms late"),
        FamilyTest("tilt", False, "the control loop is not known"),
    )
    found = LackOfFit(tests, ("time",), 4)
    tree = html.fromstring(report(replace(pair.identified(), lack_of_fit=found), pair.motions()))
    rows = {row[0].text_content(): row.text_content() for row in tree.xpath("//table[contains(., 'Lack of fit')]/tbody/tr")}
    assert "falls by 20 %" in rows["time (drift of friction)"] and "found" in rows["time (drift of friction)"]
    assert "1 ms late" not in rows["rate of torque (delay)"] and "explained by" in rows["rate of torque (delay)"]
    assert "not tested: the control loop is not known" in rows["gravity (lean)"]

"""Ellipsoids with the inertia of their links, and the robot that page.js draws."""

import json
from dataclasses import replace

import numpy as np
import pytest
from lxml import etree

import pair
from inertica.report.body import _for_script, consistency, ellipsoid, robot_view
from inertica.report.correlation import correlations, heat_map
from inertica.report.data import records
from inertica.robot import inertia


def test_a_uniform_ellipsoid_of_these_half_axes_has_the_link_s_inertia():
    parameters = pair.identified().description.prior
    for j in range(2):
        found, body = ellipsoid(parameters, j), inertia.to_com(parameters.link(j))
        second = found["mass"] / 5.0 * sum(np.outer(a, a) for a in found["axes"])
        assert np.trace(second) * np.eye(3) - second == pytest.approx(body.inertia, abs=1e-12)
        assert found["com"] == pytest.approx(body.com) and found["possible"]


def test_links_that_cannot_exist_say_so():
    result = pair.identified()
    broken = result.parameters.replaced({"XX2": -1.0})
    assert not ellipsoid(broken, 1)["possible"]
    text = "".join(consistency(replace(result, parameters=broken), []))
    assert "No real body has the parameters of" in text and "no real body" in text


def test_the_view_holds_the_robot_and_its_motion():
    result = pair.identified()
    figure = etree.fromstring(robot_view(result, records(result, pair.motions())[:1]))
    data = json.loads(figure.findtext("script"))
    assert (
        len(data["joints"]) == len(data["after"]) == len(data["before"]) == 2 and len(data["poses"]) == len(data["times"]) == 80
    )
    assert data["after"][1]["com"] == pytest.approx(inertia.to_com(result.parameters.link(1)).com, abs=1e-6)
    assert json.loads(_for_script(json.dumps("</script>&"))) == "</script>&" and "<" not in _for_script("</script>")


def test_correlations_are_those_of_the_covariance():
    result = pair.identified()
    R, C = correlations(result), result.estimate.covariance
    assert R[0, 1] == pytest.approx(C[0, 1] / np.sqrt(C[0, 0] * C[1, 1])) and np.diag(R) == pytest.approx(1.0)
    R[0, 1] = np.nan
    tree = etree.fromstring(heat_map(R, result.estimate.base.names))
    assert sum(path.get("d").count("M") for path in tree.iter("path")) == np.sum(~(np.abs(R) < 0.05))
